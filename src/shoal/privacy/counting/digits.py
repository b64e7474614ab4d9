"""The digits of released values, as they are written: nothing finer than the resolution that was promised."""

from __future__ import annotations

from decimal import localcontext
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.types import Release, Step

if TYPE_CHECKING:
    import pyarrow as pa


_DAY = 86_400


def too_fine(release: Release) -> list[str]:
    """Return the columns that hold a value which is no multiple of its resolution.

    >>> import pyarrow as pa
    >>> from shoal.types import Schema
    >>> left = Release(pa.table({"pay": [1.25, 0.30000000000000004]}), Schema(()), resolutions={"pay": Step(1, 2)})
    >>> too_fine(left)
    ['pay']
    """
    return [name for name, step in release.resolutions.items() if not _holds(release.values(name), step)]


def _holds(column: pa.ChunkedArray, step: Step | str) -> bool:
    import pyarrow as pa

    known = column.drop_null()
    if isinstance(step, Step):
        if pa.types.is_decimal(known.type):
            with localcontext(prec=400):
                return all(value % step.number == 0 for value in known.unique().to_pylist())
        if pa.types.is_integer(known.type):
            return step.decimals > 0 or step.multiple == 1 or all(v % step.multiple == 0 for v in _values(known))
        return pa.types.is_floating(known.type) and _are_multiples(known, step)
    return (pa.types.is_timestamp(known.type) or pa.types.is_date(known.type)) and _are_whole(known, step)


def _values(column: pa.ChunkedArray) -> list[int]:
    found: list[int] = column.unique().to_pylist()
    return found


def _are_multiples(column: pa.ChunkedArray, step: Step) -> bool:
    """Tell whether each float is the one nearest to a multiple of the step."""
    import pyarrow as pa

    if column.type != pa.float64():  # 0.1 of fewer bits is another number than 0.1; its fewest digits count
        column = column.cast(pa.float32()).cast(pa.string())
    x = column.cast(pa.float64()).to_numpy()
    unit = 10.0**step.decimals
    with np.errstate(over="ignore", invalid="ignore"):
        units = np.rint(x * unit)
        large = ~(np.abs(units) < 2.0**53)  # where neighbouring floats are farther apart than the digits asked for
        same = units / unit == x
        if step.multiple > 1:
            same &= np.fmod(units, step.multiple) == 0
    return bool((same | large).all())


def _are_whole(column: pa.ChunkedArray, unit: str) -> bool:
    """Tell whether each moment is the beginning of a unit."""
    import pyarrow as pa

    if pa.types.is_date(column.type):
        days: NDArray[np.int64] = column.cast(pa.date32()).cast(pa.int32()).to_numpy().astype(np.int64)
        rest = np.zeros(len(days), np.int64)
    else:
        per_day = _DAY * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
        ticks = column.cast(pa.int64()).to_numpy()
        length = {
            "hour": per_day // 24,
            "minute": per_day // 1_440,
            "second": per_day // _DAY,
            "millisecond": per_day // (_DAY * 10**3),
            "microsecond": per_day // (_DAY * 10**6),
            "nanosecond": per_day // (_DAY * 10**9),
        }.get(unit, per_day)
        days, rest = ticks // per_day, ticks % max(length, 1)
    if rest.any():
        return False
    if unit not in ("month", "year"):
        return True
    moments = days.astype("datetime64[D]")
    return bool((moments.astype(f"datetime64[{unit[0].upper()}]").astype("datetime64[D]") == moments).all())
