"""Nearest: an expiring tuple is released with its k − 1 nearest pending tuples ([DS17] Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.kernels.stream.excess import Demanded, laid_out
from shoal.kernels.stream.nearest import nearest
from shoal.kernels.stream.steps import Rule, steps
from shoal.parameters import Checked
from shoal.types.stream import Decided, Demand, Forming, Space, StreamMethod, Waiting


@dataclass(frozen=True)
class Nearest(Checked, StreamMethod):
    """Stream microaggregation of Domingo-Ferrer and Soria-Comas, with the position as steering attribute.

    Tuples are pending on arrival. When the tuple of position i arrives and one of position i − δ or less is still
    pending, the latter is released with its k − 1 nearest, where the position counts as one more coordinate, times ω.
    If fewer than k are pending, it is dropped. If subjects have several tuples, the nearest tuples join the class, one
    after another, until it has k subjects: repeated subjects that are nearer stay in it (Note 1).

    With demands, a class that misses one is repaired: other pending tuples join, or are exchanged with members, one at
    a time, at the least distance per improvement. If that fails the tuple is dropped.

    **Guarantee.** Every class has k tuples, or as many as k subjects need. When tuple i has arrived, none of position i
    − δ or less is pending. With order_weight "keep" every class consists of consecutive pending tuples, so nothing is
    reordered.

    **Complexity.** O(δd/k) per tuple, and O(δ(d + log δ)/k) with subjects.

    **Departures.** "Maximally homogeneous" is read as: the nearest tuples; ties go to the one that arrived first. With
    gaps in the positions, from records that are not tuples, several may expire at once; the oldest is released first.

    References: [DS17] Algorithms 2 and 3, Note 1.

    >>> rule = Nearest().begin(Space(("a",), 1.0), k=2, delay=2, order_weight=0.0)
    >>> x = np.array([[0.0], [0.9], [0.1], [0.8]])
    >>> waiting = Waiting(x, np.arange(4), np.arange(4), np.empty((4, 0), np.int64), old=0)
    >>> [found.tolist() for found in rule.advance(waiting, due=0)]
    [[0, 1, 0, 1], [2, 3]]
    """

    keeps_order: ClassVar[bool] = True
    only_k: ClassVar[bool] = False

    def begin(self, space: Space, k: int, delay: int, order_weight: float, demands: Sequence[Demand] = ()) -> Forming:
        """Return the rule that forms the classes of one lane; with demands, it repairs classes that miss them."""
        if not demands:
            return _Around(k, delay, order_weight)
        return _Mended(Rule(k, delay, order_weight, reach=1), laid_out(demands))


@dataclass(frozen=True, eq=False)
class _Mended:
    rule: Rule
    demanded: Demanded

    def advance(self, waiting: Waiting, due: int) -> Decided:
        """Add arriving tuples, then release what is due."""
        return Decided(*steps(waiting, self.rule, self.demanded, due))


@dataclass(frozen=True)
class _Around:
    k: int
    delay: int
    order_weight: float

    def advance(self, waiting: Waiting, due: int) -> Decided:
        """Add arriving tuples, then release what is due."""
        subjects = None
        if waiting.subjects is not waiting.positions:
            who, codes = np.unique(waiting.subjects, return_inverse=True)
            subjects = None if len(who) == len(codes) else codes.astype(np.int64)
        rule = (self.k, self.delay, self.order_weight)
        return Decided(*nearest(waiting.x, waiting.steps, waiting.positions, subjects, rule, waiting.old, due))
