"""Linear relaxation of microaggregation by column generation: a lower bound on the SSE of any partition.

A partition into classes C of at least k records is a solution of: minimise Σ SSE(C)·x_C, every record in exactly one
class. Allowing fractional x can only lower the value. The dual asks for prices u with Σ_{i∈C} u_i ≤ SSE(C) for every
class; Σ u_i is then a lower bound, wherever the prices came from. Classes of exactly k records are enough: the SSE of a
larger one is at least the average price its subsets of k allow (docs/certificate.md).

Prices come from the relaxation over few classes; pricing finds every class that they are too high for; these classes
are added, and so on. In each round the prices are lowered until no class is violated, which gives a bound that holds
whatever the solver did. Before they are compared, distances are lowered and prices raised by more than any rounding
error.

HiGHS solves the programmes, on one thread and without a time limit. Rows are records, columns are classes, and every
coefficient is one. Costs are scaled so that the solver's tolerances, which are absolute, mean the same in any unit of
the points.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_statistics import Classes, class_costs, classes_of
from shoal.kernels.bound.pricing import FOUND, Found, Growth, Lists, fill_lists, grow_classes, scaled_squares
from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.runtime.jit import announce, kernel
from shoal.kernels.space.neighbours import neighbours
from shoal.progress import report


def solver() -> Any:
    """Return a silent solver on one thread."""
    import highspy

    highs = highspy.Highs()
    for name, value in (("output_flag", False), ("threads", 1), ("parallel", "off"), ("random_seed", 0)):
        highs.setOptionValue(name, value)
    return highs


def programme(n: int, classes: Classes, costs: np.ndarray) -> Any:
    """Return min costs·x with every record in exactly one class and x ≥ 0, which implies x ≤ 1."""
    import highspy

    lp, columns = highspy.HighsLp(), len(costs)
    lp.num_col_, lp.num_row_ = columns, n
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, np.zeros(columns), np.full(columns, np.inf)
    lp.row_lower_ = lp.row_upper_ = np.ones(n)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = classes.bounds.astype(np.int32)
    lp.a_matrix_.index_ = classes.members.astype(np.int32)
    lp.a_matrix_.value_ = np.ones(len(classes.members))
    return lp


def unit(costs: np.ndarray) -> float:
    """Return the smallest power of two above the mean cost; costs are divided by it."""
    mean = float(costs.mean())
    return float(2.0 ** np.frexp(mean)[1]) if mean > 0 else 1.0


def relax(n: int, classes: Classes) -> tuple[float, np.ndarray | None]:
    """Return value and reduced costs of the linear relaxation; the latter are None if it was not solved."""
    import highspy

    highs, scale = solver(), unit(classes.costs)
    highs.passModel(programme(n, classes, classes.costs / scale))
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return 0.0, None
    solution = highs.getSolution()
    value = float(highs.getInfo().objective_function_value) * scale
    duals = np.array(solution.row_dual) * scale
    priced = np.add.reduceat(duals[classes.members], classes.bounds[:-1])
    return value, np.maximum(classes.costs - priced, 0.0)


def choose(n: int, classes: Classes, incumbent: np.ndarray, nodes: int) -> np.ndarray:
    """Return the classes that branch and bound chooses, starting from the incumbent, in at most `nodes` nodes."""
    import highspy

    highs, scale = solver(), unit(classes.costs)
    for name, value in (
        ("mip_max_nodes", nodes),
        ("mip_pscost_minreliable", 2),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-9),
    ):
        highs.setOptionValue(name, value)  # trial branching costs far more here than it saves
    lp = programme(n, classes, classes.costs / scale)
    lp.col_upper_ = np.ones(len(incumbent))
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(incumbent)
    highs.passModel(lp)
    start = highspy.HighsSolution()
    start.col_value = incumbent.astype(np.float64).tolist()
    highs.setSolution(start)
    highs.run()
    found = np.array(highs.getSolution().col_value)
    return found > 0.5 if len(found) == len(incumbent) else incumbent


class Master:
    """Linear relaxation over the classes known so far, solved by the interior point method.

    Its prices lie in the middle of the optimal set, not at a corner: fewer classes violate them, and the effort hardly
    depends on the table. If it fails, the simplex method is used.

    Attributes
    ----------
    unit
        Divisor of the costs.
    """

    def __init__(self, n: int, first: Classes) -> None:
        self.highs, self.unit = solver(), unit(first.costs)
        for name, value in (("run_crossover", "off"), ("ipm_iteration_limit", 200)):
            self.highs.setOptionValue(name, value)
        self.highs.passModel(programme(n, first, first.costs / self.unit))

    def add(self, members: np.ndarray, bounds: np.ndarray, costs: np.ndarray) -> None:
        """Add classes."""
        columns, size = len(costs), len(members)
        lower, upper = np.zeros(columns), np.full(columns, np.inf)
        starts, rows = bounds[:-1].astype(np.int32), members.astype(np.int32)
        self.highs.addCols(columns, costs / self.unit, lower, upper, size, starts, rows, np.ones(size))

    def solve(self, pivots: int = 50_000) -> tuple[float, np.ndarray | None]:
        """Return value and prices of the relaxation; the prices are None if neither method found any."""
        import highspy

        self.highs.setOptionValue("simplex_iteration_limit", pivots)
        for method in ("ipm", "simplex"):
            self.highs.setOptionValue("solver", method)
            self.highs.run()
            prices = np.array(self.highs.getSolution().row_dual) * self.unit
            if self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal and np.isfinite(prices).all():
                return float(self.highs.getInfo().objective_function_value) * self.unit, prices
        return 0.0, None


_CLOSE = 1e-6  # stop when the bound is this close to the value of the relaxation
_BACK = 1e-9  # prices are lowered by this much before pricing, so that classes that just break even are not found again
_SETS = 3_000  # sets grown from one record before moving on to the next
_CAPACITY = 60  # classes found per record
_QUOTA = 3  # new classes per record and round


@kernel
def _lower(members, profit, order, prices, cut):
    """Lower the prices, class by class, until none of these classes has a profit; write the reduction to `cut`."""
    k = members.shape[1]
    for at in range(order.shape[0]):
        c = order[at]
        left = profit[c]
        for b in range(k):
            left -= cut[members[c, b]]
        if left > 0.0:
            for b in range(k):
                cut[members[c, b]] += left / k
    for i in range(prices.shape[0]):
        prices[i] -= cut[i]


@kernel
def _spread(members, order, quota, taken, chosen):
    """Choose classes in order, skipping those whose records are all in `quota` chosen ones; return how many."""
    count = 0
    for at in range(order.shape[0]):
        c = order[at]
        few = False
        for b in range(members.shape[1]):
            few = few or taken[members[c, b]] < quota
        if few:
            for b in range(members.shape[1]):
                taken[members[c, b]] += 1
            chosen[count] = c
            count += 1
    return count


class Pricing:
    """Search for the classes of k records that given prices are too high for."""

    def __init__(self, x: np.ndarray, k: int) -> None:
        n, d = x.shape
        self.k, self.n = k, n
        self.slack = 8 * math.comb(k, 2) * (d + 4 * k + 32) * 2.0**-53
        self.squares = np.empty((n, n))
        announce(grow_classes)
        scaled_squares(x, (1.0 - self.slack) / k, self.squares)
        self.lists = self._room(32 * n)
        self.found = Found(np.empty((_CAPACITY * n, k), np.int32), np.empty(_CAPACITY * n), np.zeros(2, np.int64))
        whole = np.zeros(k + 1, np.int64)
        self.growth = Growth(whole[:k].copy(), np.zeros(k + 1), np.zeros((k + 1, k)), whole, whole.copy(), np.zeros(k))

    def _room(self, size: int) -> Lists:
        return Lists(np.empty(self.n + 1, np.int64), np.empty(size, np.int32), np.empty(size), np.empty(self.n))

    def find(self, prices: np.ndarray, each: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return the classes with a profit, their profits, and whether the list is complete."""
        half = (prices + self.slack * np.abs(prices)) / (self.k - 1)
        reach = (self.k - 2) / 2
        if (needed := fill_lists(self.squares, half, reach, self.lists)) > len(self.lists.record):
            self.lists = self._room(needed + needed // 4)
            fill_lists(self.squares, half, reach, self.lists)
        short = grow_classes(self.squares, half, self.lists, self.growth, self.found, self.k, each)
        count = int(self.found.counts[FOUND])
        return self.found.members[:count], self.found.profit[:count], short == 0


class Relaxation(NamedTuple):
    """Result of column generation."""

    bound: float  #: on the SSE of any partition; −∞ if no pricing was completed
    optimal: bool  #: whether the bound is the value of the relaxation, to within a millionth
    prices: np.ndarray | None  #: (n,) prices of the records, in the last round that was solved
    pricing: Pricing  #: ready to search for classes at other prices


def column_bound(x: np.ndarray, k: int, rounds: int = 40) -> tuple[float, bool]:
    """Return a lower bound on the SSE of any partition, and whether it is the value of the relaxation.

    Squares of `x` neither overflow nor vanish, and n ≥ 2k; the relaxation is solved at most `rounds` times. The bound
    holds in exact arithmetic, and is −∞ if no pricing was completed; if it is the value of the relaxation, then to
    within a millionth.
    """
    found = relaxation(x, k, rounds, lambda turn: report(turn, rounds))
    return found.bound, found.optimal


def relaxation(x: np.ndarray, k: int, rounds: int = 40, tell: Callable[[int], None] = lambda turn: None) -> Relaxation:
    """Solve the linear relaxation; parameters are those of :func:`column_bound`, and `tell` is called each round."""
    master, pricing, best, each, last = _start(x, k), Pricing(x, k), -np.inf, _SETS, None
    for turn in range(rounds):
        value, prices = master.solve()
        if prices is None:
            break
        prices -= _BACK * np.abs(prices)
        last = prices
        members, profit, all_found = pricing.find(prices, each)
        order = np.argsort(-profit, kind="stable")
        if all_found:
            best = max(best, floor_sum(repaired(prices, members, profit)))
        tell(turn + 1)
        if best >= value - _CLOSE * abs(value):
            return Relaxation(best, True, last, pricing)
        order = order[: int((profit > _CLOSE * master.unit).sum())]
        chosen = np.empty(len(order), np.int64)
        chosen = chosen[: _spread(members, order, _QUOTA, np.zeros(len(x), np.int64), chosen)]
        if len(chosen) == 0:
            if all_found:
                return Relaxation(best, True, last, pricing)
            each *= 8
            if each > _SETS * 8**3:
                break
        _join(master, x, members[chosen].astype(np.int64))
    return Relaxation(best, False, last, pricing)


def repaired(prices: np.ndarray, members: np.ndarray, profit: np.ndarray) -> np.ndarray:
    """Return prices that no class violates, given all classes with a profit, the largest profit first."""
    lower = prices.copy()
    _lower(members, profit, np.argsort(-profit, kind="stable"), lower, np.zeros(len(prices)))
    return lower


def floor_sum(values: np.ndarray) -> float:
    """Return the sum of the values, rounded down."""
    return math.nextafter(math.fsum(values.tolist()), -math.inf)


def _start(x: np.ndarray, k: int) -> Master:
    """Return the relaxation over the classes of MDAV, and over each record with some of its nearest."""
    n = len(x)
    first = classes_of(x, mdav(x, k)[0])
    master = Master(n, first)
    near = neighbours(x, k + 4).astype(np.int64)
    ranks = sorted(combinations(range(near.shape[1]), k - 1), key=lambda chosen: (sum(chosen), chosen))
    rows = np.arange(n)[:, None]
    classes = np.concatenate([np.hstack((rows, near[:, list(chosen)])) for chosen in islice(ranks, 40)])
    classes.sort(axis=1)
    _join(master, x, np.unique(classes, axis=0))
    return master


def _join(master: Any, x: np.ndarray, classes: np.ndarray) -> None:
    if len(classes):
        members, bounds = classes.ravel(), np.arange(0, classes.size + 1, classes.shape[1])
        master.add(members, bounds, class_costs(x, members, bounds))
