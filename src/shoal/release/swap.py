"""Swap: values of quasi-identifiers permuted at random within each class; each column keeps its values."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import secret
from shoal.parameters import Checked, Param
from shoal.release._taken_cells import refuse_values, taken
from shoal.types import Partition, Points, Release, Table
from shoal.types.protocols import Releaser

_KEY = 32  # bytes


@dataclass(frozen=True)
class Swap(Checked, Releaser):
    """Quasi-identifiers permuted at random within each class: probabilistic k-anonymity ([SD12]).

    A record is released with the values of some record of its class, each with the same probability. So an attacker who
    knows a person's quasi-identifiers, and finds out the class, picks the right record with probability at most 1 in k.

    **Guarantee.** Every column has in every class the values that it had there, cell by cell as written, in another
    order; with `together`, every combination too. Other columns are unchanged; identifiers and subjects are removed;
    rows and columns keep their order. All permutations are equally likely: the cells of a class are sorted as written
    and then dealt to its records by a secret key from the operating system. So two tables that differ only in which
    member of a class had which values give the same release under the same key.

    **Complexity.** O(n log n) for each block, or each attribute.

    **Departures.** The random numbers are SHAKE-256 of the key; how many each class takes depends on the class sizes
    only. `not_private_seed` derives the key from a number, for tests: anyone can then undo the release, and nothing is
    promised. [SD12] is cited from memory.

    References: [SD12].

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> table = Table(pa.table({"age": [30, 31, 50, 52]}), Schema((Column("age", Role.QUASI, Kind.INTEGER),)))
    >>> points = Points(np.array([[30.0], [31.0], [50.0], [52.0]]), ("age",))
    >>> part = Partition.of(np.array([0, 0, 1, 1]), ["age"])
    >>> swapped = Swap().release(table, points, part, None, np.random.default_rng(0)).data["age"].to_pylist()
    >>> sorted(swapped[:2]), sorted(swapped[2:])
    ([30, 31], [50, 52])
    """

    as_written: ClassVar[bool] = True
    guarantee: ClassVar[str] = "probabilistic_k_anonymity"
    fate: ClassVar[str] = "swapped within its class"
    deals_by_key: ClassVar[bool] = True

    together: Annotated[bool, Param("Swap whole combinations of quasi-identifiers; else each of them on its own.")] = (
        False
    )
    not_private_seed: Annotated[
        int | None, Param("For tests: derive the key from this number. The release is NOT private then.", low=0)
    ] = None
    key: bytes | None = field(default=None, repr=False)  #: of an earlier run that is repeated; not a parameter

    limits: ClassVar[str] = (  #: for the report: what to know beyond its privacy model
        "Every column keeps its values, including rare ones, and anyone who finds an individual's class sees its "
        "confidential values. The receipt of the run reverses the swap: keep it private."
    )

    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Permute the quasi-identifiers within each class."""
        refuse_values(self, partition)
        key = self._key()
        rows: dict[str, NDArray[np.int64]] = {}
        classes: dict[str, NDArray[np.int64]] = {}
        for number, block in enumerate(partition.blocks):
            ranks = {name: ranks_as_written(table.data.column(name)) for name in block.attributes}
            once = dealt(block.labels, _joined(list(ranks.values())), key, f"block {number}") if self.together else None
            for name in block.attributes:
                rows[name] = dealt(block.labels, ranks[name], key, f"attribute {name}") if once is None else once
                classes[name] = block.labels
        return replace(taken(table, rows, classes), swap_key=None if self.not_private_seed is not None else key)

    def _key(self) -> bytes:
        if self.not_private_seed is not None:
            return hashlib.sha256(f"not private: {self.not_private_seed}".encode()).digest()
        return secret.fresh(_KEY) if self.key is None else self.key


def dealt(labels: NDArray[np.int64], ranks: NDArray[np.int64], key: bytes, what: str) -> NDArray[np.int64]:
    """Return for each record the record of its class whose cell it gets, each exactly once.

    The cells of a class are taken in the order of their ranks, so it does not matter which record had which. Classes
    are processed in the order of their first records.

    >>> labels, one, other = np.array([4, 4, 4]), np.array([2, 0, 1]), np.array([0, 2, 1])
    >>> [ranks[dealt(labels, ranks, b"key", "age")].tolist() for ranks in (one, other)]
    [[0, 1, 2], [0, 1, 2]]
    """
    _, first, own = np.unique(labels, return_index=True, return_inverse=True)
    own = np.argsort(np.argsort(first))[own]
    records = np.argsort(own, kind="stable")  # grouped by class
    drawn = np.frombuffer(hashlib.shake_256(key + what.encode()).digest(8 * len(labels)), "<u8")
    order = np.lexsort((drawn, own[records]))  # all orders within a class are equally likely
    found = np.empty(len(labels), np.int64)
    found[records] = np.lexsort((ranks, own))[order]
    return found


def ranks_as_written(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the rank of each cell among all cells of a column, a missing one last.

    Text cells are ordered by their characters, others by their bits. So cells have the same rank if and only if they
    are written the same: 1 and 1.0 have different ranks as text, 0 and −0 as numbers.

    >>> import pyarrow as pa
    >>> ranks_as_written(pa.chunked_array([["1.0", "1", None, "1"]])).tolist()
    [1, 0, 2, 0]
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    cells = column.combine_chunks()
    cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    bits = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    if pa.types.is_primitive(cells.type) and cells.type.bit_width in bits:
        found, ranks = np.unique(cells.view(bits[cells.type.bit_width]).fill_null(0).to_numpy(), return_inverse=True)
    else:
        encoded = pc.dictionary_encode(_text(cells), null_encoding="mask")
        found, order = encoded.dictionary, pc.array_sort_indices(encoded.dictionary).to_numpy()
        ranks = (
            np.argsort(order)[encoded.indices.fill_null(0).to_numpy()] if len(found) else np.zeros(len(cells), np.int64)
        )
    return np.where(cells.is_valid().to_numpy(zero_copy_only=False), ranks, len(found)).astype(np.int64)


def _text(cells: pa.Array) -> pa.Array:
    """Return cells as text; those that Arrow cannot convert, as Python writes them."""
    try:
        return cells.cast(pa.large_string())
    except pa.ArrowException:
        return pa.array([None if value is None else repr(value) for value in cells.to_pylist()], pa.large_string())


def _joined(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the rank of each record among all combinations of several ranks."""
    found = columns[0]
    for ranks in columns[1:]:
        found = np.unique(found * (int(ranks.max(initial=0)) + 1) + ranks, return_inverse=True)[1]
    return found
