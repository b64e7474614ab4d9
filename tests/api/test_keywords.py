"""Fields of a recipe by name: alone, over a recipe in any form, and misspelt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal

PEOPLE = pa.table({"age": [31, 33, 62, 60, 35, 61], "pay": [20, 22, 9, 8, 21, 10], "ill": list("abcabc")})


def given_as(form: str, folder: Path, **values: Any) -> Any:
    if form == "mapping":
        return values
    made = shoal.Recipe(**values)
    if form == "recipe":
        return made
    shoal.save_recipe(made, folder / "recipe.toml")
    return folder / "recipe.toml"


FORMS = ["recipe", "mapping", "path"]


def test_fields_alone_make_the_recipe() -> None:
    by_name = shoal.protect(PEOPLE, quasi=["age"], k=3)
    assert by_name.recipe == shoal.Recipe(quasi=["age"], k=3)
    assert by_name.data.equals(shoal.protect(PEOPLE, {"quasi": ["age"], "k": 3}).data)


@pytest.mark.parametrize("form", FORMS)
def test_fields_override_a_recipe(form: str, tmp_path: Path) -> None:
    recipe = given_as(form, tmp_path, quasi=["age", "pay"], k=2, seed=7)
    made = shoal.protect(PEOPLE, recipe, quasi=["age"], k=3).recipe
    assert (made.quasi, made.k, made.seed) == (("age",), 3, 7)


@pytest.mark.parametrize("form", FORMS)
def test_fields_override_a_level_that_require_states(form: str, tmp_path: Path) -> None:
    recipe = given_as(form, tmp_path, quasi=["age"], confidential=["ill"], require={"k": 2, "p": 2})
    made = shoal.protect(PEOPLE, recipe, k=3).recipe
    assert (made.k, dict(made.require)) == (3, {"p": 2})


@pytest.mark.parametrize("form", FORMS)
def test_defaults_are_resolved_after_fields_override(form: str, tmp_path: Path) -> None:
    recipe = given_as(form, tmp_path, quasi=["age"], confidential=["ill"], k=3)
    assert shoal.protect(PEOPLE, recipe, t=0.9).recipe.method == "auto"


def test_fields_complete_a_mapping() -> None:
    assert shoal.protect(PEOPLE, {"t": 0.9, "k": 3}, quasi=["age"], confidential=["ill"]).recipe.t == 0.9


def test_neither_recipe_nor_fields() -> None:
    with pytest.raises(shoal.ParameterError, match=r"Recipe: quasi must be given, got nothing. Add quasi = "):
        shoal.protect(PEOPLE)


@pytest.mark.parametrize("verb", ["protect", "plan", "explore"])
def test_a_misspelt_field_is_answered_as_a_key_of_a_mapping_is(verb: str) -> None:
    said = []
    for call in (
        lambda: getattr(shoal, verb)(PEOPLE, qausi=["age"]),
        lambda: getattr(shoal, verb)(PEOPLE, {"qausi": ["age"]}),
        lambda: getattr(shoal, verb)(PEOPLE, shoal.Recipe(quasi=["age"]), qausi=["age"]),
        lambda: shoal.Recipe(qausi=["age"]),
    ):
        with pytest.raises(shoal.ParameterError) as error:
            call()
        said.append(str(error.value))
    assert len(set(said)) == 1
    assert said[0].startswith("Recipe: no field is called 'qausi'; ")
    assert said[0].endswith("Did you mean 'quasi'?")


@pytest.mark.parametrize(
    ("verb", "name", "meant"),
    [
        ("protect", "ouput", "output"),
        ("plan", "ouput", "output"),
        ("plan", "recpie", "recipe"),
        ("explore", "method_s", "methods"),
    ],
)
def test_a_misspelt_argument_is_answered_with_the_verb(verb: str, name: str, meant: str) -> None:
    with pytest.raises(shoal.ParameterError, match=rf"^{verb}: no argument is called '{name}'; .* mean '{meant}'\?$"):
        getattr(shoal, verb)("in.csv", quasi=["age"], **{name: "x"})


def test_a_misspelt_field_of_a_stream_recipe() -> None:
    with pytest.raises(shoal.ParameterError, match=r"StreamRecipe: no field is called 'bound'; .* mean 'bounds'\?"):
        shoal.StreamRecipe(quasi=["age"], bound={"age": (0, 9)}, k=3, delay=9)


def test_a_recipe_of_another_type() -> None:
    for verb in (shoal.protect, shoal.plan, shoal.explore):
        with pytest.raises(
            shoal.ParameterError, match=f"^{verb.__name__}: recipe must be a Recipe, a mapping or a path, "
        ):
            verb(PEOPLE, 7)  # type: ignore[arg-type]


def test_explore_varies_k_and_takes_other_fields() -> None:
    found = shoal.explore(PEOPLE, quasi=["age", "pay"], k=[2, 3], methods=["mdav"], refine=["none"], seed=4)
    assert [one.recipe["k"] for one in found.settings] == [2, 3]
    assert all(one.recipe["seed"] == 4 for one in found.settings)
