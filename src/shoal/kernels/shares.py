"""How ε is shared among blocks of attributes: evenly, by the widths of their domains, or where the error is least."""

# mypy: allow-untyped-calls
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.kernels.least_error import least_error_cut
from shoal.types import Footing

_LEAST = 0.01  # of an even share: what a block has at least, though its noise seem to count for nothing
_ROUNDS = 100
_ENOUGH = 1e-5  # a round that gains no more than this part of the error is the last


def even_shares(m: int) -> np.ndarray:
    """Return the same share for each of m blocks: IR_MDAV+DP_1 of [SD17]."""
    return np.full(m, 1.0 / m)


def width_shares(widths: np.ndarray) -> np.ndarray:
    """Return shares in the proportion of the widths of domains: [SD17] Expression (1), ε_i = ε·ΔD_i/ΔD.

    >>> width_shares(np.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    largest = widths.max(initial=0.0)
    return _shares(widths / largest) if largest > 0 else even_shares(len(widths))


def in_own_units(widths: np.ndarray, footings: Sequence[Footing]) -> np.ndarray:
    """Return widths of coordinates as widths of columns, which Expression (1) is about; of bare points the same."""
    if not footings:
        return widths
    with np.errstate(over="ignore"):
        own = [np.ldexp(width * f.spread, f.exponent) for width, f in zip(widths, footings, strict=True)]
    return np.asarray(np.nan_to_num(np.array(own)))


def least_error_shares(
    columns: Sequence[np.ndarray],
    widths: np.ndarray,
    epsilon: float,
    k: int = 1,
    footings: Sequence[Footing] = (),
) -> np.ndarray:
    """Return the shares with which variable-size classes of each attribute have the least expected error in sum.

    Two steps in turn, neither of which can raise the error. The best cut of each attribute for given shares. Then the
    best shares for given cuts: the noise of attribute i is a_i/ε_i², where a_i = 2Δ_i²·Σ 1/size, and the sum for a
    given Σ ε_i is least where all derivatives −2a_i/ε_i³ are equal, that is ε_i ∝ ∛a_i. They are repeated until
    little changes, from even shares and from those of Expression (1), and the better end is taken.

    Parameters
    ----------
    columns : m arrays of shape (n,)
        Finite sorted values of each attribute.
    widths : (m,) float64
        How wide the domain of each is, in the same unit.
    epsilon : float
        What is shared, > 0.
    k : int
        Least size of a class, at least 1.
    footings
        How columns became coordinates, for Expression (1); none for bare points.

    Guarantee: the error is at most that of the best cuts with even shares, and with those of Expression (1). It is a
    minimum in each step, not one that is certain to be the least of all. Every share is at least a hundredth of an even
    one. **The shares depend on the data**, as classes do.

    Complexity: O(m·n log n) for each round, at most 100 from each start; some ten rounds are usual.

    Examples
    --------
    >>> columns = [np.arange(8.0), np.arange(8.0)]
    >>> least_error_shares(columns, np.array([1.0, 8.0]), 1.0).round(3).tolist()
    [0.284, 0.716]
    """
    largest = max(float(widths.max()), *(float(np.abs(column[[0, -1]]).max()) for column in columns))
    if largest == 0.0:
        return even_shares(len(widths))
    shift = -math.frexp(largest)[1]
    scaled, wide = [np.ldexp(column, shift) for column in columns], np.ldexp(widths, shift)
    starts = (even_shares(len(wide)), width_shares(in_own_units(widths, footings)))
    ends = [_descend(scaled, wide, epsilon, k, start) for start in starts]
    return min(ends, key=lambda end: end[0])[1]


def _descend(
    columns: Sequence[np.ndarray], widths: np.ndarray, epsilon: float, k: int, shares: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the least error that is reached from some shares, and the shares there."""
    reached, best = np.inf, shares
    for _ in range(_ROUNDS):
        scales = noise_scales(widths, shares * epsilon)
        cuts = [least_error_cut(x, float(s), k) for x, s in zip(columns, scales, strict=True)]
        inverse = np.array([(1.0 / np.diff(bounds)).sum() for bounds in cuts])
        error = sum(run_sse(x, bounds) for x, bounds in zip(columns, cuts, strict=True))
        error += float((scales**2 * inverse).sum())
        gained, reached, best = (reached - error, error, shares) if error < reached else (0.0, reached, best)
        if gained <= _ENOUGH * reached:
            break
        shares = _shares(np.cbrt(widths**2 * inverse))
    return reached, best


def noise_scales(widths: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """Return √2·Δ/ε of each block: the deviation of the noise of a class of one record; infinite if too large."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(2.0) * widths / epsilons)


def run_sse(ordered: np.ndarray, bounds: np.ndarray) -> float:
    """Return the SSE of values cut into runs."""
    sizes = np.diff(bounds)
    means = np.add.reduceat(ordered, bounds[:-1]) / sizes
    return float(((ordered - np.repeat(means, sizes)) ** 2).sum())


def _shares(parts: np.ndarray) -> np.ndarray:
    """Return parts that sum to 1, none of them nothing."""
    total = parts.sum()
    if not total > 0:
        return even_shares(len(parts))
    least = _LEAST / len(parts)
    return np.asarray(least + (1 - _LEAST) * parts / total) if (parts < least * total).any() else parts / total
