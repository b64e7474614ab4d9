"""Parts of a table on disk, for audits within a memory ceiling: each holds whole classes and fits into memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.errors import DataError, EngineError, GuaranteeError, SchemaError
from shoal.flow.stages.batches import Batches, open_files
from shoal.flow.stages.row_digests import row_digests
from shoal.flow.stages.table_sizes import estimate_records, size_in_memory, size_of_columns
from shoal.memory import resident

SUBJECT, WEIGHT = "\0subject", "\0weight"  #: names of unreleased columns in a part; no file has such names
_ROWS = 1 << 17  # read at a time
_MOST = 256  # parts, which are all open at once
_LOAD = 2.5  # memory that an audit needs, in sizes of the table
_PER_RECORD = 100  # further bytes for each record where values or people are counted
_DISTINCT = 64  # bytes for each distinct value of a confidential column
_SAFE = 0.9  # of the ceiling, because estimates are rough
_MERGED = 1 << 20
_FEW = 1 << 26  # bytes that distinct values may always take


@dataclass(frozen=True)
class Wanted:
    """Columns that an audit reads.

    Attributes
    ----------
    by
        Rows that agree on these columns, which are among the others, are in the same part.
    columns
        All columns of the parts.
    counted
        Confidential columns, whose distribution in the whole table is counted.
    unique
        Sets of columns; the records that are unique on each are counted.
    """

    by: tuple[str, ...]
    columns: tuple[str, ...]
    counted: tuple[str, ...] = ()
    unique: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def all(self) -> list[str]:
        """All columns to read, each once."""
        others = (name for names in self.unique.values() for name in names)
        return [name for name in dict.fromkeys([*self.columns, *others]) if name not in (SUBJECT, WEIGHT)]


T = TypeVar("T")


class InParts(Protocol):
    """A table in parts that hold whole classes, wherever they are stored; for the attributes see `Parts`."""

    @property
    def records(self) -> int:
        """Number of records of all parts."""

    @property
    def distributions(self) -> Mapping[str, tuple[pa.ChunkedArray, NDArray[np.int64]]]:
        """Distinct cells of each confidential column and their counts."""

    @property
    def unique(self) -> Mapping[str, int]:
        """For each set of columns the number of records that are unique on it."""

    @property
    def orders(self) -> Mapping[str, pa.Array]:
        """The categories of confidential columns whose type has an order."""

    def map(self, work: Callable[[pa.Table], T]) -> Iterable[T]:
        """Yield what a function returns for each part that has records, once."""


@dataclass(frozen=True, eq=False)
class Parts:
    """A table in parts on disk.

    Attributes
    ----------
    records
        Number of records of all parts.
    distributions
        Distinct cells of each confidential column and their counts in the whole table.
    unique
        For each set of columns the number of records that are unique on it.
    orders
        The categories of confidential columns whose type has an order.
    """

    records: int
    distributions: Mapping[str, tuple[pa.ChunkedArray, NDArray[np.int64]]]
    unique: Mapping[str, int]
    orders: Mapping[str, pa.Array]
    _held: tuple[pa.Table, ...] = field(repr=False)
    _files: tuple[Path, ...]

    def map(self, work: Callable[[pa.Table], T]) -> Iterator[T]:
        """Yield what a function returns for each part that has records, once."""
        for table in self.tables():
            found = work(table)
            del table  # before the next part is read
            yield found

    def tables(self) -> Iterator[pa.Table]:
        """Yield the parts that have records, once, and remove each from the disk after use."""
        for table in self._held:
            yield table
            progress.report(2 * self.records, 2 * self.records)
        done = self.records
        for path in self._files:
            with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as opened:
                table = opened.read_all()
            if table.num_rows:
                yield table
            done += table.num_rows
            progress.report(done, 2 * self.records)
            del table
            path.unlink()
            pa.default_memory_pool().release_unused()


class Distribution:
    """Distinct cells of a column and their counts: created from a part, merged, and computed at the end."""

    def __init__(self, name: str, limit: int) -> None:
        self._name, self._limit = name, limit
        self._cells: list[pa.Array] = []
        self._counts: list[NDArray[np.int64]] = []
        self._rows, self._after = 0, 0
        self._extension: pa.BaseExtensionType | None = None

    def add(self, cells: pa.ChunkedArray) -> None:
        """Count the cells of further records."""
        if isinstance(cells.type, pa.BaseExtensionType):
            self._extension = cells.type
            cells = cells.cast(cells.type.storage_type)
        try:
            found = cells.value_counts()
        except pa.ArrowException:
            raise SchemaError(
                f"Column {self._name!r}: a confidential column must hold numbers, dates, text or categories, got "
                f"{cells.type}. Give its parts columns of their own, or make it an identifier, which is removed."
            ) from None
        self.add_counted(found.field("values"), found.field("counts").to_numpy())

    def add_counted(self, cells: pa.Array, counts: NDArray[np.int64]) -> None:
        """Take in distinct cells, and the number of further records that have each."""
        self._cells.append(cells)
        self._counts.append(counts)
        self._rows += len(cells)
        if self._rows > 2 * self._after + _MERGED:
            self._merge()

    def _merge(self) -> None:
        whole = pa.chunked_array(self._cells).combine_chunks().dictionary_encode(null_encoding="encode")
        cells, codes = whole.dictionary, whole.indices.to_numpy()
        counts = np.bincount(codes, np.concatenate(self._counts), minlength=len(cells)).astype(np.int64)  # below 2⁵³
        self._cells, self._counts = [cells], [counts]
        self._rows = self._after = len(cells)
        if cells.nbytes + _DISTINCT * len(cells) > self._limit:
            raise DataError(
                f"Column {self._name!r}: its {len(cells):,} distinct values do not fit into the memory of the audit. "
                "Raise the memory, round the values, or give the column another role."
            )

    def compute(self) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
        """Return the distinct cells, and the number of records that have each."""
        self._merge()
        cells = self._cells[0] if self._extension is None else self._extension.wrap_array(self._cells[0])
        return pa.chunked_array([cells]), self._counts[0]


def parts_needed(files: Batches, wanted: Wanted, memory: int, *, people: bool) -> int:
    """Return how many parts keep an audit below a ceiling of memory; 1: the table can be audited as a whole."""
    size, records = size_of_columns(files, wanted.columns)
    need = _LOAD * size + _PER_RECORD * records * (len(wanted.counted) + people)
    return max(1, min(math.ceil(need / _budget(memory)), _MOST))


def fits(paths: Sequence[Path], memory: int) -> bool:
    """Tell whether a table can be read and audited as a whole within a ceiling of memory."""
    return _LOAD * size_in_memory(paths) <= _budget(memory)


def _budget(memory: int) -> int:
    """Return the memory that is left for an audit; what the process already holds counts."""
    return max(int(memory * _SAFE) - (resident() or 0), memory // 4, 1)


def split(
    files: Batches, wanted: Wanted, *, parts: int, memory: int, scratch: Path, hidden: Path | None = None
) -> Parts:
    """Send the rows of a table to parts on disk, and count what concerns the whole table, in one pass.

    Parameters
    ----------
    files
        The table.
    wanted
        What to read and count.
    parts
        Number of parts.
    memory
        Bytes that may be used.
    scratch
        A folder for the parts; they are removed as they are read.
    hidden
        A Parquet file with one row for each row of the table, and columns ``subject``, ``weight`` or both that are not
        released.

    Raises
    ------
    GuaranteeError
        If the hidden file has more or fewer rows than the table.
    """
    counted = {name: Distribution(name, max(_budget(memory) // 4, _FEW)) for name in wanted.counted}
    orders: dict[str, pa.Array] = {}
    held: list[pa.Table] = []
    records, beside, total = 0, _Beside(hidden), estimate_records(files)
    with _disk(scratch), ExitStack() as stack:
        rows = stack.enter_context(_Spread(scratch / "part", parts))
        digests = {key: stack.enter_context(_Spread(scratch / f"unique-{key}", parts)) for key in wanted.unique}
        for table in files.read(wanted.all, at_most=_ROWS):
            records += table.num_rows
            progress.report(records, max(2 * total, records))  # the parts are the other half of the work
            for key, names in wanted.unique.items():
                found = row_digests(table, names)
                digests[key].send(pa.table({"digest": found}), found)
            data = beside.join(table.select(list(wanted.columns)))
            if parts == 1:
                held.append(data)
                continue
            _note_orders(data, wanted.counted, orders)
            data = _decoded(data)
            for name, one in counted.items():
                one.add(data.column(name))
            rows.send(data, row_digests(data, wanted.by))
        beside.end()
    unique = {key: sum(map(_unique, one.paths)) for key, one in digests.items()}
    whole = (pa.concat_tables(held),) if held else ()
    known = {name: one.compute() for name, one in counted.items()} if parts > 1 else {}
    return Parts(records, known, unique, orders, whole, rows.paths)


class _Spread(ExitStack):
    """Files to which rows are sent by their digests; created when the first row is sent."""

    def __init__(self, stem: Path, parts: int) -> None:
        super().__init__()
        self._all = tuple(stem.with_name(f"{stem.name}-{i}.arrow") for i in range(parts))
        self._writers: list[Any] = []
        self.paths: tuple[Path, ...] = ()

    def send(self, data: pa.Table, digests: NDArray[np.uint64]) -> None:
        """Append each row to its file; rows keep their order."""
        if not self._writers:
            self.paths = self._all
            self._writers = [self._open(path, data.schema) for path in self._all]
        if len(self._writers) == 1:
            self._writers[0].write_table(data)
            return
        part = (digests % np.uint64(len(self._writers))).astype(np.uint16)
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(len(self._writers) + 1))
        ordered = data.take(pa.array(order))
        for i, writer in enumerate(self._writers):
            if ends[i + 1] > ends[i]:
                writer.write_table(ordered.slice(ends[i], ends[i + 1] - ends[i]))

    def _open(self, path: Path, schema: pa.Schema) -> Any:
        return self.enter_context(pa.ipc.new_stream(self.enter_context(pa.OSFile(str(path), "wb")), schema))


@contextmanager
def _disk(scratch: Path) -> Iterator[None]:
    """Turn errors of the disk into a sentence."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"{scratch}: parts of the table could not be stored ({error.strerror or type(error).__name__}). "
            "Free some space, or set SHOAL_SCRATCH to a folder on another disk."
        ) from None


