"""Conversion of columns to the types of statistical packages, or a sentence on why it is impossible."""

from __future__ import annotations

import errno
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from shoal.errors import DataError, ParameterError, raise_all
from shoal.io.sinks._file import FileSink
from shoal.scratch import unwritable, writing
from shoal.types import called
from shoal.types.statistical_files import Clock, FileNotes, Variable, declared_missing

_LARGEST = 2**53  # beyond it, a double cannot hold every integer


@dataclass(frozen=True)
class Format:
    """The capabilities of a package."""

    package: str
    title: str
    clock: str  #: its format for timestamps
    date: str  #: its format for dates
    limit: float  #: numbers must be smaller
    longest: int  #: maximum length of a text in bytes
    blanks: bool  #: whether text may end in blanks

    def fitted(self, table: pa.Table) -> pa.Table:
        """Return the table in types that survive a round trip: int64, float64, string, date, timestamp.

        NaN and the empty text become missing, because the package cannot distinguish them.

        Raises
        ------
        DataError
            Once, with every column that would lose information.
        """
        columns, fields, faults = [], [], []
        for field, column in zip(table.schema, table.columns, strict=True):
            try:
                found, variable = self._fitted(column, Variable.of(field))
            except _MisfitError as misfit:
                faults.append(f"{self.title}: column {field.name!r} {misfit}")
                continue
            columns.append(found)
            fields.append(variable.onto(field.with_type(found.type)))
        raise_all(DataError, faults)
        return pa.table(columns, schema=pa.schema(fields, metadata=table.schema.metadata))

    def _fitted(self, column: Any, variable: Variable | None) -> tuple[Any, Variable]:
        kind = column.type
        if types.is_dictionary(kind):
            measure = "ordinal" if kind.ordered else "nominal"
            return self._fitted(column.cast(kind.value_type), variable or Variable(self.package, measure=measure))
        if types.is_date(kind) or types.is_timestamp(kind):
            return self._moments(column, variable)
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            found = self._text(column)
            return found, self._own(variable, found, "string")
        if types.is_boolean(kind) or types.is_integer(kind):
            found = self._integers(column)
        elif types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
            found = self._numbers(column, variable)
        else:
            raise _MisfitError(f"must hold numbers, text, booleans, dates or times, got {kind}. Drop it.")
        return found, self._own(variable, found, "double")

    def _own(self, variable: Variable | None, column: Any, storage: str) -> Variable:
        """Return a column's metadata in the package's own terms; formats of other packages are dropped."""
        if variable is not None and storage == "string" != variable.storage:
            variable = _of_texts(variable)  # codes were released as names of groups
        elif variable is not None and variable.package == self.package:
            return variable
        bare = variable or Variable(self.package)
        width = max(1, pc.max(pc.binary_length(column)).as_py() or 0) if storage == "string" else 0
        return replace(
            bare, package=self.package, format=None, storage=storage, width=width, display=0, alignment="unknown"
        )

    def _integers(self, column: Any) -> Any:
        if pa.types.is_uint64(column.type):
            too_large = pc.greater(column, pa.scalar(_LARGEST, pa.uint64()))
        else:
            column = column.cast(pa.int64())
            too_large = pc.or_(pc.greater(column, _LARGEST), pc.less(column, -_LARGEST))
        if count := pc.sum(too_large).as_py():
            raise _MisfitError(
                f"has integers beyond 2^53 in {count:,} records, which the format does not hold. Convert them to text."
            )
        return column.cast(pa.int64())

    def _numbers(self, column: Any, variable: Variable | None) -> Any:
        found = column.cast(pa.float64(), safe=False)
        if pa.types.is_decimal(column.type) and not found.cast(column.type, safe=False).equals(column):
            raise _MisfitError("has more digits than a double holds. Round them, or convert them to text.")
        if pc.any(pc.is_nan(found)).as_py():
            found = pc.if_else(pc.is_nan(found), pa.scalar(None, pa.float64()), found)
        large = pc.greater_equal(pc.abs(found), self.limit)
        if variable is not None and variable.tagged:  # the numbers of letters exceed all others
            large = pc.and_(large, pc.invert(declared_missing(variable, found)))
        if count := pc.sum(large).as_py():
            raise _MisfitError(f"has numbers too large for the format in {count:,} records. Remove or rescale them.")
        return found

    def _text(self, column: Any) -> Any:
        text = column.cast(pa.string())
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        if count := pc.sum(pc.match_substring(text, "\0")).as_py():
            raise _MisfitError(f"has text with the character NUL in {count:,} records. Remove it.")
        if not self.blanks and (count := pc.sum(pc.match_substring_regex(text, " $")).as_py()):
            raise _MisfitError(
                f"has text that ends in spaces in {count:,} records, which the format does not keep. Trim it."
            )
        if (longest := pc.max(pc.binary_length(text)).as_py() or 0) > self.longest:
            raise _MisfitError(f"must have text of at most {self.longest:,} bytes, got {longest:,}. Shorten it.")
        return text

    def _moments(self, column: Any, variable: Variable | None) -> tuple[Any, Variable]:
        """Convert datetimes to the format's clock, with a format that displays them."""
        kind = column.type
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            raise _MisfitError(
                "has a time zone, which the format does not keep. Remove it, or convert the column to text."
            )
        if pa.types.is_date64(kind):
            column = column.cast(pa.date32())
        dated = pa.types.is_date32(column.type)
        variable, column = self._with_clock(variable, column, self.date if dated else self.clock)
        clock = Clock.of(self.package, variable.format)
        assert clock is not None
        again = clock.moments(clock.numbers(column))
        if again is None or not again.cast(column.type, safe=False).equals(column):
            raise _MisfitError(f"has times in {kind} that the format does not hold exactly. Round them.")
        return again, variable

    def _with_clock(self, variable: Variable | None, column: Any, format: str) -> tuple[Variable, Any]:
        """Return a format that displays datetimes; other packages' formats refer to their own clocks."""
        if variable is None:
            return Variable(self.package, format=format), column
        if variable.package == self.package:
            known = Clock.of(self.package, variable.format) is not None
            return variable if known else replace(variable, format=format), column
        column = pc.if_else(declared_missing(variable, column), pa.scalar(None, column.type), column)
        return Variable(self.package, label=variable.label, format=format, measure=variable.measure), column


