"""What left a stream in one step, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.stream._bodies import Bodies
from shoal.stream._columns import UNFIT
from shoal.wire.fields import put

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Released:
    """Tuples that left, class after class, in the order in which they came in each.

    Attributes
    ----------
    positions
        Their numbers in the stream, from 0.
    classes
        The number of each one's class, from 0.
    values
        For each quasi-identifier what stands for each class that formed.
    """

    positions: NDArray[np.int64] = field(repr=False)
    sizes: NDArray[np.int64] = field(repr=False)
    first: int
    values: Mapping[str, Sequence[Any]] = field(repr=False)
    class_field: str
    bodies: tuple[Bodies, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The number of each tuple's class."""
        return self._of + self.first

    @cached_property
    def _of(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the tuples as they leave."""
        found: list[dict[str, Any]] = [{}] * len(self)
        for bodies in self.bodies:
            rows, at = bodies.find(self.positions)
            for row, body in zip(rows.tolist(), bodies.rows(at), strict=True):
                found[row] = dict(body)
        for tuple_, own in zip(found, self._of.tolist(), strict=True):
            for name, values in self.values.items():
                if "." not in name or not put(tuple_, name, values[own]):
                    tuple_[name] = values[own]
            tuple_[self.class_field] = self.first + own
        return found

    def to_table(self) -> pa.Table:
        """Return the tuples as they leave as a table of Arrow; a field that some tuples lack is null there.

        Raises
        ------
        SchemaError
            If a field mixes what no column can hold; `to_pylist` returns it all the same.
        """
        try:
            return self._table()
        except UNFIT:  # whose message may hold a cell
            raise SchemaError(
                "Released: a field mixes what no column can hold. Take to_pylist(), or push values of one type."
            ) from None

    def _table(self) -> pa.Table:
        import pyarrow as pa

        if any("." in name for name in self.values) and any(isinstance(bodies.rest, list) for bodies in self.bodies):
            rows = self.to_pylist()
            names = list(dict.fromkeys(name for row in rows for name in row))
            return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
        where = [bodies.find(self.positions) for bodies in self.bodies]
        parts = [bodies.table(at) for bodies, (_, at) in zip(self.bodies, where, strict=True)]
        names = [name for b, part in zip(self.bodies, parts, strict=True) for name in b.names or part.column_names]
        fresh = {name: pa.array(values).take(self._of) for name, values in self.values.items()}
        fresh[self.class_field] = pa.array(self.classes)
        rest = pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})
        back = np.argsort(np.concatenate([rows for rows, _ in where])) if where else np.empty(0, np.int64)
        return pa.table(
            {n: fresh[n] if n in fresh else rest.column(n).take(back) for n in dict.fromkeys([*names, *fresh])}
        )
