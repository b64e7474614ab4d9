"""Types of the fields of a recipe as arguments: a list serves where the recipe holds a tuple.

Type checkers and editors read these; a test compares them with the declarations in `fields.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

Names = Sequence[str]
Table = Mapping[str, Any]


class _Optional(TypedDict, total=False):
    version: int
    confidential: Names
    identifier: Names
    strata: Names
    subject: str | None
    subject_exact: bool
    weight: str | None
    together: str | None
    household_level: Names
    require: Table
    method: str | None
    release: str
    set: Table
    kinds: Table
    taxonomies: Mapping[str, Mapping[str, Any] | str]
    orders: Mapping[str, Sequence[Any]]
    attribute_weights: Mapping[str, float]
    when_missing: str
    small_strata: str
    blocks: Sequence[Names]
    steer: Sequence[Table]
    text: Table
    seed: int
    release_weight: str | bool
    resolution: Mapping[str, float | str]
    exact_means: bool
    row_order: str
    reviewed: Names


class _Levels(_Optional, total=False):
    k: int
    t: float | None
    n: int | None
    refine: str | None
    epsilon: float | Mapping[str, float] | None
    bounds: Mapping[str, Sequence[float]] | str
    claim: str


class RecipeArguments(_Levels):
    """Arguments of :class:`shoal.Recipe`."""

    quasi: Names


class Changes(_Levels, total=False):
    """Fields given by name, alone or beside a recipe."""

    quasi: Names


class FixedFields(_Optional, total=False):
    """Fields given by name to :func:`shoal.explore`, whose own arguments say what varies."""

    quasi: Names
    n: int | None
