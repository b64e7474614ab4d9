"""Streams killed with SIGKILL at random moments go on: nothing lost, nothing twice, no class below k."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("kills", [8, pytest.param(60, marks=pytest.mark.long)])
def test_killed_and_begun_again(kills: int) -> None:
    command = [
        sys.executable,
        str(BENCHMARKS / "torture.py"),
        "--channel",
        "files",
        "--kills",
        str(kills),
        "--records",
        str(150 * kills),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads(ran.stdout)
    assert found["kills"] >= 0.75 * kills
    faults = ("lost", "twice", "strange", "miscounted", "other_classes", "taken_back", "classes_below_k")
    assert {found.get(name, 0) for name in (*faults, "classes_mixed", "classes_in_parts", "identifiers")} == {0}
    assert found["released"] + found["dropped"] + found["dead"] == found["records"]
