"""Types of Arrow that lack functions, and categories that no record has any more."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.types import without_unused

N = 24
RELEASES = ("centroid", "medoid", "swap")
SHORT = [pa.decimal32(5, 2), pa.decimal64(12, 2)] if hasattr(pa, "decimal32") else []  # from pyarrow 19 on
RARE = ["a", "b", "SECRET"] + ["a", "b", "a"] * 7  # whose third record is unique by its value


@pytest.mark.parametrize("when_missing", ["category", "exclude"])
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("kind", [pa.string_view(), pa.float16(), *SHORT, "runs"], ids=str)
def test_types_that_lack_functions_are_protected_and_leave_as_they_came(
    kind: Any, release: str, when_missing: str
) -> None:
    whole = pa.array([at % 4 for at in range(N)])
    if kind == "runs":
        values = pa.RunEndEncodedArray.from_arrays(pa.array([8, N], pa.int32()), pa.array(["a", "b"]))
    elif kind in SHORT:
        values = pa.array([None if at == 5 else Decimal(at % 4) / 4 for at in range(N)], kind)
    else:
        cells = [None if at == 5 else f"{at % 4}" for at in range(N)]
        values = pa.array(cells, kind) if kind == pa.string_view() else pa.array(cells).cast(pa.float32()).cast(kind)
    table = pa.table({"q": values, "x": np.arange(N) / 7, "c": values, "o": whole})
    recipe = {"quasi": ["q", "x"], "confidential": ["c"], "k": 3, "release": release, "when_missing": when_missing}
    done = shoal.protect(table, recipe)
    assert done.audit.holds
    assert done.data.schema.field("c").type == values.type or kind == "runs"
    assert done.data.schema.field("q").type == values.type or kind == "runs"


@pytest.mark.parametrize("release", ["centroid", "medoid"])
@pytest.mark.parametrize("ordered", [False, True])
def test_categories_that_nobody_has_any_more_do_not_leave(ordered: bool, release: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": pd.Categorical(RARE, ordered=ordered), "x": np.arange(N) / 7})
    recipe = {"quasi": ["q", "x"], "k": 6, "release": release, "attribute_weights": {"x": 9}}
    done = shoal.protect(frame, recipe)
    assert set(done.data["q"].cat.categories) == set(done.data["q"]) <= {"a", "b"}
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "in.parquet")
    shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.parquet", recipe)
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()


def test_categories_of_records_that_do_not_leave_do_not_leave(tmp_path: Path) -> None:
    ages = pa.array([None if value == "SECRET" else float(at) for at, value in enumerate(RARE)])
    table = pa.table({"q": ages, "o": pa.array(RARE).dictionary_encode()})
    recipe = {"quasi": ["q"], "k": 5, "when_missing": "exclude"}
    assert "SECRET" not in shoal.protect(table, recipe).data["o"].chunk(0).dictionary.to_pylist()
    assert "SECRET" not in shoal.protect(table.to_pandas(), recipe).data["o"].cat.categories
    pq.write_table(table, tmp_path / "in.parquet")
    shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.parquet", recipe)
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("names", [["a", None, "b"], [1.0, float("nan"), 2.0]])
def test_a_category_that_is_no_value_is_a_missing_one(names: list[Any], ordered: bool) -> None:
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 8), pa.array(names), ordered=ordered)
    table = pa.table({"q": cells, "x": np.arange(N) / 7})
    left = shoal.protect(table, {"quasi": ["q", "x"], "k": 4, "when_missing": "exclude"})
    assert left.left_out == 8
    assert left.data["q"].null_count == 0
    filled = shoal.protect(table, {"quasi": ["q", "x"], "k": 4, "when_missing": "fill", "attribute_weights": {"q": 0}})
    assert set(filled.data["q"].to_pylist()) <= {names[0], names[2]}


def test_values_stay_where_categories_go() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        codes = rng.integers(0, 9, rng.integers(1, 12))
        pieces = [
            pa.DictionaryArray.from_arrays(pa.array(part, mask=part == 8), list("abcdefghi"), ordered=True)
            for part in np.array_split(codes, 2)
        ]
        column = pa.chunked_array(pieces)
        found = without_unused(column)
        assert found.to_pylist() == column.to_pylist()
        assert found.type == column.type
        assert found.chunk(0).dictionary.to_pylist() == sorted({v for v in column.to_pylist() if v is not None})
