"""Linear and integer programmes over candidate classes, solved by HiGHS on one thread without a time limit.

Rows are records, columns are classes, and every coefficient is one. Costs are scaled so that the solver's tolerances,
which are absolute, mean the same in any unit of the points.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.arithmetic.class_costs import Classes


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
