"""Members, release and control → Attacked: three tables on one scale, for attacks with a control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.stages.encode import encode
from shoal.flow.stages.masked_values import masked_values
from shoal.flow.stages.row_digests import row_digests
from shoal.flow.stages.values import as_values
from shoal.points.codes import in_own_terms
from shoal.points.on_one_scale import on_one_scale
from shoal.schema.cells import is_text
from shoal.types import Attacked, Kind, Pair, Role, Table, Trio


def attacked_tables(
    members: Table, released: Table, control: Table | None, confidential: Sequence[str], *, missing: str, seed: int
) -> Attacked:
    """Put three tables on the scale of the members; without a control, it has no records.

    The schema of the members says what columns mean in all three. A confidential column that the release lacks is left
    out.
    """
    outside = Table(members.data.slice(0, 0), members.schema, members.dialect) if control is None else control
    names = members.schema.names(Role.QUASI)
    secrets = [name for name in confidential if name in released.data.column_names]
    _, attributes = encode(members, names, missing=missing)
    parsed = [masked_values(table, members, (*names, *secrets)) for table in (members, released, outside)]
    records, owners = on_one_scale(attributes, [[one.column(name) for name in names] for one in parsed[1:]])
    kinds = {name: members.schema[name].kind for name in (*names, *secrets)}
    return Attacked(
        records[0],
        records[1],
        records[2],
        owners,
        {name: _trio(kinds[name], [one.column(name) for one in parsed], ranked=True) for name in names},
        {name: _trio(kinds[name], [one.column(name) for one in parsed], ranked=False) for name in secrets},
        seed,
    )


def _trio(kind: Kind, columns: Sequence[pa.ChunkedArray], *, ranked: bool) -> Trio:
    """Return a column of three tables as numbers or codes; ordered categories are numbers if `ranked`."""
    members, released, control = columns
    pairs = [in_own_terms(kind, members, other) for other in (released, control)]
    if isinstance(pairs[0], Pair) and isinstance(pairs[1], Pair):
        return Trio(pairs[0].before, pairs[0].after, pairs[1].after, numeric=True)
    texts = [_as_text(column) for column in (released, control)]
    both = pa.chunked_array([*texts[0].chunks, *texts[1].chunks], pa.large_string())
    found = in_own_terms(Kind.NOMINAL, members, both)
    assert not isinstance(found, Pair)
    numeric = ranked and found.ordered
    codes = [np.asarray(one, np.float64) for one in (found.before, found.after)]
    before, after = (np.where(one < 0, np.nan, one) if numeric else one for one in codes)
    return Trio(before, after[: len(released)], after[len(released) :], numeric)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string(), safe=False)


class Outside(NamedTuple):
    """The rows of an original that are not in a control."""

    rows: NDArray[np.int64]
    certain: bool  #: no row that is left equals one that is not: only then their positions are known


def rows_outside(original: Table, control: Table) -> Outside | None:
    """Return the rows of an original that are not in the control; None if some control record is not in it.

    Records are the same if they are equal in all columns that both tables have and that can be compared. A record that
    occurs twice in the control is left out twice; of equal rows the first ones.
    """
    digests, outside = (_digests(one, original, control) for one in (original, control))
    known, of = np.unique(np.concatenate((digests, outside)), return_inverse=True)
    own, n = of.reshape(-1)[: len(original)], len(original)
    wanted, there = (np.bincount(one, minlength=len(known)) for one in (of.reshape(-1)[n:], own))
    if (wanted > there).any():
        return None
    order = np.argsort(own, kind="stable")
    starts = np.cumsum(there) - there
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n) - starts[own[order]]
    return Outside(np.flatnonzero(rank >= wanted[own]), bool(((wanted == 0) | (wanted == there)).all()))


def shared_records(original: Table, control: Table) -> int:
    """Return how many control records equal an original record in all columns that both tables have."""
    return int(np.isin(_digests(control, original, control), _digests(original, original, control)).sum())


def _digests(table: Table, original: Table, control: Table) -> NDArray[np.uint64]:
    """Return a digest of each row, of the columns that both tables have; numbers are compared as numbers.

    A column that is text in one table only, and not among those compared, does not count.
    """
    texts: dict[str, pa.ChunkedArray] = {}
    for column in original.schema.columns:
        if column.name not in control.data.column_names:
            continue
        both = [one.data.column(column.name) for one in (original, control)]
        if column.role in (Role.QUASI, Role.CONFIDENTIAL):
            cells = as_values(column.name, table)
            texts[column.name] = _as_text(cells.cast(pa.float64(), safe=False) if _is_number(cells.type) else cells)
        elif is_text(both[0]) == is_text(both[1]) and not any(pa.types.is_nested(one.type) for one in both):
            texts[column.name] = _as_text(table.data.column(column.name))
    return row_digests(pa.table(texts), list(texts))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
