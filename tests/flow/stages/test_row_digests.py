"""Digests of rows: equal where cells are, whatever the type, the batch and the offset."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from shoal.flow.stages.row_digests import row_digests

CELLS: dict[str, Any] = {
    "floats": pa.array([0.0, -0.0, 1.5, None, float("nan"), 0.0, None]),
    "small floats": pa.array([0.5, 1.5, None, 0.5], pa.float32()),
    "integers": pa.array([0, 1, None, 2**40, 0]),
    "bytes": pa.array([1, 2, 1], pa.int8()),
    "booleans": pa.array([True, False, None, True]),
    "texts": pa.array(["", None, "a", "a\0", "ab", "ab ", "é" * 9, "ab"]),
    "long texts": pa.array(["x" * 100, "x" * 101, None, "", "x" * 100]),
    "large texts": pa.array(["a", "b", None, "a"], pa.large_string()),
    "categories": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "dates": pa.array([1, 2, None, 1], pa.int32()).cast(pa.date32()),
    "times": pa.array([1, 2, None, 1]).cast(pa.timestamp("us", "UTC")),
    "decimals": pa.array([Decimal("1.5"), Decimal("2.5"), None, Decimal("1.5")]),
    "digests": pa.array([b"0" * 16, b"1" * 16, b"0" * 16], pa.binary(16)),
    "lists": pa.array([[1], [1, 2], None, [1]]),
    "nothing": pa.nulls(3),
}


@pytest.mark.parametrize("kind", CELLS)
def test_equal_cells_have_equal_digests_and_others_have_not(kind: str) -> None:
    cells = CELLS[kind]
    found = row_digests(pa.table({"a": cells}), ["a"]).tolist()
    shown = [repr(value) for value in cells.to_pylist()]
    for i, one in enumerate(shown):
        assert [one == other for other in shown] == [found[i] == digest for digest in found]
    longer = pa.concat_arrays([cells.slice(1), cells]) if len(cells) > 1 else cells
    assert row_digests(pa.table({"a": longer.slice(len(cells) - 1)}), ["a"]).tolist() == found
    chunks = pa.chunked_array([cells.slice(0, 1), cells.slice(1)])
    assert row_digests(pa.table({"a": chunks}), ["a"]).tolist() == found


def test_cells_of_several_columns_are_kept_apart() -> None:
    rows = pa.table({"a": ["x", "xy", None, ""], "b": ["yz", "z", "", None]})
    assert len(set(row_digests(rows, ["a", "b"]).tolist())) == 4
    assert len(set(row_digests(rows, []).tolist())) == 1


def test_a_digest_does_not_depend_on_the_other_rows_of_its_batch() -> None:
    columns = {
        "number": pa.array([1.5, None, 2.5, None, -3.0]),
        "text": pa.array(["x", "", None, "more than eight bytes", "l" * 100]),
        "category": pa.array(["a", None, "bb", "a", "c" * 70]).dictionary_encode(),
        "flag": pa.array([True, None, False, True, None]),
    }
    for name, cells in columns.items():
        table = pa.table({name: cells})
        alone = [int(row_digests(table.slice(row, 1), [name])[0]) for row in range(len(cells))]
        assert row_digests(table, [name]).tolist() == alone, name
