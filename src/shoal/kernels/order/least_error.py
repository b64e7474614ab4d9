"""Cut of sorted values with the least expected error: the SSE of the classes plus the noise that they need.

If a class of m values is released as its mean plus Laplace noise of scale Δ/(mε), the same for all members, its
expected squared error is SSE + m · 2(Δ/(mε))² = SSE + s²/m, where s = √2·Δ/ε. With w(i, j) the error of the class of
values i+1 … j, the least error of the first j values is E(j) = min over i of E(i) + w(i, j).

w satisfies the *quadrangle inequality*: w(a, c) + w(b, d) ≤ w(a, d) + w(b, c) for a ≤ b ≤ c ≤ d.

- *The noise.* s²/m is convex in m, infinite below the minimum size. The lengths c − a and d − b lie between c − b and
  d − a and have the same sum, so the sum of their convex values is no larger.
- *The SSE.* Let μ be the mean of values a+1 … d and ν that of b+1 … c, and assume ν ≤ μ. No centre of a class is better
  than its mean, so the left side is at most its value with ν as centre of a+1 … c and μ as centre of b+1 … d. There,
  every value has the same centre as on the right side, except a+1 … b, which have ν in place of μ. These are ≤ every
  value of the inner class, so ≤ ν ≤ μ, and ν is nearer. If ν ≥ μ, mirror the values.

It follows that a later start of the last class, once it is better, stays better: E(i′) + w(i′, j) < E(i) + w(i, j) with
i < i′ holds for all j′ > j too. So the starts that are best for some j form a queue, each with the first j from which
it is best; a new start replaces entries at the end of the queue, and a binary search finds where it takes over.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.progress import report
from shoal.types import Footing

_SUM, _SUM_LOW, _SQUARES, _SQUARES_LOW = range(4)  # running sums of x and x², high and low parts
_HEAD, _TAIL = range(2)  # state of the queue: its first entry, and the one after its last
_VALUES_PER_CALL = 200_000  # a few tenths of a second between two progress reports
_SPLITTER = 134217729.0  # 2²⁷ + 1


@part
def _plus(a, a_low, b, b_low):
    """Add two numbers of 106 bits, each the sum of two float64."""
    total = a + b
    there = total - a
    low = (a - (total - there)) + (b - there) + (a_low + b_low)
    high = total + low
    return high, low - (high - total)


@part
def _times(a, b):
    """Multiply two float64 exactly: return the product and its rounding error (Dekker)."""
    t = _SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = _SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    product = a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def _running_sums(x, sums):
    """Write Σx and Σx² of the first j values, high and low parts, to column j."""
    sums[:, 0] = 0.0
    for j in range(x.shape[0]):
        sums[_SUM, j + 1], sums[_SUM_LOW, j + 1] = _plus(sums[_SUM, j], sums[_SUM_LOW, j], x[j], 0.0)
        square, low = _times(x[j], x[j])
        sums[_SQUARES, j + 1], sums[_SQUARES_LOW, j + 1] = _plus(sums[_SQUARES, j], sums[_SQUARES_LOW, j], square, low)


@part
def _error(sums, noise, i, j):
    """Return the expected error of values i+1 … j as one class: S₂ − S₁²/m, in 106 bits, plus the noise."""
    m = float(j - i)
    first, first_low = _plus(sums[_SUM, j], sums[_SUM_LOW, j], -sums[_SUM, i], -sums[_SUM_LOW, i])
    second, second_low = _plus(sums[_SQUARES, j], sums[_SQUARES_LOW, j], -sums[_SQUARES, i], -sums[_SQUARES_LOW, i])
    square, square_low = _times(first, first)
    square_low += 2.0 * first * first_low
    share = square / m
    product, product_low = _times(share, m)
    share_low = (((square - product) - product_low) + square_low) / m
    sse, _ = _plus(second, second_low, -share, -share_low)
    return max(sse, 0.0) + noise / m


@kernel
def _least_errors(sums, noise, k, begin, end, least, last, owners, starts, state):
    """Find the least errors of the first `begin` … `end` − 1 values, given those of fewer; the queue persists.

    The queue is `owners` (starts of last classes) and `starts` (the first j for which each is best), from
    `state[_HEAD]` to `state[_TAIL]` − 1.
    """
    n = least.shape[0] - 1
    head, tail = state[_HEAD], state[_TAIL]
    for j in range(begin, end):
        i = j - k  # from here on, a last class that starts at i fits
        if i == 0 or i >= k:
            while tail > head:
                at = max(starts[tail - 1], j)
                b = owners[tail - 1]
                if least[i] + _error(sums, noise, i, at) < least[b] + _error(sums, noise, b, at):
                    tail -= 1
                else:
                    break
            start = j
            if tail > head:
                b = owners[tail - 1]
                low, start = max(starts[tail - 1], j), n + 1  # not better at low, and perhaps never
                while start - low > 1:
                    middle = (low + start) // 2
                    if least[i] + _error(sums, noise, i, middle) < least[b] + _error(sums, noise, b, middle):
                        start = middle
                    else:
                        low = middle
            if start <= n:
                owners[tail], starts[tail] = i, start
                tail += 1
        while head + 1 < tail and starts[head + 1] <= j:
            head += 1
        last[j] = owners[head]
        least[j] = least[owners[head]] + _error(sums, noise, owners[head], j)
    state[_HEAD], state[_TAIL] = head, tail


def least_error_cut(ordered: np.ndarray, scale: float, k: int = 1) -> np.ndarray:
    """Cut sorted values into runs with the least expected error: SSE plus noise.

    `ordered` is (n,), ascending; `scale` is √2·Δ/ε, the deviation of the noise of a class of one record, ≥ 0 (infinite
    counts as the largest float); k ≥ 1. Class c is ``ordered[bounds[c]:bounds[c + 1]]`` of the bounds returned.

    Guarantee: every class has at least k values, and no partition into classes of at least k has a lower Σ SSE +
    scale²/size, up to rounding: the SSE of a class is accurate to about n · 2⁻¹⁰² of the largest square, the least
    errors to n units in the last place. Among equally good last classes, the largest is taken.

    Complexity: O(n log n) time, O(n) memory.

    >>> least_error_cut(np.array([0.0, 1.0, 2.0, 90.0, 91.0]), 3.0).tolist()
    [0, 3, 5]
    """
    announce(_least_errors)
    n = len(ordered)
    x, deviation = _in_range(ordered, scale)
    sums = np.empty((4, n + 1))
    _running_sums(x, sums)
    least, last = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    least[0] = 0.0
    owners, starts, state = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.zeros(2, np.int64)
    for begin in range(k, n + 1, _VALUES_PER_CALL):
        end = min(begin + _VALUES_PER_CALL, n + 1)
        _least_errors(sums, deviation * deviation, k, begin, end, least, last, owners, starts, state)
        report(end - 1, n)
    path = [n]
    while path[-1] > 0:
        path.append(int(last[path[-1]]))
    return np.array(path[::-1], np.int64)


def _in_range(ordered: np.ndarray, scale: float) -> tuple[np.ndarray, float]:
    """Scale both by a power of two so that no square overflows and not all vanish; the best cut stays the same."""
    scale = min(scale, float(np.finfo(np.float64).max))
    largest = max(float(ordered[-1]), -float(ordered[0]), scale)
    shift = -math.frexp(largest)[1] if largest > 0 else 0
    return np.ldexp(ordered, shift), math.ldexp(scale, shift)


_LEAST = 0.01  # of an even share: minimum for a block, even if its noise seems not to matter
_ROUNDS = 100
_ENOUGH = 1e-5  # stop after a round that gains no more than this share of the error


def even_shares(m: int) -> np.ndarray:
    """Return equal shares for m blocks: IR_MDAV+DP_1 of [SD17]."""
    return np.full(m, 1.0 / m)


def width_shares(widths: np.ndarray) -> np.ndarray:
    """Return shares in proportion to the widths of the domains: [SD17] Expression (1), ε_i = ε·ΔD_i/ΔD.

    >>> width_shares(np.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    largest = widths.max(initial=0.0)
    return _shares(widths / largest) if largest > 0 else even_shares(len(widths))


def in_own_units(widths: np.ndarray, footings: Sequence[Footing]) -> np.ndarray:
    """Convert widths of coordinates to widths of columns, as in Expression (1); those of bare points stay."""
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
    """Return the shares that minimise the total expected error of variable-size classes of each attribute.

    The method alternates two steps that never raise the error: the best cut of each attribute for given
    shares, then the best shares for given cuts. The noise of attribute i is a_i/ε_i², where a_i = 2Δ_i²·Σ 1/size, and
    the sum for a given Σ ε_i is least where all derivatives −2a_i/ε_i³ are equal, that is ε_i ∝ ∛a_i. The steps repeat
    until little changes, starting from even shares and from those of Expression (1), and the better result is taken.

    `columns` are (n,) sorted values of each of m attributes, `widths` (m,) those of their domains, in the same unit;
    k ≥ 1. `footings` describe how columns became coordinates, for Expression (1); empty for bare points.

    Guarantee: the error is at most that of the best cuts with even shares, and with those of Expression (1). Each step
    reaches its minimum, but the result need not be the global one. Every share is at least a hundredth of an even one.
    **The shares depend on the data**, as classes do.

    Complexity: O(m·n log n) for each round, at most 100 from each start; about ten rounds are usual.

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
    """Return the least error reached from given shares, and the shares there."""
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
    """Return √2·Δ/ε of each block, the deviation of the noise of a class of one record; infinite on overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(2.0) * widths / epsilons)


def run_sse(ordered: np.ndarray, bounds: np.ndarray) -> float:
    """Return the SSE of values cut into runs."""
    sizes = np.diff(bounds)
    means = np.add.reduceat(ordered, bounds[:-1]) / sizes
    return float(((ordered - np.repeat(means, sizes)) ** 2).sum())


def _shares(parts: np.ndarray) -> np.ndarray:
    """Scale parts so that they sum to 1 and none is zero."""
    total = parts.sum()
    if not total > 0:
        return even_shares(len(parts))
    least = _LEAST / len(parts)
    return np.asarray(least + (1 - _LEAST) * parts / total) if (parts < least * total).any() else parts / total
