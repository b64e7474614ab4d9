"""Options of commands are generated from the declarations of a recipe's fields, in groups."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from shoal.parameters import declarations
from shoal.recipe.fields import COLUMNS, METHOD, OUTPUT, PRIVACY, TEXT, RecipeFields, TextFormat


def sections(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w[\w ]*):\n(.*?)(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("command", ["protect", "audit", "attack", "compare", "explore", "inspect"])
def test_groups_of_options_are_in_the_order_of_decisions(command: str, run: Callable) -> None:
    from shoal.cli import HEADINGS

    heads = [line[:-1] for line in run(command, "-h").out.splitlines() if line[:1].isupper() and line.endswith(":")]
    assert heads == [*(one for one in HEADINGS if one in heads), "Options"]


def test_the_receipt_is_written_by_protect_only(run: Callable) -> None:
    for command, group in (("protect", "Output:"), ("attack", "Options:"), ("compare", "Options:")):
        before = run(command, "-h").out.partition("--receipt R.json")[0]
        assert [line for line in before.splitlines() if line[:1].isupper()][-1] == group


def test_every_field_is_an_option_of_protect_below_its_group(run: Callable) -> None:
    found = sections(run("protect", "--help").out)
    for declared in (*declarations(RecipeFields), *declarations(TextFormat)):
        if declared.param.group:
            option = declared.param.option or f"--{declared.name.replace('_', '-')}"
            assert f"{option} " in found[declared.param.group], declared.name
    assert list(found) == ["Arguments", COLUMNS, PRIVACY, METHOD, OUTPUT, TEXT, "Machine", "Options"]


@pytest.mark.parametrize("command", ["explore", "audit", "inspect", "compare"])
def test_other_commands_have_the_same_words(run: Callable, command: str) -> None:
    found = " ".join(run(command, "--help").out.split())
    shared = [one for one in declarations(TextFormat) if f"--{one.name}" in found]
    assert len(shared) == len(declarations(TextFormat))
    assert all(one.param.description in found for one in shared)


def test_zero_is_typed_and_not_left_out(run: Callable) -> None:
    ran = run("protect", "in.csv", "-o", "out.csv", "--quasi", "a", "--k", "0")
    assert (ran.code, "k must be an integer ≥ 2, got 0" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--k", "five"), "--k: must be an integer, got 'five'. Correct it."),
        (("--k", "2.5"), "--k: must be an integer, got '2.5'. Correct it."),
        (("--t", "0,2"), "--t: must be a number, got '0,2'. Correct it."),
    ],
)
def test_a_number_that_is_none_is_shown(run: Callable, typed: tuple[str, str], said: str) -> None:
    ran = run("protect", "no.csv", "-o", "out.csv", "--quasi", "a", *typed)
    assert (ran.code, ran.err) == (2, f"shoal: {said}\n")
