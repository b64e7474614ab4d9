"""Which masked records are as near as the right one equals a count over all pairs, record for record."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.space import nearest_own as module
from shoal.kernels.space.nearest_own import Links, as_near, different
from shoal.points.nominal import Nominal
from shoal.types import Column, Kind, Role, Taxonomy, coded

tree = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "taxonomy_distance.py"))
oracle = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "linkage.py"))


def over_all_pairs(X: np.ndarray, Y: np.ndarray, columns: list[int]) -> np.ndarray:
    distance = np.zeros((len(X), len(Y)))
    for j in columns:  # the same sum, in the same order
        distance += (X[:, j, None] - Y[:, j]) * (X[:, j, None] - Y[:, j])
    nearest = distance.min(axis=1)
    return np.where(distance.diagonal() == nearest, (distance == nearest[:, None]).sum(axis=1), 0)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 70),
    d=st.integers(1, 5),
    k=st.integers(1, 9),
    grid=st.sampled_from([0, 1, 2, 10]),
    data=st.data(),
)
def test_equals_the_transcription(seed: int, n: int, d: int, k: int, grid: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    Y = np.round(X * 10 / k) * k / 10
    columns = data.draw(st.lists(st.integers(0, d - 1), min_size=1, unique=True).map(sorted))
    before = X.copy(), Y.copy()
    masked = different(Y)
    found = as_near(X, masked.of_row, masked, np.array(columns))
    assert found.tolist() == oracle["as_near"](X.tolist(), Y.tolist(), columns)
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


@pytest.mark.parametrize("kind", ["classes", "noise", "grid", "one point"])
@pytest.mark.parametrize("d", [1, 2, 4, 13])
def test_a_tree_of_several_levels_counts_what_all_pairs_count(kind: str, d: int) -> None:
    rng = np.random.default_rng(d)
    X = rng.integers(0, 9, (2300, d)) * 0.1 if kind == "grid" else rng.normal(size=(2300, d))
    order = np.argsort(X[:, 0])
    Y = {
        "classes": X.copy(),
        "noise": X + rng.normal(size=X.shape) * 0.05,
        "grid": X[rng.permutation(2300)],
        "one point": np.zeros_like(X),
    }[kind]
    if kind == "classes":
        for begin in range(0, 2300, 5):
            Y[order[begin : begin + 5]] = X[order[begin : begin + 5]].mean(axis=0)
    masked = different(Y)
    rows = np.sort(rng.choice(2300, 900, replace=False))
    for columns in ([0], list(range(d))):
        found = as_near(X[rows], masked.of_row[rows], masked, np.array(columns))
        assert np.array_equal(found, over_all_pairs(X, Y, columns)[rows])


ORGANS = {f"{g}{h}{leaf}": (g, g + h) for g in "abc" for h in "xy" for leaf in range(4)} | {"d": ()}


@pytest.mark.parametrize("release", ["leaf", "node", "ancestor"])
@pytest.mark.parametrize(("n", "k", "number"), [(150, 3, True), (400, 2, False)])
def test_categories_equal_the_transcription(n: int, k: int, number: bool, release: str) -> None:
    rng = np.random.default_rng(n)
    leaves = sorted(ORGANS)
    x = np.round(rng.normal(size=n), 1)
    organ = [leaves[at] if at < len(leaves) else None for at in rng.integers(0, len(leaves) + 1, n)]
    town = [f"t{at}" for at in rng.integers(0, 100, n)]
    classes = np.argsort(np.argsort(x, kind="stable")) // k
    attributes = [
        Nominal.of(Column("organ", Role.QUASI, Kind.NOMINAL, Taxonomy(ORGANS)), pa.chunked_array([organ]), "category"),
        Nominal.of(Column("town", Role.QUASI, Kind.NOMINAL), pa.chunked_array([town]), "category"),
    ]
    masked = [a.centroid(classes, None, resolution=None, categories=release) for a in attributes]
    masked[1] = pa.array(["elsewhere", *masked[1].to_pylist()[1:]])
    before, after = [x[:, None]] * number, [np.round(x, 0)[:, None]] * number
    for attribute, column in zip(attributes, masked, strict=True):
        one, (codes,) = attribute.beside([pa.chunked_array([column])])
        before.append((one, 2.0))
        after.append((one._replace(codes=codes), 2.0))
    X, Y = coded(before), coded(after)
    groups = {path[-1]: path for path in ((*p,)[:d] for p in ORGANS.values() for d in (1, 2)) if path} | {"*": ()}

    @cache
    def in_tree(a: str | None, b: str | None) -> float:
        to_group = b in groups and b not in ORGANS
        found = tree["distance_to_group"](ORGANS, groups[b], a) if to_group else tree["distance"](ORGANS, a, b)
        return float(2 * found)

    each = [lambda a, b: (a - b) * (a - b)] * number + [
        in_tree,
        lambda a, b: 0.0 if a == b else 1.0 if b == "*" else 2.0,
    ]
    rows = list(zip(*[x.tolist()] * number, organ, town, strict=True))
    others = list(zip(*[np.round(x, 0).tolist()] * number, *(column.to_pylist() for column in masked), strict=True))
    found = different(Y)
    several = Links(X, found.of_row, found, sets=5)  # remembers what was nearer
    for columns in ([number], [number, number + 1], list(range(number + 2)), [number + 1], [number, number + 1]):
        known = [measure if at in columns else None for at, measure in enumerate(each)]
        expected = oracle["as_near_mixed"](rows, others, known)
        assert as_near(X, found.of_row, found, np.array(columns)).tolist() == expected
        assert several.as_near(np.array(columns)).tolist() == expected


def test_two_threads_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 3))
    masked = different(np.round(X, 1))
    one = as_near(X, masked.of_row, masked, np.arange(3))
    monkeypatch.setattr(module, "_RECORDS_PER_CALL", 64)
    assert np.array_equal(as_near(X, masked.of_row, masked, np.arange(3)), one)


def test_masked_values_beyond_all_bounds_are_far_away() -> None:
    X = np.array([[0.0], [1.0]])
    masked = different(np.array([[1e308], [np.inf]]))
    assert masked.counts.tolist() == [2]
    assert as_near(X, masked.of_row, masked, np.array([0])).tolist() == [2, 2]


def test_values_in_reverse_link_nobody() -> None:
    masked = different(np.arange(5000.0)[::-1, None].copy())
    found = as_near(np.arange(5000.0)[:, None], masked.of_row, masked, np.array([0]))
    assert np.count_nonzero(found) == 0  # 5,000 is even: every record changes its value
