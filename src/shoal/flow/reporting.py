"""Account → report: one page, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal import progress
from shoal.flow.writing import write_text

if TYPE_CHECKING:
    from shoal.types import Account


def rendered(account: Account, edition: str = "internal") -> str:
    """Return the report of a run as the text of a page.

    Parameters
    ----------
    account
        All that is known of the run.
    edition
        ``internal``, for those who have the original, or ``external``, which may go out with what leaves.
    """
    from shoal.parameters import build
    from shoal.report.html import Html

    return build(Html, {"edition": edition}).render(account)


def write_report(account: Account, target: Path, *, edition: str = "internal", force: bool = False) -> None:
    """Write the report of a run to a file; without `force` none is replaced."""
    progress.stage("Report")
    write_text(rendered(account, edition), target, force=force)
