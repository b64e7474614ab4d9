"""Copied combinations: unique combinations of the originals that the release reproduces."""

from __future__ import annotations

import numpy as np

from shoal.risk.control.tables import Tables


def copied(tables: Tables) -> float:
    """Return the percentage of unique original combinations of values that occur in the release.

    A combination of quasi-identifiers that one original record has points to this person wherever it occurs. 0 if no
    original combination is unique. **Complexity.** O((n + r)·m·log(n + r)).

    >>> x = np.array([[1.0], [2.0], [2.0], [3.0]])
    >>> copied(Tables(x, x, np.array([[3.0], [2.0]]), (True,)))
    50.0
    """
    values, counts = np.unique(tables.original, axis=0, return_counts=True)
    unique = values[counts == 1]
    if not len(unique):
        return 0.0
    _, seen = np.unique(np.concatenate([unique, np.unique(tables.released, axis=0)]), axis=0, return_counts=True)
    return 100.0 * int(np.count_nonzero(seen > 1)) / len(unique)
