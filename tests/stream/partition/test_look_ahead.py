"""Looking ahead, and the nearest with demands: labels equal those of the plain transcription; demands always hold."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.kernels.stream.excess import laid_out
from shoal.kernels.stream.steps import Rule, steps
from shoal.stream.partition.look_ahead import LookAhead
from shoal.types.stream import Decided, Demand, Space, Waiting


def _oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"oracle_{name}", Path(__file__).parents[2] / "oracles" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


exact, oracle = _oracle("stream_excess"), _oracle("stream_look_ahead")

PAY, ILL = (0, 0, 0, 0, 0, 0), (0, 0, 0, 0)
DEMANDS: list[tuple[Demand, ...]] = [
    (),
    (Demand("p_sensitivity", "ill", (("p", 2),)),),
    (Demand("entropy_l_diversity", "ill", (("l", 2.0),)),),
    (Demand("recursive_l_diversity", "ill", (("c", 1.5), ("l", 2))),),
    (Demand("t_closeness", "ill", (("t", 0.3),), False, ILL),),
    (Demand("t_closeness", "pay", (("t", 0.2),), True, PAY),),
    (Demand("t_closeness", "pay", (("t", 0.25),), True, (3, 1, 4, 1, 5, 9), grows=False),),
    (Demand("distinct_l_diversity", "ill", (("l", 3),)), Demand("t_closeness", "pay", (("t", 0.35),), True, PAY)),
]


def a_stream(seed: int, n: int, d: int, grid: int, repeated: bool, demands: tuple[Demand, ...]) -> Waiting:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.random((n, d))
    positions = np.cumsum(rng.integers(1, 3, n)) if grid else np.arange(n)
    subjects = rng.integers(0, max(n // 3, 1), n) if repeated else np.arange(n)
    values = [rng.integers(0, len(one.base) or 4, n) for one in demands]
    columns = np.stack(values, axis=1) if values else np.empty((n, 0))
    return Waiting(x, positions.astype(np.int64), subjects.astype(np.int64), columns.astype(np.int64), old=0)


def checked(found: Decided, waiting: Waiting, k: int, demands: tuple[Demand, ...]) -> None:
    """Every class has k subjects, and holds all demands at the moment at which it forms."""
    for number, moment in enumerate(found.moments):
        rows = np.flatnonzero(found.labels == number)
        assert len(np.unique(waiting.subjects[rows])) >= k
        for j, one in enumerate(demands):
            came = waiting.values[waiting.positions <= moment, j]
            base = np.array(one.base)
            if one.grows and one.base:
                base = base + np.bincount(came, minlength=len(base))
            assert exact.holds(one, waiting.values[rows, j].tolist(), base.tolist())


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 60),
    d=st.integers(1, 3),
    k=st.integers(2, 5),
    delay=st.integers(1, 30),
    weight=st.sampled_from([0.0, 0.01, 0.3]),
    grid=st.sampled_from([0, 3]),
    repeated=st.booleans(),
    demands=st.sampled_from(DEMANDS),
    reach=st.sampled_from([1, 3]),
)
@settings(max_examples=4 * settings.default.max_examples)
def test_equals_the_transcription(
    seed: int, n: int, d: int, k: int, delay: int, weight: float, grid: int, repeated: bool,
    demands: tuple[Demand, ...], reach: int,
) -> None:  # fmt: skip
    waiting = a_stream(seed, n, d, grid, repeated, demands)
    due = 10**6 if seed % 2 else 0
    rule = Rule(k, delay, weight, reach, 0.3, 0.7, 0.5)
    labels, moments = steps(waiting, rule, laid_out(demands), due)
    expected = oracle.look_ahead(waiting, k, delay, weight, demands, exact.excess, due, reach)
    assert labels.tolist() == expected[0].tolist()
    assert moments.tolist() == expected[1].tolist()
    checked(Decided(labels, moments), waiting, k, demands)


def in_pieces(forming: Any, waiting: Waiting, sizes: list[int]) -> list[int]:
    """Give a stream in several calls; return the classes, numbered through."""
    n, labels = len(waiting.positions), np.full(len(waiting.positions), -1)
    rows, begin, classes = np.empty(0, np.int64), 0, 0
    for size in [*sizes, n]:
        new = np.arange(begin, min(begin + size, n))
        begin, old, rows = begin + len(new), len(rows), np.concatenate((rows, new))
        part = [a[rows] for a in (waiting.coordinates, waiting.positions, waiting.subjects, waiting.values)]
        found = forming.advance(Waiting(*part, old), 0)
        labels[rows] = np.where(found.labels >= 0, found.labels + classes, found.labels)
        classes, rows = classes + len(found.moments), rows[found.labels == -1]
    return labels.tolist()


@given(seed=st.integers(0, 10**6), sizes=st.lists(st.integers(0, 9), max_size=9), demands=st.sampled_from(DEMANDS))
def test_it_does_not_matter_how_many_come_at_a_time(seed: int, sizes: list[int], demands: tuple[Demand, ...]) -> None:
    waiting = a_stream(seed, 50, 2, 0, False, demands)
    begun = [LookAhead().begin(Space(("a", "b"), 2.0), 3, 12, 0.01, demands) for _ in range(2)]
    assert in_pieces(begun[0], waiting, sizes) == begun[1].advance(waiting, 0).labels.tolist()


def test_a_weight_that_keeps_order_keeps_it() -> None:
    waiting = a_stream(1, 60, 2, 0, False, ())
    forming = LookAhead().begin(Space(("a", "b"), 2.0), 4, 20, (2.0 / 7) ** 0.5 + 1e-9)
    labels = forming.advance(waiting, 10**6).labels.tolist()
    assert labels == [i // 4 for i in range(60)]


def test_what_cannot_hold_is_dropped() -> None:
    waiting = a_stream(2, 30, 1, 0, False, DEMANDS[1])
    same = Waiting(waiting.coordinates, waiting.positions, waiting.subjects, np.zeros((30, 1), np.int64), 0)
    found = LookAhead().begin(Space(("a",), 1.0), 3, 10, 0.0, DEMANDS[1]).advance(same, 10**6)
    assert set(found.labels.tolist()) == {-2}


def test_more_tuples_than_integers_can_hold_are_compared_on_the_strict_side() -> None:
    base = (2**59, 2**59)
    for t, kept in ((0.5, False), (0.51, True)):  # exactly 1/2 away: within a hair, and so not close enough
        demands = (Demand("t_closeness", "ill", (("t", t),), False, base, grows=False),)
        waiting = Waiting(np.zeros((2, 1)), np.arange(2), np.arange(2), np.zeros((2, 1), np.int64), 0)
        found = LookAhead().begin(Space(("a",), 1.0), 2, 1, 0.0, demands).advance(waiting, 0)
        assert (found.labels.tolist() == [0, 0]) is kept


def test_a_model_that_is_no_demand_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"k_e: classes of a stream cannot be made to hold this model\. Take"):
        LookAhead().begin(Space(("a",), 1.0), 3, 10, 0.0, [Demand("k_e", "pay", (("e", 3.0),))])
