"""Evidence: fields that tell which value an unknown cell of the input has."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.types.attack import Attempt, Case, numbers
from shoal.types.protocols import Attack
from shoal.types.run import coarse, significant

_CELLS = 40  # attacked in each column
_FEWEST = 6
_WORK = 3_000_000  # rows that are hashed for a column, at most
_CANDIDATES = 8  # for a cell, with the true value
_COLUMNS = 8
_HEX = re.compile(r"[0-9a-f]{16,128}")
_HASHES = ("md5", "sha1", "sha256", "sha512")
_KEYS = ("salt", "key", "nonce")
_Paths = frozenset[tuple[Any, ...]]  # places in the evidence
_DIGITS = 4  # a number with fewer may agree by chance


@dataclass(frozen=True)
class Evidence(Attack):
    """The attacker knows the whole input except one cell, and tests each candidate for the cell against the evidence.

    **What the attacker knows.** The release, the evidence, shoal, and every other cell of the input.

    **What the attacker does.** Puts each candidate into the cell, recomputes every field of the evidence that can be
    recomputed, and excludes the candidate if a field differs. The fields: digests of the cell, its row, its column and
    the table, with and without a key from the evidence; sums, means, variances and extremes of the column; losses of
    numeric quasi-identifiers (SSE, MSE, MAE, IL). A list with an entry for each record is compared entry by entry. A
    field is used if the true input reproduces it. Not recomputed: losses of categories, and certificates.

    Candidates agree with the release, because the release alone excludes the others: a few steps of the column's last
    digit around the true value, if they do not change the mean of the class; categories that are released; and for a
    removed column another value of it and six that do not occur. At most 40 cells of each of the first 8 columns
    that the release hides are attacked.

    **Learnt.** The expected number of cells that a uniform guess among the remaining candidates gets right, in the
    column where it exceeds the baseline most.

    **Baseline.** The same among all candidates.
    """

    needs: ClassVar[tuple[str, ...]] = ("evidence", "rows")
    advice: ClassVar[str] = "Do not publish this evidence; protect the table again for new evidence."

    def run(self, case: Case) -> Attempt:
        """Test candidates for cells of each hidden column."""
        if case.evidence is None:
            return Attempt.not_run(self.key, "It needs the evidence of the release.")
        if case.truth is None or case.rows is None:
            return Attempt.not_run(self.key, case.why_no_rows)
        evidence, case = case.evidence, replace(case, original=case.original.as_read)  # losses are of these values
        hidden = list(_hidden(case))[:_COLUMNS]
        tests = _Tests(case, _Fields.of(evidence))
        found = [one for name in hidden if (one := self._of(tests, name)) is not None]
        if not found:
            return Attempt.not_run(self.key, "It needs a column that the release hides, with several candidates.")
        return Attempt.worst(found)

    def _of(self, tests: _Tests, name: str) -> Attempt | None:
        rng = np.random.default_rng(0)
        n = len(tests.case.original)
        size = min(_CELLS, max(_FEWEST, _WORK // (_CANDIDATES * max(n, 1))))
        cells = 0
        right = chance = 0.0
        for row in rng.permutation(len(tests.case))[:size].tolist():
            true, others = tests.candidates(name, row, rng)
            if others:
                left = tests.remaining(name, row, true, others)
                cells, right, chance = cells + 1, right + 1.0 / (1 + left), chance + 1.0 / (1 + len(others))
        if not cells:
            return None
        return Attempt.of(self.key, cells, round(right), chance, f"a cell of {name!r}, knowing all others,")


def _hidden(case: Case) -> Iterator[str]:
    """Yield the columns whose cells the release does not show: masked or removed."""
    assert case.truth is not None
    there = {name for table in case.released for name in table.data.column_names}
    for name in case.original.data.column_names:
        if name not in there:
            yield name
        elif name in case.quasi:
            own, shown = case.truth.data.column(name), case.table.data.column(name)
            if not own.type.equals(shown.type) or not own.equals(shown):
                yield name


@dataclass(frozen=True, eq=False)
class _Fields:
    """The contents of evidence: digests and numbers, and where they are.

    Attributes
    ----------
    digests
        For each hexadecimal text the places where it is.
    figures
        The numbers with enough digits.
    keys
        Published keys of digests.
    """

    digests: Mapping[str, _Paths]
    figures: frozenset[float]
    keys: tuple[bytes, ...]

    @classmethod
    def of(cls, evidence: Mapping[str, Any]) -> _Fields:
        digests: dict[str, set[tuple[Any, ...]]] = {}
        figures, keys = set(), []
        for path, value in _leaves(evidence):
            if isinstance(value, str) and _HEX.fullmatch(value.lower()):
                digests.setdefault(value.lower(), set()).add(path)
                if any(word in str(path[-1]).lower() for word in _KEYS):
                    keys += [value.encode(), *([bytes.fromhex(value)] if len(value) % 2 == 0 else [])]
            elif isinstance(value, (int, float)) and len(f"{value:.15g}".replace(".", "").strip("-0")) >= _DIGITS:
                figures.add(float(value))
        return cls({one: frozenset(paths) for one, paths in digests.items()}, frozenset(figures), tuple(keys))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        return tuple({len(one) for one in self.digests})

    def places(self, digest: str) -> _Paths:
        """Return the places of a digest, or of its beginning."""
        empty: _Paths = frozenset()
        return empty.union(*(self.digests.get(digest[:size], empty) for size in self.lengths if size <= len(digest)))


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield each plain value with its path; field names count as values, too."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield (*path, name), name
            yield from _leaves(inner, (*path, name))
    elif isinstance(value, (list, tuple)):
        for at, inner in enumerate(value):
            yield from _leaves(inner, (*path, at))
    else:
        yield path, value


@dataclass(frozen=True, eq=False)
class _Tests:
    """Candidates for cells, and the fields of the evidence that exclude them."""

    case: Case
    fields: _Fields
    _columns: dict[str, list[str | None]] = field(default_factory=dict)

    def candidates(self, name: str, row: int, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Return the true value of a cell of a released row, and other values that the release admits."""
        assert self.case.truth is not None
        column = self.case.truth.data.column(name)
        true = column[row].as_py()
        if name not in self.case.quasi:
            return true, _unseen(true, column, rng)
        values = numbers(column)
        if isinstance(true, (int, float)) and values is not None:
            return true, self._near(name, row, true, values)
        shown = set(self.case.table.data.column(name).unique().to_pylist())
        others = sorted((one for one in shown if one is not None and one != true), key=str)
        return true, others[: _CANDIDATES - 1] if true in shown else []

    def _near(self, name: str, row: int, true: float, values: NDArray[np.float64]) -> list[float]:
        """Return the values around a number that leave the released mean of its class as it is."""
        shown = numbers(self.case.table.data.column(name))
        members = values[self.case.classes == self.case.classes[row]]
        if shown is None or not np.isfinite(members).all():
            return []
        places = 0 if isinstance(true, int) else _places(values[np.isfinite(values)])
        step, reach = 10.0**-places, min(len(members) - 1, _CANDIDATES - 1)
        others = [round(true + at * step, places) for at in range(-reach, reach + 1) if at]
        off = abs(members.mean() - shown[row])
        if off <= 0.5 * step * (1.0 + 1e-9):  # a mean, rounded like its column
            means = [members.mean() + (one - true) / len(members) for one in others]
            others = [one for one, mean in zip(others, means, strict=True) if abs(mean - shown[row]) <= 0.5 * step]
        nearest = sorted(others, key=lambda one: (abs(one - true), one))[: _CANDIDATES - 1]
        return [type(true)(one) for one in nearest]

    def remaining(self, name: str, row: int, true: Any, others: Sequence[Any]) -> int:
        """Return how many other candidates no field excludes."""
        alive = self._by_digest(name, row, true, others)
        if not isinstance(true, (int, float)):
            return len(alive)
        for figures in self._figures(name, row):
            own = figures(true)
            alive = [one for one in alive if figures(one) == own]
        return len(alive)

    def _by_digest(self, name: str, row: int, true: Any, others: Sequence[Any]) -> list[Any]:
        assert self.case.rows is not None
        at = int(self.case.rows[row])
        messages = [*_of_cell(true), *self._of_row(name, at, true), *self._of_column(name, at, true)]
        own = {**self._of_input, **self._matches(messages, None)}
        if not own:
            return list(others)
        return [one for one in others if self._consistent(own, self._changed(name, at, one, set(own)), {row, at})]

    def _changed(self, name: str, at: int, value: Any, forms: set[str]) -> dict[str, _Paths]:
        """Return where digests of these forms occur with a candidate in the cell."""
        messages = [*_of_cell(value), *self._of_row(name, at, value), *self._of_column(name, at, value)]
        if self._of_input:
            messages += self._of_table(name, at, value)
        return self._matches(messages, forms)

    @cached_property
    def _of_input(self) -> dict[str, _Paths]:
        """Where digests of the whole input occur."""
        name = self.case.original.data.column_names[0]
        return self._matches(self._of_table(name, 0, self._cells(name)[0]), None) if len(self.case.original) else {}

    def _matches(self, messages: Iterable[tuple[str, bytes]], forms: set[str] | None) -> dict[str, _Paths]:
        """Return where digests of messages occur in the evidence, by the form of the digest; None: all forms."""
        if not self.fields.digests:
            return {}
        wanted = None if forms is None else {form.partition(":")[0] for form in forms}
        found = {}
        for what, message in messages:
            if wanted is None or what in wanted:
                for form, digest in _digests(message, self.fields.keys):
                    if places := self.fields.places(digest):
                        found[f"{what}: {form}"] = places
        return found

    @cached_property
    def _lists(self) -> _Paths:
        """Where the lists are that have an entry for each record."""
        found: dict[tuple[Any, ...], int] = {}
        for paths in self.fields.digests.values():
            for path in paths:
                found[path[:-1]] = found.get(path[:-1], 0) + 1
        return frozenset(path for path, size in found.items() if size >= len(self.case))

    def _consistent(self, own: Mapping[str, _Paths], other: Mapping[str, _Paths], rows: set[int]) -> bool:
        """Tell whether the evidence admits a candidate: its digests are where those of the true value have to be."""
        for form, places in own.items():
            there = other.get(form, frozenset())
            listed = {one for one in places if one[:-1] in self._lists and one[-1] in rows}
            if not (listed & there if listed else there):  # in a list, only the entry of this record counts
                return False
        return True

    def _of_row(self, name: str, at: int, value: Any) -> Iterator[tuple[str, bytes]]:
        row = self._row(name, at, value)
        for mark in (",", ";", "\t", "|", "\0", ""):
            yield f"row by {mark!r}", mark.join(one or "" for one in row).encode()

    def _of_column(self, name: str, at: int, value: Any) -> Iterator[tuple[str, bytes]]:
        column = list(self._cells(name))
        column[at] = _text(value)
        yield "column", "\n".join(one or "" for one in column).encode()

    def _of_table(self, name: str, at: int, value: Any) -> Iterator[tuple[str, bytes]]:
        """Yield the input as in the digest of a table's content, and as CSV."""
        names = self.case.original.data.column_names
        row = self._row(name, at, value)
        lines = list(self._lines)
        lines.pop(bisect_left(lines, _line([self._cells(other)[at] for other in names])))
        insort(lines, _line(row))
        yield "content", ("".join(map(_sized, names)) + "\n" + "".join(f"{one}\n" for one in lines)).encode()
        written = list(self._written)
        written[at] = ",".join(one or "" for one in row)
        yield "CSV", ("\n".join((",".join(names), *written)) + "\n").encode()

    def _row(self, name: str, at: int, value: Any) -> list[str | None]:
        names = self.case.original.data.column_names
        own = None if value is None else _text(value)
        return [own if other == name else self._cells(other)[at] for other in names]

    def _cells(self, name: str) -> list[str | None]:
        if name not in self._columns:
            cells = self.case.original.data.column(name).to_pylist()
            self._columns[name] = [None if one is None else _text(one) for one in cells]
        return self._columns[name]

    @cached_property
    def _lines(self) -> list[str]:
        """The rows as in the digest of a table's content, sorted."""
        columns = [self._cells(name) for name in self.case.original.data.column_names]
        return sorted(_line(row) for row in zip(*columns, strict=True))

    @cached_property
    def _written(self) -> list[str]:
        columns = [self._cells(name) for name in self.case.original.data.column_names]
        return [",".join(one or "" for one in row) for row in zip(*columns, strict=True)]

    def _figures(self, name: str, row: int) -> Iterator[Callable[[Any], tuple[Any, ...]]]:
        """Yield functions of a candidate that return the published figures it leads to."""
        assert self.case.truth is not None
        assert self.case.rows is not None
        own = numbers(self.case.original.data.column(name))
        if own is None or not np.isfinite(own).all():
            return
        at = int(self.case.rows[row])
        live = [key for key, value in _aggregates(own).items() if value in self.fields.figures]
        if live:
            yield lambda value: tuple(_aggregates(_with(own, at, value))[key] for key in live)
        if name in self._losses:
            said = self._losses[name]
            yield lambda value: tuple(said(row, value))

    @cached_property
    def _losses(self) -> dict[str, Callable[[int, Any], Iterable[float]]]:
        """For each numeric quasi-identifier, the published losses that a candidate leads to."""
        assert self.case.truth is not None
        assert self.case.evidence is not None
        said = {name: value for name, value in self.case.evidence.get("readings", {}).items() if value}
        before, after = (
            [numbers(table.data.column(name)) for name in self.case.quasi]
            for table in (self.case.truth, self.case.table)
        )
        if not said or any(one is None or not np.isfinite(one).all() for one in (*before, *after)):
            return {}
        original, released = (np.column_stack([one for one in side if one is not None]) for side in (before, after))
        true = {ddof: _readings(original, released, self.case.classes, ddof) for ddof in (0, 1)}
        n, d = original.shape
        forms: tuple[Callable[[str, float], float], ...] = (partial(_published, n, d), _in_three_digits)
        live = [
            (name, ddof, form)
            for ddof, found in true.items()
            for name, value in found.items()
            for form in forms
            if name in said and math.isclose(said[name], form(name, value), rel_tol=1e-12)
        ]

        def of(j: int) -> Callable[[int, Any], Iterable[float]]:
            def told(row: int, value: Any) -> Iterable[float]:
                changed = original.copy()
                changed[row, j] = value
                ddofs = {ddof for _, ddof, _ in live}
                found = {ddof: _readings(changed, released, self.case.classes, ddof) for ddof in ddofs}
                return [form(name, found[ddof][name]) for name, ddof, form in live]

            return told

        return {name: of(j) for j, name in enumerate(self.case.quasi)} if live else {}


