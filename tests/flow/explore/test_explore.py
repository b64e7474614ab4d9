"""Exploring: the same settings and figures on every machine, those of protect and compare, one recommended."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import registry
from shoal.flow.explore import run_setting as trying
from shoal.flow.explore.grid import Explore, coarseness, percentages, risk_candidates
from shoal.flow.explore.search import fitting
from shoal.flow.plan.estimate import counted
from shoal.flow.stages.read import schema_for
from shoal.parameters import declarations
from shoal.types import Points, Table
from shoal.types.protocols import Partitioner

QUASI = ["birth", "income", "commute_minutes"]
BASE = {"quasi": QUASI, "identifier": ["person", "household"]}
SECRET = "zzsecretzz"


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return shoal.survey(records=300)


@pytest.fixture(scope="module")
def found(people: pa.Table) -> shoal.Explored:
    return shoal.explore(people, BASE)


def test_every_setting_is_there_and_one_is_recommended(found: shoal.Explored) -> None:
    asked = [(s.method, s.asked) for s in found.settings]
    methods = ("mdav", "v_mdav", "tour", "mdav + fast", "auto + default")
    assert asked == [(m, (k, None)) for m, k in itertools.product(methods, (3, 5, 10, 25))]
    assert {s.state for s in found.settings} == {"ran"}
    assert found.recommended in found.frontier
    assert found.recommended.name in found.reason
    assert all(s.k >= s.asked[0] for s in found.settings if s.state == "ran")


def test_figures_are_those_of_protect_and_compare(people: pa.Table, found: shoal.Explored) -> None:
    for setting in (found.recommended, found.settings[0]):
        done = shoal.protect(
            people, {**setting.recipe, "exact_means": True}
        )  # settings are compared by their partition
        compared = shoal.compare(people, done.data, recipe=done.recipe)
        assert setting.loss == done.readings["il_sse"]
        assert setting.k == done.audit.overall.achieved
        assert setting.classes == done.audit.overall.classes
        assert setting.risk == pytest.approx(compared["dld"], rel=1e-12)
        assert {name: compared[name] for name in setting.readings} == pytest.approx(dict(setting.readings), rel=1e-9)


def test_the_recipe_is_that_of_the_recommended(found: shoal.Explored) -> None:
    recipe = shoal.Recipe.from_dict(found.recipe)
    assert shoal.Recipe.from_toml(found.toml) == recipe
    assert (recipe.quasi, recipe.identifier) == (tuple(QUASI), ("person", "household"))
    assert (recipe.method, recipe.k, recipe.refine) == (
        found.recommended.recipe["method"],
        found.recommended.asked[0],
        found.recommended.refine,
    )


@pytest.mark.parametrize("jobs", [1, 3])
def test_how_many_run_at_once_does_not_matter(people: pa.Table, jobs: int) -> None:
    one, other = (shoal.explore(people, BASE, methods=["mdav", "tour"], jobs=number) for number in (2, jobs))
    assert one.to_dict() == other.to_dict()


def test_no_clock_decides_before_the_deadline(
    people: pa.Table, timeless: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = shoal.explore(people, BASE, seconds=0.15)
    monkeypatch.setattr("time.perf_counter", itertools.count(0.0, 1e6).__next__)
    assert shoal.explore(people, BASE, seconds=0.15, k=[3, 5, 10, 25]).to_dict() == few.to_dict()


def test_little_time_tries_coarse_settings_first(people: pa.Table, found: shoal.Explored, timeless: None) -> None:
    some = {"methods": ["mdav", "v_mdav", "tour"], "jobs": 1}
    coarse = 1e-6 + sum(s.seconds for s in found.settings if s.asked[0] in (3, 25) and s.method in some["methods"])
    few = shoal.explore(people, BASE, seconds=coarse, **some)
    assert [s.state for s in few.settings] == ["ran", "left out", "left out", "ran"] * 3
    assert "6 of 12 settings fit into" in few.ran
    assert [s.state for s in shoal.explore(people, BASE, seconds=0).settings].count("ran") == 1


@given(st.lists(st.tuples(st.floats(0.01, 9), st.integers(0, 3)), min_size=1, max_size=20), st.floats(0, 40))
def test_what_fits_costs_no_more_than_the_time(some: list[tuple[float, int]], seconds: float) -> None:
    costs, levels = [cost for cost, _ in some], [level for _, level in some]
    chosen = fitting(costs, levels, seconds)
    assert chosen
    assert len(chosen) == 1 or sum(costs[at] for at in chosen) <= seconds * (1 + 1e-12)
    assert set(fitting(costs, levels, 1e9)) == set(range(len(some)))


@given(st.integers(1, 40))
def test_ends_come_first(count: int) -> None:
    levels = coarseness(count)
    assert len(levels) == count
    assert levels[0] == levels[-1] == 0
    assert all(level > 0 for level in levels[1:-1])


def test_costs_grow_with_records_and_effort() -> None:
    few, many = Points(np.zeros((1000, 3))), Points(np.zeros((20_000, 3)))
    recipe, fast, best = (
        shoal.Recipe(quasi=QUASI, k=5, method="mdav", effort=effort) for effort in (None, "fast", "best")
    )
    assert counted(recipe, few) < counted(recipe, many) < counted(fast, many)
    assert counted(fast, few) < counted(best, few)


def test_a_parameter_that_cannot_be_fails_its_method_only(people: pa.Table) -> None:
    seen = shoal.explore(people, {**BASE, "set": {"gamma": "wide"}}, k=[5], methods=["mdav", "v_mdav"])
    assert [s.state for s in seen.settings] == ["ran", "failed"]
    assert "gamma must be" in seen.settings[1].note


@pytest.mark.parametrize(
    ("more", "efforts"),
    [
        ({}, [("mdav", None), ("mdav", "fast"), ("auto", "default")]),
        ({"method": "auto", "effort": "default"}, [("mdav", None), ("mdav", "fast"), ("auto", "default")]),
        ({"method": "auto", "effort": "best"}, [("mdav", None), ("mdav", "fast"), ("auto", "best")]),
        ({"method": "mdav", "effort": "best"}, [("mdav", "best"), ("auto", "best")]),
        ({"effort": "best"}, [("mdav", "best"), ("auto", "best")]),
    ],
)
def test_the_effort_of_a_search_refines_no_other_method(people: pa.Table, more: dict, efforts: list) -> None:
    recipe = shoal.Recipe.from_dict({**BASE, **more})
    table = Table(people, schema_for(people, recipe, None))
    found = [one.values for one in risk_candidates(table, recipe, Explore(k=(5,)), 3)]
    assert [(one["method"], one.get("effort")) for one in found if one["method"] in ("mdav", "auto")] == efforts


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"effort": "wild"}, "Recipe: no effort is called 'wild'"),
        ({"effort": 3}, "Recipe: no effort is called 3"),
        ({"seconds": "long"}, "Recipe: deadline must be"),
        ({"seconds": -1}, "Recipe: deadline must be"),
    ],
)
def test_an_effort_or_deadline_that_cannot_be_is_refused_by_its_old_name(
    people: pa.Table, wrong: dict, words: str
) -> None:
    with pytest.raises(shoal.ParameterError, match=words):
        shoal.explore(people, {**BASE, "set": wrong}, k=[5], methods=["mdav"])


@pytest.mark.parametrize("key", registry.keys("partition"))
def test_every_method_declares_its_cost(key: str) -> None:
    method = registry.load("partition", key)
    declaring = {base for base in method.__mro__ if "relative_cost" in vars(base)} - {Partitioner}
    assert method.searches != bool(declaring)
    assert method.searches == ("effort" in {declared.name for declared in declarations(method)})


def test_with_t_methods_promise_it_and_the_audit_finds_it(people: pa.Table) -> None:
    seen = shoal.explore(people, {**BASE, "confidential": ["rent"]}, k=[3, 5], t=[0.2, 0.4])
    united, others = (
        {"auto", "t_close_anneal", "t_close_merge", "mdav"},
        {"t_first", "k_first", "t_close_merge", "steered"},
    )
    assert {s.recipe["method"] for s in seen.settings if s.attacker == "algorithm"} == united
    assert {s.recipe["method"] for s in seen.settings if s.attacker == "table"} == others
    assert {s.asked[1] for s in seen.settings} == {0.2, 0.4}
    assert all(s.keeps for s in seen.settings if s.state == "ran")
    assert "largest t" in " ".join(seen.notes)


def test_categories_without_order_leave_out_what_needs_one(people: pa.Table) -> None:
    seen = shoal.explore(people, {**BASE, "confidential": ["work"], "t": 0.4}, k=[5])
    assert {s.recipe["method"] for s in seen.settings} == {"auto", "k_first", "mdav", "t_close_anneal", "t_close_merge"}
    assert {s.state for s in seen.settings} == {"ran"}


def test_what_is_required_is_required_of_every_setting(people: pa.Table) -> None:
    base = {**BASE, "confidential": ["work"], "require": {"p": 2}}
    seen = shoal.explore(people, base, k=[5], methods=["mdav", "p_sensitive"], refine=["fast"])
    assert [s.state for s in seen.settings] == ["ran"] * 3  # one of them against each attacker
    done = shoal.protect(people, seen.recipe)
    assert done.audit.to_dict()["confidential"]["work"]["p"] >= 2


def test_a_setting_that_cannot_be_is_a_row(people: pa.Table) -> None:
    base = {**BASE, "confidential": ["work"], "require": {"p": 4}}
    seen = shoal.explore(people, base, k=[3, 6, 301], methods=["mdav"], refine=["fast"])
    assert [s.state for s in seen.settings] == ["failed", "ran", "failed"] * 2  # against each attacker
    assert "p must be at most k" in seen.settings[0].note
    assert "at most the number of records" in seen.settings[2].note
    assert "4 of them could not be run" in seen.ran


def test_where_none_can_be_its_error_is_raised(people: pa.Table) -> None:
    with pytest.raises(shoal.DataError, match="at most the number of records"):
        shoal.explore(people, BASE, k=[400, 500])


def test_weaker_promises_are_shown_and_not_recommended(people: pa.Table) -> None:
    seen = shoal.explore(people, BASE, k=[5], methods=["individual_ranking", "mic1d", "mdav"])
    assert [s.keeps for s in seen.settings] == [False, False, True]
    assert [s.frontier for s in seen.settings] == [False, False, True]
    assert seen.recommended is seen.settings[2]


def test_one_coordinate_gets_its_optimum(people: pa.Table) -> None:
    seen = shoal.explore(people, {"quasi": ["income"]}, k=[5])
    assert [s.method for s in seen.settings] == ["optimal_univariate"]


def test_parameters_go_to_the_methods_that_declare_them(people: pa.Table) -> None:
    seen = shoal.explore(people, {**BASE, "set": {"gamma": 0.5, "stata_version": 13}}, k=[5])
    said = {s.method: s.recipe["set"] for s in seen.settings}
    assert said["v_mdav"] == {"gamma": 0.5, "stata_version": 13}
    assert said["mdav"] == {"stata_version": 13}  # for the file that will be written
    with pytest.raises(shoal.ParameterError, match="gama"):
        shoal.explore(people, {**BASE, "set": {"gama": 0.5}}, k=[5])


class TestSamples:
    def test_a_sample_is_seeded_and_said(self) -> None:
        people = shoal.survey(records=900)
        one, same, other = (shoal.explore(people, {**BASE, "seed": s}, k=[5], sample=200) for s in (1, 1, 2))
        assert one.to_dict() == same.to_dict()
        assert one.settings[0].loss != other.settings[0].loss
        assert (one.records, one.whole) == (200, 900)
        assert "sample of 200 of 900" in one.notes[0]

    def test_strata_keep_their_share_and_room_for_classes(self) -> None:
        people = shoal.survey(records=2000)
        seen = shoal.explore(people, {**BASE, "strata": ["region"]}, k=[5, 10], methods=["mdav"], sample=100)
        assert {s.state for s in seen.settings} == {"ran"}
        assert 100 <= seen.records <= 300

    def test_households_stay_whole(self) -> None:
        people = shoal.survey(records=2000)
        base = {"quasi": QUASI, "together": "household", "identifier": ["person"]}
        seen = shoal.explore(people, base, k=[3], methods=["mdav"], sample=300)
        assert {s.state for s in seen.settings} == {"ran"}
        assert 300 <= seen.records < 320

    def test_excluded_records_are_not_drawn(self) -> None:
        rng = np.random.default_rng(0)
        table = pa.table({"x": [None if i % 10 == 0 else float(i) for i in range(500)], "y": rng.normal(size=500)})
        base = {"quasi": ["x", "y"], "when_missing": "exclude"}
        for most, drawn in ((5000, 450), (100, 100)):
            seen = shoal.explore(table, base, k=[3], methods=["mdav"], sample=most)
            assert (seen.records, seen.whole) == (drawn, 500)
            assert "50 records lack" in seen.notes[0]


class TestMeasures:
    def test_other_measures_can_be_compared_by(self, people: pa.Table) -> None:
        seen = shoal.explore(people, BASE, k=[3, 5], methods=["mdav"], loss="il", risk="dr")
        assert [(s.loss, s.risk) for s in seen.settings] == [
            (s.readings["il"], s.readings["dr"]) for s in seen.settings
        ]

    def test_every_percentage_can(self, people: pa.Table) -> None:
        base = {**BASE, "confidential": ["work"]}
        need_more = {"individual_risk", "membership"}  # sampling weights, and a control
        for loss, risk in itertools.product(percentages("utility"), set(percentages("risk")) - need_more):
            seen = shoal.explore(people, base, k=[5], methods=["mdav"], loss=loss, risk=risk)
            assert seen.recommended is not None, (loss, risk)

    def test_without_a_figure_there_is_no_recommendation(self, people: pa.Table) -> None:
        seen = shoal.explore(people, BASE, k=[5], methods=["mdav"], risk="inference")  # nothing is confidential
        assert seen.recommended is None
        assert seen.recipe is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k": [1]}, "k must hold integers"),
        ({"k": []}, "k must hold at least one"),
        ({"k": ["five"]}, "k must hold integers"),
        ({"t": [2.0]}, "t must hold numbers"),
        ({"methods": ["mdaw"]}, "Did you mean 'mdav'"),
        ({"refine": ["fats"]}, "Did you mean 'fast'"),
        ({"risk": "mae"}, "measure of risk"),
        ({"seconds": -1.0}, "seconds must be a number ≥ 0"),
        ({"jobs": 0}, "jobs must be an integer"),
        ({"max_risk": -1}, "max_risk must be a number ≥ 0"),
        ({"t": [0.2]}, "t needs at least one confidential column"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(people: pa.Table, given: dict, words: str) -> None:
    with pytest.raises(shoal.ParameterError, match=words):
        shoal.explore(people, BASE, **given)


class TestFiles:
    @pytest.fixture
    def survey(self, people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        shoal.write_table(people, tmp_path / "survey.csv")
        return tmp_path / "survey.csv"

    def test_the_command_writes_page_and_recipe(self, survey: Path, found: shoal.Explored, run: Callable) -> None:
        command = ("explore", survey, "--quasi", ",".join(QUASI), "--identifier", "person,household")
        ran = run(*command, "-o", "page.html", "--save-recipe", "best.toml")
        assert ran.code == 0
        assert "Recommended: " in ran.out
        assert found.recommended.name in ran.out
        assert shoal.Recipe.load("best.toml") == shoal.Recipe.from_dict(found.recipe)
        assert found.recommended.name in Path("page.html").read_text(encoding="utf-8")
        assert run("protect", survey, "-o", "out.csv", "--recipe", "best.toml").code == 0
        assert run(*command, "-o", "page.html").code == 2  # it is there
        json_ = json.loads(run(*command, "--json").out)
        assert json_["recommended"] == found.to_dict()["recommended"]

    def test_a_limit_that_nothing_keeps_writes_no_recipe(self, survey: Path, run: Callable) -> None:
        command = ("explore", survey, "--quasi", ",".join(QUASI), "--k", 5, "--methods", "mdav", "--max-risk", "0.001")
        ran = run(*command, "-o", "page.html", "--save-recipe", "best.toml")
        assert ran.code == 4
        assert "Nothing was written" in ran.err
        assert not Path("page.html").exists()
        assert run(*command, "-o", "page.html").code == 0
        assert "No setting to recommend" in Path("page.html").read_text(encoding="utf-8")

    def test_the_input_is_not_replaced(self, survey: Path, run: Callable) -> None:
        before = survey.read_bytes()
        for more in (("-o", survey), ("--save-recipe", survey), ("-o", "x.html", "--save-recipe", "x.html")):
            assert run("explore", survey, "--quasi", "income", *more, "--force").code == 2
        assert survey.read_bytes() == before
        assert "must end in .html" in run("explore", survey, "--quasi", "income", "-o", "page.csv").err

    @pytest.mark.parametrize("more", [("--k", "3,x"), ("--t", "a"), ("--methods", "nothing"), ()])
    def test_mistakes_end_in_a_sentence(self, survey: Path, run: Callable, more: tuple[str, ...]) -> None:
        quasi = ("--quasi", "income") if more else ()
        ran = run("explore", survey, *quasi, *more)
        assert (ran.code, ran.out) == (2, "")


def test_no_value_is_told(tmp_path: Path) -> None:
    n = 60
    table = pa.table({
        "x": [float(f"31415926.{i:02}") for i in range(n)],
        "y": [f"{SECRET}{i % 7}" for i in range(n)],
        "z": [f"{SECRET}{i % 3}" for i in range(n)],
    })  # fmt: skip
    shoal.write_table(table, tmp_path / "t.csv")
    base = {"quasi": ["x", "y"], "confidential": ["z"]}
    seen = shoal.explore_file(tmp_path / "t.csv", base, tmp_path / "p.html", k=[3, 100], t=[0.3])
    for text in (json.dumps(seen.to_dict()), (tmp_path / "p.html").read_text(encoding="utf-8"), repr(seen)):
        assert SECRET not in text
        assert "31415926" not in text


def test_an_interruption_does_not_wait_for_all(people: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def interrupted(table: object, recipe: object, **_: object) -> None:
        begun.append(recipe)
        raise KeyboardInterrupt

    monkeypatch.setattr(trying, "anonymise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shoal.explore(people, BASE, jobs=1)
    assert len(begun) <= 16


DEMANDING = {**BASE, "k": 5}


@pytest.fixture(scope="module")
def demanding(people: pa.Table) -> shoal.Explored:
    return shoal.explore(people, DEMANDING, k=[3, 5, 10], methods=["mdav"], max_risk=100)


class TestTheRecipesDemandsAreAFloor:
    def test_a_smaller_k_is_shown_and_neither_compared_nor_recommended(self, demanding: shoal.Explored) -> None:
        assert [(s.asked[0], s.state, s.meets) for s in demanding.settings] == [
            (3, "ran", False),
            (5, "ran", True),
            (10, "ran", True),
        ]
        least = min(demanding.settings, key=lambda s: s.loss)  # which the rule would choose
        assert least.asked[0] == 3
        assert not least.frontier
        assert "weaker than the recipe: k < 5" in least.note
        assert demanding.recommended.asked[0] == 5
        assert shoal.Recipe.from_toml(demanding.toml).k == 5
        assert "The recipe demands k ≥ 5: 1 weaker setting is shown for comparison, and never recommended." in (
            demanding.notes
        )

    def test_the_json_marks_it(self, demanding: shoal.Explored) -> None:
        told = demanding.to_dict()
        assert told["demands"] == {"k": 5}
        assert [one["meets"] for one in told["settings"]] == [False, True, True]

    @pytest.mark.parametrize("more", [{}, {"require": {"k": 5}}])
    def test_by_default(self, people: pa.Table, more: dict) -> None:
        found = shoal.explore(people, {**(BASE if more else DEMANDING), **more}, methods=["mdav"], max_risk=100)
        assert [s.asked[0] for s in found.settings if not s.meets] == [3]
        assert found.recommended.asked[0] == 5

    def test_a_default_is_no_demand(self, people: pa.Table) -> None:
        found = shoal.explore(people, BASE, methods=["mdav"], max_risk=100)
        assert (found.recommended.asked[0], found.demands) == (3, {})

    def test_a_larger_t_is_weaker(self, people: pa.Table) -> None:
        recipe = {**BASE, "confidential": ["health"], "t": 0.3}
        found = shoal.explore(people, recipe, k=[3], t=[0.2, 0.3, 0.5], methods=["t_close_merge"], refine=["none"])
        assert [(s.asked[1], s.meets) for s in found.settings] == [(0.2, True), (0.3, True), (0.5, False)]
        assert found.recommended.asked[1] <= 0.3
        assert found.demands == {"t": 0.3}

    def test_where_all_are_weaker_nothing_is_recommended(self, people: pa.Table) -> None:
        found = shoal.explore(people, DEMANDING, k=[2, 3], methods=["mdav"])
        assert (found.recommended, found.frontier, found.toml) == (None, (), "")
        assert found.reason == (
            "No setting that ran meets the recipe's demand of k ≥ 5. Try settings that do, or change the recipe."
        )

    def test_weaker_settings_run_only_if_there_is_time_left(self, people: pa.Table, timeless: None) -> None:
        recipe, points = shoal.Recipe.from_dict({**BASE, "k": 5}), Points(np.zeros((len(people), 3)))
        enough = sum(counted(recipe.override(k=k, method="mdav"), points) for k in (5, 10, 25)) * 1.001
        found = shoal.explore(people, recipe, methods=["mdav"], seconds=enough, jobs=1)
        assert {s.asked[0]: s.state for s in found.settings} == {3: "left out", 5: "ran", 10: "ran", 25: "ran"}

    def test_the_command_saves_no_weaker_recipe(
        self, people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable
    ) -> None:
        monkeypatch.chdir(tmp_path)
        shoal.write_table(people, "people.csv")
        Path("r.toml").write_text(shoal.Recipe.from_dict(DEMANDING).to_toml())
        files = ("--recipe", "r.toml", "-o", "page.html", "--save-recipe", "best.toml")
        ran = run("explore", "people.csv", *files, "--methods", "mdav", "--k", "3,5", "--max-risk", 100)
        assert (ran.code, [line[:6] for line in ran.err.splitlines()]) == (0, ["[1/2] ", "[2/2] "])
        assert shoal.Recipe.load("best.toml").k == 5
        assert "1 weaker setting is shown for comparison" in ran.out
        assert "demands k ≥ 5" in Path("page.html").read_text(encoding="utf-8")
        ran = run("explore", "people.csv", *files, "--methods", "mdav", "--k", "3", "--force")
        assert ran.code == 4
        assert "No setting that ran meets the recipe's demand of k ≥ 5." in ran.err
        assert shoal.Recipe.load("best.toml").k == 5
