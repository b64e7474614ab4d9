"""Representative category or group of a class, from the weight of the class below each node of the taxonomy.

The path from a leaf up to a node is as long as the node is high. The distance between two leaves is the height of
their lowest common ancestor divided by the height of the tree, at most 1. Categories without groups are all at
distance 1.

Each edge has a coordinate: √(its length / twice the height of the tree) for nodes below it, 0 for all others. The
squared distance between two leaves is then half the length of the path between them over the height of the tree, which
is the distance above. The same holds for a group and a leaf: half the path, over the height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.types import Taxonomy


@dataclass(frozen=True, eq=False)
class Tree:
    """Categories of a column, in order of their names, and the groups above them.

    Attributes
    ----------
    names
        Names of the categories, then of the groups, inner groups before outer ones; the last is the root.
    categories
        Number of categories.
    parent
        Parent group of each category and group; the root is its own parent.
    height
        Height of each category and group: 0 for a category.
    """

    names: tuple[str, ...] = field(repr=False)
    categories: int
    parent: NDArray[np.int64] = field(repr=False)
    height: NDArray[np.int64] = field(repr=False)

    @property
    def root(self) -> int:
        """Return the number of the root."""
        return len(self.names) - 1

    @property
    def embedding(self) -> NDArray[np.float64]:
        """Return the coordinates of categories and groups: (names, edges)."""
        lengths = self.height[self.parent] - self.height
        found = np.zeros((len(self.names), len(self.names) - 1))
        for node in range(len(self.names) - 2, -1, -1):  # a node's ancestors come after it
            found[node] = found[self.parent[node]]
            found[node, node] = np.sqrt(lengths[node] / (2.0 * self.height[self.root]))
        return found


def tree_of(categories: Sequence[str], taxonomy: Taxonomy | None) -> Tree:
    """Return the tree of the categories that occur; a taxonomy, if given, must contain all of them.

    >>> organs = Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)})
    >>> t = tree_of(["asthma", "flu", "ulcer"], organs)
    >>> t.names, t.parent.tolist(), t.height.tolist()
    (('asthma', 'flu', 'ulcer', 'belly', 'lungs', '*'), [4, 4, 3, 5, 5, 5], [0, 0, 0, 1, 1, 2])
    """
    paths = {name: taxonomy.paths[name] if taxonomy is not None else () for name in categories}
    inside = {path[:depth] for path in paths.values() for depth in range(1, len(path) + 1)}
    groups = sorted(inside, key=lambda path: (-len(path), path))
    place = {path: len(categories) + at for at, path in enumerate(groups)}
    place[()] = root = len(categories) + len(groups)
    parent = [place[paths[name]] for name in categories] + [place[path[:-1]] for path in groups] + [root]
    height = np.zeros(root + 1, np.int64)
    height[root] = 1
    # use the heights of the whole taxonomy, so that distances do not depend on which of its values a table has
    for path in taxonomy.paths.values() if taxonomy is not None else ():
        for depth in range(len(path) + 1):
            if path[:depth] in place:
                node = place[path[:depth]]
                height[node] = max(height[node], len(path) + 1 - depth)
    names = (*categories, *(path[-1] for path in groups), "*")
    return Tree(names, len(categories), np.array(parent, np.int64), height)


def levels_of(
    tree: Tree, beside: int = 0, groups: Sequence[int] | NDArray[np.int64] = ()
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Number the categories so that every group holds consecutive numbers; return its groups level by level.

    Parameters
    ----------
    tree
        The categories and their groups.
    beside
        Further categories, next to all groups.
    groups
        Groups of the tree that stand for their categories in a released table.

    Returns
    -------
    number : (categories + groups + beside,) int32
        The number of each category, then of each group in `groups`, then of those next to all groups.
    low, high, times
        As in :class:`shoal.types.CodedColumn`.

    >>> organs = Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)})
    >>> number, low, high, times = levels_of(tree_of(["asthma", "flu", "ulcer"], organs))
    >>> number.tolist(), low.tolist(), high.tolist(), times.tolist()
    ([1, 2, 0], [[0, 1, 2], [0, 1, 1]], [[1, 2, 3], [1, 3, 3]], [1, 1])
    """
    nodes = np.concatenate((np.arange(tree.categories), np.asarray(groups, np.int64)))
    c, tall = len(nodes), int(tree.height[tree.root])
    above = [nodes]
    for h in range(1, tall):
        at = above[-1]
        while True:
            up = np.where(tree.height[tree.parent[at]] <= h, tree.parent[at], at)
            if (up == at).all():
                break
            at = up
        above.append(at)
    order = np.lexsort(above)  # the last key, the largest groups, comes first
    number = np.empty(c, np.int32)
    number[order] = np.arange(c)
    more = np.arange(c, c + beside, dtype=np.int32)
    lows: list[NDArray[np.int32]] = []
    highs: list[NDArray[np.int32]] = []
    times: list[int] = []
    for h, at in enumerate(above):
        first = np.flatnonzero(np.concatenate(([True], at[order][1:] != at[order][:-1])))
        sizes = np.diff(np.append(first, c))
        low, high = np.repeat(first, sizes), np.repeat(first + sizes, sizes)
        lower = tree.height[nodes[order]] > h  # than the group itself: it has no group there
        low[lower] = high[lower] = np.flatnonzero(lower)
        if lows and (low == lows[-1][:c]).all() and (high == highs[-1][:c]).all():
            times[-1] += 1
            continue
        lows.append(np.concatenate((low.astype(np.int32), more)))
        highs.append(np.concatenate((high.astype(np.int32), more + 1)))
        times.append(1)
    return np.concatenate((number, more)), np.array(lows), np.array(highs), np.array(times, np.int64)


