"""Stata files."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, SchemaError, listing, raise_all
from shoal.io.sinks._file import undate_dta
from shoal.io.sinks._statistical_types import Format, StatisticalSink, cut, notes_of, numbers_of, padded, variables_of
from shoal.parameters import Checked, Param
from shoal.types.statistical_files import Variable, declared_missing, tag, tag_range, tags

#: Stata's smallest and largest integer.
ENDS = (-2_147_483_647, 2_147_483_620)


def lettered(name: str, column: Any, variable: Variable) -> tuple[Any, Variable]:
    """Return a numeric column whose declared missing values become .a, .b, … in the order of their codes.

    Integers too large for Stata become doubles, and so does a column with nothing else left, as the file has them.

    Raises
    ------
    DataError
        If there are more codes than letters.
    """
    if not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
        return column, replace(variable, missing=(), tagged=False)
    flags = declared_missing(variable, column)
    values = column.filter(pc.invert(flags)).drop_null()
    whole = pa.types.is_integer(column.type) and (
        len(values) > 0 and pc.min(values).as_py() >= ENDS[0] and pc.max(values).as_py() <= ENDS[1]
    )
    codes = _codes(column, flags, variable)
    if not codes:
        fits = whole or pa.types.is_floating(column.type) or not len(values)
        return column if fits else column.cast(pa.float64()), replace(variable, missing=(), tagged=False)
    if len(codes) > 26:
        raise DataError(
            f"Stata: column {name!r} must have at most 26 values declared as missing, got {len(codes):,}. Recode some."
        )
    old = {**tags(whole=True), **tags(whole=False)} if variable.tagged else {}
    letters = [old.get(code, "abcdefghijklmnopqrstuvwxyz"[at]) for at, code in enumerate(codes)]
    new = {code: tag(letter, whole=whole) for code, letter in zip(codes, letters, strict=True)}
    kind = pa.int64() if whole else pa.float64()
    found = _replaced(column, new, kind)
    return found, replace(variable.relabelled(dict(new)), missing=(tag_range(whole=whole),), tagged=True)


def _codes(column: Any, flags: Any, variable: Variable) -> list[Any]:
    """Return the codes that occur or have a label, in order."""
    present = column.filter(flags).unique().to_pylist()
    labelled = [value for value, _ in variable.labels if not isinstance(value, str) and _is_missing(value, variable)]
    if variable.tagged:
        return sorted({*present, *labelled})
    single = [low for low, high in variable.missing if low == high and not isinstance(low, str)]
    return sorted({*present, *labelled, *single})


def _is_missing(value: float, variable: Variable) -> bool:
    return any(
        low <= value <= high for low, high in variable.missing if not isinstance(low, str) and not isinstance(high, str)
    )


def _replaced(column: Any, new: dict[Any, Any], kind: Any) -> Any:
    """Replace some values of a column."""
    found = column.cast(kind)
    for code, value in new.items():
        found = pc.if_else(pc.equal(column, pa.scalar(code).cast(column.type)), pa.scalar(value, kind), found)
    return found


def letter_of(code: Any) -> str | None:
    """Return the letter that a number represents."""
    return tags(whole=True).get(code) or tags(whole=False).get(code)


def with_letters(column: Any, variable: Variable) -> tuple[list[Any], list[str]]:
    """Return the values with letters for codes, as pyreadstat takes them, and the letters of values and labels.

    Without letters, there are no values either.
    """
    letters = {letter for value, _ in variable.labels if (letter := letter_of(value)) is not None}
    if not variable.tagged and not letters:
        return [], []
    of = tags(whole=pa.types.is_integer(column.type)) if variable.tagged else {}
    values = [of.get(value, value) for value in column.to_pylist()]
    return values, sorted(letters | {value for value in values if isinstance(value, str)})


_RESERVED = (
    r"(_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|_skip|str[0-9]+|strL|using|with)"
)
_UNICODE, _LONG_TEXTS = 14, 13  # the first versions with these features
_LARGEST = 8.988_465_674_311_579e307


@dataclass(frozen=True)
class Stata(StatisticalSink, Checked):
    """Stata files, with labels, formats and the letters of missing values."""

    suffixes: ClassVar[tuple[str, ...]] = (".dta",)
    title = "Stata"

    stata_version: Annotated[
        int, Param("The oldest version of Stata that can open the file; 15 is for more than 32,767 columns.", 8, 15)
    ] = 14

    def fitted(self, table: pa.Table) -> pa.Table:
        """Return the table as the file will hold it.

        Values that are declared missing, as in SPSS, become .a, .b, … in the order of their codes.
        """
        longest = 2_000_000_000 if self.stata_version >= _LONG_TEXTS else 243
        form = Format("stata", "Stata", "%tc", "%td", _LARGEST, longest, blanks=True)
        data = form.fitted(table)
        columns, fields = [], []
        for field, column, (name, variable) in zip(data.schema, data.columns, variables_of(data).items(), strict=True):
            found, known = lettered(name, column, variable)
            columns.append(found)
            fields.append(known.onto(field.with_type(found.type)))
        fitted = pa.table(columns, schema=pa.schema(fields, metadata=data.schema.metadata))
        self._check(fitted)
        return fitted

    def _undate(self, path: Path) -> None:
        undate_dta(path)

    def _arguments(self, polars: Any, data: pa.Table, path: Path) -> tuple[list[Any], dict[str, Any]]:
        variables, notes = variables_of(data), notes_of(data, "stata")
        made = {n: _series(polars, n, data.column(n), one, self.stata_version) for n, one in variables.items()}
        wide = self.stata_version >= _UNICODE
        return [series for series, _ in made.values()], {
            "writer_format": "dta",
            "version": self.stata_version,
            "file_label": cut(notes.label, 80, characters=wide) or "",
            "column_labels": {name: cut(one.label, 80, characters=wide) for name, one in variables.items()},
            "variable_value_labels": {n: found for n, one in variables.items() if (found := _labels(one))},
            "missing_user_values": {name: letters for name, (_, letters) in made.items() if letters},
            "variable_format": {name: one.format for name, one in variables.items() if one.format},
        }

    def _check(self, table: pa.Table) -> None:
        """Refuse names, characters and labels that the format lacks."""
        variables = variables_of(table)
        faults = []
        if odd := [repr(name) for name in table.column_names if not self._allowed(name)]:
            faults.append(
                "Stata: the name of a column must have at most 32 characters, begin with a letter or _, contain "
                f"only letters, digits or _, and not be a reserved word; invalid: {listing(odd)}. Rename them."
            )
        labelled = [name for name, one in variables.items() if one.storage != "string" and one.labels]
        room = 32 - len(str(len(labelled)))
        if long := [repr(name) for name in labelled if len(name) > room]:
            faults.append(
                f"Stata: the name of a column with value labels must have at most {room} characters here; longer: "
                f"{listing(long)}. Rename them."
            )
        raise_all(SchemaError, faults)
        faults = [
            f"Stata: column {name!r} must have value labels for integers only in this format. Drop the others, or "
            "write SPSS."
            for name in labelled
            if not all(_labelable(value) for value, _ in variables[name].labels if not isinstance(value, str))
        ]
        raise_all(DataError, faults if self.stata_version >= _UNICODE else [*faults, *self._not_ascii(table)])

    def _allowed(self, name: str) -> bool:
        plain = re.ASCII if self.stata_version < _UNICODE else re.NOFLAG
        return re.fullmatch(r"[^\W\d]\w{0,31}", name, plain) is not None and not re.fullmatch(_RESERVED, name)

    def _not_ascii(self, table: pa.Table) -> list[str]:
        """Return the faults of texts and labels that versions without Unicode would garble."""
        remedy = f"Stata {self.stata_version} has ASCII characters only. Set stata_version to 14, or replace them."
        faults = []
        for name, variable in variables_of(table).items():
            said = [variable.label or "", *(label for _, label in variable.labels)]
            column = table.column(name)
            cells = 0
            if pa.types.is_string(column.type):
                cells = pc.sum(pc.invert(pc.string_is_ascii(column))).as_py() or 0
            if cells:
                faults.append(f"Stata: column {name!r} has characters other than ASCII in {cells:,} records. {remedy}")
            if not all(map(str.isascii, said)):
                faults.append(f"Stata: labels of column {name!r} have characters other than ASCII. {remedy}")
        return faults


def _series(polars: Any, name: str, column: Any, variable: Variable, version: int) -> tuple[Any, list[str]]:
    """Return a column as pyreadstat takes it, and the letters of its missing values."""
    if pa.types.is_string(column.type):
        unlimited = variable.width == 0 and version >= _LONG_TEXTS  # one of this width is written as strL
        return polars.Series(name, polars.from_arrow(padded(column, 2_045 if unlimited else variable.width))), []
    column = numbers_of(column, variable)
    if variable.storage.startswith("int") and pa.types.is_floating(column.type) and _still_whole(column):
        column = column.cast(pa.int64())  # days, which are integers there
    values, letters = with_letters(column, variable)
    if letters:
        return polars.Series(name, values, dtype=polars.Object), letters
    if pa.types.is_integer(column.type):
        ends = pc.min_max(column).as_py()
        small = ends["min"] is None or (ends["min"] >= ENDS[0] and ends["max"] <= ENDS[1])
        column = column.cast(pa.int32() if small else pa.float64())
    return polars.Series(name, polars.from_arrow(column)), []


def _still_whole(column: Any) -> bool:
    ends = pc.min_max(column).as_py()
    inside = ends["min"] is None or (ends["min"] >= ENDS[0] and ends["max"] <= ENDS[1])
    return inside and pc.all(pc.equal(column, pc.floor(column))).as_py() is not False


def _labelable(value: float) -> bool:
    return letter_of(value) is not None or (value == int(value) and ENDS[0] <= value <= ENDS[1])


def _labels(variable: Variable) -> dict[int | str, str]:
    """Return value labels with integers and letters; Stata allows none for text."""
    if variable.storage == "string":
        return {}
    return {letter_of(value) or int(value): label for value, label in variable.labels if not isinstance(value, str)}
