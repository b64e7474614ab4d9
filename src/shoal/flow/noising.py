"""What noise needs: points within the bounds, and a recipe whose classes do not break the claim."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, ParameterError, listing, raise_all
from shoal.recipe import Recipe
from shoal.types import Domain, Footing, Numbers, Points, Release, domains

if TYPE_CHECKING:
    import pyarrow as pa


def refuse_noise(recipe: Recipe, method: Any) -> None:
    """Refuse what a recipe asks for besides noise and what would break the claim."""
    if recipe.epsilon is None:
        return
    faults = []
    if recipe.together is not None:
        faults.append("Laplace: together must be left out: ε is for single records, not for groups. Leave it out.")
    if recipe.claim == "original":
        owner = type(method).__name__
        if not getattr(type(method), "insensitive", False):
            faults.append(
                f"{owner}: with claim = original the classes must come from an order that does not depend on the data, "
                f"these depend on it. Take method = insensitive, or claim = microaggregated."
            )
        said = {
            "refine": recipe.refine is not None,
            "t": recipe.t is not None,
            "require": bool(recipe.require),
            "steer": bool(recipe.steer),
            "blocks": len(recipe.all_blocks) > 1,
            "strata": bool(recipe.strata),
            "attribute_weights": bool(recipe.attribute_weights),
            "scale": "scale" in recipe.set,
        }
        faults += [
            f"Laplace: with claim = original {name} must be left out, for classes would depend on the data. Leave it "
            f"out."
            for name, given in said.items()
            if given
        ]
        if recipe.when_missing == "exclude":
            faults.append(
                "Laplace: with claim = original when_missing must not be 'exclude', for the number of records is "
                "public and would depend on the data. Fill missing values before."
            )
    raise_all(ParameterError, faults)


def bounded(points: Points, recipe: Recipe) -> Points:
    """Return points within the bounds, and how wide these are; as they were, if nobody gave any.

    For the claim ``original`` coordinates are scaled by the bounds, never by the data.
    """
    import numpy as np

    from shoal.points.numeric import coordinate

    if not recipe.bounds:
        return points
    odd = [a.name for a in points.attributes if not isinstance(a, Numbers)]
    if odd:
        raise DataError(
            f"Laplace: columns with noise must have no missing values, {listing(odd)} has some. Exclude these records "
            f"(when_missing), or fill them before."
        )
    numbers = [a for a in points.attributes if isinstance(a, Numbers)]
    limits = domains(recipe.bounds, numbers)
    footings = [_footing(limits[a.name]) for a in numbers] if recipe.claim == "original" else list(points.footings)
    inside = [limits[a.name].clamped(a.values) for a in numbers]
    ends = [np.array([limits[a.name].low, limits[a.name].high]) for a in numbers]
    placed = [coordinate(values, footing) for values, footing in zip(inside, footings, strict=True)]
    lows, highs = np.column_stack([coordinate(e, f) for e, f in zip(ends, footings, strict=True)])
    return replace(
        points,
        coordinates=np.ascontiguousarray(np.column_stack(placed)),
        footings=tuple(footings),
        widths=highs - lows,
        lows=lows,
    )


def _footing(domain: Domain) -> Footing:
    """Return the footing on which a domain goes from 0 to 1."""
    return Footing(domain.low, domain.width, 0)


def in_input_order(release: Release) -> pa.Table:
    """Return what leaves with its rows in the order of the input, for the measures."""
    import numpy as np

    if release.order is None:
        return release.data
    return release.data.take(np.argsort(release.order, kind="stable"))
