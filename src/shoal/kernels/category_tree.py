"""Categories as the ends of a tree, and the coordinates that make them as far apart as they are in it.

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
