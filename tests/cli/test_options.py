"""Options of commands are generated from the declarations of a recipe's fields, in groups."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from shoal.parameters import declarations
from shoal.recipe.fields import COLUMNS, METHOD, OUTPUT, PRIVACY, TEXT, RecipeFields, TextFormat


def sections(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w[\w ]*):\n(.*?)(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL))


def test_every_field_is_an_option_of_protect_below_its_group(run: Callable) -> None:
    found = sections(run("protect", "--help").out)
    for declared in (*declarations(RecipeFields), *declarations(TextFormat)):
        if declared.param.group:
            option = declared.param.option or f"--{declared.name.replace('_', '-')}"
            assert f"{option} " in found[declared.param.group], declared.name
    assert list(found) == ["Arguments", OUTPUT, COLUMNS, PRIVACY, METHOD, TEXT, "Machine", "Options"]


@pytest.mark.parametrize("command", ["explore", "audit", "inspect", "compare"])
def test_other_commands_have_the_same_words(run: Callable, command: str) -> None:
    found = " ".join(run(command, "--help").out.split())
    shared = [one for one in declarations(TextFormat) if f"--{one.name}" in found]
    assert len(shared) == len(declarations(TextFormat))
    assert all(one.param.description in found for one in shared)


def test_zero_is_typed_and_not_left_out(run: Callable) -> None:
    ran = run("protect", "in.csv", "-o", "out.csv", "--quasi", "a", "--k", "0")
    assert (ran.code, "k must be an integer ≥ 2, got 0" in ran.err) == (2, True)
