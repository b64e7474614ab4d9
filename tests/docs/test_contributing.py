"""“Add an algorithm in ten minutes” works as it stands, in a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
TEXT = (HOME / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Add an algorithm in ten minutes")[2]
FILES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL))
SESSION = [
    line.removeprefix("$ shoal ").split()
    for block in re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory, share_kernels: Callable[[Path], None]) -> Path:
    """A copy of the package and its conformance tests, with the files of the page written into it."""
    folder = tmp_path_factory.mktemp("contributing")
    shutil.copytree(HOME / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    share_kernels(folder / "src" / "shoal")
    (folder / "tests").mkdir()
    for name in ("conftest.py", "test_conformance.py"):
        shutil.copy(HOME / "tests" / name, folder / "tests" / name)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # the copy goes before an installed shoal
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_commands_work(copy: Path) -> None:
    assert [words[0] for words in SESSION] == ["list", "demo", "protect", "protect"]
    program = f"""
import os
import shoal
from shoal.cli import main
assert shoal.__file__.startswith({str(copy)!r})
for words in {SESSION!r}:
    if words == ["demo"]:  # its survey only: MDAV would be compiled again for the copy
        os.mkdir("demo")
        shoal.write_table(shoal.survey(), "demo/survey.csv")
        continue
    try:
        main(words)
    except SystemExit as done:
        assert not done.code, words
assert len(shoal.microaggregate(range(20), k=4, method="sorted_runs")) == 5
"""
    ran = python(copy, "-c", program)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"sorted_runs +│ Sorted runs: records in the order", ran.stdout)  # as wide as the longest name
    assert ran.stdout.count("5,000 records protected") == 2
    assert (copy / "safe.csv").read_bytes() == (copy / "again.csv").read_bytes()


def test_lists_index_page_and_navigation_need_no_edit(copy: Path) -> None:
    (copy / "docs").mkdir()
    for name in ("pages.py", "methods.md", "models.md", "releases.md", "measures.md"):
        shutil.copy(HOME / "docs" / name, copy / "docs" / name)
    program = """
import json, sys
from shoal import index, registry
before = registry.says("partition", "sorted_runs", "promises_k"), registry.summary("partition", "sorted_runs")
index.main([])
kept = json.loads(open("src/shoal/_index.json", encoding="utf-8").read())["partition"]["sorted_runs"]
sys.path.insert(0, "docs")
import pages
print(json.dumps([before, kept, pages.generated()["methods/sorted_runs.md"], pages.navigation("methods")[-1]]))
"""
    ran = python(copy, "-c", program)
    assert ran.returncode == 0, ran.stderr
    (_, summary), kept, page, last = json.loads(ran.stdout)
    assert (
        summary == kept["summary"] == "Sorted runs: records in the order of their first coordinate, cut into runs of k."
    )
    assert page.startswith(f"# sorted_runs\n\n{summary}\n")
    assert "**Guarantee.** n ≥ k" in page
    assert "| `k` | an integer ≥ 2 |  | Smallest number of records in a class. |" in page
    assert last == {"More": [{"sorted_runs": "methods/sorted_runs.md"}]}


def test_oracle_conformance_and_example_pass(copy: Path) -> None:
    ran = python(
        copy,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--import-mode=importlib"),
        *("--doctest-modules", "-k", "sorted_runs", "tests", "src/shoal/partition/sorted_runs.py"),
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed is not None
    assert int(passed[1]) > 40  # the conformance tests found the method by themselves


def test_the_example_is_in_our_style(copy: Path) -> None:
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed beside Python")
    files = [name for name in FILES if name.endswith(".py")]
    for words in (["check"], ["format", "--check"]):
        ran = subprocess.run(
            [ruff, *words, "--no-cache", "--config", HOME / "pyproject.toml", *files],
            cwd=copy,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
