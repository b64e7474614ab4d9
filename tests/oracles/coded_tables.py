"""Small tables of numbers and codes, and their distances, attribute by attribute, from the definition."""

from __future__ import annotations

import numpy as np

from shoal.types.coded import Coded, CodedColumn, coded


def column(codes: np.ndarray, categories: int, fans: tuple[int, ...] = ()) -> CodedColumn:
    """Return a column of categories; those with the same number // fan share a group, level by level."""
    every = np.arange(categories)
    low = [every, *(every // fan * fan for fan in fans)]
    high = [every + 1, *(np.minimum(one + fan, categories) for one, fan in zip(low[1:], fans, strict=True))]
    times = np.array([1, *range(2, 2 + len(fans))])
    return CodedColumn(codes.astype(np.int32), np.array(low, np.int32), np.array(high, np.int32), times)


def table(seed: int, n: int, wide: int = 40, numbers: int = 1, grid: bool = False) -> Coded:
    """Return n records: numbers around two attributes, a flat one of 3 categories and a taxonomy of `wide`."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, numbers)) / 4.0 if grid else rng.normal(size=(n, numbers))
    flat = column(rng.integers(0, 3, n), 3)
    tree = column(np.minimum(rng.geometric(3.0 / wide, n) - 1, wide - 1), wide, (4, 16))
    return coded([x[:, :1], (flat, 0.7), (tree, 1.3), x[:, 1:]])


def distances(x: Coded, i: int) -> np.ndarray:
    """Return the squared distances of all records from record i."""
    g, found = x.layout, np.zeros(len(x))
    for at in g.order.tolist():
        if at >= 0:
            found += (x.numbers[:, at] - x.numbers[i, at]) ** 2
            continue
        one, height = x.column(~at), np.zeros(len(x), np.int64)
        for low, times in zip(one.low, one.times, strict=True):
            height += times * (low[one.codes] != low[one.codes[i]])
        found += g.weight[~at] * height / g.height[~at]
    return found


def neighbours(x: Coded, count: int) -> np.ndarray:
    """Return the nearest other records of every record, by sorting."""
    found = []
    for i in range(len(x)):
        apart = distances(x, i)
        apart[i] = np.inf
        found.append(np.argsort(apart, kind="stable")[:count])
    return np.array(found)
