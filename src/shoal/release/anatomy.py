"""Anatomy: two tables, unchanged quasi-identifiers and confidential columns, linked only by the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.parameters import Checked, Param
from shoal.release._taken_cells import refuse_values
from shoal.types import Column, Kind, Partition, Points, Release, Role, Schema, Table, with_columns
from shoal.types.protocols import Releaser


@dataclass(frozen=True)
class Anatomy(Checked, Releaser):
    """Quasi-identifiers unchanged, with the class number; confidential rows in a second table ([XT06]).

    Only the link between a record and its confidential row is removed, within the class. An attacker who identifies a
    person in the first table is left with the confidential rows of a class, at least k, all equally likely.

    **Guarantee.** The first table has all cells as written, except the confidential columns, and the class number of
    each record. The second has the whole confidential rows, grouped by class, in an order that depends on these rows
    only. Identifiers and subjects are removed. Classes are numbered in order of their first records: a number discloses
    only which records share a class.

    **Complexity.** O(n log n) for each confidential column.

    **Departures.** [XT06] form the classes so that their confidential values differ. Here any method forms them, on the
    quasi-identifiers, and diversity of values is a separate requirement. [XT06] write each value once per class, with
    its count; here each occurrence is a row, so that several confidential columns stay linked.
    Cited from memory.

    References: [XT06].

    >>> import pyarrow as pa
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)))
    >>> table = Table(pa.table({"age": [50, 30, 52, 31], "ill": ["ulcer", "none", "flu", "flu"]}), schema)
    >>> part = Partition.of(np.array([1, 0, 1, 0]), ["age"])
    >>> done = Anatomy().release(table, Points(np.zeros((4, 1)), ("age",)), part, None, np.random.default_rng(0))
    >>> done.data.to_pydict()
    {'age': [50, 30, 52, 31], 'class': [0, 1, 0, 1]}
    >>> done.apart.data.to_pydict()
    {'class': [0, 0, 1, 1], 'ill': ['flu', 'ulcer', 'flu', 'none']}
    """

    as_written: ClassVar[bool] = True
    guarantee: ClassVar[str] = "anatomy_k"
    two_tables: ClassVar[bool] = True
    fate: ClassVar[str] = "as it is"
    fate_of_confidential: ClassVar[str] = "in the second table"

    class_name: Annotated[str, Param("Name of the class column, in both tables.")] = "class"

    limits: ClassVar[str] = (  #: for the report: what to know beyond its privacy model
        "Quasi-identifiers are released unchanged: the people in the table are not hidden. If all confidential rows of "
        "a class share a value, it is known of everyone in it."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.class_name.strip():
            raise ParameterError("Anatomy: class_name must be the name of a column, got none. Give it a name.")

    def refuse(self, schema: Schema) -> None:
        """Refuse a table that cannot be split, before work is done on it."""
        if not schema.names(Role.CONFIDENTIAL):
            raise ParameterError(
                "Anatomy: there must be at least one confidential column, got none: it separates them from the "
                "quasi-identifiers. Name the columns to keep confidential, or choose another release."
            )
        if self.class_name.casefold() in (name.casefold() for name in schema.names()):
            raise ParameterError(
                f"Anatomy: class_name must be a new name, but a column is already called {self.class_name!r}. Give "
                "another with --set class_name=…, or rename the column."
            )

    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Split off the confidential columns."""
        self.refuse(table.schema)
        refuse_values(self, partition)
        if len(partition.blocks) > 1 or not partition.blocks[0].promised:
            raise ParameterError(
                "Anatomy: the method must form one partition, into classes of at least k records; this one does not. "
                "Choose another method, or another release."
            )
        numbers = _by_first_row(partition.labels)
        subjects = table.schema.names(Role.SUBJECT)
        kept = [c for c in table.schema.columns if c.role.leaves and c.role is not Role.CONFIDENTIAL]
        return Release(
            self._with_class(table.data.select([c.name for c in kept]), numbers, last=True),
            Schema((*kept, self._column)),
            table.dialect,
            table.data.column(subjects[0]) if subjects else None,
            origins=dict.fromkeys(table.schema.names(Role.QUASI), np.arange(len(table))),
            apart=self._apart(table, numbers),
            link=self.class_name,
        )

    def _apart(self, table: Table, numbers: NDArray[np.int64]) -> Release:
        """Return the second table: whole confidential rows, grouped by class."""
        names = list(table.schema.names(Role.CONFIDENTIAL))
        before = table.data.select(names)
        places = [_places(name, before.column(name)) for name in reversed(names)]
        order = np.lexsort((*places, numbers))
        rows = with_columns(before, {name: before.column(name).take(pa.array(order)) for name in names})
        return Release(
            self._with_class(rows, numbers[order], last=False),
            Schema((self._column, *(table.schema[name] for name in names))),
            table.dialect,
            origins=dict.fromkeys(names, order),
            original=before,
        )

    @property
    def _column(self) -> Column:
        return Column(self.class_name, Role.OTHER, Kind.INTEGER)

    def _with_class(self, data: pa.Table, numbers: NDArray[np.int64], *, last: bool) -> pa.Table:
        plain = with_columns(data, {})
        return plain.add_column(data.num_columns if last else 0, self.class_name, [numbers])


def _by_first_row(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class of each record, with classes numbered in order of their first records."""
    _, first, own = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[own], np.int64)


def _places(name: str, column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the rank of each cell among all distinct cells; a missing one comes last.

    Cells of equal rank must be the same cell, or the second table would keep the order of their records.
    """
    try:
        coded = _plain(column).combine_chunks().dictionary_encode(null_encoding="mask")
        found = coded.dictionary
        if pa.types.is_floating(found.type):  # 0 and −0 are equal, but not the same cell
            values = found.to_numpy(zero_copy_only=False)
            order = np.lexsort((np.signbit(values), values))
        else:
            order = pc.array_sort_indices(found).to_numpy()
    except pa.ArrowException:  # its message may contain a cell value
        raise DataError(
            f"Column {name!r}: rows cannot be sorted by {column.type}. Convert it to text, or give it another role."
        ) from None
    places = np.empty(len(order) + 1, np.int64)
    places[order], places[-1] = np.arange(len(order)), len(order)
    return np.asarray(places[coded.indices.fill_null(len(order)).to_numpy()])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells of a type that can be sorted."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(column.cast(kind.storage_type))
    if pa.types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    return column.cast(pa.large_string()) if pa.types.is_string_view(kind) else column
