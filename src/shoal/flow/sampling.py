"""Some records of a large table that stand for all: whole subjects, of every stratum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.flow.excluding import only_rows
from shoal.flow.strata import strata_of
from shoal.flow.subjects import subjects_of
from shoal.types import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def sampled(table: Table, rows: NDArray[np.int64] | None, most: int, seed: int, least: int) -> NDArray[np.int64] | None:
    """Return about `most` of some records, drawn at random; all of them where they are no more.

    All records of a subject (or a household) are drawn, or none. Every stratum gives the same share of its records, but
    at least so many that classes can be formed in it.

    Parameters
    ----------
    table, rows
        The records to draw from; None: all.
    most
        How many records to draw.
    seed
        Where randomness starts.
    least
        Records to draw from each stratum at least, if it has them.

    Returns
    -------
    array or None
        Positions in the table, in order; None: all.
    """
    import numpy as np

    n = len(table) if rows is None else len(rows)
    if n <= most:
        return rows
    inside = only_rows(table, rows)
    units, strata = subjects_of(inside), strata_of(inside)
    units = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    strata = np.zeros(n, np.int64) if strata is None else strata
    sizes = np.bincount(units)
    own = np.empty(len(sizes), np.int64)
    own[units[::-1]] = strata[::-1]  # the stratum of a unit's first record
    order = np.random.default_rng(seed).permutation(len(sizes))
    taken = np.zeros(len(sizes), np.bool_)
    for stratum in np.unique(own):
        inner = order[own[order] == stratum]
        before = np.cumsum(sizes[inner]) - sizes[inner]
        total = int(sizes[inner].sum())
        taken[inner] = before < max(total * most / n, least)
    chosen = np.flatnonzero(taken[units])
    return chosen if rows is None else rows[chosen]
