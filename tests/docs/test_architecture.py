"""docs/architecture.md is current: import contracts, packages, walks, and the paths of new capabilities."""

from __future__ import annotations

import difflib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HOME = Path(__file__).resolve().parents[2]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


architecture = _load(HOME / "docs" / "architecture.py")
TEXT = architecture.PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def traces() -> Any:
    return architecture.traces()


def test_generated_parts_are_current() -> None:
    current = architecture.rewritten(TEXT, architecture.generated())
    difference = "\n".join(difflib.unified_diff(TEXT.splitlines(), current.splitlines(), "shown", "current", n=0))
    assert not difference, f"run `python docs/architecture.py` and look at the difference\n{difference}"


@pytest.mark.parametrize("name", ["protect", "stream"])
def test_the_walks_are_what_the_commands_execute(name: str, traces: Any) -> None:
    assert architecture.faults_of(getattr(architecture, name.upper()), getattr(traces, name)) == []


def test_a_reader_opens_few_files() -> None:
    assert len(architecture.FOLLOW) == len(set(architecture.FOLLOW)) <= architecture.MOST_FILES_TO_READ == 15
    assert set(architecture.FOLLOW) <= {step.file for step in architecture.PROTECT}


def test_a_report_executes_code_in_at_most_as_many_files_as_the_page_says(traces: Any) -> None:
    stated = re.search(r"executes code in \*\*\d+ files\*\*; (\d+) are the most", TEXT)
    assert stated is not None
    assert int(stated[1]) == architecture.MOST_FILES_EXECUTED
    assert len(architecture.executed(traces.report)) <= architecture.MOST_FILES_EXECUTED


def test_every_family_that_can_be_extended_exists() -> None:
    rows = re.findall(r"^\| [^|]+ \| ([^|]*<(?:name|scheme)>\.py[^|]*) \|", TEXT, re.MULTILINE)
    assert len(rows) == 12
    for folder in re.findall(r"`([\w/]+)/<", " ".join(rows)):
        assert list((architecture.SOURCES / folder).glob("[a-z]*.py")), folder


class TestFaultsOfAWalk:
    STEP = architecture.Step("read", "a.py", "f", "")
    NEXT = architecture.Step("read", "b.py", "g", "")

    def test_a_function_that_is_not_executed(self) -> None:
        assert architecture.faults_of([self.STEP], [("a.py", "g")]) == ["a.py: f is not executed."]

    def test_steps_in_another_order(self) -> None:
        found = architecture.faults_of([self.STEP, self.NEXT], [("b.py", "g"), ("a.py", "f")])
        assert found == ["b.py: g is executed before the step above it."]

    def test_none(self) -> None:
        assert architecture.faults_of([self.STEP, self.NEXT], [("a.py", "f"), ("c.py", "h"), ("b.py", "g")]) == []


def test_a_part_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place for: layers"):
        architecture.rewritten("# Architecture\n", {"layers": ""})
