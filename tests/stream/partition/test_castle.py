"""CASTLE: labels equal those of the plain transcription, in one call and in several."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.stream.partition.castle import Castle
from shoal.types.stream import Demand, Space, Waiting

_spec = importlib.util.spec_from_file_location("castle", Path(__file__).parents[2] / "oracles" / "stream_castle.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 70),
    d=st.integers(1, 3),
    k=st.integers(2, 5),
    delay=st.integers(1, 40),
    weight=st.sampled_from([0.0, 0.01]),
    grid=st.sampled_from([0, 3]),
    repeated=st.booleans(),
    beta=st.integers(1, 8),
    mu=st.integers(1, 5),
    drops=st.booleans(),
    cut=st.integers(0, 70),
)
@settings(max_examples=4 * settings.default.max_examples)
def test_equals_the_transcription(
    seed: int, n: int, d: int, k: int, delay: int, weight: float, grid: int, repeated: bool, beta: int, mu: int,
    drops: bool, cut: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    x = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.random((n, d))
    positions = np.cumsum(rng.integers(1, 3, n)) if grid else np.arange(n)
    subjects = rng.integers(0, max(n // 3, 1), n) if repeated else np.arange(n)
    whole = Waiting(x, positions.astype(np.int64), subjects.astype(np.int64), np.empty((n, 0), np.int64), old=0)
    due = 10**6 if seed % 2 else 0
    expected, moments = oracle.castle(whole, k, delay, weight, due, beta, mu, drops)
    begun = Castle(beta, mu, drops).begin(Space(("a",) * d, float(d)), k, delay, weight)
    cut = min(cut, n)
    first = begun.advance(Waiting(x[:cut], whole.positions[:cut], whole.subjects[:cut], whole.values[:cut], 0), 0)
    rows = np.concatenate((np.flatnonzero(first.labels == -1), np.arange(cut, n))).astype(np.int64)
    old = len(rows) - (n - cut)
    then = begun.advance(Waiting(x[rows], whole.positions[rows], whole.subjects[rows], whole.values[rows], old), due)
    labels = np.full(n, -1)
    labels[:cut] = first.labels
    labels[rows] = np.where(then.labels >= 0, then.labels + len(first.moments), then.labels)
    assert labels.tolist() == expected.tolist()
    if seed % 2 == 0:
        assert [*first.moments.tolist(), *then.moments.tolist()] == moments.tolist()
    for number in range(len(moments)):
        assert len(np.unique(subjects[labels == number])) >= k


def test_demands_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"Castle: only k can be promised, but t_closeness is required\. Use"):
        Castle().begin(Space(("a",), 1.0), 3, 10, 0.0, [Demand("t_closeness", "pay", (("t", 0.2),))])
