"""Coordinates of the steering `spread`, transcribed. Obviously right, and slow."""

import importlib.util
from pathlib import Path


def _oracle(name):
    spec = importlib.util.spec_from_file_location(f"oracle_{name}_of_spread", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_first, _marginality = _oracle("t_first"), _oracle("marginality")


def groups(points, values, buckets):
    """The group of each record: one of every subset, the subsets being cut from the most frequent value on."""
    order = sorted(set(values), key=lambda value: (-values.count(value), value))
    ranks = _marginality.spread([order.index(value) for value in values])
    if len(points) < 2 * _first.cluster_size(len(points), buckets, 1):
        return [0] * len(points)
    return _first.t_first(points, ranks, buckets, 1).tolist()


def spread(points, values, buckets):
    """The mean of each record's group, in coordinates from 0 to 1, over the root of their number."""
    found = groups(points, values, buckets)
    columns = []
    for column in zip(*points, strict=True):
        low, high = min(column), max(column)
        columns.append([(x - low) / (high - low) if high > low else 0.0 for x in column])
    means = []
    for own in found:
        rows = [row for row, other in enumerate(found) if other == own]
        means.append([sum(column[row] for row in rows) / len(rows) / len(columns) ** 0.5 for column in columns])
    return means
