"""How far it is from end to end of a taxonomy's leaves in line, and how far within its groups of one depth."""

from __future__ import annotations

import math

from shoal.types import Taxonomy

Node = tuple[tuple[str, ...], str | None]  # a group by its path, or a leaf in it


def spread(taxonomy: Taxonomy, cells: int | None) -> tuple[float, float]:
    """Return how far two leaves of a group can be apart, and the steps from group to group, added up along the line.

    Groups are those of the depth at which there are so many, leaves that lie higher counted as groups; None: every leaf
    by itself. Where there is no such depth nothing is known, and both are infinite. A node with c branches is passed
    c − 1 times, from one branch to the next, by a step as long as it is high; whatever the order of its branches.

    >>> organs = Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)})
    >>> spread(organs, 1), spread(organs, 2), spread(organs, None), spread(organs, 7)
    ((1.0, 0.0), (0.5, 1.0), (0.0, 1.5), (inf, inf))
    """
    branches: dict[tuple[str, ...], set[Node]] = {}
    height: dict[tuple[str, ...], int] = {}
    for leaf, path in taxonomy.paths.items():
        chain: list[Node] = [*((path[:depth], None) for depth in range(1, len(path) + 1)), (path, leaf)]
        for depth, below in enumerate(chain):
            branches.setdefault(path[:depth], set()).add(below)
            height[path[:depth]] = max(height.get(path[:depth], 0), len(path) + 1 - depth)
    forks = {node: height[node] / height[()] for node, below in branches.items() if len(below) > 1}
    for depth in range(taxonomy.height, -1, -1):
        above = [node for node in branches if len(node) < depth]
        count = 1 + sum(len(branches[node]) - 1 for node in above)
        if cells is None or count == cells:
            within = max((far for node, far in forks.items() if len(node) >= depth), default=0.0)
            return within, math.fsum((len(branches[node]) - 1) * forks[node] for node in above if node in forks)
    return math.inf, math.inf
