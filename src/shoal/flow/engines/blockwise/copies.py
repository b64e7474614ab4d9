"""Copies of a vector: whether records with equal coordinates share a class, however many blocks hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.stages.row_digests import row_digests
from shoal.types import Coded, changes, sort_keys


class Copies(NamedTuple):
    """The state after a round: all copies of a vector begin in one block, and later rounds may move some of them.

    Attributes
    ----------
    parted
        Digests of the vectors whose copies were in several classes after this or an earlier round.
    together
        Whether the copies of every vector share a class now.
    """

    parted: NDArray[np.uint64] = np.empty(0, np.uint64)
    together: bool = True

    @classmethod
    def after(cls, found: Sequence[NDArray[np.uint64]]) -> Copies:
        """Return what is known after a round, given what `holders` found in each block."""
        every = np.concatenate([*found, cls().parted])
        parted = np.unique(every)
        return cls(parted, len(parted) == len(every))


def holders(
    x: NDArray[np.float64] | Coded, labels: NDArray[np.int64], parted: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return the digest of each vector that is or was parted, once for each class of a block that holds copies of it.

    The records are in order of value.
    """
    differs = changes(x)
    crosses = ~differs & (labels[1:] != labels[:-1])
    if not len(parted) and not crosses.any():
        return np.empty(0, np.uint64)
    first = np.flatnonzero(np.concatenate(([True], differs)))
    cells = {str(at): np.asarray(key[first], np.float64) + 0.0 for at, key in enumerate(sort_keys(x))}  # no -0.0
    digests = row_digests(pa.table(cells), list(cells))
    vector = np.cumsum(np.concatenate(([0], differs)))
    wanted = np.isin(digests, parted)
    wanted[vector[1:][crosses]] = True
    inside = wanted[vector]
    pairs = np.unique(np.column_stack((vector[inside], labels[inside])), axis=0)
    return np.asarray(digests[pairs[:, 0]])
