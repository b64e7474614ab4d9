"""Whether rows stand in the order of a column: then their order gives away what a second table keeps apart."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counting.classes import comparable
from shoal.privacy.counting.values import normal
from shoal.types import Column, called

if TYPE_CHECKING:
    import pyarrow as pa


_BY_CHANCE = log(1e-6)  # less likely than this, it is none


def follows(column: Column, cells: pa.ChunkedArray, owner: NDArray[np.int64]) -> bool:
    """Tell whether the values of a column rise in every class, or fall in every class, and not by chance.

    By chance they do so, if each order within a class is as likely as any other, once in as many times as there are
    orders of all classes. More than one in a million is taken for chance. Missing values are left out.

    >>> import pyarrow as pa
    >>> from shoal.types import Kind, Role
    >>> pay, classes = Column("pay", Role.CONFIDENTIAL, Kind.INTEGER), np.repeat([0, 1], 7)
    >>> follows(pay, pa.chunked_array([[1, 3, 4, 7, 8, 9, 13, 2, 5, 6, 10, 11, 12, 14]]), classes)
    True
    >>> follows(pay, pa.chunked_array([[1, 3, 4, 7, 9, 8, 13, 2, 5, 6, 10, 11, 12, 14]]), classes)
    False
    """
    ranks = _ranks(column, cells)
    there = np.flatnonzero(ranks >= 0)
    rows = there[np.argsort(owner[there], kind="stable")]  # class after class, each in the order of its rows
    inside, rank = owner[rows], ranks[rows]
    step = np.diff(rank)[inside[1:] == inside[:-1]]
    if not ((step >= 0).all() or (step <= 0).all()):
        return False
    sizes = np.bincount(inside)
    equal = np.unique(inside * (int(rank.max(initial=0)) + 1) + rank, return_counts=True)[1]
    orders = _log_factorials(int(sizes.max(initial=1)))
    return bool(orders[equal].sum() - orders[sizes].sum() < _BY_CHANCE)


def _log_factorials(n: int) -> NDArray[np.float64]:
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))


def _ranks(column: Column, cells: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the place of each value in the order of all, −1 where it is missing."""
    import pyarrow.compute as pc

    coded = normal(comparable(column.name, cells)).combine_chunks().dictionary_encode(null_encoding="mask")
    found = coded.dictionary
    if column.order:
        places = {text: place for place, text in enumerate(column.order)}
        rank = np.array([places.get(called(value), len(places)) for value in found.to_pylist()], np.int64)
    else:
        rank = np.empty(len(found), np.int64)
        rank[pc.array_sort_indices(found).to_numpy()] = np.arange(len(found))
    codes = coded.indices.fill_null(len(found)).to_numpy().astype(np.int64)
    return np.asarray(np.append(rank, -1)[codes])
