"""Sets of combinations: people whose records, all together, are written the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sets_of(people: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the set of each person, from 0; equal numbers mean the same codes, each equally often.

    Parameters
    ----------
    people
        The person of each record, numbered from 0 without gaps.
    codes
        The combination of each record, as a number.

    **Complexity.** O(n log n) for n records.

    >>> sets_of(np.array([0, 0, 1, 1, 2, 2]), np.array([7, 8, 8, 7, 7, 7])).tolist()
    [0, 0, 1]
    """
    order = np.lexsort((codes, people))
    whose, what = people[order], codes[order]
    ends = np.flatnonzero(np.concatenate((whose[1:] != whose[:-1], [True]))) if len(whose) else np.empty(0, np.int64)
    begins = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    numbers: dict[bytes, int] = {}
    what = np.ascontiguousarray(what, np.int64)
    found = [
        numbers.setdefault(what[begin : end + 1].tobytes(), len(numbers))
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    return np.array(found, np.int64)
