"""Separate executors, one of them killed, and Spark Connect: the rows are those of the disk engine."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal

JOB = Path(__file__).with_name("job.py")
N = 100_000


def people() -> pa.Table:
    """Return a table in which some people have several records."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "a": np.round(rng.normal(size=N), 3),
            "b": rng.integers(0, 1_000, N),
            "job": pa.array([f"job {i}" for i in range(30)]).take(pa.array(rng.integers(0, 30, N))),
            "who": rng.integers(0, 3 * N // 4, N),
            "pay": rng.integers(0, 99, N),
        }
    )


@pytest.mark.long
@pytest.mark.parametrize("mode", ["cluster", "connect"])
def test_rows_and_audit_are_those_of_the_disk_engine(mode: str, tmp_path: Path) -> None:
    parquet.write_table(people(), tmp_path / "in.parquet")
    run = subprocess.run(
        [sys.executable, str(JOB), mode, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "SHOAL_TEST_FOLDER": str(tmp_path)},
    )
    assert run.returncode == 0, run.stderr[-3000:]
    said = json.loads(run.stdout.splitlines()[-1])
    assert mode == "connect" or said["killed"]  # otherwise nothing was tested
    fields = fields_of_job()
    disk = shoal.protect(
        tmp_path / "in.parquet", {**fields, "row_order": "shuffle"}, output=f"{tmp_path}/disk/", engine="disk"
    )
    rows = [parquet.read_table(tmp_path / name) for name in ("safe", "disk")]
    found, wanted = (one.sort_by([(name, "ascending") for name in one.column_names]) for one in rows)
    assert found.equals(wanted)
    assert said["audit"] == json.loads(json.dumps(disk.audit.to_dict()))
    assert said["sse"] == disk.readings["sse"]
    assert said["again"] >= 5
    assert list((tmp_path / "scratch").iterdir()) == []


def fields_of_job() -> dict[str, object]:
    """Return the fields of the recipe that the job uses."""
    before, sys.argv = sys.argv, [str(JOB), "connect", "."]
    try:
        return dict(runpy.run_path(str(JOB))["FIELDS"])
    finally:
        sys.argv = before
