"""Faults of the disk engine: a killed run, a signal and a full disk leave a complete output or none, and no scratch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

import shoal
from shoal.flow.engines.disk import protect

pytestmark = pytest.mark.long

N, K, KILLS = 300_000, 5, 20
RECIPE: dict[str, Any] = {
    "quasi": ["a", "b", "c"],
    "confidential": ["pay"],
    "identifier": ["name"],
    "k": K,
    "method": "blocks",
    "effort": "fast",
    "row_order": "shuffle",  # one pass more
    "set": {"size": 3_000},
}


def table(n: int) -> pa.Table:
    rng = np.random.default_rng(n)
    numbers = {name: np.round(rng.normal(size=n), 4) for name in RECIPE["quasi"]}
    return pa.table({**numbers, "pay": rng.integers(0, 99, n), "name": [f"person {i}" for i in range(n)]})


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table whose protection takes a few seconds, a small one, and a recipe."""
    folder = tmp_path_factory.mktemp("inputs")
    for name in ("large", "small"):
        (folder / name).mkdir()
        data = table(N if name == "large" else 60)
        parquet.write_table(data, folder / f"{name}.parquet")
        for part, begin in enumerate(range(0, len(data), len(data) // 2)):
            parquet.write_table(data.slice(begin, len(data) // 2), folder / name / f"part-{part}.parquet")
    (folder / "recipe.toml").write_text(shoal.Recipe(**RECIPE).to_toml())
    return folder


def arguments(inputs: Path, output: Path) -> list[str]:
    """Protect the large table: a folder if the output is one, else a file."""
    source = inputs / f"large{output.suffix}"
    found = ["protect", source, "-o", output, "--recipe", inputs / "recipe.toml", "--engine", "disk"]
    return [*map(str, found), "--memory", "500MB", "--force"]


def started(inputs: Path, output: Path) -> subprocess.Popen[str]:
    script = (
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a background job ignores
        f"from shoal.cli import main\nmain({arguments(inputs, output)!r})"
    )
    return subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def duration(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> float:
    """The seconds that an undisturbed run takes, the second one: the first may compile kernels."""
    for _ in range(2):
        began = time.monotonic()
        process = started(inputs, tmp_path_factory.mktemp("undisturbed") / "out.parquet")
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    return time.monotonic() - began


def killed_after(process: subprocess.Popen[str], seconds: float) -> None:
    """Kill a process at a moment, unless it has ended by then."""
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=seconds)
    process.kill()
    process.communicate(timeout=60)


def complete(output: Path) -> bool:
    """Tell whether an output is whole, and audited to k."""
    audit = shoal.audit(output, quasi=RECIPE["quasi"], require={"k": K})
    return audit.holds and dataset.dataset(output, format="parquet").count_rows() == N


@pytest.mark.parametrize("name", ["out.parquet", "out"])
def test_a_killed_run_leaves_a_complete_output_or_none(
    name: str, inputs: Path, duration: float, tmp_path: Path
) -> None:
    rng, output, left = np.random.default_rng(len(name)), tmp_path / name, 0
    for kill in range(KILLS // 2):
        moment = duration * (0.1 + 0.95 * (kill + rng.random()) / (KILLS // 2))  # Python itself takes the first tenth
        killed_after(started(inputs, output), moment)
        names = {path.name for path in tmp_path.iterdir()}
        left += len(names - {name})
        assert not output.exists() or complete(output), moment
        small = tmp_path / f"small{output.suffix}"
        shoal.protect(inputs / small.name, RECIPE, output=small, engine="disk", force=True)
        assert {path.name for path in tmp_path.iterdir()} <= {name, small.name}, moment
        if kill % 2:  # every other run replaces an earlier output
            _removed(output)
    assert left > 0  # some were killed while they had scratch files


def _removed(path: Path) -> None:
    for part in sorted(path.iterdir()) if path.is_dir() else ():
        part.unlink()
    if path.exists():
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("scratch", ["rows", "blocks-0", "shuffled"])  # files of three of the passes
def test_a_signal_cleans_up_at_once(
    scratch: str, number: signal.Signals, code: int, inputs: Path, tmp_path: Path
) -> None:
    process = started(inputs, tmp_path / "out.parquet")
    while process.poll() is None and not list(tmp_path.glob(f".scratch.*/{scratch}")):
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.005)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@contextmanager
def small_disk(at: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a file system that holds little."""
    at.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(at)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        (pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip)("cannot mount a file system: it takes root")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)  # an error may still hold an open file


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs mounted file systems")
@pytest.mark.parametrize("kilobytes", [64, 1_000, 8_000, 15_000])
def test_a_full_disk_is_said_and_nothing_is_left(
    kilobytes: int, inputs: Path, tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protect, "refuse_full_disk", lambda *_: None)  # another program filled it after the estimate
    with small_disk(tmp_path / "disk", kilobytes) as disk:
        ran = run(*arguments(inputs, disk / "out.parquet"))
        assert ran.code == 5, ran.err
        assert "the disk or the quota is full" in ran.err
        assert list(disk.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs mounted file systems")
@pytest.mark.parametrize("full", ["scratch", "output"])
def test_scratch_and_output_may_be_on_different_disks(
    full: str, inputs: Path, tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protect, "refuse_full_disk", lambda *_: None)
    (tmp_path / "roomy").mkdir()
    with small_disk(tmp_path / "disk", 1_000) as disk:
        scratch, home = (disk, tmp_path / "roomy") if full == "scratch" else (tmp_path / "roomy", disk)
        monkeypatch.setenv("SHOAL_SCRATCH", str(scratch))
        ran = run(*arguments(inputs, home / "out.parquet"))
        assert ran.code == 5, ran.err
        assert "the disk or the quota is full" in ran.err
        assert [*scratch.iterdir(), *home.iterdir()] == []