def _note_orders(data: pa.Table, names: Sequence[str], orders: dict[str, pa.Array]) -> None:
    """Keep the categories of ordered types, which must be the same in all batches."""
    for name in names:
        kind = data.schema.field(name).type
        if not pa.types.is_dictionary(kind) or not kind.ordered:
            continue
        for chunk in data.column(name).chunks:
            if not orders.setdefault(name, chunk.dictionary).equals(chunk.dictionary):
                raise SchemaError(
                    f"Column {name!r}: its ordered categories must be the same in the whole table, and they differ "
                    "between files or row groups. Write the table again with one list of categories."
                )


def _decoded(data: pa.Table) -> pa.Table:
    """Return categories as their values: each part of a file may number them differently."""
    for at, name in enumerate(data.column_names):
        kind = data.schema.field(name).type
        if pa.types.is_dictionary(kind):
            data = data.set_column(
                at, data.schema.field(name).with_type(kind.value_type), data.column(name).cast(kind.value_type)
            )
    return data


class _Beside:
    """Unreleased columns, read row by row with the table."""

    def __init__(self, path: Path | None) -> None:
        self._files = None if path is None else open_files([path], {})
        self._read = iter(()) if self._files is None else self._files.read(self._files.arrow.names, at_most=_ROWS)
        self._left: pa.Table | None = None

    def join(self, table: pa.Table) -> pa.Table:
        """Return a table with the unreleased columns of its rows."""
        if self._files is None:
            return table
        found, rows = [], table.num_rows
        while rows:
            piece = self._left if self._left is not None and self._left.num_rows else next(self._read, None)
            if piece is None:
                raise self._unequal()
            found.append(piece.slice(0, rows))
            self._left = piece.slice(rows)
            rows -= found[-1].num_rows
        beside = pa.concat_tables(found)
        for name in beside.column_names:
            table = table.append_column(f"\0{name}", beside.column(name))
        return table

    def end(self) -> None:
        """Refuse rows that the table does not have."""
        if (self._left is not None and self._left.num_rows) or next(self._read, None) is not None:
            raise self._unequal()

    @staticmethod
    def _unequal() -> GuaranteeError:
        return GuaranteeError(
            "The written files have more or fewer rows than the subjects and weights they are audited with. "
            "Nothing was written."
        )


def _unique(path: Path) -> int:
    """Return how many digests in a file occur once; the file is removed.

    Two different rows of n have equal digests with a probability below n² / 2⁶⁵.
    """
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as opened:
        digests = opened.read_all().column("digest").to_numpy().copy()
    path.unlink()
    digests.sort()
    new = np.concatenate(([True], digests[1:] != digests[:-1], [True]))
    return int((new[1:] & new[:-1]).sum()) if len(digests) else 0
