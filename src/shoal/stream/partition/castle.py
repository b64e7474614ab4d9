"""CASTLE: clusters grow as tuples arrive; that of an expiring tuple is released, merged or split to about k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels.stream.castle import Castle as Rule
from shoal.kernels.stream.castle import castle
from shoal.parameters import Checked, Param
from shoal.types.stream import Decided, Demand, Space, StreamMethod, Waiting


@dataclass(frozen=True)
class Castle(Checked, StreamMethod):
    """CASTLE (Cao, Carminati, Ferrari and Tan), the baseline for comparison.

    An arriving tuple joins the cluster whose box it enlarges least (the smallest in a tie) if the box's loss, its mean
    range, stays at most τ, the mean loss of the last μ classes. Otherwise it starts a new cluster or, if there are
    already β, joins that cluster anyway. When a tuple expires its cluster is released. A cluster of fewer than k
    subjects is first merged with those that enlarge it least; one of 2k or more is split into classes of k around its
    oldest tuples, and remaining tuples join the nearest of these.

    **Guarantee.** Every class covers at least k subjects. The delay is that of `nearest`.

    **Complexity.** O(βd) per tuple, and O(δβ) per class.

    **Departures.** A class is released as its means, as with every method here, not as ranges. Released clusters are
    never reused: CASTLE releases a tuple whose cluster is too small with the ranges of an old class that covers it.
    Here it would then be released outside any class of k that is released at once and whole; so its cluster is merged
    instead. A tuple whose cluster is smaller than most is dropped only if `drop_outliers` says so. Random choices go to
    the tuple that arrived first. A category has as many coordinates as it has edges, and the position, if it has a
    weight, is one more.

    **What it does not promise.** Order is not preserved, with any weight. The learnt τ is forgotten at a restart.

    References: [CCFT11].

    >>> rule = Castle(beta=2).begin(Space(("a",), 1.0), k=2, delay=2, order_weight=0.0)
    >>> x = np.array([[0.0], [0.9], [0.1], [0.8]])
    >>> waiting = Waiting(x, np.arange(4), np.arange(4), np.empty((4, 0), np.int64), old=0)
    >>> [found.tolist() for found in rule.advance(waiting, due=0)]
    [[0, 1, 0, 1], [2, 3]]
    """

    beta: Annotated[int, Param("Largest number of clusters.", low=1, high=100_000)] = 50
    mu: Annotated[int, Param("Number of recent classes whose mean loss limits a cluster's.", low=1, high=100_000)] = 100
    drop_outliers: Annotated[bool, Param("Drop a tuple that expires in a cluster smaller than most.")] = False

    def begin(self, space: Space, k: int, delay: int, order_weight: float, demands: Sequence[Demand] = ()) -> _Keep:
        """Return the rule that forms the classes of one lane."""
        if demands:
            raise ParameterError(
                f"Castle: only k can be promised, but {demands[0].model} is required. Use nearest or "
                "look_ahead instead."
            )
        space.refuse_if_wide("Castle")
        return _Keep(Rule(k, delay, order_weight, self.beta, self.drop_outliers), np.zeros(self.mu))


@dataclass
class _Keep:
    rule: Rule
    losses: NDArray[np.float64]
    ring: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    slots: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def advance(self, waiting: Waiting, due: int) -> Decided:
        """Add arriving tuples, then release what is due."""
        labels, moments, self.slots = castle(waiting, self.rule, self.slots, self.losses, self.ring, due)
        return Decided(labels, moments)
