"""Look ahead: a tuple that expires leaves with those near it that would not fare better in another class later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.kernels.stream.excess import Demanded, laid_out
from shoal.kernels.stream.steps import Rule, steps
from shoal.parameters import Checked, Param
from shoal.types.stream import Decided, Demand, Space, Waiting

_REACH = 3  # candidates, times k
_MORE = 0.5


@dataclass(frozen=True)
class LookAhead(Checked):
    """Stream microaggregation whose classes are chosen by what their members would lose otherwise.

    As in `nearest`, a tuple that expires leaves at once, in a class with others that wait. But not always with its
    k − 1 nearest: a tuple in a crowd will find good company at any time, one at the edge may not. So each of the 3k
    nearest has a price, what it would about lose in another class: its mean squared distance from the 2k − 1 nearest
    that wait, times `young` if it has just come (others may come that are nearer) up to `old` if it is about to expire.
    The class takes, one after the other, whom it costs least over its price, until it has k; then members and others
    change places while the SSE less the prices falls; then it takes more, up to 2k − 1 in all, where adding one costs
    less than half its price.

    **Guarantee.** Every class has k to 2k − 1 tuples, all of different subjects (demands may bring in more); the delay
    is that of `nearest`. With order_weight "keep" the class is that of `nearest`, and nothing is reordered.

    **Complexity.** O(δd) for each tuple.

    **Departures.** [DS17] Algorithm 2 asks for a class that is maximally homogeneous at the moment. This one gives
    some of that away for the classes that come.

    References: [DS17] Algorithms 2 and 3.

    >>> import numpy as np
    >>> rule = LookAhead().begin(Space(("a",), 1.0), k=2, delay=4, order_weight=0.0)
    >>> x = np.array([[0.5], [0.4], [0.62], [0.39], [0.38]])  # 0.4 is nearer to 0.5, and in a crowd
    >>> waiting = Waiting(x, np.arange(5), np.arange(5), np.empty((5, 0), np.int64), old=0)
    >>> rule.advance(waiting, due=0).labels.tolist()
    [0, -1, 0, -1, -1]
    """

    keeps_order: ClassVar[bool] = True  #: whether a weight large enough keeps tuples in order

    young: Annotated[float, Param("Part of its price that a tuple counts with when it comes.", low=0, high=1)] = 0.3
    old: Annotated[float, Param("Part of its price that a tuple counts with when it expires.", low=0, high=1)] = 0.7

    def begin(self, space: Space, k: int, delay: int, order_weight: float, demands: Sequence[Demand] = ()) -> _Ahead:
        """Return what forms the classes of one lane."""
        keeps = order_weight**2 * (2 * k - 1) > space.diameter
        reach = 1 if keeps else _REACH
        parts = float(self.young), float(self.old)  # of one type, or kernels would be compiled for each
        return _Ahead(Rule(k, delay, order_weight, reach, *parts, _MORE), laid_out(demands))


@dataclass(frozen=True, eq=False)
class _Ahead:
    rule: Rule
    demanded: Demanded

    def advance(self, waiting: Waiting, due: int) -> Decided:
        """Take what comes, then let expire what is due."""
        return Decided(*steps(waiting, self.rule, self.demanded, due))
