"""Auto: what it takes for which table and time, and that it says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.partition.auto import Auto
from shoal.progress import listening

EFFORTS = ["best", "default", "fast"]


def choice(n: int, d: int, seconds: float = 60.0, k: int = 3) -> tuple[str, dict[str, Any], str]:
    """Return the method chosen for a table of this size, without such a table."""
    sized: Any = SimpleNamespace(x=SimpleNamespace(shape=(n, d)))
    return Auto(k=k, seconds=seconds)._choice(sized)


def test_one_coordinate_has_a_known_optimum() -> None:
    x = np.random.default_rng(0).normal(size=(200, 1))
    found, best = shoal.microaggregate(x, 3, method="auto"), shoal.microaggregate(x, 3, method="optimal_univariate")
    assert np.array_equal(found.labels, best.labels)
    assert found.note == "auto chose optimal_univariate: one coordinate, for which it finds the optimum"


def test_less_time_less_effort() -> None:
    taken = [choice(1_080, 13, seconds) for seconds in (1e6, 60.0, 30.0, 10.0, 3.0, 1.0, 0.3)]
    efforts = [EFFORTS.index(given["effort"]) for key, given, _ in taken if key == "anneal"]
    assert efforts == sorted(efforts)
    assert set(efforts) == {0, 1, 2}
    assert choice(1_080, 13, 0.0)[0] == "blocks"
    assert "no method is faster" in choice(1_080, 13, 0.0)[2]


@pytest.mark.parametrize("d", [2, 13])
@pytest.mark.parametrize("sizes", [(100, 1_000, 10_000, 30_000), (30_001, 10**5, 10**6, 10**7, 10**8)])
def test_more_records_less_effort(d: int, sizes: tuple[int, ...]) -> None:
    """Among tables annealed as a whole, and among those annealed in blocks."""
    ranks = []
    for n in sizes:
        key, given, _ = choice(n, d)
        ranks.append(EFFORTS.index(given["effort"]) if key == "anneal" else len(EFFORTS))
    assert sizes[-1] < 10**6 or ranks[0] < ranks[-1]
    assert ranks == sorted(ranks)


def test_what_is_huge_goes_to_blocks_whatever_the_time() -> None:
    n = 10**9
    assert [key for key, _, _ in Auto(k=3)._candidates(n, 10)] == ["blocks"]
    assert choice(n, 10, 1e12)[0] == "blocks"
    assert [key for key, _, _ in Auto(k=3)._candidates(1_000, 10)] == ["anneal"] * 3 + ["blocks"]


def test_candidates_come_from_slow_to_quick() -> None:
    for n in (10, 1_000, 30_001, 10**6):
        for k in (2, 5, 50):
            seconds = [s for _, _, s in Auto(k=k)._candidates(n, 5)]
            assert seconds == sorted(seconds, reverse=True)


def test_the_reason_names_sizes_time_and_what_would_take_longer() -> None:
    key, given, reason = choice(20_000, 4, 10.0)
    assert key == "anneal"
    assert given["effort"] in ("default", "fast")
    assert "20,000 records of 4 coordinates, estimated" in reason
    assert "of a 10 s budget" in reason
    assert "; effort " in reason
    assert "would take about" in reason


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
        found = shoal.microaggregate(x, 3, method="auto", seconds=0.05, seed=4)
    assert found.note in said
    assert found.note.startswith("auto chose anneal (effort fast): 120 records of 2 coordinates, estimated")
    wanted = shoal.microaggregate(x, 3, method="anneal", effort="fast", seed=4)
    assert np.array_equal(found.labels, wanted.labels)


def test_the_note_is_printed_and_in_the_json(tmp_path: Path, run: Callable) -> None:
    shoal.write_table(shoal.survey(records=100), tmp_path / "in.csv")
    arguments = ["protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--quasi", "income,commute_minutes"]
    arguments += ["--k", 4, "--method", "auto", "--set", "seconds=0.05", "--force"]
    printed = run(*arguments)
    assert printed.code == 0, printed.err
    found = json.loads(run(*arguments, "--json").out)
    assert found["note"].startswith("auto chose anneal (effort fast): 100 records of 2 coordinates")
    assert f"{found['note']}." in printed.out.splitlines()
    plain = json.loads(run(*arguments[:8], "--force", "--json").out)
    assert "note" not in plain


def test_strata_and_blocks_join_their_notes() -> None:
    frame = shoal.survey(records=120)
    recipe = {"quasi": ["income", "commute_minutes"], "k": 3, "method": "auto"}
    by_block = shoal.protect(frame, {**recipe, "blocks": [["income"], ["commute_minutes"]]})
    assert by_block.partition.note == "auto chose optimal_univariate: one coordinate, for which it finds the optimum"
    by_strata = shoal.protect(frame, {**recipe, "strata": ["health"], "set": {"seconds": 0.05}})
    notes = by_strata.partition.note.split("; auto")
    assert len(notes) == len(set(notes))
    assert all("chose anneal (effort " in note for note in notes)
