"""Every setting of a recipe is declared once, completely, and everything else follows from the declaration."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

import shoal
from shoal.parameters import Declared, declarations
from shoal.recipe.fields import TextFormat

RECIPES = [shoal.Recipe]
EVERY = [
    pytest.param(owner, declared, id=f"{owner.__name__}.{declared.name}")
    for owner in (*RECIPES, TextFormat)
    for declared in declarations(owner)
]
BASE = {
    "Recipe": {"quasi": ["age", "income"], "confidential": ["health", "pay"]},
    "StreamRecipe": {"quasi": ["age"], "bounds": {"age": [0, 99]}, "k": 3, "delay": 9, "confidential": ["ill"]},
}


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


def test_numbers_of_numpy_lie_in_the_range_too() -> None:
    assert shoal.Recipe(quasi=["a"], k=np.int64(3)).to_dict()["k"] == 3
    with pytest.raises(shoal.ParameterError, match="k must be an integer ≥ 2, got a int64"):
        shoal.Recipe(quasi=["a"], k=np.int64(1))
