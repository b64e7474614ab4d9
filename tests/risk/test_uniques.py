"""Sample uniques, special uniques, class risks and individual risks equal their transcriptions."""

from __future__ import annotations

import runpy
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.flow.stages.measure import of_sample
from shoal.risk import _minimal_uniques
from shoal.risk._class_risks import class_risks
from shoal.risk._minimal_uniques import minimal_uniques, searchable
from shoal.risk.individual_risk import _expectation

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "risk.py"))

tables = st.integers(2, 5).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=14)
)


@given(rows=tables, largest=st.integers(1, 5))
def test_minimal_uniques_equal_the_transcription(rows: list[tuple[int, ...]], largest: int) -> None:
    width = len(rows[0])
    found = minimal_uniques([np.array(column) for column in zip(*rows, strict=True)], largest)
    m = min(largest, width - 1)
    sets = oracle["minimal_sets"](rows, m)
    assert found.searched == m
    assert found.score.tolist() == [sum(prod(width - i for i in range(len(one), m + 1)) for one in own) for own in sets]
    smallest = [min(map(len, own), default=0) for own in sets]
    assert found.by_size == tuple(smallest.count(size) for size in range(1, m + 1))
    assert found.unique == oracle["class_sizes"](rows).count(1)
    assert found.special <= found.unique


def test_dis_suda_by_hand() -> None:
    table = pa.table({"a": [9, 1, 1, 1, 1, 1, 1, 1], "b": [1, 1, 1, 1, 2, 2, 2, 2], "c": [1, 1, 1, 2, 1, 1, 2, 2]})
    table = table.append_column("d", pa.array([1, 1, 1, 1, 1, 1, 1, 1]))
    parts = dict(shoal.compare(table, table, list("abcd"), set={"sampling_fraction": 0.5}).reading("suda").parts)
    # n1 = 2 (rows 0 and 3), n2 = 3 pairs; DIS = 0.5·2 / (0.5·2 + 2·0.5·3) = 1/4, so n1/DIS − n1 = 6
    # scores: row 0 by {a}: 3·2·1 = 6; row 3 by {b, c}: 2·1 = 2; Q = 1.2
    first, second = 6**1.2, 2**1.2
    shared = 1 / first + 1 / second
    risks = [1 / (1 + 6 / (one * shared)) for one in (first, second)]
    assert parts["DIS"] == pytest.approx(25)
    assert parts["highest DIS-SUDA"] == pytest.approx(100 * max(risks))
    assert parts["mean DIS-SUDA of uniques"] == pytest.approx(50 * sum(risks))
    assert parts["sampling fraction"] == 50


def test_the_sampling_fraction_comes_from_the_weights() -> None:
    table = people()
    parts = dict(shoal.compare(table, table, recipe={"quasi": ["age", "town"], "weight": "w"}).reading("suda").parts)
    weights = np.maximum(table["w"].to_numpy(), 1)
    assert parts["sampling fraction"] == pytest.approx(100 * len(weights) / weights.sum())
    assert 0 < parts["mean DIS-SUDA of uniques"] <= parts["highest DIS-SUDA"] <= 100


@given(rows=tables)
def test_uniques_and_pairs_equal_their_counts(rows: list[tuple[int, ...]]) -> None:
    found = minimal_uniques([np.array(column) for column in zip(*rows, strict=True)], 2)
    sizes = oracle["class_sizes"](rows)
    assert found.alone.tolist() == [size == 1 for size in sizes]
    assert 2 * found.pairs == sizes.count(2)


def test_codes_too_sparse_to_count_are_sorted() -> None:
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 10**6, 300) * 7 for _ in range(3)]
    dense = [np.unique(column, return_inverse=True)[1] for column in columns]
    one, other = (minimal_uniques(some, 2) for some in (columns, dense))
    assert (one.unique, one.special, one.score.tolist()) == (other.unique, other.special, other.score.tolist())


