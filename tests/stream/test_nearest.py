"""Classes of a stream equal the transcription of [DS17] Algorithms 2 and 3, whatever the chunks are."""

from __future__ import annotations

import runpy
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.stream import StreamAnonymizer
from shoal.stream.engine.buffer import Core
from shoal.stream.recipe.recipe import StreamRecipe

ORACLE = Path(__file__).parents[1] / "oracles" / "stream_nearest.py"
stream_nearest = runpy.run_path(str(ORACLE))["stream_nearest"]


def classes_of(formed: Any) -> list[list[int]]:
    ends = np.cumsum(formed.sizes)[:-1] if len(formed.sizes) else []
    return [part.tolist() for part in np.split(formed.positions, ends)] if len(formed.sizes) else []


def run(
    recipe: StreamRecipe, positions: list[int], columns: dict[str, Any], cuts: list[int]
) -> tuple[list[list[int]], list[int], list[int]]:
    core, classes, dropped, moments = Core(recipe), [], [], []
    ends = sorted({0, *(cut for cut in cuts if cut < len(positions)), len(positions)})
    parts = []
    for begin, end in pairwise(ends):
        formed, faults = core.take(positions[begin:end], {name: col[begin:end] for name, col in columns.items()})
        assert not faults
        parts.append(formed)
    parts.append(core.flush())
    numbers = 0
    for formed in parts:
        assert formed.first == numbers
        numbers += len(formed.sizes)
        classes += classes_of(formed)
        dropped += formed.dropped.tolist()
        moments += formed.moments.tolist()
    assert not len(core.waiting)
    return classes, dropped, moments


