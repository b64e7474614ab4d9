"""Recoded text cells: rewritten wherever recoding could have made the value; all others keep their characters."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from shoal.flow.stages.values import as_values
from shoal.recipe.recodes import Recode
from shoal.schema.cells import tidy, values, with_point
from shoal.schema.roles import without_user_missing
from shoal.types import Column, Dialect, Kind, Table, in_one_piece

_PLACES = 400  # more than the smallest double has
_BEYOND = Fraction(10**_PLACES)  # above every double


def recoded_cells(
    table: Table,
    column: Column,
    how: Recode,
    number_of: Callable[[Column, Recode, pa.DataType], Callable[[Fraction], Fraction]],
    change_of: Callable[[Column, Recode, pa.DataType], Callable[[pa.Array], pa.Array]],
) -> pa.ChunkedArray:
    """Return the cells of a text column, recoded; numbers are recoded with all of their digits.

    `number_of` makes the change of numbers, `change_of` that of dates. Cells that mean "no value" stay as they are.
    """
    kind = as_values(column.name, table, exact=True).type  # refuses cells that cannot be read
    dialect = table.dialect or Dialect()
    coded = in_one_piece(table.data.column(column.name)).dictionary_encode(null_encoding="mask")
    cells = pa.chunked_array([coded.dictionary])
    read = tidy(without_user_missing(table.data.schema.field(column.name), cells), dialect)
    if column.kind is Kind.DATETIME:
        fresh = _moments(read, column, dialect, kind, change_of(column, how, kind))
    else:
        fresh = _numbers(
            read, dialect, number_of(column, how, kind), every=how.interval is not None or bool(how.breaks)
        )
    return pa.chunked_array([in_one_piece(pc.coalesce(fresh, cells)).take(coded.indices)])


def _numbers(
    read: pa.ChunkedArray, dialect: Dialect, change: Callable[[Fraction], Fraction], *, every: bool
) -> pa.ChunkedArray:
    """Return numbers as text where recoding could have made them, and missing values in place of the others.

    A number that happens to be a limit or the middle of an interval is written like those that became it: otherwise
    its characters would tell that it was there before. `every`: all numbers are middles.
    """
    ends, found = {change(_BEYOND), change(-_BEYOND)}, []
    for text in with_point(read, dialect).to_pylist():
        before = None if text is None else exact_of(text)
        after = None if before is None else change(before)
        kept = after is None or (after == before and not every and after not in ends)
        found.append(None if after is None or kept else written(after, dialect.decimal))
    return pa.chunked_array([pa.array(found, read.type)])


def _moments(
    read: pa.ChunkedArray,
    column: Column,
    dialect: Dialect,
    kind: pa.DataType,
    change: Callable[[pa.Array], pa.Array],
) -> pa.ChunkedArray:
    """Rewrite all dates as text, so that characters do not tell which ones changed; null where there is no date.

    `kind` is their type in the whole column; these may be a batch of it.
    """
    from shoal.io.sinks._text_cells import to_text

    before = in_one_piece(values(read, column.name, column.kind, dialect).cast(kind))
    after = pc.replace_with_mask(before, before.is_valid(), change(before.drop_null()))
    return pc.if_else(before.is_valid(), to_text(pa.table({"x": after}), dialect)["x"], pa.scalar(None, read.type))


def exact_of(text: str) -> Fraction:
    """Return a number in decimal notation with all of its digits; one that no double is close to is 0.

    >>> exact_of("0.10"), exact_of("1e-9999999")
    (Fraction(1, 10), Fraction(0, 1))
    """
    number = Decimal(text)
    return Fraction(number) if abs(number.adjusted()) < _PLACES else Fraction(float(number))


def written(number: Fraction, decimal: str = ".") -> str:
    """Return a number with a finite number of decimals as text, without trailing zeros.

    >>> written(Fraction(495, 2), ","), written(Fraction(1000)), written(Fraction(-1, 8))
    ('247,5', '1000', '-0.125')
    """
    places, rest = 0, number.denominator
    while rest > 1:
        rest, places = rest // (10 if rest % 10 == 0 else 5 if rest % 5 == 0 else 2), places + 1
    digits = str(abs(int(number * 10**places))).zfill(places + 1)
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-places]}{decimal}{digits[-places:]}" if places else digits)
