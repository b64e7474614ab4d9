"""The synthetic survey, and a demonstration that protects it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.flow.demo import Survey

if TYPE_CHECKING:
    from shoal.flow.demo import Demonstration


def survey(records: int = 5000, seed: int = 0) -> pa.Table:
    """Return a synthetic survey of invented people: the same table for the same arguments."""
    return Survey(records=records, seed=seed).read()


def demo(folder: str | Path = "demo", *, force: bool = False) -> Demonstration:
    """Write the synthetic survey, its taxonomy and a recipe to a folder, and protect it there.

    Parameters
    ----------
    folder
        Where the files go; created if it does not exist.
    force
        Replace the files of an earlier run.

    Returns
    -------
    Demonstration
        ``files``, ``done`` (as from :func:`shoal.protect`), ``strata`` (an audit of each region), and one household
        ``before`` and ``after``.
    """
    from shoal.flow.demo import demonstrate  # which loads the compiler; the survey does not need it

    return demonstrate(Path(folder), force=force)
