"""Look-ahead: an expiring tuple is released with near ones that would not find a better class later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.kernels.stream.excess import Demanded, laid_out
from shoal.kernels.stream.steps import Rule, steps
from shoal.parameters import Checked, Param
from shoal.types.stream import Decided, Demand, Space, StreamMethod, Waiting

_REACH = 3  # candidates, times k
_MORE = 0.5


@dataclass(frozen=True)
class LookAhead(Checked, StreamMethod):
    """Stream microaggregation that chooses classes by what their members would lose otherwise.

    As in `nearest`, an expiring tuple is released at once, in a class with other pending tuples, but not always with
    its k − 1 nearest: a tuple in a crowd will find close neighbours at any time, one at the edge may not. So each of
    the 3k nearest has a price, its approximate loss in another class: its mean squared distance from the 2k − 1 nearest
    pending tuples, times `young` if it has just arrived (closer ones may follow) up to `old` if it is about to expire.
    The class repeatedly adds the tuple that costs least relative to its price until it has k; then members and others
    are exchanged while the SSE less the prices falls; then it grows to at most 2k − 1 tuples, as long as adding one
    costs less than half its price.

    **Guarantee.** Every class has k to 2k − 1 tuples, all of different subjects (demands may bring in more); the delay
    is that of `nearest`. With order_weight "keep" the class is that of `nearest`, and nothing is reordered.

    **Complexity.** O(δd) per tuple.

    **Departures.** [DS17] Algorithm 2 asks for the most homogeneous class at the moment. This method gives up some
    homogeneity for the benefit of later classes.

    References: [DS17] Algorithms 2 and 3.

    >>> import numpy as np
    >>> rule = LookAhead().begin(Space(("a",), 1.0), k=2, delay=4, order_weight=0.0)
    >>> x = np.array([[0.5], [0.4], [0.62], [0.39], [0.38]])  # 0.4 is nearer to 0.5, and in a crowd
    >>> waiting = Waiting(x, np.arange(5), np.arange(5), np.empty((5, 0), np.int64), old=0)
    >>> rule.advance(waiting, due=0).labels.tolist()
    [0, -1, 0, -1, -1]
    """

    keeps_order: ClassVar[bool] = True
    only_k: ClassVar[bool] = False

    young: Annotated[float, Param("Share of its price at which a tuple counts on arrival.", low=0, high=1)] = 0.3
    old: Annotated[float, Param("Share of its price at which a tuple counts at expiry.", low=0, high=1)] = 0.7

    def begin(self, space: Space, k: int, delay: int, order_weight: float, demands: Sequence[Demand] = ()) -> _Ahead:
        """Return the rule that forms the classes of one lane."""
        keeps = order_weight**2 * (2 * k - 1) > space.diameter
        reach = 1 if keeps else _REACH
        parts = float(self.young), float(self.old)  # of one type, or kernels would be compiled for each
        return _Ahead(Rule(k, delay, order_weight, reach, *parts, _MORE), laid_out(demands))


@dataclass(frozen=True, eq=False)
class _Ahead:
    rule: Rule
    demanded: Demanded

    def advance(self, waiting: Waiting, due: int) -> Decided:
        """Add arriving tuples, then release what is due."""
        return Decided(*steps(waiting, self.rule, self.demanded, due))
