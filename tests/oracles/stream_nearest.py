"""Algorithms 2 and 3 of [DS17] with Note 1, transcribed. Obviously right, and slow."""

import math


def stream_nearest(points, positions, subjects, k, delay, weight, flush=True, stalls=None):
    """Classes of a stream in the order of formation, each a set of positions; dropped positions; pending positions.

    `positions` ascend; records that are not tuples leave gaps. Ties go to the tuple that came first. A class takes the
    nearest tuples one after the other until it has k subjects. At the end of the stream the rest goes on expiring,
    oldest first, and the last ones, too few for a class, join the last class formed at the end.

    `stalls` maps a position after which nothing came for long enough to the last position that expired by then. These
    tuples are released as at the end of the stream; those too few for a class join the last one that the stall formed.
    """
    buffer, classes, moments, dropped = [], [], [], []
    x = dict(zip(positions, points, strict=True))
    who = dict(zip(positions, subjects, strict=True))

    def distance(i, j):
        total = 0.0
        for a, b in zip(x[i], x[j], strict=True):
            total += (a - b) * (a - b)
        if weight > 0:
            total += (weight * (i - j)) * (weight * (i - j))
        return total

    def expire(i, now):
        if len({who[j] for j in buffer}) < k:
            buffer.remove(i)
            dropped.append(i)
            return
        cluster = [i]
        for j in sorted((j for j in buffer if j != i), key=lambda j: (distance(j, i), j)):
            if len({who[m] for m in cluster}) == k:
                break
            cluster.append(j)
        for j in cluster:
            buffer.remove(j)
        classes.append(sorted(cluster))
        moments.append(now)

    def expire_all(upto, now):
        before, kept = len(classes), len(dropped)
        while buffer and buffer[0] <= upto:
            expire(buffer[0], now)
        if len(classes) > before:
            classes[-1] = sorted(classes[-1] + dropped[kept:])
            del dropped[kept:]

    for i in positions:
        buffer.append(i)
        while buffer and buffer[0] <= i - delay:
            expire(buffer[0], i)
        if stalls and i in stalls:
            expire_all(stalls[i], i)
    if flush:
        expire_all(positions[-1], positions[-1])
    return classes, dropped, list(buffer), moments


def mean(values):
    """The mean of a class as it leaves."""
    return math.fsum(values) / len(values)
