"""Inference with a control: confidential values guessed from the nearest released records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.space.nearest_own import different
from shoal.risk._attacker import within_ranks
from shoal.risk.control.nearest import drawn, nearest_records
from shoal.risk.control.rates import Attacks, Rate
from shoal.types import Attacked, Trio

Floats = NDArray[np.float64]


def guessed(attacked: Attacked, secret: Trio, within: float, attacks: int) -> Attacks | None:
    """Guess a confidential value of members and of control records; None if no released record has one.

    The attacker knows all other attributes of a target, finds the released records nearest to them, and guesses their
    most frequent value; for a number their median, which is right if the true value lies within some percent of the
    ranks of it. Missing numbers cannot be guessed; a missing category is a value.

    **Complexity.** O(a·r·d) for a attacked and r distinct released records.
    """
    there = ~np.isnan(secret.released)
    if not there.any():
        return None
    released = different(attacked.released[there])
    values = secret.released[there]
    order = np.argsort(released.of_row, kind="stable")
    groups = np.split(values[order], np.cumsum(released.counts)[:-1])
    right = _judge(secret, values, within)
    rng = np.random.default_rng(attacked.seed)
    rates = []
    for records, truth in ((attacked.members, secret.members), (attacked.control, secret.control)):
        known = np.flatnonzero(~np.isnan(truth))
        rows = known[drawn(len(known), attacks, rng)]
        if not len(rows):
            rates.append(Rate(0.0, 0))
            continue
        near = nearest_records(records[rows], released.points).of(len(rows))
        guesses = np.array([_guess(np.concatenate([groups[at] for at in some]), secret.numeric) for some in near])
        rates.append(Rate(float(right(guesses, truth[rows]).sum()), len(rows)))
    known = ~np.isnan(secret.members)
    blind = np.full(int(known.sum()), _guess(values, secret.numeric))
    return Attacks(rates[0], rates[1], float(right(blind, secret.members[known]).mean()) if known.any() else 0.0)


def _guess(values: Floats, numeric: bool) -> float:
    """Return the most frequent value, the lowest of several; of numbers the median, the lower of two."""
    if numeric:
        return float(np.partition(values, (len(values) - 1) // 2)[(len(values) - 1) // 2])
    found, counts = np.unique(values, return_counts=True)
    return float(found[np.argmax(counts)])


def _judge(secret: Trio, values: Floats, within: float) -> Callable[[Floats, Floats], NDArray[np.bool_]]:
    """Return a function that tells which guesses are right."""
    if not secret.numeric:
        return lambda guesses, truth: np.asarray(guesses == truth)
    ranked = np.sort(values)
    return lambda guesses, truth: within_ranks(ranked, guesses, truth, within)
