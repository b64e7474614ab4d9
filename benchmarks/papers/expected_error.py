"""Expected error of class means with Laplace noise for several k, to find its minimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import DataError, ParameterError
from shoal.flow.plan.components import enough_records
from shoal.parameters import build, shown, unknown
from shoal.types import Block, Footing, Partition, Points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SPLITS = ("even", "expression1")


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The sum of squared errors to expect at one k, in the unit of the points.

    >>> ExpectedError(5, 3.0, 4.0).total
    7.0
    """

    k: int
    lost: float  #: through microaggregation: the SSE
    noise: float  #: through Laplace noise of the scale that ε needs, before clipping to the bounds

    @property
    def total(self) -> float:
        """Loss plus noise; noise has mean 0, so the two are uncorrelated."""
        return self.lost + self.noise


def expected_error(
    points: Points,
    epsilon: float,
    ks: Sequence[int],
    method: str,
    *,
    split: str = "expression1",
    params: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> tuple[ExpectedError, ...]:
    """Return for each k the expected error of a method's classes with the noise of [SD17] Algorithms 1 and 2.

    Nothing is drawn. A class of m records has noise of scale ΔD/(m·ε_b) in each attribute of a block, the same for all
    members, which sums to 2(ΔD/ε_b)²/m. ΔD is summed over the block **in the columns' own units**, in which all
    attributes share one scale ([SD17] Algorithm 1); scaled coordinates have it in their own scaling.

    Parameters
    ----------
    points
        One coordinate per attribute, with the widths of their domains.
    epsilon
        The budget that all blocks share, > 0.
    ks
        Smallest class sizes; those above the number of records are refused.
    method
        Registry key.
    split
        How ε is divided among blocks, ``even`` or by their widths (``expression1``), unless the method decides.
    params
        Parameters of the method other than k.
    seed
        The method's random seed.

    Guarantee: the expected squared error of the release, if values are not clipped; clipping to bounds lowers it. An
    attribute whose coordinate has no spread (constant, or of weight 0) has no width in the points and contributes none.
    Rounding of released values to their resolution is ignored.

    Complexity: that of the method for each k, and O(n·d).

    References: [SD17] Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> points = Points(np.arange(8.0)[:, None], widths=np.array([4.0]))
    >>> [(e.k, e.lost, e.noise) for e in expected_error(points, 2.0, [2, 4], "mdav")]
    [(2, 2.0, 16.0), (4, 10.0, 4.0)]
    """
    import numpy as np

    if method not in registry.keys("partition"):
        raise ParameterError(unknown("expected_error", "method", method, registry.keys("partition")))
    if split not in SPLITS:
        raise ParameterError(unknown("expected_error", "split", split, SPLITS))
    if not 0 < epsilon < float("inf"):
        raise ParameterError(f"expected_error: epsilon must be a number > 0, got {shown(epsilon)}. Raise it.")
    widths = _widths(points)
    found = []
    for k in ks:
        made = build(registry.load("partition", method), {**(params or {}), "k": k})
        enough_records(made, len(points))
        part = made.partition(points, np.random.default_rng(seed))
        shares = _shares(points, part, widths, split)
        errors = [
            _of_block(points, block, widths, epsilon * share) for block, share in zip(part.blocks, shares, strict=True)
        ]
        found.append(ExpectedError(k, sum(lost for lost, _ in errors), sum(noise for _, noise in errors)))
    return tuple(found)


def _widths(points: Points) -> NDArray[np.float64]:
    if points.widths is None:
        raise DataError(
            "expected_error: the widths of domains must be known, got none. Give the bounds of every column."
        )
    several = [name for name, places in points.places.items() if len(places) > 1]
    if several:
        raise DataError(
            f"expected_error: there must be 1 coordinate for each attribute, {several[0]!r} has more. Leave it out."
        )
    return points.widths


def _places(points: Points, block: Block) -> list[int]:
    """Return the coordinates of a block; a block without names has all."""
    return [points.places[name][0] for name in block.attributes or points.places]


def _shares(points: Points, part: Partition, widths: NDArray[np.float64], split: str) -> list[float]:
    """Return each block's share of ε: the method's own weights, or those of `split`."""
    from shoal.kernels.order.least_error import even_shares, in_own_units, width_shares

    said = [block.share for block in part.blocks]
    if all(share is not None for share in said):
        return [float(share) for share in said if share is not None]
    if split == "even":
        return [float(share) for share in even_shares(len(said))]
    import numpy as np

    own = in_own_units(widths, points.footings)
    return [float(s) for s in width_shares(np.array([own[_places(points, b)].sum() for b in part.blocks]))]


def _of_block(points: Points, block: Block, widths: NDArray[np.float64], epsilon: float) -> tuple[float, float]:
    """Return the microaggregation loss of a block, and its expected noise."""
    import numpy as np

    places, sizes, lost = _places(points, block), block.sizes, 0.0
    for at, place in enumerate(places):
        x = points.coordinates[:, place]
        means = np.bincount(block.labels, x) / sizes
        leaves = means[block.labels] if block.values is None else block.values[:, at]
        lost += float(((x - leaves) ** 2).sum())
    scales = _own_sum(widths[places], [points.footings[j] for j in places] if points.footings else []) / epsilon
    return lost, 2.0 * float((scales**2).sum()) * float((1.0 / sizes).sum())


def _own_sum(widths: NDArray[np.float64], footings: Sequence[Footing]) -> NDArray[np.float64]:
    """Return the widths of a block summed in the columns' own units, in the scaling of each coordinate.

    >>> import numpy as np
    >>> _own_sum(np.array([5.0, 10.0]), [Footing(0.0, 16.0, 0), Footing(0.0, 0.25, 0)]).tolist()
    [5.15625, 330.0]
    """
    import numpy as np

    from shoal.kernels.order.least_error import in_own_units

    own = in_own_units(widths, footings)
    total = float(own.sum())
    ratios = np.divide(widths, own, out=np.zeros(len(own)), where=own > 0)  # the length of one unit of the column
    return np.asarray(total * ratios)
