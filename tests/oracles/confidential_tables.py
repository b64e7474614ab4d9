"""Small tables of all kinds of confidential columns, and what their values are to an oracle."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.types import Column, Kind, Release, Role, Schema, Taxonomy

ORACLES = Path(__file__).parent
diversity = runpy.run_path(str(ORACLES / "diversity.py"))
kpqr = runpy.run_path(str(ORACLES / "kpqr.py"))

ILLS = {
    "flu": ("lungs",),
    "asthma": ("lungs",),
    "gastritis": ("gut", "mild"),
    "ulcer": ("gut", "severe", "open"),
    "cancer": ("gut", "severe", "open"),
    "y": ("x",),
}
_NAN, _INF = float("nan"), float("inf")


class Pool(NamedTuple):
    """The values that a column may take, and its kind and type."""

    kind: Kind
    type: pa.DataType
    values: list
    taxonomy: Taxonomy | None = None


WORDS = ["zero", "never", "one", "two", "three"]
POOLS = {
    "integer": Pool(Kind.INTEGER, pa.int64(), [None, 0, 1, 2, 5, -3, 10**15]),
    "few": Pool(Kind.INTEGER, pa.int8(), [1, 2, 3]),
    "continuous": Pool(Kind.CONTINUOUS, pa.float64(), [0.1, 0.2, 0.3, 0.7, None, _NAN, 0.0, -0.0, _INF, -_INF]),
    "float": Pool(Kind.CONTINUOUS, pa.float64(), [1 / 3, 2 / 3, 1.1e300, -1e-300, 0.1, 0.30000000000000004]),
    "single": Pool(Kind.CONTINUOUS, pa.float32(), [0.1, 0.3, 0.5, 0.7, None, 2.0]),
    "decimal": Pool(Kind.CONTINUOUS, pa.decimal128(25, 2), [Decimal("0.10"), Decimal("0.3"), Decimal(7), None]),
    "nominal": Pool(Kind.NOMINAL, pa.string(), ["a", "b", "c", "d", "", None]),
    "spelled": Pool(
        Kind.NOMINAL, pa.string(), ["flu", " Flu", "FLU\u200b", "01", "1", "é", "e\u0301", "É ", "", " ", None]
    ),
    "ordinal": Pool(Kind.ORDINAL, pa.dictionary(pa.int8(), pa.string(), ordered=True), [0, 2, 3, 4, None]),
    "date": Pool(Kind.DATETIME, pa.date32(), [date(2020, 2, 28), date(2020, 3, 1), date(1999, 1, 1), None]),
    "moment": Pool(Kind.DATETIME, pa.timestamp("ms"), [datetime(2020, 1, 1, h) for h in (0, 1, 12)] + [None]),
    "taxonomy": Pool(Kind.NOMINAL, pa.string(), [*ILLS, None], Taxonomy(ILLS)),
}


def arrow(pool: Pool, at: list[int]) -> pa.Array:
    """A column of values of a pool."""
    values = [pool.values[i % len(pool.values)] for i in at]
    if pool.kind is Kind.ORDINAL:
        return pa.DictionaryArray.from_arrays(pa.array(values, pa.int8()), pa.array(WORDS), ordered=True)
    return pa.array(values, pool.type, from_pandas=False)


def release_of(quasi: list[int], columns: dict[str, pa.Array], pools: dict[str, Pool]) -> Release:
    """A release of one quasi-identifier q and some confidential columns."""
    schema = [Column("q", Role.QUASI, Kind.NOMINAL)]
    schema += [Column(name, Role.CONFIDENTIAL, pools[name].kind, pools[name].taxonomy) for name in columns]
    return Release(pa.table({"q": quasi, **columns}), Schema(tuple(schema)))


def told(pool: Pool, at: list[int]) -> list:
    """The values as an oracle has them: NaN is missing, −0 is 0."""
    values = [pool.values[i % len(pool.values)] for i in at]
    if pool.type in (pa.float64(), pa.float32()):
        return [None if value is None or value != value else value + 0.0 for value in values]
    return values


#: What the values of the pool "spelled" are counted as.
MEANT = {" Flu": "flu", "FLU\u200b": "flu", "e\u0301": "é", "É ": "é", " ": ""}


def number(value: Any) -> Fraction | None:
    """The number that a value is written as, moments in days; None: it has no place."""
    if value is None or (isinstance(value, float) and value in (_INF, -_INF)):
        return None
    if isinstance(value, datetime):
        return Fraction(int(value.timestamp()), 86_400)
    if isinstance(value, date):
        return Fraction(value.toordinal())
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def distance(pool: Pool, table: list) -> tuple[Callable[[Any, Any], Fraction], Callable[[Any], bool]]:
    """The squared distance between two values, and whether a value has a place."""
    if pool.taxonomy is not None:
        return _way, lambda value: True
    if pool.kind is Kind.NOMINAL:
        return (lambda a, b: Fraction(a != b)), lambda value: True
    if pool.kind is Kind.ORDINAL:
        order = sorted(set(table), key=lambda value: (value is None, value))
        return (lambda a, b: Fraction(order.index(a) - order.index(b)) ** 2), lambda value: True
    return (lambda a, b: (number(a) - number(b)) ** 2), lambda value: number(value) is not None  # type: ignore[operator]


def _way(a: Any, b: Any) -> Fraction:
    """The height of the lowest common ancestor, which half of the way is."""
    if a == b:
        return Fraction(0)
    above = [((), *(ILLS[v][: i + 1] for i in range(len(ILLS[v])))) if v is not None else ((),) for v in (a, b)]
    common = max((node for node in above[0] if node in above[1]), key=len)
    return Fraction(max(len(path) - len(common) + 1 for path in ILLS.values() if path[: len(common)] == common))
