"""Metadata: labels, notes and lists of categories that name what the table no longer holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.types.attack import Attempt, Case
from shoal.types.protocols import Attack

_WORDS = re.compile(r"[^\W_][\w.'-]*", re.UNICODE)
_LONGEST = 4  # words in a name
_SHORTEST = 3  # letters or digits in a name; shorter ones occur in any text


@dataclass(frozen=True)
class Metadata(Attack):
    """The attacker reads everything in the released files that is not a cell.

    **What the attacker knows.** The released files, with their labels, notes, properties and lists of categories.

    **What the attacker does.** Looks for names that occur in the original's cells or columns, and neither in the
    released cells nor in the recipe. A name has a letter, and three characters or more.

    **Learnt.** Records with such a name in one of their cells; all records, if it is the name of a column.

    **Baseline.** 0.

    **Complexity.** O(n) for each column of text, and nothing if the files hold no metadata.
    """

    quick: ClassVar[bool] = True
    stops: ClassVar[bool] = True
    advice: ClassVar[str] = "Publish the file without its metadata."

    def run(self, case: Case) -> Attempt:
        """Count the records whose names are in the metadata."""
        names = _names([*case.notes, *_in_schemas(case)])
        names |= _unused(case)
        names -= {*_texts(case.recipe), *_declared(case)}
        names -= {name for table in case.released for name in table.data.column_names}
        what = "a name that was removed, from labels, notes and lists of categories,"
        n = len(case.original) if case.everything is None else case.everything.records
        for table in _released(case) if names else ():
            for name in table.column_names:
                names -= _occurring(table.column(name), names)
        if names & set(case.original.data.column_names):
            return Attempt.of(self.key, n, n, 0.0, what)
        held = sum(_held(table, names) for table in _originals(case)) if names else 0
        return Attempt.of(self.key, n, held, 0.0, what)


def _released(case: Case) -> Iterable[pa.Table]:
    """Return all released records, also where the case has a sample."""
    return [table.data for table in case.released] if case.everything is None else case.everything.released()


def _originals(case: Case) -> Iterable[pa.Table]:
    return [case.original.data] if case.everything is None else case.everything.original()


def _held(table: pa.Table, names: set[str]) -> int:
    """Count the records with one of some names in a cell."""
    held = np.zeros(table.num_rows, np.bool_)
    for column in table.columns:
        held |= _holding(column, names)
    return int(held.sum())


def _names(texts: Iterable[str]) -> set[str]:
    """Return everything in some texts that may be a name: each text, and up to 4 words of it in a row."""
    found: set[str] = set()
    for text in texts:
        found.add(text.strip())
        words = list(_WORDS.finditer(text))
        for at, first in enumerate(words):
            for last in words[at : at + _LONGEST]:
                found.add(text[first.start() : last.end()].rstrip(".'-"))
    return {name for name in found if len(name) >= _SHORTEST and any(letter.isalpha() for letter in name)}


def _in_schemas(case: Case) -> Iterator[str]:
    """Yield the metadata of the released tables and their columns."""
    for table in case.released:
        schema = table.data.schema
        for notes in (schema.metadata, *(field.metadata for field in schema)):
            for key, value in (notes or {}).items():
                yield from (part.decode("utf-8", "replace") for part in (key, value))


def _unused(case: Case) -> set[str]:
    """Return the categories that a released column lists and no record has."""
    found: set[str] = set()
    for table in case.released:
        for column in table.data.columns:
            if pa.types.is_dictionary(column.type) and (text := _text(column)) is not None:
                listed = {value for chunk in column.chunks for value in chunk.dictionary.to_pylist()}
                found |= listed - set(text.unique().to_pylist()) - {None}
    return found


def _texts(values: Any) -> Iterator[str]:
    """Yield every text in nested plain values, and every word of it."""
    if isinstance(values, str):
        yield values
        yield from _names([values])
    elif isinstance(values, Mapping):
        yield from (text for pair in values.items() for one in pair for text in _texts(one))
    elif isinstance(values, Iterable):
        yield from (text for one in values for text in _texts(one))


def _declared(case: Case) -> Iterator[str]:
    """Yield the categories that orders and taxonomies declare."""
    for column in case.original.schema.columns:
        yield from column.order
        if column.taxonomy is not None:
            yield from _texts(column.taxonomy.paths)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column of text or categories as text; None for any other."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return column.cast(pa.large_string()) if any(test(column.type) for test in kinds) else None


def _occurring(column: pa.ChunkedArray, names: set[str]) -> set[str]:
    text = _text(column)
    if text is None or not names:
        return set()
    cells = text.unique().to_pylist()
    return names & {one for cell in cells if cell is not None for one in (cell, *_names([cell]))}


def _holding(column: pa.ChunkedArray, names: set[str]) -> NDArray[np.bool_]:
    """Tell which cells are one of some names."""
    text = _text(column)
    if text is None or not names:
        return np.zeros(len(column), np.bool_)
    found = pc.is_in(text, value_set=pa.array(sorted(names), pa.large_string()))
    return np.asarray(found.combine_chunks().to_numpy(zero_copy_only=False), np.bool_)
