"""The category, or the group, that stands for a class: by how much of the class lies below each node of the tree.

The way from a leaf up to a node is as long as the node is high. Two leaves are as far apart as their lowest common
ancestor is high, over the height of the tree: 1 at most. Categories without groups are all 1 apart.

One coordinate for each edge: √(its length / twice the height of the tree) for what lies below it, 0 for the rest. The
squared distance between two leaves is then half the length of the path between them over the height: exactly that.
What a group lies from a leaf is the same: half the path, over the height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.types import Taxonomy


@dataclass(frozen=True, eq=False)
class Tree:
    """The categories of a column, in order of their names, and the groups above them.

    Attributes
    ----------
    names
        Of the categories, then of the groups, inner ones before those around them; the last is the root.
    categories
        How many categories there are.
    parent
        For each category and group the group it hangs on; the root hangs on itself.
    height
        Of each of them: 0 for a category.
    """

    names: tuple[str, ...] = field(repr=False)
    categories: int
    parent: NDArray[np.int64] = field(repr=False)
    height: NDArray[np.int64] = field(repr=False)

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.names) - 1

    @property
    def embedding(self) -> NDArray[np.float64]:
        """Coordinates of categories and groups: (names, edges)."""
        lengths = self.height[self.parent] - self.height
        found = np.zeros((len(self.names), len(self.names) - 1))
        for node in range(len(self.names) - 2, -1, -1):  # groups around a node come after it
            found[node] = found[self.parent[node]]
            found[node, node] = np.sqrt(lengths[node] / (2.0 * self.height[self.root]))
        return found


def tree_of(categories: Sequence[str], taxonomy: Taxonomy | None) -> Tree:
    """Return the tree of the categories that occur, which must all be in the taxonomy if there is one.

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
    # those of the whole taxonomy, so that distances do not depend on which of its values a table has
    for path in taxonomy.paths.values() if taxonomy is not None else ():
        for depth in range(len(path) + 1):
            if path[:depth] in place:
                node = place[path[:depth]]
                height[node] = max(height[node], len(path) + 1 - depth)
    names = (*categories, *(path[-1] for path in groups), "*")
    return Tree(names, len(categories), np.array(parent, np.int64), height)


_TIE = 1e-12  # weights and distances that differ by less, relative to the whole, are the same


@dataclass(frozen=True, eq=False)
class Below:
    """How much of each class lies below each node: only where there is something, sorted by class and node.

    Attributes
    ----------
    classes
        How many classes there are; those of which nothing is here are among them.
    of, node, share
        A class, a node, and the weight of the class's records below it.
    member
        Whether it is the category of a record itself.
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
    """Return how much of each class lies below each node; weights that are all 0 count the same.

    **Complexity.** O(p h log p) for p different categories of classes in a tree of height h; no coordinates are made.
    """
    nodes = len(parent)
    if weights is not None:
        order = np.argsort(weights, kind="stable")  # no order of rows may change a sum
        labels, codes, weights = labels[order], codes[order], weights[order]
        whole = np.bincount(labels, weights, classes)
        weights = np.where(whole[labels] > 0, weights, 1.0)
    leaves, inverse = np.unique(labels * nodes + codes, return_inverse=True)
    share = np.bincount(inverse, weights, len(leaves)).astype(np.float64)
    keys, shares = [leaves], [share]
    at = leaves
    while True:
        node = at % nodes
        up = parent[node] != node  # the root hangs on itself
        if not up.any():
            break
        at, share = at[up] - node[up] + parent[node[up]], share[up]
        keys.append(at)
        shares.append(share)
    found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(inverse, np.concatenate(shares), len(found)).astype(np.float64)
    return Below(classes, found // nodes, found % nodes, total, np.isin(found, leaves))


def likest_leaf(parent: NDArray[np.int64], height: NDArray[np.int64], inside: Below) -> NDArray[np.int64]:
    """Return the category of least total distance to each class, of several the first; −1 for a class of nobody.

    What a category is away from all records is the sum, over the edges above it, of the edge's length times the weight
    of what does not lie below the edge. No category is nearer than all that members have, so only those are looked at.
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
    """Return the node of least total distance to each class, of several the highest; −1 for a class of nobody.

    A step down an edge comes nearer to what lies below it, and goes as far away from the rest. So it is worth it while
    more than half of the weight lies below: the lowest such node, for they lie below each other.
    """
    return _lowest(height, inside, 0.5 + _TIE)


def common_ancestor(height: NDArray[np.int64], inside: Below) -> NDArray[np.int64]:
    """Return the lowest node below which all records of each class lie; −1 for a class of nobody.

    What lies below each node must be counted, not weighted: a record of weight 0 is a record.
    """
    return _lowest(height, inside, 1.0 - _TIE)


def _lowest(height: NDArray[np.int64], inside: Below, part: float) -> NDArray[np.int64]:
    whole = np.zeros(inside.classes)
    np.maximum.at(whole, inside.of, inside.share)  # below the root
    enough = np.flatnonzero(inside.share > part * whole[inside.of])
    enough = enough[np.argsort(height[inside.node[enough]], kind="stable")]
    return _first(inside.classes, inside.of[enough], inside.node[enough])


def _first(classes: int, of: NDArray[np.int64], node: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first node that is named for each class."""
    chosen = np.full(classes, -1, np.int64)
    there, first = np.unique(of, return_index=True)
    chosen[there] = node[first]
    return chosen
