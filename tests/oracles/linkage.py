"""Distance-based record linkage over all pairs, transcribed. Obviously right, and slow."""

from __future__ import annotations

from itertools import combinations


def as_near(original, masked, columns):
    """For each record the number of masked records as near as its own; 0 if one is nearer."""
    found = []
    for row, x in enumerate(original):
        distances = []
        for y in masked:
            distance = 0.0
            for j in columns:
                distance += (x[j] - y[j]) * (x[j] - y[j])
            distances.append(distance)
        nearest = min(distances)
        found.append(distances.count(nearest) if distances[row] == nearest else 0)
    return found


def as_near_mixed(original, masked, measures):
    """The same, where `measures` give the squared distance of two values, column by column; None: not known."""
    found = []
    for row, x in enumerate(original):
        distances = []
        for y in masked:
            distance = 0.0
            for measure, a, b in zip(measures, x, y, strict=True):
                if measure is not None:
                    distance += measure(a, b)
            distances.append(distance)
        nearest = min(distances)
        found.append(distances.count(nearest) if distances[row] == nearest else 0)
    return found


def linked(original, masked, columns):
    """The percentage of records linked correctly: of several nearest the intruder picks one."""
    ties = as_near(original, masked, columns)
    return 100 * sum(1 / t for t in ties if t) / len(ties)


def distance_linkage(original, masked, attributes):
    """The mean over all sets of known attributes, each a list of its coordinates."""
    found = []
    for size in range(1, len(attributes) + 1):
        for known in combinations(attributes, size):
            found.append(linked(original, masked, [j for places in known for j in places]))
    return sum(found) / len(found)
