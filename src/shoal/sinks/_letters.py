"""Missing values with letters: how Stata tells one reason from another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.errors import DataError
from shoal.types.statfile import Variable, declared_missing, tag, tag_range, tags

#: The least and the largest integer of Stata.
ENDS = (-2_147_483_647, 2_147_483_620)


def lettered(name: str, column: Any, variable: Variable) -> tuple[Any, Variable]:
    """Return a column of numbers whose declared missing values are .a, .b, … in the order of their codes.

    Integers too large for Stata's are doubles, and so is a column in which nothing else is left, as the file has them.

    Raises
    ------
    DataError
        If there are more codes than letters.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

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
            f"Stata: column {name!r} must have at most 26 values that are declared to be missing, got {len(codes):,}. "
            "Recode some."
        )
    old = {**tags(whole=True), **tags(whole=False)} if variable.tagged else {}
    letters = [old.get(code, "abcdefghijklmnopqrstuvwxyz"[at]) for at, code in enumerate(codes)]
    new = {code: tag(letter, whole=whole) for code, letter in zip(codes, letters, strict=True)}
    kind = pa.int64() if whole else pa.float64()
    found = _replaced(column, new, kind)
    return found, replace(variable.relabelled(dict(new)), missing=(tag_range(whole=whole),), tagged=True)


def _codes(column: Any, flags: Any, variable: Variable) -> list[Any]:
    """Return the codes that are there or that have a label, in their order."""
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
    """Return a column with other values for some."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = column.cast(kind)
    for code, value in new.items():
        found = pc.if_else(pc.equal(column, pa.scalar(code).cast(column.type)), pa.scalar(value, kind), found)
    return found


def letter_of(code: Any) -> str | None:
    """Return the letter of a number that stands for one."""
    return tags(whole=True).get(code) or tags(whole=False).get(code)


def with_letters(column: Any, variable: Variable) -> tuple[list[Any], list[str]]:
    """Return the values with letters for codes, as pyreadstat takes them, and the letters of values and labels.

    Where there are none, there are no values either.
    """
    import pyarrow as pa

    letters = {letter for value, _ in variable.labels if (letter := letter_of(value)) is not None}
    if not variable.tagged and not letters:
        return [], []
    of = tags(whole=pa.types.is_integer(column.type)) if variable.tagged else {}
    values = [of.get(value, value) for value in column.to_pylist()]
    return values, sorted(letters | {value for value in values if isinstance(value, str)})
