"""The other measures of risk equal their transcriptions, whatever is missing."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.flow.stages.measure import measures, read_measures
from shoal.risk import singling_out
from shoal.risk._attacker import small_sets
from shoal.risk.disclosure_risk import DisclosureRisk
from shoal.risk.inference import Inference
from shoal.risk.interval_disclosure import IntervalDisclosure
from shoal.risk.real_anonymity import RealAnonymity
from shoal.risk.singling_out import SinglingOut
from shoal.types import Codes, Comparison, Confidential, Pair
from shoal.utility.score import Score

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "risk.py"))


def table(numbers: dict[str, Pair], categories: dict[str, Codes] | None = None, **more: Any) -> Comparison:
    names = (*numbers, *(categories or {}))
    n = len(next(iter([*numbers.values(), *(categories or {}).values()])).before)
    bare = np.zeros((n, len(names)))
    return Comparison(bare, bare, names, numbers, categories or {}, **more)


def without(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(v) else float(v) for v in values]


columns = st.lists(
    st.tuples(*[st.one_of(st.integers(-6, 6).map(float), st.just(float("nan")))] * 2), min_size=1, max_size=40
)


@given(
    rows=columns,
    by=st.sampled_from(["rank", "deviation"]),
    p=st.sampled_from([None, 0, 5, 10, 33.3, 100]),
    among=st.sampled_from(["original", "masked"]),
    shift=st.sampled_from([0.0, 0.5]),  # masked values between original ones
)
def test_interval_disclosure_equals_the_transcription(
    rows: list[tuple[float, float]], by: Any, p: Any, among: Any, shift: float
) -> None:
    before, after = (np.array(side) for side in zip(*rows, strict=True))
    after = after + shift
    reading = IntervalDisclosure(by=by, p=p, among=among).measure(table({"x": Pair(before, after)}))
    missing = int(np.sum(np.isnan(before) | np.isnan(after)))
    assert (f"{missing} values were omitted" in reading.note) is (missing > 0)
    if missing == len(rows):
        assert np.isnan(reading.value)
        return
    percents = range(1, 11) if p is None else [p]
    expected = oracle["interval_disclosure"](without(before), without(after), by, percents, among)
    assert reading.value == pytest.approx(expected)


def in_classes(n: int, size: int) -> Pair:
    """Different values, and the means of classes of neighbours."""
    before = np.random.default_rng(3).permutation(np.arange(n) ** 2.0)
    classes = np.argsort(np.argsort(before)) // size
    return Pair(before, (np.bincount(classes, before) / size)[classes])


def test_wider_intervals_disclose_more_of_microaggregated_values() -> None:
    both = table({"x": in_classes(1000, 200)})
    read = [IntervalDisclosure(p=p).measure(both).value for p in (1, 5, 10)]
    # 2p % of the records lie around the place of a mean, out of 20 % that share it; the mean of squares lies off the
    # middle of its class, so that from p = 10 on not all of them are its own
    assert read[:2] == [10.0, 50.0]
    assert 90 < read[2] < 100
    among_masked = [IntervalDisclosure(p=p, among="masked").measure(both).value for p in (1, 5, 10)]
    assert among_masked[0] == among_masked[1] == among_masked[2] > 75  # whatever p is


@given(rows=columns, p=st.floats(0, 100), wider=st.floats(0, 100), seed=st.integers(0, 9))
def test_properties_of_interval_disclosure_among_original_ranks(
    rows: list[tuple[float, float]], p: float, wider: float, seed: int
) -> None:
    before, after = np.nan_to_num(np.array(rows)).T

    def read(p: float, before: np.ndarray, after: np.ndarray) -> float:
        return IntervalDisclosure(p=p).measure(table({"x": Pair(before, after)})).value

    value = read(p, before, after)
    assert read(min(p + wider, 100), before, after) >= value
    assert read(100, before, after) == 100
    assert read(p, before, before) == 100
    assert read(p, before**3, after**3) == value  # ranks are all that counts
    assert read(p, -before, -after) == value
    order = np.random.default_rng(seed).permutation(len(rows))
    assert read(p, before[order], after[order]) == pytest.approx(value)


def test_a_category_is_disclosed_if_it_is_unchanged_and_attributes_count_alike() -> None:
    work = Codes(np.array([0, 1, 1, -1]), np.array([0, 1, 0, 1]), ("a", "b"))
    x = Pair(np.arange(4.0), np.arange(4.0))
    reading = IntervalDisclosure().measure(table({"x": x}, {"work": work}))
    assert dict(reading.parts) == {"x": 100, "work": pytest.approx(200 / 3)}
    assert reading.value == pytest.approx((100 + 200 / 3) / 2)


values = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=30)


@given(rows=values)
def test_real_anonymity_and_singling_out_equal_the_transcription(rows: list[list[int]]) -> None:
    data = np.array(rows, np.float64)
    data[data == 3] = np.nan  # missing is a value, equal to itself
    both = table({name: Pair(x, x) for name, x in zip("abc", data.T, strict=True)})
    tuples = [tuple(row) for row in rows]
    assert RealAnonymity().measure(both).value == oracle["real_anonymity"](tuples)
    found = RealAnonymity(groups="a;b, c").measure(both)
    expected = [
        oracle["real_anonymity"]([row[:1] for row in tuples]),
        oracle["real_anonymity"]([r[1:] for r in tuples]),
    ]
    assert dict(found.parts) == dict(zip(("a", "b,c"), expected, strict=True))
    assert found.value == np.mean(expected)
    reading = SinglingOut().measure(both)
    assert reading.value == pytest.approx(oracle["alone"](tuples))
    for size in (1, 2, 3):
        name = f"{size} attribute{'s' * (size > 1)} known"
        mean, worst = oracle["singling_out"](tuples, size)
        assert dict(reading.parts)[name] == pytest.approx(mean)
        assert dict(reading.parts)[f"{name}, worst"] == pytest.approx(worst)


def test_an_unknown_attribute_in_groups_is_refused() -> None:
    with pytest.raises(shoal.ParameterError, match=r"no attribute \(in groups\) is called 'agee'; there is age"):
        RealAnonymity(groups="agee").measure(table({"age": Pair(np.zeros(2), np.zeros(2))}))


def test_singling_out_looks_at_a_seeded_sample_of_sets_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = tuple("abcdefgh")
    some = small_sets(names, 3, 5, 1)
    assert len(set(some.sets)) == len(some.sets) == 18
    assert some == small_sets(names, 3, 5, 1)
    assert some.all == 8 + 28 + 56
    monkeypatch.setattr(singling_out, "POINTS", 200)
    data = np.random.default_rng(0).integers(0, 9, (20, 8)).astype(float)
    note = SinglingOut().measure(table({c: Pair(x, x) for c, x in zip(names, data.T, strict=True)})).note
    assert note == "18 of 92 sets of up to three attributes were used."


@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=30), within=st.floats(0, 50))
def test_inference_equals_the_transcription(rows: list[tuple[int, int]], within: float) -> None:
    given_values, classes = (list(side) for side in zip(*rows, strict=True))
    present, codes = np.unique(given_values, return_inverse=True)
    nominal = Confidential("ill", codes, np.bincount(codes), ordered=False)
    number = Confidential("pay", codes, np.bincount(codes), values=present.astype(float))
    numbered = np.unique(classes, return_inverse=True)[1]
    x = Pair(numbered * 1.0, numbered * 1.0)
    reading = Inference(within=within).measure(table({"x": x}, classes=numbered, confidential=(nominal, number)))
    parts, everybody = dict(reading.parts), [0] * len(rows)
    assert parts["ill: share"] == pytest.approx(oracle["most_frequent"](given_values, classes))
    assert parts["ill: baseline"] == pytest.approx(oracle["most_frequent"](given_values, everybody))
    assert parts["pay: share"] == pytest.approx(oracle["near_median"](given_values, classes, within))
    assert parts["pay: baseline"] == pytest.approx(oracle["near_median"](given_values, everybody, within))
    assert reading.value == max(parts["ill: advantage"], parts["pay: advantage"])
    assert 0 <= reading.value <= 100


def test_inference_leaves_missing_numbers_out_and_says_when_nothing_is_confidential() -> None:
    x = Pair(np.array([1.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    pay = Confidential("pay", np.array([0, 1, 1]), np.array([1, 2]), values=np.array([5.0, np.nan]))
    reading = Inference().measure(table({"x": x}, confidential=(pay,)))
    assert "2 missing values of column 'pay' were omitted." in reading.note
    nothing = Inference().measure(table({"x": x}))
    assert np.isnan(nothing.value)
    assert nothing.note == "no column is confidential."


def test_combined_measures_take_what_the_others_read() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    masked = np.round(X)
    pairs = {name: Pair(X[:, j], masked[:, j]) for j, name in enumerate("ab")}
    found = read_measures(Comparison(X, masked, ("a", "b"), pairs), measures())
    assert found["dr"] == 0.5 * found["dld"] + 0.5 * found["id"]
    assert found.reading("dr").attributes == ("a", "b")
    assert [r.measure for r in found.readings if r.measure == "score"] == ["score"]
    assert Score().combine({"il": 10.0, "dld": 4.0, "id": 8.0}).value == 8.0


@pytest.mark.parametrize("measure", [DisclosureRisk(), Score()])
def test_combined_measures_say_what_they_lack(measure: Any) -> None:
    reading = measure.combine(dict.fromkeys(measure.of, 1.0) | {"id": float("nan")})
    assert np.isnan(reading.value)
    assert reading.note == "There is no reading of id."
    assert "id" not in dict(reading.parts)
