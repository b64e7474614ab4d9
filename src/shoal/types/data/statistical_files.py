"""What the files of statistical packages know of a variable, and how it travels with a column."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.types.data.statistical_dates import Clock

if TYPE_CHECKING:
    import pyarrow as pa


#: Where the notes are, in the metadata of an Arrow field and of an Arrow schema.
KEY = b"shoal:statfile"

Code = float | int | str  #: a value as the file holds it: dates are numbers


@dataclass(frozen=True, slots=True)
class Variable:
    """What a file says of a variable besides its values.

    >>> import pyarrow as pa
    >>> sex = Variable("spss", label="Sex", measure="nominal", labels=((1.0, "female"), (2.0, "male")))
    >>> Variable.of(sex.onto(pa.field("sex", pa.int64()))) == sex
    True
    """

    package: str  #: spss, stata or sas
    label: str | None = None
    format: str | None = None  #: as the package writes it: F8.2, %9.0g
    measure: str = "unknown"  #: nominal, ordinal, scale or unknown
    storage: str = "double"  #: string, int8, int16, int32, float or double
    width: int = 0  #: bytes of a text; 0: as long as it likes
    display: int = 0  #: how wide the package shows the column; 0: as it likes
    alignment: str = "unknown"
    labels: tuple[tuple[Code, str], ...] = ()  #: value labels
    missing: tuple[tuple[Code, Code], ...] = ()  #: values that are declared to be missing, from … to
    tagged: bool = False  #: missing values have letters, and are the codes of :func:`tag`

    @classmethod
    def of(cls, field: pa.Field) -> Variable | None:
        """Return what is noted of a column; None if it never was in such a file."""
        noted = (field.metadata or {}).get(KEY)
        if noted is None:
            return None
        values = json.loads(noted)
        pairs = {name: tuple(tuple(pair) for pair in values[name]) for name in ("labels", "missing")}
        return cls(**{**values, **pairs})

    def onto(self, field: pa.Field) -> pa.Field:
        """Return the column's field with this noted."""
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
    """What a file says of itself."""

    package: str
    label: str | None = None
    encoding: str | None = None  #: that it came in; UTF-8 is what it leaves in
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: pa.Schema) -> FileNotes | None:
        """Return what is noted of a table; None if it never was such a file."""
        noted = (schema.metadata or {}).get(KEY)
        if noted is None:
            return None
        values = json.loads(noted)
        return cls(**{**values, "notes": tuple(values["notes"])})

    def metadata(self) -> dict[bytes, bytes]:
        """Return this as metadata of a schema."""
        return {KEY: json.dumps(asdict(self)).encode()}


#: Stata's own numbers for .a: beyond all that its integers, and its doubles, can be.
_INTEGER_A, _DOUBLE_A, _DOUBLE_STEP = 2_147_483_622, 0x7FE0_0100_0000_0000, 1 << 40
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def tag(letter: str, *, whole: bool) -> int | float:
    """Return the number that stands for a missing value with a letter, as Stata stores it.

    No value of a Stata variable can be that number, so that no value is taken for a missing one.

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
    """Return a column in which missing values with letters are missing, for formats that know no letters."""
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
    """Tell of each value whether its file declares it to be missing; what is missing anyway is not declared."""
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
    x = pc.fill_null(numbers.cast(pa.float64(), safe=False), float("nan"))  # which is in no range
    for low, high in variable.missing:
        if not isinstance(low, str) and not isinstance(high, str):
            inside = pc.and_(pc.greater_equal(x, float(low)), pc.less_equal(x, float(high)))
            none = pc.or_(none, inside)
    return none
