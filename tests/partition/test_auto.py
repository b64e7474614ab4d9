"""Auto: what it takes for which table and effort, and that it says so."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.kernels.arithmetic.class_statistics import sse
from shoal.partition import auto
from shoal.progress import listening


def test_one_coordinate_has_a_known_optimum() -> None:
    x = np.random.default_rng(0).normal(size=(200, 1))
    found, best = shoal.microaggregate(x, 3, method="auto"), shoal.microaggregate(x, 3, method="optimal_univariate")
    assert np.array_equal(found.labels, best.labels)
    assert found.note == "auto chose optimal_univariate: one coordinate, for which it finds the optimum"


def test_a_large_table_is_partitioned_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "LARGE", 1_000)
    x = np.random.default_rng(0).integers(0, 12, size=(1_000, 3)).astype(np.float64)
    found = shoal.microaggregate(x, 3, method="auto", effort="fast")
    assert found.note == "auto chose blocks with effort fast: 1,000 records of 3 coordinates"
    _, vector = np.unique(x, axis=0, return_inverse=True)
    assert len(set(zip(vector.reshape(-1), found.labels, strict=True))) == len(set(vector.reshape(-1)))
    assert "anneal" in shoal.microaggregate(x[1:], 3, method="auto", effort="fast").note
    assert "optimal_univariate" in shoal.microaggregate(x[:, :1], 3, method="auto", effort="fast").note
    assert auto.in_blocks(np.zeros((1, 10)), 10**9)


def test_more_effort_loses_less() -> None:
    x = np.random.default_rng(0).normal(size=(2_000, 3))
    losses = [sse(x, shoal.microaggregate(x, 5, method="mdav").labels)]
    losses += [sse(x, shoal.microaggregate(x, 5, method="auto", effort=one).labels) for one in ("fast", "default")]
    assert losses == sorted(losses, reverse=True)


def test_equal_records_share_a_class_at_little_cost() -> None:
    x = np.random.default_rng(0).integers(0, 6, size=(900, 3)).astype(np.float64)
    found, plain = (shoal.microaggregate(x, 4, method=method).labels for method in ("auto", "mdav"))
    both = {tuple(row): label for row, label in zip(x.tolist(), found.tolist(), strict=True)}
    assert all(both[tuple(row)] == label for row, label in zip(x.tolist(), found.tolist(), strict=True))
    assert np.bincount(found).min() >= 4
    assert sse(x, found) < sse(x, plain)


def test_a_deadline_of_a_run_is_in_its_evidence(tmp_path: Path, run: Callable) -> None:
    shoal.write_table(shoal.survey(records=400), tmp_path / "in.csv")
    arguments = ["protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--quasi", "income,commute_minutes"]
    arguments += ["--k", 4, "--effort", "best", "--deadline", "0.3s", "--evidence", tmp_path / "e.json"]
    began = time.monotonic()
    assert run(*arguments).code == 0
    assert time.monotonic() - began < 60
    assert json.loads((tmp_path / "e.json").read_text())["reproducible"] is False
    assert run("verify", tmp_path / "e.json", tmp_path / "out.csv", "--require", "k=4").code == 0


class Said(list):
    def stage(self, name: str) -> None:
        pass

    def report(self, done: int, total: int) -> None:
        pass

    def say(self, text: str) -> None:
        self.append(text)


def test_the_same_as_the_method_it_takes_and_said_at_once() -> None:
    x = np.random.default_rng(0).normal(size=(120, 2))
    said = Said()
    with listening(said):
        found = shoal.microaggregate(x, 3, method="auto", effort="fast", seed=4)
    assert found.note in said
    assert found.note.startswith("auto chose anneal with effort fast: 120 records of 2 coordinates")
    wanted = shoal.microaggregate(x, 3, method="anneal", effort="fast", seed=4)
    assert np.array_equal(found.labels, wanted.labels)


def test_the_note_is_printed_and_in_the_json(tmp_path: Path, run: Callable) -> None:
    shoal.write_table(shoal.survey(records=100), tmp_path / "in.csv")
    arguments = ["protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--quasi", "income,commute_minutes"]
    arguments += ["--k", 4, "--method", "auto", "--effort", "fast", "--force"]
    printed = run(*arguments)
    assert printed.code == 0, printed.err
    found = json.loads(run(*arguments, "--json").out)
    assert found["note"].startswith("auto chose anneal with effort fast: 100 records of 2 coordinates")
    assert f"{found['note']}." in printed.out.splitlines()
    plain = json.loads(run(*arguments[:8], "--method", "mdav", "--force", "--json").out)
    assert "note" not in plain


def test_strata_and_blocks_join_their_notes() -> None:
    frame = shoal.survey(records=120)
    recipe = {"quasi": ["income", "commute_minutes"], "k": 3, "method": "auto"}
    by_block = shoal.protect(frame, {**recipe, "blocks": [["income"], ["commute_minutes"]]})
    assert by_block.partition.note == "auto chose optimal_univariate: one coordinate, for which it finds the optimum"
    by_strata = shoal.protect(frame, {**recipe, "strata": ["health"], "effort": "fast"})
    count = len(set(frame["health"].to_pylist()))
    assert by_strata.partition.note == f"auto chose anneal with effort fast in all {count} strata"
