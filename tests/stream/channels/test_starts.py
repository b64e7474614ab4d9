"""A start that comes to nothing leaves everything as it was, and one that waits can be stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import shoal
from shoal.errors import DataError, EngineError, ParameterError, ShoalError
from shoal.stream.channels._file_output import Growing
from shoal.stream.engine.loop import StoppedError, Stopping

RECIPE = {"quasi": ["age"], "bounds": {"age": [0, 120]}, "k": 2, "delay": 3}
OPTIONS = ("--quasi", "age", "--bounds", "age=0:120", "--k", "2", "--delay", "3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in.jsonl").write_text("".join(f'{{"age": {20 + i}}}\n' for i in range(20)))
    (tmp_path / "in.csv").write_text("years\n" + "".join(f"{20 + i}\n" for i in range(20)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("source", "target", "options", "error"),
    [
        ("in.csv", "out.csv", {}, ShoalError),  # it has no such column
        ("in.jsonl", "out.jsonl", {"dead": "nowhere/letters"}, EngineError),
        ("in.jsonl", "out.jsonl", {"dead": "letters", "metrics": "256.0.0.1:1"}, ShoalError),
        ("in.csv", "-", {"dead": "letters", "form": "csv"}, ShoalError),
    ],
)
def test_a_start_that_fails_leaves_what_was_there(
    folder: Path, source: str, target: str, options: dict, error: type[ShoalError], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("out.csv", "out.jsonl", "letters"):
        (folder / name).write_text("precious\n")
    before = contents(folder)
    with open(os.devnull, "w") as nothing:
        monkeypatch.setattr(sys, "stdout", nothing)
        with pytest.raises(error):
            shoal.run_stream(source, target, RECIPE, force=True, **options)
    assert contents(folder) == before


def test_what_was_set_aside_is_never_replaced(folder: Path) -> None:
    for text in ("first", "second", "third"):
        (folder / "out.jsonl").write_text(text)
        shoal.run_stream("in.jsonl", "out.jsonl", RECIPE, force=True)
        for file in (folder / "out.jsonl.journal").iterdir():
            file.unlink()
    assert [(folder / f"out.jsonl.old{end}").read_text() for end in ("", "2", "3")] == ["first", "second", "third"]


@pytest.mark.parametrize("dead", ["-", "/dev/null"])
def test_letters_go_to_a_file(folder: Path, dead: str) -> None:
    before = contents(folder)
    with pytest.raises(ParameterError, match="must go to a file"):
        shoal.run_stream("in.jsonl", "out.jsonl", RECIPE, dead=dead)
    assert contents(folder) == before


@pytest.mark.parametrize("change", ["cut", "written", "deleted"])
def test_a_file_that_somebody_else_changes_gets_nothing_more(tmp_path: Path, change: str) -> None:
    path = tmp_path / "out"
    growing = Growing(path)
    growing.append(b"0123456789")
    if change == "deleted":
        path.unlink()
    else:
        path.write_bytes(b"01234" if change == "cut" else b"0123456789x")
    with pytest.raises(DataError, match="another program"):
        growing.append(b"more")
    growing.close()
    assert not path.exists() or b"more" not in path.read_bytes()


def test_a_file_that_is_gone_before_we_have_it_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, opened = tmp_path / "out", os.open

    def late(name: Path, *how: int) -> int:
        number = opened(name, *how)
        if name == path:
            path.unlink()  # the run before us failed, and took it with it
        return number

    monkeypatch.setattr(os, "open", late)
    with pytest.raises(ParameterError, match="another run"):
        Growing(path)


def started(folder: Path, *options: str, first: str = "") -> subprocess.Popen[bytes]:
    program = f"{first}from shoal.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, "stream", "-", *options, *OPTIONS],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


def until(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.02)


def told(running: subprocess.Popen[bytes], number: int) -> tuple[int, float, str]:
    began = time.monotonic()
    while running.poll() is None and time.monotonic() - began < 30:  # also while Python ends
        running.send_signal(number)
        time.sleep(0.001)
    out, err = running.communicate()
    return running.returncode, time.monotonic() - began, (out + err).decode()


def listens(running: subprocess.Popen[bytes]) -> bool:
    """Whether SIGALRM is caught: then a stream is under way."""
    status = Path(f"/proc/{running.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGALRM - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_while_waiting_for_the_header(folder: Path, number: int) -> None:
    running = started(folder, "-o", "out.csv")
    before = contents(folder)
    until(lambda: listens(running))
    time.sleep(0.2)
    code, seconds, said = told(running, number)
    assert code == 128 + number
    assert seconds < 5
    assert "Traceback" not in said
    assert contents(folder) == before


def test_told_to_stop_before_the_header_is_read() -> None:
    with Stopping(10) as stopping:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(StoppedError), stopping.at_once():
            pytest.fail("would wait for the header")


def test_a_background_job_ignores_interrupts_and_hangups(folder: Path) -> None:
    ignore = "".join(f"import signal; signal.signal(signal.{name}, signal.SIG_IGN); " for name in ("SIGINT", "SIGHUP"))
    running = started(folder, "-o", "out.jsonl", first=ignore)
    running.stdin.write((folder / "in.jsonl").read_bytes())
    until(lambda: listens(running))
    for number in (signal.SIGINT, signal.SIGHUP):
        running.send_signal(number)
    out, err = running.communicate()  # which ends the input
    assert running.returncode == 0, (out + err).decode()
    assert len((folder / "out.jsonl").read_bytes().splitlines()) == 20


def test_told_to_stop_while_what_was_read_before_is_skipped(folder: Path) -> None:
    lines = (folder / "in.jsonl").read_bytes()
    running = started(folder, "-o", "out.jsonl")
    running.stdin.write(lines)
    until(lambda: (folder / "out.jsonl").exists() and (folder / "out.jsonl").stat().st_size > 0)
    assert told(running, signal.SIGTERM)[0] == 143
    before = (folder / "out.jsonl").read_bytes()
    again = started(folder, "-o", "out.jsonl")
    again.stdin.write(lines[:40])
    until(lambda: listens(again))
    time.sleep(0.3)
    code, seconds, said = told(again, signal.SIGTERM)
    assert (code, (folder / "out.jsonl").read_bytes()) == (143, before)
    assert seconds < 5
    assert "stopped. Run it again" in said
    last = started(folder, "-o", "out.jsonl")
    last.communicate(lines)
    assert last.returncode == 0
    assert len((folder / "out.jsonl").read_bytes().splitlines()) == 20


def test_a_pipe_that_brings_something_else_is_refused(folder: Path) -> None:
    lines = (folder / "in.jsonl").read_bytes()
    running = started(folder, "-o", "out.jsonl")
    running.stdin.write(lines)
    until(lambda: (folder / "out.jsonl").exists() and (folder / "out.jsonl").stat().st_size > 0)
    told(running, signal.SIGTERM)
    before = contents(folder)
    for other in (b"", lines[:30], lines.replace(b"20", b"21", 1), b"\n" + lines):
        again = started(folder, "-o", "out.jsonl", "--json")
        out, err = again.communicate(other)
        assert (again.returncode, out) == (3, b"")
        assert b"is not the input" in err
        assert contents(folder) == before
    last = started(folder, "-o", "out.jsonl", "--json")
    assert json.loads(last.communicate(lines)[0])["released"] == 20
