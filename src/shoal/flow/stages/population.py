"""Population: the people that a table's records were drawn from, for the audits that count them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shoal.errors import DataError, SchemaError, listing, raise_all
from shoal.flow.stages.read import is_textual, open_source
from shoal.flow.stages.values import as_values
from shoal.locations import Place
from shoal.types import Dialect, Schema, Table


@dataclass(frozen=True, eq=False)
class Population:
    """A table of the population, as it was read."""

    data: pa.Table = field(repr=False)
    dialect: Dialect | None = None

    def __len__(self) -> int:
        """Return the number of records."""
        return int(self.data.num_rows)

    def parsed(self, schema: Schema, names: Sequence[str]) -> pa.Table:
        """Return quasi-identifiers and strata of the population, parsed by the kinds of the table that is audited."""
        if lacking := [name for name in names if name not in self.data.column_names]:
            raise SchemaError(
                "Population: must have every quasi-identifier and stratum, "
                f"{listing([repr(name) for name in lacking])} {'is' if len(lacking) == 1 else 'are'} missing. Give "
                "a file that has them, or leave out --population."
            )
        columns = Schema(tuple(schema[name] for name in names))
        table = Table(self.data.select(list(names)), columns, self.dialect)
        found, faults = {}, []
        for name in names:
            try:
                found[name] = as_values(name, table)
            except DataError as error:
                faults += [f"Population: {sentence}" for sentence in error.sentences or [str(error)]]
        raise_all(DataError, faults)
        return pa.table(found)

    def refuse_smaller_than(self, members: int, what: str = "") -> None:
        """Refuse a population with fewer records than the table has members: it cannot contain everyone in it."""
        if len(self) < members:
            raise DataError(
                f"Population: must contain everyone in the table, got {len(self):,} records for a table of "
                f"{members:,}{what}. Give the file that the table was drawn from."
            )


def read_population(given: Any, text: Mapping[str, Any]) -> Population:
    """Read a population: a place, whose text is written as that of the table, or a frame."""
    if isinstance(given, Place):
        return Population(*open_source(given, text if is_textual(given) else {}).read(given.at))
    from shoal.io.sources.frame import Frame

    return Population(Frame().read(given)[0])
