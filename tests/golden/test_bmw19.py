"""Individual risk, SUDA scores and the three attackers have the figures of published tables."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.risk._data_intrusion import dis_suda
from shoal.risk._minimal_uniques import minimal_uniques
from shoal.risk.individual_risk import group_risks, individual_risks

TABLES: dict[str, Any] = tomllib.loads((Path(__file__).parent / "bmw19.toml").read_text())


def codes(rows: list[list[Any]]) -> list[np.ndarray]:
    return [np.unique(column, return_inverse=True)[1] for column in zip(*rows, strict=True)]


def classes(rows: list[list[Any]]) -> np.ndarray:
    seen = sorted({tuple(row) for row in rows})
    return np.array([seen.index(tuple(row)) for row in rows])


def test_individual_risks_of_the_guide() -> None:
    risk = individual_risks(classes(TABLES["records"]), np.array(TABLES["weight"], float))
    assert risk.round(4).tolist() == TABLES["risk"]
    assert np.bincount(classes(TABLES["records"]))[classes(TABLES["records"])].tolist() == TABLES["f"]


def test_suda_scores_of_the_guide() -> None:
    found = minimal_uniques(codes(TABLES["records"]), largest=3)
    assert found.score.tolist() == TABLES["suda"]
    assert (found.unique, found.special, found.by_size) == (4, 4, (4, 0, 0))


def test_dis_suda_scores_that_sdcmicro_printed() -> None:
    printed = TABLES["dis_suda"]
    found = minimal_uniques(codes(TABLES["records"]), largest=3)
    assert (found.unique, found.pairs, found.alone.tolist()) == (4, 3, [f == 1 for f in TABLES["f"]])
    risk = dis_suda(np.array(printed["score"]), found.unique, found.pairs, found.attributes, printed["fraction"])
    assert risk == pytest.approx(printed["risk"], rel=1e-6)


def test_individual_risks_of_francdat() -> None:
    data = TABLES["francdat"]
    risk = individual_risks(classes(data["keys"]), np.array(data["weight"]))
    assert risk.round(3).tolist() == data["risk"]


def test_household_risk() -> None:
    data = TABLES["household"]
    assert group_risks(np.array(data["members"]), np.zeros(3, np.int64)) == pytest.approx(data["risk"])


def test_prosecutor_journalist_and_marketer() -> None:
    data = TABLES["classes"]
    table = pa.table({name: data[name] for name in ("age", "sex")})
    read = shoal.compare(table, table, ["age", "sex"])
    parts = dict(read.reading("prosecutor_risk").parts)
    assert read["prosecutor_risk"] == read["journalist_risk"] == data["prosecutor_highest"]
    assert parts["average"] == data["prosecutor_average"]
    assert parts["at the highest"] == parts["unique"] == pytest.approx(data["at_highest"])
    assert read["marketer_risk"] == data["marketer"]
    assert "equals the prosecutor's" in read.reading("journalist_risk").note
