"""Exact losses of a table that is larger than memory: sums of squared errors and the total variation, by batch.

The scale of every attribute is that of the whole original. Coordinates of original records are kept on disk, so that
they can be read in the order of the release. Categories need less: how often each pair of an original and a released
category occurs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.flow.engines.blockwise.columns import QuasiColumn
from shoal.flow.engines.blockwise.scaling import Skeleton, scalings_for
from shoal.flow.engines.disk.survey import Survey, survey
from shoal.flow.large_tables import ROWS, LargePair
from shoal.flow.stages.batch_tables import BatchReader
from shoal.flow.stages.masked_values import masked_values
from shoal.points._missing import Missing
from shoal.points.nominal import Nominal
from shoal.points.template import Scaling
from shoal.recipe.recipe import Recipe
from shoal.types import (
    Attribute,
    CodedAttribute,
    Footing,
    Placed,
    PlacedAttribute,
    Role,
    Schema,
    Table,
    distances,
    stacked,
)

_ONE = np.zeros((1, 1))


class ExactLosses(NamedTuple):
    """The sum of squared errors of all records, and the total variation of the original."""

    sse: float
    sst: float


def exact_losses(pair: LargePair, schema: Schema, missing: str, scratch: Path) -> ExactLosses:
    """Return the losses of all records, as `sse_of` and `sst_of` return them for a table in memory.

    Parameters
    ----------
    pair
        The original and its release.
    schema
        Of the original.
    missing
        How a missing value of the original is treated.
    scratch
        A folder for the coordinates.
    """
    names = schema.names(Role.QUASI)
    own = Schema(tuple(schema[name] for name in names))
    reader = BatchReader(pair.original, own, textual=True)
    recipe = Recipe(quasi=names, row_order="keep", when_missing=missing)
    found = survey(lambda: _released_rows(pair, reader), own, recipe, scratch, pair.records)
    skeleton = Skeleton.of(found.columns, missing)
    scalings = scalings_for("standard", skeleton, found.columns, found.over)
    columns = [
        _column(c, a, scalings.get(c.name), missing, scratch / f"column-{at}")
        for at, (c, a) in enumerate(zip(found.columns, skeleton.attributes, strict=True))
    ]
    _store(columns, found)
    before = Table(pair.original.arrow.empty_table(), schema)
    start, ranks = 0, _ranks(pair)
    for data in pair.released.read(names, ROWS):
        progress.report(start, pair.records)
        after = masked_values(Table(data, own, pair.released.dialect), before, names)
        rows = slice(start, start + data.num_rows)
        for one in columns:
            one.compare(rows if ranks is None else ranks[rows], after.column(one.name))
        start += data.num_rows
    return ExactLosses(math.fsum(one.sse() for one in columns), math.fsum(one.sst() for one in columns))


def _released_rows(pair: LargePair, reader: BatchReader) -> Iterator[Table]:
    start = 0
    for table in reader.read(rows=ROWS):
        here = None if pair.places is None else pair.places[start : start + len(table)] >= 0
        yield table if here is None or here.all() else table.rows(np.flatnonzero(here))
        start += len(table)


def _ranks(pair: LargePair) -> NDArray[np.int64] | None:
    """Return for each released row its number among the original rows that were released; None: the same."""
    if pair.rows is None or pair.places is None or bool((np.diff(pair.rows) > 0).all()):
        return None
    return np.asarray((np.cumsum(pair.places >= 0) - 1)[pair.rows])


def _store(columns: list[_PlacedColumn | _CodedColumn], found: Survey) -> None:
    """Write the coordinates and codes of the original."""
    for table in found.parts():
        for one in columns:
            one.store(table.column(one.name))
    for one in columns:
        one.finish()


def _column(
    column: QuasiColumn, attribute: Attribute, scaling: Scaling | None, missing: str, path: Path
) -> _PlacedColumn | _CodedColumn:
    if isinstance(attribute, CodedAttribute):
        return _CodedColumn(column, attribute, path, fill=missing == "fill")
    assert scaling is not None  # it has coordinates
    inner = attribute.inner if isinstance(attribute, Missing) else attribute
    assert isinstance(inner, PlacedAttribute)
    footing = scaling.footing
    if footing.spread == 0.0:  # a constant attribute: any change counts in the column's own unit
        footing = Footing(footing.location, float(np.ldexp(1.0, -footing.exponent)), footing.exponent)
    apart = missing == "category" or not column.lacking
    return _PlacedColumn(column, inner, footing, scaling.middle, path, apart)


class _OnDisk:
    """Numbers of a column, appended to a file and then read by row."""

    def __init__(self, path: Path, kind: type) -> None:
        self._path, self._kind = path, kind
        self._file = path.open("wb")
        self.read: Callable[[Any], NDArray[Any]]

    def append(self, values: NDArray[Any]) -> None:
        values.astype(self._kind, copy=False).tofile(self._file)

    def finish(self) -> None:
        self._file.close()
        held = np.memmap(self._path, self._kind, "r")
        self.read = lambda rows: np.asarray(held[rows])


@dataclass(eq=False)
class _PlacedColumn:
    """An attribute with coordinates: numbers, dates and ordered categories."""

    column: QuasiColumn
    inner: PlacedAttribute
    footing: Footing
    middle: float  #: where a missing value is put
    path: Path
    apart: bool  #: whether a missing value is 1 away from the others
    held: _OnDisk = field(init=False)
    squares: list[float] = field(default_factory=list)
    sums: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.held = _OnDisk(self.path, np.float64)

    @property
    def name(self) -> str:
        return self.column.name

    def _placed(self, values: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the coordinates of values; NaN for a missing one."""
        absent = np.asarray(values.is_null().to_numpy())
        found = np.full(len(values), np.nan)
        if not absent.all():
            with np.errstate(all="ignore"):
                found[~absent] = self.inner.like(values.drop_null(), Placed(_ONE, (self.footing,)))[:, 0]
        return found

    def store(self, stored: pa.ChunkedArray) -> None:
        found = self._placed(self.column.restored(stored))
        self.held.append(found)
        filled = np.where(np.isnan(found), self.middle, found)
        self.sums.append((float(filled.sum()), float((filled**2).sum())))

    def finish(self) -> None:
        self.held.finish()

    def compare(self, rows: Any, after: pa.ChunkedArray) -> None:
        x, y = self.held.read(rows), self._placed(after)
        gone = np.isnan(x), np.asarray(after.is_null().to_numpy())
        with np.errstate(all="ignore"):
            total = ((np.where(gone[0], self.middle, x) - np.where(gone[1], self.middle, y)) ** 2).sum()
        self.squares.append(float(total) + (int((gone[0] != gone[1]).sum()) if self.apart else 0))

    def sse(self) -> float:
        return math.fsum(self.squares)

    def sst(self) -> float:
        n, lacking = self.column.records, self.column.lacking
        total, squares = (math.fsum(parts) for parts in zip(*self.sums, strict=True))
        own = lacking - lacking * lacking / n if self.apart else 0.0
        return squares - total * total / n + own


