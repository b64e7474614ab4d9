"""Block function: takes the records of a block as an Arrow table, and returns them with their classes.

Every engine calls it: the disk engine on several threads, a cluster in several processes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.engines.blockwise.copies import Copies, holders
from shoal.flow.engines.blockwise.facts import ROW, SUBJECT
from shoal.flow.gate.gate import rounded_share
from shoal.flow.plan.promise import Promise
from shoal.kernels.refine.blockwise import Points, Work
from shoal.kernels.refine.class_state import arranged
from shoal.types import Attacker

CLASS = "\0class"  #: the class of each record; no column of a table has this name


class BlockFacts(NamedTuple):
    """Facts about the classes of a block."""

    means: NDArray[np.float64]  #: one row for each class
    holders: NDArray[np.uint64]  #: digests of vectors whose copies are or were parted, once for each class


@dataclass(frozen=True)
class BlockFunction:
    """Forms the classes of a block, or refines those it has.

    Parameters
    ----------
    points
        Encodes stored records.
    work
        Computes the classes.
    copies
        What earlier rounds tell about copies of vectors.
    """

    points: Callable[[pa.Table], Points]
    work: Work
    copies: Copies = field(default_factory=Copies)

    def __call__(self, number: int, block: pa.Table) -> tuple[pa.Table, BlockFacts]:
        """Return the records of a block with their classes, from 0, in order of value.

        The classes do not depend on the order in which records arrive. Equal records are sorted by their row, if they
        have one.
        """
        x = self.points(block)
        order = np.argsort(block.column(ROW).to_numpy()) if ROW in block.column_names else np.arange(block.num_rows)
        order = order[arranged(x[order], np.arange(len(order)))]
        x, people = x[order], people_in(block)
        before = block.column(CLASS).to_numpy()[order]
        labels, means = self.work(number, x, None if people is None else people[order], before)
        sorted_ = block.drop_columns([CLASS]).take(pa.array(order))
        held = holders(x, labels, self.copies.parted)
        return sorted_.append_column(CLASS, pa.array(labels)), BlockFacts(means, held)


def people_in(table: pa.Table) -> NDArray[np.int64] | None:
    """Return the person of each record, by number; those without one share a number. None: every record is one."""
    if SUBJECT not in table.column_names:
        return None
    encoded = table.column(SUBJECT).combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(), np.int64)


class Atoms(NamedTuple):
    """Classes formed from quasi-identifiers alone: the fewest people of one, and the largest share of one person."""

    fewest: int = sys.maxsize
    share: float | None = None  #: of the records of an atom; None: everyone has one record

    def with_more(self, other: Atoms) -> Atoms:
        """Return the figures of these and other classes."""
        shares = [one.share for one in (self, other) if one.share is not None]
        return Atoms(min(self.fewest, other.fewest), max(shares, default=None))

    def attacker(self, promise: Promise) -> Attacker:
        """Return the attacker that a release withstands: one who knows the algorithm if equal records share an atom."""
        if promise.withstands != "algorithm" or self.fewest < promise.k:
            return Attacker("table", promise.k)
        return Attacker("algorithm", promise.k, None if self.share is None else rounded_share(self.share))


def atoms_in(labels: NDArray[np.int64], people: NDArray[np.int64] | None) -> Atoms:
    """Return how many people the classes of a block have."""
    sizes = np.bincount(labels)
    if people is None:
        return Atoms(int(sizes.min()))
    count = int(people.max()) + 1
    pairs, held = np.unique(labels * count + people, return_counts=True)
    inside = pairs // count
    return Atoms(int(np.bincount(inside).min()), float((held / sizes[inside]).max()))
