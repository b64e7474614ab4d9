"""The registry lists components by names and a generated index, imports only what is chosen, and works from a zip."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shoal import index, registry
from shoal.errors import ParameterError

HOME = Path(__file__).resolve().parents[1]
SOURCES = HOME / "src" / "shoal"


def python(program: str, *path: Path, cwd: Path, **environment: str) -> str:
    """What a program prints, with some folders or zips before everything else that is installed."""
    found = os.pathsep.join(map(str, path))
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": found, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_index_is_current() -> None:
    kept, current = (SOURCES / "_index.json").read_text(encoding="utf-8"), index.written(index.index_of_shoal())
    difference = "\n".join(difflib.unified_diff(kept.splitlines(), current.splitlines(), "kept", "current", n=0))
    assert not difference, f"run `python -m shoal.index` and look at the difference\n{difference}"


def test_every_component_is_in_the_index_and_has_a_summary() -> None:
    for family in registry.FAMILIES:
        assert registry.built_in(family), family
        for key in registry.built_in(family):
            assert registry.summary(family, key).endswith("."), (family, key)


def test_nothing_is_imported_for_a_list_or_a_promise(tmp_path: Path) -> None:
    program = """
import sys
from shoal import registry
from shoal.recipe import requirements
for family in registry.FAMILIES:
    for key in registry.keys(family):
        registry.summary(family, key), registry.says(family, key, "promises_k")
    for claim in ("suffixes", "schemes", "kinds"):
        registry.declared(family, claim)
requirements.named()
found = [name for name in sys.modules for family in registry.FAMILIES if name.startswith(f"shoal.{family}.")]
print(found + [name for name in ("numpy", "pyarrow", "numba") if name in sys.modules])
"""
    assert python(program, SOURCES.parent, cwd=tmp_path) == "[]\n"


def test_an_undeclared_promise_is_not_promised() -> None:
    assert registry.says("partition", "mdav", "promises_t") is not True
    assert registry.says("partition", "mdav", "promises_k") is True
    assert registry.says("partition", "mic1d", "promises_k") is False
    assert registry.says("release", "laplace", "takes")[0] == "epsilon"


def test_an_unknown_key_is_refused() -> None:
    for ask in (registry.load, lambda family, key: registry.says(family, key, "promises_k")):
        with pytest.raises(ParameterError, match=r"no file is called 'mdva'.*Did you mean 'mdav'"):
            ask("partition", "mdva")


def test_it_works_from_a_zip(tmp_path: Path) -> None:
    shutil.copytree(SOURCES, tmp_path / "site" / "shoal", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.make_archive(str(tmp_path / "shoal"), "zip", tmp_path / "site")
    shutil.rmtree(tmp_path / "site")
    program = """
import pyarrow as pa
import shoal
from shoal import registry
from shoal.cli import main
print(shoal.__file__)
print({family: registry.keys(family) for family in registry.FAMILIES})
print(registry.load("io.sinks", "parquet").suffixes, registry.summary("partition", "mdav"))
print(shoal.microaggregate([[1.0], [9.0], [2.0], [8.0]], 2, method="individual_ranking").labels.tolist())
done = shoal.protect(pa.table({"a": [1, 2, 8, 9]}), quasi=["a"], k=2, method="individual_ranking")
print(done.audit.to_dict()["k"])
main(["list", "releases"])
"""
    zipped = tmp_path / "shoal.zip"
    cache = str(tmp_path / "kernels")
    printed = python(program, zipped, cwd=tmp_path, NUMBA_CACHE_DIR=cache)
    where, keys, loaded, labels, k, *listed = printed.splitlines()
    assert where.startswith(str(zipped))
    assert keys == str({family: registry.keys(family) for family in registry.FAMILIES})
    assert loaded == f"('.parquet', '.pq') {registry.summary('partition', 'mdav')}"
    assert (labels, k) == ("[0, 1, 0, 1]", "2")
    assert any("centroid" in line for line in listed)
