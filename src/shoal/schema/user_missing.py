"""Values that a file declares to be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.types.statfile import Variable, declared_missing

if TYPE_CHECKING:
    import pyarrow as pa


def without_user_missing(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in which the values that its file declares to be missing are missing; as it is, if there is none.

    A refusal coded as −9 is no number: with its declaration it counts as a missing value does, in methods and audits.

    >>> import pyarrow as pa
    >>> pay = Variable("spss", missing=((-9, -9), (900, 999))).onto(pa.field("pay", pa.int64()))
    >>> without_user_missing(pay, pa.chunked_array([[-9, 10, 950]])).to_pylist()
    [None, 10, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    variable = Variable.of(field)
    if variable is None or not variable.missing:
        return column
    flags = declared_missing(variable, column)
    return pc.if_else(flags, pa.scalar(None, column.type), column) if pc.any(flags).as_py() else column
