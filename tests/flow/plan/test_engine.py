"""A table goes to disk if a run in memory would exceed the ceiling; a report takes more memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.flow.plan.engine import engine_for, needed_in_memory
from shoal.locations import place


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    parquet.write_table(pa.table({"x": np.arange(50_000.0), "y": np.arange(50_000.0)}), path)
    return path


def test_the_estimate_grows_with_the_table(source: Path) -> None:
    assert 5 < needed_in_memory(source) / (2 * 50_000 * 8) < 16


@pytest.mark.parametrize("report", [False, True])
def test_the_ceiling_decides(source: Path, report: bool) -> None:
    needed = needed_in_memory(source, report=report)
    assert engine_for(place(source), None, None, needed, report=report) == "memory"
    assert engine_for(place(source), None, None, needed - 1, report=report) == "disk"


def test_a_report_sends_a_table_to_disk_that_fits_without_one(source: Path) -> None:
    ceiling = 2 * needed_in_memory(source)
    assert engine_for(place(source), None, None, ceiling) == "memory"
    assert engine_for(place(source), None, None, ceiling, report=True) == "disk"
