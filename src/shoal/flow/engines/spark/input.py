"""Input of the Spark engine: rows of a DataFrame as a table with roles, on any worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from shoal.errors import SchemaError, listing, raise_all
from shoal.flow.engines.blockwise.facts import STRATUM, Facts, complete
from shoal.flow.engines.spark.frames import PREFIX, RECORDS, Rows, arrow_schema, over, unpacked
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.schema.kinds import kind_of_field
from shoal.schema.roles import schema_from
from shoal.types import Role, Schema, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

T = TypeVar("T")


@dataclass(frozen=True)
class Input:
    """The columns of a DataFrame, and what they mean."""

    schema: Schema
    arrow: pa.Schema
    recipe: Recipe

    def table(self, data: pa.Table) -> Table:
        """Return the released records of a part of the DataFrame."""
        table = Table(data.select(self.arrow.names).cast(self.arrow), self.schema)
        whole = complete(table, self.recipe)
        return table if whole is None else table.rows(np.flatnonzero(whole))


def input_of(frame: DataFrame, recipe: Recipe) -> Input:
    """Return the columns of a DataFrame with their roles and kinds.

    Raises
    ------
    SchemaError
        If the recipe names a column that the DataFrame does not have, or a column has a reserved or duplicate name.
    """
    arrow, names = arrow_schema(frame), frame.columns
    reserved = [repr(name) for name in names if name.startswith(PREFIX)]
    twice = sorted({repr(name) for name in names if [one.lower() for one in names].count(name.lower()) > 1})
    faults = [unknown("Schema", "column", n, names) for n in recipe.reviewed if n not in names]
    if reserved:
        faults.append(
            f"DataFrame: names of columns must not begin with {PREFIX}, got {listing(reserved)}. Rename them."
        )
    if twice:
        faults.append(f"DataFrame: names of columns must differ by more than case, got {listing(twice)}. Rename them.")
    raise_all(SchemaError, faults)
    schema = schema_from(
        arrow,
        lambda name: kind_of_field(arrow.field(name), lambda: False),
        recipe.roles,
        recipe.kinds,
        taxonomies=recipe.taxonomies,
        orders=recipe.orders,
    )
    return Input(schema, arrow, recipe)


@dataclass(frozen=True)
class StoredRecords:
    """The records of a DataFrame, or of one stratum, as they are stored; part of the closures that workers run.

    Attributes
    ----------
    input, facts
        The columns of the DataFrame, and what all records together say about them.
    strata
        The numbers of some strata; None: all records.
    """

    input: Input
    facts: Facts
    strata: frozenset[int] | None = None

    @property
    def kept(self) -> list[str]:
        """The columns that are stored as they are."""
        return [one.name for one in self.input.schema.columns if one.role.leaves and one.role is not Role.QUASI]

    def of(self, data: pa.Table) -> pa.Table | None:
        """Return stored columns, and the columns that are released unchanged; None: there are no records."""
        table = self.input.table(data)
        if not len(table):
            return None
        stored = {**{name: table.data.column(name) for name in self.kept}, **self.facts.stored(table)}
        found = pa.table(stored)
        if self.strata is not None:
            found = found.filter(pa.array(np.isin(found.column(STRATUM).to_numpy(), list(self.strata))))
        return found if found.num_rows else None

    def over(self, rows: Rows, work: Callable[[pa.Table], T]) -> list[T]:
        """Return what a function returns for the stored records of each part of the packed rows of the input."""

        def one(table: pa.Table) -> list[T]:
            stored = self.of(unpacked(table.column(RECORDS)))
            return [] if stored is None else [work(stored)]

        return [found for part in over(rows, one) for found in part]
