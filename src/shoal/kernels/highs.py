"""Linear and integer programmes over candidate classes, solved by HiGHS on one thread without a clock.

Rows are records, columns are classes, every coefficient is one. Costs are scaled so that the solver's tolerances,
which are absolute, mean the same whatever the unit of the points.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.overlay import Classes


def solver() -> Any:
    """Return a silent solver on one thread."""
    import highspy

    highs = highspy.Highs()
    for name, value in (("output_flag", False), ("threads", 1), ("parallel", "off"), ("random_seed", 0)):
        highs.setOptionValue(name, value)
    return highs


def programme(n: int, classes: Classes, costs: np.ndarray) -> Any:
    """Return min costs·x with every record in exactly one class, 0 ≤ x ≤ 1."""
    import highspy

    lp, columns = highspy.HighsLp(), len(costs)
    lp.num_col_, lp.num_row_ = columns, n
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, np.zeros(columns), np.ones(columns)
    lp.row_lower_ = lp.row_upper_ = np.ones(n)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = classes.bounds.astype(np.int32)
    lp.a_matrix_.index_ = classes.members.astype(np.int32)
    lp.a_matrix_.value_ = np.ones(len(classes.members))
    return lp


def unit(costs: np.ndarray) -> float:
    """Return the power of two nearest above the mean cost, by which costs are divided."""
    mean = float(costs.mean())
    return float(2.0 ** np.frexp(mean)[1]) if mean > 0 else 1.0


def relax(n: int, classes: Classes) -> tuple[float, np.ndarray | None]:
    """Return value and reduced costs of the linear relaxation; None for the latter where it was not solved."""
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
    """Return which classes branch and bound chooses, starting from the incumbent in so many nodes at most."""
    import highspy

    highs, scale = solver(), unit(classes.costs)
    for name, value in (
        ("mip_max_nodes", nodes),
        ("mip_pscost_minreliable", 2),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-9),
    ):
        highs.setOptionValue(name, value)  # trying branches out costs far more here than it saves
    lp = programme(n, classes, classes.costs / scale)
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(incumbent)
    highs.passModel(lp)
    start = highspy.HighsSolution()
    start.col_value = incumbent.astype(np.float64).tolist()
    highs.setSolution(start)
    highs.run()
    found = np.array(highs.getSolution().col_value)
    return found > 0.5 if len(found) == len(incumbent) else incumbent
