"""Two tables of a database get their names in one transaction, or neither does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.apart import beside
from shoal.flow.writing import open_sink, staged_both
from shoal.places import place

RNG = np.random.default_rng(3)
PEOPLE = pa.table(
    {
        "age": RNG.integers(18, 90, 40),
        "Ill": pa.array(RNG.choice(["flu", "none", "ulcer"], 40).tolist()),
        "pay": pa.array([None if i % 7 == 0 else float(pay) for i, pay in enumerate(RNG.integers(1, 9, 40))]),
    }
)
RECIPE = {"quasi": ["age"], "confidential": ["Ill", "pay"], "k": 4, "release": "anatomy"}


def test_both_appear_and_both_are_replaced_with_force(database: Any) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    done = shoal.protect_file(database.at("people"), database.at("safe"), RECIPE)
    assert done.beside.endswith("?table=safe_confidential")
    assert database.tables() == {"people", "safe", "safe_confidential"}
    shoal.protect_file(database.at("people"), database.at("safe"), {**RECIPE, "k": 10}, force=True)
    assert shoal.audit_file(database.at("safe_confidential"), ["class"], require={"k": 10}).holds
    assert database.tables() == {"people", "safe", "safe_confidential"}


def test_both_appear_in_a_database_that_was_not_there(database: Any, tmp_path: Path) -> None:
    shoal.write_table(PEOPLE, tmp_path / "in.parquet")
    shoal.protect_file(tmp_path / "in.parquet", database.at("safe"), RECIPE)
    assert database.tables() == {"safe", "safe_confidential"}


@pytest.mark.parametrize("there", ["safe", "safe_confidential"])
def test_neither_replaces_a_table_without_force(database: Any, there: str) -> None:
    for name in ("people", there):
        shoal.write_table(PEOPLE, database.at(name))
    with pytest.raises(shoal.ParameterError, match=f"table={there}: exists already"):
        shoal.protect_file(database.at("people"), database.at("safe"), RECIPE)
    assert database.tables() == {"people", there}


def test_the_second_must_not_be_the_input(database: Any) -> None:
    shoal.write_table(PEOPLE, database.at("safe_confidential"))
    with pytest.raises(shoal.ParameterError, match="the output must not be the input"):
        shoal.protect_file(database.at("safe_confidential"), database.at("safe"), RECIPE, force=True)


def test_nothing_is_written_if_the_audit_fails(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shoal.write_table(PEOPLE, database.at("people"))

    def fails(*_: object) -> None:
        raise shoal.GuaranteeError("no")

    monkeypatch.setattr("shoal.flow.protect.gate", fails)
    with pytest.raises(shoal.GuaranteeError):
        shoal.protect_file(database.at("people"), database.at("safe"), RECIPE)
    assert database.tables() == {"people"}


@pytest.mark.parametrize("failing", ["safe", "safe_confidential"])
def test_if_one_cannot_get_its_name_the_other_does_not(
    database: Any, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    sink = open_sink(place(database.at("safe")))
    module = __import__(type(sink).__module__, fromlist=["_rename"])
    real = module._rename

    def rename(staged: Any, name: Any, *, force: bool) -> None:
        if name.name == failing:
            raise shoal.EngineError("no")
        real(staged, name, force=force)

    monkeypatch.setattr(module, "_rename", rename)
    first = place(database.at("safe"))

    def write() -> None:
        with staged_both(sink, first, beside(first), force=False) as both:
            for staged in both:
                sink.write(PEOPLE, staged, None)

    with pytest.raises(shoal.EngineError, match="no"):
        write()
    assert database.tables() == {"people"}
