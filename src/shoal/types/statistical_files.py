"""Metadata and dates of statistical packages (SPSS, Stata, SAS)."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


_DAY = 86_400
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FIRST, _LAST = -719_162, 2_932_896  # days of the years 1 and 9999, which every package can read
_SPSS_DATES = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR")
_SPSS_MOMENTS = ("DATETIME", "YMDHMS")
_SAS_DATES = (
    r"^(DATE|DAY|DOWNAME|JULDAY|JULIAN|MINGUO|MONNAME|MONTH|MONYY|NENGO|NLDATE[A-Z]*|QTRR?|WEEKDAT[EX]|WEEKDAY|"
    r"WORDDAT[EX]|YEAR|YYMON|(DDMMYY|MMDDYY|YYMMDD|MMYY|YYMM|YYQR?)[BCDNPS]?|(IS|E|B)8601DA)[0-9.]*$"
)
_SAS_MOMENTS = r"^(DATETIME|DATEAMPM|MDYAMPM|DT(DATE|MONYY|WKDATX|YEAR|YYQC)|NLDATM[A-Z]*|(IS|E|B)8601D[TN])[0-9.]*$"


@dataclass(frozen=True, slots=True)
class Clock:
    """Clock of a statistical package: its units per second, or days, and the count at 1970-01-01.

    >>> Clock.of("stata", "%td")
    Clock(per_second=0, origin=3653, dated=True)
    """

    per_second: int  #: 0: it counts days
    origin: int  #: 1970-01-01 in its units
    dated: bool  #: its format shows days only

    @classmethod
    def of(cls, package: str, format: str | None) -> Clock | None:
        """Return the clock of a variable with this format; None if it is not a date or time."""
        name = format or ""
        if package == "spss":
            word = name.rstrip("0123456789.").upper()
            return cls(1, 12_219_379_200, word in _SPSS_DATES) if word in _SPSS_DATES + _SPSS_MOMENTS else None
        if package == "stata":
            if re.match(r"^%-?t?d", name):
                return cls(0, 3_653, True)
            # %tC also counts leap seconds: without a list of them its numbers cannot be converted
            return cls(1_000, 315_619_200_000, False) if re.match(r"^%-?tc", name) else None
        if re.match(_SAS_DATES, name):
            return cls(0, 3_653, True)
        return cls(1, 315_619_200, False) if re.match(_SAS_MOMENTS, name) else None

    def moments(self, numbers: pa.ChunkedArray) -> pa.ChunkedArray | None:
        """Convert numbers to dates or timestamps; None if they would not convert back to the same numbers."""
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
        """Convert dates or timestamps to the numbers of this clock; other columns are unchanged."""
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
    """Tell whether all numbers are equal, including the sign of zeros."""
    import numpy as np

    return bool((one.view(np.int64) == other.view(np.int64)).all())


#: Keys of the notes in the metadata of an Arrow field and of an Arrow schema.
KEY = b"shoal:statfile"

Code = float | int | str  #: a value as the file holds it: dates are numbers


@dataclass(frozen=True, slots=True)
class Variable:
    """The metadata of a variable in a file.

    >>> import pyarrow as pa
    >>> sex = Variable("spss", label="Sex", measure="nominal", labels=((1.0, "female"), (2.0, "male")))
    >>> Variable.of(sex.onto(pa.field("sex", pa.int64()))) == sex
    True
    """

    package: str  #: spss, stata or sas
    label: str | None = None
    format: str | None = None  #: in the package's notation: F8.2, %9.0g
    measure: str = "unknown"  #: nominal, ordinal, scale or unknown
    storage: str = "double"  #: string, int8, int16, int32, float or double
    width: int = 0  #: bytes of a text; 0: unlimited
    display: int = 0  #: display width of the column; 0: default
    alignment: str = "unknown"
    labels: tuple[tuple[Code, str], ...] = ()  #: value labels
    missing: tuple[tuple[Code, Code], ...] = ()  #: values declared missing, from … to
    tagged: bool = False  #: missing values have letters, and are the codes of :func:`tag`

    @classmethod
    def of(cls, field: pa.Field) -> Variable | None:
        """Return the noted metadata of a column; None if it did not come from such a file."""
        noted = (field.metadata or {}).get(KEY)
        if noted is None:
            return None
        values = json.loads(noted)
        pairs = {name: tuple(tuple(pair) for pair in values[name]) for name in ("labels", "missing")}
        return cls(**{**values, **pairs})

    def onto(self, field: pa.Field) -> pa.Field:
        """Return the column's field with this metadata."""
        noted: Any = {**(field.metadata or {}), **self.metadata()}
        return field.with_metadata(noted)

    def metadata(self) -> dict[bytes, bytes]:
        """Return this as metadata of a field."""
        return {KEY: json.dumps(asdict(self)).encode()}

    def relabelled(self, codes: dict[Code, Code]) -> Variable:
        """Return the variable with other codes for some labelled values."""
        return replace(self, labels=tuple((codes.get(value, value), text) for value, text in self.labels))


