"""SAE, the normalised SSE, frequencies, positions, class sizes and EMD equal their definitions."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.types import Codes, Comparison, Confidential, Pair
from shoal.utility.class_sizes import ClassSizes
from shoal.utility.earth_mover import EarthMover
from shoal.utility.frequencies import Frequencies
from shoal.utility.position import Position
from shoal.utility.sae import Sae
from shoal.utility.sse_normalised import SseNormalised


def oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"oracle_{name}", Path(__file__).parents[1] / "oracles" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bare(n: int, **fields) -> Comparison:  # type: ignore[no-untyped-def]
    return Comparison(np.zeros((n, 1)), np.zeros((n, 1)), ("a",), **fields)


def test_normalised_sse_is_equation_5() -> None:
    pay, paid = [0.0, 5.0, 10.0], [2.0, 2.0, 11.0]
    work = Codes(np.array([0, 1, 2]), np.array([0, 0, 2]), ("x", "y", "z"))
    rank = Codes(np.array([0, 1, 2]), np.array([1, 1, 1]), ("low", "mid", "high"), ordered=True)
    original = np.zeros((3, 3))
    masked = np.zeros((3, 3))
    masked[1, 1] = 1.0  # two different categories are 1 apart
    found = SseNormalised().measure(
        Comparison(
            original,
            masked,
            ("pay", "work", "rank"),
            {"pay": Pair(np.array(pay), np.array(paid))},
            {"work": work, "rank": rank},
        )
    )
    ned = [[0.2, 0.3, 0.1], [0, 1, 0], [0.5, 0, 0.5]]
    assert found.value == pytest.approx(sum(sum(x**2 for x in column) / 3 for column in zip(*ned, strict=True)) / 3)
    assert dict(found.parts)["work"] == pytest.approx(1 / 3)


def test_normalised_sse_leaves_out_what_is_missing_and_says_so() -> None:
    numbers = {"a": Pair(np.array([0.0, 4.0, math.nan]), np.array([2.0, math.nan, 1.0]))}
    found = SseNormalised().measure(bare(3, numbers=numbers))
    assert found.value == 0.25
    assert "2 values were omitted" in found.note
    gone = Pair(np.array([math.nan]), np.array([1.0]))
    assert math.isnan(SseNormalised().measure(bare(1, numbers={"a": gone})).value)


def test_sae_is_mae_summed_and_has_the_papers_sum() -> None:
    before = pa.table({"a": [1.0, 2.0, 3.0], "b": [10.0, 30.0, 20.0]})
    after = pa.table({"a": [1.5, 1.5, 3.0], "b": [20.0, 20.0, 20.0]})
    found = shoal.compare(before, after, ["a", "b"])
    assert found["sae"] == pytest.approx(6 * found["mae"])
    parts = dict(found.reading("sae").parts)
    assert parts["raw"] == 21.0
    assert parts["a"] + parts["b"] == pytest.approx(found["sae"])


def test_errors_of_ds17_are_distances_between_records_in_ranges() -> None:
    before = pa.table({"a": [0.0, 10.0, 5.0, None], "b": [0.0, 0.0, 4.0, 2.0], "c": ["x", "y", "x", "y"]})
    after = pa.table({"a": [3.0, 10.0, 8.0, 5.0], "b": [1.6, 0.0, 5.6, 2.0], "c": ["y", "y", "x", "x"]})
    found = shoal.compare(before, after, ["a", "b", "c"])  # distances 0.5, 0 and 0.5; the last record lacks a number
    read = {name: dict(found.reading(name).parts)["ds17"] for name in ("sse", "mse", "mae")}
    assert read == pytest.approx({"sse": 0.5, "mse": 0.5 / 3, "mae": 1.0 / 3})
    assert found.reading("mae").note == "ds17: 1 record was omitted, because a value is missing before or after"


def test_errors_of_ds17_need_numbers_and_survive_extremes() -> None:
    words = pa.table({"c": ["x", "y"]})
    assert shoal.compare(words, words, ["c"]).reading("mse").parts == ()
    before, after = pa.table({"a": [-1.5e308, 1.5e308]}), pa.table({"a": [0.0, 0.0]})
    assert shoal.compare(before, after, ["a"]).reading("mse").parts == (("ds17", 0.25),)


CODES = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), min_size=1, max_size=30)


@given(CODES)
def test_frequencies_are_half_the_sum_of_differences(pairs: list[tuple[int, int]]) -> None:
    codes = Codes(np.array([x for x, _ in pairs]), np.array([y for _, y in pairs]), tuple("abcde"))
    found = Frequencies().measure(bare(len(pairs), categories={"a": codes}))
    known = [(x, y) for x, y in pairs if x >= 0 and y >= 0]
    if not known:
        assert math.isnan(found.value)
        return
    shares = [(sum(x == v for x, _ in known), sum(y == v for _, y in known)) for v in range(5)]
    assert found.value == pytest.approx(sum(abs(x - y) for x, y in shares) / (2 * len(known)))
    assert found.note.startswith(f"{len(pairs) - len(known)} value") == (len(known) < len(pairs))


@given(st.permutations(range(12)), st.integers(0, 3))
def test_positions(order: list[int], dropped: int) -> None:
    positions = np.array([-1 if p < dropped else p - dropped for p in order])
    found = Position().measure(bare(12, positions=positions))
    apart = sorted(abs(p - i) for i, p in enumerate(positions.tolist()) if p >= 0)
    assert found.value == pytest.approx(sum(apart) / len(apart))
    assert dict(found.parts)["largest"] == apart[-1]
    assert dict(found.parts)["50 %"] == next(v for v in apart if 2 * sum(x <= v for x in apart) >= len(apart))
    assert ("were not released" in found.note) == (dropped > 0)


def test_no_positions_without_a_key() -> None:
    found = Position().measure(bare(3))
    assert math.isnan(found.value)
    assert "key" in found.note
    assert math.isnan(Position().measure(bare(2, positions=np.array([-1, -1]))).value)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_class_sizes(labels: list[int]) -> None:
    classes = np.unique(labels, return_inverse=True)[1]
    found = ClassSizes().measure(bare(len(labels), classes=classes))
    sizes = [labels.count(v) for v in set(labels)]
    parts = dict(found.parts)
    assert found.value == min(sizes)
    assert (parts["largest"], parts["average"]) == (max(sizes), len(labels) / len(sizes))
    assert {name: count for name, count in parts.items() if name.startswith("of ")} == {
        f"of {size}": sizes.count(size) for size in sizes
    }


def test_very_many_sizes_are_counted_together() -> None:
    classes = np.repeat(np.arange(300), np.arange(1, 301))
    parts = ClassSizes().measure(bare(len(classes), classes=classes)).parts
    assert len(parts) == 200
    assert parts[-1] == ("of 197 and more", 104.0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=2, max_size=30), st.booleans())
def test_earth_movers_distance_equals_its_definition(rows: list[tuple[int, int]], ordered: bool) -> None:
    emd = oracle("earth_mover")
    values, labels = np.array(rows).T
    codes, classes = (np.unique(v, return_inverse=True)[1] for v in (values, labels))
    column = Confidential("c", codes, np.bincount(codes), ordered)
    found = EarthMover().measure(bare(len(rows), classes=classes, confidential=(column,)))
    distance = emd.ordered if ordered else emd.equal
    want = [float(distance(codes[classes == c].tolist(), codes.tolist())) for c in range(classes.max() + 1)]
    assert found.value == max(want)
    assert dict(found.parts)["c, average"] == pytest.approx(sum(want) / len(want))


def test_nothing_to_look_at_is_said() -> None:
    for measure in (EarthMover(), ClassSizes(), Frequencies()):
        found = measure.measure(bare(3))
        assert math.isnan(found.value)
        assert found.note
    assert Sae().measure(bare(3)).value == 0.0
