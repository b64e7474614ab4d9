"""Every setting of a recipe is declared once, completely, and everything else follows from the declaration."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.parameters import Declared, declarations
from shoal.recipe.fields import TextFormat

RECIPES = [shoal.Recipe, shoal.StreamRecipe]
EVERY = [
    pytest.param(owner, declared, id=f"{owner.__name__}.{declared.name}")
    for owner in (*RECIPES, TextFormat)
    for declared in declarations(owner)
]
BASE = {
    "Recipe": {"quasi": ["age", "income"], "confidential": ["health", "pay"]},
    "StreamRecipe": {"quasi": ["age"], "bounds": {"age": [0, 99]}, "k": 3, "delay": 9, "confidential": ["ill"]},
}
HOME = Path(__file__).parent.parent
IN_DOCS = [
    pytest.param(page.name, text, id=f"{page.stem}-{number}")
    for page in (HOME / "README.md", *sorted((HOME / "docs").rglob("*.md")))
    for number, text in enumerate(re.findall(r"^```toml[^\n]*\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S))
    if re.search(r"^quasi = ", text, re.M)
]


def value(declared: Declared) -> object:
    return tomllib.loads(f"value = {declared.param.example}")["value"]


@pytest.mark.parametrize("owner", RECIPES)
def test_every_field_is_declared(owner: type) -> None:
    assert [declared.name for declared in declarations(owner)] == list(owner.__dataclass_fields__)


@pytest.mark.parametrize(("owner", "declared"), EVERY)
def test_a_declaration_is_complete(owner: type, declared: Declared) -> None:
    assert 0 < len(declared.param.description) < 70
    assert not declared.param.description.endswith(".")
    assert declared.accepts(value(declared)), f"the example of {declared.name} is refused"
    assert declared.required or declared.default is shoal.parameters.UNSET or declared.accepts(declared.default)


@pytest.mark.parametrize("owner", RECIPES)
def test_the_docstring_lists_every_field(owner: type) -> None:
    listed = (owner.__doc__ or "").partition("Attributes\n")[2].splitlines()
    assert [line.strip() for line in listed[1::2]] == [declared.name for declared in declarations(owner)]


@pytest.mark.parametrize("owner", RECIPES)
def test_faults_of_all_fields_are_collected(owner: type) -> None:
    wrong = {declared.name: object() for declared in declarations(owner) if declared.name != "require"}
    with pytest.raises(shoal.ParameterError) as refused:
        owner.from_dict({**BASE[owner.__name__], **wrong})
    sentences = str(refused.value).splitlines()
    assert len(sentences) == len(wrong)
    for name, sentence in zip(wrong, sentences, strict=True):
        assert name in sentence


@pytest.mark.parametrize(
    ("owner", "given", "sentences"),
    [
        (shoal.Recipe, {"k": 1, "identifier": ["age"]}, ["k must be an integer", "'age' is both identifier and quasi"]),
        (shoal.Recipe, {"t": 2, "n": 0, "weight": "pay"}, ["t must be", "n must be", "'pay' is both"]),
        (shoal.Recipe, {"k": 9, "require": {"k": 3}, "seed": -1}, ["seed must be", "k is set to 9 and required at 3"]),
        (shoal.Recipe, {"require": {"q": 1}, "n": 9}, ["n needs t", "no model is called 'q'"]),
        (shoal.StreamRecipe, {"max_rejected": 2, "delay": 1}, ["max_rejected must be", "delay must be at least"]),
        (shoal.StreamRecipe, {"k": 1, "delay": 1, "keep": ["age"]}, ["k must be", "keep names 'age'"]),
    ],
)  # fmt: skip
def test_a_refused_field_and_a_broken_rule_are_named_together(owner: type, given: dict, sentences: list[str]) -> None:
    with pytest.raises(shoal.ParameterError) as refused:
        owner.from_dict({**BASE[owner.__name__], **given})
    found = str(refused.value).splitlines()
    assert len(found) == len(sentences)
    for line, sentence in zip(found, sentences, strict=True):
        assert sentence in line


def test_numbers_of_numpy_lie_in_the_range_too() -> None:
    assert shoal.Recipe(quasi=["a"], k=np.int64(3)).to_dict()["k"] == 3
    with pytest.raises(shoal.ParameterError, match="k must be an integer ≥ 2, got a int64"):
        shoal.Recipe(quasi=["a"], k=np.int64(1))


class TestVersions:
    """A file without a version keeps its method and scaling; notes name what is safer now."""

    def test_method_and_scaling_are_written_in(self) -> None:
        recipe = shoal.Recipe.from_toml('quasi = ["a"]')
        assert (recipe.method, recipe.set, recipe.unset) == ("mdav", {"scale": "standard"}, {"k", "effort"})
        assert 'method = "mdav"' in recipe.to_toml()
        assert any("method = mdav is kept" in note for note in recipe.notes)
        assert any("scale = standard is kept" in note for note in recipe.notes)

    @pytest.mark.parametrize("more", ["t = 0.2", "require = {p = 2}"])
    def test_the_method_is_the_one_that_it_had(self, more: str) -> None:
        assert shoal.Recipe.from_toml(f'quasi = ["a"]\nconfidential = ["c"]\n{more}').method == "auto"

    def test_settings_of_the_file_stay(self) -> None:
        recipe = shoal.Recipe.from_toml('quasi = ["a"]\nmethod = "v_mdav"\nset = {scale = "range", gamma = 1}')
        assert (recipe.method, recipe.set) == ("v_mdav", {"scale": "range", "gamma": 1})
        assert not any("kept" in note for note in recipe.notes)

    @pytest.mark.parametrize(
        ("more", "settled", "word"),
        [
            ("", "exact_means = true", "exact_means"),
            ("", 'row_order = "keep"', "row_order"),
            ('weight = "w"', 'release_weight = "class"', "release_weight"),
            ('subject = "id"', "subject_exact = false", "subject_exact"),
            ('together = "home"', "subject_exact = false", "subject_exact"),
        ],
    )
    def test_a_note_names_each_safer_default_that_the_file_does_not_settle(
        self, more: str, settled: str, word: str
    ) -> None:
        text = f'quasi = ["a"]\n{more}\n'
        assert any(word in note for note in shoal.Recipe.from_toml(text).notes)
        assert not any(word in note for note in shoal.Recipe.from_toml(text + settled).notes)

    def test_epsilon_of_the_originals_has_no_scaling(self) -> None:
        text = 'quasi = ["a"]\nrelease = "laplace"\nepsilon = 1\nclaim = "original"\nmethod = "insensitive"'
        assert shoal.Recipe.from_toml(text).set == {}

    def test_a_version_is_enough_to_change_nothing(self) -> None:
        recipe = shoal.Recipe.from_toml('version = 1\nquasi = ["a"]')
        assert recipe == shoal.Recipe(quasi=["a"])
        assert recipe.notes == ()
        assert "version" not in recipe.to_dict()  # or fingerprints of earlier evidence would change

    def test_notes_reach_the_run(self) -> None:
        import pyarrow as pa

        recipe = shoal.Recipe.from_toml('quasi = ["x"]\nk = 2')
        done = shoal.protect(pa.table({"x": [3, 1, 2, 9]}), recipe)
        assert set(recipe.notes) <= set(done.notes)

    @pytest.mark.parametrize("owner", RECIPES)
    def test_a_newer_version_is_refused_before_its_fields(self, owner: type) -> None:
        with pytest.raises(shoal.ParameterError, match=r"version must be at most 1, got 2: a newer shoal"):
            owner.from_dict({"version": 2, "future": 1})


class TestJsonSchema:
    """The schema accepts what the recipe accepts, and refuses what a single field refuses."""

    @pytest.mark.parametrize("owner", RECIPES)
    def test_it_is_a_schema_that_accepts_every_example(self, owner: type) -> None:
        import jsonschema

        schema = shoal.recipe_schema(stream=owner is shoal.StreamRecipe)
        jsonschema.Draft7Validator.check_schema(schema)
        for declared in declarations(owner):
            jsonschema.validate({**BASE[owner.__name__], declared.name: value(declared)}, schema)

    def test_it_accepts_saved_recipes(self) -> None:
        import jsonschema

        schema = shoal.recipe_schema()
        jsonschema.validate(tomllib.loads(shoal.Recipe(quasi=["a"], text={"missing": ["-"]}).to_toml()), schema)

    @pytest.mark.parametrize(
        "right", [{"release_weight": True}, {"release_weight": False}, {"method": ""}, {"orders": {"a": [1, 2, 3]}}]
    )
    def test_it_accepts_what_the_recipe_accepts(self, right: dict) -> None:
        import jsonschema

        jsonschema.validate({"quasi": ["a"], **right}, shoal.recipe_schema())
        shoal.Recipe(quasi=["a"], **right)

    @pytest.mark.parametrize(("page", "text"), IN_DOCS)
    def test_it_accepts_the_recipes_of_every_page(self, page: str, text: str) -> None:
        import jsonschema

        said = json.loads(json.dumps(tomllib.loads(text), default=str))  # dates as JSON has them
        jsonschema.validate(said, shoal.recipe_schema(stream="delay" in said))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"k": 1}, {"t": 2}, {"quasi": "a"}, {"method": "mdva"}, {"kk": 1}, {"text": {"delimeter": ";"}},
            {"row_order": "random"}, {"blocks": ["a"]}, {"orders": {"a": "b"}},
        ],
    )  # fmt: skip
    def test_it_refuses(self, wrong: dict) -> None:
        import jsonschema

        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"quasi": ["a"], **wrong}, shoal.recipe_schema())

    def test_saved_recipes_refer_to_it(self, tmp_path: Path) -> None:
        shoal.save_recipe(shoal.Recipe(quasi=["a"]), tmp_path / "r.toml")
        lines = (tmp_path / "r.toml").read_text().splitlines()
        assert lines[:2] == ["#:schema ./shoal-recipe.schema.json", "version = 1"]
