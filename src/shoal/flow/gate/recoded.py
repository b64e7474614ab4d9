"""Recoded columns of a release: every cell is a value that the recoding allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.errors import GuaranteeError
from shoal.flow.stages.values import as_values
from shoal.privacy.counting.recoded_values import exact, left_of, only_middles, within
from shoal.schema.cells import is_text, tidy, with_point
from shoal.schema.roles import without_user_missing
from shoal.types import Dialect, Kind, Release, Role, Table, called

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LONGEST = 400  # decimal places of the smallest double, and more


_ROOT = "*"  # the group above all others


def check_recoded(
    release: Release,
    recode: Mapping[str, Mapping[str, Any]],
    table: Table,
    *,
    as_written: bool,
    noisy: bool = False,
    resolution: Mapping[str, Any] | None = None,
) -> None:
    """Refuse a release, of one table or two, in which a cell was not recoded.

    Parameters
    ----------
    release
        Its tables, as they were read back.
    recode
        The recodings of the recipe, by column.
    table
        The recoded table, of which categories are the leaves of their taxonomies; and the table before, for its types.
    as_written
        Whether quasi-identifiers are released as cells of records. Aggregates of numbers and dates must only lie within
        the limits.
    noisy
        Whether noise was added to quasi-identifiers; then only categories are checked.
    resolution
        The steps to which quasi-identifiers are rounded, by column.

    Raises
    ------
    GuaranteeError
        If a number or date is not a value that the recoding returns, a category is not a declared group, or cells
        cannot be checked.
    """
    steps = resolution or {}
    for one in (release, release.apart):
        if one is None:
            continue
        found = Table(one.data, table.schema, one.dialect)
        for name, how in recode.items():
            if name not in one.data.column_names:
                continue
            how_exactly = _Strictness(as_written or table.schema[name].role is not Role.QUASI, noisy, steps.get(name))
            try:
                fits = _fits(found, table.as_read, name, how, how_exactly)
            except (pa.ArrowException, ArithmeticError, ValueError, TypeError):  # fail closed; messages may show cells
                fits = False
            if not fits:
                raise GuaranteeError(f"Column {name!r} holds values that were not recoded. Nothing was written.")


class _Strictness(NamedTuple):
    """How strictly a column is checked."""

    exactly: bool  #: it holds recoded values themselves, not aggregates of them
    noisy: bool  #: aggregates have noise
    step: Any  #: to which aggregates are rounded; None: to their own digits


def _fits(found: Table, before: Table, name: str, how: Mapping[str, Any], strict: _Strictness) -> bool:
    """Tell whether a column holds only values that its recoding allows."""
    exactly = strict.exactly
    column = found.schema[name]
    if column.kind is Kind.NOMINAL:
        return _in_groups(found, name, exactly=exactly)
    if order := _order(before, name):
        return {called(one) for one in _distinct(found, name)} <= left_of(order, how)
    if strict.noisy and not exactly:
        return True
    kind = as_values(name, before, exact=True).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if column.kind is Kind.DATETIME:
        per_second = Fraction(1, 86_400) if pa.types.is_date(kind) else Fraction(_TICKS[kind.unit])
        ticks = _ticks(found, name, per_second, whole=exactly)
        return (
            only_middles(ticks, how, Fraction(1), per_second)
            if exactly
            else within(ticks, how, per_second, strict.step)
        )
    numbers = _numbers(found, name)
    finite = [one for one in numbers if not isinstance(one, float)]
    low, high = ("breaks" in how or end in how for end in ("bottom", "top"))
    if (high and math.inf in numbers) or (low and -math.inf in numbers):
        return False
    return only_middles(finite, how, _unit(column.kind, kind)) if exactly else within(finite, how, None, strict.step)


def _unit(kind: Kind, stored: pa.DataType) -> Fraction | None:
    """Return the number of which all values of a column are multiples; None: any number."""
    if kind is Kind.INTEGER or pa.types.is_integer(stored):
        return Fraction(1)
    return Fraction(1, 10**stored.scale) if pa.types.is_decimal(stored) else None


def _in_groups(table: Table, name: str, *, exactly: bool) -> bool:
    """Tell whether every category is a leaf of the taxonomy that is left after recoding; of classes also a group."""
    tree = table.schema[name].taxonomy
    if tree is None:
        return False
    known = set(tree.paths) if exactly else {*tree.paths, _ROOT, *chain.from_iterable(tree.paths.values())}
    return all(called(one) in known for one in _distinct(table, name))


def _order(before: Table, name: str) -> list[str]:
    """Return the categories of an ordered column, from lowest to highest; empty if it has no order of categories."""
    if before.schema[name].order:
        return list(before.schema[name].order)
    column = before.data.column(name)
    if before.schema[name].kind is not Kind.ORDINAL or not pa.types.is_dictionary(column.type):
        return []
    return [called(one) for one in column.unify_dictionaries().chunk(0).dictionary.to_pylist()]


def _distinct(table: Table, name: str) -> list[Any]:
    """Return the distinct values of a column, without missing ones; text cells without surrounding blanks."""
    cells = without_user_missing(table.data.schema.field(name), table.data.column(name))
    cells = cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
    cells = tidy(cells, table.dialect or Dialect()) if is_text(cells) else cells
    if pa.types.is_float32(cells.type):
        cells = cells.cast(pa.string()).cast(pa.float64())  # 0.1, not 0.10000000149
    return list(cells.unique().drop_null().to_pylist())


def _numbers(table: Table, name: str) -> set[Fraction | float]:
    """Return the distinct numbers of a column, with all of their digits; infinities as floats, and no NaN."""
    found = _distinct(table, name)
    if found and isinstance(found[0], str):
        texts = with_point(pa.chunked_array([pa.array(found, pa.string())]), table.dialect or Dialect())
        found = [_read(text) for text in texts.to_pylist()]
    floats = [one for one in found if isinstance(one, float) and not math.isfinite(one)]
    return {one for one in floats if not math.isnan(one)} | {
        exact(one) for one in found if not isinstance(one, float) or math.isfinite(one)
    }


def _read(text: str) -> Decimal:
    number = Decimal(text)
    return number if abs(number.adjusted()) < _LONGEST else Decimal(float(number))


def _ticks(table: Table, name: str, per_second: Fraction, *, whole: bool) -> list[Fraction]:
    """Return the distinct dates of a column in ticks of the type before recoding; `whole` refuses parts of a tick."""
    values = as_values(name, table)
    values = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    values = values.unique().drop_null()
    if pa.types.is_date(values.type):
        seconds = [Fraction(day * 86_400) for day in values.cast(pa.date32()).cast(pa.int32()).to_pylist()]
    else:
        seconds = [Fraction(one, _TICKS[values.type.unit]) for one in values.cast(pa.int64()).to_pylist()]
    ticks = [one * per_second for one in seconds]
    if whole and any(one.denominator != 1 for one in ticks):
        raise ValueError("a date lies between two ticks")
    return ticks
