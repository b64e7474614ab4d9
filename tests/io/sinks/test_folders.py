"""Folders as output and scratch folders: published whole or not at all, and removed after a killed run."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal import registry, scratch
from shoal.errors import EngineError, ParameterError
from shoal.flow.stages.write import writes_folder
from shoal.io.manifest import MANIFEST
from shoal.io.sinks import _folder
from shoal.io.sinks._atomic import atomic
from shoal.io.sinks._folder import part_name, staged_folder
from shoal.locations import place
from shoal.scratch import scratch_folder

needs_locks = pytest.mark.skipif(scratch.fcntl is None, reason="needs locks of files")

_HOLD = """
import sys, pathlib
from shoal.io.sinks._folder import part_name, staged_folder
from shoal.scratch import scratch_folder
out = pathlib.Path(sys.argv[1], "safe")
with scratch_folder(out) as rough, staged_folder(out, force=True) as staged:
    (rough / "blocks").mkdir()
    (rough / "blocks" / "0.arrow").write_text("originals")
    (staged / part_name(0, ".csv")).write_text("unaudited")
    print("staged", flush=True)
    sys.stdin.read()
"""


@contextmanager
def running(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a program, and wait until it says that its folders are staged."""
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


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def publish(path: Path, *, force: bool = False, text: str = "whole") -> None:
    with staged_folder(path, force=force) as staged:
        (staged / part_name(0, ".csv")).write_text(text)


def fail_to_publish(path: Path, error: type[BaseException] | BaseException, *, force: bool = False) -> None:
    with staged_folder(path, force=force) as staged:
        (staged / part_name(0, ".csv")).write_text("half")
        raise error


def fail_with_scratch(near: Path, error: type[BaseException] | BaseException) -> None:
    with scratch_folder(near) as folder:
        (folder / "a").write_text("originals")
        raise error


def publish_late(path: Path) -> None:
    with staged_folder(path, force=False):
        path.mkdir()
        (path / "mine.csv").write_text("mine")


class TestStagedFolder:
    def test_is_published_whole(self, tmp_path: Path) -> None:
        target = tmp_path / "safe"
        with staged_folder(target, force=False) as staged:
            assert staged.parent == tmp_path
            assert staged.name.startswith(".")
            assert mode(staged) == 0o700
            (staged / part_name(0, ".csv")).write_text("whole")
            assert not target.exists()
        assert names(tmp_path) == ["safe"]
        assert names(target) == ["part-00000.csv"]
        assert mode(target) & 0o700 == 0o700
        assert mode(target / "part-00000.csv") == mode(target) & 0o666

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
    def test_after_an_error_everything_is_as_before(self, tmp_path: Path, error: type[BaseException]) -> None:
        target = tmp_path / "safe"
        publish(target, text="old")
        with pytest.raises(error):
            fail_to_publish(target, error, force=True)
        assert names(tmp_path) == ["safe"]
        assert (target / "part-00000.csv").read_text() == "old"

    def test_an_empty_folder_is_filled(self, tmp_path: Path) -> None:
        (tmp_path / "safe").mkdir(mode=0o750)
        publish(tmp_path / "safe")
        assert names(tmp_path / "safe") == ["part-00000.csv"]
        assert mode(tmp_path / "safe") == 0o750

    def test_without_force_nothing_is_replaced(self, tmp_path: Path) -> None:
        publish(tmp_path / "safe", text="old")
        with pytest.raises(ParameterError, match="already exists; give --force"):
            publish(tmp_path / "safe")
        (tmp_path / "file").write_text("old")
        with pytest.raises(ParameterError, match="must be a folder, got a file"):
            publish(tmp_path / "file", force=True)
        assert (tmp_path / "safe" / "part-00000.csv").read_text() == "old"

    def test_nor_what_appears_in_the_meantime(self, tmp_path: Path) -> None:
        target = tmp_path / "safe"
        with pytest.raises(ParameterError, match="already exists"):
            publish_late(target)
        assert names(tmp_path) == ["safe"]
        assert names(target) == ["mine.csv"]

    @pytest.mark.parametrize("exchange", [True, False])
    def test_with_force_it_is_replaced_and_never_merged(
        self, tmp_path: Path, exchange: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not exchange:
            monkeypatch.setattr(_folder, "_exchanged", lambda *_: False)
        target = tmp_path / "safe"
        publish(target, text="old")
        for name in ("part-00001.parquet", MANIFEST, ".crc"):
            (target / name).write_text("old")
        publish(target, force=True, text="new")
        assert names(tmp_path) == ["safe"]
        assert names(target) == ["part-00000.csv"]
        assert (target / "part-00000.csv").read_text() == "new"

    @pytest.mark.parametrize("name", ["notes.txt", "thesis.docx", "more/", "link"])
    def test_a_folder_with_other_things_is_kept(self, tmp_path: Path, name: str) -> None:
        target = tmp_path / "safe"
        publish(target, text="old")
        if name == "link":
            (target / "link.csv").symlink_to(tmp_path)
        else:
            (target / name).mkdir() if name.endswith("/") else (target / name).write_text("mine")
        before = names(target)
        with pytest.raises(ParameterError, match=r"must hold only tables .* got '(notes|thesis|more|link)"):
            publish(target, force=True)
        assert names(target) == before

    def test_a_failed_replacement_restores_the_old_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        target = tmp_path / "safe"
        publish(target, text="old")
        real, calls = os.rename, []

        def rename(one: Path, other: Path) -> None:
            calls.append(one)
            if len(calls) == 3:  # the first finds the name taken, the second moves the old one away
                raise OSError(errno.EIO, "broken")
            real(one, other)

        monkeypatch.setattr(_folder, "_exchanged", lambda *_: False)
        monkeypatch.setattr(_folder.os, "rename", rename)
        with pytest.raises(EngineError, match="could not be written"):
            publish(target, force=True)
        assert names(tmp_path) == ["safe"]
        assert (target / "part-00000.csv").read_text() == "old"

    @needs_locks
    def test_a_run_killed_between_two_renames_loses_nothing(self, tmp_path: Path) -> None:
        publish(tmp_path / "safe", text="old")
        mark = scratch.new_mark()
        os.rename(tmp_path / "safe", tmp_path / scratch.replaced_name("safe", mark))
        (tmp_path / f".{mark}.lock").touch()
        write(tmp_path / "other.csv")
        assert names(tmp_path) == ["other.csv", "safe"]
        assert (tmp_path / "safe" / "part-00000.csv").read_text() == "old"

    def test_without_a_parent_folder_it_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match="there is no folder"):
            publish(tmp_path / "none" / "safe")

    def test_a_full_disk_leaves_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match=r"safe: could not be written \(the disk or the quota is full\)"):
            fail_to_publish(tmp_path / "safe", OSError(errno.ENOSPC, "No space left on device"))
        assert names(tmp_path) == []


