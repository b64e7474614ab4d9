"""Frames come in by position, and columns that Arrow cannot hold are named."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.errors import DataError, ParameterError, SchemaError
from shoal.io.sources.frame import Frame

SECRET = "s3cr3t"
VALUES = {"age": [31, 44, None], "sex": ["f", "m", None], "income": [1.5, None, 2.5]}


@pytest.mark.parametrize(
    "native",
    [
        pd.DataFrame(VALUES, index=[7, 7, 2]),
        pd.DataFrame(VALUES).convert_dtypes(dtype_backend="pyarrow"),
        pd.DataFrame(VALUES).convert_dtypes(),
        pl.DataFrame(VALUES),
        pa.table(VALUES),
    ],
)
def test_every_kind_of_frame(native: Any) -> None:
    table, left_out = Frame().read(native)
    assert table.to_pydict() == VALUES
    assert left_out == ()


class Thing:
    """Something that Arrow does not know."""


def test_mixed_columns_are_left_out() -> None:
    native = pd.DataFrame({"a": [1, 2], "mixed": [SECRET, 3], "thing": [Thing(), None]})
    table, left_out = Frame().read(native)
    assert table.column_names == ["a"]
    assert left_out == ("mixed", "thing")
    table, left_out = Frame().read(pl.DataFrame({"a": [1]}).with_columns(pl.Series("o", [Thing()], pl.Object)))
    assert table.column_names == ["a"]
    assert left_out == ("o",)
    with pytest.raises(DataError, match="no column is of a type") as caught:
        Frame().read(native[["mixed"]])
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("native", "match"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "duplicates: 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "duplicates: 'a'"),
        (pd.DataFrame([[1, 2]]), "columns 1, 2 are not"),
        (pd.DataFrame([[1, 2]], columns=["a", ("b", "c")]), "columns 2 are not"),
        (pl.DataFrame({"": [1]}), "column 1 is unnamed"),
    ],
)
def test_names(native: Any, match: str) -> None:
    with pytest.raises(SchemaError, match=match):
        Frame().read(native)


@pytest.mark.parametrize("native", [pd.DataFrame(), pl.DataFrame(), pa.table({}), pd.DataFrame({"a": []})])
def test_nothing_in_it(native: Any) -> None:
    with pytest.raises(DataError, match="at least one"):
        Frame().read(native)


@pytest.mark.parametrize(
    ("native", "kind"),
    [
        (3, "builtins.int"),
        ({"a": [1]}, "builtins.dict"),
        (None, "builtins.NoneType"),
        (pd.Series([1]), "pandas.Series"),
        (pl.Series([1]), "polars.Series"),
        (pl.LazyFrame({"a": [1]}), r"polars.LazyFrame. Collect it first"),
    ],
)
def test_no_frame(native: Any, kind: str) -> None:
    allowed = "pandas.DataFrame.*polars.DataFrame.*pyarrow.Table or another Arrow table"
    with pytest.raises(ParameterError, match=f"{allowed}, got {kind}"):
        Frame().read(native)


@pytest.mark.parametrize(
    ("make", "absent"),
    [
        ("import pandas as f; frame = f.DataFrame({'a': [1, 2], 'b': ['x', None]})", "polars"),
        ("import polars as f; frame = f.DataFrame({'a': [1, 2], 'b': ['x', None]})", "pandas"),
        ("import pyarrow as f; frame = f.table({'a': [1, 2], 'b': ['x', None]})", "polars"),
    ],
)
def test_only_the_library_in_use_is_loaded(make: str, absent: str) -> None:
    code = (
        f"import sys; {make}\n"
        "from shoal.io.sources.frame import Frame; from shoal.io.sinks.frame import Frame as Sink\n"
        "table, _ = Frame().read(frame)\n"
        "Sink().write(frame, table.select(['a']), ['b'])\n"
        f"assert {absent!r} not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
