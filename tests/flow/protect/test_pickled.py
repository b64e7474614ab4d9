"""A pickled result holds what is released and nothing of the original records."""

from __future__ import annotations

import copy
import io
import pickle
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal

N, BEFORE, AFTER = 40, 10, 50  # rows that are protected, and that a parent has before and after them
RNG = np.random.default_rng(5)
TOTAL = BEFORE + N + AFTER
RECIPE: dict[str, Any] = {"quasi": ["pay", "day", "town"], "confidential": ["health"], "identifier": ["name"], "k": 4}


def parent() -> pa.Table:
    """A table whose every cell can be found again in bytes."""
    pays = np.round(RNG.uniform(1e5, 1e6, TOTAL), 3)
    return pa.table(
        {
            "name": [f"person-{i:03}-{'x' * 8}" for i in range(TOTAL)],
            "pay": pays,
            "day": pa.array((1_500_000_000 + RNG.choice(10**8, TOTAL, replace=False)).tolist(), pa.timestamp("s")),
            "town": pa.array([f"town-of-{i:03}" for i in range(TOTAL)]).dictionary_encode(),
            "health": [f"illness-{i:03}" for i in range(TOTAL)],
            "job": pa.array([f"work-{i:03}" for i in range(TOTAL)]).dictionary_encode(),
            "code": 7_000_000_000_000 + np.arange(TOTAL),
        }
    )


def secrets(table: pa.Table) -> Iterator[bytes]:
    """Everything that must not be found: names and quasi-identifiers, and of rows that were not given every cell."""
    for i, row in enumerate(table.to_pylist()):
        inside = BEFORE <= i < BEFORE + N
        yield row["name"].encode()
        yield struct.pack("<d", row["pay"])
        yield struct.pack("<q", int(row["day"].timestamp()))
        if not inside:
            yield row["town"].encode()
            yield row["health"].encode()
            yield row["job"].encode()
            yield struct.pack("<q", row["code"])


def seen(table: pa.Table) -> list[bytes]:
    """What must be found: confidential cells of the rows that were given, as proof that the search works."""
    return [name.encode() for name in table["health"].to_pylist()[BEFORE : BEFORE + N]]


def as_arrow(table: pa.Table) -> pa.Table:
    return table.slice(BEFORE, N)


def as_pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().astype({"job": str}).iloc[BEFORE : BEFORE + N]


def as_arrow_in_pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype).iloc[BEFORE : BEFORE + N]


def as_polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.slice(BEFORE, N)


FRAMES = [as_arrow, as_pandas, as_arrow_in_pandas, as_polars]


def in_pickle(thing: Any, *, unwanted: list[bytes]) -> list[bytes]:
    found = pickle.dumps(thing)
    return [cell for cell in unwanted if cell in found]


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("release", ["centroid", "medoid"])
def test_nothing_of_the_original_is_in_a_pickled_result(make: Callable[[pa.Table], Any], release: str) -> None:
    table = parent()
    done = shoal.protect(make(table), {**RECIPE, "release": release, "row_order": "shuffle"})
    unwanted = list(secrets(table))
    if release == "medoid":  # whose cells are those of the medoids
        shown = {*shoal_values(done.data)}
        unwanted = [cell for cell in unwanted if cell not in shown]
    assert in_pickle(done, unwanted=unwanted) == []
    assert in_pickle(done, unwanted=seen(table)) == seen(table)


def shoal_values(data: Any) -> Iterator[bytes]:
    frame = data if isinstance(data, pd.DataFrame) else data.to_pandas()
    yield from (struct.pack("<d", float(value)) for value in frame["pay"])
    yield from (struct.pack("<q", int(pd.Timestamp(value).timestamp())) for value in frame["day"])


