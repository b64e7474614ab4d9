"""A recipe round-trips, has a fingerprint, and refuses what it does not know."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Kind, Recipe

NAME = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=8)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    names = draw(st.lists(NAME, min_size=6, max_size=9, unique=True))
    quasi = tuple(names[5:])
    return Recipe(
        quasi=quasi,
        confidential=(names[0],),
        identifier=(names[1],) if draw(st.booleans()) else (),
        strata=(names[2],) if draw(st.booleans()) else (),
        subject=draw(st.sampled_from([None, names[3]])),
        weight=draw(st.sampled_from([None, names[4]])),
        k=draw(st.integers(2, 10**6)),
        set=draw(st.dictionaries(NAME, st.one_of(st.booleans(), st.integers(-9, 9), NAME), max_size=2)),
        kinds=draw(st.dictionaries(st.sampled_from(names), st.sampled_from(list(Kind)), max_size=3)),
        blocks=tuple((name,) for name in quasi) if draw(st.booleans()) else (),
        text=draw(st.sampled_from([{}, {"delimiter": ";", "missing": ["NA", "?"]}])),
        seed=draw(st.integers(0, 2**62)),
    )


@given(recipe=recipes())
def test_round_trip(recipe: Recipe) -> None:
    again = Recipe.from_toml(recipe.to_toml())
    assert again == recipe
    assert again.fingerprint == recipe.fingerprint


def test_the_fingerprint_tells_recipes_apart_and_not_their_spelling() -> None:
    base = Recipe(quasi=["a", "b"])
    assert len(base.fingerprint) == 64
    assert Recipe.from_toml('version = 1\nk = 5\nquasi = ["a", "b"]').fingerprint == base.fingerprint
    assert Recipe.from_toml('version = 1\nquasi = [ "a",\n "b" ]  # the same').fingerprint == base.fingerprint
    others = [{"k": 6}, {"seed": 1}, {"quasi": ["b", "a"]}, {"set": {"round_integers": True}}, {"weight": "w"}]
    prints = {Recipe.from_dict({"quasi": ["a", "b"], **other}).fingerprint for other in others}
    assert len(prints | {base.fingerprint}) == len(others) + 1


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"k": 1}, "Recipe: k must be an integer ≥ 2, got 1. Raise k."),
        ({"k": "5"}, "Recipe: k must be an integer ≥ 2, got '5'."),
        ({"k": True}, "Recipe: k must be an integer ≥ 2, got True."),
        ({"seed": -1}, "Recipe: seed must be an integer ≥ 0, got -1. Raise seed."),
        ({"method": "mdva"}, "no method is called 'mdva'; there are anneal, auto, blocks, "),
        ({"release": "mean"}, "no release is called 'mean'"),
        ({"quasi": "a"}, "quasi must be a list of column names, got 'a'."),
        ({"quasi": []}, "quasi must name at least one column"),
        ({"quasi": ["a", "a"]}, "column 'a' is named twice as quasi"),
        ({"confidential": ["a"]}, "column 'a' is both quasi and confidential. Give it one role."),
        ({"blocks": [["a"]]}, "blocks must hold every quasi-identifier; b is missing"),
        ({"blocks": [["a", "b"], ["a"]]}, "blocks must be disjoint; a is in two"),
        ({"kinds": {"a": "number"}}, "Recipe: column 'a': no kind is called 'number'"),
        (
            {"qusai": ["a"]},
            "no field is called 'qusai'; there are attacker, attribute_blocks, attribute_weights, block_size, blocks",
        ),
        ({"subject": ["a"]}, "subject must be a column name, got a list"),
        ({"set": 3}, "set must be a table of names and values, got 3"),
    ],
)
def test_what_is_refused(fields: dict, sentence: str) -> None:
    with pytest.raises(shoal.ParameterError) as refused:
        Recipe.from_dict({"quasi": ["a", "b"], **fields})
    assert sentence in str(refused.value)


def test_all_faults_at_once() -> None:
    with pytest.raises(shoal.ParameterError) as refused:
        Recipe.from_dict({"quasi": ["a"], "k": 0, "method": "x", "seed": "y"})
    assert len(str(refused.value).splitlines()) == 3


def test_a_path_serves_as_recipe(tmp_path: Path) -> None:
    import pyarrow as pa

    path = tmp_path / "r.toml"
    shoal.save_recipe(Recipe(quasi=["x"], k=2), path)
    assert shoal.protect(pa.table({"x": [1, 2, 3, 9]}), path).recipe == Recipe(quasi=["x"], k=2)
    with pytest.raises(shoal.ParameterError, match="already exists"):
        shoal.save_recipe(Recipe(quasi=["x"], k=3), path)


def test_a_broken_file_is_named_by_its_place(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("k = \nseed = 1")
    with pytest.raises(shoal.ParameterError, match=r"not TOML: .*line 1"):
        Recipe.load(path)
    with pytest.raises(shoal.ParameterError, match="cannot be read"):
        Recipe.load(tmp_path / "none.toml")


@pytest.mark.parametrize("odd", [None, ["low"], {"low": 1}])
def test_orders_hold_categories_only(odd: object) -> None:
    with pytest.raises(shoal.ParameterError, match="the order of 'size' must hold categories only"):
        Recipe(quasi=["size"], orders={"size": ["high", odd]})


CLOSE = {"quasi": ["a"], "confidential": ["c"]}


class TestASettingStatedTwice:
    """Levels that conflict are refused, also where one equals the default."""

    @pytest.mark.parametrize("required", [{"k": 3}, {"k_anonymity": 3}, {"k": 10}])
    @pytest.mark.parametrize("make", [Recipe.from_dict, lambda fields: Recipe(**fields)])
    def test_k(self, make: Callable[[dict], Recipe], required: dict[str, int]) -> None:
        (level,) = required.values()
        with pytest.raises(shoal.ParameterError) as refused:
            make({"quasi": ["a"], "k": 5, "require": required})
        assert str(refused.value) == (
            f"Recipe: k is set to 5 and required at {level}. Set it once: give the k that you want, and leave it out "
            f"of require."
        )

    def test_in_toml(self) -> None:
        with pytest.raises(shoal.ParameterError, match="k is set to 5 and required at 3"):
            Recipe.from_toml('quasi = ["a"]\nk = 5\nrequire = {k = 3}')

    @pytest.mark.parametrize(
        ("fields", "sentence"),
        [
            ({"t": 0.2, "require": {"t": 0.3}}, "t is set to 0.2 and required at 0.3"),
            ({"t": 0.2, "n": 90, "require": {"n_t": [80, 0.2]}}, "n is set to 90 and required at 80"),
            ({"require": {"t": 0.2, "n_t": [80, 0.3]}}, "t is required at 0.2 and at 0.3"),
            ({"require": {"k": 3, "k_anonymity": 5}}, "k is required at 3 and at 5"),
            ({"t": 0.2, "require": {"n_t": [80, 0.2]}}, "t-closeness and (n,t)-closeness, which promises less"),
            ({"n": 80, "require": {"t": 0.2}}, "t-closeness and (n,t)-closeness, which promises less"),
            ({"require": {"p": 2, "p_sensitivity": 3}}, "p_sensitivity is required twice"),
        ],
    )
    def test_other_settings(self, fields: dict, sentence: str) -> None:
        with pytest.raises(shoal.ParameterError) as refused:
            Recipe.from_dict({**CLOSE, **fields})
        assert sentence in str(refused.value)

    def test_the_same_level_twice_is_one_level(self) -> None:
        assert Recipe(quasi=["a"], k=5, require={"k": 5}) == Recipe(quasi=["a"], k=5)
        twice = Recipe(**CLOSE, t=0.2, n=80, require={"n_t": [80, 0.2]})
        assert (twice.t, twice.n) == (0.2, 80)

    def test_what_nobody_gave_does_not_conflict(self) -> None:
        assert Recipe(quasi=["a"], require={"k": 3}).k == 3

    @pytest.mark.parametrize("required", [{"t": 0.1}, {"t_closeness": 0.1}])
    def test_of_bare_points(self, required: dict[str, float]) -> None:
        points, pay = [[float(i)] for i in range(12)], [float(i % 6) for i in range(12)]
        with pytest.raises(shoal.ParameterError, match=r"microaggregate: t is set to 0.3 and required at 0.1"):
            shoal.microaggregate(points, 3, method="t_close_merge", confidential=pay, t=0.3, require=required)

    def test_of_bare_points_by_a_method_that_promises_p(self) -> None:
        points, ill = [[float(i)] for i in range(12)], ["a", "b", "c"] * 4
        with pytest.raises(shoal.ParameterError, match="microaggregate: p is set to 2 and required at 3"):
            shoal.microaggregate(points, 3, method="p_sensitive", confidential=ill, p=2, require={"p": 3})

    def test_of_a_stream(self) -> None:
        from shoal.stream import StreamAnonymizer, StreamRecipe

        recipe = StreamRecipe(quasi=["a"], bounds={"a": (0, 9)}, k=3, delay=9)
        with pytest.raises(shoal.ParameterError, match="k cannot be given together with a recipe"):
            StreamAnonymizer(recipe, k=9)


class TestDefaultsAreResolvedLast:
    def test_defaults_can_be_told_from_what_was_given(self) -> None:
        assert (Recipe(quasi=["a"]).k, Recipe(quasi=["a"]).unset) == (5, {"k", "method", "effort"})
        assert Recipe(quasi=["a"], k=5, method="mdav", effort="fast").unset == set()
        assert Recipe(quasi=["a"], require={"k": 5}).unset == {"method", "effort"}
        assert Recipe(quasi=["a"], method="").unset == {"k", "method", "effort"}

    def test_equal_recipes_have_one_fingerprint_whatever_was_given(self) -> None:
        plain, explicit = Recipe(quasi=["a"]), Recipe(quasi=["a"], k=5, method="auto", effort="default")
        assert (plain, plain.fingerprint, repr(plain)) == (explicit, explicit.fingerprint, repr(explicit))
        assert plain.to_dict() == explicit.to_dict()

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda recipe: pickle.loads(pickle.dumps(recipe))])
    def test_copies(self, copied: Callable[[Recipe], Recipe]) -> None:
        again = copied(Recipe(quasi=["a"]))
        assert (again, again.unset) == (Recipe(quasi=["a"]), {"k", "method", "effort"})

    def test_replace_keeps_every_field_and_override_resolves_defaults_anew(self) -> None:
        plain = Recipe(**CLOSE)
        assert (replace(plain, method="mdav").effort, plain.override(method="mdav").effort) == ("default", None)
        assert Recipe(**CLOSE, method="mdav").override(t=0.2).method == "mdav"
        assert plain.override(require={"k": 9}).k == 9
        with pytest.raises(shoal.ParameterError, match="k is set to 5 and required at 3"):
            replace(plain, require={"k": 3})

    def test_a_saved_recipe_names_the_method_and_the_effort(self, tmp_path: Path) -> None:
        shoal.save_recipe(Recipe(**CLOSE), tmp_path / "default.toml")
        shoal.save_recipe(Recipe(**CLOSE, method="mdav"), tmp_path / "chosen.toml")
        found = [Recipe.load(tmp_path / name) for name in ("default.toml", "chosen.toml")]
        assert [(one.method, one.effort) for one in found] == [("auto", "default"), ("mdav", None)]
        text = (tmp_path / "default.toml").read_text()
        assert 'method = "auto"' in text
        assert 'effort = "default"' in text


class TestEffort:
    def test_methods_that_search_take_it_and_others_are_refined(self) -> None:
        found = [Recipe(quasi=["a"], method=method, effort="fast") for method in ("auto", "anneal", "mdav")]
        assert [(one.effort, one.refinement) for one in found] == [("fast", None), ("fast", None), ("fast", "fast")]
        named = [Recipe(quasi=["a"], method=method) for method in ("anneal", "blocks", "mdav")]
        assert [(one.effort, one.refinement) for one in named] == [("default", None), ("default", None), (None, None)]

    @pytest.mark.parametrize("old", [{"refine": "best"}, {"set": {"effort": "best"}}])
    def test_old_names(self, old: dict[str, Any]) -> None:
        found = Recipe(quasi=["a"], **old)
        assert found == Recipe(quasi=["a"], effort="best")
        assert "is now called effort" in found.notes[0]
        with pytest.raises(shoal.ParameterError, match="is the old name of effort"):
            Recipe(quasi=["a"], effort="fast", **old)

    def test_seconds_became_the_deadline(self) -> None:
        found = Recipe(quasi=["a"], set={"seconds": 3, "scale": "range"})
        assert (found.deadline, found.set) == (3.0, {"scale": "range"})

    @pytest.mark.parametrize(("given", "seconds"), [(5, 5.0), ("90s", 90.0), ("1.5min", 90.0), ("2 h", 7200.0)])
    def test_deadlines(self, given: Any, seconds: float) -> None:
        assert Recipe(quasi=["a"], deadline=given).deadline == seconds

    @pytest.mark.parametrize("given", [0, -1, "soon", "5 days", "0s"])
    def test_what_is_no_deadline(self, given: Any) -> None:
        with pytest.raises(shoal.ParameterError, match="deadline must be a number of seconds > 0, or a time"):
            Recipe(quasi=["a"], deadline=given)

    def test_a_deadline_cannot_be_replayed(self) -> None:
        with pytest.raises(shoal.ParameterError, match="deadline is not possible with a requirement that repeats"):
            Recipe(quasi=["a"], confidential=["b"], deadline=9, require={"exchangeability": 3})


def test_a_second_recipe_parses_no_file_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import ast

    noisy = {"quasi": ["a"], "release": "laplace", "epsilon": 1.0, "bounds": {"a": [0, 1]}}
    made = Recipe.from_dict(noisy)
    monkeypatch.setattr(ast, "parse", lambda *_: pytest.fail("a file was parsed again"))
    assert Recipe.from_dict(noisy) == made


class TestAttributeBlocks:
    BASE: ClassVar[dict[str, Any]] = {"quasi": ["a", "b", "c", "d"], "k": 3}

    def made(self, **more: Any) -> shoal.Recipe:
        return shoal.Recipe(**{**self.BASE, **more})

    def test_the_old_names_mean_the_same(self) -> None:
        lists = [["a", "b"], ["c", "d"]]
        old, new = self.made(blocks=lists), self.made(attribute_blocks=lists)
        assert (old, old.all_blocks, old.fingerprint) == (new, (("a", "b"), ("c", "d")), new.fingerprint)
        assert (old.notes, new.notes) == (("blocks is now called attribute_blocks. Rename it.",), ())
        grouped = self.made(method="pcp", set={"group": "correlated", "block_size": 2})
        assert grouped == self.made(method="pcp", attribute_blocks="correlated", block_size=2)
        assert grouped.blocking == ("correlated", 2)
        assert "set.group is now called attribute_blocks. Rename it." in grouped.notes

    def test_the_old_name_takes_the_words_too(self) -> None:
        old, new = (self.made(**{name: "correlated"}, block_size=2) for name in ("blocks", "attribute_blocks"))
        assert (old, old.blocking, old.fingerprint) == (new, ("correlated", 2), new.fingerprint)

    def test_a_method_still_groups_inside_listed_blocks(self) -> None:
        lists = [["a", "b"], ["c", "d"]]
        for name in ("blocks", "attribute_blocks"):
            made = self.made(**{name: lists}, method="pcp", set={"group": "correlated"})
            assert (made.set, made.blocking) == ({"group": "correlated"}, None)

    def test_a_group_of_another_method_is_left_alone(self) -> None:
        assert self.made(method="mdav", set={"group": "correlated"}).set == {"group": "correlated"}

    def test_how_many_there_will_be(self) -> None:
        assert self.made(attribute_blocks="uncorrelated").block_count == 2
        assert self.made(attribute_blocks="correlated", block_size=4).block_count == 1
        assert self.made().block_count == 1

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            ({"attribute_blocks": [["a"]]}, "b, c, d are missing. Add them."),
            ({"attribute_blocks": [["correlat"]]}, "To form blocks by correlation, write correlated or uncorrelated."),
            ({"blocks": "correlate"}, "a list of lists of column names, 'correlated' or 'uncorrelated'"),
            ({"attribute_blocks": "correlate"}, "a list of lists of column names, 'correlated' or 'uncorrelated'"),
            ({"block_size": 2}, "block_size needs attribute_blocks = correlated or uncorrelated"),
            ({"blocks": [["a"], ["b"], ["c"], ["d"]], "attribute_blocks": "correlated"}, "blocks is the old name of"),
            (
                {"attribute_blocks": "correlated", "together": "h", "household_level": ["a"]},
                "attribute_blocks must be a list where household_level is given",
            ),
        ],
    )
    def test_what_is_refused(self, more: dict[str, Any], sentence: str) -> None:
        with pytest.raises(shoal.ParameterError, match=sentence):
            self.made(**more)
