"""The heuristic for (k,p,q,r)-anonymity: equal to the plain transcription for values of every kind."""

from __future__ import annotations

import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.kernels.models.kpqr import kpqr, rare_values
from shoal.kernels.models.running_variance import class_variances, scale_of, table_variance
from shoal.kernels.space.nearest_first import BY_VALUE
from shoal.partition.kpqr import Kpqr
from shoal.types import Confidential, Points

plain = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "kpqr_heuristic.py"))
KINDS = ("numbers", "missing", "continuous", "ordinal", "nominal", "taxonomy")


def confidential(codes: np.ndarray, values: int, kind: str, seed: int) -> tuple[Confidential, list[Any], Any]:
    """An attribute, its values as the oracle takes them, and their squared distance."""
    counts, rng = np.bincount(codes, minlength=values), np.random.default_rng(seed)
    if kind == "taxonomy":
        upper = -(-values // 2)
        parents = [*(values + i // 2 for i in range(values)), *([values + upper] * min(upper, 2) + [-1] * (upper - 2))]
        parents = np.array([*parents[: values + upper], -1])
        return Confidential("c", codes, counts, False, parents), codes.tolist(), plain["taxonomy"](parents.tolist())
    if kind == "nominal":
        return Confidential("c", codes, counts, ordered=False), codes.tolist(), plain["nominal"]
    if kind == "ordinal":
        return Confidential("c", codes, counts), codes.tolist(), plain["numbers"]
    numbers = np.round(np.sort(rng.choice(300, values, replace=False)) / rng.choice([1, 4, 10]) - 7.0, 2)
    if kind == "continuous":
        numbers = np.sort(rng.normal(size=values)) * 1e3
    if kind == "missing":
        numbers[-1] = np.nan
    shown = [None if np.isnan(numbers[code]) else float(numbers[code]) for code in codes]
    return Confidential("c", codes, counts, values=numbers), shown, plain["numbers"]


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    k=st.integers(2, 6),
    p=st.integers(1, 6),
    q=st.sampled_from([0, 0.1, 0.2, 0.3, 0.5, 1]),
    r=st.sampled_from([0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]),
    values=st.integers(1, 9),
    kind=st.sampled_from(KINDS),
    prefer=st.booleans(),
)
@example(0, 29, 2, 1, 0.2, 0, 2, "continuous", False)  # a variance of 0, which rounding made less
def test_labels_equal_the_oracle(
    seed: int, n: int, k: int, p: int, q: float, r: float, values: int, kind: str, prefer: bool
) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, n)
    p = min(p, k)
    X = rng.normal(size=(n, 2)) if seed % 2 else rng.integers(0, 4, (n, 2)) / 10.0
    codes = rng.integers(0, values, n) if seed % 3 else np.where(rng.random(n) < 0.7, 0, rng.integers(0, values, n))
    attribute, shown, squared = confidential(codes, values, kind, seed)
    order, before = rng.permutation(n), X.copy()
    labels, ran = kpqr(X, attribute, k, p, q, r, order, prefer_variance=prefer)
    expected = plain["kpqr"](X.tolist(), shown, k, p, q, r, order.tolist(), squared=squared, prefer_variance=prefer)
    assert labels.tolist() == expected
    assert np.array_equal(X, before)
    assert np.bincount(labels).min() >= k
    assert (ran is not None) == rare_values(attribute.counts, q)[codes].any()


@pytest.mark.parametrize("r", [0.5, 0.9])
def test_what_is_not_among_the_nearest_is_found_by_value_and_labels_still_equal_the_oracle(r: float) -> None:
    rng = np.random.default_rng(4)
    n = 400
    X, order = rng.normal(size=(n, 3)), rng.permutation(n)
    codes = np.where(rng.random(n) < 0.15, rng.integers(0, 6, n), 6)
    attribute, shown, squared = confidential(codes, 7, "numbers", 2)
    labels, ran = kpqr(X, attribute, 4, 4, 0.2, r, order)
    assert labels.tolist() == plain["kpqr"](X.tolist(), shown, 4, 4, 0.2, r, order.tolist(), squared=squared)
    assert ran is not None
    assert ran.counts[BY_VALUE] > 0


def test_what_is_rare_and_how_much_it_varies_is_of_the_whole_table() -> None:
    """A stratum in which a value is common, though it is rare in the table; and the other way round."""
    rng = np.random.default_rng(0)
    codes = np.array([0, 1, 0, 1, 2, 0, 1, 0])
    attribute = Confidential("c", codes, np.array([4, 96, 5]), values=np.array([1.0, 2.0, 9.0]))
    X, order = rng.normal(size=(8, 2)), rng.permutation(8)
    whole = [1.0] * 4 + [2.0] * 96 + [9.0] * 5
    shown = [attribute.values[code] for code in codes]  # type: ignore[index]
    labels, _ = kpqr(X, attribute, 2, 2, 0.2, 0.3, order)
    assert labels.tolist() == plain["kpqr"](
        X.tolist(), list(map(float, shown)), 2, 2, 0.2, 0.3, order.tolist(), table=whole
    )


@pytest.mark.parametrize("kind", KINDS)
def test_variances_are_those_of_the_definition(kind: str) -> None:
    codes = np.random.default_rng(7).integers(0, 6, 50)
    attribute, shown, squared = confidential(codes, 6, kind, 7)
    scale, labels = scale_of(attribute), np.arange(50) % 7
    whole = plain["variance"](shown, squared)
    assert (table_variance(scale, attribute.counts) == 0) == (whole == 0)
    unit = table_variance(scale, attribute.counts) / whole  # numbers are scaled to be whole
    for label, found in enumerate(class_variances(scale, codes, labels)):
        inside = [value for value, of in zip(shown, labels, strict=True) if of == label]
        assert found == pytest.approx(float(plain["variance"](inside, squared) * unit), rel=1e-12)


def test_q_is_taken_as_it_is_written_and_strictly() -> None:
    """0.1 of 30 records is 3, though 0.1 as a float is a little more."""
    assert rare_values(np.array([3, 27]), 0.1).tolist() == [False, False]
    assert rare_values(np.array([2, 28]), 0.1).tolist() == [True, False]


def test_several_attributes_are_refused_with_a_way_out() -> None:
    X = np.random.default_rng(0).normal(size=(9, 2))
    with pytest.raises(shoal.SchemaError, match=r"takes exactly one confidential attribute, got 2\. .*--require kpqr"):
        shoal.microaggregate(X, 3, method="kpqr", confidential=np.ones((9, 2)), p=2, q=0.2, r=0.5)


@pytest.mark.parametrize(("name", "value"), [("q", -0.1), ("q", 1.1), ("r", 2), ("r", "0.5"), ("p", 0)])
def test_levels_outside_their_ranges_are_parameter_errors(name: str, value: object) -> None:
    levels: dict[str, Any] = {"k": 3, "p": 2, "q": 0.2, "r": 0.5, name: value}
    with pytest.raises(shoal.ParameterError, match=f"Kpqr: {name} must be"):
        Kpqr(**levels)


def test_nothing_rare_is_mdav_and_needs_no_values() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    part = shoal.microaggregate(X, 3, method="kpqr", confidential=np.zeros(30), p=3, q=0.2, r=0.5)
    assert np.array_equal(part.labels, shoal.microaggregate(X, 3).labels)
    assert part.note == ""


def test_the_note_says_both_shares_of_the_variance() -> None:
    values = np.array([1.0, 2.0, 3.0, 9.0])
    codes = np.array([0, 1, 2, *[3] * 27])
    attribute = Confidential("c", codes, np.bincount(codes), values=values)
    points = Points(np.random.default_rng(0).normal(size=(30, 2)), confidential=(attribute,))
    part = Kpqr(k=3, p=2, q=0.2, r=0.5).partition(points, np.random.default_rng(0))
    rare = [part.labels[row] for row in range(3)]
    least = min(np.var(values[codes[part.labels == label]]) for label in rare)
    whole, inside = np.var(values[codes]), float(Fraction(2, 3))
    assert f"is {least / inside:.3g} of that of all records with rare values" in part.note
    assert f"{least / whole:.3g} of that of the table" in part.note
