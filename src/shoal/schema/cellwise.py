"""Cells read one by one: the value of a cell depends on nothing but that cell.

Under the claim ``original``, one record must not change how the cells of others are read. So the type of a column,
which often depends on all of its cells, does not matter here: 51, 51.0 and "51" are the same number, and an unreadable
cell is missing.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from shoal.schema.cells import fits, is_text, tidy, with_point
from shoal.types import Dialect, Kind, called

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def numbers(column: pa.ChunkedArray, dialect: Dialect) -> NDArray[np.float64]:
    """Return each cell as a number; NaN if it is missing, not finite, or not a number.

    >>> import pyarrow as pa
    >>> numbers(pa.chunked_array([["51", " 51.5", "x", None]]), Dialect()).tolist()
    [51.0, 51.5, nan, nan]
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return numbers(column.cast(kind.value_type), dialect)
    if is_text(column):
        read = tidy(column, dialect)
        there = pc.fill_null(fits(read, Kind.CONTINUOUS, dialect), False)
        column = with_point(pc.if_else(there, read, pa.scalar(None, pa.string())), dialect)
    elif not any(
        is_number(kind)
        for is_number in (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    ):
        return np.full(len(column), np.nan)
    found = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy()
    return np.where(np.isfinite(found), found, np.nan)


def categories(column: pa.ChunkedArray, known: Sequence[str], dialect: Dialect | None) -> NDArray[np.int64]:
    """Return the index of each cell in a list of categories; −1 if it is missing or not in the list.

    >>> import pyarrow as pa
    >>> categories(pa.chunked_array([[1.0, 2.0, None, 7.0]]), ["1", "2", "3"], None).tolist()
    [0, 1, -1, -1]
    """
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return categories(column.cast(column.type.value_type), known, dialect)
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int64)
    cells = tidy(column, dialect) if dialect is not None and is_text(column) else column
    coded = cells.combine_chunks().dictionary_encode(null_encoding="mask")
    place = {name: at for at, name in enumerate(known)}
    places = np.array([*(place.get(called(value), -1) for value in coded.dictionary.to_pylist()), -1], np.int64)
    return np.asarray(places[coded.indices.fill_null(len(coded.dictionary)).to_numpy()])


def of_mixed_types(values: Sequence[Any], *, numeric: bool) -> pa.ChunkedArray:
    """Return values of mixed types as a column of text, each as it would be read in a column of its own type.

    >>> of_mixed_types([51, 51.5, "x", None, True], numeric=True).to_pylist()
    ['51.0', '51.5', 'x', None, '1.0']
    """
    import pyarrow as pa

    return pa.chunked_array([[_text(value, numeric=numeric) for value in values]], pa.string())


def _text(value: Any, *, numeric: bool) -> str | None:
    if isinstance(value, str):
        return value
    try:
        if value is None or operator.ne(value, value):  # NaN and NaT differ from themselves
            return None
        if numeric:
            return repr(float(value)) if isinstance(value, (Real, Decimal)) else None
        return called(float(value) if isinstance(value, Real) and not isinstance(value, Integral) else value)
    except (TypeError, ValueError, OverflowError):  # pandas.NA, arrays, and integers too large for a double
        return None
