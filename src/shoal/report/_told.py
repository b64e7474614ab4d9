"""What a report tells of a reading: nothing that stands for fewer records than classes hold.

Whoever reads a report may have the output, too. With it a change of a statistic gives the statistic of the original,
and of a few records that is somebody's value: a quantile always is, and a range is that of two.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from shoal.types import Reading

_STRATUM = re.compile(r" in (a stratum|stratum \d+)$| a stratum$")  # the section on strata tells what may be told
_TAIL = 0.05  # of the records lie beyond the outermost quantiles
_DECIMALS = 2  # of a quantile, in deviations: so that it is no value, but where values are
#: Of single attributes: with the output they give an original mean, deviation, quantile, coefficient or range.
_INSIDE = ("means", "quantiles", "regression", "sse_normalised", "variances")


def told(reading: Reading, records: int, least: int, *, external: bool) -> Reading | None:
    """Return a reading as it may be told; None if nothing of it may be.

    >>> found = Reading("quantiles", 0.1234, "low", (0.0, math.inf), parts=(("pay, 5 %", -0.1234),))
    >>> told(found, 100, 5, external=False).parts, told(found, 100, 5, external=True) is None
    ((('pay, 5 %', -0.12),), True)
    >>> told(found, 99, 5, external=False).note
    'fewer than 5 records lie beyond a quantile, so that it would be the value of somebody'
    """
    if external and reading.measure in _INSIDE:
        return None
    parts = tuple(part for part in reading.parts if not _STRATUM.search(part[0]))
    if reading.measure == "sse_normalised":  # with the deviations each gives the range of its attribute
        parts = ()
    if reading.measure != "quantiles" or math.isnan(reading.value):
        return replace(reading, parts=parts)
    if _TAIL * records < least:
        why = f"fewer than {least} records lie beyond a quantile, so that it would be the value of somebody"
        return replace(reading, value=math.nan, parts=(), note=why)
    rounded = tuple((name, round(value, _DECIMALS)) for name, value in parts)
    return replace(reading, value=round(reading.value, _DECIMALS), parts=rounded)
