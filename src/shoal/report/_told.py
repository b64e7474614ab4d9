"""What a report tells of a reading: nothing that stands for fewer records than classes hold.

Whoever reads a report may have the output, too. With it a change of a statistic gives the statistic of the original,
and of a few records that is somebody's value: a quantile always is, and a range is that of two. The normalised SSE of
an attribute gives its range.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from shoal.report._changes import moments
from shoal.types import Account, Reading

_STRATUM = re.compile(r" in (a stratum|stratum \d+)$| a stratum$")  # the section on strata tells what may be told
_RAW = "raw"  # a sum in the attributes' own units, of which one record may make most
_TAIL = 0.05  # of the records lie beyond the outermost quantiles
_DECIMALS = 2  # of a quantile, in deviations: so that it is no value, but where values are
#: Of single attributes: with the output they give an original mean, deviation, quantile, coefficient or range.
_INSIDE = ("means", "quantiles", "regression", "sse_normalised", "variances")


#: Changes of single attributes, which with the output give what is not shown in the table of means.
_CHANGES = ("means", "variances")


@dataclass(frozen=True)
class Telling:
    """Who reads, and what must not be told: what stands for fewer than `least` of so many records.

    `hidden` are the attributes of which a single record makes most of the mean or the deviation.
    """

    records: int
    least: int
    hidden: frozenset[str] = frozenset()
    external: bool = False

    @classmethod
    def of(cls, account: Account, least: int, *, external: bool) -> Telling:
        """Return what may be told of a run."""
        found = account.comparison
        pairs = {} if found is None else {name: found.numbers[name] for name in found.numeric}
        shown = {name: moments(pair, least) for name, pair in pairs.items()}
        few = [name for name, one in shown.items() if np.isnan([one.means[0], one.deviations[0]]).any()]
        return cls(account.audit.records, least, frozenset(few), external)

    def told(self, reading: Reading) -> Reading | None:
        """Return a reading as it may be told; None if nothing of it may be.

        >>> found = Reading("quantiles", 0.1234, "low", (0.0, math.inf), parts=(("pay, 5 %", -0.1234),))
        >>> Telling(100, 5).told(found).parts, Telling(100, 5, external=True).told(found) is None
        ((('pay, 5 %', -0.12),), True)
        >>> Telling(99, 5).told(found).note
        'fewer than 5 records lie beyond a quantile, so that it would be the value of somebody'
        """
        if self.external and reading.measure in _INSIDE:
            return None
        listed = tuple(part for part in reading.parts if not _STRATUM.search(part[0]) and part[0] != _RAW)
        whole = replace(reading, parts=() if reading.measure == "sse_normalised" else listed)
        if math.isnan(whole.value):
            return whole
        if whole.measure in _CHANGES:
            return self._of_many(whole)
        return self._rounded(whole) if whole.measure == "quantiles" else whole

    def _of_many(self, reading: Reading) -> Reading:
        """Return changes without the attributes of which a single record makes most."""
        kept = tuple(part for part in reading.parts if part[0] not in self.hidden)
        if len(kept) == len(reading.parts):
            return reading
        few = f"attributes of which one record makes most are left out: {len(reading.parts) - len(kept):,}"
        return replace(reading, value=max((abs(v) for _, v in kept), default=math.nan), parts=kept, note=few)

    def _rounded(self, reading: Reading) -> Reading:
        """Return quantiles so that none is a value; nothing where few records lie beyond them."""
        if _TAIL * self.records < self.least:
            why = f"fewer than {self.least} records lie beyond a quantile, so that it would be the value of somebody"
            return replace(reading, value=math.nan, parts=(), note=why)
        parts = tuple((name, round(value, _DECIMALS)) for name, value in reading.parts)
        return replace(reading, value=round(reading.value, _DECIMALS), parts=parts)
