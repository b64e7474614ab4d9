"""Atoms: equal records stay together, whole classes are merged, and nothing depends on the order of rows."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.partition._atoms import keep_equal_together, merge_failing
from shoal.types import CodedColumn, coded


def as_sets(labels: np.ndarray, rows: np.ndarray | None = None) -> set[frozenset[int]]:
    rows = np.arange(len(labels)) if rows is None else rows
    return {frozenset(rows[labels == one].tolist()) for one in set(labels.tolist())}


def kept_together(x: np.ndarray, labels: np.ndarray) -> list[set[int]]:
    """Return the classes after every vector has moved to the class with most copies, by plain loops."""
    classes = {one: [tuple(row) for row in x[labels == one].tolist()] for one in sorted(set(labels.tolist()))}
    key = {one: (np.sort(x[labels == one], axis=0).mean(axis=0).tolist(), sorted(classes[one])) for one in classes}
    found: dict[int, set[int]] = {}
    for row, point in enumerate(map(tuple, x.tolist())):
        best = min(classes, key=lambda one: (-classes[one].count(point), *key[one]))
        found.setdefault(best, set()).add(row)
    return list(found.values())


def oracle(x: np.ndarray, labels: np.ndarray, k: int) -> set[frozenset[int]]:
    """Merge classes of fewer than k in rounds: the smallest first, with the nearest mean that is free."""
    classes = kept_together(x, labels)
    while len(classes) > 1 and any(len(one) < k for one in classes):
        mean = {i: x[sorted(one)].mean(axis=0).tolist() for i, one in enumerate(classes)}
        classes = [classes[i] for i in sorted(mean, key=lambda i: (mean[i], sorted(x[sorted(classes[i])].tolist())))]
        mean_of = [x[sorted(one)].mean(axis=0) for one in classes]
        taken: set[int] = set()
        into = list(range(len(classes)))
        small = sorted((i for i, one in enumerate(classes) if len(one) < k), key=lambda i: (len(classes[i]), i))
        for i in small:
            apart = sorted((float(((mean_of[i] - mean_of[j]) ** 2).sum()), j) for j in range(len(classes)) if j != i)
            free = [j for _, j in apart[:8] if j not in taken]
            if i not in taken and free:
                into[i] = free[0]
                taken |= {i, free[0]}
        classes = [set().union(*(classes[i] for i in range(len(classes)) if into[i] == j)) for j in sorted(set(into))]
    return {frozenset(one) for one in classes}


def some_classes(rng: np.random.Generator, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = int(rng.integers(2 * k, 40))
    x = rng.integers(0, 4, (n, 2)).astype(float) * [1.0, 2.0]
    return x, rng.permutation(np.arange(n) % (n // k)).astype(np.int64)


@pytest.mark.parametrize("seed", range(40))
def test_equal_records_go_where_most_of_them_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.kernels.refine.equal_records.settle", lambda x, labels, k: labels)  # before that
    x, labels = some_classes(np.random.default_rng(seed), 3)
    found = keep_equal_together(x, labels, 3)
    assert as_sets(found) == oracle(x, labels, 3)
    assert np.bincount(found).min() >= 3
    for row in x:
        assert len(set(found[(x == row).all(axis=1)].tolist())) == 1


@pytest.mark.parametrize("seed", range(20))
def test_records_equal_in_their_codes_are_kept_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 60))
    each = np.arange(6, dtype=np.int32)
    low, high = np.array([each, each // 3 * 3], np.int32), np.array([each + 1, each // 3 * 3 + 3], np.int32)
    column = CodedColumn(rng.integers(0, 6, n).astype(np.int32), low, high, np.array([1, 2]))
    x = coded([rng.integers(0, 2, (n, 1)).astype(float), (column, 1.0)])
    labels = rng.permutation(np.arange(n) % (n // 4))
    kept = keep_equal_together(x, labels, 3)
    assert np.bincount(kept).min() >= 3
    order = rng.permutation(n)
    assert as_sets(keep_equal_together(x[order], labels[order], 3), order) == as_sets(kept)
    keys = np.column_stack((x.numbers, x.codes))
    assert all(len(set(kept[(keys == row).all(axis=1)].tolist())) == 1 for row in keys)


@pytest.mark.parametrize("seed", range(40))
def test_the_order_of_rows_and_the_choice_among_copies_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, labels = some_classes(rng, 3)
    before = as_sets(keep_equal_together(x, labels, 3))
    order = rng.permutation(len(x))
    assert as_sets(keep_equal_together(x[order], labels[order], 3), order) == before
    other = labels.copy()  # copies of a vector take each other's classes
    for row in np.unique(x, axis=0):
        copies = np.flatnonzero((x == row).all(axis=1))
        other[copies] = rng.permutation(labels[copies])
    assert as_sets(keep_equal_together(x, other, 3)) == before


def test_classes_without_a_split_vector_stay_as_they_are() -> None:
    x = np.array([[0.0], [5.0], [0.0], [6.0]])
    assert keep_equal_together(x, np.array([1, 0, 1, 0]), 2).tolist() == [1, 0, 1, 0]


def test_one_class_is_left_if_every_class_fails() -> None:
    x = np.arange(12.0).reshape(-1, 1)
    assert merge_failing(x, np.arange(12) // 2, lambda own: np.ones(own.max() + 1, bool)).max() == 0
