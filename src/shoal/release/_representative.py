"""What of a class the noise is added to: the mean of all its members, or its medoid, one of them.

A medoid is a class of one record. So everything that is known of means is used as it is, with one record per class:

**With classes held fixed** the medoid of class C depends on the members of C alone, for distances are counted in widths
of the domain and in heights of the taxonomy, never in deviations of the data. So classes count in parallel, as with
means. If one member becomes another, another member may be the most central one: of 0, 0, 1 it is 0, of 0, 1, 1 it is
1. No value is farther off than the width of its domain, so this is the sensitivity: ΔD, and **not** ΔD/|C|. It is
reached, in all attributes at once and whatever the size of the class; so nothing less would do.

**Of original records**, with the classes of the method insensitive: let D have the records s₁ ≤ … ≤ s_n in the order of
the domain, and let D′ be D with one record made another that comes later (else change roles). Then sᵢ ≤ s′ᵢ ≤ sᵢ₊₁
for all i, with s_{n+1} the end of the order. A class takes the places p … q, so that its members lie between s_p and
s_{q+1}, both before and after, and so do both of its medoids. These G stretches of the order follow one another. Within
one, two records are no farther apart than its longest step of the kind that the proof of insensitive counts: in a
coordinate cut into strips by (strips crossed + 1)/s, in the last coordinate by how far it goes there. Added up over
the stretches it is what `moves` counts, before it is divided by the size: so the list of medoids moves by at most
`moves` times the size of a class. Classes that hold the same records have the same medoid, whatever the order of
rows: of several that are equally near the lowest in the attributes is taken. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shoal.release._noise import exact_means
from shoal.types import Block

_TIE = 1e-9  # in squared widths of the domain: records that are as near as this are equally near


@dataclass(frozen=True, eq=False)
class StandIns:
    """The records that stand for the classes of a block.

    Attributes
    ----------
    rows
        Which records; all of them, or one of each class.
    block
        Their classes, and what one record can move of these.
    """

    rows: NDArray[np.int64] = field(repr=False)
    block: Block


#: How near each record is to its class in each attribute of a block: squared, in widths or heights of the domain.
Near = Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]


def all_members(block: Block, near: Callable[[], Near]) -> StandIns:
    """Let all members stand for their class, by their mean; how near they are does not matter."""
    return StandIns(np.arange(len(block.labels)), block)


def most_central(block: Block, near: Callable[[], Near]) -> StandIns:
    """Let one member stand for its class: the medoid, whose total distance to all of them is least.

    `near` gives for each attribute the ranks of values in the domain, and how far each record is from its class.
    """
    far, ranks = np.zeros(len(block.labels)), []
    for own, distance in near().values():
        ranks.append(own)
        far += distance
    least = np.full(len(block), np.inf)
    np.minimum.at(least, block.labels, far)
    nearest = far - least[block.labels] <= _TIE
    order = np.lexsort((*ranks[::-1], ~nearest, block.labels))
    rows = order[np.unique(block.labels[order], return_index=True)[1]]
    moves = None if block.moves is None else tuple(step * float(block.sizes.min()) for step in block.moves)
    return StandIns(rows, replace(block, labels=np.arange(len(block)), moves=moves))


#: By the name of the representative.
STAND_INS: Mapping[str, Callable[[Block, Callable[[], Near]], StandIns]] = {
    "mean": all_members,
    "medoid": most_central,
}


def off_mean(unit: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the squared distance of each number, from 0 to 1, to the mean of its class.

    Over a class it differs from the mean squared distance to all members by the same number for each of them.
    """
    return np.asarray((unit - exact_means(unit, labels)[labels]) ** 2)
