"""What a killed run leaves behind is removed by the next one; what another run is working on is not."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal import scratch as _leftovers
from shoal.io.sinks._atomic import atomic, both

pytestmark = pytest.mark.skipif(_leftovers.fcntl is None, reason="needs locks of files")

_ONE = """
import sys, pathlib
from shoal.io.sinks._atomic import atomic
with atomic(pathlib.Path(sys.argv[1], "people.csv"), force=True) as staged:
    staged.write_text("unaudited")
    pathlib.Path(f"{staged}-journal").write_text("what a database writes beside")
    print("staged", flush=True)
    sys.stdin.read()
    pathlib.Path(f"{staged}-journal").unlink()
"""

_BOTH = """
import sys, pathlib
from shoal.io.sinks import _atomic as _both
def halted(target, kept, keep=_both._keep):
    keep(target, kept)
    print("staged", flush=True)
    sys.stdin.read()
_both._keep = halted
folder = pathlib.Path(sys.argv[1])
with _both.both(folder / "a.csv", folder / "b.csv", force=True) as staged:
    for path in staged:
        path.write_text("unaudited")
"""

_PROTECT = """
import sys, shoal
from shoal.flow.protect import protect
def halted(*_):
    print("staged", flush=True)
    sys.stdin.read()
protect.gate = halted
shoal.protect_file(sys.argv[2], sys.argv[1] + "/" + sys.argv[3], {"quasi": ["age"], "k": 2})
"""


@contextmanager
def running(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a program, and wait until it says that its files are staged."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "staged\n"
        try:
            yield program
        finally:
            program.kill()


def kill(program: subprocess.Popen[str]) -> None:
    program.send_signal(signal.SIGKILL)
    program.wait()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(target: Path) -> None:
    with atomic(target, force=True) as staged:
        staged.write_text("whole")


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("before")
    (tmp_path / ".notes.csv").write_text("mine")
    with running(_ONE, tmp_path) as program:
        kill(program)
    left = names(tmp_path)
    assert len(left) == 5
    assert any(name.startswith(".people.shoal-") and name.endswith(".csv") for name in left)
    write(tmp_path / "other.csv")
    assert names(tmp_path) == [".notes.csv", "other.csv", "people.csv"]
    assert (tmp_path / "people.csv").read_text() == "before"


def test_a_run_that_is_alive_keeps_its_files(tmp_path: Path) -> None:
    with running(_ONE, tmp_path) as program:
        held = names(tmp_path)
        write(tmp_path / "other.csv")
        assert names(tmp_path) == sorted([*held, "other.csv"])
        program.communicate("")
        assert program.returncode == 0
    assert names(tmp_path) == ["other.csv", "people.csv"]
    assert (tmp_path / "people.csv").read_text() == "unaudited"


def test_of_two_files_nothing_is_left_either(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("old")
    with running(_BOTH, tmp_path) as program:
        kill(program)
    assert any(name.startswith(".kept.shoal-") for name in names(tmp_path))
    with both(tmp_path / "a.csv", tmp_path / "b.csv", force=True) as staged:
        for path in staged:
            path.write_text("new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.csv": "new", "b.csv": "new"}


def test_what_is_kept_survives_a_run_beside_it(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("old")
    with running(_BOTH, tmp_path):
        held = names(tmp_path)
        write(tmp_path / "other.csv")
        assert names(tmp_path) == sorted([*held, "other.csv"])


@pytest.mark.parametrize("name", ["out.csv", "out.sav"])
def test_protect_killed_before_its_audit(tmp_path: Path, name: str) -> None:
    source, folder = tmp_path / "in.csv", tmp_path / "out"
    folder.mkdir()
    source.write_text("age,pay\n31,5\n33,6\n60,7\n61,8\n")
    with running(_PROTECT, folder, source, name) as program:
        kill(program)
    assert len(names(folder)) == 2
    shoal.protect_file(source, folder / name, {"quasi": ["age"], "k": 2})
    assert names(folder) == [name]


def test_a_duckdb_file_is_made_anew(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    shoal.write_table(pa.table({"age": [1]}), f"duckdb:///{tmp_path}/people.duckdb?table=people")
    assert names(tmp_path) == ["people.duckdb"]


def test_links_and_odd_names_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / f".{_leftovers.new_mark()}.lock").symlink_to(mine)
    for name in (".shoal-12.lock", "x.shoal-0123456789abcdef.csv", ".a.shoal-0123456789abcdef.csv"):
        (tmp_path / name).write_text("mine")
    before = names(tmp_path)
    _leftovers.remove_leftovers(tmp_path)
    assert names(tmp_path) == before


def test_a_lock_that_is_taken_for_a_leftover_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = _leftovers.fcntl.flock, []

    def flock(descriptor: int, how: int) -> None:
        if not calls:
            calls.append(how)
            _leftovers.remove_leftovers(tmp_path)  # of another run, just now
        real(descriptor, how)

    monkeypatch.setattr(_leftovers.fcntl, "flock", flock)
    with _leftovers.locked(tmp_path, mark := _leftovers.new_mark()):
        assert names(tmp_path) == [f".{mark}.lock"]
        _leftovers.remove_leftovers(tmp_path)
        assert names(tmp_path) == [f".{mark}.lock"]
    assert names(tmp_path) == []


@pytest.mark.parametrize("how", ["no module", "no locks here"])
def test_without_locks_nothing_is_removed(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(_ONE, tmp_path) as program:
        kill(program)
    left = names(tmp_path)
    if how == "no module":
        monkeypatch.setattr(_leftovers, "fcntl", None)
    else:
        monkeypatch.setattr(_leftovers.fcntl, "flock", no_locks)
    write(tmp_path / "other.csv")
    assert names(tmp_path) == sorted([*left, "other.csv"])


def no_locks(*_: object) -> None:
    raise OSError(errno.ENOLCK, "no locks here")
