"""A file is there whole, or it is as it was before."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal import registry
from shoal.errors import DataError, EngineError, ParameterError
from shoal.io.sinks._atomic import atomic, same_file

SINKS = ["a.csv", "a.parquet", "a.arrow"]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_written_whole(tmp_path: Path) -> None:
    target = tmp_path / "people.csv"
    with atomic(target, force=False) as staged:
        assert staged.parent == tmp_path
        assert staged.suffix == ".csv"
        assert staged.name.startswith(".")
        assert mode(staged) == 0o600
        staged.write_text("whole")
        assert mode(staged) == 0o600
        assert not target.exists()
    assert target.read_text() == "whole"
    assert mode(target) == 0o640
    assert names(tmp_path) == ["people.csv"]


def test_staged_names_are_unpredictable(tmp_path: Path) -> None:
    with atomic(tmp_path / "a.csv", force=False) as one, atomic(tmp_path / "b.csv", force=False) as two:
        assert one.name.removeprefix(".a") != two.name.removeprefix(".b")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, BaseException])
@pytest.mark.parametrize("force", [False, True])
def test_any_exception_leaves_things_as_they_were(tmp_path: Path, error: Any, force: bool) -> None:
    target = tmp_path / "people.csv"
    if force:
        target.write_text("before")

    def fail() -> None:
        with atomic(target, force=force) as staged:
            staged.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == ["people.csv"] * force
    assert not force or target.read_text() == "before"


def enter(target: Path, *, force: bool) -> None:
    with atomic(target, force=force):
        pytest.fail("the block was entered")


def test_existing_target(tmp_path: Path) -> None:
    target = tmp_path / "people.csv"
    target.write_text("before")
    with pytest.raises(ParameterError, match=r"people\.csv: already exists; give --force to replace it"):
        enter(target, force=False)
    assert target.read_text() == "before"
    assert names(tmp_path) == ["people.csv"]


def test_force_replaces_and_keeps_the_mode(tmp_path: Path) -> None:
    target = tmp_path / "people.csv"
    target.write_text("before")
    target.chmod(0o604)
    with atomic(target, force=True) as staged:
        staged.write_text("after")
        assert target.read_text() == "before"
    assert target.read_text() == "after"
    assert mode(target) == 0o604
    assert names(tmp_path) == ["people.csv"]


@pytest.mark.parametrize("links", [True, False])
def test_somebody_else_is_faster(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    target = tmp_path / "people.csv"

    def race() -> None:
        with atomic(target, force=False) as staged:
            staged.write_text("mine")
            target.write_text("theirs")

    with pytest.raises(ParameterError, match="already exists"):
        race()
    assert target.read_text() == "theirs"
    assert names(tmp_path) == ["people.csv"]


def no_links(*_: Any) -> None:
    raise OSError(errno.EOPNOTSUPP, "no hard links here")


def test_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    with atomic(tmp_path / "people.csv", force=False) as staged:
        staged.write_text("whole")
    assert (tmp_path / "people.csv").read_text() == "whole"
    assert names(tmp_path) == ["people.csv"]


def test_folders_and_devices(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="got a folder"):
        enter(tmp_path, force=True)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ParameterError, match="got a device or a pipe"):
        enter(tmp_path / "pipe.csv", force=True)
    with pytest.raises(ParameterError, match="got a device or a pipe"):
        enter(Path("/dev/null"), force=True)
    assert names(tmp_path) == ["pipe.csv"]


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"there is no folder .*none"):
        enter(tmp_path / "none" / "a.csv", force=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="could not be written"):
        enter(tmp_path / "file" / "a.csv", force=False)


def test_long_names(tmp_path: Path) -> None:
    target = tmp_path / ("ä" * 120 + ".csv")
    with atomic(target, force=False) as staged:
        staged.write_text("whole")
    assert names(tmp_path) == [target.name]
    with pytest.raises(EngineError, match="its name is too long"):
        enter(tmp_path / ("a" * 300 + ".csv"), force=False)


def test_symbolic_links_stay(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real" / "people.csv")
    for force in (False, True):
        with atomic(link, force=force) as staged:
            staged.write_text(f"{force}")
        assert link.is_symlink()
        assert (tmp_path / "real" / "people.csv").read_text() == f"{force}"
    assert names(tmp_path / "real") == ["people.csv"]


def test_errors_name_the_target(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic(tmp_path / "people.csv", force=False) as staged:
            raise DataError(f"{staged.name}: is not right; {staged}")

    with pytest.raises(DataError) as caught:
        fail()
    assert str(caught.value) == f"people.csv: is not right; {tmp_path / 'people.csv'}"


@pytest.mark.parametrize(
    ("code", "match"),
    [
        (errno.ENOSPC, r"full\)\. Free some space"),
        (errno.EDQUOT, r"full\)\. Free some space"),
        (errno.EFBIG, "size exceeds the limit"),
        (errno.EROFS, "is not writable"),
        (errno.EACCES, "is not writable"),
        (errno.EIO, "Check the disk"),
    ],
)
def test_disk_errors_inside_the_block(tmp_path: Path, code: int, match: str) -> None:
    def fail() -> None:
        with atomic(tmp_path / "people.csv", force=False):
            raise OSError(code, os.strerror(code))

    with pytest.raises(EngineError, match=rf"people\.csv: could not be written \(.*{match}"):
        fail()
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", SINKS)
def test_disk_full_for_real(tmp_path: Path, name: str) -> None:
    code = f"""
