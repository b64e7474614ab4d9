"""p-sensitive classes: equal to the plain transcription, and with p values wherever that can be."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.models.p_sensitive import p_sensitive
from shoal.kernels.space.nearest_first import BY_VALUE, LISTS
from shoal.kernels.space.spatial_index import REBUILT
from shoal.partition.p_sensitive import PSensitive
from shoal.types import Confidential, Points

plain = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "p_sensitive.py"))["p_sensitive"]


def table(seed: int, n: int, d: int) -> np.ndarray:
    """Points at random, on a grid full of ties, all equal, or of many magnitudes."""
    rng = np.random.default_rng(seed)
    kinds = (
        rng.normal(size=(n, d)),
        rng.integers(0, 4, (n, d)) / 10.0,
        np.full((n, d), 0.1),
        rng.normal(size=(n, d)) * 10.0 ** rng.integers(-200, 150, (n, d)),
    )
    return np.ascontiguousarray(kinds[seed % 4], dtype=np.float64)


def attribute(codes: np.ndarray, values: int) -> Confidential:
    return Confidential("ill", codes, np.bincount(codes, minlength=values), ordered=False)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 70),
    d=st.integers(1, 4),
    k=st.integers(2, 6),
    p=st.integers(1, 6),
    values=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    skewed=st.booleans(),
)
def test_labels_equal_the_oracle(seed: int, n: int, d: int, k: int, p: int, values: list[int], skewed: bool) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, n)
    p = min(p, k)
    X, order = table(seed, n, d), rng.permutation(n)
    codes = [rng.integers(0, most, n) for most in values]
    if skewed:
        codes = [np.where(rng.random(n) < 0.8, 0, code) for code in codes]
    before = X.copy()
    labels, _ = p_sensitive(X, codes, k, p, order)
    assert labels.tolist() == plain(X.tolist(), [code.tolist() for code in codes], k, p, order.tolist())
    assert np.array_equal(X, before)
    assert np.bincount(labels).min() >= k
    if all(len(np.unique(code)) >= p for code in codes):
        for label in range(labels.max() + 1):
            assert all(len(np.unique(code[labels == label])) >= p for code in codes)


@pytest.mark.parametrize(("rare", "happens"), [(0.8, "rebuilt"), (0.3, "grows"), (0.02, "by value")])
def test_the_index_is_rebuilt_and_lists_grow_and_labels_still_equal_the_oracle(rare: float, happens: str) -> None:
    """Many classes, so that the tree is rebuilt; or values so rare that few of the nearest have them."""
    rng = np.random.default_rng(3)
    n = 900
    X, order = rng.normal(size=(n, 3)), rng.permutation(n)
    code = np.where(rng.random(n) < rare, rng.integers(1, 6, n), 0)
    labels, ran = p_sensitive(X, [code], 3, 3, order)
    assert labels.tolist() == plain(X.tolist(), [code.tolist()], 3, 3, order.tolist())
    assert happens != "rebuilt" or ran.finder.rebuilds[REBUILT] > 0
    assert happens != "grows" or ran.counts[LISTS] > labels.max() + 1  # more lists than classes
    assert happens != "by value" or ran.counts[BY_VALUE] > 0


def test_the_order_of_rows_changes_only_the_order() -> None:
    rng = np.random.default_rng(1)
    X, code, order, shuffle = rng.normal(size=(60, 2)), rng.integers(0, 5, 60), rng.permutation(60), rng.permutation(60)
    direct, _ = p_sensitive(X, [code], 4, 3, order)
    moved, _ = p_sensitive(np.ascontiguousarray(X[shuffle]), [code[shuffle]], 4, 3, np.argsort(shuffle)[order])
    assert np.array_equal(direct[shuffle], moved)


def test_the_seed_decides_who_starts() -> None:
    rng = np.random.default_rng(2)
    X, code = rng.normal(size=(90, 2)), rng.integers(0, 5, 90)
    found = [shoal.microaggregate(X, 4, method="p_sensitive", confidential=code, p=3, seed=s).labels for s in (0, 0, 1)]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_a_stratum_with_too_few_values_is_one_class() -> None:
    """The table has three values, these records one: the audit will report it."""
    points = Points(np.arange(8.0)[:, None], confidential=(Confidential("ill", np.zeros(8, int), np.array([8, 5, 5])),))
    assert PSensitive(k=3, p=2).partition(points, np.random.default_rng(0)).labels.tolist() == [0] * 8


@pytest.mark.parametrize("p", [0, 2.5, "2", None, True])
def test_p_must_be_a_whole_number_from_one(p: object) -> None:
    with pytest.raises(shoal.ParameterError, match="PSensitive: p must be an integer ≥ 1, got"):
        PSensitive(k=3, p=p)  # type: ignore[arg-type]