@st.composite
def streams(draw: Any) -> dict[str, Any]:
    k = draw(st.integers(2, 5))
    delay = draw(st.integers(k - 1, 14))
    n = draw(st.integers(1, 60))
    gaps = draw(st.lists(st.sampled_from([1, 1, 1, 1, 2, 9]), min_size=n, max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    points = rng.integers(0, draw(st.sampled_from([2, 5, 1000])), (n, draw(st.integers(1, 3))))
    start = draw(st.sampled_from([0, 2**53 + 1, 2**60]))
    return {
        "k": k,
        "delay": delay,
        "points": points,
        "positions": [start + int(at) for at in np.cumsum(gaps)],
        "subjects": None if draw(st.booleans()) else rng.integers(0, draw(st.integers(1, 9)), n).tolist(),
        "weight": draw(st.sampled_from([0.0, 0.01, 0.3, "keep"])),
        "cuts": draw(st.lists(st.integers(1, 59), max_size=6)),
    }


def described(stream: dict[str, Any]) -> tuple[StreamRecipe, dict[str, Any]]:
    columns: dict[str, Any] = {f"q{j}": column.astype(float) for j, column in enumerate(stream["points"].T)}
    recipe = StreamRecipe(
        quasi=list(columns),
        bounds=dict.fromkeys(columns, (0, 1024)),
        k=stream["k"],
        delay=stream["delay"],
        order_weight=stream["weight"],
        subject="who" if stream["subjects"] is not None else None,
    )
    if stream["subjects"] is not None:
        columns["who"] = stream["subjects"]
    return recipe, columns


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(streams())
def test_classes_equal_the_transcription_in_any_chunks(stream: dict[str, Any]) -> None:
    recipe, columns = described(stream)
    subjects = stream["subjects"] or list(range(len(stream["positions"])))
    weight = Core(recipe).domain.order_weight
    points = (stream["points"] / 1024).tolist()
    wanted = stream_nearest(points, stream["positions"], subjects, recipe.k, recipe.delay, weight)
    classes, dropped, moments = run(recipe, stream["positions"], columns, stream["cuts"])
    assert (classes, dropped, moments) == (wanted[0], wanted[1], wanted[3])


@pytest.mark.parametrize("weight", [0.0, 0.002])
@pytest.mark.parametrize("subjects", [False, True])
def test_classes_equal_the_transcription_over_a_long_delay(weight: float, subjects: bool) -> None:
    rng = np.random.default_rng(3)
    n = 4000
    stream = {
        "k": 7,
        "delay": 900,
        "points": rng.integers(0, 1024, (n, 4)),
        "positions": list(range(n)),
        "subjects": rng.integers(0, 300, n).tolist() if subjects else None,
        "weight": weight,
    }
    recipe, columns = described(stream)
    found = run(recipe, stream["positions"], columns, [1700])
    who = stream["subjects"] or list(range(n))
    points = (stream["points"] / 1024).tolist()
    wanted = stream_nearest(points, stream["positions"], who, 7, 900, weight)
    assert found == (wanted[0], wanted[1], wanted[3])


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(streams())
def test_with_keep_nothing_is_reordered(stream: dict[str, Any]) -> None:
    """Proposition 2 of [DS17], with the bound √(m / (2k − 1)); also with gaps and repeated subjects."""
    recipe, columns = described({**stream, "weight": "keep"})
    classes, dropped, _ = run(recipe, stream["positions"], columns, stream["cuts"])
    left = [position for members in classes for position in members]
    assert left == sorted(left)
    assert sorted(left + dropped) == stream["positions"]


def test_keep_is_the_least_such_weight() -> None:
    """A little below the bound there is a stream that is reordered."""
    k = 3
    columns = {"q": np.array([0.0, 0.0, 1.0, 0.0, 0.5, 0.5])}
    base = {"quasi": ["q"], "bounds": {"q": (0, 1)}, "k": k, "delay": 5}
    bound = (1 / (2 * k - 1)) ** 0.5
    kept = Core(StreamRecipe(**base, order_weight="keep"))
    below = Core(StreamRecipe(**base, order_weight=0.999 * bound))
    assert kept.domain.order_weight == pytest.approx(bound, rel=1e-5)
    assert kept.take(range(6), columns)[0].positions.tolist()[:3] == [0, 1, 2]
    assert below.take(range(6), columns)[0].positions.tolist()[:3] == [0, 1, 3]


def test_positions_beyond_what_floats_hold_change_nothing() -> None:
    rng = np.random.default_rng(1)
    columns = {"q": rng.random(200)}
    recipe = StreamRecipe(quasi=["q"], bounds={"q": (0, 1)}, k=3, delay=20, order_weight=0.02)
    far = 2**62
    near, away = (Core(recipe).take(np.arange(200) + start, columns)[0] for start in (0, far))
    assert (near.positions == away.positions - far).all()


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(streams(), st.lists(st.tuples(st.integers(0, 59), st.integers(0, 12)), max_size=5))
def test_classes_of_a_stall_equal_the_transcription(stream: dict[str, Any], given_: list[tuple[int, int]]) -> None:
    """Nothing comes for `delay_seconds`: those that expired leave, and the remainder joins the last class."""
    recipe, columns = described(stream)
    recipe = replace(recipe, delay_seconds=1.0)
    positions, n = stream["positions"], len(stream["positions"])
    stalls = {at: max(at - before, 0) for at, before in given_ if at < n}  # after which the tuples up to which expire
    core, parts = Core(recipe), []
    for at in range(n):
        came = 0.0 if not stalls else float(at)
        parts.append(
            core.take([positions[at]], {name: column[at : at + 1] for name, column in columns.items()}, came)[0]
        )
        if at in stalls:
            parts.append(core.expire(stalls[at] + 1.0))
    parts.append(core.flush())
    subjects = stream["subjects"] or list(range(n))
    points, weight = (stream["points"] / 1024).tolist(), Core(recipe).domain.order_weight
    by_position = {positions[at]: positions[upto] for at, upto in stalls.items()}
    wanted = stream_nearest(points, positions, subjects, recipe.k, recipe.delay, weight, stalls=by_position)
    assert [members for formed in parts for members in classes_of(formed)] == wanted[0]
    assert [one for formed in parts for one in formed.dropped.tolist()] == wanted[1]
    assert [one for formed in parts for one in formed.moments.tolist()] == wanted[3]


@pytest.mark.parametrize("method", ["nearest", "look_ahead", "castle"])
def test_bursts_lose_nothing(method: str) -> None:
    """Bursts of 7 at k = 5 with silence in between: two of each burst were dropped."""
    rng = np.random.default_rng(0)
    s = StreamAnonymizer(quasi=["q"], bounds={"q": (0, 1)}, k=5, delay=100, delay_seconds=2.0, method=method)
    left = []
    for burst in range(100):
        for value in rng.random(7):
            left += s.push({"q": float(value)}, now=10.0 * burst)
        left += s.tick(10.0 * burst + 2.0)
        assert s.waiting == 0
    assert (len(left), s.dropped) == (700, 0)
    assert set(Counter(one["class"] for one in left).values()) == {7}


def test_a_stall_joins_no_class_that_would_miss_a_demand() -> None:
    said = {"quasi": ["q"], "bounds": {"q": (0, 1)}, "k": 2, "delay": 50, "delay_seconds": 1.0}
    demands = {"confidential": ["ill"], "require": {"l_entropy": 1.9}}
    ills = ["flu", "gout", "flu", "flu", "flu"]
    plain, demanding = StreamAnonymizer(**said), StreamAnonymizer(**said, **demands)
    for s in (plain, demanding):
        for at, ill in enumerate(ills):
            s.push({"q": at / 10, "ill": ill}, now=0.0)
    assert len(plain.tick(1.0)) == 5
    left = demanding.tick(1.0)
    assert sorted(one["ill"] for one in left) == ["flu", "gout"]
    assert demanding.dropped == 3
