"""Packages plug in through entry points: that of docs/plugins.md is installed by pip, listed, run and audited."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shoal import registry

HOME = Path(__file__).resolve().parents[1]
PACKAGE = HOME / "tests" / "plugin"
_spec = importlib.util.spec_from_file_location("scenarios", HOME / "tests" / "cli" / "scenarios.py")
assert _spec is not None
assert _spec.loader is not None
scenarios = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scenarios)
package = scenarios.package

METHOD = '''
"""Runs of one record less than k, which is a lie."""
from dataclasses import dataclass
from typing import Annotated, ClassVar
import numpy as np
from shoal.parameters import Checked, Param
from shoal.types import Partition
from shoal.types.protocols import Partitioner

@dataclass(frozen=True)
class Liar(Checked, Partitioner):
    promises_k: ClassVar[bool] = True
    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

    def partition(self, points, rng):
        return Partition.of(np.arange(len(points)) // (self.k - 1), tuple(dict.fromkeys(points.owners)))
'''


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which pip installed the package."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(PACKAGE, folder / "package", ignore=shutil.ignore_patterns("__pycache__"))
    command = "-m pip install --quiet --no-deps --no-build-isolation --no-index --disable-pip-version-check --target"
    subprocess.run([sys.executable, *command.split(), folder / "site", folder / "package"], check=True)
    return folder / "site"


def python(site: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(HOME / "src"), str(site)))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False)


def people(folder: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 99, (40, 2))
    (folder / "people.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows))


def test_the_page_shows_the_package() -> None:
    text = (HOME / "docs" / "plugins.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL))
    assert len(shown) == 4
    for name, block in shown.items():
        assert block == (PACKAGE / name).read_text(encoding="utf-8"), f"docs/plugins.md shows another {name}"


def test_the_package_is_listed_without_being_imported_and_its_index_is_current(site: Path, tmp_path: Path) -> None:
    program = """
import sys
from shoal import index, registry
from shoal.cli import main
assert registry.says("partition", "sorted_runs", "promises_k") is True
assert registry.says("partition", "sorted_runs", "promises_t") is False
assert "largest_error" in registry.keys("utility")
try:
    main(["list", "methods"])
except SystemExit as done:
    assert not done.code
assert not any(name.startswith("shoal_example") for name in sys.modules)
print(index.written(index.index_of("shoal_example")))
"""
    ran = python(site, "-c", program, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"sorted_runs +│ Sorted runs: records in the order of their coordinates", ran.stdout)
    assert ran.stdout.endswith((site / "shoal_example" / "shoal.json").read_text(encoding="utf-8") + "\n")


def test_it_protects_measures_and_is_verified(site: Path, tmp_path: Path, run: Callable) -> None:
    people(tmp_path)
    program = """
from shoal.cli import main
for words in (
    "protect people.csv -o safe.csv --quasi a,b --k 4 --method sorted_runs --evidence e.json --json",
    "compare people.csv safe.csv --columns a,b --measures largest_error --json",
    "verify e.json safe.csv --strict --json",
):
    try:
        main(words.split())
    except SystemExit as done:
        assert not done.code, words
