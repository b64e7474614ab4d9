"""Recoded columns of a release: every cell is a value that the recoding allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.errors import GuaranteeError
from shoal.flow.stages.values import as_values
from shoal.privacy.counting.recoded_values import ends_of, exact, groups_at, left_of, only_middles, within
from shoal.schema.cells import is_text, tidy, with_point
from shoal.schema.roles import without_user_missing
from shoal.types import Dialect, Kind, Release, Role, Table, called
from shoal.types.statistical_files import Variable

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NEAR, _LARGEST = 1e-9, 10**300  # relative distance of numbers that doubles put into the right order, up to this
_LONGEST = 400  # decimal places of the smallest double, and more


_ROOT = "*"  # the group above all others
_AND = " + "  # between the names of merged strata


def check_recoded(
    release: Release,
    recode: Mapping[str, Mapping[str, Any]],
    table: Table,
    *,
    as_written: bool,
    noisy: bool = False,
    resolution: Mapping[str, Any] | None = None,
    merges: bool = False,
) -> None:
    """Refuse a release, of one table or two, in which a cell was not recoded.

    Parameters
    ----------
    release
        Its tables, as they were read back.
    recode
        The recodings of the recipe, by column.
    table
        The recoded table, and the table before, for its types, orders and taxonomies.
    as_written
        Whether quasi-identifiers are released as cells of records. Aggregates of numbers and dates must only lie within
        the limits.
    noisy
        Whether noise was added to quasi-identifiers; then only categories are checked.
    resolution
        The steps to which quasi-identifiers are rounded, by column.
    merges
        Whether small strata were merged: a joint name must consist of values that the recoding returns.

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
                cells = _taken_apart(found, name, table) if merges and table.schema[name].role is Role.STRATA else found
                fits = _fits(cells, table.as_read, name, how, how_exactly)
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
        return _in_groups(found, before, name, how, exactly=exactly)
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
    middles = exactly and ("interval" in how or "breaks" in how)  # then only a few values are allowed
    numbers = _numbers(found, name, None if middles else how)
    finite = [one for one in numbers if not isinstance(one, float)]
    low, high = ("breaks" in how or end in how for end in ("bottom", "top"))
    if (high and math.inf in numbers) or (low and -math.inf in numbers):
        return False
    bits = 32 if pa.types.is_float32(kind) else 64
    return (
        only_middles(finite, how, _unit(column.kind, kind)) if exactly else within(finite, how, None, strict.step, bits)
    )


def _taken_apart(found: Table, name: str, table: Table) -> Table:
    """Return the strata of a release, with the joint name or code of merged strata replaced by what it stands for."""
    known, variable = set(map(called, _distinct(table, name))), Variable.of(found.data.schema.field(name))
    labels = {} if variable is None else {called(code): str(label) for code, label in variable.labels}
    codes = {label: code for code, label in labels.items()}
    cells = [called(one) for one in _distinct(found, name)]
    if known.issuperset(cells) or not (labels or is_text(found.data.column(name))):
        return found
    joint = [one for one in cells if one not in known]
    parts = [codes.get(part, part) for one in joint for part in labels.get(one, one).split(_AND)]
    return Table(pa.table({name: pa.array([*known.intersection(cells), *parts])}), found.schema, found.dialect)


def _unit(kind: Kind, stored: pa.DataType) -> Fraction | None:
    """Return the step of a column: all its values are multiples of it; None: any number."""
    if kind is Kind.INTEGER or pa.types.is_integer(stored):
        return Fraction(1)
    return Fraction(1, 10**stored.scale) if pa.types.is_decimal(stored) else None


def _in_groups(found: Table, before: Table, name: str, how: Mapping[str, Any], *, exactly: bool) -> bool:
    """Tell whether every category is a group or value that the level leaves; of classes also a group above these."""
    tree = before.schema[name].taxonomy
    if tree is None or "level" not in how:
        return False
    left, above = groups_at(tree.paths, how["level"])
    known = left if exactly else {*left, *above, _ROOT}
    return all(called(one) in known for one in _distinct(found, name))


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


def _numbers(table: Table, name: str, within: Mapping[str, Any] | None) -> set[Fraction | float]:
    """Return the distinct numbers of a column, with all of their digits; infinities as floats, and no NaN.

    Those that lie well within the limits of a recoding are left out, if it is given.
    """
    found = _distinct(table, name)
    found = found if within is None else _doubtful(found, within)
    if found and isinstance(found[0], str):
        texts = with_point(pa.chunked_array([pa.array(found, pa.string())]), table.dialect or Dialect())
        found = [_read(text) for text in texts.to_pylist()]
    floats = [one for one in found if isinstance(one, float) and not math.isfinite(one)]
    return {one for one in floats if not math.isnan(one)} | {
        exact(one) for one in found if not isinstance(one, float) or math.isfinite(one)
    }


def _doubtful(numbers: list[Any], how: Mapping[str, Any]) -> list[Any]:
    """Return the numbers that are beyond the limits of a recoding, or too near to them to be sure by doubles."""
    if not numbers or isinstance(numbers[0], str):
        return numbers
    x = np.array(numbers, np.float64)
    sure = np.isfinite(x)
    for limit, side in zip(ends_of(how, None)[:2], (1.0, -1.0), strict=True):
        if limit is not None:
            if abs(limit) > _LARGEST:
                return numbers
            sure &= side * (x - float(limit)) > _NEAR * (np.abs(x) + abs(float(limit)))
    return [number for number, one in zip(numbers, sure.tolist(), strict=True) if not one]


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