class TestScratchFolder:
    def test_is_private_and_removed(self, tmp_path: Path) -> None:
        with scratch_folder(tmp_path / "safe.csv") as folder:
            assert folder.parent == tmp_path
            assert mode(folder) == 0o700
            (folder / "a").mkdir()
            (folder / "a" / "b").write_text("originals")
        assert names(tmp_path) == []

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_whatever_happens(self, tmp_path: Path, error: type[BaseException]) -> None:
        with pytest.raises(error):
            fail_with_scratch(tmp_path / "safe.csv", error)
        assert names(tmp_path) == []

    def test_the_environment_names_another_place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place = tmp_path / "fast disk"
        monkeypatch.setenv("SHOAL_SCRATCH", str(place))
        with pytest.raises(ParameterError, match="SHOAL_SCRATCH must name an existing folder, got"):
            scratch_folder(tmp_path / "safe.csv").__enter__()
        place.mkdir()
        with scratch_folder(tmp_path / "safe.csv") as folder:
            assert folder.parent == place
        assert names(place) == []

    def test_disk_full_is_a_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match=r"the disk or the quota is full.*SHOAL_SCRATCH") as caught:
            fail_with_scratch(tmp_path / "safe.csv", OSError(errno.EDQUOT, "quota"))
        assert caught.value.exit_code == 5
        assert names(tmp_path) == []

    def test_other_errors_are_passed_on(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError), scratch_folder(tmp_path / "safe.csv"):
            (tmp_path / "none").read_text()


@pytest.mark.parametrize(
    ("target", "source", "folder"),
    [
        ("safe/", "people.csv", True),
        ("there", "people.csv", True),
        ("there.csv", "people.csv", True),
        ("safe", "people.csv", False),
        ("safe", "there", True),
        ("safe.csv", "there", False),
        ("safe.v2", "there", True),
        ("sqlite:///safe.db?table=a", "there", False),
    ],
)
def test_which_outputs_are_folders(
    tmp_path: Path, target: str, source: str, folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("there", "there.csv"):
        Path(name).mkdir()
    assert writes_folder(place(target), place(source)) is folder


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to mount a file system")
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_disk_that_is_really_full(tmp_path: Path, suffix: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("cannot mount a file system")
    try:
        data = pa.table({"x": np.random.default_rng(1).normal(size=50_000)})
        sink = registry.for_file("io.sinks", Path(suffix))()
        with (
            pytest.raises(EngineError, match=r"safe/part-00000.* \(the disk or the quota is full\)"),
            staged_folder(disk / "safe", force=False) as staged,
            _folder.parts_writer(sink, staged, suffix, data.schema, None) as into,
        ):
            into.write(data)
        assert names(disk) == []
        with pytest.raises(EngineError, match=r"Scratch folder in .* the quota is full"):
            fill_scratch(disk / "safe")
        assert names(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill_scratch(near: Path) -> None:
    with scratch_folder(near) as folder:
        (folder / "a").write_bytes(bytes(1 << 20))


@needs_locks
class TestKilledRun:
    def test_is_cleaned_up_by_the_next_one(self, tmp_path: Path) -> None:
        publish(tmp_path / "safe", text="old")
        with running(_HOLD, tmp_path) as program:
            kill(program)
        assert len(names(tmp_path)) == 5  # two folders and their locks
        publish(tmp_path / "other")
        assert names(tmp_path) == ["other", "safe"]
        assert (tmp_path / "safe" / "part-00000.csv").read_text() == "old"

    def test_is_cleaned_up_by_a_scratch_folder_too(self, tmp_path: Path) -> None:
        with running(_HOLD, tmp_path) as program:
            kill(program)
        with scratch_folder(tmp_path / "other.csv"):
            assert len(names(tmp_path)) == 2
        assert names(tmp_path) == []

    def test_a_run_that_is_alive_keeps_its_folders(self, tmp_path: Path) -> None:
        with running(_HOLD, tmp_path) as program:
            held = names(tmp_path)
            write(tmp_path / "other.csv")
            with scratch_folder(tmp_path / "other.csv"):
                pass
            assert names(tmp_path) == sorted([*held, "other.csv"])
            program.communicate("")
            assert program.returncode == 0
        assert names(tmp_path) == ["other.csv", "safe"]
