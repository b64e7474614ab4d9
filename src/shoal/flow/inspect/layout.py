"""Signs that the rows of a file are not only records: no header, titles above it, or a row of totals below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from shoal.types import Guess, Kind, Role

_TOTALS = (
    *("average", "durchschnitt", "gesamt", "gesamtsumme", "insgesamt", "mean", "mittelwert", "moyenne", "ogółem"),
    *("razem", "somme", "sum", "suma", "summe", "total", "totale", "totals", "totaux", "średnia"),
)
_VALUE = r"^[+-]?[0-9]+[.,][0-9]+$|^[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}$"
_SINGLE = (
    "The file was read as a single column, because no tab, semicolon, vertical bar or comma separates the cells of its "
    "first line. If it has more columns, delete the lines above their names, or give --delimiter."
)
_NO_HEADER = (
    "The names of {} of {} columns look like values, or occur among the cells below them. If the file has no header, "
    "add one: otherwise its first record is lost and released as names. If the header is repeated below, delete it."
)
_TOTAL = (
    "Data row {:,}, the last one, looks like a total of the others. If it is, delete it: otherwise it counts as a "
    "person."
)


def layout_notes(data: pa.Table, guesses: Sequence[Guess]) -> Iterator[str]:
    """Yield sentences on the layout of a text file.

    >>> cells = {"38": ["41", "38", "38"], "Graz": ["Wien", "Graz", "Linz"], "x": ["1", "2", "Total:"]}
    >>> [note.partition(",")[0] for note in layout_notes(pa.table(cells), ())]
    ['The names of 2 of 3 columns look like values', 'Data row 3']
    """
    if len(guesses) == 1 and guesses[0].kind is Kind.NOMINAL and guesses[0].role is Role.IDENTIFIER:
        yield _SINGLE
    like_values = [name for name in data.column_names if _is_value(data.column(name), name)]
    if 2 * len(like_values) >= data.num_columns and (len(like_values) > 1 or data.num_columns == 1):
        yield _NO_HEADER.format(len(like_values), data.num_columns)
    if data.num_rows > 1 and any(_is_total(data.column(name)) for name in data.column_names):
        yield _TOTAL.format(data.num_rows)


def _is_value(cells: pa.ChunkedArray, name: str) -> bool:
    """Tell whether the name of a column looks like a date or a decimal number, or is one of its cells."""
    if pc.match_substring_regex(pa.scalar(name.strip()), _VALUE).as_py():
        return True
    return bool(pc.any(pc.equal(pc.utf8_trim_whitespace(cells), name.strip())).as_py())


def _is_total(cells: pa.ChunkedArray) -> bool:
    """Tell whether the last cell of a column, and no other one, is a word such as total."""
    last = cells[-1].as_py()
    if last is None or last.strip().casefold().rstrip(": ").partition(":")[0] not in _TOTALS:
        return False
    return bool(pc.sum(pc.equal(cells, last)).as_py() == 1)
