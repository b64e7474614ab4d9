"""Types of the fields of a stream recipe as arguments: a list serves where the recipe holds a tuple.

Type checkers and editors read these; a test compares them with the declarations in `fields.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from shoal.recipe.arguments import Names, Table


class _Optional(TypedDict, total=False):
    version: int
    bounds: Mapping[str, Sequence[Any]]
    delay_seconds: float | None
    order_weight: float | str
    subject: str | None
    subject_exact: bool
    identifier: Names
    confidential: Names
    kinds: Table
    orders: Mapping[str, Sequence[Any]]
    categories: Mapping[str, Sequence[Any]]
    taxonomies: Mapping[str, Mapping[str, Any] | str]
    attribute_weights: Mapping[str, float]
    resolution: Mapping[str, float | str]
    exact_means: bool
    round_integers: bool | None
    method: str
    set: Table
    require: Table
    t: float | None
    reference: Table
    class_field: str
    when_missing: str
    keep: Names | None
    unknown: str
    max_rejected: float


class StreamArguments(_Optional):
    """Arguments of :class:`shoal.StreamRecipe`."""

    quasi: Names
    k: int
    delay: int
