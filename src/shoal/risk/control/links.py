"""Linkability with a control: two halves of a record, joined through the nearest released records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.space.nearest_own import Masked, different
from shoal.risk.control.nearest import Records, drawn, nearest_records
from shoal.risk.control.rates import Attacks, Rate
from shoal.types import Attacked, some_of

Halves = tuple[tuple[str, ...], tuple[str, ...]]


def linked(attacked: Attacked, halves: Halves, attacks: int) -> Attacks:
    """Join the halves of members and of control records through the release.

    One owner knows some attributes of a person, another owner the others. Each finds the nearest released records; the
    halves are linked if both end at the same one. If several are equally near, both try them in the same random order:
    the chance to meet is the share of common records among those of either.

    **Complexity.** O(a·r·d) for a attacked and r distinct released records.
    """
    rng = np.random.default_rng(attacked.seed)
    places = [attacked.places(half) for half in halves]
    released = tuple(different(some_of(attacked.released, place)) for place in places)
    joint = _Joint(released[0], released[1])
    rates = []
    for records in (attacked.members, attacked.control):
        rows = drawn(len(records), attacks, rng)
        if not len(rows):
            rates.append(Rate(0.0, 0))
            continue
        near = [_nearest(records[rows], place, its) for place, its in zip(places, released, strict=True)]
        met = sum(joint.chance(one, other) for one, other in zip(*near, strict=True))
        rates.append(Rate(float(met), len(rows)))
    return Attacks(rates[0], rates[1], 1.0 / max(len(attacked.released), 1))


def _nearest(records: Records, places: list[int], released: Masked) -> list[NDArray[np.int64]]:
    return nearest_records(some_of(records, places), released.points).of(len(records))


class _Joint:
    """Numbers of released records by both halves."""

    def __init__(self, one: Masked, other: Masked) -> None:
        self.counts = (one.counts, other.counts)
        self.width = len(other.counts)
        self.cells, self.records = np.unique(one.of_row * self.width + other.of_row, return_counts=True)

    def chance(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        """Return the share of common records among all that one or the other half is nearest to."""
        cells = (one[:, None] * self.width + other[None, :]).ravel()
        at = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        common = int(self.records[at[self.cells[at] == cells]].sum())
        either = int(self.counts[0][one].sum() + self.counts[1][other].sum()) - common
        return common / either if common else 0.0
