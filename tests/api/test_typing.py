"""What mypy says of programs that use shoal, and the argument types against the declarations of the fields."""

from __future__ import annotations

import subprocess
import sys
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from shoal.parameters import alternatives, declarations
from shoal.recipe.arguments import Changes, FixedFields, RecipeArguments
from shoal.recipe.fields import RecipeFields
from shoal.stream.recipe.arguments import StreamArguments
from shoal.stream.recipe.fields import StreamFields

ACCEPTED = """
from typing import Any
import shoal

def run(df: Any) -> None:
    recipe = shoal.Recipe(quasi=["age"], blocks=[["age"], ["pay"]], steer=[{"by": "position"}])
    names: tuple[str, ...] = recipe.override(k=3, quasi=["pay"]).quasi
    done: shoal.Protected = shoal.protect(df, quasi=["age"], k=5)
    shoal.protect("in.csv", recipe, output="out.csv", t=0.2, confidential=list(names))
    shoal.plan(df, quasi=["age"])
    found: shoal.Explored = shoal.explore(df, quasi=["age"], k=[3, 5], seed=1)
    k: int | None = shoal.audit("in.csv", ["age"]).to_dict()["k"]
    shoal.StreamRecipe(quasi=["age"], bounds={"age": [0, 120]}, k=10, delay=100)
"""
REFUSED = {
    'shoal.protect(1, qausi=["age"])': 'Unexpected keyword argument "qausi"',
    'shoal.protect(1, quasi=["age"], k="five")': 'Argument "k" to "protect" has incompatible type "str"',
    "shoal.Recipe(k=5)": 'Missing named argument "quasi"',
    "shoal.Recipe(quasi=[1])": "List item 0 has incompatible type",
    "shoal.protekt(1)": 'Module has no attribute "protekt"',
}


def mypy(folder: Path, program: str) -> str:
    (folder / "program.py").write_text(program)
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ran.stderr, ran.stderr
    return ran.stdout


def test_mypy_accepts_lists_and_names_misuse(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    first = len(ACCEPTED.splitlines()) + 1
    said = mypy(tmp_path, ACCEPTED + "".join(f"{line}\n" for line in REFUSED)).splitlines()
    assert all(int(line.split(":")[1]) >= first for line in said), said
    for number, (line, sentence) in enumerate(REFUSED.items(), first):
        found = [one for one in said if one.startswith(f"program.py:{number}: error")]
        assert any(sentence in one for one in found), (line, found)


@pytest.mark.parametrize(
    ("arguments", "of"), [(RecipeArguments, RecipeFields), (Changes, RecipeFields), (StreamArguments, StreamFields)]
)
def test_arguments_are_the_declared_fields(arguments: type, of: type) -> None:
    types = typing.get_type_hints(arguments)
    assert types.keys() == {one.name for one in declarations(of)}
    for one in declarations(of):
        given = {_as_argument(kind) for kind in alternatives(one.kind)}
        assert given <= set(alternatives(types[one.name])), one.name
        more = set(alternatives(types[one.name])) - given
        assert more <= {type(short) for short, _ in one.param.short}, one.name


@pytest.mark.parametrize(("arguments", "of"), [(RecipeArguments, RecipeFields), (StreamArguments, StreamFields)])
def test_required_arguments_are_the_required_fields(arguments: typing.Any, of: type) -> None:
    assert arguments.__required_keys__ == {one.name for one in declarations(of) if one.required}


def test_fields_beside_what_explore_varies() -> None:
    import shoal

    own = set(shoal.explore.__kwdefaults__)
    assert Changes.__annotations__.keys() - FixedFields.__annotations__.keys() == {
        name for name in Changes.__annotations__ if name in own
    }
    assert not Changes.__required_keys__
    assert not FixedFields.__required_keys__


def _as_argument(kind: typing.Any) -> typing.Any:
    """Return the type that an argument has where the field has a type: any sequence for a tuple."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return Sequence[_as_argument(inner[0])]
    if origin is Mapping:
        return Mapping[inner[0], _as_argument(inner[1])]  # type: ignore[misc]
    return kind
