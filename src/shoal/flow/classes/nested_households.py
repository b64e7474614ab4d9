"""Records within the classes of their groups: what is of the group is kept together, and k holds over everything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.flow.classes.households import partition_together
from shoal.flow.classes.refine import refined
from shoal.flow.classes.repair import enforced
from shoal.flow.classes.strata import partition_strata
from shoal.recipe.recipe import Recipe
from shoal.types import Partition, Points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Wider:
    """A method that forms larger classes of groups, so that there is room in each for several classes of records.

    If all records had classes of k, there would be n/k. Groups get (n/k) to the power of their share of the attributes,
    so that both kinds of attributes are cut into about as many parts each.

    **Guarantee.** Classes of at least k groups, if the method forms classes of at least k points.

    >>> Wider(None, None, 5, 0.5, 2.0).size(1000)  # 2,000 records: 20 classes of 50 groups
    50
    """

    method: Any
    refine: str | None
    k: int
    share: float  #: of the attributes that are of the group
    members: float  #: records of a group, on average

    def size(self, groups: int) -> int:
        """Return how many groups a class must hold, of so many."""
        classes = float(max(1.0, groups * self.members / self.k) ** self.share)
        return min(groups, max(self.k, round(groups / classes)))

    def settled(self, points: Points) -> Wider:
        """Let the method find in all points what must not differ from stratum to stratum."""
        return replace(self, method=self.method.settled(points)) if hasattr(self.method, "settled") else self

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form the classes of groups."""
        sized = replace(self.method, k=self.size(len(points)))
        wider = refined(enforced(sized, None, more=bool(points.required)), self.refine)
        found: Partition = wider.partition(points, rng)
        return found


def way_of_groups(plain: Any, recipe: Recipe, groups: NDArray[np.int64]) -> Any:
    """Return what forms classes of whole groups."""
    if not recipe.nested:
        return refined(enforced(plain, None, more=bool(recipe.require)), recipe.refine)
    share = len(recipe.all_blocks[0]) / len(recipe.quasi)
    return Wider(plain, recipe.refine, plain.k, share, len(groups) / (int(groups.max()) + 1))


def partition_nested(
    blocks: tuple[Points, Points],
    ways: tuple[Any, Any],
    groups: NDArray[np.int64],
    inside: NDArray[np.int64] | None,
    strata: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> list[Partition]:
    """Partition whole groups by what is theirs, then the records of each class of groups by the rest.

    **Guarantee.** Every class of groups holds at least k of them, each whole. Every class of records lies in one of
    these, with records of at least k groups; so k holds over all attributes together. A method that forms blocks of
    attributes itself promises k in each of them only, here as elsewhere.

    Parameters
    ----------
    blocks
        The records in the attributes of their groups, and in the others.
    ways
        What forms classes of records, and of groups.
    groups
        The group of each record.
    inside, strata
        The stratum of each group, and of each record.
    rng
        Where randomness comes from.
    """
    whole = partition_together(blocks[0], ways[1], groups, inside, rng)
    within = whole.labels if len(whole.blocks) == 1 else strata
    found = partition_strata(blocks[1], ways[0], within, rng)
    return [whole, replace(found, note="") if within is not strata else found]