_TIE = 1e-12  # weights and distances that differ by less, relative to the total, count as equal


@dataclass(frozen=True, eq=False)
class Below:
    """Weight of each class below each node: non-zero entries only, sorted by class and node.

    Attributes
    ----------
    classes
        Number of classes, including those without an entry.
    of, node, share
        The class, the node, and the weight of the class's records below the node.
    member
        Whether the node is itself the category of a record.
    """

    classes: int
    of: NDArray[np.int64] = field(repr=False)
    node: NDArray[np.int64] = field(repr=False)
    share: NDArray[np.float64] = field(repr=False)
    member: NDArray[np.bool_] = field(repr=False)


def below(
    parent: NDArray[np.int64],
    labels: NDArray[np.int64],
    codes: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    classes: int,
) -> Below:
    """Return the weight of each class below each node; if a class's weights are all 0, its records count equally.

    **Complexity.** O(p h log p) for p distinct categories of classes in a tree of height h; computes no coordinates.
    """
    nodes = len(parent)
    if weights is not None:
        order = np.argsort(weights, kind="stable")  # sums must not depend on the order of rows
        labels, codes, weights = labels[order], codes[order], weights[order]
        whole = np.bincount(labels, weights, classes)
        weights = np.where(whole[labels] > 0, weights, 1.0)
    leaves, inverse = np.unique(labels * nodes + codes, return_inverse=True)
    share = np.bincount(inverse, weights, len(leaves)).astype(np.float64)
    keys, shares = [leaves], [share]
    at = leaves
    while True:
        node = at % nodes
        up = parent[node] != node  # the root is its own parent
        if not up.any():
            break
        at, share = at[up] - node[up] + parent[node[up]], share[up]
        keys.append(at)
        shares.append(share)
    found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(inverse, np.concatenate(shares), len(found)).astype(np.float64)
    member = np.zeros(len(found), np.bool_)
    member[inverse[: len(leaves)]] = True
    return Below(classes, found // nodes, found % nodes, total, member)


def likest_leaf(parent: NDArray[np.int64], height: NDArray[np.int64], inside: Below) -> NDArray[np.int64]:
    """Return the category with the least total distance to each class, ties to the first; −1 for an empty class.

    The total distance of a category is the sum, over the edges above it, of the edge's length times the weight that
    does not lie below the edge. The nearest category is always one that occurs in the class, so only those are tried.
    """
    nodes, lengths = len(parent), height[parent] - height
    keys = inside.of * nodes + inside.node
    of, node = inside.of[inside.member], inside.node[inside.member]
    whole = np.bincount(of, inside.share[inside.member], inside.classes)
    distance, at = np.zeros(len(of)), node
    while (lengths[at] > 0).any():
        distance += lengths[at] * (whole[of] - inside.share[np.searchsorted(keys, of * nodes + at)])
        at = parent[at]
    least = np.full(inside.classes, np.inf)
    np.minimum.at(least, of, distance)
    near = distance <= least[of] + _TIE * whole[of] * height.max()
    return _first(inside.classes, of[near], node[near])


def likest_node(height: NDArray[np.int64], inside: Below) -> NDArray[np.int64]:
    """Return the node with the least total distance to each class, ties to the highest; −1 for an empty class.

    A step down an edge comes nearer to the records below it and moves away from the rest by the same length. It pays
    while more than half of the weight lies below. Nodes with that much weight lie on one path; the lowest is returned.
    """
    return _lowest(height, inside, 0.5 + _TIE)


def common_ancestor(height: NDArray[np.int64], inside: Below) -> NDArray[np.int64]:
    """Return the lowest node that has all records of each class below it; −1 for an empty class.

    `inside` must hold counts, not weights: a record of weight 0 is a record.
    """
    return _lowest(height, inside, 1.0 - _TIE)


def _lowest(height: NDArray[np.int64], inside: Below, part: float) -> NDArray[np.int64]:
    whole = np.zeros(inside.classes)
    np.maximum.at(whole, inside.of, inside.share)  # below the root
    enough = np.flatnonzero(inside.share > part * whole[inside.of])
    enough = enough[np.argsort(height[inside.node[enough]], kind="stable")]
    return _first(inside.classes, inside.of[enough], inside.node[enough])


def _first(classes: int, of: NDArray[np.int64], node: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first node listed for each class."""
    chosen = np.full(classes, -1, np.int64)
    there, first = np.unique(of, return_index=True)
    chosen[there] = node[first]
    return chosen
