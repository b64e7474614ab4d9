"""Durations are intervals of DuckDB, and come back as they were; what it would cut is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.locations import place
from shoal.parameters import build

duckdb = pytest.importorskip("duckdb")
DAY = 86_400_000_000
STAYS = [0, 1, -1, 40 * DAY + 3, -400 * DAY, 300 * 365 * DAY, 2**63 - 1, None]  # microseconds
AGES = [20, 21, 22, 23, 60, 61, 62, 63]


def people(unit: str = "us", stays: list[int | None] = STAYS) -> pa.Table:
    return pa.table({"age": AGES, 'the "stay"': pa.array(stays, pa.duration(unit))})


def read(url: str) -> pa.Table:
    where = place(url)
    table: pa.Table = build(registry.for_place("io.sources", where.at), where.options).read(where.at)[0]
    return table


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"duckdb:///{tmp_path}/people.duckdb?table=stays"


@pytest.mark.parametrize(("unit", "step"), [("s", 10**6), ("ms", 1000), ("us", 1), ("ns", 1)])
def test_durations_come_back_as_they_were(unit: str, step: int, url: str) -> None:
    some = people(unit, [None if stay is None or abs(stay) > 2**50 else stay // step * 1000 for stay in STAYS])
    shoal.write_table(some, url)
    back = read(url)
    assert back.schema.field(1) == pa.field('the "stay"', pa.duration("us"))
    assert back.column(1).cast(pa.duration(unit)).equals(some.column(1))


def test_the_longest_durations_do_not_overflow(url: str) -> None:
    shoal.write_table(people(), url)
    assert read(url).equals(people())


@pytest.mark.parametrize("more", [{}, {"confidential": ['the "stay"']}, {"quasi": ["age", 'the "stay"']}], ids=str)
def test_durations_are_protected_and_audited(more: dict[str, Any], url: str, tmp_path: Path) -> None:
    stays = [1 * DAY] * 4 + [2 * DAY] * 4
    shoal.write_table(people("ms", [stay // 1000 for stay in stays]), tmp_path / "in.parquet")
    recipe = {"quasi": ["age"], "k": 4, "row_order": "keep", **more}
    shoal.protect_file(tmp_path / "in.parquet", url, recipe, evidence=tmp_path / "e.json")
    assert read(url).column(1).cast(pa.int64()).to_pylist() == stays
    assert shoal.verify(tmp_path / "e.json", url).holds
    again = url.replace("people", "again")  # from one database to another
    shoal.protect_file(url, again, recipe)
    assert read(again).equals(read(url))


@pytest.mark.parametrize(("unit", "stay"), [("ns", 1500), ("s", 2**60), ("ms", 2**62)])
def test_what_would_be_cut_is_refused(unit: str, stay: int, url: str, tmp_path: Path) -> None:
    with pytest.raises(shoal.DataError, match=r"must have durations of whole microseconds, at most 292,000 years"):
        shoal.write_table(people(unit, [stay] * 8), url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[1]] * 8, pa.list_(pa.duration("us"))),
        pa.array([{"a": [1]}] * 8, pa.struct({"a": pa.list_(pa.duration("s"))})),
    ],
    ids=["list", "record"],
)
def test_durations_inside_others_are_refused(cells: pa.Array, url: str) -> None:
    with pytest.raises(shoal.DataError, match="must not have durations inside lists or records"):
        shoal.write_table(pa.table({"age": AGES, "stays": cells}), url)


def test_categories_of_durations(url: str) -> None:
    stays = pa.array([DAY, 2 * DAY] * 4, pa.duration("us"))
    shoal.write_table(pa.table({"age": AGES, "stay": stays.dictionary_encode()}), url)
    assert read(url).column("stay").combine_chunks().equals(stays)


class TestMonths:
    @pytest.fixture
    def source(self, tmp_path: Path) -> str:
        with duckdb.connect(str(tmp_path / "months.duckdb")) as connection:
            connection.execute(
                "CREATE TABLE t AS SELECT i AS age, to_months(i) AS m, to_days(i) AS d FROM range(8) r(i)"
            )
        return f"duckdb:///{tmp_path}/months.duckdb?table=t"

    def test_they_stay_as_they_are(self, source: str, url: str) -> None:
        assert [str(kind) for kind in read(source).schema.types] == ["int64", "month_day_nano_interval", "duration[us]"]
        shoal.protect_file(source, url, {"quasi": ["age"], "k": 4, "row_order": "keep"})
        assert read(url).column("m").to_pylist() == read(source).column("m").to_pylist()

    @pytest.mark.parametrize("role", ["quasi", "confidential", "strata"])
    def test_nothing_can_be_promised_of_them(self, role: str, source: str, url: str) -> None:
        recipe = {"quasi": ["age"], "k": 4, role: [*(["age"] if role == "quasi" else []), "m"]}
        with pytest.raises(shoal.SchemaError, match="column 'm' holds intervals of months, which have no fixed length"):
            shoal.protect_file(source, url, recipe)

    def test_they_are_inspected(self, source: str, run: Callable) -> None:
        assert run("inspect", source).code == 0
