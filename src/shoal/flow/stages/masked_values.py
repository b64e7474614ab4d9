"""Values of a masked table, parsed by the kinds of its original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from shoal.errors import DataError, SchemaError, raise_all
from shoal.flow.stages.values import as_values
from shoal.types import Table, with_columns


def masked_values(masked: Table, original: Table, names: Sequence[str]) -> pa.Table:
    """Parse the columns of a masked table by the kinds of the original; raises all faults at once."""
    from shoal.schema.cells import without_nan
    from shoal.schema.roles import without_user_missing

    faults: list[str] = []
    found = {}
    for name in names:
        try:
            cells = without_nan(as_values(name, masked))
            # a format that cannot declare missing values holds them as ordinary values
            found[name] = without_user_missing(original.data.schema.field(name), cells)
            found[name] = _without_codes(original.data.schema.field(name), found[name])
        except (DataError, SchemaError) as error:
            faults.append(str(error))
        except pa.ArrowException:  # its message may contain a value
            kind = original.schema[name].kind.value
            faults.append(f"Column {name!r}: {masked.data.column(name).type} cannot be {kind}, as the original is.")
    raise_all(DataError, faults)
    return with_columns(masked.data.select(list(names)), found)


def _without_codes(field: pa.Field, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Set categories to missing if they are codes that the original declares missing, even as text."""
    from shoal.schema.cells import is_text
    from shoal.types.statistical_files import Variable

    noted = Variable.of(field)
    ranges = [pair for pair in noted.missing if not isinstance(pair[0], str)] if noted is not None else []
    if not ranges or not is_text(cells):
        return cells
    encoded = cells.cast(pa.large_string()).combine_chunks().dictionary_encode(null_encoding="mask")
    kept = [None if any(_within(text, *ends) for ends in ranges) else text for text in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(kept, pa.large_string()).take(encoded.indices)])


def _within(text: str, low: Any, high: Any) -> bool:
    try:
        return bool(low <= float(text) <= high)
    except ValueError:
        return False
