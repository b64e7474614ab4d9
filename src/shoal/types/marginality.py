"""Marginality of categories: how far a value is from all records, which ranks values that have no order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.types.points import Confidential


def marginalities(attribute: Confidential) -> NDArray[np.int64]:
    """Return for each category the sum of its distances to the values of all records of the table.

    The distance of two values of a taxonomy is the height of their lowest common ancestor, as in the earth mover's
    distance of t-closeness; without a taxonomy it is 1. Sums are integers, and exact.

    **Complexity.** O(categories · height of the taxonomy).

    References: [DSR13], [SC15] Section 7.

    >>> import numpy as np
    >>> from shoal.types import Confidential
    >>> tree = np.array([4, 4, 5, 5, -1, -1])
    >>> ill = Confidential("ill", np.array([0, 0, 1, 2, 3]), np.array([2, 1, 1, 1]), ordered=False, parents=tree)
    >>> marginalities(ill).tolist()
    [5, 6, 7, 7]
    """
    import numpy as np

    records = int(attribute.counts.sum())
    if attribute.parents is None:
        return np.asarray(records - attribute.counts, np.int64)
    parents, values = attribute.parents.tolist(), len(attribute.counts)
    below = [*attribute.counts.tolist(), *([0] * (len(parents) - values))]
    height = [0] * len(parents)
    for node, up in enumerate(parents):  # parents come after their children
        if up >= 0:
            below[up] += below[node]
            height[up] = max(height[up], height[node] + 1)
    top = max(height, default=0) + 1
    found = np.zeros(values, np.int64)
    for value in range(values):
        node = value
        while node >= 0:
            up = parents[node]
            around, far = (below[up], height[up]) if up >= 0 else (records, top)
            found[value] += (around - below[node]) * far
            node = up
    return found


def by_marginality(attribute: Confidential) -> Confidential:
    """Return the attribute with its categories numbered by marginality, the most typical first; ties in their order.

    An ordered attribute is returned as it is. The result is for ranking only: distances between values are lost.

    >>> import numpy as np
    >>> from shoal.types import Confidential
    >>> by_marginality(Confidential("ill", np.array([0, 1, 1]), np.array([1, 2]), ordered=False)).codes.tolist()
    [1, 0, 0]
    """
    import numpy as np

    from shoal.types.points import Confidential

    if attribute.ordered:
        return attribute
    order = np.argsort(marginalities(attribute), kind="stable")
    return Confidential(attribute.name, np.argsort(order)[attribute.codes], attribute.counts[order])


_GOLDEN = 0.6180339887498949  # multiples of it, modulo 1, fill the unit interval evenly


def spread_ranks(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank of each record by its code, from 0; records with equal codes are spread over their ranks.

    Categories have many equal records. Were these ranked by row, in tables sorted by quasi-identifiers a run of ranks
    would hold neighbours only. The i-th record of a code, by row, is placed by the fractional part of i times the
    golden ratio, so that every run of ranks has records from all over the table.

    >>> import numpy as np
    >>> spread_ranks(np.array([1, 0, 0, 0, 0, 1])).tolist()
    [4, 0, 2, 1, 3, 5]
    """
    import numpy as np

    n = len(codes)
    order = np.argsort(codes, kind="stable")
    first = np.cumsum(np.bincount(codes)) - np.bincount(codes)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n) - first[codes[order]]
    ranks = np.empty(n, np.int64)
    ranks[np.lexsort((place * _GOLDEN % 1.0, codes))] = np.arange(n)
    return ranks
