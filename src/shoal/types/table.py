"""Tables, their columns, and the resolution of released values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shoal.errors import SchemaError, listing

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


T = TypeVar("T")

PARSED = "parsed"  #: first part of a cache key: a text column parsed to values


class Role(StrEnum):
    """The role of a column."""

    IDENTIFIER = "identifier"  #: names a person or company; removed
    QUASI = "quasi"  #: known to an attacker from elsewhere; released as the value of its class
    CONFIDENTIAL = "confidential"  #: must not be learnt about a person; released unchanged
    OTHER = "other"  #: neither; released unchanged
    SUBJECT = "subject"  #: identifies the person, who may have several records; removed
    WEIGHT = "weight"  #: the sampling weight of the record
    STRATA = "strata"  #: classes never cross its values; released unchanged

    @property
    def leaves(self) -> bool:
        """Whether a column of this role is part of the output."""
        return self not in (Role.IDENTIFIER, Role.SUBJECT)


class Kind(StrEnum):
    """The kind of values in a column."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"
    DATETIME = "datetime"


@dataclass(frozen=True)
class Taxonomy:
    """Values as the leaves of a tree.

    >>> Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("stomach",)}).height
    2
    """

    paths: Mapping[str, tuple[str, ...]] = field(repr=False)  #: for each leaf the nodes above it, without the root

    @property
    def height(self) -> int:
        """The number of steps from the deepest leaf up to the root."""
        return 1 + max(map(len, self.paths.values()), default=0)

    def __hash__(self) -> int:
        return hash(frozenset(self.paths.items()))


def called(value: object) -> str:
    """Return the name of a value in a taxonomy or an order; a whole number is the same with and without decimals.

    >>> called("flu"), called(3), called(3.0), called(Decimal("3.50")), called(True)
    ('flu', '3', '3', '3.5', 'True')
    """
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its role, its kind, and the taxonomy or order of its values."""

    name: str
    role: Role
    kind: Kind
    taxonomy: Taxonomy | None = None
    order: tuple[str, ...] = ()  #: its categories from lowest to highest, if the column does not store them
    declared: bool = field(default=False, compare=False)  #: whether the recipe states its kind


@dataclass(frozen=True)
class Schema:
    """The meaning of every column of a table, in column order."""

    columns: tuple[Column, ...]

    def names(self, *roles: Role) -> tuple[str, ...]:
        """Return the names of the columns with these roles (of all, if none is given), in column order."""
        return tuple(c.name for c in self.columns if not roles or c.role in roles)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, name: str) -> Column:
        """Return the column of that name."""
        if name not in self._by_name:
            raise SchemaError(
                f"Schema: no column is called {name!r}; there are {listing(self.names())}. Check the spelling."
            )
        return self._by_name[name]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Conventions of the cells of a text file. A table from another source has no dialect (None)."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    decimal: str = "."
    newline: str = "\n"
    missing: tuple[str, ...] = ()  #: cells that mean "no value", in addition to the empty one
    datetime: str | None = None  #: strptime format of dates and times; None: ISO 8601
    moment: str = "T"  #: separator between date and time in ISO 8601
    thousands: str | None = None  #: separator of thousands, one of `.`, `,`, a blank, `'`; None: not separated
    trimmed: tuple[str, ...] = field(default=(), compare=False)  #: columns whose names had surrounding blanks

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how a file was read."""
        if not self.trimmed:
            return ()
        of = "the name of column" if len(self.trimmed) == 1 else "the names of columns"
        return (f"Blanks around {of} {listing([repr(name) for name in self.trimmed])} were removed.",)


