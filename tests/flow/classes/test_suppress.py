"""Suppression: the costliest people are dropped whole, by quasi-identifiers alone, and counted everywhere."""

from __future__ import annotations

import json
import runpy
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.flow.classes.suppress import costliest, costs_of_groups, costs_of_people
from shoal.types import Points

ROOT = Path(__file__).parents[2]
oracle = runpy.run_path(str(ROOT / "oracles" / "suppress.py"))
made = runpy.run_path(str(ROOT / "exchange.py"))

N = 120
RNG = np.random.default_rng(4)
HOUSE = np.sort(RNG.integers(0, 50, N))
FRAME = pa.table(
    {
        "house": [f"h{h}" for h in HOUSE],
        "region": np.array(["n", "s"])[HOUSE % 2],
        "age": RNG.integers(0, 90, N),
        "work": np.array(["a", "b", "c"])[RNG.integers(0, 3, N)],
        "pay": np.round(RNG.lognormal(9, 2, N)),
        "w": RNG.uniform(1, 9, N),
        "ill": RNG.integers(0, 3, N),
    }
).take(pa.array(RNG.permutation(N)))
RECIPE: dict[str, Any] = {
    "quasi": ["age", "pay"],
    "confidential": ["ill"],
    "k": 4,
    "row_order": "keep",
    "effort": "fast",
}