import os, resource, pathlib, pyarrow as pa
from shoal import registry
from shoal.io.sinks._atomic import atomic
from shoal.errors import EngineError
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
target = pathlib.Path({str(tmp_path / name)!r})
table = pa.table({{"a": pa.array([os.urandom(20).hex() for _ in range(20_000)])}})
try:
    with atomic(target, force=False) as staged:
        registry.for_file("io.sinks", target)().write(table, staged, None)
except EngineError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert f"{tmp_path / name}: could not be written (its size exceeds the limit)" in done.stdout
    assert done.stderr == ""
    assert names(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs users")
@pytest.mark.parametrize("name", SINKS)
def test_read_only_folder(tmp_path: Path, name: str) -> None:
    code = f"""
import os, sys, pathlib, tempfile, pyarrow as pa
from shoal import registry
from shoal.io.sinks._atomic import atomic
from shoal.errors import EngineError
target = pathlib.Path({name!r})
sink = registry.for_file("io.sinks", target)()
with tempfile.TemporaryDirectory() as folder:  # loads what it needs while this user may
    sink.write(pa.table({{"a": [1]}}), pathlib.Path(folder, target), None)
os.chdir({str(tmp_path)!r})
if os.geteuid() == 0:
    os.setegid(65534); os.seteuid(65534)
try:
    with atomic(target, force=False) as staged:
        sys.exit("entered")
except EngineError as error:
    print(error)
try:
    sink.write(pa.table({{"a": [1]}}), target, None)
except EngineError as error:
    print(error)
"""
    tmp_path.chmod(0o555)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    tmp_path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{name}: could not be written (the folder is not writable)") == 2
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", SINKS)
@pytest.mark.parametrize("force", [False, True])
def test_every_sink_through_it(tmp_path: Path, name: str, force: bool) -> None:
    with atomic(tmp_path / name, force=force) as staged:
        registry.for_file("io.sinks", staged)().write(pa.table({"a": [1]}), staged, None)
        assert mode(staged) == 0o600
    assert names(tmp_path) == [name]


def test_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = tmp_path / "a.csv"
    a.write_text("x")
    (tmp_path / "soft.csv").symlink_to(a)
    os.link(a, tmp_path / "hard.csv")
    (tmp_path / "copy.csv").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert same_file(a, Path("a.csv"))
    assert same_file(a, tmp_path / "soft.csv")
    assert same_file(tmp_path / "hard.csv", a)
    assert not same_file(a, tmp_path / "copy.csv")
    assert not same_file(a, tmp_path / "none.csv")
    assert same_file(tmp_path / "none.csv", tmp_path / "x" / ".." / "none.csv")