def in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without a copy if it is one already.

    >>> import pyarrow as pa
    >>> in_one_piece(pa.chunked_array([[1], [2]])).to_pylist()
    [1, 2]
    """
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def with_columns(data: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """Replace some columns of a table, keeping their order and metadata.

    The metadata of pandas is dropped: it names all columns that the table ever had.
    """
    import pyarrow as pa

    fresh = [columns.get(name, data.column(j)) for j, name in enumerate(data.column_names)]
    fields = [field.with_type(column.type) for field, column in zip(data.schema, fresh, strict=True)]
    notes = {key: value for key, value in (data.schema.metadata or {}).items() if key != b"pandas"}
    return pa.Table.from_arrays(fresh, schema=pa.schema(fields, metadata=notes or None))


@dataclass(frozen=True, eq=False)
class Table:
    """Arrow columns with their schema. With a dialect, text columns hold cells as the file wrote them."""

    data: pa.Table = field(repr=False)  # a repr must never show a cell
    schema: Schema
    dialect: Dialect | None = None
    before: Table | None = field(default=None, repr=False)  #: the same rows before columns were recoded
    notes: tuple[str, ...] = ()  #: on how it was read
    cache: dict[tuple[str, tuple[str, ...], Any], Any] = field(
        default_factory=dict, init=False, repr=False
    )  #: parsed and computed columns; a table made from this one starts without them

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def once(self, key: tuple[str, tuple[str, ...], Any], make: Callable[[], T]) -> T:
        """Return a result that depends on some columns only, computed at the first request.

        The key names the result, the columns it depends on, and its parameters.
        """
        if key not in self.cache:
            self.cache[key] = make()
        found: T = self.cache[key]
        return found

    @property
    def as_read(self) -> Table:
        """The table before columns were recoded."""
        return self if self.before is None else self.before

    def changed(self, data: pa.Table, names: Set[str]) -> Table:
        """Return the table with other cells in some columns; cached results on the others are kept."""
        found = replace(self, data=data)
        found.cache.update({key: made for key, made in self.cache.items() if not names & set(key[1])})
        return found

    def rows(self, positions: NDArray[np.int64]) -> Table:
        """Return some of the rows, or all in another order; text cells are not parsed again."""
        import pyarrow as pa

        before = None if self.before is None else self.before.rows(positions)
        found = replace(self, data=self.data.take(positions), before=before)
        for key, column in list(self.cache.items()):
            if key[0] == PARSED and not pa.types.is_dictionary(column.type):
                found.cache[key] = column.take(positions)
        return found


class Columns(Protocol):
    """The columns of a table, as input for steering."""

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the values of a numeric or date column."""

    def categories(self, name: str) -> NDArray[np.int64]:
        """Return a code from 0 for each distinct value of a column."""


def plain(table: pa.Table) -> pa.Table:
    """Replace types for which Arrow lacks functions: views, half floats, short decimals, run-end encoding.

    Values stay the same.

    >>> import pyarrow as pa
    >>> plain(pa.table({"a": pa.array(["x"], pa.string_view()), "b": [1]})).schema.types
    [DataType(large_string), DataType(int64)]
    """
    found = {name: _plain(table.column(name)) for name in table.column_names}
    changed = {name: column for name, column in found.items() if column.type != table.schema.field(name).type}
    return with_columns(table, changed) if changed else table


def as_it_was(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Restore the original type of a column that was made plain; others are unchanged."""
    return column.cast(kind, safe=False) if kind != _plain_kind(kind) == column.type else column


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    kinds = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary(), pa.float16(): pa.float32()}
    return kinds.get(kind, kind)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(column.type):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    return column.cast(_plain_kind(column.type))


def without_unused(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Drop the categories that no record has; they would reveal removed values.

    >>> import pyarrow as pa
    >>> sizes = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), ["S", "M", "L"], ordered=True)
    >>> without_unused(pa.chunked_array([sizes])).chunk(0).dictionary.to_pylist()
    ['S', 'L']
    """
    import numpy as np
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_dictionary(kind) or not len(column):
        return column
    cells = column.unify_dictionaries().combine_chunks()
    cells = cells.chunk(0) if isinstance(cells, pa.ChunkedArray) else cells
    used = np.unique(cells.indices.drop_null().to_numpy())
    if len(used) == len(cells.dictionary):
        return column
    places = np.zeros(len(cells.dictionary), np.int64)
    places[used] = np.arange(len(used))
    codes = pa.array(places).take(cells.indices).cast(kind.index_type)
    kept = cells.dictionary.take(pa.array(used))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, kept, ordered=kind.ordered)])


#: Units of dates and times that a recipe may declare, from the coarsest. A column's own may be finer.
UNITS = ("year", "month", "day", "hour", "minute", "second")


@dataclass(frozen=True, slots=True)
class Step:
    """Multiples of p · 10⁻ᵈ.

    >>> Step.of(0.05), Step.of(100), str(Step(1, 2))
    (Step(multiple=5, decimals=2), Step(multiple=100, decimals=0), '0.01')
    """

    multiple: int  #: p ≥ 1
    decimals: int  #: d ≥ 0

    @classmethod
    def of(cls, number: float) -> Step:
        """Return the step for the decimal notation of a number."""
        _, digits, exponent = Decimal(repr(number)).as_tuple()
        whole = int("".join(map(str, digits)))
        power = int(exponent)
        return cls(whole * 10**power, 0) if power >= 0 else _reduced(whole, -power)

    @property
    def number(self) -> Decimal:
        """The step as an exact number."""
        return Decimal(self.multiple).scaleb(-self.decimals)

    def __str__(self) -> str:
        return f"{self.number:f}"


def _reduced(multiple: int, decimals: int) -> Step:
    while decimals and multiple % 10 == 0:
        multiple, decimals = multiple // 10, decimals - 1
    return Step(multiple, decimals)


#: A step of numbers, a unit of dates and times, or None: all digits.
Resolution = Step | str | None
