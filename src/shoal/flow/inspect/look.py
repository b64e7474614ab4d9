"""Look at a column: counts, ranges and lengths of its values, from which its role is guessed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.flow.inspect.missing_codes import far_days, far_numbers
from shoal.schema.guess import Seen
from shoal.types import Dialect, Kind
from shoal.types.statistical_files import Variable

_NEARLY_ALL = 0.9  # share of the texts of a key that have a digit
_LABELS = (b"label", b"description", b"comment")  # metadata of an Arrow field, such as a Parquet column
_SHAPED = 10_000  # texts whose shape is looked at
_LONG = 100_000  # from here on, numbers of equal length are unlikely to be amounts


def look_at(data: pa.Table, name: str, dialect: Dialect | None) -> tuple[Seen, NDArray[np.int64] | None]:
    """Count missing and distinct values of a column, and number its values if they can be compared."""
    from shoal.schema.cells import is_text, tidy, without_nan
    from shoal.schema.kinds import kind_of
    from shoal.schema.roles import without_user_missing

    field, n = data.schema.field(name), data.num_rows
    column = without_nan(without_user_missing(field, data.column(name)))
    kind = kind_of(data.column(name), dialect, field)
    if is_text(column):
        column = tidy(column, dialect or Dialect())
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.combine_chunks().dictionary_encode(null_encoding="mask")
        distinct = len(encoded.dictionary.drop_null())
        codes = encoded.indices.fill_null(distinct).to_numpy().astype(np.int64)
    except pa.ArrowException:
        return Seen(name, kind, n, column.null_count, 0, 0, comparable=False, label=label_of(field)), None
    sizes = np.bincount(codes, minlength=1)
    numbers = _numbers(encoded.dictionary, kind, dialect)
    weights = numbers is not None and not column.null_count and _may_be_weights(numbers)
    smallest = int(sizes[sizes > 0].min())
    seen = Seen(name, kind, n, column.null_count, distinct, smallest, weights, label=label_of(field))
    once = int((sizes[:distinct] == 1).sum())
    far = _far(field, kind, numbers, encoded.dictionary, dialect)
    seen = replace(seen, far=int(sizes[: len(far)][far].sum()), far_codes=_cells(encoded.dictionary, far))
    return replace(seen, once=once, **_details(kind, numbers, encoded.dictionary, dialect)), codes


def _far(
    field: pa.Field, kind: Kind, numbers: NDArray[np.float64] | None, found: pa.Array, dialect: Dialect | None
) -> NDArray[np.bool_]:
    """Tell which distinct values are codes for a missing value, by their usual numbers or their labels in the file."""
    from shoal.schema.cells import is_text, readable, values

    if numbers is not None:
        variable = Variable.of(field)
        known = [] if variable is None else [value for value, _ in variable.labels if isinstance(value, (int, float))]
        return far_numbers(numbers, known)
    days = pa.chunked_array([found])
    if kind is not Kind.DATETIME or not len(found) or (is_text(days) and dialect is None):
        return np.zeros(0, np.bool_)
    if dialect is not None and is_text(days):
        if not readable(days, kind, dialect):
            return np.zeros(0, np.bool_)
        days = values(days, "", kind, dialect)
    return far_days(days.combine_chunks())


def _cells(found: pa.Array, far: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the cells of a text file among some distinct values."""
    from shoal.schema.cells import is_text

    return tuple(found.filter(pa.array(far)).to_pylist()) if far.any() and is_text(pa.chunked_array([found])) else ()


def _details(
    kind: Kind, numbers: NDArray[np.float64] | None, values: pa.Array, dialect: Dialect | None
) -> dict[str, Any]:
    """Return the range of numbers, or lengths and shape of texts, and whether the distinct values look like a key."""
    from shoal.schema.cells import is_text
    from shoal.schema.shapes import beside_text, like_values, months_as_numbers, padded, shape_of

    some = pa.chunked_array([values.drop_null().slice(0, _SHAPED)])
    if numbers is not None:
        whole = kind is Kind.INTEGER or bool((numbers == np.floor(numbers)).all())
        found = {"low": float(numbers.min()), "high": float(numbers.max()), "whole": whole}
        shape = months_as_numbers(some) if is_text(some) else None
        return {**found, "given_out": whole and _given_out(numbers), "shape": shape}
    texts = values.drop_null()
    if not len(texts) or not is_text(pa.chunked_array([texts])):
        return {}
    words = pc.count_substring_regex(texts, r"\p{L}{2,}")
    digits = pc.mean(pc.match_substring_regex(texts, "[0-9]").cast(pa.int8())).as_py()
    return {
        "words": pc.mean(words).as_py(),
        "length": pc.mean(pc.utf8_length(texts)).as_py(),
        "given_out": digits >= _NEARLY_ALL,
        "shape": shape_of(some) or beside_text(some, dialect or Dialect()) if kind is Kind.NOMINAL else None,
        "padded": padded(some) if kind is Kind.NOMINAL else None,
        "valued": like_values(some),
    }


def label_of(field: pa.Field) -> str:
    """Return the label that a file gives a column, on one line; empty without one.

    >>> label_of(pa.field("v1", pa.int64(), metadata={"label": "Age"}))
    'Age'
    """
    variable = Variable.of(field)
    if variable is not None:
        found = variable.label or ""
    else:
        noted = field.metadata or {}
        found = next((noted[key].decode("utf-8", "replace") for key in _LABELS if key in noted), "")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in found).split())


def _numbers(values: pa.Array, kind: Kind, dialect: Dialect | None) -> NDArray[np.float64] | None:
    """Return distinct values as numbers; None if they are not numeric."""
    from shoal.schema.cells import is_text, readable
    from shoal.schema.cells import values as read

    if kind not in (Kind.CONTINUOUS, Kind.INTEGER) or not len(values):
        return None
    numbers = pa.chunked_array([values])
    if is_text(numbers):
        if not readable(numbers, kind, dialect or Dialect()):
            return None
        numbers = read(numbers, "", kind, dialect or Dialect())
    return np.asarray(numbers.cast(pa.float64(), safe=False).to_numpy())


def _may_be_weights(numbers: NDArray[np.float64]) -> bool:
    """Tell whether all of some distinct numbers may be sampling weights."""
    return bool(numbers.min() >= 0 and 0 < numbers.max() < np.inf)


def _given_out(numbers: NDArray[np.float64]) -> bool:
    """Tell whether distinct whole numbers look assigned one by one rather than measured."""
    low, high = float(numbers.min()), float(numbers.max())
    same_length = low >= _LONG and len(f"{low:.0f}") == len(f"{high:.0f}")
    return bool(high - low < 2 * len(numbers) or same_length)
