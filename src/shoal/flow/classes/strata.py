"""Strata: groups of records that no class may cross."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.flow.stages.values import categories
from shoal.types import Coded, Partition, Points, Role, Table, with_columns
from shoal.types.protocols import Partitioner
from shoal.types.statistical_files import Variable
from shoal.types.table import called

_AND = " + "
_LARGEST = 1_000_000  # largest new code


def as_merged(table: Table, strata: NDArray[np.int64]) -> Table:
    """Return a table in which records of merged strata have the same values in all strata columns.

    Categories and whole numbers are released as the names of all merged strata, in order: ``north + south``; a column
    of whole numbers then becomes text. A number from a statistical package with value labels is released as a new
    number that carries all the labels. Other columns have no such joint value: they become missing in these records, as
    does any column that was missing in one of the merged strata.

    **Guarantee.** Records of one stratum, after merging, are equal in all strata columns; a column in which the merged
    strata do not differ is unchanged; a stratum that was not merged keeps its values.

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Schema
    >>> schema = Schema((Column("region", Role.STRATA, Kind.NOMINAL),))
    >>> as_merged(Table(pa.table({"region": list("abc")}), schema), np.array([0, 1, 0])).data["region"].to_pylist()
    ['a + c', 'b', 'a + c']
    """
    data = table.data
    for name in table.schema.names(Role.STRATA):
        numbers = categories(name, table.data.column(name), "cannot be strata. Give it another role.")
        pairs = np.unique(np.column_stack((strata, numbers)), axis=0)
        differing = np.bincount(pairs[:, 0]) > 1
        if differing.any():
            field, column = _one_value(table, name, strata, differing)
            data = data.set_column(data.schema.get_field_index(name), field, column)
    return table.changed(data, set(table.schema.names(Role.STRATA)))


def _one_value(
    table: Table, name: str, strata: NDArray[np.int64], differing: NDArray[np.bool_]
) -> tuple[pa.Field, pa.ChunkedArray]:
    """Give a column one value per stratum where it has several; return it with a note."""
    from shoal.schema.cells import is_text, without_missing, without_nan
    from shoal.schema.roles import without_user_missing

    field, column = table.data.schema.field(name), table.data.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    mask, known = pa.array(differing[strata]), without_nan(without_user_missing(field, column))
    if is_text(known) and table.dialect is not None:
        known = without_missing(known, table.dialect)
    inside = {int(s): known.filter(pa.array(strata == s)).unique().to_pylist() for s in np.flatnonzero(differing)}
    values: dict[int, Any] = {s: None if None in found else sorted(found) for s, found in inside.items()}
    variable = Variable.of(field)
    if variable is not None and not is_text(known):
        variable, values = _with_codes(variable, known, values)
        field = variable.onto(field)
    elif is_text(known) or _whole(known):
        values = {s: found and _AND.join(map(called, found)) for s, found in values.items()}
        if not is_text(column):
            texts = [None if v is None else called(v) for v in known.to_pylist()]
            column = pa.chunked_array([pa.array(texts, pa.string())])
    else:
        values = {}
    fresh = pa.array([values.get(int(one)) for one in strata], column.type)
    found = pc.if_else(mask, pa.chunked_array([fresh]), column)
    if pa.types.is_dictionary(field.type):
        found = found.dictionary_encode()
    return field.with_type(found.type).with_nullable(True), found


def _with_codes(
    variable: Variable, known: pa.ChunkedArray, values: dict[int, Any]
) -> tuple[Variable, dict[int, float | int | None]]:
    """Return new codes for lists of codes, above all existing ones, and the variable with their labels."""
    labels = dict(variable.labels)
    whole = _whole(known)
    taken = [v for v in (*known.unique().to_pylist(), *labels) if isinstance(v, int | float) and abs(v) < _LARGEST]
    new = int(max(taken, default=0)) if whole else 0
    codes: dict[int, float | int | None] = {}
    for stratum, found in values.items():
        new += 1
        while whole and new < _LARGEST and _declared(variable, new):
            new += 1
        if found is None or not whole or new >= _LARGEST:
            codes[stratum] = None
            continue
        codes[stratum] = new if pa.types.is_integer(known.type) else float(new)
        labels[new] = _AND.join(str(labels.get(value, called(value))) for value in found)
    return replace(variable, labels=tuple(labels.items())), codes


def _declared(variable: Variable, code: int) -> bool:
    return any(low <= code <= high for low, high in variable.missing if not isinstance(low, str | None))  # type: ignore[operator]


def _whole(column: pa.ChunkedArray) -> bool:
    """Tell whether all values are whole numbers, whatever the column type."""
    if not pa.types.is_floating(column.type):
        return bool(pa.types.is_integer(column.type))
    return pc.all(pc.equal(column, pc.floor(column))).as_py() is not False


def merge_small(
    points: Points, strata: NDArray[np.int64], k: int, subjects: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Merge each stratum of fewer than k records (k distinct subjects, where known) with its nearest stratum.

    While such a stratum exists, the smallest one (the first in a tie) joins the stratum with the nearest mean point.

    **Guarantee.** Every returned stratum holds k, or is the only one. Each is a union of given strata; if it has
    several, at least one of them held fewer than k.

    **Complexity.** O(s²d) for s strata of points in d coordinates.

    >>> import numpy as np
    >>> merge_small(Points(np.array([[0.0], [0.1], [9.0], [5.0], [5.2]])), np.array([0, 0, 1, 2, 2]), 2, None).tolist()
    [0, 0, 1, 1, 1]
    """
    count = np.bincount(strata)
    total = _totals(points, strata, count)
    members = None if subjects is None else [set(subjects[strata == s].tolist()) for s in range(len(count))]
    size = count.copy() if members is None else np.array([len(one) for one in members])
    into = np.arange(len(count))
    there = np.ones(len(count), np.bool_)
    while there.sum() > 1 and size[there].min() < k:
        small = int(np.flatnonzero(there)[size[there].argmin()])
        others = np.flatnonzero(there & (np.arange(len(there)) != small))
        means = total[others] / count[others, None]
        nearest = int(others[((means - total[small] / count[small]) ** 2).sum(axis=1).argmin()])
        total[nearest] += total[small]
        count[nearest] += count[small]
        if members is not None:
            members[nearest] |= members[small]
        size[nearest] = count[nearest] if members is None else len(members[nearest])
        there[small], into[into == small] = False, nearest
    return np.asarray(np.unique(into[strata], return_inverse=True)[1], np.int64)


