"""Marginality of categories and t-closeness first with it, from the definitions. Obviously right, and slow."""

import importlib.util
from fractions import Fraction
from pathlib import Path


def _oracle(name):
    spec = importlib.util.spec_from_file_location(
        f"oracle_{name}_of_marginality", Path(__file__).with_name(f"{name}.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_first, _merge, _steered = _oracle("t_first"), _oracle("t_close_merge"), _oracle("steered")


def _above(parents, node):
    """The groups around a node, from the inside; the root is −1."""
    found = []
    while node >= 0:
        node = parents[node]
        found.append(node)
    return found


def distance(parents, one, other):
    """Height of the lowest common ancestor; without a tree 1."""
    if one == other:
        return 0
    if parents is None:
        return 1
    common = next(node for node in _above(parents, one) if node in _above(parents, other))
    leaves = [node for node in range(len(parents)) if node not in parents]
    return max(_above(parents, leaf).index(common) + 1 for leaf in leaves if common in _above(parents, leaf))


def marginality(attribute, value):
    """[DSR13]: the sum of the distances from a value to the values of all records of the table."""
    parents = None if attribute.parents is None else attribute.parents.tolist()
    return sum(count * distance(parents, value, other) for other, count in enumerate(attribute.counts.tolist()))


def order(attribute):
    """Values from the least marginal; of several, the one with the lowest number first."""
    return sorted(range(len(attribute.counts)), key=lambda value: (marginality(attribute, value), value))


def ranks(attribute):
    """The place of each record's value in that order."""
    places = {value: place for place, value in enumerate(order(attribute))}
    return [places[value] for value in attribute.codes.tolist()]


def spread(values):
    """Ranks by value; of equal ones, the i-th by row is at the fractional part of i times the golden ratio."""

    def key(row):
        earlier = values[:row].count(values[row])
        return values[row], earlier * 0.6180339887498949 % 1.0

    rows = sorted(range(len(values)), key=key)
    return [rows.index(row) for row in range(len(values))]


def _sse(points, labels):
    total = Fraction(0)
    for label in set(labels):
        rows = [[Fraction(x) for x in point] for point, own in zip(points, labels, strict=True) if own == label]
        for column in zip(*rows, strict=True):
            mean = sum(column) / len(column)
            total += sum((x - mean) ** 2 for x in column)
    return total


def _growing(size, n):
    yield size
    while 2 * (size + size // 2 + 1) <= n:
        size += size // 2 + 1
        yield size


def _best(points, attribute, t, ways):
    """The merged partition with the lowest SSE; of each way, sizes up to the first at which no class falls short."""
    found = []
    for way in ways:
        for labels in way:
            merged = _merge.t_close_merge(points, list(labels), (attribute,), t)
            found.append(merged)
            if len(set(merged)) == len(set(labels)):
                break
    return min(found, key=lambda labels: _sse(points, labels))


def t_first(points, attribute, k, t):
    """Labels of [SC15] Algorithm 3 for categories, merged, with the least SSE over orders and class sizes."""
    n, least = len(points), _first.cluster_size(len(points), k, t)
    orders = [ranks(attribute), *([attribute.codes.tolist()] if attribute.parents is not None else [])]
    orders = [spread(values) for values in orders]

    def way(values):
        for size in _growing(least, n):
            yield _first.t_first(points, values, size, 1).tolist() if n >= 2 * size else [0] * n

    return _best(points, attribute, t, [way(values) for values in orders])


def steered(points, attribute, k, t, weight_of):
    """Labels of [DS17] Algorithm 1 for categories, merged, with the least SSE over numbers of buckets."""
    n, values = len(points), spread(ranks(attribute))

    def way():
        for size in _growing(_steered.bucket_count(n, k, t), n):
            yield _steered.steered(points, values, size, 1, weight_of(size))

    return _best(_steered.normalised(points), attribute, t, [way()])
