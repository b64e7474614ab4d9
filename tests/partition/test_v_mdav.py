"""V-MDAV through the façade equals the plain transcription, record for record."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.mdav.v_mdav import v_mdav_steps
from shoal.progress import listening

_spec = importlib.util.spec_from_file_location("oracle_v_mdav", Path(__file__).parents[1] / "oracles" / "v_mdav.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

GAMMAS = [0.0, 0.2, 0.7, 1.0, 1.1, 2.0, 1e300]


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    d=st.integers(1, 5),
    k=st.integers(2, 7),
    gamma=st.sampled_from(GAMMAS),
    grid=st.sampled_from([0, 2, 10]),
)
def test_equals_the_transcription(seed: int, n: int, d: int, k: int, gamma: float, grid: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    k = min(k, n)
    found = shoal.microaggregate(X, k, method="v_mdav", gamma=gamma).labels
    assert found.tolist() == oracle.v_mdav(X.tolist(), k, gamma).tolist()
    assert v_mdav_steps.signatures  # the compiled way ran


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e307])
def test_equals_the_transcription_at_the_ends_of_the_number_range(scale: float) -> None:
    X = np.random.default_rng(3).normal(size=(50, 3)) * scale
    found = shoal.microaggregate(X, 3, method="v_mdav", gamma=1.0).labels
    assert found.tolist() == oracle.v_mdav(X.tolist(), 3, 1.0).tolist()


def test_clumps_of_uneven_size_stay_whole() -> None:
    sizes = [4, 3, 4, 4, 3]
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(size, 2)) * 0.01 + 10 * i for i, size in enumerate(sizes)])
    clump = np.repeat(np.arange(5), sizes)
    labels = shoal.microaggregate(X, 3, method="v_mdav", gamma=1.1).labels
    assert np.array_equal(labels[:, None] == labels, clump[:, None] == clump)


def test_leftovers_may_fill_a_class_beyond_2k_minus_1() -> None:
    X = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0]
    assert shoal.microaggregate(X, 3, method="v_mdav", gamma=9.0).sizes.tolist() == [7]  # 5, and 2 that are left
    assert shoal.microaggregate(X, 3, method="v_mdav", gamma=0.0).sizes.tolist() == [3, 4]


def test_a_second_call_goes_on_where_the_first_stopped_and_work_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(6).normal(size=(300, 3))
    at_once = shoal.microaggregate(X, 4, method="v_mdav", gamma=1.0).labels
    monkeypatch.setattr("shoal.kernels.mdav.v_mdav._COORDINATES_PER_CALL", 1)
    seen: list[tuple[int, int]] = []

    class Listener:
        def stage(self, name: str) -> None: ...
        def say(self, text: str) -> None: ...
        def report(self, done: int, total: int) -> None:
            seen.append((done, total))

    with listening(Listener()):
        in_steps = shoal.microaggregate(X, 4, method="v_mdav", gamma=1.0)
    assert np.array_equal(in_steps.labels, at_once)
    assert len(seen) == len(in_steps)
    assert seen == sorted(seen)


@pytest.mark.parametrize("gamma", [-0.1, float("nan"), "0.2", None])
def test_gamma_below_zero_or_no_number_is_refused(gamma: object) -> None:
    with pytest.raises(shoal.ParameterError, match="gamma must be a number ≥ 0, got"):
        shoal.microaggregate(np.arange(9.0), 3, method="v_mdav", gamma=gamma)
