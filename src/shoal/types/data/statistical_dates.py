"""Dates and moments as the numbers that the files of statistical packages hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


_DAY = 86_400
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FIRST, _LAST = -719_162, 2_932_896  # days of the years 1 and 9999, which everybody can read
_SPSS_DATES = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR")
_SPSS_MOMENTS = ("DATETIME", "YMDHMS")
_SAS_DATES = (
    r"^(DATE|DAY|DOWNAME|JULDAY|JULIAN|MINGUO|MONNAME|MONTH|MONYY|NENGO|NLDATE[A-Z]*|QTRR?|WEEKDAT[EX]|WEEKDAY|"
    r"WORDDAT[EX]|YEAR|YYMON|(DDMMYY|MMDDYY|YYMMDD|MMYY|YYMM|YYQR?)[BCDNPS]?|(IS|E|B)8601DA)[0-9.]*$"
)
_SAS_MOMENTS = r"^(DATETIME|DATEAMPM|MDYAMPM|DT(DATE|MONYY|WKDATX|YEAR|YYQC)|NLDATM[A-Z]*|(IS|E|B)8601D[TN])[0-9.]*$"


@dataclass(frozen=True, slots=True)
class Clock:
    """How a package counts time: how many units a day or a second has, and how many there were at 1970.

    >>> Clock.of("stata", "%td")
    Clock(per_second=0, origin=3653, dated=True)
    """

    per_second: int  #: 0: it counts days
    origin: int  #: 1970-01-01 in its units
    dated: bool  #: its format shows days only

    @classmethod
    def of(cls, package: str, format: str | None) -> Clock | None:
        """Return the clock of a variable with this format; None if it holds no moments."""
        name = format or ""
        if package == "spss":
            word = name.rstrip("0123456789.").upper()
            return cls(1, 12_219_379_200, word in _SPSS_DATES) if word in _SPSS_DATES + _SPSS_MOMENTS else None
        if package == "stata":
            if re.match(r"^%-?t?d", name):
                return cls(0, 3_653, True)
            # %tC counts leap seconds too: without a list of them its numbers are no moments
            return cls(1_000, 315_619_200_000, False) if re.match(r"^%-?tc", name) else None
        if re.match(_SAS_DATES, name):
            return cls(0, 3_653, True)
        return cls(1, 315_619_200, False) if re.match(_SAS_MOMENTS, name) else None

    def moments(self, numbers: pa.ChunkedArray) -> pa.ChunkedArray | None:
        """Return numbers as dates or timestamps; None if these could not be the same numbers again."""
        import numpy as np
        import pyarrow as pa

        absent = np.asarray(numbers.is_null().to_numpy())
        x = np.asarray(numbers.cast(pa.float64(), safe=False).fill_null(float(self.origin)).to_numpy())
        if not np.isfinite(x).all():
            return None
        days = (x - self.origin) / (_DAY * self.per_second or 1)
        if ((days < _FIRST) | (days >= _LAST + 1)).any():
            return None
        if self.dated and _same_bits(np.floor(days) * (_DAY * self.per_second or 1) + self.origin, x):
            return pa.chunked_array([pa.array(days.astype(np.int32), mask=absent).cast(pa.date32())])
        for unit in ("ms", "us") if self.per_second else ():
            ticks = self._ticks(x, _TICKS[unit] // self.per_second)
            if _same_bits(self._numbers(ticks, _TICKS[unit]), x):
                return pa.chunked_array([pa.array(ticks, pa.int64(), mask=absent).cast(pa.timestamp(unit))])
        return None

    def _ticks(self, x: NDArray[np.float64], finer: int) -> NDArray[np.int64]:
        import numpy as np

        whole = np.floor(x)
        return (whole.astype(np.int64) - self.origin) * finer + np.rint((x - whole) * finer).astype(np.int64)

    def _numbers(self, ticks: NDArray[np.int64], per_second: int) -> NDArray[np.float64]:
        import numpy as np

        finer = per_second // self.per_second if self.per_second else per_second * _DAY
        if finer == 0:  # ticks are coarser than the clock
            return np.asarray((ticks * (self.per_second // per_second) + self.origin).astype(np.float64))
        return np.asarray((ticks // finer + self.origin) + (ticks % finer) / finer)

    def numbers(self, moments: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return dates or timestamps as the numbers of this clock; other columns as they are."""
        import numpy as np
        import pyarrow as pa

        kind = moments.type
        if not (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
            return moments
        absent = np.asarray(moments.is_null().to_numpy())
        if pa.types.is_date32(kind):
            days = np.asarray(moments.cast(pa.int32()).fill_null(0).to_numpy(), np.int64)
            found = (days * (_DAY * self.per_second or 1) + self.origin).astype(np.float64)
        else:
            ticks = np.asarray(moments.cast(pa.int64()).fill_null(0).to_numpy(), np.int64)
            found = self._numbers(ticks, _TICKS[kind.unit])
        return pa.chunked_array([pa.array(found, mask=absent)])


def _same_bits(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether all numbers are the same, and zeros have the same sign."""
    import numpy as np

    return bool((one.view(np.int64) == other.view(np.int64)).all())