def _of_cell(value: Any) -> Iterator[tuple[str, bytes]]:
    text = _text(value)
    yield "cell", text.encode()
    yield "cell as a name", b"name\0" + text.encode()
    yield "cell as JSON", json.dumps(value, default=str, ensure_ascii=False).encode()


def _unseen(true: Any, column: pa.ChunkedArray, rng: np.random.Generator) -> list[Any]:
    """Return another value of a removed column, and values that do not occur in it."""
    values = [one for one in column.unique().to_pylist() if one is not None and one != true]
    if true is None or not values:
        return []
    others = [values[int(rng.integers(len(values)))]]
    seen = {_text(true), *map(_text, values)}
    if isinstance(true, (int, float)) and not isinstance(true, bool):
        made: list[Any] = [true + step for step in range(1, 10 * _CANDIDATES)]
    else:
        made = [f"{_text(true)[:-1]}{chr(97 + step)}{step}" for step in range(10 * _CANDIDATES)]
    fresh = [one for one in made if _text(one) not in seen]
    return [*others, *fresh[: _CANDIDATES - 2]]


def _digests(message: bytes, keys: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """Yield digests of a message: plain, of its digest, and with each key before it, after it and as HMAC."""
    for name in _HASHES:
        plain = hashlib.new(name, message, usedforsecurity=False)
        yield name, plain.hexdigest()
        for which, part in (("", message), (" twice", plain.digest()), (" twice, as text", plain.hexdigest().encode())):
            if which:
                yield f"{name}{which}", hashlib.new(name, part, usedforsecurity=False).hexdigest()
            for at, key in enumerate(keys):
                yield f"{name}{which} after key {at}", hashlib.new(name, key + part, usedforsecurity=False).hexdigest()
                yield f"{name}{which} before key {at}", hashlib.new(name, part + key, usedforsecurity=False).hexdigest()
                yield f"{name}{which} with key {at}", hmac.digest(key, part, name).hex()


def _text(value: Any) -> str:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    return str(pa.scalar(value).cast(pa.string()).as_py())


def _sized(text: str) -> str:
    return f"{len(text.encode('utf-8', 'surrogatepass'))}:{text}"


def _line(row: Iterable[str | None]) -> str:
    return "".join("-" if one is None else _sized(one) for one in row)


def _places(values: NDArray[np.float64]) -> int:
    """Return the number of decimals of the values, at most 12."""
    for places in range(12):
        if np.array_equal(np.round(values, places), values):
            return places
    return 12


def _with(values: NDArray[np.float64], at: int, value: Any) -> NDArray[np.float64]:
    changed = values.copy()
    changed[at] = value
    return changed


def _aggregates(values: NDArray[np.float64]) -> dict[str, float]:
    return {
        "sum": float(values.sum()),
        "mean": float(values.mean()),
        "least": float(values.min()),
        "largest": float(values.max()),
        **{f"variance {ddof}": float(values.var(ddof=ddof)) for ddof in (0, 1) if len(values) > ddof},
        **{f"deviation {ddof}": float(values.std(ddof=ddof)) for ddof in (0, 1) if len(values) > ddof},
    }


def _in_three_digits(name: str, value: float) -> float:
    """Return a loss as earlier evidence has it."""
    return significant(value)


def _published(n: int, d: int, name: str, value: float) -> float:
    """Return a loss as evidence has it, about a table of n records and d attributes."""
    scale = float(n * d) if name.startswith(("sse", "sae")) else 100.0 if name.startswith("il_") else 1.0
    return coarse(value, n, scale)


def _readings(
    original: NDArray[np.float64], released: NDArray[np.float64], labels: NDArray[np.int64], ddof: int
) -> dict[str, float]:
    """Return losses of numbers, each in units of its standard deviation."""
    unit = original.std(axis=0, ddof=ddof)
    unit[unit == 0.0] = 1.0
    squares = ((original - released) / unit) ** 2
    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, one) / sizes for one in original.T])
    inner = (((original - means[labels]) / unit) ** 2).sum()
    whole = (((original - original.mean(axis=0)) / unit) ** 2).sum() or 1.0
    return {
        "sse": float(squares.sum()),
        "mse": float(squares.mean()),
        "mae": float(np.sqrt(squares).mean()),
        "sae": float(np.sqrt(squares).sum()),
        "il_sse": float(100.0 * squares.sum() / whole),
        "sse_partition": float(inner),
        "il_sse_partition": float(100.0 * inner / whole),
    }
