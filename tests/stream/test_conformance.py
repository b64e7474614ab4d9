"""The properties of every method of streams, found automatically, whoever writes it."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import registry
from shoal.parameters import build, declarations
from shoal.stream.engine.buffer import Core
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.types.stream import Cursor, Formed

METHODS = registry.keys("stream.partition")


def classes_of(formed: Formed) -> list[list[int]]:
    parts = np.split(formed.positions, np.cumsum(formed.sizes)[:-1])
    return [part.tolist() for part in parts] if len(formed.sizes) else []


@st.composite
def streams(draw: Any) -> tuple[StreamRecipe, list[int], dict[str, Any], list[int]]:
    k = draw(st.integers(2, 4))
    delay = draw(st.integers(k - 1, 12))
    n = draw(st.integers(1, 50))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    subject = draw(st.booleans())
    recipe = StreamRecipe(
        quasi=["q", "r"],
        bounds={"q": (0, 10)},
        categories={"r": ["a", "b", "c"]},
        k=k,
        delay=delay,
        order_weight=draw(st.sampled_from([0.0, 0.05])),
        subject="who" if subject else None,
        method=draw(st.sampled_from(METHODS)),
    )
    gaps = draw(st.lists(st.sampled_from([1, 1, 1, 3]), min_size=n, max_size=n))
    columns: dict[str, Any] = {
        "q": rng.integers(-1, draw(st.sampled_from([3, 12])), n).tolist(),
        "r": rng.choice(["a", "b", "c"], n).tolist(),
        "who": rng.integers(0, draw(st.integers(1, 12)), n).tolist(),
    }
    cuts = draw(st.lists(st.integers(1, 49), max_size=5))
    return recipe, [int(at) for at in np.cumsum(gaps)], columns, sorted({0, n, *(cut for cut in cuts if cut < n)})


def fed(core: Core, positions: list[int], columns: dict[str, Any], rows: Any) -> Formed:
    cells = {name: [column[row] for row in rows] for name, column in columns.items()}
    formed, faults = core.take([positions[row] for row in rows], cells)
    assert not faults
    return formed


def checked(recipe: StreamRecipe, who: dict[int, int], parts: list[Formed], came: list[int]) -> None:
    """Every tuple leaves once, in a class of k subjects, or is dropped."""
    left = [position for formed in parts for position in [*formed.positions.tolist(), *formed.dropped.tolist()]]
    assert sorted(left) == came
    number = 0
    for formed in parts:
        assert formed.first == number
        number += len(formed.sizes)
        assert formed.sizes.sum() == len(formed.positions)
        assert len(formed.moments) == len(formed.sizes)
        assert all(len(values) == len(formed.sizes) for values in formed.values.values())
        for members in classes_of(formed):
            assert members == sorted(members)
            assert len({who[position] for position in members}) >= recipe.k


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(streams())
def test_every_tuple_leaves_once_in_time_and_among_k_subjects(stream: Any) -> None:
    recipe, positions, columns, ends = stream
    who = {p: p if recipe.subject is None else columns["who"][row] for row, p in enumerate(positions)}
    core, parts = Core(recipe), []
    for begin, end in pairwise(ends):
        parts.append(fed(core, positions, columns, range(begin, end)))
        assert not (core.waiting <= positions[end - 1] - recipe.delay).any()  # [DS17] Definition 4
    if positions == list(range(1, len(positions) + 1)):  # no gaps: each is released within δ records
        for formed in parts:
            for members, moment in zip(classes_of(formed), formed.moments.tolist(), strict=True):
                assert members[-1] <= moment <= members[0] + recipe.delay
    parts.append(core.flush())
    checked(recipe, who, parts, positions)
    tally = core.tally
    assert (tally.released, tally.dropped) == (sum(len(f.positions) for f in parts), sum(len(f.dropped) for f in parts))
    assert tally.clamped == sum(not 0 <= q <= 10 for q in columns["q"])
    assert tally.classes == sum(len(f.sizes) for f in parts)
    if len(parts[-1].sizes):
        assert not len(parts[-1].dropped)  # remaining tuples join the last class


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(streams())
def test_chunks_do_not_change_classes(stream: Any) -> None:
    recipe, positions, columns, ends = stream
    found = []
    for cuts in (ends, [0, len(positions)], range(len(positions) + 1)):
        core = Core(recipe)
        parts = [fed(core, positions, columns, range(begin, end)) for begin, end in pairwise(cuts)]
        parts.append(core.flush())
        members = [one for formed in parts for one in classes_of(formed)]
        values = [value for formed in parts for value in zip(*formed.values.values(), strict=True)]
        found.append((members, values, [m for f in parts for m in f.moments.tolist()]))
    assert found[0] == found[1] == found[2]


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(streams(), st.integers(0, 5), st.integers(0, 40))
def test_after_a_restart_nothing_leaves_twice(stream: Any, stop: int, ahead: int) -> None:
    recipe, positions, columns, ends = stream
    who = {p: p if recipe.subject is None else columns["who"][row] for row, p in enumerate(positions)}
    stop = min(stop, len(ends) - 1)
    core = Core(recipe)
    parts = [fed(core, positions, columns, range(begin, end)) for begin, end in pairwise(ends[: stop + 1])]
    waits = set(core.waiting.tolist())
    again = Core(recipe, Cursor(tally=core.tally, memory=core.memory))
    rows = [row for row in range(len(positions)) if row >= ends[stop] or positions[row] in waits]  # read again
    for begin, end in pairwise(sorted({0, min(ahead, len(rows)), len(rows)})):
        parts.append(fed(again, positions, columns, rows[begin:end]))
    parts.append(again.flush())
    checked(recipe, who, parts, positions)
    if recipe.method in ("nearest", "look_ahead"):  # which remember nothing but what waits
        whole = Core(recipe)
        straight = [fed(whole, positions, columns, range(len(positions))), whole.flush()]
        assert [one for f in parts for one in classes_of(f)] == [one for f in straight for one in classes_of(f)]
        assert (again.tally.released, again.tally.clamped) == (whole.tally.released, whole.tally.clamped)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_pickles_and_says_what_its_parameters_are_for(method: str) -> None:
    made = build(registry.load("stream.partition", method), {})
    assert pickle.loads(pickle.dumps(made)) == made
    assert all(declared.param.description for declared in declarations(type(made)))
    assert registry.summary("stream.partition", method)


@pytest.mark.parametrize("method", METHODS)
def test_equal_tuples_and_the_ends_of_the_domain(method: str) -> None:
    for cells in ([5] * 40, [0, 10] * 20, [-(10**300), 10**300] * 20):
        core = Core(StreamRecipe(quasi=["q"], bounds={"q": (0, 10)}, k=4, delay=9, method=method))
        parts = [core.take(range(40), {"q": cells})[0], core.flush()]
        checked(core.recipe, {p: p for p in range(40)}, parts, list(range(40)))
        assert all(0 <= value <= 10 for formed in parts for value in formed.values["q"])


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_lost_at_the_end_if_a_class_forms(method: str) -> None:
    for n in range(1, 30):
        core = Core(StreamRecipe(quasi=["q"], bounds={"q": (0, 1)}, k=5, delay=50, method=method))
        core.take(range(n), {"q": np.linspace(0, 1, n)})
        formed = core.flush()
        assert len(formed.dropped) == (n if n < 5 else 0)
        assert formed.sizes.sum() == (n if n >= 5 else 0)


@pytest.mark.parametrize("method", METHODS)
def test_who_waits_too_long_leaves_although_nobody_comes(method: str) -> None:
    core = Core(StreamRecipe(quasi=["q"], bounds={"q": (0, 9)}, k=2, delay=50, delay_seconds=10, method=method))
    for at in range(5):
        core.take([at], {"q": [at]}, now=100.0 + at)
    assert not len(core.expire(109.9).sizes)
    formed = core.expire(110.0)
    assert 0 in formed.positions.tolist()
    assert formed.sizes.min() >= 2
    core.expire(200.0)
    assert not len(core.waiting)
    assert core.tally.released + core.tally.dropped == 5
