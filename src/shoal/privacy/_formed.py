"""Classes of a stream, looked at once more before they leave: k subjects in each, and nobody twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeError
from shoal.privacy._spelling import person_of


def fewest(sizes: NDArray[np.int64], subjects: Sequence[Any] | NDArray[Any] | None, *, exact: bool = False) -> int:
    """Return how many subjects the class of fewest has; members come class after class.

    7, 7.0 and "07" are one subject, and so are Ann and ANN, unless `exact`; a tuple about nobody counts for nothing.

    >>> fewest(np.array([3, 2]), None), fewest(np.array([3, 2]), ["a", "b", "a", "a", "c"])
    (2, 2)
    """
    if subjects is None:
        return int(sizes.min())
    if isinstance(subjects, np.ndarray) and subjects.dtype.kind in "iu":
        of = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((subjects, of))
        fresh = np.ones(len(of), np.bool_)
        fresh[1:] = (np.diff(of[order]) != 0) | (subjects[order][1:] != subjects[order][:-1])
        return int(np.bincount(of[order][fresh], minlength=len(sizes)).min())
    names, least, at = [person_of(subject, exact=exact) for subject in subjects], len(subjects), 0
    for size in sizes.tolist():
        least, at = min(least, len(set(names[at : at + size]) - {None})), at + size
    return least


def hold(
    k: int,
    sizes: NDArray[np.int64],
    subjects: Sequence[Any] | NDArray[Any] | None,
    *,
    again: int,
    exact: bool = False,
) -> None:
    """Let classes leave only if each has k subjects, and none of their tuples left before (`again` did)."""
    if not len(sizes):
        return
    found = fewest(sizes, subjects, exact=exact)
    if found < k or again:
        what = (
            f"a class of {found} subjects formed, and k is {k}" if found < k else f"{again:,} tuples would leave twice"
        )
        raise GuaranteeError(f"StreamAnonymizer: {what}. Nothing left; this is a fault of shoal, please report it.")
