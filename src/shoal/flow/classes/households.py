"""Records that stay together, such as those of a household: classes are formed of whole groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.flow.classes.strata import partition_strata
from shoal.types import Partition, Points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def strata_of_groups(groups: NDArray[np.int64], strata: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Return the stratum of each group; the plan has refused groups in several strata."""
    import numpy as np

    if strata is None:
        return None
    found = np.empty(int(groups.max()) + 1, np.int64)
    found[groups] = strata
    return found


def partition_together(
    points: Points,
    method: Any,
    groups: NDArray[np.int64],
    strata: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Partition:
    """Partition whole groups, each at the mean point of its members; members are in the class of their group.

    **Guarantee.** A method that forms classes of at least k points → every class holds at least k groups, and every
    group is in one class. So records of a group leave with the same value in every attribute.

    **Departures.** Groups count alike while classes are formed, however many members they have. The value that a class
    leaves with is the mean of its records, so that a group counts as often there as it has members.

    Parameters
    ----------
    points
        The records.
    method
        What forms classes, of groups here.
    groups
        The group of each record.
    strata
        The stratum of each group.
    rng
        Where randomness comes from.
    """
    found = partition_strata(means_of(points, groups), method, strata, rng)
    blocks = (
        replace(block, labels=block.labels[groups], values=None if block.values is None else block.values[groups])
        for block in found.blocks
    )
    return replace(found, blocks=tuple(blocks))


def means_of(points: Points, groups: NDArray[np.int64]) -> Points:
    """Return the mean point of each group, with the weight of all its members where shares are bounded.

    >>> import numpy as np
    >>> means_of(Points(np.array([[0.0, 1.0], [5.0, 5.0], [2.0, 3.0]])), np.array([0, 1, 0])).coordinates.tolist()
    [[1.0, 2.0], [5.0, 5.0]]
    """
    import numpy as np

    from shoal.kernels.arithmetic.class_means import class_means

    x = points.coordinates
    means = [class_means(np.ascontiguousarray(x[:, j]), groups, None) for j in range(x.shape[1])]
    return Points(
        np.ascontiguousarray(np.column_stack(means)),
        points.owners,
        required=points.required,
        weights=_weights_of(points, groups) if points.required else None,
    )


def _weights_of(points: Points, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of the weights of each group, whatever the order of its members."""
    import numpy as np

    weights = np.ones(len(groups)) if points.weights is None else points.weights
    order = np.lexsort((weights, groups))
    return np.asarray(np.bincount(groups[order], weights=weights[order]), np.float64)