@dataclass(eq=False)
class _CodedColumn:
    """An attribute of categories without an order."""

    column: QuasiColumn
    attribute: CodedAttribute
    path: Path
    fill: bool  #: whether a missing value is put at the most central category
    held: _OnDisk = field(init=False)
    known: dict[Any, int] = field(default_factory=dict)  #: released values
    type: pa.DataType | None = None
    pairs: Counter[tuple[int, int]] = field(default_factory=Counter)  #: original category and released one; −1: missing

    def __post_init__(self) -> None:
        self.held = _OnDisk(self.path, np.int32)

    @property
    def name(self) -> str:
        return self.column.name

    def store(self, stored: pa.ChunkedArray) -> None:
        self.held.append(stored.fill_null(-1).to_numpy())

    def finish(self) -> None:
        self.held.finish()

    def compare(self, rows: Any, after: pa.ChunkedArray) -> None:
        plain = after.cast(after.type.value_type) if pa.types.is_dictionary(after.type) else after
        self.type = plain.type
        encoded = plain.combine_chunks().dictionary_encode(null_encoding="mask")
        own = [self.known.setdefault(value, len(self.known)) for value in encoded.dictionary.to_pylist()]
        codes = np.array([*own, -1], np.int64)[encoded.indices.fill_null(len(own)).to_numpy()]
        width = len(self.known) + 1
        keys, counts = np.unique((self.held.read(rows) + 1).astype(np.int64) * width + codes + 1, return_counts=True)
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            self.pairs[key // width - 1, key % width - 1] += count

    def _compared(self) -> tuple[Any, Any, NDArray[np.int64]]:
        """Return the different pairs of an original and a released category, and how often each occurs."""
        pairs = np.array(list(self.pairs), np.int64)
        before = self.column.values().take(pa.array(pairs[:, 0], mask=pairs[:, 0] < 0))
        after = pa.array(list(self.known), self.type).take(pa.array(pairs[:, 1], mask=pairs[:, 1] < 0))
        layout, codes = self._with_records().beside([pa.chunked_array([before]), pa.chunked_array([after])])
        one, other = (stacked([(layout._replace(codes=own), 1.0)]) for own in codes)
        return one, other, np.fromiter(self.pairs.values(), np.int64)

    def _with_records(self) -> CodedAttribute:
        """Return the attribute; with a code for each record if its most central category must be known."""
        if not self.fill or not self.column.lacking or not isinstance(self.attribute, Nominal):
            return self.attribute
        place = np.full(len(self.column.codes), -1, np.int64)
        values = {value: at for at, value in enumerate(self.attribute.categories.to_pylist())}
        for value, code in self.column.codes.items():
            place[code] = values[value]
        counts = [self.column.counts[code] for code in range(len(place))]
        return replace(self.attribute, codes=np.repeat(np.append(place, -1), [*counts, self.column.lacking]))

    def sse(self) -> float:
        one, other, counts = self._compared()
        return math.fsum((distances(one, other)[:, 0] * counts).tolist())

    def sst(self) -> float:
        one, _, counts = self._compared()
        return float(one.variation(0, counts))
