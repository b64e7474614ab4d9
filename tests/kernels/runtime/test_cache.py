"""Compiled kernels on disk: whatever they were compiled from, a change of it compiles them again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import shoal
from shoal.kernels.runtime import jit as cache

SOURCE = Path(shoal.__file__).parent
PART = "from shoal.kernels.runtime.jit import part\n\n\n@part\ndef one():\n    return 1\n"
WHOLE = (
    "from shoal.kernels.runtime.jit import kernel\nfrom shoal.kernels.tiny_part import one\n\n\n"
    "@kernel\ndef tiny(x):\n    return x + one()\n"
)
CALL = (
    "from shoal.kernels.tiny import tiny\n{before}\nprint(tiny(1), sum(tiny.stats.cache_hits.values()), "
    "tiny.stats.cache_path)"
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with the smallest kernel that inlines a part of another file."""
    copy = tmp_path / "copy" / "shoal"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "kernels" / "tiny_part.py").write_text(PART)
    (copy / "kernels" / "tiny.py").write_text(WHOLE)
    return copy


def call(path: Path, home: Path, before: str = "", **variables: str) -> tuple[int, int, Path]:
    """Call the kernel in a process of its own; return its result, hits of the cache, and the folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(path), "XDG_CACHE_HOME": str(home), "HOME": str(home), **variables}
    code = CALL.format(before=before)
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    result, hits, folder = ran.stdout.split(maxsplit=2)
    return int(result), int(hits), Path(folder.strip())


def change(package: Path, old: str = "return 1", new: str = "return 7") -> None:
    part = package / "kernels" / "tiny_part.py"
    part.write_text(part.read_text().replace(old, new))


def test_a_changed_part_recompiles_the_kernels_that_inline_it(package: Path, tmp_path: Path) -> None:
    result, hits, folder = call(package.parent, tmp_path)
    assert (result, hits, folder.parent) == (2, 0, package / "kernels" / "__pycache__")
    assert call(package.parent, tmp_path) == (2, 1, folder)  # from the disk
    change(package)
    result, hits, changed = call(package.parent, tmp_path)
    assert (result, hits) == (8, 0)
    assert changed != folder
    change(package, "return 7", "return 1")
    assert call(package.parent, tmp_path) == (2, 1, folder)


def test_a_chosen_folder_is_used_and_never_stale(package: Path, tmp_path: Path) -> None:
    chosen = {"NUMBA_CACHE_DIR": str(tmp_path / "chosen")}
    result, hits, folder = call(package.parent, tmp_path, **chosen)
    assert (result, hits) == (2, 0)
    assert folder.is_relative_to(tmp_path / "chosen")
    assert call(package.parent, tmp_path, **chosen) == (2, 1, folder)
    change(package)
    assert call(package.parent, tmp_path, **chosen)[:2] == (8, 0)


def test_a_package_that_cannot_be_written_to_uses_the_users_folder(package: Path, tmp_path: Path) -> None:
    (package / "kernels" / "__pycache__").write_text("a file, so that there can be no folder, not even for root")
    home = tmp_path / "home"
    assert call(package.parent, home)[:2] == (2, 0)
    result, hits, folder = call(package.parent, home)
    assert (result, hits) == (2, 1)
    assert folder.is_relative_to(home)


def test_a_package_in_a_zip_file_is_compiled_once(package: Path, tmp_path: Path) -> None:
    packed = tmp_path / "shoal.zip"
    with zipfile.ZipFile(packed, "w") as out:
        for path in package.rglob("*.py"):
            out.write(path, path.relative_to(package.parent))
    assert call(packed, tmp_path / "home")[:2] == (2, 0)
    assert call(packed, tmp_path / "home")[:2] == (2, 1)


def test_unreadable_and_lost_files_are_compiled_again(package: Path, tmp_path: Path) -> None:
    folder = call(package.parent, tmp_path)[2]
    for path in folder.glob("tiny.*"):
        path.write_bytes(b"")
    assert call(package.parent, tmp_path)[:2] == (2, 0)
    gone = "import shutil; shutil.rmtree(tiny.stats.cache_path)"
    assert call(package.parent, tmp_path, before=gone)[:2] == (2, 0)
    assert call(package.parent, tmp_path)[:2] == (2, 1)


def test_sources_that_change_while_they_are_compiled_are_not_kept(package: Path, tmp_path: Path) -> None:
    part = package / "kernels" / "tiny_part.py"
    replaced = f"from pathlib import Path; Path({str(part)!r}).write_text('')"
    result, _, folder = call(package.parent, tmp_path, before=replaced)
    assert result == 2
    assert not list(folder.glob("*.nb?"))


def test_settings_of_the_compiler_lead_to_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.fingerprint()
    assert cache.fingerprint() == before
    monkeypatch.setattr("numba.core.config.BOUNDSCHECK", 1)
    assert cache.fingerprint() != before


def test_a_new_version_removes_all_but_the_latest_used(tmp_path: Path) -> None:
    old = [tmp_path / f"shoal-{number:032x}" for number in range(7)]
    for number, path in enumerate(old):
        path.mkdir()
        (path / "kernel.nbi").touch()
        os.utime(path, (number, number))
    others = [tmp_path / "shoal-notes", tmp_path / "numba"]
    for path in others:
        path.mkdir()
    made = Path(cache.folder_in(str(tmp_path)))
    assert {*tmp_path.iterdir()} == {made, *old[3:], *others}


def test_only_kernels_are_compiled() -> None:
    """A kernel in another folder would be missing from the fingerprint."""
    imports = re.compile(r"^\s*(import numba|from numba|from shoal\.kernels\.jit)", re.MULTILINE)
    outside = [path for path in SOURCE.rglob("*.py") if not path.is_relative_to(SOURCE / "kernels")]
    assert not [path for path in outside if imports.search(path.read_text())]