"""
    ran = python(site, "-c", program, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    protected, compared, verified = map(json.loads, ran.stdout.splitlines())
    assert protected["audit"]["k"] == 4
    (audited,) = protected["audit"]["requirements"]
    assert (audited["model"], audited["required"], audited["holds"]) == ("k_anonymity", 4, True)
    assert compared["largest_error"] > 0
    assert all(check["verdict"] != "not promised" for check in verified["checks"])

    elsewhere = run("verify", tmp_path / "e.json", tmp_path / "safe.csv", "--json")  # the package is not installed
    assert elsewhere.code == 0
    checks = {check["claim"]: check for check in json.loads(elsewhere.out)["checks"]}
    promises = checks["All promises of the recipe were audited"]
    assert promises["verdict"] == "not promised"
    assert "the method 'sorted_runs' is not installed" in promises["why"]
    assert checks["k_anonymity over a, b"]["verdict"] == "holds"
    assert run("verify", tmp_path / "e.json", tmp_path / "safe.csv", "--strict").code == 4


def test_it_conforms(site: Path, tmp_path: Path) -> None:
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "sorted_runs or largest_error")
    ran = python(site, *tests, "tests/test_conformance.py", cwd=HOME)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed is not None
    assert int(passed[1]) > 40


def test_a_promise_that_is_not_kept_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plug_in: Callable, run: Callable
) -> None:
    people(tmp_path)
    package(tmp_path, "a", "partition", "liar", METHOD)
    plug_in(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    ran = run("protect", "people.csv", "-o", "safe.csv", "--quasi", "a,b", "--k", "4", "--method", "liar")
    assert ran.code == 4
    assert "The audit of the output found less than was promised" in ran.err
    assert not (tmp_path / "safe.csv").exists()


def test_a_package_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plug_in: Callable, run: Callable
) -> None:
    people(tmp_path)
    fails = METHOD.replace("Liar", "Failing").replace("        return", "        raise ValueError(points)\n#")
    package(tmp_path, "a", "partition", "failing", fails)
    plug_in(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    ran = run("protect", "people.csv", "-o", "safe.csv", "--quasi", "a,b", "--k", "4", "--method", "failing")
    assert ran.code == 1
    assert "Package plug-a failed (ValueError). No unfinished file was left behind. Please report it to its" in ran.err


def test_a_file_that_lacks_a_newer_declaration_is_accepted(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "site")
    file = tmp_path / "site" / "shoal_example" / "shoal.json"
    stated = json.loads(file.read_text(encoding="utf-8"))
    del stated["utility"]["largest_error"]["unpaired"]
    file.write_text(json.dumps(stated), encoding="utf-8")
    load = "from shoal.registry import load; load('utility', 'largest_error'), load('partition', 'sorted_runs')"
    assert python(tmp_path / "site", "-c", load, cwd=tmp_path).returncode == 0
    del stated["partition"]["sorted_runs"]["promises_k"]
    file.write_text(json.dumps(stated), encoding="utf-8")
    assert "does not declare what its shoal.json says" in python(tmp_path / "site", "-c", load, cwd=tmp_path).stderr


def test_the_command_that_writes_an_index_ends_in_a_sentence(site: Path, tmp_path: Path) -> None:
    for package, said in (("nosuch", "shoal: Package nosuch: cannot be imported"), ("--help", "Index of components")):
        ran = python(site, "-m", "shoal.index", package, cwd=tmp_path)
        assert ran.stderr.startswith(said)
        assert "Traceback" not in ran.stderr


def test_packages_that_cannot_be_used_do_not_hide_the_others(tmp_path: Path, plug_in: Callable, run: Callable) -> None:
    package(tmp_path, "a", "partition", "mdav")
    package(tmp_path, "b", "partition", "broken", "1 / 0")
    package(tmp_path, "c", "partition", "liar", METHOD)
    package(tmp_path, "d", "partition", "twice")
    package(tmp_path, "e", "partition", "twice")
    package(tmp_path, "f", "partition", "damaged", METHOD.replace("Liar", "Damaged"), shoal_json="{")
    package(tmp_path, "g", "io.sources", "broken", "1 / 0")
    package(tmp_path, "h", "io.sinks", "mine", 'class Mine:\n    suffixes = (".csv",)\n')
    plug_in(tmp_path / "site")
    told = {key: registry.summary("partition", key) for key in registry.keys("partition")}
    assert "'mdav' is one of shoal's" in told["mdav"]
    assert "cannot be imported (ZeroDivisionError" in told["broken"]
    assert "must be in one of them only" in told["twice"]
    assert told["liar"] == told["damaged"] == "Runs of one record less than k, which is a lie."
    assert told["tour"].startswith("Tour: ")
    listed = run("list", "methods")
    assert listed.code == 0
    assert "Traceback" not in listed.err
    assert registry.says("partition", "mdav", "promises_k") is True
    assert registry.for_file("io.sources", Path("a.csv")).__module__ == "shoal.io.sources.csv"
    assert registry.for_file("io.sinks", Path("a.csv")).__module__ == "shoal.io.sinks.csv"
