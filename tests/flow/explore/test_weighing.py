"""Exploring with ε: what noise adds is weighed against what microaggregation loses, and the choice says what it saw."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.flow.classes.form import form
from shoal.flow.explore import run_setting as stand_ins_module
from shoal.flow.explore.grid import usual_sizes
from shoal.flow.explore.noise import expected_loss
from shoal.flow.protect.anonymise import plan_for
from shoal.flow.stages.read import schema_for
from shoal.types import CLAIMS, FROM_THE_DATA, Table

QUASI = ["income", "commute_minutes"]
BASE = {"quasi": QUASI, "identifier": ["person", "household"]}
BOUNDS = {"income": [0, 500_000], "commute_minutes": [0, 240]}
WAYS = ["mdav", "individual_ranking (even)", "individual_ranking (expression1)"]
FREE = ["least_error (even)", "least_error (expression1)", "least_error (least)"]


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return shoal.survey(records=400)


@pytest.fixture(scope="module")
def found(people: pa.Table) -> shoal.Explored:
    return shoal.explore(people, BASE, epsilon=1.0, bounds=BOUNDS)


def only(people: pa.Table) -> pa.Table:
    return people.select(QUASI)


def test_every_way_is_tried_at_every_k_and_free_sizes_once(found: shoal.Explored) -> None:
    ks = usual_sizes(400, 5)
    assert {way: [s.asked[0] for s in some] for way, some in found.ways.items()} == {
        **dict.fromkeys(WAYS, ks),
        **{key: [5] for key in FREE},
    }
    assert {s.state for s in found.settings} == {"ran"}
    assert [s.sized for s in found.settings if s.recipe["method"] == "least_error"] == [False] * 3


def test_figures_are_the_expected_loss_of_the_recipe(people: pa.Table, found: shoal.Explored) -> None:
    for setting in found.settings[::7]:
        recipe = shoal.Recipe.from_dict(setting.recipe)
        whole = Table(people, schema_for(people, recipe, None))
        expected = expected_loss(form(plan_for(whole, recipe), whole))
        assert (setting.loss, setting.noise) == (expected.total, expected.noise)


def test_the_least_is_recommended_and_its_recipe_runs(people: pa.Table, found: shoal.Explored) -> None:
    assert found.recommended is min(found.settings, key=lambda s: s.loss)
    assert found.recommended.name in found.reason
    recipe = shoal.Recipe.from_toml(found.toml)
    assert recipe == shoal.Recipe.from_dict(found.recipe)
    drawn = []
    for seed in range(60):
        said = {**found.recipe, "set": {**found.recipe["set"], "not_private_seed": seed}}
        drawn.append(shoal.protect(people, said).readings["il_sse"])
    assert abs(np.mean(drawn) - found.recommended.loss) < 4 * np.std(drawn) / np.sqrt(len(drawn))
    done = shoal.protect(people, recipe)
    assert done.ledger.total == pytest.approx(1.0)
    assert done.ledger.private


def test_loss_falls_then_rises_along_k(found: shoal.Explored) -> None:
    some = found.ways["individual_ranking (even)"]
    assert all(a.noise > b.noise for a, b in itertools.pairwise(some))
    assert all(a.loss - a.noise <= b.loss - b.noise + 1e-9 for a, b in itertools.pairwise(some))
    least = min(some, key=lambda s: s.loss)
    assert some[0] is not least is not some[-1]


def test_free_sizes_are_never_worse_than_the_best_k_by_much(found: shoal.Explored) -> None:
    """They are the least without clipping; with it a little may be lost."""
    least = {way: min(s.loss for s in some) for way, some in found.ways.items()}
    assert least["least_error (even)"] <= 1.05 * least["individual_ranking (even)"]


def test_what_the_choice_saw_is_said(found: shoal.Explored) -> None:
    assert found.notes[0].startswith("The choice uses the data")
    assert "ε does not cover" in found.notes[0]
    assert found.meaning == CLAIMS["microaggregated"]
    said = found.to_dict()
    assert (said["epsilon"], said["claim"], said["meaning"]) == (1.0, "microaggregated", found.meaning)
    assert said["risk"] is None
    one = said["recommended"]
    assert one["microaggregation"] + one["noise"] == pytest.approx(one["loss"])
    json.dumps(said, allow_nan=False)


@pytest.mark.parametrize("jobs", [1, 3])
def test_jobs_do_not_matter(people: pa.Table, found: shoal.Explored, jobs: int) -> None:
    assert shoal.explore(people, BASE, epsilon=1.0, bounds=BOUNDS, jobs=jobs).to_dict() == found.to_dict()


def test_little_time_tries_coarse_settings_first(people: pa.Table, found: shoal.Explored, timeless: None) -> None:
    few = shoal.explore(people, BASE, epsilon=1.0, bounds=BOUNDS, seconds=0, methods=["mdav"])
    assert [s.state for s in few.settings].count("ran") == 1
    enough = 1e-6 + sum(found.ways["mdav"][at].seconds for at in (0, -1))
    some = shoal.explore(people, BASE, epsilon=1.0, bounds=BOUNDS, seconds=enough, jobs=1, methods=["mdav"])
    assert [s.state for s in some.settings] == ["ran", *["left out"] * (len(some.settings) - 2), "ran"]


class TestOriginal:
    def test_no_cell_is_looked_at(self, people: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever the cells are, what comes out is the same; and the table is never encoded."""
        asked: dict[str, Any] = {"epsilon": 2.0, "bounds": BOUNDS, "claim": "original"}
        one = shoal.explore(only(people), {"quasi": QUASI}, **asked)
        other = pa.table({"income": ["?"] * 400, "commute_minutes": [None] * 400})
        assert shoal.explore(other, {"quasi": QUASI}, **asked).to_dict() == one.to_dict()
        assert one.stand_ins
        assert one.notes[0].startswith("No cell was read: 400 synthetic records")
        assert one.meaning == CLAIMS["original"]
        assert list(one.ways) == ["insensitive (even)", "insensitive (expression1)"]

    def test_of_a_file_too(self, people: pa.Table, tmp_path: Path) -> None:
        shoal.write_table(only(people), tmp_path / "a.csv")
        (tmp_path / "b.csv").write_text("income,commute_minutes\n" + "secret,31415926x\n" * 400)
        asked: dict[str, Any] = {"epsilon": 2.0, "bounds": BOUNDS, "claim": "original"}
        one, two = (shoal.explore_file(tmp_path / f"{n}.csv", {"quasi": QUASI}, **asked).to_dict() for n in "ab")
        assert one == two

    def test_stand_ins_are_uniform_and_seeded(self) -> None:
        recipe = shoal.Recipe(quasi=QUASI, release="laplace", epsilon=1.0, claim="original", bounds=BOUNDS)
        table = stand_ins_module.stand_ins(4000, [*QUASI, "name"], recipe)
        for name, (low, high) in BOUNDS.items():
            x = (table.data.column(name).to_numpy() - low) / (high - low)
            assert abs(x.mean() - 0.5) < 0.03
            assert abs(x.std() - 12**-0.5) < 0.02
            assert 0 <= x.min() < x.max() <= 1
        assert table.data.column_names == QUASI
        again = stand_ins_module.stand_ins(4000, [*QUASI, "name"], recipe)
        assert again.data.equals(table.data)

    def test_the_recipe_runs_and_is_private(self, people: pa.Table) -> None:
        seen = shoal.explore(only(people), {"quasi": QUASI}, epsilon=2.0, bounds=BOUNDS, claim="original")
        done = shoal.protect(only(people), seen.recipe)
        assert done.ledger.claim == "original"
        assert done.ledger.total == pytest.approx(2.0)

    def test_all_stand_ins_are_taken_however_many(self) -> None:
        table = pa.table({"income": np.zeros(30_000), "commute_minutes": np.zeros(30_000)})
        asked: dict[str, Any] = {"epsilon": 2.0, "bounds": BOUNDS, "claim": "original", "k": [100, 1000]}
        seen = shoal.explore(table, {"quasi": QUASI}, **asked, sample=500)
        assert (seen.records, seen.whole) == (30_000, 30_000)

    def test_columns_that_the_recipe_does_not_name_change_nothing(self, people: pa.Table) -> None:
        asked: dict[str, Any] = {"epsilon": 1.0, "bounds": BOUNDS, "claim": "original", "k": [50]}
        one, other = (shoal.explore(table, {"quasi": QUASI}, **asked) for table in (people, only(people)))
        assert one.to_dict() == other.to_dict()

    def test_columns_that_would_be_released_as_they_are_are_refused(self, people: pa.Table) -> None:
        with pytest.raises(shoal.ParameterError, match="only quasi-identifiers are released, got 'region' as"):
            shoal.explore(
                people, {**BASE, "confidential": ["region"]}, epsilon=1.0, bounds=BOUNDS, claim="original", k=[50]
            )

    def test_the_recipe_declares_the_kinds_by_the_bounds(self, people: pa.Table) -> None:
        bounds = {**BOUNDS, "commute_minutes": [0, 239.5]}
        asked: dict[str, Any] = {"epsilon": 1.0, "bounds": bounds, "claim": "original", "k": [50]}
        found = shoal.explore(only(people), {"quasi": QUASI}, **asked)
        assert found.recommended is not None
        assert found.recommended.recipe["kinds"] == {"income": "integer", "commute_minutes": "continuous"}
        assert "declares the kind of income, commute_minutes by the bounds" in found.notes[-1]
        said = shoal.explore(only(people), {"quasi": QUASI, "kinds": dict.fromkeys(QUASI, "continuous")}, **asked)
        assert not any("by the bounds" in note for note in said.notes)

    def test_bounds_from_the_data_are_refused(self, people: pa.Table) -> None:
        with pytest.raises(shoal.ParameterError, match="bounds must be numbers, because no cell may be read"):
            shoal.explore(only(people), {"quasi": QUASI}, epsilon=1.0, bounds=FROM_THE_DATA, claim="original")

    def test_a_method_whose_classes_depend_on_the_data_is_a_row(self, people: pa.Table) -> None:
        asked: dict[str, Any] = {"epsilon": 1.0, "bounds": BOUNDS, "claim": "original", "k": [50]}
        seen = shoal.explore(only(people), {"quasi": QUASI}, methods=["mdav", "insensitive"], **asked)
        assert {s.recipe["method"]: s.state for s in seen.settings} == {"mdav": "failed", "insensitive": "ran"}