@given(
    values=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=6, max_size=24),
    people=st.integers(1, 3),
    strata=st.integers(1, 2),
    k=st.integers(2, 4),
    share=st.sampled_from([0.05, 0.2, 0.5]),
    seed=st.integers(0, 5),
)
@settings(max_examples=150, deadline=None)
def test_the_costliest_people_are_those_of_the_oracle(
    values: list[tuple[int, int]], people: int, strata: int, k: int, share: float, seed: int
) -> None:
    rng, n = np.random.default_rng(seed), len(values)
    who = np.unique(rng.permutation(n) // people, return_inverse=True)[1].astype(np.int64)
    where = np.unique(rng.integers(0, strata, n), return_inverse=True)[1].astype(np.int64)
    points = Points(np.array(values, np.float64))
    costs = costs_of_people(points, who, where, k)
    drops = costliest(costs, who, where, k, int(share * (who.max() + 1) + 1e-9), int(share * n + 1e-9))
    expected = oracle["dropped"](points.x.tolist(), who.tolist(), where.tolist(), k, share)
    if len(set(np.round(costs, 9))) == len(set(costs.tolist())):  # otherwise equal costs differ in their last bits
        assert set(np.flatnonzero(drops).tolist()) == expected


def test_costs_are_the_same_for_any_order_of_records() -> None:
    x, who = RNG.normal(size=(60, 3)), np.arange(60) // 2
    order = RNG.permutation(60)
    strata = np.zeros(60, np.int64)
    one = costs_of_people(Points(x), who, strata, 4)
    other = costs_of_people(Points(np.ascontiguousarray(x[order])), who[order], strata, 4)
    assert one.tolist() == other.tolist()
    one, other = (
        costs_of_groups(Points(np.ascontiguousarray(x[rows])), who[rows], strata, 4) for rows in (slice(None), order)
    )
    assert one.tolist() == other.tolist()


def test_people_who_cost_the_same_are_dropped_together_or_not_at_all() -> None:
    frame = pa.table({"a": [0, 0, 1, 1, 2, 2, 90, 90, -90, -90]})  # four at one distance or so
    done = shoal.protect(frame, quasi=["a"], k=3, method="mdav", suppress=0.2)
    assert done.suppressed in (0, 2)
    assert shoal.protect(frame.slice(0, 8), quasi=["a"], k=3, suppress=0.125).suppressed == 0
    assert shoal.protect(frame.slice(0, 8), quasi=["a"], k=3, suppress=0.25).suppressed == 2


@pytest.mark.parametrize(
    "more", [{}, {"t": 0.3}, {"require": {"l_entropy": 1.5}}, {"strata": ["region"]}, {"weight": "w"}]
)
def test_levels_and_losses_are_over_what_is_released(more: dict[str, Any]) -> None:
    recipe = {**RECIPE, **more, "suppress": 0.05}
    done = shoal.protect(FRAME, recipe)
    assert done.suppressed == 6
    assert done.left_out == 0
    assert done.audit.records == len(done.data) == N - 6
    kept = FRAME.take(pa.array(done.rows))
    same = shoal.protect(kept, {**recipe, "suppress": 0})  # as if the others had never been in the table
    assert same.data.equals(done.data)
    assert same.audit.to_dict() == done.audit.to_dict()
    assert same.readings.to_dict() == done.readings.to_dict()
    assert done.readings["il_sse"] < shoal.protect(FRAME, {**recipe, "suppress": 0}).readings["il_sse"]


@pytest.mark.parametrize("unit", ["subject", "together"])
def test_whole_people_and_households_are_dropped(unit: str) -> None:
    done = shoal.protect(FRAME, {**RECIPE, unit: "house", "suppress": 0.1})
    houses = FRAME.column("house").to_pylist()
    kept = {houses[row] for row in done.rows.tolist()}
    assert all((houses[row] in kept) is (row in set(done.rows.tolist())) for row in range(N))
    assert 0 < done.suppressed <= 0.1 * N
    assert len(set(houses)) - len(kept) <= 0.1 * len(set(houses))


def test_strata_that_are_too_small_are_dropped_first() -> None:
    region = ["far", "far", *["near"] * (N - 2)]
    table = FRAME.set_column(1, "region", pa.array(region))
    recipe = {**RECIPE, "strata": ["region"]}
    with pytest.raises(shoal.DataError, match="strat"):
        shoal.protect(table, recipe)
    done = shoal.protect(table, {**recipe, "suppress": 0.02})
    assert done.rows.tolist() == list(range(2, N))
    with pytest.raises(shoal.DataError, match="strat"):  # they do not fit into the share
        shoal.protect(table, {**recipe, "suppress": 0.01})
    assert len(shoal.protect(table, {**recipe, "small_strata": "merge", "suppress": 0.02}).data) == N - 2


def test_no_stratum_falls_below_k() -> None:
    table = FRAME.set_column(1, "region", pa.array(["far"] * 4 + ["near"] * (N - 4)))
    table = table.set_column(4, "pay", pa.array([1e9, -1e9, 5e8, 0.0, *table.column("pay").to_pylist()[4:]]))
    done = shoal.protect(table, {**RECIPE, "strata": ["region"], "suppress": 0.05})
    assert done.suppressed == 6
    assert done.rows.tolist()[:4] == [0, 1, 2, 3]


def test_incomplete_and_suppressed_records_are_counted_apart() -> None:
    gone = FRAME.set_column(2, "age", pa.array([None, None, *FRAME.column("age").to_pylist()[2:]]))
    done = shoal.protect(gone, {**RECIPE, "when_missing": "exclude", "suppress": 0.05})
    assert (done.left_out, done.suppressed, len(done.data)) == (2, 5, N - 7)


def test_t_first_drops_what_k_leaves_over_against_the_table() -> None:
    recipe = {**RECIPE, "k": 7, "t": 0.3, "method": "t_first", "attacker": "table", "suppress": 0.02}
    done = shoal.protect(FRAME, recipe)
    assert done.suppressed == 120 % 7 == 1
    assert shoal.protect(FRAME, {**recipe, "k": 8}).suppressed == 0


@pytest.mark.parametrize("method", ["auto", "mdav"])
def test_a_weaker_attacker_alone_does_not_split_people_who_cost_the_same(method: str) -> None:
    frame = pa.table({"a": [0, 0, 1, 1, 2, 2, 90, 90, 90, 90, 91, 91]})  # the two zeros cost the most
    for share, expected in ((0.1, 0), (0.2, 2), (0.35, 2)):
        for attacker in ("algorithm", "table"):
            asked = {"quasi": ["a"], "k": 3, "method": method, "attacker": attacker, "suppress": share}
            assert shoal.protect(frame, asked).suppressed == expected


@pytest.mark.parametrize(
    "confidential", [lambda v: v[::-1], lambda v: [0] * len(v), lambda v: list(range(len(v)))], ids="rcd"
)
def test_confidential_values_do_not_decide_who_is_dropped(confidential: Any) -> None:
    rows = shoal.protect(FRAME, {**RECIPE, "suppress": 0.05}).rows
    other = FRAME.set_column(6, "ill", pa.array(confidential(FRAME.column("ill").to_pylist())))
    assert shoal.protect(other, {**RECIPE, "suppress": 0.05}).rows.tolist() == rows.tolist()


@pytest.mark.parametrize("extra", made["EXTRAS"])
def test_an_exchange_within_a_class_leaves_the_same_rows_and_bytes(extra: str, tmp_path: Path) -> None:
    rng, compared = np.random.default_rng(5), 0
    for i, flavour in enumerate(("digits", "duplicates", "missing", "categories")):
        case = made["Case"]("auto", "centroid", flavour, extra, k=2, n=30, seed=i, more={"suppress": 0.2})
        table = made["table_of"](case)
        done, before = _published(case, table, tmp_path)
        labels = np.full(table.num_rows, -1)
        labels[done.rows if done.rows is not None else slice(None)] = done.partition.blocks[0].labels
        for a, b in islice(_pairs(table, labels, rng), 2):
            names = made["moved"](case, ("a", "b", "c"))
            again, after = _published(case, made["exchanged"](table, names, a, b), tmp_path)
            assert again.suppressed == done.suppressed
            if made["same_classes"](done, again):
                assert before == after, case
                compared += 1
    assert compared >= 4


def _published(case: Any, table: pa.Table, folder: Path) -> tuple[Any, dict[str, bytes]]:
    with made["fixed_randomness"]():
        done = shoal.protect(table, case.recipe)
        done.evidence(folder / "e.json", force=True)
    rows = b"" if done.rows is None else done.rows.tobytes()
    return done, {"data": made["as_bytes"](done.data), "e": (folder / "e.json").read_bytes(), "rows": rows}


def _pairs(table: pa.Table, labels: np.ndarray, rng: np.random.Generator) -> Any:
    cells = list(zip(*(table.column(name).to_pylist() for name in "abc"), strict=True))
    for i in rng.permutation(table.num_rows).tolist():
        inside = [j for j in np.flatnonzero(labels == labels[i]).tolist() if cells[j] != cells[i]]
        if labels[i] >= 0 and inside:
            yield i, int(rng.choice(inside))


def test_the_count_is_in_every_paper_and_the_release_can_be_compared_and_attacked(tmp_path: Path, run: Any) -> None:
    shoal.write_table(FRAME, tmp_path / "in.csv")
    (tmp_path / "r.toml").write_text(shoal.Recipe(**{**RECIPE, "suppress": 0.05, "row_order": "shuffle"}).to_toml())
    at = {name: str(tmp_path / name) for name in ("in.csv", "out.csv", "r.toml", "e.json", "mine.json", "r.html")}
    papers = [
        "--report",
        at["r.html"],
        "--edition",
        "external",
        "--evidence",
        at["e.json"],
        "--receipt",
        at["mine.json"],
    ]
    recipe = ["--recipe", at["r.toml"]]
    planned = run("protect", at["in.csv"], "-o", at["out.csv"], *recipe, "--dry-run")
    assert "6 records would cost the most and would be suppressed." in planned.out
    ran = run("protect", at["in.csv"], "-o", at["out.csv"], *recipe, *papers)
    assert ran.code == 0, ran.err
    assert "6 records would have cost the most and were suppressed; losses are over the others." in ran.out
    assert json.loads((tmp_path / "e.json").read_text())["suppressed"] == 6
    assert "6 records, of the people who would have cost the most" in (tmp_path / "r.html").read_text()
    again = run("protect", at["in.csv"], "-o", str(tmp_path / "b.csv"), *recipe, "--repeat", at["mine.json"], "--json")
    assert json.loads(again.out)["suppressed"] == 6
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    assert run("verify", at["e.json"], at["out.csv"], "--receipt", at["mine.json"], "--input", at["in.csv"]).code == 0
    for verb in ("compare", "attack"):
        with_receipt = run(verb, at["in.csv"], at["out.csv"], *recipe, "--receipt", at["mine.json"], "--json")
        assert with_receipt.code in (0, 4), with_receipt.err  # 4: unchanged columns are unique
        assert verb == "compare" or json.loads(with_receipt.out)["attacks"][0]["records"] == 114
    blind = run("compare", at["in.csv"], at["out.csv"], "--columns", "age,pay")
    assert blind.code == 3
    assert "got 120 and 114" in blind.err
    kept = run("protect", at["in.csv"], "-o", str(tmp_path / "c.csv"), *recipe, "--row-order", "keep")
    assert kept.code == 0
    found = run("compare", at["in.csv"], str(tmp_path / "c.csv"), *recipe, "--json")  # the recipe tells which rows
    assert json.loads(found.out)["il_sse"] == pytest.approx(
        shoal.protect(FRAME, {**RECIPE, "suppress": 0.05}).readings["il_sse"]
    )


@pytest.mark.parametrize("form", ["frame", "file"])
def test_a_comparison_by_the_recipe_drops_whom_the_recoded_values_drop(form: str, tmp_path: Path) -> None:
    recode = {"pay": {"top": 9000}, "age": {"interval": 10}, "ill": {"top": 1}}
    recipe = shoal.Recipe(**{**RECIPE, "recode": recode, "suppress": 0.1})
    before = shoal.protect(FRAME, recipe.override(recode={}))
    if form == "file":
        shoal.write_table(FRAME, tmp_path / "in.csv")
        done = shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "out.csv")
        found = shoal.compare(tmp_path / "in.csv", tmp_path / "out.csv", recipe=recipe)
    else:
        done = shoal.protect(FRAME, recipe)
        found = shoal.compare(FRAME, done.data, recipe=recipe)
        assert set(done.rows.tolist()) != set(before.rows.tolist())
    assert done.suppressed == 12
    assert found.to_dict()["il_sse"] == pytest.approx(done.readings["il_sse"])