def _totals(points: Points, strata: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of the points of each stratum, scaled so that squares do not overflow."""
    exponent = int(np.frexp(abs(points.numbers).max(initial=0.0))[1])
    total = np.zeros((len(count), points.numbers.shape[1]))
    np.add.at(total, strata, np.ldexp(points.numbers, -exponent))
    x = points.x
    if not isinstance(x, Coded):
        return total
    points.refuse_many(len(count), "use fewer strata")
    parts = [
        total[:, [at]] if at >= 0 else np.ldexp(x.means(~at, strata) * count[:, None], -exponent)
        for at in x.layout.order.tolist()
    ]
    return np.column_stack(parts)


def merged_note(before: NDArray[np.int64], after: NDArray[np.int64], k: int) -> str:
    """Report how many strata were merged; empty if none was."""
    pairs = np.unique(np.column_stack((after, before)), axis=0)
    held = np.bincount(pairs[:, 0])
    if held.max() == 1:
        return ""
    return (
        f"{int(held[held > 1].sum()):,} of {len(pairs):,} strata were merged into {int((held > 1).sum()):,}, because "
        f"some held fewer than k = {k}; merged strata are released as one"
    )


def with_strata(data: pa.Table, names: Sequence[str], strata: NDArray[np.int64]) -> pa.Table:
    """Return a table whose strata columns show only the merged strata."""
    columns = {name: pa.array(np.zeros(len(strata), np.int64)) for name in names}
    return with_columns(data, {**columns, names[0]: pa.array(strata)})


def partition_strata(
    points: Points, method: Partitioner, strata: NDArray[np.int64] | None, rng: np.random.Generator
) -> Partition:
    """Partition the points, stratum by stratum where there are strata.

    Every stratum gets the same random numbers, so that its classes depend neither on the order of strata nor of rows.
    """
    if strata is None:
        return method.partition(points, rng)
    seed = int(rng.integers(1 << 60))
    method = method.settled(points)  # what it determines from the points must be the same in every stratum
    rows = np.split(np.argsort(strata, kind="stable"), np.cumsum(np.bincount(strata))[:-1])
    parts = [method.partition(points.rows(where), np.random.default_rng(seed)) for where in rows]
    return Partition.joined(parts, rows, joint_note([part.note for part in parts]))


def joint_note(notes: Sequence[str]) -> str:
    """Return one note on all strata; choices with their reason after a colon are stated once, without the reason.

    >>> joint_note(["auto chose anneal: 90 records", "auto chose anneal: 70 records", "auto chose mdav: 9 records"])
    'auto chose anneal in 2 of 3 strata; auto chose mdav in 1 of 3 strata'
    >>> joint_note(["auto chose mdav: 9 records", "auto chose mdav: 8 records"])
    'auto chose mdav in all 2 strata'
    """
    different = sorted({note for note in notes if note})  # whatever the order of strata
    if len(different) < 2 or not all(": " in note for note in different):
        return "; ".join(different)
    strata = Counter(note.partition(": ")[0] for note in notes if note)
    ordered = sorted(strata.items(), key=lambda choice: (-choice[1], choice[0]))
    total = f"{len(notes):,}"
    shares = ((choice, f"all {total}" if n == len(notes) else f"{n:,} of {total}") for choice, n in ordered)
    return "; ".join(f"{choice} in {share} strata" for choice, share in shares)
