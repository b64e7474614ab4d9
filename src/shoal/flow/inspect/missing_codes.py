"""Codes that often stand for a missing value, such as 999, -9 and 9999-12-31, far from all other values of a column."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_NINES = [float(f"9{'9' * more}") for more in range(1, 9)]
_NUMBERS = (*(-float(one) for one in range(1, 10)), *_NINES, *(one - 1 for one in _NINES))
_NUMBERS += (*(-one for one in _NINES), *(1 - one for one in _NINES), *(2 - one for one in _NINES), -66.0, -77.0, -88.0)
_DAYS = (
    *("0001-01-01", "1582-10-14", "1582-10-15", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01"),
    *("1901-01-01", "2099-12-31", "2199-12-31", "2200-01-01", "2999-12-31", "9999-12-30", "9999-12-31", "9999-09-09"),
)
_FEW = 5  # distinct other values, at least
_GAP = 0.5  # distance of a code from the others, as a share of their range


def far_numbers(numbers: NDArray[np.float64], known: Collection[float] = ()) -> NDArray[np.bool_]:
    """Tell which distinct numbers are usual codes for a missing value, or known ones, and far from all others.

    Negative codes are far from numbers that are not negative.

    >>> far_numbers(np.array([31.0, 999.0, 44.0, 18.0, 60.0, 61.0, -9.0])).tolist()
    [False, True, False, False, False, False, True]
    >>> bool(far_numbers(np.array([95.0, 99.0, 44.0, 18.0, 60.0, 61.0])).any())  # an age
    False
    """
    return _far(numbers, np.isin(numbers, [*known, *_NUMBERS]))


def far_days(days: pa.Array) -> NDArray[np.bool_]:
    """Tell which distinct dates are usual codes for a missing value, and far from all others.

    >>> far_days(pa.array(np.array(["9999-12-31", *(f"19{year}-05-01" for year in range(70, 76))], "datetime64[D]")))
    array([ True, False, False, False, False, False, False])
    """
    moments = days.cast(pa.timestamp("s"), safe=False).to_numpy(zero_copy_only=False).astype("datetime64[D]")
    usual = np.isin(moments, np.array(_DAYS, "datetime64[D]"))
    return _far(moments.astype(np.float64), usual, negative=False)


def _far(values: NDArray[np.float64], usual: NDArray[np.bool_], *, negative: bool = True) -> NDArray[np.bool_]:
    others = values[~usual]
    if len(others) < _FEW or not usual.any():
        return np.zeros(len(values), np.bool_)
    low, high = others.min(), others.max()
    distance = np.maximum(low - values, values - high)
    found: NDArray[np.bool_] = usual & ((distance > _GAP * (high - low)) | (negative & (values < 0) & (low >= 0)))
    return found
