"""Distances in a taxonomy, from its definition. Obviously right, and slow.

A taxonomy is given by the groups around each leaf, from the outermost to the innermost. A group is known by the way to
it. None is a missing value that is a category: it hangs on the root.
"""

from fractions import Fraction


def height(taxonomy, group):
    """Steps from the farthest leaf up to a group."""
    inside = [path for path in taxonomy.values() if path[: len(group)] == group]
    return max([len(path) - len(group) + 1 for path in inside], default=1)


def common(taxonomy, values):
    """The lowest group that all values are in; a value, if all are the same."""
    if len(set(values)) == 1:
        return values[0]
    group = ()
    paths = [taxonomy[value] if value is not None else () for value in values]
    while all(path[: len(group) + 1] == paths[0][: len(group) + 1] and len(path) > len(group) for path in paths):
        group = paths[0][: len(group) + 1]
    return group


def distance(taxonomy, one, other):
    """Height of the lowest common ancestor over the height of the tree."""
    if one == other:
        return Fraction(0)
    return Fraction(height(taxonomy, common(taxonomy, [one, other])), height(taxonomy, ()))


def distance_to_group(taxonomy, group, value):
    """Half the path between a group and a leaf, over the height of the tree."""
    path = taxonomy[value] if value is not None else ()
    depth = 0
    while depth < min(len(path), len(group)) and path[depth] == group[depth]:
        depth += 1
    top = height(taxonomy, path[:depth])
    return Fraction(2 * top - height(taxonomy, group), 2 * height(taxonomy, ()))


def likest_leaf(taxonomy, values, weights, candidates):
    """The candidate of least total distance; of several the first by name, a missing one last."""
    ordered = sorted(candidates, key=lambda value: (value is None, value))
    pairs = list(zip(values, weights, strict=True))
    return min(ordered, key=lambda one: sum(w * distance(taxonomy, one, v) for v, w in pairs))


def least_total(taxonomy, values, weights, candidates):
    """The least total distance of any leaf or group."""
    groups = {path[:depth] for path in taxonomy.values() for depth in range(len(path) + 1)}
    pairs = list(zip(values, weights, strict=True))
    leaves = [sum(w * distance(taxonomy, one, v) for v, w in pairs) for one in candidates]
    return min(leaves + [sum(w * distance_to_group(taxonomy, g, v) for v, w in pairs) for g in groups])
