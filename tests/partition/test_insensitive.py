"""Insensitive: equal to the oracle, and one record moves the list of means by no more than is claimed."""

from __future__ import annotations

import runpy
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.partition.insensitive import Insensitive, least_noise, moves, numbers
from shoal.types import Points

ORACLE = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "insensitive.py"))
insensitive, means = ORACLE["insensitive"], ORACLE["means"]
RNG = np.random.default_rng(0)


def placed(X: np.ndarray) -> Points:
    d = X.shape[1]
    return Points(X, tuple(f"x{j}" for j in range(d)), widths=np.ones(d), lows=np.zeros(d))


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4), st.integers(2, 5), st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_labels_equal_the_oracle(d: int, k: int, strips: int, seed: int, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 40))
    X = rng.integers(0, 5, (n, d)) / 4 if grid else rng.random((n, d))  # on a grid: many ties, and cells' own borders
    part = Insensitive(k, strips).partition(placed(X), RNG)
    assert part.labels.tolist() == insensitive(X.tolist(), k, part.blocks[0].strips)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_strips_come_from_sizes_alone(d: int) -> None:
    rng = np.random.default_rng(1)
    blocks = [Insensitive(3).partition(placed(rng.random((60, d)) ** p), RNG).blocks[0] for p in (1, 9)]
    assert blocks[0].strips == blocks[1].strips == least_noise(20, numbers(np.empty((0, d))))
    assert blocks[0].sizes.tolist() == blocks[1].sizes.tolist()


def test_rows_of_any_order_give_the_same_classes() -> None:
    X = RNG.integers(0, 3, (30, 2)) / 2  # many equal records, which must be one to the order
    turned = X[order := RNG.permutation(30)]
    lists = [sorted(map(tuple, x[Insensitive(4).partition(placed(x), RNG).labels == 2])) for x in (X, turned)]
    assert lists[0] == lists[1], order


def neighbours(data: tuple[int, ...], domain: int) -> set[tuple[int, ...]]:
    """All data sets in which one record is another; as multisets, for the order of rows does not count."""
    return {tuple(sorted((*data[:i], new, *data[i + 1 :]))) for i in range(len(data)) for new in range(domain)} - {data}


def largest_change(domain: list[tuple[Fraction, ...]], n: int, k: int, strips: tuple[int, ...]) -> np.ndarray:
    """The largest L1 change of the list of class means in each coordinate, over all data sets and all neighbours."""
    every = list(combinations_with_replacement(range(len(domain)), n))
    lists = {data: np.array(means([domain[i] for i in data], k, strips), float) for data in every}
    most = np.zeros(len(strips))
    for data in every:
        others = np.array([lists[other] for other in neighbours(data, len(domain))])
        most = np.maximum(most, np.abs(others - lists[data]).sum(axis=1).max(axis=0))
    return most


def claimed(n: int, k: int, strips: tuple[int, ...]) -> list[float]:
    """What the method itself says: in widths of the domain, which is 1."""
    classes = n // k
    return [step / (n if classes == 1 else k) for step in moves(classes, strips)]


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (4, 2), (5, 2), (3, 1), (5, 1)])
@pytest.mark.parametrize("points", [3, 4])
def test_in_one_coordinate_changes_telescope_and_the_bound_is_attained(n: int, k: int, points: int) -> None:
    domain = [(Fraction(i, points - 1),) for i in range(points)]
    (most,), (bound,) = largest_change(domain, n, k, (1,)), claimed(n, k, (1,))
    assert most == pytest.approx(1 / (n if n < 2 * k else k), rel=1e-12)
    assert most <= bound <= most * (1 + 1e-9)


@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (4, 1), (5, 1)])
@pytest.mark.parametrize("strips", [(1, 1), (2, 1), (3, 1)])
def test_in_two_coordinates_no_neighbour_moves_more(n: int, k: int, strips: tuple[int, ...]) -> None:
    domain = list(product([Fraction(0), Fraction(1, 2), Fraction(1)], repeat=2))
    if n == 5:
        domain = [domain[i] for i in (0, 2, 4, 6, 8)]
    most, bound = largest_change(domain, n, k, strips), np.array(claimed(n, k, strips))
    assert (most <= bound).all()
    assert (most >= 0.6 * bound).any()  # and it is not idle


@pytest.mark.parametrize("strips", [(1, 1, 1), (2, 2, 1), (2, 1, 1), (1, 2, 1)])
def test_in_three_coordinates_no_neighbour_moves_more(strips: tuple[int, ...]) -> None:
    domain = list(product([Fraction(0), Fraction(1)], repeat=3))
    most, bound = largest_change(domain, 4, 1, strips), np.array(claimed(4, 1, strips))
    assert (most <= bound).all()


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 4), st.integers(2, 6), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_no_neighbour_of_a_random_table_moves_more(d: int, k: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = classes * k + int(rng.integers(0, k))
    X = rng.integers(0, 2, (n, d)).astype(float) if seed % 2 else rng.random((n, d))
    Y = X.copy()
    Y[rng.integers(n)] = rng.integers(0, 2, d)
    parts = [Insensitive(k).partition(placed(x), RNG).blocks[0] for x in (X, Y)]
    lists = [
        np.array([x[b.labels == c].mean(axis=0) for c in range(classes)]) for x, b in zip((X, Y), parts, strict=True)
    ]
    change = np.abs(lists[0] - lists[1]).sum(axis=0)
    assert parts[0].moves is not None
    assert (change <= np.array(parts[0].moves) + 1e-12).all()
    both = [[x[b.labels == c].tolist() for c in range(classes)] for x, b in zip((X, Y), parts, strict=True)]
    for one, other in zip(*both, strict=True):  # each class changes by at most one record
        left = [row for row in one if row not in other or one.count(row) > other.count(row)]
        assert len({tuple(row) for row in left}) <= 1


def test_the_bound_is_far_below_the_plain_one() -> None:
    classes = 100  # the plain bound of insensitive microaggregation is the number of classes in every coordinate
    assert sum(moves(classes, least_noise(classes, numbers(np.empty((0, 2)))))) < 0.11 * 2 * classes
    assert sum(moves(classes, least_noise(classes, numbers(np.empty((0, 3)))))) < 0.24 * 3 * classes
    assert moves(classes, (1,))[0] == pytest.approx(1.0)


def test_without_bounds_nothing_is_known_of_what_one_record_moves() -> None:
    part = shoal.microaggregate(RNG.random((20, 2)), 4, method="insensitive")
    assert part.blocks[0].moves is None
    assert part.sizes.tolist() == [4] * 5
