"""What mypy says of programs that use or extend shoal, and argument types against the declarations of the fields."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from shoal.parameters import alternatives, declarations
from shoal.recipe.fields import RecipeFields
from shoal.recipe.recipe import Changes, FixedFields, RecipeArguments
from shoal.stream.recipe.fields import StreamFields
from shoal.stream.recipe.recipe import StreamArguments

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

CONTRIBUTED = """
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner, Source


@dataclass(frozen=True)
class Right(Checked, Partitioner):
    promises_k: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        return Partition.of(np.zeros(len(points), np.int64))


@dataclass(frozen=True)
class Wrong(Checked, Partitioner):
    promises_k: ClassVar[str] = "yes"  # refused: Incompatible types in assignment

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

    def partition(self, points: Points) -> Partition:  # refused: Signature of "partition" incompatible with supertype
        return Partition.of(np.zeros(len(points), np.int64))


@dataclass(frozen=True)
class Incomplete(Checked, Partitioner):
    k: int


class Unread(Source):
    def read(self, at: str) -> str:  # refused: Signature of "read" incompatible with supertype
        return at


Right(k=2)
Incomplete(k=2)  # refused: Cannot instantiate abstract class "Incomplete"
"""


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


def test_mypy_accepts_lists_and_contributions_and_names_misuse(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = ACCEPTED + "".join(f"{line}  # refused: {sentence}\n" for line, sentence in REFUSED.items()) + CONTRIBUTED
    said = mypy(tmp_path, program).splitlines()
    for number, line in enumerate(program.splitlines(), 1):
        found = [one for one in said if one.startswith(f"program.py:{number}: error")]
        _, refused, sentence = line.partition("  # refused: ")
        assert any(sentence in one for one in found) if refused else not found, (line, found)


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

    own = set(inspect.unwrap(shoal.explore).__kwdefaults__)
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
