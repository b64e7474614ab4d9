"""The gate's check of recoded columns: every value that a recoding returns passes, and nearly all others do not."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.gate.recoded import check_recoded
from shoal.flow.recoding.recode import recoded
from shoal.flow.stages.read import schema_for
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
    """Check a recoded column; its first cell may be changed before."""
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


@pytest.mark.parametrize("how", [{"interval": 3}, {"breaks": [2, 5]}])
def test_ordinal_quasi_identifiers_have_no_middles(how: dict[str, Any]) -> None:
    with pytest.raises(shoal.errors.SchemaError, match="Declare it as integer or continuous"):
        recoded_table(pa.array([1, 2, 3, 4] * 3), how, kinds={"x": "ordinal"})


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


UNEVEN = {"care": {"ward": {"day": ["nurse"], "night": ["orderly"]}, "home": ["carer"]}, "food": ["cook", "baker"]}


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("exactly", [True, False])
def test_groups_of_another_level_are_refused(level: int, exactly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    names = pa.array(["nurse", "orderly", "carer", "cook", "baker"] * 3)
    declared = {"taxonomies": {"x": UNEVEN}}
    table = recoded_table(names, {"level": level}, **declared)
    release = Release(table.data, table.schema, None)
    check_recoded(release, {"x": {"level": level}}, table, as_written=exactly)
    for other in {1, 2, 3} - {level}:
        if exactly or other > level:  # of classes, groups above are released as well
            with pytest.raises(shoal.GuaranteeError):
                check_recoded(release, {"x": {"level": other}}, table, as_written=exactly)
    alone = "shoal.flow.recoding.categories.groups_at"
    monkeypatch.setattr(alone, lambda column, tree, _: {name: (*path, name) for name, path in tree.paths.items()})
    wrong = recoded_table(names, {"level": level}, **declared)  # every value stays, and the taxonomy with it
    with pytest.raises(shoal.GuaranteeError):
        check_recoded(Release(wrong.data, wrong.schema, None), {"x": {"level": level}}, wrong, as_written=exactly)


LARGE = {  # limits that no float of the column's type equals
    "double": (pa.float64(), 2**53 + 3),
    "int64": (pa.int64(), 2**60 + 7),
    "uint64": (pa.uint64(), 2**63 + 9),
    "decimal": (pa.decimal128(22, 2), 2**60 + 7),
    "float32": (pa.float32(), 123_456_789),
}


@pytest.mark.parametrize("more", [{}, {"exact_means": True}, {"resolution": {"x": 10}}], ids=str)
@pytest.mark.parametrize("kind", LARGE)
def test_means_of_values_at_a_limit_that_no_float_equals_pass(kind: str, more: dict[str, Any]) -> None:
    stored, limit = LARGE[kind]
    values = [limit + int(one) for one in np.random.default_rng(1).integers(-9, 9, 40)]
    cells = pa.array([float(one) if pa.types.is_floating(stored) else Decimal(one) for one in values])
    table = pa.table({"x": cells.cast(stored, safe=False), "y": np.random.default_rng(2).normal(size=40)})
    for how in ({"top": limit}, {"bottom": limit}, {"top": limit, "interval": 4}):
        assert shoal.protect(table, quasi=["x", "y"], k=3, recode={"x": how}, **more).audit.holds


def test_means_beyond_the_float_next_to_a_limit_are_refused() -> None:
    values = pa.array([2.0**60 + 256 * one for one in range(-6, 6)])
    for how in ({"top": 2**60 + 7}, {"bottom": 2**60 - 7}):
        check(values, how, 2.0**60, as_written=False)
        with pytest.raises(shoal.GuaranteeError):
            check(values, how, 2.0**60 + (256 if "top" in how else -256), as_written=False)
    with pytest.raises(shoal.GuaranteeError):  # a float of 32 bits could not tell this number from the limit
        check(pa.array([1.0, 123_456_999.0]), {"top": 123_456_789}, 123_456_790.0, as_written=False)


@pytest.mark.parametrize("kind", ["int", "float", "float32", "decimal"])
@pytest.mark.parametrize("as_written", [True, False])
def test_a_value_just_beyond_a_limit_is_refused_among_many_within(kind: str, as_written: bool) -> None:
    before = COLUMNS[kind]
    for how, odd in (({"top": 40}, 41), ({"bottom": -10}, -11), ({"top": 40, "bottom": -10, "top_as": 50}, 51)):
        check(before, how, 40, as_written=as_written) if "top" in how else None
        with pytest.raises(shoal.GuaranteeError):
            check(before, how, odd, as_written=as_written)
    if kind == "float":
        for odd in (np.nextafter(40.0, 50), 1e308, np.inf):
            with pytest.raises(shoal.GuaranteeError):
                check(before, {"top": 40}, odd, as_written=as_written)


@pytest.mark.parametrize("source", ["frame", "csv", "sav"])
def test_joint_names_of_merged_strata_are_made_of_recoded_values(source: str, tmp_path: Path) -> None:
    zones = [1] * 2 + [3] * 3 + [5] * 20 + [7] * 35
    table = pa.table({"age": np.arange(60.0), "zone": pa.array(zones, pa.float64() if source == "sav" else pa.int64())})
    asked: dict[str, Any] = {"quasi": ["age"], "strata": ["zone"], "k": 5, "row_order": "keep", "effort": "fast"}
    asked |= {"small_strata": "merge", "recode": {"zone": {"interval": 2}}, "kinds": {"zone": "integer"}}
    if source == "frame":
        found = shoal.protect(table, asked).data.column("zone").to_pylist()
    else:
        labels = {"zone": {1.0: "north", 3.0: "west", 5.0: "east", 7.0: "south", 8.0: "far"}}
        if source == "sav":
            pyreadstat = pytest.importorskip("pyreadstat")
            pyreadstat.write_sav(table.to_pandas(), tmp_path / "in.sav", variable_value_labels=labels)
        else:
            shoal.write_table(table, tmp_path / "in.csv")
        done = shoal.protect(tmp_path / f"in.{source}", asked, output=tmp_path / f"out.{source}")
        assert done.audit.holds
        found = done.data.column("zone").to_pylist()
    assert len(set(map(str, found))) == 3
    assert found[0] == found[4] != found[5]
    if source != "sav":
        assert found[0] == "0 + 2"


@pytest.mark.parametrize("cell", ["0 + 1", "west + 2", "1", "0 +2"])
def test_joint_names_of_other_values_are_refused(cell: str) -> None:
    data = pa.table({"age": [1.0] * 4, "zone": [1, 1, 3, 5]})
    recipe = shoal.Recipe(quasi=["age"], strata=["zone"], small_strata="merge", recode={"zone": {"interval": 2}})
    table = recoded(Table(data, schema_for(data, recipe, None)), recipe)
    for merged, refused in (("0 + 2", False), ("0 + 2 + 4", False), (cell, True)):
        cells = pa.chunked_array([[merged, merged, merged, "4"]])
        release = Release(with_columns(table.data, {"zone": cells}), table.schema, None)
        if refused:
            with pytest.raises(shoal.GuaranteeError):
                check_recoded(release, recipe.recode, table, as_written=False, merges=True)
        else:
            check_recoded(release, recipe.recode, table, as_written=False, merges=True)
            with pytest.raises(shoal.GuaranteeError):
                check_recoded(release, recipe.recode, table, as_written=False)


def test_periods_at_the_ends_of_the_calendar_pass() -> None:
    ends = [date(1, 1, 1), date(4, 12, 31), date(1969, 12, 31), date(1970, 1, 1), date(9996, 2, 29), date(9999, 12, 31)]
    for unit in ("year", "month", "day"):
        check(pa.array(ends), {"interval": unit})
        check(pa.array(ends).cast(pa.timestamp("us")), {"interval": unit})
        with pytest.raises(shoal.GuaranteeError):
            check(pa.array(ends).cast(pa.timestamp("us")), {"interval": unit}, datetime(9999, 12, 31, 1))
