"""A recipe round-trips, has a fingerprint, and refuses what it does not know."""

from __future__ import annotations

from pathlib import Path

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
    assert Recipe.from_toml('k = 5\nquasi = ["a", "b"]').fingerprint == base.fingerprint
    assert Recipe.from_toml('quasi = [ "a",\n "b" ]  # the same').fingerprint == base.fingerprint
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
        ({"blocks": [["a"]]}, "blocks must hold every quasi-identifier, b is in none"),
        ({"blocks": [["a", "b"], ["a"]]}, "blocks must be disjoint, a is in two"),
        ({"kinds": {"a": "number"}}, "Recipe: column 'a': no kind is called 'number'"),
        ({"qusai": ["a"]}, "no field is called 'qusai'; there are attribute_weights, blocks, bounds, claim"),
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
    with pytest.raises(shoal.ParameterError, match="exists already"):
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
