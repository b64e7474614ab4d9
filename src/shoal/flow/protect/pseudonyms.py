"""Pseudonyms: random names of people in a release, that cannot be linked to their identities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import secret
from shoal.recipe.recipe import Recipe
from shoal.types import Column, Kind, Release, Role, Schema, Table

_NOTE = (
    "Pseudonyms show which records belong to one person: values that are released unchanged are linked across these "
    "records, too. Every run draws new ones."
)


def pseudonyms(people: NDArray[np.int64]) -> pa.Array:
    """Return a random name for each record, the same for all records of a person: p and 16 hexadecimal digits.

    The names come from the operating system's randomness. People are numbered by their first row, so that names do not
    depend on who they are; and as the names are random, they do not reveal that order either.

    >>> made = pseudonyms(np.array([0, 1, 0]))
    >>> made[0] == made[2], made[0] == made[1], len(made[0].as_py())
    (True, False, 17)
    """
    _, first, own = np.unique(people, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[own.reshape(-1)]
    key, names, tried = secret.fresh(), np.empty(0, np.uint64), 0
    while len(np.unique(names)) < len(first):  # two equal numbers are almost impossible
        names, tried = secret.stream(key, f"pseudonyms {tried}", len(first)), tried + 1
    return pa.array([f"p{name:016x}" for name in names.tolist()], pa.string()).take(pa.array(place))


def with_pseudonyms(release: Release, table: Table, recipe: Recipe, people: NDArray[np.int64] | None) -> Release:
    """Return a release with pseudonyms in the place of the subject, if the recipe asks for them."""
    name = recipe.pseudonym
    if name is None or people is None:
        return release
    there = set(release.data.column_names)
    at = sum(one in there for one in table.data.column_names[: table.data.column_names.index(name)])
    data = release.data.add_column(at, pa.field(name, pa.string()), pa.chunked_array([pseudonyms(people)]))
    columns = {one.name: one for one in (*release.schema.columns, Column(name, Role.SUBJECT, Kind.NOMINAL))}
    return replace(release, data=data, schema=Schema(tuple(columns[one] for one in data.column_names)))


def note_on_pseudonyms(recipe: Recipe) -> tuple[str, ...]:
    """Return what a publisher of pseudonyms must know."""
    return () if recipe.pseudonym is None else (_NOTE,)
