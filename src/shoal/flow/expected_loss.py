"""The il_sse to expect of classes that leave as means with noise, clipped to their bounds: nothing is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import SchemaError, listing
from shoal.flow.forming import Formed
from shoal.types import Block, Domain, Numbers, domains

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SERIES = 0.01  # below it a difference of nearly equal numbers would lose its digits
_FAR = 700.0  # scales off, where nothing is cut: e⁻⁷⁰⁰ is still a number


class ExpectedLoss(NamedTuple):
    """What a release is expected to lose, in percent of the total variation, as the measure il_sse.

    >>> ExpectedLoss(3.0, 4.0).total
    7.0
    """

    lost: float  #: by microaggregation: means in place of values, and values that were moved to their bounds
    noise: float  #: by noise, as far as clipping lets it leave

    @property
    def total(self) -> float:
        """The mean of il_sse over all draws of the noise."""
        return self.lost + self.noise


def expected_loss(made: Formed) -> ExpectedLoss:
    """Return the il_sse to expect when the classes of a table leave by the release ``laplace``.

    A class of m records with mean x̄ leaves as c = clip(μ + L): μ is the mean of its values moved to their bounds, L
    Laplace noise of the scale b that ε needs. The squared errors of its members add up to Σ(x − μ)², which is lost by
    microaggregation, and to m·(E[D²] + 2(μ − x̄)·E[D]), which the noise adds, with D = c − μ. L has the sign + or − with
    probability ½, and an exponential size T, which is cut at p = μ − low or q = high − μ:
    E[min(T, q)] = b(1 − e^(−q/b)) and E[min(T, q)²] = 2b²(1 − (1 + q/b)·e^(−q/b)).

    Guarantee: exactly the expected il_sse of what leaves, for either claim, but for rounding of 64-bit numbers.
    Rounding of released values to their resolution is ignored: it is small beside the noise.

    Complexity: O(n·d).

    References: [SD17] Section 3, where values are not clipped.
    """
    from shoal.release._budget import shares

    numbers = _refused(made)
    limits = domains(made.release.bounds, list(numbers.values()))
    budget = shares(made.release, made.partition, limits)
    lost, noise, variation = 0.0, 0.0, 0.0
    for block in made.partition.blocks:
        for j, name in enumerate(name for name in made.points.places if name in block.attributes):
            reach = _reach(block, j, limits[name], whole=made.release.claim == "original")
            parts = _of_attribute(numbers[name], block, limits[name], reach / budget[name])
            lost, noise, variation = lost + parts[0], noise + parts[1], variation + parts[2]
    variation = variation or lost + noise  # where nothing varies, il_sse is 100 for any change
    return ExpectedLoss(100.0 * lost / variation, 100.0 * noise / variation) if variation else ExpectedLoss(0.0, 0.0)


def _refused(made: Formed) -> dict[str, Numbers]:
    """Return the attributes by name, all of numbers; refuse what the release would refuse, and categories."""
    from shoal.release._refused import refuse_missing, refuse_unknown
    from shoal.release._taken import refuse_values

    refuse_missing(made.typed)
    refuse_values(made.release, made.partition)
    refuse_unknown(made.release, made.partition)
    if others := [a.name for a in made.attributes if not isinstance(a, Numbers)]:
        raise SchemaError(
            f"Explore: with epsilon quasi-identifiers must be numbers, {listing(others)} is of categories, whose error "
            f"is not known before they are drawn. Leave it out, or give it another role."
        )
    return {a.name: a for a in made.attributes if isinstance(a, Numbers)}


def _reach(block: Block, j: int, domain: Domain, *, whole: bool) -> NDArray[np.float64]:
    """Return by how much the mean of each class can change; for the claim ``original`` the list of all of them."""
    import numpy as np

    if not whole:
        return np.asarray(domain.width / block.sizes)  # [SD17] Proposition 2
    assert block.moves is not None  # or it was refused
    return np.full(len(block), block.moves[j] * domain.width)


def _of_attribute(
    attribute: Numbers, block: Block, domain: Domain, scales: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return what an attribute loses by microaggregation and by noise, and how much it varies; standardised."""
    import numpy as np

    from shoal.points.encoding import standard_or_unit
    from shoal.points.numeric import coordinate

    placed = attribute.place(standard_or_unit)  # as tables are compared
    x, (footing,), sizes, labels = placed.coordinates[:, 0], placed.footings, block.sizes, block.labels
    with np.errstate(over="ignore", under="ignore"):
        means = np.bincount(labels, coordinate(domain.clamped(attribute.values), footing)[:, 0]) / sizes
        low, high = coordinate(np.array(domain), footing)[:, 0]
        b = scales / np.ldexp(footing.spread, footing.exponent)
        (up, up2), (down, down2) = (_cut_moments(b, room) for room in (high - means, means - low))
        moved = means - np.bincount(labels, x) / sizes  # by clamping
        added = sizes * ((up2 + down2) / 2 + moved * (up - down))
        return float(((x - means[labels]) ** 2).sum()), float(added.sum()), float(((x - x.mean()) ** 2).sum())


def _cut_moments(b: NDArray[np.float64], room: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first and the second moment of an exponential size of mean b that is cut at `room`.

    >>> import numpy as np
    >>> [float(m[0].round(6)) for m in _cut_moments(np.array([2.0]), np.array([1e9]))]
    [2.0, 8.0]
    >>> [float(m[0].round(6)) for m in _cut_moments(np.array([1e9]), np.array([3.0]))]
    [3.0, 9.0]
    """
    import numpy as np

    room = np.maximum(room, 0.0)  # a mean at the bound may be rounded beyond it
    r = np.minimum(np.divide(room, b, out=np.full(len(b), _FAR), where=b > 0), _FAR)
    series = r * r * (1 / 2 - r * (1 / 3 - r * (1 / 8 - r * (1 / 30 - r / 144))))
    second = np.where(r < _SERIES, series, 1.0 - (1.0 + r) * np.exp(-r))
    return -b * np.expm1(-r), 2.0 * b * b * second