@dataclass(frozen=True, slots=True)
class FileNotes:
    """The metadata of a file."""

    package: str
    label: str | None = None
    encoding: str | None = None  #: of the input; the output is UTF-8
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: pa.Schema) -> FileNotes | None:
        """Return the noted metadata of a table; None if it did not come from such a file."""
        noted = (schema.metadata or {}).get(KEY)
        if noted is None:
            return None
        values = json.loads(noted)
        return cls(**{**values, "notes": tuple(values["notes"])})

    def metadata(self) -> dict[bytes, bytes]:
        """Return this as metadata of a schema."""
        return {KEY: json.dumps(asdict(self)).encode()}


#: Stata's own numbers for .a: beyond the range of its integers and its doubles.
_INTEGER_A, _DOUBLE_A, _DOUBLE_STEP = 2_147_483_622, 0x7FE0_0100_0000_0000, 1 << 40
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def tag(letter: str, *, whole: bool) -> int | float:
    """Return the number that represents a missing value with a letter, as Stata stores it.

    No value of a Stata variable can be that number, so no value is taken for a missing one.

    >>> tag("a", whole=True), tag("b", whole=True)
    (2147483622, 2147483623)
    """
    import struct

    place = _LETTERS.index(letter)
    if whole:
        return _INTEGER_A + place
    return float(struct.unpack("<d", struct.pack("<q", _DOUBLE_A + place * _DOUBLE_STEP))[0])


def tags(*, whole: bool) -> dict[int | float, str]:
    """Return the letters of all such numbers."""
    return {tag(letter, whole=whole): letter for letter in _LETTERS}


def tag_range(*, whole: bool) -> tuple[int | float, int | float]:
    """Return the numbers of .a and .z."""
    return tag("a", whole=whole), tag("z", whole=whole)


def untagged(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Set missing values with letters to plain missing, for formats without letters."""
    import pyarrow as pa
    import pyarrow.compute as pc

    variable = Variable.of(field)
    if variable is None or not variable.tagged:
        return column
    if not (pa.types.is_integer(column.type) or pa.types.is_float64(column.type)):
        return column
    low = pa.scalar(tag("a", whole=pa.types.is_integer(column.type)), column.type)
    return pc.if_else(pc.greater_equal(column, low), pa.scalar(None, column.type), column)


def declared_missing(variable: Variable, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Tell for each value whether its file declares it missing; missing values themselves are not declared."""
    import pyarrow as pa
    import pyarrow.compute as pc

    none = pc.and_(pc.is_null(column), pc.is_valid(column))
    if pa.types.is_string(column.type):
        texts = [low for low, _ in variable.missing if isinstance(low, str)]
        return pc.and_(pc.is_valid(column), pc.is_in(column, value_set=pa.array(texts, pa.string())))
    clock = Clock.of(variable.package, variable.format)
    numbers = clock.numbers(column) if clock is not None else column
    if not (pa.types.is_integer(numbers.type) or pa.types.is_floating(numbers.type)):
        return none
    x = pc.fill_null(numbers.cast(pa.float64(), safe=False), float("nan"))  # NaN is in no range
    for low, high in variable.missing:
        if not isinstance(low, str) and not isinstance(high, str):
            inside = pc.and_(pc.greater_equal(x, float(low)), pc.less_equal(x, float(high)))
            none = pc.or_(none, inside)
    return none
