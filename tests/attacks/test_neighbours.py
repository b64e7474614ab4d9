"""Neighbours: a scale that is too small, seeds and bounds from the data fall; our noise withstands."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.attack.neighbours import Neighbours, cuts_of, log_ratio
from shoal.types import FROM_THE_DATA, Case, Column, Kind, Role, Schema, Table

N = 600
RNG = np.random.default_rng(2)
PEOPLE = pa.table({"age": RNG.integers(20, 80, N), "pay": RNG.uniform(20.0, 80.0, N)})
BOUNDS = {"age": [0, 100], "pay": [0.0, 100.0]}
RECIPE = {"quasi": ["age", "pay"], "k": 5, "release": "laplace", "epsilon": 2.0, "bounds": BOUNDS}
KINDS = {"age": Kind.INTEGER, "pay": Kind.CONTINUOUS}


def as_table(data: pa.Table) -> Table:
    return Table(data, Schema(tuple(Column(name, Role.QUASI, KINDS[name]) for name in data.column_names)))


def case_of(folder: Path, **more: Any) -> Case:
    recipe = {**RECIPE, **more}
    done = shoal.protect(PEOPLE, recipe)
    done.evidence(folder / "said.json")
    said = json.loads((folder / "said.json").read_text())
    return Case(as_table(PEOPLE), (as_table(done.data),), recipe, rows=np.arange(N), evidence=said)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return case_of(tmp_path_factory.mktemp("noise"))


def with_scales(case: Case, factor: float) -> Case:
    ledger = json.loads(json.dumps((case.evidence or {})["ledger"]))
    for entry in ledger["entries"]:
        entry["scale"] *= factor
        entry["least_scale"] *= factor
    return replace(case, evidence={**(case.evidence or {}), "ledger": ledger})


def test_our_noise_withstands(ours: Case) -> None:
    found = Neighbours().run(ours)
    assert found.verdict == "withstood", found.sentence
    assert found.learnt == 0, found.sentence


@pytest.mark.parametrize(
    "more", [{"set": {"representative": "medoid"}}, {"method": "individual_ranking"}, {"exact_means": True}]
)
def test_other_noise_withstands(tmp_path: Path, more: dict[str, Any]) -> None:
    found = Neighbours().run(case_of(tmp_path, **more))
    assert found.verdict == "withstood", found.sentence


def test_original_records_withstand(tmp_path: Path) -> None:
    one = {"quasi": ["age"], "identifier": ["pay"], "bounds": {"age": [0, 100]}, "kinds": {"age": "integer"}}
    done = case_of(tmp_path, method="insensitive", claim="original", **one)
    found = Neighbours().run(replace(done, rows=None, why_no_rows="The rows were shuffled."))
    assert found.verdict == "withstood", found.sentence
    assert Neighbours().run(with_scales(done, 0.9)).verdict == "succeeded"


@pytest.mark.parametrize("factor", [0.1, 0.9])
def test_a_stated_scale_that_is_too_small_falls(ours: Case, factor: float) -> None:
    found = Neighbours().run(with_scales(ours, factor))
    assert found.verdict == "succeeded"
    assert found.learnt > 0


def too_near(case: Case, factor: float) -> Case:
    """Shrink the noise of a release, and leave the evidence as it is."""
    labels, columns = case.classes, {}
    for name in case.quasi:
        means = (np.bincount(labels, PEOPLE[name].to_numpy()) / np.bincount(labels))[labels]
        columns[name] = means + factor * (case.table.data[name].to_numpy() - means)
    return replace(case, released=(as_table(pa.table(columns)),))


def test_noise_smaller_than_stated_falls(ours: Case) -> None:
    found = Neighbours().run(too_near(ours, 0.3))
    assert found.verdict == "succeeded"
    assert found.learnt == N
    assert "too small" in found.sentence


def test_noise_smaller_than_the_recipe_needs_falls_without_evidence(ours: Case) -> None:
    assert Neighbours().run(replace(ours, evidence=None)).verdict == "withstood"
    assert Neighbours().run(replace(too_near(ours, 0.1), evidence=None)).verdict == "succeeded"


@pytest.mark.parametrize("more", [{"set": {"not_private_seed": 1}}, {"bounds": FROM_THE_DATA}])
def test_noise_that_is_not_private_falls(tmp_path: Path, more: dict[str, Any]) -> None:
    found = Neighbours().run(case_of(tmp_path, **more))
    assert found.verdict == "succeeded"
    assert found.learnt == N


def test_ratios_are_those_of_the_laplace_distribution() -> None:
    cuts = cuts_of(0.0, 1.0, 0.0)
    assert log_ratio(0.0, 0.2, 0.1, cuts) == pytest.approx(2.0)
    assert log_ratio(0.4, 0.6, 0.1, cuts) == pytest.approx(2.0)
    assert log_ratio(0.3, 0.3, 0.1, cuts) == 0.0
    assert math.isclose(log_ratio(0.0, 0.2, 0.1, cuts_of(0.0, 1.0, 0.5)), 2.0)


def test_a_release_without_noise_is_not_attacked(ours: Case) -> None:
    bare = {name: value for name, value in RECIPE.items() if name not in ("epsilon", "bounds")}
    assert Neighbours().run(replace(ours, evidence=None, recipe=bare)).verdict == "not_run"
