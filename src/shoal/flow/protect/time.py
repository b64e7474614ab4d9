"""Time that a plan takes, estimated on its table."""

from __future__ import annotations

from shoal.flow.classes.form import points_of
from shoal.flow.plan.costs import Contents
from shoal.flow.plan.estimate import WORTH_TIMING, Estimate, estimated
from shoal.flow.plan.plan import Plan
from shoal.types import Table


def time_of(
    plan: Plan, table: Table, *, report: bool = False, text: bool | None = None, timed_from: float = WORTH_TIMING
) -> Estimate:
    """Estimate the time to protect a table and, if asked, to write a report.

    `text` tells for a file whether its format is text; None: the table is a frame. `timed_from` is that of
    :func:`~shoal.flow.plan.estimate.estimated`.
    """
    file = None if text is None else Contents(len(table.schema.columns), text)
    return estimated(plan.recipe, points_of(plan, table)[2], report=report, file=file, timed_from=timed_from)
