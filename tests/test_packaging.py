"""The wheel and the source distribution hold what they must, and the wheel runs elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import shoal

ROOT = Path(__file__).parents[1]


def test_the_compiler_is_one_that_was_tested() -> None:
    """numba and llvmlite have upper bounds, raised deliberately; the installed versions lie within them."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    bounds = {one.name: one.specifier for one in map(Requirement, declared)}
    for name in ("numba", "llvmlite"):
        assert any(one.operator == "<" for one in bounds[name])
        assert bounds[name].contains(version(name)), f"raise the bound of {name} after make test and make long"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_the_wheel_runs_elsewhere(dist: Path, tmp_path: Path, share_kernels: Callable[[Path], None]) -> None:
    (wheel,) = dist.glob("shoal-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    pages = {f"report/{page}" for page in ("report.html.jinja", "frontier.html.jinja", "report.css", "frontier.css")}
    assert {f"shoal/{name}" for name in {"py.typed", "_index.json", *pages}} <= set(names)
    assert all(name.startswith(("shoal/", f"shoal-{shoal.__version__}.dist-info/")) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    share_kernels(tmp_path / "site" / "shoal")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    where = [sys.executable, "-c", "import shoal; print(shoal.__file__)"]
    ran = subprocess.run(where, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert ran.stdout.startswith(str(tmp_path))
    demo = [sys.executable, "-m", "shoal", "demo", "d"]
    subprocess.run(demo, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert (tmp_path / "d" / "protected.csv").exists()


def test_the_source_distribution_is_whole(dist: Path) -> None:
    (archive,) = dist.glob("shoal-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames() if "/" in name}
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert set(tracked.stdout.split()) <= names
    assert {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Makefile",
        "mkdocs.yml",
        "pyproject.toml",
    } <= names


def test_no_path_of_a_machine_and_no_loose_end_is_in_the_tree() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    for name in tracked.stdout.split():
        path = ROOT / name
        if path.suffix in (".png", ".ico") or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        assert str(ROOT.parent) + "/" not in text, name
        assert not any(mark in text.split() for mark in ("TO" + "DO", "FIX" + "ME")), name
