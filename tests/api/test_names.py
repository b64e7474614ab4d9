"""The names of `shoal`: imported late, listed whole, and the same for people, editors and type checkers."""

from __future__ import annotations

import ast
import inspect
import rlcompleter
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

SOURCE = Path(shoal.__file__)


def test_the_module_holds_names_only() -> None:
    assert len(SOURCE.read_text(encoding="utf-8").splitlines()) < 120
    functions = [node.name for node in ast.walk(ast.parse(SOURCE.read_text())) if isinstance(node, ast.FunctionDef)]
    assert sorted(functions) == ["__dir__", "__getattr__"]


def test_type_checkers_see_what_is_imported_late() -> None:
    """Every public name is imported for type checkers from the module that really defines it."""
    seen = {
        alias.name: node.module
        for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module not in ("__future__", "typing")
        for alias in node.names
    }
    del seen["import_module"]
    assert sorted(seen) == sorted(shoal.__all__)
    assert len(set(shoal.__all__)) == len(shoal.__all__)
    for name, module in seen.items():
        assert getattr(shoal, name) is getattr(sys.modules[module or ""], name)


def test_every_verb_is_a_file_of_its_name() -> None:
    assert shoal.attack.__module__ == "shoal.api.attack"
    for name in ("protect", "plan", "audit", "compare", "explore", "inspect", "verify", "microaggregate", "demo"):
        assert getattr(shoal, name).__module__ == f"shoal.api.{name}"


def test_tab_completes_names_that_nobody_used() -> None:
    script = (
        "import rlcompleter, shoal\n"
        "find = rlcompleter.Completer({'shoal': shoal}).complete\n"
        "print(find('shoal.prot', 0), find('shoal.prot', 1), find('shoal.Readi', 0))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["shoal.protect(", "shoal.protect_file(", "shoal.Readings("]


def test_dir_lists_public_names_and_nothing_else() -> None:
    assert [name for name in dir(shoal) if not name.startswith("__")] == sorted(shoal.__all__)
    assert "__version__" in dir(shoal)
    assert rlcompleter.Completer({"shoal": shoal}).complete("shoal.TYPE", 0) is None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'shoal' has no attribute 'protekt'"):
        _ = shoal.protekt  # type: ignore[attr-defined]


def test_a_star_imports_every_name() -> None:
    found: dict[str, object] = {}
    exec("from shoal import *", found)
    assert set(shoal.__all__) <= found.keys()


def test_importing_costs_little() -> None:
    """At most 30 ms of processor time beyond bare Python, and three modules of shoal, one of them empty."""
    script = (
        "import sys, time\n"
        "start = time.process_time()\n"
        "import shoal\n"
        "print(time.process_time() - start, *(name for name in sys.modules if name.startswith('shoal')))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    assert min(float(seconds) for seconds, *_ in runs) <= 0.03
    assert sorted(runs[0][1:]) == ["shoal", "shoal.attack", "shoal.errors"]


@pytest.mark.parametrize("name", ["protect", "audit", "compare", "explore", "inspect"])
def test_aliases_for_files_have_the_arguments_of_their_verb(name: str) -> None:
    alias = getattr(shoal, "compare_files" if name == "compare" else f"{name}_file")
    verb = inspect.signature(getattr(shoal, name)).parameters
    own = inspect.signature(alias).parameters
    renamed = {"source", "target", "path"}
    assert own.keys() - renamed <= verb.keys()
    assert {n: p.default for n, p in own.items() if n in verb and n != "recipe"} == {
        n: verb[n].default for n in own if n in verb and n != "recipe"
    }