def test_what_cannot_be_suppressed_is_refused(tmp_path: Path) -> None:
    noisy = {"release": "laplace", "epsilon": 1.0, "bounds": {"age": [0, 120]}, "claim": "original"}
    given = {"quasi": ["age"], "method": "insensitive", "kinds": {"age": "integer"}, **noisy, "suppress": 0.01}
    with pytest.raises(shoal.ParameterError, match="suppress must be 0"):
        shoal.protect(FRAME, given)
    with pytest.raises(shoal.ParameterError, match="Explore: suppress must be 0"):
        shoal.explore(FRAME, shoal.Recipe(**{**RECIPE, "suppress": 0.01}))
    shoal.write_table(FRAME, tmp_path / "in.csv")
    with pytest.raises(shoal.ParameterError, match="Disk engine: suppress is not supported"):
        shoal.protect(tmp_path / "in.csv", {**RECIPE, "suppress": 0.01}, output=tmp_path / "out.csv", engine="disk")
    assert not (tmp_path / "out.csv").exists()
    several: list[dict[str, Any]] = [
        {"attribute_blocks": [["age"], ["pay"]]},
        {"attribute_blocks": "correlated"},
        {"method": "individual_ranking"},
        {"together": "house", "household_level": ["pay"]},
    ]
    for blocks in several:
        with pytest.raises(shoal.ParameterError, match="suppress needs one block of quasi-identifiers"):
            shoal.Recipe(**{**RECIPE, **blocks, "suppress": 0.01})
    with pytest.raises(shoal.ParameterError, match=r"suppress must be a number ≥ 0 and ≤ 0\.5"):
        shoal.Recipe(quasi=["age"], suppress=0.6)
