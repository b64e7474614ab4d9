"""Membership inference with a control: whether a known record was in the protected table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.space.nearest_own import Masked, different
from shoal.risk.control.membership import auc
from shoal.risk.control.nearest import Records, coordinates, distance_of_rank, drawn, nearest_records
from shoal.risk.control.rates import Attacks, Rate
from shoal.types import Attacked

SHARE = 0.1  #: of all records are outliers
_REFERENCE = 2_000  # records from which the distance of every record is measured
_RANK = 6  # a record of the reference is its own nearest neighbour
_FEWEST = 4  # records of each table: half of them choose the threshold
_MOST_CALLED = 0.5  # of the control: if nearly everyone is called a member, the excess has no meaning

Floats = NDArray[np.float64]


class Recognised(NamedTuple):
    """Result of membership inference for some records."""

    attacks: Attacks
    auc: float  #: probability, in percent, that a member looks more like a member than a control record


def recognised(attacked: Attacked, attacks: int) -> dict[str, Recognised]:
    """Tell members from control records, among all records and among the most outlying 10 %; needs a control.

    The attacker knows a record and measures its distance to the nearest released one, as a multiple of the distance to
    its sixth nearest neighbour in a sample of the population. Records below a threshold are called members. Half of
    the attacked records choose the threshold that tells both tables apart best, with at most half of the control below
    it; the other half are judged by it.
    Records whose sixth nearest neighbour is farthest are outliers. A group with too few records is left out.

    **Complexity.** O(a·(r + s)·d) for a attacked, r distinct released and s sampled records.
    """
    rng = np.random.default_rng(attacked.seed)
    tables = (attacked.members, attacked.control)
    rows = [drawn(len(one), round(attacks / SHARE), rng) for one in tables]
    far = _usual_distances(tables, rows, rng)
    least = np.quantile(np.concatenate(far), 1 - SHARE)
    released = different(attacked.released)
    chosen = {
        "all": [np.sort(rng.permutation(len(one))[:attacks]) for one in rows],
        "outliers": [np.flatnonzero(one >= least) for one in far],
    }
    found = {}
    for name, both in chosen.items():
        if min(map(len, both)) < _FEWEST:
            continue
        scores = [
            _nearness(table[own[some]], released) / np.maximum(usual[some], np.finfo(float).tiny)
            for table, own, usual, some in zip(tables, rows, far, both, strict=True)
        ]
        found[name] = Recognised(_judged(scores[0], scores[1], rng), 100.0 * auc(-scores[0], -scores[1]))
    return found


def _usual_distances(
    tables: tuple[Records, Records], rows: list[NDArray[np.int64]], rng: np.random.Generator
) -> list[Floats]:
    """Return for some rows of both tables how far neighbours are, in a sample of both in which all are as likely."""
    n = len(tables[0])
    sample = np.sort(rng.permutation(n + len(tables[1]))[:_REFERENCE])
    reference = np.concatenate(
        [coordinates(tables[0][sample[sample < n]]), coordinates(tables[1][sample[sample >= n] - n])]
    )
    rank = min(_RANK, len(sample))
    return [distance_of_rank(table[own], reference, rank) for table, own in zip(tables, rows, strict=True)]


def _nearness(records: Records, released: Masked) -> Floats:
    return nearest_records(records, released.points).distances


def _judged(members: Floats, control: Floats, rng: np.random.Generator) -> Attacks:
    """Choose a threshold on one half of the records, and judge the other half by it."""
    halves = [np.array_split(one[rng.permutation(len(one))], 2) for one in (members, control)]
    (first, judged), (other, outside) = halves
    cuts = np.unique(np.concatenate((first, other)))
    called = [np.searchsorted(np.sort(one), cuts, "right") / len(one) for one in (first, other)]
    gain = np.where(called[1] <= _MOST_CALLED, called[0] - called[1], -1.0)
    cut = cuts[int(np.argmax(gain))]
    rates = [Rate(float((one <= cut).sum()), len(one)) for one in (judged, outside)]
    return Attacks(rates[0], rates[1], 0.5)