class TestSettings:
    def test_one_attribute_has_no_splits(self, people: pa.Table) -> None:
        seen = shoal.explore(people, {"quasi": ["income"]}, epsilon=1.0, bounds={"income": [0, 1e6]}, k=[5, 50])
        assert list(seen.ways) == ["optimal_univariate", "least_error"]
        assert seen.ways["least_error"][0].name == "least_error, sizes vary"

    def test_equal_widths_share_alike(self) -> None:
        table = pa.table({"a": np.arange(60.0), "b": np.arange(60.0)[::-1]})
        seen = shoal.explore(table, {"quasi": ["a", "b"]}, epsilon=1.0, bounds={"a": [0, 60], "b": [-1, 59]}, k=[5])
        assert list(seen.ways) == ["mdav", "individual_ranking (even)", "least_error (even)", "least_error (least)"]

    def test_what_is_said_is_not_tried_otherwise(self, people: pa.Table) -> None:
        seen = shoal.explore(people, {**BASE, "set": {"split": "even"}}, epsilon=1.0, bounds=BOUNDS, k=[50])
        assert {s.recipe["set"]["split"] for s in seen.settings} == {"even"}
        own = {"income": 0.9, "commute_minutes": 0.1}
        each = shoal.explore(people, BASE, epsilon=own, bounds=BOUNDS, k=[50])
        assert list(each.ways) == ["mdav", "individual_ranking", "least_error"]
        assert each.epsilon == pytest.approx(1.0)

    def test_blocks_share_epsilon(self, people: pa.Table) -> None:
        base = {**BASE, "blocks": [["income"], ["commute_minutes"]]}
        seen = shoal.explore(people, base, epsilon=1.0, bounds=BOUNDS, k=[50])
        assert list(seen.ways) == ["mdav (even)", "mdav (expression1)"]

    def test_with_at_least_k_sizes_are_asked_for(self, people: pa.Table) -> None:
        base = {**BASE, "set": {"at_least_k": True}}
        seen = shoal.explore(people, base, epsilon=1.0, bounds=BOUNDS, k=[50, 150], methods=["least_error"])
        assert all(s.sized and s.k >= s.asked[0] for s in seen.settings)
        assert len(seen.settings) == 6

    def test_a_recipe_says_epsilon_as_well(self, people: pa.Table, found: shoal.Explored) -> None:
        recipe = {**BASE, "release": "laplace", "epsilon": 1.0, "bounds": BOUNDS}
        assert shoal.explore(people, recipe).to_dict() == found.to_dict()

    def test_a_setting_that_cannot_be_is_a_row(self, people: pa.Table) -> None:
        seen = shoal.explore(people, BASE, epsilon=1.0, bounds=BOUNDS, k=[5, 401], methods=["mdav", "mic1d"])
        assert [s.state for s in seen.settings] == ["ran", "failed", "failed", "failed"]
        assert "2" in seen.ran

    def test_bounds_from_the_data_warn(self, people: pa.Table) -> None:
        seen = shoal.explore(people, BASE, epsilon=1.0, bounds=FROM_THE_DATA, k=[50], methods=["mdav"])
        assert seen.notes[0] == f"NOT PRIVATE: bounds were taken {FROM_THE_DATA}."

    def test_a_limit_that_nothing_keeps_recommends_nothing(self, people: pa.Table) -> None:
        seen = shoal.explore(people, BASE, epsilon=1.0, bounds=BOUNDS, k=[50], methods=["mdav"], max_loss=0.5)
        assert seen.recommended is None
        assert "at most 0.5 %" in seen.reason

    def test_of_a_large_table_a_sample(self) -> None:
        people = shoal.survey(records=2000)
        seen = shoal.explore(people, BASE, epsilon=1.0, bounds=BOUNDS, sample=300, methods=["mdav"])
        assert (seen.records, seen.whole) == (300, 2000)
        assert max(s.asked[0] for s in seen.settings) == 300
        assert "sample of 300 of 2,000" in seen.notes[1]

    @pytest.mark.parametrize(
        ("given_", "words"),
        [
            ({"epsilon": 0}, "epsilon must be a number > 0, got 0"),
            (
                {"epsilon": 1, "bounds": {"income": [9, 1], "commute_minutes": [0, 9]}},
                "the lower end and then the upper end",
            ),
            ({"epsilon": 1, "bounds": {"income": [0, 9]}}, "commute_minutes is missing"),
            ({"epsilon": 1}, "bounds must name every numeric quasi-identifier"),
            ({"bounds": BOUNDS}, "bounds must be given with epsilon, the privacy budget"),
            ({"claim": "original"}, "claim must be given with epsilon, the privacy budget"),
            ({"epsilon": 1, "bounds": BOUNDS, "risk": "dld"}, "risk cannot be given with epsilon"),
            ({"epsilon": 1, "bounds": BOUNDS, "max_risk": 3}, "max_risk cannot be given with epsilon"),
            ({"epsilon": 1, "bounds": BOUNDS, "t": [0.2]}, "t cannot be given with epsilon"),
            ({"epsilon": 1, "bounds": BOUNDS, "loss": "il"}, "loss cannot be given with epsilon"),
            ({"epsilon": 1, "bounds": BOUNDS, "claim": "both"}, "no claim is called 'both'"),
        ],
    )
    def test_what_does_not_belong_together_is_refused(
        self, people: pa.Table, given_: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(shoal.ParameterError, match=words):
            shoal.explore(people, BASE, **given_)

    def test_another_release_takes_no_epsilon(self, people: pa.Table) -> None:
        with pytest.raises(shoal.ParameterError, match="medoid does not"):
            shoal.explore(people, {**BASE, "release": "medoid"}, epsilon=1.0, bounds=BOUNDS)


@given(st.integers(2, 10**6), st.integers(2, 50))
def test_usual_sizes_go_from_two_to_all(n: int, k: int) -> None:
    sizes = usual_sizes(n, k)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == n
    assert all(2 <= size <= n // 2 for size in sizes[:-1])
    assert len(sizes) <= 40
    assert k > n // 2 or k in sizes


def test_the_command_writes_page_and_recipe_that_protect_runs(
    people: pa.Table, found: shoal.Explored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable
) -> None:
    monkeypatch.chdir(tmp_path)
    shoal.write_table(people, tmp_path / "survey.csv")
    noise = ("--epsilon", 1, "--bounds", "income=0:500000,commute_minutes=0:240")
    command = ("explore", "survey.csv", "--quasi", ",".join(QUASI), "--identifier", "person,household", *noise)
    ran = run(*command, "-o", "page.html", "--save-recipe", "best.toml")
    assert ran.code == 0
    assert found.reason in ran.out
    assert "not ε-differential privacy of the original records" in ran.out
    assert found.recommended.name in Path("page.html").read_text(encoding="utf-8")
    assert shoal.Recipe.load("best.toml") == shoal.Recipe.from_dict(found.recipe)
    done = run("protect", "survey.csv", "-o", "out.csv", "--recipe", "best.toml", "--json")
    assert done.code == 0
    assert json.loads(done.out)["ledger"]["epsilon"] == pytest.approx(1.0)
    assert json.loads(run(*command, "--json").out)["recommended"] == found.to_dict()["recommended"]


def test_no_value_is_told(tmp_path: Path) -> None:
    table = pa.table({"x": [31415926.0 + i for i in range(60)], "y": [float(i) for i in range(60)]})
    shoal.write_table(table, tmp_path / "t.csv")
    asked: dict[str, Any] = {"epsilon": 1.0, "bounds": {"x": [0, 1e8], "y": [0, 99]}, "k": [3, 100]}
    seen = shoal.explore_file(tmp_path / "t.csv", {"quasi": ["x", "y"]}, tmp_path / "p.html", **asked)
    for text in (json.dumps(seen.to_dict()), (tmp_path / "p.html").read_text(encoding="utf-8"), repr(seen)):
        assert "31415926" not in text


NOISY = {**BASE, "release": "laplace", "epsilon": 1.0, "bounds": BOUNDS}


class TestTheRecipesDemandsAreAFloor:
    def test_classes_below_k_and_ways_without_k_are_not_recommended(
        self, people: pa.Table, found: shoal.Explored
    ) -> None:
        demanding = shoal.explore(people, {**NOISY, "k": 50})
        assert found.recommended.method in FREE  # where k is not required
        assert demanding.recommended.method == "mdav"
        assert demanding.recommended.asked[0] >= 50
        assert all(s.meets == (s.method == "mdav" and s.asked[0] >= 50) for s in demanding.settings)
        assert shoal.Recipe.from_toml(demanding.toml).k >= 50
        assert "that meet the recipe's demands, the least." in demanding.reason
        least = min(demanding.settings, key=lambda s: s.loss)
        said = f"The least of them is {least.name}: {least.figures[0]} %."
        assert f"{said} To allow it, lower k in the recipe, or leave it out." in demanding.notes

    def test_where_all_are_weaker_nothing_is_recommended(self, people: pa.Table) -> None:
        found = shoal.explore(people, {**NOISY, "k": 50}, k=[5], methods=["mdav"])
        assert found.recommended is None
        assert found.reason.startswith("No setting that ran meets the recipe's demand of k ≥ 50.")

    @pytest.mark.parametrize(
        ("most", "epsilon", "words"),
        [
            (1.0, 5.0, "epsilon must be at most 1, as in the recipe, got 5"),
            (1.0, {"income": 0.8, "commute_minutes": 0.7}, "epsilon must be at most 1, as in the recipe, got 1.5"),
            (
                {"income": 0.8, "commute_minutes": 0.7},
                {"income": 0.5, "commute_minutes": 0.9},
                "epsilon of 'commute_minutes' must be at most 0.7, as in the recipe, got 0.9",
            ),
            ({"income": 0.8, "commute_minutes": 0.7}, 0.75, "epsilon must be at most 0.7, as in the recipe, got 0.75"),
        ],
    )
    def test_its_epsilon_is_a_ceiling(self, people: pa.Table, most: Any, epsilon: Any, words: str) -> None:
        with pytest.raises(shoal.ParameterError) as refused:
            shoal.explore(people, {**NOISY, "epsilon": most}, epsilon=epsilon)
        assert words in str(refused.value)

    @pytest.mark.parametrize("epsilon", [0.5, 1.0, {"income": 0.5, "commute_minutes": 0.5}])
    def test_a_smaller_epsilon_is_allowed(self, people: pa.Table, epsilon: Any) -> None:
        found = shoal.explore(people, NOISY, epsilon=epsilon, methods=["mdav"], k=[20])
        assert found.recipe["epsilon"] == epsilon

    def test_a_weaker_claim_is_refused(self, people: pa.Table) -> None:
        kinds = dict.fromkeys(QUASI, "integer")
        strict = {**NOISY, "claim": "original", "method": "insensitive", "kinds": kinds}
        with pytest.raises(shoal.ParameterError, match="claim must be 'original', as in the recipe"):
            shoal.explore(people, strict, claim="microaggregated")

    @pytest.mark.parametrize("more", [(), ("--release", "laplace")])
    def test_by_the_command(
        self, people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable, more: tuple[str, ...]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        shoal.write_table(people, "people.csv")
        Path("r.toml").write_text(shoal.Recipe.from_dict({**NOISY, "k": 50}).to_toml())
        ran = run("explore", "people.csv", "--recipe", "r.toml", "--epsilon", 5, *more)
        assert (ran.code, ran.out) == (2, "")
        assert "epsilon must be at most 1, as in the recipe, got 5" in ran.err
        ran = run("explore", "people.csv", "--recipe", "r.toml", "--epsilon", 0.5, "--methods", "mdav", "--k", "20,50")
        assert ran.code == 0
        assert "(in brackets) weaker than the recipe" in " ".join(ran.out.split())
        assert re.search(r"20 │ +\([\d.,]+\)", ran.out)
        assert "Recommended: mdav, k = 50" in ran.out