def _of_texts(variable: Variable) -> Variable:
    """Return the metadata that remains valid when a variable's numbers become text: a label of 1 is one of "1"."""
    declared: list[Any] = [pair for pair in variable.missing if not isinstance(pair[0], str)]
    labels = tuple(
        (called(value), label)
        for value, label in variable.labels
        if isinstance(value, str) or not any(low <= value <= high for low, high in declared)
    )
    return Variable(variable.package, label=variable.label, measure=variable.measure, labels=labels)


class _MisfitError(Exception):
    """The reason why a column does not fit a file, in words that end its sentence."""


class StatisticalSink(FileSink):
    """A file written by pyreadstat."""

    title: ClassVar[str]  #: name of the format in messages

    @abstractmethod
    def fitted(self, table: pa.Table) -> pa.Table:
        """Return the table as the file will hold it; raises what :meth:`write` raises."""

    def _write(self, table: pa.Table, path: Path) -> None:
        write, polars = _writer(path, self.title)
        columns, settings = self._arguments(polars, self.fitted(table), path)
        with _readstat(path, self.title):
            write(polars.DataFrame(columns), str(path), **settings)
        with writing(path):
            self._undate(path)

    def _undate(self, path: Path) -> None:
        raise NotImplementedError

    def _arguments(self, polars: Any, data: pa.Table, path: Path) -> tuple[list[Any], dict[str, Any]]:
        """Return polars columns, and further arguments of pyreadstat's writer, for a fitted table."""
        raise NotImplementedError


def _writer(path: Path, title: str) -> tuple[Any, Any]:
    """Return pyreadstat's writer and polars, whose frames it takes.

    The writer is the one behind `write_sav` and `write_dta`, because these do not pass on the alignment of columns.
    """
    try:
        import polars
        from pyreadstat._readstat_writer import writer_entry_point
    except ImportError:
        raise ParameterError(
            f"{path.name}: writing {title} files needs the packages pyreadstat and polars. Install them with pip "
            "install 'shoal[stats]'."
        ) from None
    return writer_entry_point, polars


@contextmanager
def _readstat(path: Path, title: str) -> Iterator[None]:
    """Turn errors of pyreadstat's writer into sentences."""
    with writing(path), path.open("wb"):
        pass  # it does not say itself why a file cannot be opened
    try:
        yield
    except Exception as error:  # its messages may contain a value, unless they come from the library below it
        if type(error).__name__ != "ReadstatError":
            raise DataError(f"{path.name}: could not be written as a {title} file. Write Parquet instead.") from None
        said = str(error)
        if "write" in said.lower():
            raise unwritable(path, OSError(errno.ENOSPC, said)) from None
        why = f"{said[:1].lower()}{said[1:]}"
        raise DataError(f"{path.name}: cannot be written as a {title} file: {why}. Write Parquet instead.") from None


def variables_of(table: pa.Table) -> dict[str, Variable]:
    """Return the metadata of each column of a fitted table."""
    return {field.name: Variable.of(field) for field in table.schema}  # type: ignore[misc]


def notes_of(table: pa.Table, package: str) -> FileNotes:
    """Return the metadata of the table."""
    return FileNotes.of(table.schema) or FileNotes(package)


def numbers_of(column: pa.ChunkedArray, variable: Variable) -> pa.ChunkedArray:
    """Return a column as the file holds it: datetimes as numbers."""
    clock = Clock.of(variable.package, variable.format)
    return clock.numbers(column) if clock is not None else column


def padded(column: pa.ChunkedArray, width: int) -> pa.ChunkedArray:
    """Return texts with "" for missing ones, and the first padded to the width of the variable.

    The widest text determines the width of the variable in the file. It ends at its first NUL, so nothing is added to
    it.
    """
    first = (column[0].as_py() or "") if len(column) else ""
    wide = first + "\0" * (width - len(first.encode()))
    rest = column.slice(1).fill_null("")
    return pa.chunked_array([pa.array([wide], pa.string()), *rest.chunks], pa.string())


def cut(text: str | None, most: int, *, characters: bool = False) -> str | None:
    """Truncate a label to the maximum length of the format.

    >>> cut("größe", 4), cut("größe", 4, characters=True)
    ('grö', 'größ')
    """
    if text is None or characters:
        return text and text[:most]
    return text.encode()[:most].decode(errors="ignore")
