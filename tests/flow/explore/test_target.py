"""Releases ranked by what a model keeps: the split, the scores, the guarantees, the risks, the recommendation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.flow.explore.target import halves
from shoal.flow.stages.read import schema_for
from shoal.types import Table

BASE = {"quasi": ["age", "town"], "confidential": ["ill"], "k": 3}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(4)
    age = rng.integers(18, 90, 400)
    ill = np.where(age + rng.normal(0, 8, 400) > 50, "yes", "no")
    return pa.table({"age": age, "town": rng.choice(list("abcdef"), 400), "ill": ill, "pay": age * 3.0})


def test_halves_are_disjoint_and_keep_subjects_whole() -> None:
    table = pa.table({"who": [i // 3 for i in range(90)], "age": list(range(90))})
    recipe = shoal.Recipe(quasi=["age"], subject="who")
    first, second = halves(Table(table, schema_for(table, recipe, None)), 1)
    assert sorted([*first, *second]) == list(range(90))
    assert abs(len(first) - len(second)) <= 3
    assert not {i // 3 for i in first} & {i // 3 for i in second}


def test_without_the_package_the_extra_is_named(people: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *_: object) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(registry.importlib, "import_module", missing)
    with pytest.raises(shoal.ParameterError, match=r"Install it with pip install 'shoal\[target\]'"):
        registry.package("sklearn", "target", "Explore: target")


@pytest.fixture(scope="module")
def found(people: pa.Table) -> shoal.Explored:
    pytest.importorskip("sklearn")
    return shoal.explore(people, BASE, target="ill", methods=["mdav"], refine=["none", "fast"])


def test_settings_are_compared_within_their_guarantee(found: shoal.Explored) -> None:
    assert {one.state for one in found.settings} == {"ran"}
    for guarantee, some in found.guarantees.items():
        assert len({(one.asked, one.attacker) for one in some}) == 1
        scores = [one.readings["boosting"] for one in some]
        assert scores == sorted(scores, reverse=True)
        assert f"k = {some[0].asked[0]}" in guarantee
    assert {name.partition(",")[0] for name in found.guarantees} == {
        "k_anonymity", "probabilistic_k_anonymity", "anatomy_k"}  # fmt: skip


def test_no_weaker_guarantee_is_recommended(found: shoal.Explored) -> None:
    best = found.recommended
    assert best is not None
    assert (best.variant, best.asked[0], best.attacker) == ("centroid", 3, "algorithm")
    weak = [one for one in found.settings if one.variant in ("swap", "anatomy")]
    assert weak
    assert not any(one.meets for one in weak)
    assert any("swap is not recommended for public releases" in note for note in found.notes)


def test_scores_and_risks_are_those_of_the_releases(found: shoal.Explored) -> None:
    assert found.originals["boosting"] > 0.85
    of = {one.variant: one.readings for one in found.settings if one.asked[0] == 3 and one.refine is None}
    assert of["anatomy"]["copied"] == 100  # its quasi-identifiers are released unchanged
    assert of["centroid"]["copied"] < of["swap"]["copied"]
    assert of["centroid"]["membership"] < of["anatomy"]["membership"]
    assert of["centroid"]["boosting"] > 0.7
    for one in of.values():
        assert one["boosting_change"] == pytest.approx(1000 * (one["boosting"] - found.originals["boosting"]))


def test_a_number_is_predicted_by_regression(people: pa.Table) -> None:
    pytest.importorskip("sklearn")
    seen = shoal.explore(
        people, {"quasi": ["age", "town"]}, target="pay", methods=["mdav"], releases=["centroid"], k=[3]
    )
    assert seen.score == "R²"
    assert seen.originals["linear"] == pytest.approx(1.0, abs=1e-3)


def test_the_command_prints_a_table_per_guarantee(
    people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    shoal.write_table(people, "people.csv")
    words = ["explore", "people.csv", "--quasi", "age,town", "--confidential", "ill", "--target", "ill", "--k", "5"]
    some = [*words, "--methods", "mdav", "--releases", "centroid,swap", "--attacker", "table", "-o", "page.html"]
    ran = run(*some)
    assert ran.code == 0
    assert "probabilistic_k_anonymity, k = 5" in ran.out
    assert "* mdav" in ran.out
    page = Path("page.html").read_text(encoding="utf-8")
    assert "What a model keeps" in page
    assert "probabilistic_k_anonymity, k = 5" in page
    told = json.loads(run(*some, "--force", "--json").out)
    assert told["target"] == "ill"
    assert {"boosting", "linear", "singled_out", "singled_out_control", "membership", "copied"} <= set(
        told["settings"][0]["readings"]
    )
