"""Estimates of time: counts, their calibration, and where they are shown."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli import _tables
from shoal.flow.plan import calibrate, costs
from shoal.flow.plan.estimate import counted, estimated, steps_of
from shoal.flow.protect.anonymise import plan_for
from shoal.flow.protect.time import time_of
from shoal.flow.stages.read import schema_for
from shoal.kernels.repair.unite import Effort
from shoal.kernels.runtime.jit import KERNELS
from shoal.registry import load
from shoal.types import Points, Table

N = 24_000


def recipe(**fields: object) -> shoal.Recipe:
    return shoal.Recipe.from_dict({"quasi": ["x0", "x1", "x2"], "confidential": ["pay"], "k": 5, **fields})


def points(n: int, d: int = 3) -> Points:
    return Points(np.zeros((n, d)))


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({name: rng.normal(size=N) for name in ("x0", "x1", "x2", "pay")})


def test_the_cost_of_a_table_grows_with_its_cells_and_those_of_its_file() -> None:
    none, some, more = (costs.of_table(recipe(), n) for n in (0, 1000, 3000))
    assert some - none == pytest.approx((more - some) / 2)
    binary, text = (costs.of_table(recipe(), 1000, costs.Contents(9, text)) for text in (False, True))
    assert some < binary < text


def test_links_stop_growing_where_the_measure_draws_a_sample() -> None:
    assert costs.of_links(3, 2000, coded=False) == pytest.approx(2 * costs.of_links(3, 1000, coded=False))
    assert costs.of_links(8, 10**6, coded=False) == costs.of_links(8, 10**7, coded=False)
    assert costs.of_links(30, 10**6, coded=False) == costs.of_links(9, 10**6, coded=False)


def test_moves_of_atoms_count_those_at_temperature_0() -> None:
    one = Effort(100_000, 1, 1, 1, 50, 0)
    assert costs.moves_of_atoms(one, 100) == 100_000 + 100 * 200
    assert costs.moves_of_atoms(one._replace(generations=2), 100) == 120_000 + 85_000 + 100 * 200
    assert costs.moves_of_atoms(one, 10_000) == 10_000 * (50 + 50)


def test_a_method_without_an_index_takes_four_times_as_long_for_twice_the_records() -> None:
    method = load("partition", "v_mdav")
    few, many = (costs.of_method(method, points(n).x, 5, 0.0) for n in (4000, 8000))
    assert few > 0
    assert 3 < many / few < 4.5
    assert costs.of_method(load("partition", "mdav"), points(4000).x, 5, 7.0) == 7.0


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"method": "mdav"}, ["method"]),
        ({"method": "v_mdav"}, ["method", "sort"]),
        ({"method": "mdav", "effort": "fast"}, ["method", "refine", "equal", "sort"]),
        ({"method": "anneal"}, ["method", "refine", "sort"]),
        ({"method": "t_close_merge", "t": 0.2}, ["method", "merge", "sort"]),
        ({"method": "t_close_anneal", "t": 0.2}, ["method", "merge", "unite"]),
        ({"method": "mdav", "t": 0.2, "attacker": "table", "effort": "fast"}, ["method", "merge", "close", "sort"]),
        ({"method": "auto"}, ["method", "refine"]),
        ({"method": "auto", "t": 0.2}, ["method", "merge", "unite"]),
    ],
)
def test_steps_are_those_of_the_run(fields: dict, kinds: list[str]) -> None:
    found = [step.kind for step in steps_of(recipe(**fields), points(1000))]
    assert found[: len(kinds)] == kinds


def test_choices_read_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: object) -> float:
        raise AssertionError

    monkeypatch.setattr(calibrate, "_timed", refuse)
    some, more = (counted(recipe(method="mdav"), points(n)) for n in (10_000, 300_000))
    assert 0 < some < more
    assert counted(recipe(method="mdav", effort="best"), points(10_000)) > some
    with pytest.raises(AssertionError):
        estimated(recipe(method="mdav"), points(300_000))


@pytest.mark.parametrize("fields", [{}, {"effort": "fast"}, {"method": "t_close_merge", "t": 0.2}])
def test_estimates_hold_and_compile_nothing_else(people: pa.Table, fields: dict) -> None:
    said = recipe(**{"method": "mdav", **fields})
    shoal.protect(people, said)  # compiles
    compiled = sum(len(kernel.signatures) for kernel in KERNELS)
    table = Table(people, schema_for(people, said, None, ()))
    found = time_of(plan_for(table, said), table)
    assert sum(len(kernel.signatures) for kernel in KERNELS) == compiled
    start = time.process_time()
    shoal.protect(people, said)
    took = time.process_time() - start
    assert took / 3 < found.cpu < 3 * took
    assert found.wall <= found.cpu


def test_a_long_run_says_first_how_long_it_takes(
    people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable
) -> None:
    shoal.write_table(people.slice(0, 500), tmp_path / "people.csv")
    files = ("protect", tmp_path / "people.csv", "-o", tmp_path / "safe.csv", "--quasi", "x0,x1", "--method", "mdav")
    assert "This takes" not in run(*files).err
    monkeypatch.setattr(_tables, "_LONG_IN_A_PIPE", 0.0)
    assert "This takes less than a second." in run(*files, "--force").err
    ran = run(*files, "--force", "--json")
    assert ran.err == ""
    assert json.loads(ran.out)["output"]
