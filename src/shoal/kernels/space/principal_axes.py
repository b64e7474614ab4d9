"""Points on fewer axes, for searches that try millions of moves and need not see every small difference.

Categories take a coordinate for each value and each group, but few of them vary much: the points of Adult have 158
coordinates, lie in 87 dimensions, and all but a two-hundredth of their variance lies in 48.
"""

from __future__ import annotations

import numpy as np

_NARROW = 24  # coordinates up to which nothing is gained
_WIDE = 512  # coordinates beyond which finding the axes would take longer than it saves
_PAYS = 2 / 3  # largest share of the coordinates that the axes may come to
_LEFT_OUT = 0.005  # largest share of the variance that the axes may leave out
_SAMPLE = 8192  # records that the axes are found from, …
_PRODUCTS = 3e8  # … or fewer where there are many coordinates, …
_EACH = 4  # … but so many for each


def on_main_axes(x: np.ndarray) -> np.ndarray:
    """Return points in the coordinates of their principal axes, without the axes along which they hardly vary.

    Squares do not overflow. Returns `x` itself where d is small or very large, or p axes would not be much fewer than
    d.

    Guarantee: no two points are farther apart than they were, but for rounding; equal points stay equal. Of the
    variance of a sample at most a two-hundredth is left out. Complexity: O(n·d·p + d³).

    >>> two = np.array([[0.0, 3.0], [4.0, 0.0]])
    >>> on_main_axes(two) is two
    True
    >>> on_main_axes(np.repeat(two, 20, axis=1)).shape
    (2, 1)
    """
    n, d = x.shape
    if not _NARROW < d <= _WIDE:
        return x
    rows = max(min(_SAMPLE, int(_PRODUCTS / d**2)), _EACH * d)
    sample = x[:: max(n // rows, 1)]
    origin = sample.mean(axis=0)
    apart = sample - origin
    largest = np.abs(apart).max()
    if largest == 0.0:
        return x
    apart /= largest
    # einsum and not a BLAS, whose order of additions depends on its threads: same points, same axes
    values, vectors = np.linalg.eigh(np.einsum("ij,ik->jk", apart, apart))
    kept = np.cumsum(np.maximum(values[::-1], 0.0))
    p = int(np.argmax(kept >= (1.0 - _LEFT_OUT) * kept[-1])) + 1
    if p > _PAYS * d:
        return x
    axes = np.ascontiguousarray(vectors[:, ::-1].T[:p])
    return np.asarray(np.einsum("ij,lj->il", x - origin, axes))
