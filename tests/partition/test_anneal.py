"""Anneal: less is lost than by MDAV, and as little on the reference files as a tour with local search loses."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.kernels.arithmetic.class_statistics import sse

#: What a tour, cut at its best and improved by local search, loses: percent of the total sum of squares.
MOST = {
    ("census.csv", 3): 5.017,
    ("census.csv", 5): 7.817,
    ("census.csv", 10): 12.098,
    ("tarragona.csv", 3): 14.815,
    ("tarragona.csv", 5): 20.400,
    ("tarragona.csv", 10): 30.635,
    ("eia.csv", 3): 0.3680,
    ("eia.csv", 5): 0.7529,
    ("eia.csv", 10): 1.9794,
}


@cache
def standardised(path: Path) -> np.ndarray:
    table = pyarrow.csv.read_csv(path)
    names = table.column_names
    if path.name == "eia.csv":
        names = ["UTILITYID", *names[names.index("RESREVENUE") : names.index("TOTSALES") + 1]]
    x = np.column_stack([table[name].to_numpy().astype(float) for name in names])
    return np.ascontiguousarray((x - x.mean(axis=0)) / x.std(axis=0))


@pytest.mark.parametrize(("name", "k"), MOST)
def test_fast_loses_no_more_than_a_tour_with_local_search(reference_data: Path, name: str, k: int) -> None:
    x = standardised(reference_data / name)
    losses = []
    for seed in range(5):
        labels = shoal.microaggregate(x, k, method="anneal", effort="fast", seed=seed).labels
        sizes = np.bincount(labels)
        assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
        losses.append(100 * sse(x, labels) / x.size)
    assert float(np.median(losses)) <= MOST[name, k]


@pytest.mark.parametrize("effort", ["fast", "default"])
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), d=st.integers(1, 4), k=st.integers(2, 6))
@settings(max_examples=12)
def test_at_most_the_loss_of_mdav(effort: str, seed: int, n: int, d: int, k: int) -> None:
    k = min(k, n)
    x = np.random.default_rng(seed).normal(size=(n, d))
    found = shoal.microaggregate(x, k, method="anneal", effort=effort, seed=seed).labels
    sizes = np.bincount(found)
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
    assert sse(x, found) <= sse(x, shoal.microaggregate(x, k).labels) * (1 + 1e-12)
    assert np.array_equal(found, shoal.microaggregate(x, k, method="anneal", effort=effort, seed=seed).labels)


def test_a_deadline_is_kept() -> None:
    x = np.random.default_rng(0).normal(size=(500, 3))
    shoal.microaggregate(x, 3, method="anneal", effort="fast")
    began = time.monotonic()
    found = shoal.microaggregate(x, 3, method="anneal", effort="best", deadline=0.4)
    assert 0.4 <= time.monotonic() - began < 6.0
    assert sse(x, found.labels) < sse(x, shoal.microaggregate(x, 3).labels)


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        ({"effort": "most"}, "microaggregate: no effort is called 'most'"),
        ({"deadline": -1.0}, "microaggregate: deadline must be a number of seconds > 0"),
        ({"k": 1}, "k must be"),
    ],
)
def test_refusals(given_: dict, sentence: str) -> None:
    with pytest.raises(shoal.ParameterError, match=sentence):
        shoal.microaggregate(np.zeros((9, 2)), **{"k": 3, "method": "anneal", **given_})
