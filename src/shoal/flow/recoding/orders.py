"""Recoded ordered categories: one category in place of its neighbours, or of all beyond a limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import SchemaError, listing, raise_all
from shoal.flow.stages.values import as_values
from shoal.recipe.recodes import Recode
from shoal.types import Column, Table, called, in_one_piece


def is_ordered(table: Table, column: Column) -> bool:
    """Tell whether the categories of a column have an order of their own, declared or stored."""
    kind = table.data.schema.field(column.name).type
    return bool(column.order) or (pa.types.is_dictionary(kind) and kind.ordered)


def merged(table: Table, column: Column, how: Recode) -> pa.ChunkedArray:
    """Return ordered categories, recoded; released ones are categories of the same order, so that ranks stay."""
    values = as_values(column.name, table, exact=True).unify_dictionaries()
    coded = in_one_piece(values)
    names = [called(one) for one in coded.dictionary.to_pylist()]
    after = categories_after(column.name, names, how)
    pairs = list(zip(names, after, strict=True))
    into = {one for name, one in pairs if one != name}  # rewritten everywhere, or blanks would tell what was there
    changed = pa.array([None if one == name and one not in into else one for name, one in pairs], pa.string())
    fresh, cells = pa.chunked_array([changed.take(coded.indices)]), table.data.column(column.name)
    if not pa.types.is_dictionary(cells.type):
        return pc.coalesce(fresh.cast(cells.type), cells)  # other cells, codes included, stay as they are
    plain = cells.cast(cells.type.value_type)
    found = pc.coalesce(fresh.cast(plain.type), plain)
    if column.order:
        return found.dictionary_encode()
    places = in_one_piece(pc.index_in(found, value_set=coded.dictionary)).cast(cells.type.index_type)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, coded.dictionary, ordered=True)])


def categories_after(column: str, order: Sequence[str], how: Recode) -> list[str]:
    """Return for each category, from lowest to highest, the one that is released.

    >>> categories_after("size", ["S", "M", "L", "XL"], Recode(top="L", bottom="M"))
    ['M', 'M', 'L', 'L']
    >>> categories_after("size", ["S", "M", "L", "XL"], Recode(groups={"L": ["L", "XL"]}))
    ['S', 'M', 'L', 'L']
    """
    place = {name: at for at, name in enumerate(order)}
    groups = {called(name): [called(one) for one in some] for name, some in how.groups.items()}
    limits = [None if limit is None else called(limit) for limit in how.limits]
    named = [*(one for one in limits if one is not None), *(one for some in groups.values() for one in some)]
    raise_all(SchemaError, list(_faults(column, place, how, groups, named)))
    ends = np.array([0 if limits[0] is None else place[limits[0]], len(order) - 1])
    ends[1] = ends[1] if limits[1] is None else place[limits[1]]
    if ends[0] > ends[1]:
        raise SchemaError(f"Column {column!r}: bottom of its recode must come before top in its order. Exchange them.")
    into = {one: name for name, some in groups.items() for one in some}
    return [into.get(name, order[int(np.clip(at, *ends))]) for name, at in place.items()]


def _faults(
    column: str, place: dict[str, int], how: Recode, groups: dict[str, list[str]], named: list[str]
) -> list[str]:
    what = f"Column {column!r}:"
    if how.interval is not None or how.breaks or how.top_as is not None or how.bottom_as is not None:
        return [f"{what} ordered categories take top, bottom or groups, got others. Leave these out."]
    if strange := [one for one in named if one not in place]:
        return [f"{what} its recode must name categories of its order, got {listing([repr(one) for one in strange])}."]
    return [
        f"{what} the group {name!r} of its recode must hold neighbours in its order. Split it, or add those between."
        for name, some in groups.items()
        if max(place[one] for one in some) - min(place[one] for one in some) >= len(some)
    ]
