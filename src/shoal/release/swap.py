"""Swap: the values of quasi-identifiers change places at random within each class; each column keeps its values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.release._taken import refuse_values, taken
from shoal.types import Partition, Points, Release, Table


@dataclass(frozen=True)
class Swap(Checked):
    """Quasi-identifiers permuted at random within each class: probabilistic k-anonymity ([SD12]).

    A record leaves with the values of some record of its class, each of them with the same chance. So who knows
    somebody's quasi-identifiers, and finds out the class, picks the right record with a chance of at most 1 in k.

    **Guarantee.** Every column has in every class the values that it had there, cell by cell as they were written,
    in another order; with `together` every combination, too. What is not a quasi-identifier is unchanged; identifiers
    and subjects are gone; rows and columns keep their order. Same table, same seed → same result.

    **Complexity.** O(n log n) for each block, or each attribute.

    **Departures.** The order comes from a cryptographic function of the seed and of all quasi-identifiers as they were.
    A generator started from the seed alone could be run again by everybody who knows the seed, and the classes can
    often be found again in what leaves: the permutation would be undone. [SD12] is cited from memory.

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

    together: Annotated[bool, Param("Swap whole combinations of quasi-identifiers; else each of them on its own.")] = (
        False
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
        secret = hashlib.sha256(rng.bytes(32) + np.ascontiguousarray(points.coordinates).tobytes()).digest()
        rows: dict[str, NDArray[np.int64]] = {}
        classes: dict[str, NDArray[np.int64]] = {}
        for number, block in enumerate(partition.blocks):
            once = permuted(block.labels, secret, f"block {number}") if self.together else None
            for name in block.attributes:
                rows[name] = permuted(block.labels, secret, f"attribute {name}") if once is None else once
                classes[name] = block.labels
        return taken(table, rows, classes)


def permuted(labels: NDArray[np.int64], secret: bytes, what: str) -> NDArray[np.int64]:
    """Return for each record a record of its class, each exactly once: all orders are equally likely."""
    n = len(labels)
    drawn = np.frombuffer(hashlib.shake_256(secret + what.encode()).digest(8 * n), "<u8")
    found = np.empty(n, np.int64)
    found[np.argsort(labels, kind="stable")] = np.lexsort((drawn, labels))  # class after class in both
    return found