def test_a_search_that_would_take_too_long_is_smaller_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert searchable(10, 6, 3, budget=10 * (6 + 15)) == 2
    monkeypatch.setattr(_minimal_uniques, "searchable", lambda *_: 1)
    table = pa.table({name: [1, 2, 1, 2] for name in "abcd"})
    note = shoal.compare(table, table, list("abcd"), measures=["suda"]).reading("suda").note
    assert "Sets of up to 1 of 4 attributes were searched" in note


@given(rows=tables, owners=st.lists(st.integers(0, 3), min_size=14, max_size=14))
def test_class_risks_equal_the_transcription(rows: list[tuple[int, ...]], owners: list[int]) -> None:
    seen = sorted(set(rows))
    classes = np.array([seen.index(row) for row in rows])
    sizes = oracle["class_sizes"](rows)
    found = class_risks(classes)
    assert found.highest == 100 / min(sizes)
    assert found.average == pytest.approx(100 * sum(1 / size for size in sizes) / len(sizes))
    assert found.at_highest == pytest.approx(100 * sizes.count(min(sizes)) / len(sizes))
    assert found.unique == pytest.approx(100 * sizes.count(1) / len(sizes))
    members = {(row, owner) for row, owner in zip(rows, owners, strict=False)}
    people = [sum(other == row for other, _ in members) for row, _ in members]
    assert class_risks(classes, np.array(owners[: len(rows)])).highest == 100 / min(people)


@pytest.mark.parametrize("f", [1, 2, 3, 7, 30, 31, 90])
@pytest.mark.parametrize("p", [0.004, 0.2, 0.4999, 0.5, 0.8, 1.0])
def test_the_expectation_equals_its_sum(f: int, p: float) -> None:
    found = float(_expectation(np.array([float(f)]), np.array([p]))[0])
    assert found == pytest.approx(oracle["expected_share"](f, p), rel=1e-7)
    assert p / f * (1 - 1e-12) <= found <= 1 / f * (1 + 1e-12)


def people(**more: Any) -> pa.Table:
    rng = np.random.default_rng(5)
    n = 60
    return pa.table(
        {
            "age": rng.integers(20, 40, n),
            "town": rng.choice(list("abc"), n),
            "w": rng.uniform(1, 50, n).round(1),
            "home": np.arange(n) // 2,
            **more,
        }
    )


def test_weights_and_households_of_a_recipe_are_used_by_reports_and_by_compare() -> None:
    recipe = {"quasi": ["age", "town"], "weight": "w", "together": "home", "k": 3}
    table = people()
    done = shoal.protect(table, recipe)
    from shoal.flow.protect.anonymise import measured

    assert done.run is not None
    report = {one.name: one for one in measured(done.run).readings.readings}
    read = shoal.compare(table, done.data, recipe=recipe)
    for name in ("individual_risk", "prosecutor_risk", "marketer_risk", "suda"):
        assert report[name].value == pytest.approx(read[name]), name
        assert dict(report[name].parts) == pytest.approx(dict(read.reading(name).parts)), name
    parts = dict(read.reading("individual_risk").parts)
    assert parts["highest of a group"] >= read["individual_risk"]
    assert read["prosecutor_risk"] == pytest.approx(100 / done.audit.overall.achieved)  # households, not records


def test_without_weights_there_is_no_individual_risk() -> None:
    table = people()
    reading = shoal.compare(table, table, ["age"]).reading("individual_risk")
    assert np.isnan(reading.value)
    assert "no sampling weights" in reading.note


def test_a_sample_gives_no_figure_that_needs_the_whole_table() -> None:
    table = people()
    read = of_sample(shoal.compare(table, table, ["age", "town"]))
    for name in ("prosecutor_risk", "journalist_risk", "marketer_risk", "suda", "individual_risk"):
        assert np.isnan(read[name])
        assert not read.reading(name).parts
    assert not np.isnan(read["sse"])
