"""Table → confidential attributes, for the methods that look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.errors import DataError
from shoal.flow.values import as_values
from shoal.points.confidential import confidential_of, with_spellings
from shoal.types import Confidential, Role, Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def confidential_columns(table: Table, names: Sequence[str] | None = None) -> tuple[Confidential, ...]:
    """Return the confidential attributes of a table, or some columns as such."""
    chosen = table.schema.names(Role.CONFIDENTIAL) if names is None else names
    return tuple(confidential_of(table.schema[name], as_values(name, table)) for name in chosen)


def confidential_arrays(given: ArrayLike, n: int) -> tuple[Confidential, ...]:
    """Return the confidential attributes of bare points: one for each column; numbers are ordered, text is not."""
    array = np.asarray(given)
    columns = array.T if array.ndim == 2 else [array]
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise DataError(
            f"microaggregate: confidential must have one value, or one row, for each of the {n:,} points, "
            f"got the shape {array.shape}."
        )
    found = []
    for j, column in enumerate(columns):
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise DataError("microaggregate: confidential must be finite. Fill or remove these rows.")
        values, codes = np.unique(column, return_inverse=True)
        numbers = values.astype(np.float64) if column.dtype.kind in "biuf" else None
        ordered, alike = numbers is not None, None
        if column.dtype.kind == "U":
            codes, alike = with_spellings(codes, pa.array(values.tolist(), pa.string()))
        counts = np.bincount(codes)
        found.append(Confidential(str(j), codes.astype(np.int64), counts, ordered, values=numbers, alike=alike))
    return tuple(found)
