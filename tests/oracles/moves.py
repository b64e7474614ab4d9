"""The SSE of a partition, the least SSE by trying all partitions, and what must agree in one in motion. Slow."""

import math


def sse(points, labels):
    """The sum over all records of squared distances to the means of their classes."""
    total = []
    for c in set(labels):
        inside = [p for p, label in zip(points, labels, strict=True) if label == c]
        for values in zip(*inside, strict=True):
            mean = math.fsum(values) / len(values)
            total += [(v - mean) ** 2 for v in values]
    return math.fsum(total)


def partitions(n, k):
    """All partitions of n records into classes of at least k, as labels."""

    def grow(labels, classes):
        missing = sum(max(k - labels.count(c), 0) for c in range(classes))
        if missing > n - len(labels):
            return
        if len(labels) == n:
            yield labels
            return
        for c in range(classes + 1):
            yield from grow([*labels, c], max(classes, c + 1))

    yield from grow([], 0)


def least(points, k):
    """The least SSE of all partitions into classes of at least k."""
    return min(sse(points, labels) for labels in partitions(len(points), k))


def faults(label, place, size, member, free):
    """Errors in the bookkeeping: every record stands where it says, every class number is used or free."""
    found = [
        f"record {i} is not at place {at} of class {c}"
        for i, (c, at) in enumerate(zip(label, place, strict=True))
        if at >= size[c] or member[c][at] != i
    ]
    found += [f"class {c} has size {m}, not {label.count(c)}" for c, m in enumerate(size) if m != label.count(c)]
    empty = sorted(c for c, m in enumerate(size) if m == 0)
    return found + ([] if sorted(free) == empty else [f"free are {sorted(free)}, empty {empty}"])