def test_a_result_does_hold_the_original_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search finds what there is to find."""
    table = parent()
    done = replace(shoal.protect(as_pandas(table), RECIPE), proof=None)  # which is a function, and cannot be pickled
    monkeypatch.delattr(shoal.Protected, "__getstate__")
    assert in_pickle(done, unwanted=list(secrets(table)))


@pytest.mark.parametrize("make", FRAMES)
def test_released_columns_share_no_memory_with_the_input(make: Callable[[pa.Table], Any]) -> None:
    table = parent()
    data = shoal.protect(make(table), RECIPE).data
    arrow = data if isinstance(data, pa.Table) else data.to_arrow() if isinstance(data, pl.DataFrame) else None
    arrow = pa.Table.from_pandas(data, preserve_index=False) if arrow is None else arrow
    unwanted = list(secrets(table))
    assert in_pickle(arrow, unwanted=unwanted) == []
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    assert [cell for cell in unwanted if cell in sink.getvalue()] == []


def test_what_is_under_missing_cells_is_gone() -> None:
    hidden = np.full(N, 123_456_789_012_345)
    cells = pa.Array.from_buffers(pa.int64(), N, [pa.py_buffer(bytes(N // 8)), pa.py_buffer(hidden)])
    table = as_arrow(parent()).append_column("erased", cells)
    done = shoal.protect(table, RECIPE)
    assert done.data["erased"].null_count == N
    assert struct.pack("<q", 123_456_789_012_345) not in pickle.dumps(done.data)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_files(suffix: str, tmp_path: Path) -> None:
    table = parent()
    source = tmp_path / f"in.{suffix}"
    shoal.write_table(as_arrow(table), source)
    done = shoal.protect_file(source, tmp_path / f"out.{suffix}", {**RECIPE, "when_missing": "category"})
    unwanted = list(secrets(table))
    if suffix == "csv":  # where cells are text
        unwanted += [str(pay).encode() for pay in table["pay"].to_pylist()]
        unwanted += [str(day).encode() for day in table["day"].to_pylist()]
    assert in_pickle(done, unwanted=unwanted) == []
    assert in_pickle(done.data, unwanted=seen(table)) == seen(table)


def test_both_tables_of_anatomy() -> None:
    table = parent()
    recipe = {"quasi": ["pay"], "confidential": ["health"], "identifier": ["name", "town", "day"], "k": 4}
    recipe |= {"release": "anatomy", "row_order": "shuffle"}
    done = pickle.loads(pickle.dumps(shoal.protect(as_arrow(table), recipe)))
    assert done.confidential.num_rows == N
    names = [name.encode() for name in table["name"].to_pylist()]
    others = [struct.pack("<d", pay) for pay in table["pay"].to_pylist()[:BEFORE]]
    assert in_pickle(done, unwanted=names + others) == []


def test_what_survives_and_what_does_not(tmp_path: Path) -> None:
    done = shoal.protect(as_pandas(parent()), {**RECIPE, "row_order": "shuffle"})
    again = pickle.loads(pickle.dumps(done))
    assert again.data.equals(done.data)
    assert again.partition.labels.tolist() == done.partition.labels.tolist()
    assert again.audit == done.audit
    assert again.readings.to_dict() == done.readings.to_dict()
    assert (again.recipe, again.schema, again.notes) == (done.recipe, done.schema, done.notes)
    assert again.left_out == 0
    assert (again.rows, again.comparison, again.proof) == (None, None, None)
    with pytest.raises(shoal.ParameterError, match="Report: must be written before the result is pickled"):
        again.report(tmp_path / "r.html")
    with pytest.raises(shoal.ParameterError, match="Evidence: must be written before the result is pickled"):
        again.evidence(tmp_path / "e.json")
    assert list(tmp_path.iterdir()) == []


def test_copies_can_still_report(tmp_path: Path) -> None:
    done = shoal.protect(as_pandas(parent()), {**RECIPE, "row_order": "shuffle"})
    for number, again in enumerate((copy.copy(done), copy.deepcopy(done))):
        assert again.rows is done.rows
        again.report(tmp_path / f"{number}.html")
    again.data.loc[0, "health"] = "well"
    assert done.data.loc[0, "health"] != "well"
