"""Two tables of a database get their names in one transaction, or neither does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.stages.write import open_sink
from shoal.io.sinks import _sql_tables as _publishing
from shoal.io.sinks import duckdb
from shoal.locations import beside, place

RNG = np.random.default_rng(3)
PEOPLE = pa.table(
    {
        "age": RNG.integers(18, 90, 40),
        "Ill": pa.array(RNG.choice(["flu", "none", "ulcer"], 40).tolist()),
        "pay": pa.array([None if i % 7 == 0 else float(pay) for i, pay in enumerate(RNG.integers(1, 9, 40))]),
    }
)
RECIPE = {"quasi": ["age"], "confidential": ["Ill", "pay"], "k": 4, "release": "anatomy"}


AT_ONCE = ("mariadb", "mysql")


@pytest.fixture
def undoing(database: Any) -> Any:
    """A database whose transactions undo the making of tables."""
    if database.scheme in AT_ONCE:
        pytest.skip("makes tables at once, and is refused")
    return database


def test_a_database_that_makes_tables_at_once_is_refused(database: Any) -> None:
    if database.scheme not in AT_ONCE:
        pytest.skip("undoes tables")
    shoal.write_table(PEOPLE, database.at("people"))
    with pytest.raises(shoal.ParameterError, match="cannot create two tables in one step"):
        shoal.protect_file(database.at("people"), database.at("safe"), RECIPE)
    assert database.tables() == {"people"}


def test_both_appear_and_both_are_replaced_with_force(undoing: Any) -> None:
    shoal.write_table(PEOPLE, undoing.at("people"))
    done = shoal.protect_file(undoing.at("people"), undoing.at("safe"), RECIPE)
    assert done.beside.endswith("?table=safe_confidential")
    assert undoing.tables() == {"people", "safe", "safe_confidential"}
    shoal.protect_file(undoing.at("people"), undoing.at("safe"), {**RECIPE, "k": 10}, force=True)
    assert shoal.audit_file(undoing.at("safe_confidential"), ["class"], require={"k": 10}).holds
    assert undoing.tables() == {"people", "safe", "safe_confidential"}


def test_both_appear_in_a_database_that_was_not_there(undoing: Any, tmp_path: Path) -> None:
    shoal.write_table(PEOPLE, tmp_path / "in.parquet")
    shoal.protect_file(tmp_path / "in.parquet", undoing.at("safe"), RECIPE)
    assert undoing.tables() == {"safe", "safe_confidential"}


@pytest.mark.parametrize("there", ["safe", "safe_confidential"])
def test_neither_replaces_a_table_without_force(undoing: Any, there: str) -> None:
    for name in ("people", there):
        shoal.write_table(PEOPLE, undoing.at(name))
    with pytest.raises(shoal.ParameterError, match=f"table={there}: already exists"):
        shoal.protect_file(undoing.at("people"), undoing.at("safe"), RECIPE)
    assert undoing.tables() == {"people", there}


def test_the_second_must_not_be_the_input(undoing: Any) -> None:
    shoal.write_table(PEOPLE, undoing.at("safe_confidential"))
    with pytest.raises(shoal.ParameterError, match="the output must not be the input"):
        shoal.protect_file(undoing.at("safe_confidential"), undoing.at("safe"), RECIPE, force=True)


def test_nothing_is_written_if_the_audit_fails(undoing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shoal.write_table(PEOPLE, undoing.at("people"))

    def fails(*_: object) -> None:
        raise shoal.GuaranteeError("no")

    monkeypatch.setattr("shoal.flow.protect.protect.gate", fails)
    with pytest.raises(shoal.GuaranteeError):
        shoal.protect_file(undoing.at("people"), undoing.at("safe"), RECIPE)
    assert undoing.tables() == {"people"}


@pytest.mark.parametrize("failing", ["safe", "safe_confidential"])
def test_if_one_cannot_get_its_name_the_other_does_not(
    undoing: Any, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shoal.write_table(PEOPLE, undoing.at("people"))
    sink = open_sink(place(undoing.at("safe")))
    module = duckdb if undoing.scheme == "duckdb" else _publishing
    real = module._rename

    def rename(staged: Any, name: Any, **more: bool) -> None:
        if name.name == failing:
            raise shoal.EngineError("no")
        real(staged, name, **more)

    monkeypatch.setattr(module, "_rename", rename)
    first = place(undoing.at("safe"))

    def write() -> None:
        with sink.staged_both(first.at, beside(first), force=False) as both:
            for staged in both:
                sink.write(PEOPLE, staged, None)

    with pytest.raises(shoal.EngineError, match="no"):
        write()
    assert undoing.tables() == {"people"}
