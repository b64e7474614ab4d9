"""Every block of README.md and of the pages runs, and prints what the page shows."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

HOME = Path(__file__).resolve().parents[2]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


outputs = _load(HOME / "docs" / "outputs.py")
PAGES = {str(page.relative_to(HOME)): page for page in outputs.pages()}
#: Commands that take ten seconds or more and whose output files no other command reads, by how they end.
SLOW = (
    "--identifier person,household --k 5 --t 0.1",
    "--require k=5,l_entropy=2.5,alpha=0.5",
    "-o strict.csv --recipe strict.toml",
)
SPARK = importlib.util.find_spec("pyspark") and (shutil.which("java") or os.environ.get("JAVA_HOME"))
RUNNABLE = [name for name, page in PAGES.items() if re.search(r"^```(console|python)$", page.read_text(), re.M)]


def test_the_pages_that_must_run_do() -> None:
    assert {"README.md", "docs/tutorial.md", "docs/cli.md", "docs/python.md"} <= set(RUNNABLE)


@pytest.mark.parametrize("name", RUNNABLE)
def test_blocks_run_and_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, SLOW)


@pytest.mark.long
@pytest.mark.parametrize("name", ["docs/tour.md", "docs/recipe.md", "docs/methods/auto.md"])
def test_slow_commands_too(name: str, tmp_path: Path) -> None:
    check(name, tmp_path)


def test_slow_commands_are_on_the_pages() -> None:
    commands = [typed.command for page in PAGES.values() for typed in outputs.commands(page.read_text())]
    for end in SLOW:
        assert len([command for command in commands if command.endswith(end)]) == 1, end


def check(name: str, folder: Path, skipped: tuple[str, ...] = ()) -> None:
    shown = PAGES[name].read_text(encoding="utf-8")
    if not SPARK and re.search(r"^from pyspark", shown, re.M):
        pytest.skip("needs PySpark and Java")
    if reason := outputs.lacks(shown):
        pytest.skip(reason)
    real = outputs.rewritten(shown, folder, skipped)
    difference = "\n".join(difflib.unified_diff(shown.splitlines(), real.splitlines(), "shown", "real", lineterm=""))
    assert not difference, f"run `python docs/outputs.py {name}` and look at the difference\n{difference}"


def test_figures_in_the_text_are_printed() -> None:
    page = PAGES["docs/adult.md"].read_text(encoding="utf-8")
    printed = "".join(re.findall(r"^```console$.*?^```$", page, re.M | re.S))
    text = re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)
    figures = set(re.findall(r"\d+(?:,\d{3})+|\d+\.\d+(?= %)", text))
    assert len(figures) > 10
    assert {one for one in figures if one not in printed} == set()


class TestTheReader:
    """What runs the pages fails where it must."""

    def test_a_failing_command_is_noticed(self, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="exit code 2"):
            outputs.rewritten("```console\n$ shoal list nothing\n```\n", tmp_path)

    def test_a_failing_command_may_be_asked_for_its_exit_code(self, tmp_path: Path) -> None:
        page = "```console\n$ shoal list nothing\nx\n$ echo $?\nx\n```\n"
        assert outputs.rewritten(page, tmp_path).endswith("$ echo $?\n2\n```\n")

    def test_a_failing_program_is_noticed(self, tmp_path: Path) -> None:
        with pytest.raises(ZeroDivisionError):
            outputs.rewritten("```python\n1 / 0\n```\n", tmp_path)

    def test_what_is_left_out_stays_out(self, tmp_path: Path) -> None:
        page = '```text title="f"\na\nb\nc\nd\n```\n\n```console\n$ cat f\na\n…\nc\n…\n```\n'
        assert outputs.rewritten(page, tmp_path) == page

    def test_reference_data_are_copied_or_the_page_is_not_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "f.csv").write_text("hello\n")
        (tmp_path / "run").mkdir()
        page = "<!-- needs f.csv -->\n\n```console\n$ cat f.csv\nhello\n```\n"
        monkeypatch.delenv("SHOAL_DATA", raising=False)
        assert "SHOAL_DATA" in outputs.lacks(page)
        assert not outputs.lacks(page.partition("\n")[2])
        monkeypatch.setenv("SHOAL_DATA", str(tmp_path / "data"))
        assert not outputs.lacks(page)
        assert outputs.rewritten(page, tmp_path / "run") == page

    def test_titled_blocks_become_files_and_make_is_not_run(self, tmp_path: Path) -> None:
        page = '```text title="f"\nhello\n```\n\n```console\n$ make sandwich\n$ cat f\nhello\n```\n'
        assert outputs.rewritten(page, tmp_path) == page
