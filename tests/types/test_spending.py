"""The ledger as a table: every attribute, every block of several, the release; in the command, report and evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.types import Entry, Ledger
from shoal.types.privacy_ledger import Line, lines_of

BOUNDS = {"a": [0, 10], "b": [0, 30], "c": [0, 1]}
BASE = {"quasi": ["a", "b", "c"], "k": 4, "release": "laplace", "epsilon": 1.0, "bounds": BOUNDS}


def entry(block: int, name: str, epsilon: float, classes: int = 3) -> Entry:
    return Entry(block, name, epsilon, "laplace", np.full(classes, 2.0), np.linspace(1.0, 4.0, classes))


def people(n: int = 24) -> pa.Table:
    X = np.random.default_rng(0).random((n, 3)) * [10, 30, 1]
    return pa.table(dict(zip("abc", X.T, strict=True)))


def test_lines_add_up_to_blocks_and_these_to_the_release() -> None:
    lines = lines_of([entry(0, "a", 0.25), entry(0, "b", 0.25), entry(1, "c", 0.5)], at_once=False)
    assert [(one.block, one.attributes, one.epsilon, one.composition) for one in lines] == [
        (0, ("a",), 0.25, "parallel"),
        (0, ("b",), 0.25, "parallel"),
        (0, ("a", "b"), 0.5, "sequential"),
        (1, ("c",), 0.5, "parallel"),
        (None, ("a", "b", "c"), 1.0, "sequential"),
    ]
    assert lines[0].cells == ("1", "a", "0.25", "2", "1 … 4", "3, parallel")
    assert lines[2].cells == ("1", "Σ sequential", "0.5", "", "", "")
    assert lines[4].cells[:2] == ("all", "Σ sequential")


def test_a_sum_that_is_plain_is_not_repeated() -> None:
    both = [entry(0, "a", 0.5), entry(0, "b", 0.5)]
    assert [one.block for one in lines_of(both, at_once=True)] == [0, 0, None]
    assert [one.composition for one in lines_of(both, at_once=True)] == ["at once", "at once", "sequential"]
    each = [entry(0, "a", 0.5), entry(1, "b", 0.5)]
    assert [one.block for one in lines_of(each, at_once=False)] == [0, 1, None]


@pytest.mark.parametrize(
    "more",
    [
        {"method": "mdav"},
        {"method": "individual_ranking"},
        {"method": "mdav", "blocks": [["a", "b"], ["c"]]},
        {"method": "insensitive", "claim": "original", "kinds": dict.fromkeys("abc", "continuous")},
    ],
)
def test_the_lines_of_a_release(more: dict[str, Any]) -> None:
    ledger = shoal.protect(people(), {**BASE, **more}).ledger
    assert isinstance(ledger, Ledger)
    assert [line.entry for line in ledger.lines if line.entry is not None] == list(ledger.entries)
    assert ledger.lines[-1] == Line(None, ("a", "b", "c"), ledger.total, "sequential")
    assert ledger.total == pytest.approx(1.0)
    said = ledger.to_dict()
    assert {one["composition"] for one in said["entries"]} == {"at once" if "claim" in more else "parallel"}
    assert said["sums"][-1] == {"attributes": ["a", "b", "c"], "epsilon": ledger.total, "composition": "sequential"}
    for one in said["sums"][:-1]:
        inside = [e["epsilon"] for e in said["entries"] if e["block"] == one["block"]]
        assert one["epsilon"] == pytest.approx(sum(inside))
    assert "sequential composition" in ledger.composition


@pytest.mark.parametrize("edition", ["internal", "external"])
def test_command_report_and_evidence_show_the_same_table(tmp_path: Path, edition: str, run: Callable) -> None:
    source, recipe = tmp_path / "in.csv", tmp_path / "r.toml"
    shoal.write_table(people(), source)
    made = shoal.Recipe.from_dict({**BASE, "blocks": [["a", "b"], ["c"]]})
    recipe.write_text(made.to_toml(), encoding="utf-8")
    papers = ("--report", tmp_path / "r.html", "--edition", edition, "--evidence", tmp_path / "e.json")
    ran = run("protect", source, "-o", tmp_path / "out.csv", "--recipe", recipe, *papers)
    assert ran.code == 0
    assert ran.out.count("Σ sequential") == 2
    assert ran.out.count(", parallel") == 3
    assert "parallel composition" in " ".join(ran.out.split())
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    section = page.partition('<section id="budget">')[2].partition("</section>")[0]
    inside = edition == "internal"  # outsiders are not told of blocks
    assert section.count("<tr") == (6 if inside else 5)
    assert section.count("Σ sequential") == (2 if inside else 1)
    assert ("Block" in section) is inside
    assert "sequential composition" in section
    assert ("6, parallel" in section) is inside
    assert re.search(r'<a href="#budget">', page)
    ledger = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))["ledger"]
    assert [e["attribute"] for e in ledger["entries"]] == ["a", "b", "c"]
    assert [s["epsilon"] for s in ledger["sums"]] == pytest.approx([0.5, 1.0])


def test_without_noise_there_is_no_budget(tmp_path: Path) -> None:
    done = shoal.protect(people(), {"quasi": ["a", "b"], "k": 4})
    done.report(tmp_path / "r.html")
    assert "budget" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_what_is_not_private_is_said_above_the_table(tmp_path: Path) -> None:
    done = shoal.protect(people(), {**BASE, "set": {"not_private_seed": 1}})
    done.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8").partition('<section id="budget">')[2]
    assert page.index("NOT PRIVATE: ε would be 1") < page.index("<table")


def test_how_many_values_lay_beyond_the_bounds_is_for_insiders(tmp_path: Path, run: Callable) -> None:
    shoal.write_table(people(), tmp_path / "in.csv")
    made = shoal.Recipe.from_dict({**BASE, "bounds": {**BASE["bounds"], "a": [0.4, 0.6]}})
    (tmp_path / "r.toml").write_text(made.to_toml(), encoding="utf-8")
    for edition, shown in (("internal", True), ("external", False)):
        papers = ("--report", tmp_path / "r.html", "--edition", edition, "--evidence", tmp_path / "e.json", "--force")
        given = ("protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--recipe", tmp_path / "r.toml", *papers)
        words = run(*given).out + run(*given, "--json").out + (tmp_path / "e.json").read_text(encoding="utf-8")
        assert "outside the bounds" not in words
        assert "clamped" not in words
        assert ("were outside the bounds" in (tmp_path / "r.html").read_text(encoding="utf-8")) is shown
