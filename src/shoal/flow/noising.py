"""What noise needs: points within the bounds, and a recipe whose classes do not break the claim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.errors import ParameterError, listing, raise_all
from shoal.flow.declaration import covers_originals, undeclared
from shoal.flow.floor import refuse_weaker_noise
from shoal.recipe import Recipe
from shoal.types import Axis, Footing, Numbers, Points, Table, domains


def refuse_noise(recipe: Recipe, method: type) -> None:
    """Refuse what a recipe asks for besides noise and what would break the claim, or lacks and the claim needs."""
    if recipe.epsilon is None:
        return
    faults = []
    if recipe.together is not None:
        faults.append("Laplace: together must be left out: ε is for single records, not for groups. Leave it out.")
    if covers_originals(recipe):
        owner = method.__name__
        if not getattr(method, "insensitive", False):
            faults.append(
                f"{owner}: with claim = original the classes must come from an order that does not depend on the data, "
                f"these depend on it. Take method = insensitive, or claim = microaggregated."
            )
        said = {
            "refine": recipe.refine is not None,
            "t": recipe.t is not None,
            "require": bool(recipe.require),
            "steer": bool(recipe.steer),
            "attribute_weights": bool(recipe.attribute_weights),
            "scale": "scale" in recipe.set,
        }
        faults += [
            f"Laplace: with claim = original {name} must be left out, for classes would depend on the data. Leave it "
            f"out."
            for name, given in said.items()
            if given
        ]
        if len(recipe.all_blocks) > 1:
            faults.append(
                "Laplace: with claim = original blocks must be left out: records of one class in one block are in "
                "several of another, and rows that leave would tell which. Leave it out, or protect each block by "
                "itself: what they spend of ε adds up."
            )
        if recipe.row_order == "keep":
            faults.append(
                "Laplace: with claim = original row_order must be 'auto' or 'shuffle', got 'keep': the order of the "
                "input shows ranks, which ε does not cover. Leave it out."
            )
        if recipe.when_missing == "exclude":
            faults.append(
                "Laplace: with claim = original when_missing must not be 'exclude', because the number of released "
                "records is public and would depend on the data. Set when_missing = fill."
            )
        faults += undeclared(recipe)
    raise_all(ParameterError, faults)


def with_noise(recipe: Recipe, epsilon: Any, bounds: Any, claim: str | None) -> Recipe:
    """Return a recipe with what was said of noise besides it; the release is then ``laplace``, unless it says another.

    >>> made = with_noise(Recipe(quasi=["age"]), 1.0, {"age": [0, 120]}, None)
    >>> made.release, made.epsilon, made.claim
    ('laplace', 1.0, 'microaggregated')
    """
    said = {"epsilon": epsilon, "bounds": bounds, "claim": claim}
    said = {name: value for name, value in said.items() if value is not None}
    if not said:
        return recipe
    base = recipe.to_dict()
    if "epsilon" not in {**base, **said}:
        raise ParameterError(
            f"Explore: {listing(list(said))} must be given with epsilon, got none: only noise needs it. Say how much "
            f"may be told, for example epsilon = 1, or leave it out."
        )
    plain = base["release"] == "centroid"  # what is taken where nobody says
    made = recipe.override(**({"release": "laplace"} if plain else {}), **said)
    refuse_weaker_noise(recipe, made)
    return made


def bounded(points: Points, recipe: Recipe, table: Table) -> Points:
    """Return points within the bounds, and how wide these are; as they were, if nobody gave any.

    For the claim ``original`` coordinates are scaled by the bounds, never by the data, and domains are put in line.
    """
    import numpy as np

    from shoal.points.numeric import coordinate

    if recipe.epsilon is None:
        return points
    numbers = {a.name: a for a in points.attributes if isinstance(a, Numbers)}
    limits = domains(recipe.bounds, list(numbers.values()))
    coordinates, footings = points.coordinates.copy(), list(points.footings)
    lows, widths = np.zeros((2, coordinates.shape[1]))  # categories have no ends: their noise is of another kind
    for name, attribute in numbers.items():
        ((j,), domain) = points.places[name], limits[name]
        if recipe.claim == "original":
            footings[j] = Footing(domain.low, domain.width, 0)  # from 0 to 1
        coordinates[:, j] = coordinate(domain.clamped(attribute.values), footings[j])[:, 0]
        with np.errstate(over="ignore"):  # bounds may be as far off as numbers go
            lows[j], high = np.nan_to_num(coordinate(np.array(domain), footings[j])[:, 0])
            widths[j] = np.nan_to_num(high - lows[j])
    points = replace(points, coordinates=coordinates, footings=tuple(footings), widths=widths, lows=lows)
    return replace(points, axes=_in_line(points, table)) if recipe.claim == "original" else points


def _in_line(points: Points, table: Table) -> tuple[Axis, ...]:
    """Return the domains of the attributes in line, by bounds and taxonomies alone; categories first.

    Few cells in front are gone through once; what comes after is gone through once for each of them.
    """
    import numpy as np

    from shoal.points.in_line import axis_of

    categories, numbers = [], []
    for attribute in points.attributes:
        taxonomy = table.schema[attribute.name].taxonomy
        if isinstance(attribute, Numbers):
            (j,) = points.places[attribute.name]
            numbers.append(Axis(attribute.name, np.clip(points.coordinates[:, j], 0.0, 1.0)))
        elif taxonomy is not None:  # others were refused
            categories.append(axis_of(attribute.name, table.data.column(attribute.name), taxonomy))
    return (*categories, *numbers)
