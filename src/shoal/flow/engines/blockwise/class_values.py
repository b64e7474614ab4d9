"""Released values of classes, block by block, and what they lose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.engines.blockwise.columns import QuasiColumn
from shoal.flow.engines.blockwise.encoding import Encoded
from shoal.flow.engines.blockwise.facts import WEIGHT, Facts
from shoal.flow.plan.plan import Plan
from shoal.flow.stages.encode import encode
from shoal.kernels.arithmetic.class_statistics import class_means
from shoal.kernels.arithmetic.sums import orderless_total
from shoal.release.centroid import Centroid
from shoal.types import Table, distances


@dataclass(frozen=True, eq=False)
class Released:
    """The released values of the classes of one block, and what they lose."""

    values: pa.Table
    sizes: NDArray[np.int64]
    lost: NDArray[np.float64]  #: by summand of the distance
    first: int  #: number of the first class


def release_block(
    plan: Plan, found: Facts, encoded: Encoded, first_class: int, stored: pa.Table, labels: NDArray[np.int64]
) -> Released:
    """Compute the released values of the classes of a block, and what they lose.

    The skeleton's rows are a class of their own, which is dropped: every category of the table is known then.
    """
    recipe, rows = plan.recipe, len(encoded.skeleton)
    classes = int(labels.max()) + 1
    names = [one.name for one in encoded.columns]
    cells = pa.table({one.name: one.restored(stored.column(one.name)) for one in encoded.columns})
    both = pa.concat_tables([encoded.skeleton.table.data.cast(cells.schema), cells])
    both = pa.Table.from_arrays(both.columns, schema=encoded.skeleton.table.data.schema)
    extended = np.concatenate((np.full(rows, classes), labels))
    weights = None
    if WEIGHT in stored.column_names and recipe.release_weight != "record":
        weights = np.concatenate((np.ones(rows), stored.column(WEIGHT).to_numpy() / found.heaviest))
    _, attributes = encode(Table(both, encoded.skeleton.table.schema), names, missing=found.missing)
    first = np.full(classes, -1, np.int64)
    first[labels[::-1]] = np.arange(len(extended) - 1, rows - 1, -1)  # the first record of each class
    assert isinstance(plan.release, Centroid)  # the plan refuses others
    kinds = plan.release.categories
    values = {
        one.name: one.centroid(extended, weights, resolution=encoded.resolutions.get(one.name), categories=kinds).take(
            pa.array(first)
        )
        for one in attributes
    }
    if kinds == "leaf":
        before = encoded.standard.points(cells)
        after = encoded.standard.points(pa.table({name: _as_cells(values[name], cells[name].type) for name in names}))
    else:  # values may be groups of a taxonomy
        before, after = encoded.standard.pair(cells, {name: plain_values(values[name]) for name in names})
    apart = distances(before, after[labels])
    if WEIGHT in stored.column_names and recipe.release_weight == "class":
        values[WEIGHT] = pa.array(class_means(stored.column(WEIGHT).to_numpy(), labels))
    lost = np.array([orderless_total(np.ascontiguousarray(column)) for column in apart.T])
    return Released(pa.table(values), np.bincount(labels).astype(np.int64), lost, first_class)


def _as_cells(values: pa.Array, kind: pa.DataType) -> pa.ChunkedArray:
    """Return released values in the type of the cells, for a template."""
    plain = plain_values(values)
    as_is = plain.type == kind or pa.types.is_floating(plain.type) or pa.types.is_dictionary(kind)
    return plain if as_is else plain.cast(kind)


def plain_values(values: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values without a dictionary."""
    plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    return plain if isinstance(plain, pa.ChunkedArray) else pa.chunked_array([plain])


def owners_of(encoded: Encoded) -> list[str]:
    """Return the attribute of each summand of a distance."""
    found = []
    for column in encoded.standard.columns:
        part = column.part(encoded.skeleton.table.data.column(column.attribute.name))
        found += [column.attribute.name] * (1 if isinstance(part, tuple) else part.shape[1])
    return found


def variation_of(encoded: Encoded, found: Facts) -> dict[str, float]:
    """Return the total variation of each attribute, in the same units as its loss."""
    total = {}
    for one, column in zip(encoded.columns, encoded.standard.columns, strict=True):
        part = column.part(encoded.skeleton.table.data.column(one.name))
        share = one.lacking / one.records
        if isinstance(part, tuple):
            total[one.name] = _variation_of_codes(one, column, found.records)
            continue
        varies = float(np.ptp(part[:, 0])) > 0.0
        total[one.name] = varies * (found.records - one.lacking) + found.records * share * (1.0 - share) * (
            part.shape[1] > 1
        )
    return total


def _variation_of_codes(one: QuasiColumn, column: object, records: int) -> float:
    """Return the variation of a coded attribute, from the number of records of each category."""
    layout = column.part(pa.chunked_array([one.values()]))[0]  # type: ignore[attr-defined]
    counts = np.zeros(layout.low.shape[1], np.int64)
    np.add.at(counts, layout.codes, [one.counts[code] for code in one.codes.values()])
    if one.lacking:
        missing = column.part(pa.chunked_array([pa.nulls(1, one.values().type)]))[0].codes[0]  # type: ignore[attr-defined]
        counts[missing] += one.lacking
    total = 0
    for low, high, times in zip(layout.low, layout.high, layout.times.tolist(), strict=True):
        inside = high > low
        sizes = np.zeros(len(counts), np.int64)
        np.add.at(sizes, low[inside], counts[inside])
        total += times * (records * int(sizes.sum()) - sum(size * size for size in sizes.tolist()))
    return total / (2 * int(layout.times.sum()) * max(records, 1))
