"""What changed in the attributes: means and deviations, correlations, and each stratum by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.types import Codes, Comparison, Pair

Floats = NDArray[np.float64]

_ROWS = 65_536  # taken at once, so that a million records need no more room than these


class Moments(NamedTuple):
    """Mean and deviation of an attribute before and after; NaN where a few records would show through."""

    means: tuple[float, float]
    deviations: tuple[float, float]
    mean_change: float  #: in percent of the deviation before
    deviation_change: float  #: in percent


def moments(pair: Pair, least: int) -> Moments:
    """Return the moments of the records that have a value before and after.

    A mean over fewer than `least` records, and one of which a single record makes more than half, says too much about
    somebody; likewise a deviation.

    >>> moments(Pair(np.arange(10.0), np.repeat([2.0, 7.0], 5)), 3).means
    (4.5, 4.5)
    """
    there = np.isfinite(pair.before) & np.isfinite(pair.after)
    columns = [pair.before[there], pair.after[there]]
    if len(columns[0]) < least:
        return Moments((np.nan, np.nan), (np.nan, np.nan), np.nan, np.nan)
    with np.errstate(all="ignore"):  # sums of the largest floats there are may be infinite
        means, deviations = [c.mean() for c in columns], [c.std() for c in columns]
        change = 100 * (means[1] - means[0]) / deviations[0] if deviations[0] > 0 else np.nan
        wider = 100 * (deviations[1] / deviations[0] - 1) if deviations[0] > 0 else np.nan
        shown = [float(m) if _nobody_dominates(np.abs(c)) else np.nan for m, c in zip(means, columns, strict=True)]
        spread = zip(deviations, means, columns, strict=True)
        around = [float(s) if _nobody_dominates((c - m) ** 2) else np.nan for s, m, c in spread]
    # what left is known, so that a change would give away what is not shown of the original
    change = np.nan if np.isnan(shown[0]) else float(change)
    wider = np.nan if np.isnan(around[0]) else float(wider)
    return Moments((shown[0], shown[1]), (around[0], around[1]), change, wider)


def _nobody_dominates(parts: Floats) -> bool:
    """Tell whether no record makes more than half of a sum."""
    total = parts.sum()
    return bool(np.isfinite(total) and (total == 0 or 2 * parts.max() <= total))


def correlations(numbers: Mapping[str, Pair], names: Sequence[str], least: int) -> tuple[Floats, Floats]:
    """Return the correlations before and after, each pair of attributes over the records that have all four values.

    NaN where there are fewer than `least` of these, or where an attribute does not vary.
    """
    pairs = [numbers[name] for name in names]
    known = [np.isfinite(p.before) & np.isfinite(p.after) for p in pairs]
    with np.errstate(all="ignore"):
        return (
            _correlations([p.before for p in pairs], known, least),
            _correlations([p.after for p in pairs], known, least),
        )


def _correlations(columns: list[Floats], known: list[NDArray[np.bool_]], least: int) -> Floats:
    """Return the correlations of columns, from sums over what is known of both."""
    d = len(columns)
    scales = [(c[k].mean(), c[k].std()) if k.any() else (0.0, 1.0) for c, k in zip(columns, known, strict=True)]
    both, one, square, many = (np.zeros((d, d)) for _ in range(4))
    for at in range(0, len(columns[0]), _ROWS):
        rows = slice(at, at + _ROWS)
        there = np.array([k[rows] for k in known], dtype=np.float64)
        inside = zip(columns, known, scales, strict=True)
        x = np.array([np.where(k[rows], (c[rows] - m) / (s or 1.0), 0.0) for c, k, (m, s) in inside])
        both += x @ x.T
        one += x @ there.T
        square += x**2 @ there.T
        many += there @ there.T
    spread = square - one**2 / many
    found = (both - one * one.T / many) / np.sqrt(spread * spread.T)
    steady = np.array([s == 0 for _, s in scales])
    found[(many < least) | steady[:, None] | steady[None, :] | (spread <= 1e-12 * many)] = np.nan
    return np.clip(found, -1.0, 1.0)


class Stratum(NamedTuple):
    """What changed in a stratum: the largest change of any attribute, each in its unit."""

    name: str
    records: int
    mean: float  #: in percent of the deviation in the stratum
    deviation: float  #: in percent
    frequencies: float  #: total variation distance, in percent


def strata_of(comparison: Comparison, least: int, most: int) -> list[Stratum]:
    """Return what changed in each stratum; the first `most` of those that hold at least `least` records."""
    if comparison.strata is None:
        return []
    order = np.argsort(comparison.strata, kind="stable")
    numbers, begins = np.unique(comparison.strata[order], return_index=True)
    parts = zip(numbers.tolist(), np.split(order, begins[1:]), strict=True)
    large = [(number, rows) for number, rows in parts if len(rows) >= least][:most]
    return [_stratum(comparison, number, rows, least) for number, rows in large]


def _stratum(comparison: Comparison, number: int, rows: NDArray[np.int64], least: int) -> Stratum:
    inside = [moments(Pair(p.before[rows], p.after[rows]), least) for p in comparison.numbers.values()]
    moved = [variation(codes, rows) for codes in comparison.categories.values()]
    return Stratum(
        f"stratum {number}",
        len(rows),
        _largest([m.mean_change for m in inside]),
        _largest([m.deviation_change for m in inside]),
        _largest(moved),
    )


def _largest(changes: list[float]) -> float:
    """Return the change that is farthest from none, with its sign."""
    known = [change for change in changes if np.isfinite(change)]
    return max(known, key=abs) if known else np.nan


def variation(codes: Codes, rows: NDArray[np.int64] | slice = slice(None)) -> float:
    """Return half the sum of the changes of shares, in percent, of records that have a category before and after.

    >>> variation(Codes(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), ("a", "b")))
    25.0
    """
    before, after = codes.before[rows], codes.after[rows]
    there = (before >= 0) & (after >= 0)
    if not there.any():
        return float(np.nan)
    size = len(codes.names)
    difference = np.bincount(before[there], minlength=size) - np.bincount(after[there], minlength=size)
    return float(50 * np.abs(difference).sum() / np.count_nonzero(there))
