"""The gate's check of recoded columns: every value that a recoding returns passes, and nearly all others do not."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.gate.recoded import check_recoded
from shoal.flow.stages.read import schema_for
from shoal.flow.stages.recode import recoded
from shoal.types import Dialect, Release, Table, with_columns

rng = np.random.default_rng(8)
WHOLE = rng.integers(-30, 90, 300)
DAYS = [date(1930 + int(i) % 90, 1 + int(i) % 12, 1 + int(i) % 28) for i in rng.integers(0, 10_000, 300)]
TIMES = [datetime(d.year, d.month, d.day, 13, i % 60, 7, 1000 * i) for i, d in enumerate(DAYS)]
COLUMNS: dict[str, pa.Array] = {
    "int": pa.array(WHOLE),
    "float": pa.array(np.round(rng.normal(20, 30, 300), 2)),
    "float32": pa.array(np.round(rng.normal(20, 30, 300), 2), pa.float32()),
    "decimal": pa.array([Decimal(int(one)) / 2 for one in WHOLE], pa.decimal128(9, 2)),
    "integers as text": pa.array([str(one) for one in WHOLE]),
    "numbers as text": pa.array([f"{one / 1.7:.20f}" for one in WHOLE]),
}
NUMBERS: list[dict[str, Any]] = [
    {"top": 40, "top_as": 47},
    {"interval": 7, "top": 33, "bottom": 4},
    {"interval": 10},
    {"breaks": [-10, 0, 25, 60], "bottom_as": -12},
]
MOMENTS: list[dict[str, Any]] = [
    {"interval": "year", "bottom": "1940-01-01"},
    {"interval": "month"},
    {"top": "1999-12-31", "top_as": "2005-01-01"},
    {"breaks": ["1930-01-01", "1950-01-01", "1999-12-31"]},
]


def check(before: pa.Array, how: dict[str, Any], change: Any = None, **more: Any) -> None:
    """Check a recoded column, of which the first cell may be changed."""
    table = recoded_table(before, how)
    data = table.data
    if change is not None:
        column = pa.concat_arrays([pa.array([change], before.type), data["x"].combine_chunks()[1:]])
        data = with_columns(data, {"x": pa.chunked_array([column])})
    release = Release(data, table.schema, table.dialect)
    check_recoded(release, {"x": how}, table, **{"as_written": True, **more})


def recoded_table(before: pa.Array, how: dict[str, Any], dialect: Dialect | None = None, **more: Any) -> Table:
    data = pa.table({"x": before})
    dialect = dialect or (Dialect() if pa.types.is_string(before.type) else None)
    recipe = shoal.Recipe(quasi=["x"], recode={"x": how}, **more)
    return recoded(Table(data, schema_for(data, recipe, dialect), dialect), recipe)


@pytest.mark.parametrize("how", NUMBERS, ids=str)
@pytest.mark.parametrize("kind", COLUMNS)
def test_only_numbers_that_a_recoding_returns_pass(kind: str, how: dict[str, Any]) -> None:
    before = COLUMNS[kind]
    check(before, how)
    after = set(recoded_table(before, how).data["x"].to_pylist())
    strange = [one for one in before.to_pylist() if one not in after][:6]
    assert strange
    for value in strange:
        with pytest.raises(shoal.GuaranteeError, match="holds values that were not recoded"):
            check(before, how, value)


def meant(cell: Any) -> Any:
    """A moment may be written in several ways."""
    return datetime.fromisoformat(cell) if isinstance(cell, str) else cell


@pytest.mark.parametrize("how", MOMENTS, ids=str)
@pytest.mark.parametrize("kind", ["date", "text", "time", "zone", "ns", "time as text"])
def test_only_dates_that_a_recoding_returns_pass(kind: str, how: dict[str, Any]) -> None:
    before = {
        "date": lambda: pa.array(DAYS),
        "text": lambda: pa.array([str(one) for one in DAYS]),
        "time": lambda: pa.array(TIMES, pa.timestamp("ms")),
        "zone": lambda: pa.array([one.replace(tzinfo=UTC) for one in TIMES], pa.timestamp("us", "Europe/Berlin")),
        "ns": lambda: pa.array(TIMES, pa.timestamp("ns")),
        "time as text": lambda: pa.array([one.isoformat() for one in TIMES]),
    }[kind]()
    check(before, how)
    after = {meant(one) for one in recoded_table(before, how).data["x"].to_pylist()}
    strange = [one for one in before.to_pylist() if meant(one) not in after][:6]
    assert strange
    for value in strange:
        with pytest.raises(shoal.GuaranteeError, match="holds values that were not recoded"):
            check(before, how, value)


def test_digits_beyond_those_of_a_double_are_seen() -> None:
    with pytest.raises(shoal.GuaranteeError):
        check(pa.array(["5", "12"] * 5), {"top": 10}, "10.00000000000000000001")


def test_cells_that_cannot_be_read_are_refused_without_showing_them() -> None:
    with pytest.raises(shoal.ShoalError) as refused:
        check(pa.array(["5", "12"] * 5), {"top": 10}, "secret")
    assert "secret" not in str(refused.value)


def test_aggregates_must_lie_within_limits() -> None:
    ages = pa.array([float(one) for one in range(100)])
    check(ages, {"top": 90, "interval": 5}, 33.25, as_written=False)
    with pytest.raises(shoal.GuaranteeError):
        check(ages, {"top": 90, "interval": 5}, 90.25, as_written=False)
    check(ages, {"top": 90, "interval": 5}, 90.25, as_written=False, noisy=True)
    with pytest.raises(shoal.GuaranteeError):
        check(pa.array(DAYS), {"bottom": "1940-01-01"}, date(1939, 12, 31), as_written=False)


@pytest.mark.parametrize("end", [1.0, -1.0])
def test_infinities_become_limits_and_stay_without(end: float) -> None:
    given = pa.array([end * np.inf, 1.0, 50.0, -50.0, np.nan])
    limit = {"top": 40} if end > 0 else {"bottom": -40}
    assert recoded_table(given, limit).data["x"].to_pylist()[0] == end * 40
    instead = {**limit, "top_as" if end > 0 else "bottom_as": end * 60}
    assert recoded_table(given, instead).data["x"].to_pylist()[0] == end * 60
    check(given, limit)
    with pytest.raises(shoal.GuaranteeError):
        check(given, limit, end * np.inf)
    other = {"bottom": -40} if end > 0 else {"top": 40}
    assert recoded_table(given, other).data["x"].to_pylist()[0] == end * np.inf
    check(given, {**other, "interval": 10})


@pytest.mark.parametrize("how", [{"groups": {"b": ["a", "b"]}}, {"bottom": "b"}], ids=str)
@pytest.mark.parametrize("stored", [True, False])
def test_categories_that_were_merged_are_refused(how: dict[str, Any], stored: bool) -> None:
    names = pa.array(["a", "b", "c"] * 4)
    order = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 4), pa.array(["a", "b", "c"]), ordered=True)
    table = recoded_table(order, how) if stored else recoded_table(names, how, orders={"x": ["a", "b", "c"]})
    check_recoded(Release(table.data, table.schema, None), {"x": how}, table, as_written=False)
    with pytest.raises(shoal.GuaranteeError):
        check_recoded(Release(table.as_read.data, table.schema, None), {"x": how}, table, as_written=False)


def test_numbers_that_are_ordinal_have_limits() -> None:
    table = recoded_table(pa.array([1, 2, 3, 4] * 3), {"top": 3}, kinds={"x": "ordinal"})
    assert table.data["x"].to_pylist() == [1, 2, 3, 3] * 3
    check_recoded(Release(table.data, table.schema, None), {"x": {"top": 3}}, table, as_written=True)
    with pytest.raises(shoal.GuaranteeError):
        check_recoded(Release(table.as_read.data, table.schema, None), {"x": {"top": 3}}, table, as_written=True)


@pytest.mark.parametrize("categories", ["node", "ancestor"])
def test_rounded_means_and_groups_of_classes_pass(categories: str) -> None:
    work = {"care": {"ward": ["nurse", "orderly"], "home": ["carer"]}, "food": {"kitchen": ["cook", "baker"]}}
    names = ["nurse", "orderly", "carer", "cook", "baker"]
    table = pa.table({"pay": [float(one) for one in range(60)], "day": DAYS[:60], "work": names * 12})
    recode = {"pay": {"top": 44}, "day": {"top": "1980-03-01"}, "work": {"level": 1}}
    done = shoal.protect(
        table,
        quasi=["pay", "day", "work"],
        k=6,
        recode=recode,
        taxonomies={"work": work},
        resolution={"pay": 10, "day": "year"},
        set={"categories": categories},
    )
    assert done.audit.holds
