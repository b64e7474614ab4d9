"""MDAV through the façade equals the plain transcription, record for record."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal

_spec = importlib.util.spec_from_file_location("oracle_mdav", Path(__file__).parents[1] / "oracles" / "mdav.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    d=st.integers(1, 5),
    k=st.integers(2, 7),
    grid=st.sampled_from([0, 2, 10]),
)
def test_equals_the_transcription(seed: int, n: int, d: int, k: int, grid: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    k = min(k, n)
    assert shoal.microaggregate(X, k).labels.tolist() == list(oracle.mdav(X.tolist(), k))


@pytest.mark.parametrize(("n", "sizes"), [(5, [5]), (9, [9]), (10, [5, 5]), (14, [5, 9]), (15, [5, 5, 5])])
def test_the_ending(n: int, sizes: list[int]) -> None:
    X = np.arange(n, dtype=float)[:, None]
    assert shoal.microaggregate(X, 5).sizes.tolist() == sizes
