"""A reader that dies takes nothing with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

from shoal.errors import DataError, EngineError
from shoal.io.sources import _isolated_reader as _apart
from shoal.io.sources.sas import Sas
from shoal.io.sources.spss import Spss

DIES = "import os, sys; os.write(1, b'r'); sys.stdin.readline(); "


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pyreadstat.write_sav(pl.DataFrame({"x": [1.0, 2.5]}), tmp_path / "a.sav")
    return tmp_path / "a.sav"


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[_apart._Apart]:
    """A process of its own for one test."""
    own = _apart._Apart()
    monkeypatch.setattr(_apart, "_apart", own)
    yield own
    own.end()


@pytest.mark.parametrize("answer", ["", "os.write(1, b't'); ", "os.write(1, b't' + bytes(9)); "])
def test_a_crash_is_a_sentence_and_the_next_file_is_read(
    file: Path, apart: _apart._Apart, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_apart, "_SERVE", f"{DIES}{answer}os.kill(os.getpid(), {signal.SIGSEGV.value})")
        with pytest.raises(DataError, match=r"^a\.sav: is not a valid SPSS file, or is damaged or truncated"):
            Spss().read(file)
    assert apart._child is None
    assert Spss().read(file)[0]["x"].to_pylist() == [1.0, 2.5]


def test_what_is_killed_wanted_memory(file: Path, apart: _apart._Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_apart, "_SERVE", f"{DIES}os.kill(os.getpid(), {signal.SIGKILL.value})")
    with pytest.raises(MemoryError):
        Spss().read(file)
    assert apart._child is None


def test_what_does_not_start(file: Path, apart: _apart._Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_apart, "_SERVE", "import no_such_module")
    with pytest.raises(EngineError, match="ended early"):
        Spss().read(file)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(EngineError, match="could not be started"):
        Spss().read(file)
    assert apart._child is None


def test_one_process_for_all_files(file: Path, apart: _apart._Apart) -> None:
    tables = [Spss().read(file)[0] for _ in range(3)]
    assert apart._child is not None
    first = apart._child.pid
    broken = file.with_name("b.sav")
    broken.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DataError):
        Spss().read(broken)
    assert Spss().read(file)[0].equals(tables[0])
    assert apart._child.pid == first
    apart.end()
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_it_ends_with_the_program(file: Path) -> None:
    script = (
        "import pathlib, sys\nfrom shoal.io.sources import _isolated_reader, spss\n"
        "spss.Spss().read(pathlib.Path(sys.argv[1])); print(_isolated_reader._apart._child.pid)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
    assert done.stderr == ""


def test_a_transport_file_that_is_cut(tmp_path: Path) -> None:
    """Nothing in it says how many rows there are, but a record has 80 bytes."""
    pyreadstat.write_xport(pl.DataFrame({"x": [float(i) for i in range(100)]}), tmp_path / "a.xpt")
    whole = (tmp_path / "a.xpt").read_bytes()
    assert Sas().read(tmp_path / "a.xpt")[0].num_rows == 100
    for cut in (1, 40, 79, 81):
        (tmp_path / "a.xpt").write_bytes(whole[:-cut])
        with pytest.raises(DataError, match="is not a valid SAS file, or is damaged or truncated"):
            Sas().read(tmp_path / "a.xpt")
