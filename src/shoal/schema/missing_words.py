"""Words for a missing value, such as ``NA`` and ``k.A.``, in columns of numbers or dates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from shoal.schema.cells import fits, is_text, tidy
from shoal.schema.conventions import NUMBERS, SHARE, dates_in
from shoal.types import Dialect, Kind

_LISTED = """- -- – — . .. ? / * #N/A #NA #NV #N/D #ND #NUM! #VALUE! <NA> na n/a n.a. nan null none nil nd n.d. nv n.v.
N.v. nr n.r. k.a. k.A. ka kA bd b.d. s/d missing unknown refused unbekannt fehlt fehlend inconnu manquant brak nieznane
desconocido"""
_NO_DAYS = ("00.00.0000", "00/00/0000", "00-00-0000", "0000-00-00", "0000/00/00", "0000-00-00 00:00:00")
_PHRASES = ("k. a.", "k. A.", "no answer", "not available", "keine angabe", "keine Angabe", "weiß nicht", "brak danych")
_ALL = (*_LISTED.split(), *_PHRASES, *_NO_DAYS)
_WORDS = tuple(dict.fromkeys(one for word in _ALL for one in (word, word.upper(), word.capitalize())))


def missing_words(data: pa.Table, dialect: Dialect) -> dict[str, list[str]]:
    """Return for each column of numbers or dates the words in it that mean a missing value.

    >>> import pyarrow as pa
    >>> cells = {"pay": ["31", "NA", "-"], "mark": ["a", "NA", "-"], "born": ["1.2.1974", "n/a", None]}
    >>> missing_words(pa.table(cells), Dialect())
    {'pay': ['-', 'NA'], 'born': ['n/a']}
    """
    found = {}
    for name in data.column_names:
        if not is_text(data.column(name)):
            continue
        read = tidy(data.column(name), dialect)
        words = read.filter(pc.is_in(read, value_set=pa.array(_WORDS))).unique()
        if len(words) and _values_beside(read, words, dialect):
            found[name] = sorted(words.to_pylist(), key=_WORDS.index)
    return found


def _values_beside(read: pa.ChunkedArray, words: pa.Array, dialect: Dialect) -> bool:
    """Tell whether most other distinct cells are numbers, or dates, in some convention."""
    rest = read.drop_null().unique()
    rest = pa.chunked_array([rest.filter(pc.invert(pc.is_in(rest, value_set=words)))])
    return len(rest) > 0 and any(
        (pc.sum(fits(rest, kind, one)).as_py() or 0) >= SHARE * len(rest) for kind, one in _readings(rest, dialect)
    )


def _readings(rest: pa.ChunkedArray, dialect: Dialect) -> Iterator[tuple[Kind, Dialect]]:
    """Yield the ways to read some cells as numbers or dates."""
    yield from ((Kind.CONTINUOUS, one.of(dialect)) for one in NUMBERS)
    yield from ((Kind.DATETIME, replace(dialect, datetime=one)) for one in (dialect.datetime, None))
    yield from ((Kind.DATETIME, one.of(dialect)) for one in dates_in(rest))
