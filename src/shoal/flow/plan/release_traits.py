"""Traits of releases: where their cells come from, and what they promise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import registry
from shoal.errors import ParameterError, listing, raise_all
from shoal.flow.plan.components import of_values
from shoal.flow.plan.declared_output import undeclared
from shoal.flow.plan.feasibility import refuse_weaker_noise
from shoal.flow.stages.values import as_values
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import resolve
from shoal.schema.roles import without_user_missing
from shoal.types import Axis, Footing, Numbers, Points, Release, Schema, Table, domains, with_columns
from shoal.types.protocols import Partitioner, Releaser


def refuse_noise(recipe: Recipe, method: type[Partitioner]) -> None:
    """Refuse a recipe with noise that asks for something that breaks the claim, or lacks something it needs."""
    if recipe.epsilon is None:
        return
    faults = []
    if recipe.together is not None:
        faults.append("Laplace: together is not possible: ε is for single records, not for groups. Leave it out.")
    if covers_originals(recipe):
        owner = method.__name__
        if not method.insensitive:
            faults.append(
                f"{owner}: with claim = original the classes must come from an order that does not depend on the "
                "data, but these depend on it. Use method = insensitive, or claim = microaggregated."
            )
        said = {
            "effort": recipe.refinement is not None,
            "t": recipe.t is not None,
            "require": bool(recipe.require),
            "steer": bool(recipe.steer),
            "attribute_weights": bool(recipe.attribute_weights),
            "scale": "scale" in recipe.set,
        }
        faults += [
            f"Laplace: with claim = original {name} cannot be used, because classes would depend on the data. Leave "
            "it out."
            for name, given in said.items()
            if given
        ]
        if recipe.block_count > 1:
            faults.append(
                "Laplace: with claim = original blocks are not possible: records of one class in one block are in "
                "several classes of another, and the released rows would show which. Leave them out, or protect each "
                "block separately: their ε adds up."
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
        if recipe.suppress:
            faults.append(
                f"Laplace: with claim = original suppress must be 0, got {recipe.suppress:g}: which records are "
                "missing depends on the data, and ε does not cover it. Leave it out."
            )
        faults += undeclared(recipe)
    raise_all(ParameterError, faults)


def with_noise(recipe: Recipe, epsilon: Any, bounds: Any, claim: str | None) -> Recipe:
    """Return a recipe with noise settings given separately; its release becomes ``laplace`` unless it names another.

    >>> made = with_noise(Recipe(quasi=["age"]), 1.0, {"age": [0, 120]}, None)
    >>> made.release, made.epsilon, made.claim
    ('laplace', 1.0, 'microaggregated')
    """
    given = {"epsilon": epsilon, "bounds": bounds, "claim": claim}
    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not said:
        return recipe
    base = recipe.to_dict()
    if "epsilon" not in {**base, **said}:
        raise ParameterError(
            f"Explore: {listing(list(said))} must be given with epsilon, the privacy budget of the noise, got none. "
            f"Add for example epsilon = 1, or leave out {listing(list(said))}."
        )
    plain = base["release"] == "centroid"  # the default
    made = recipe.override(**({"release": "laplace", **said} if plain else said))
    refuse_weaker_noise(recipe, made)
    return made


def bounded(points: Points, recipe: Recipe, table: Table) -> Points:
    """Return points clamped to the bounds, with the bounds' widths; unchanged if there are no bounds.

    For the claim ``original``, coordinates are scaled by the bounds, never by the data, and domains are put in line.
    """
    from shoal.points.numeric import coordinate

    if recipe.epsilon is None:
        return points
    numbers = {a.name: a for a in points.attributes if isinstance(a, Numbers)}
    limits = domains(recipe.bounds, list(numbers.values()))
    numbers_in, footings = points.numbers.copy(), list(points.footings)
    lows, widths = np.zeros((2, len(footings)))  # categories have no ends: their noise is of another kind
    for name, attribute in numbers.items():
        ((j,), domain) = points.places[name], limits[name]
        if recipe.claim == "original":
            footings[j] = Footing(domain.low, domain.width, 0)  # from 0 to 1
        numbers_in[:, points.column_of(name)] = coordinate(domain.clamped(attribute.values), footings[j])[:, 0]
        with np.errstate(over="ignore"):  # bounds may be as far apart as floats allow
            lows[j], high = np.nan_to_num(coordinate(np.array(domain), footings[j])[:, 0])
            widths[j] = np.nan_to_num(high - lows[j])
    points = replace(points.with_numbers(numbers_in), footings=tuple(footings), widths=widths, lows=lows)
    return replace(points, axes=_in_line(points, table)) if recipe.claim == "original" else points


def _in_line(points: Points, table: Table) -> tuple[Axis, ...]:
    """Return the domains of the attributes in line, from bounds and taxonomies alone; categories first.

    A leading domain with few cells is traversed once; each later one is traversed once per cell before it.
    """
    from shoal.points.nominal import axis_of

    categories, numbers = [], []
    for attribute in points.attributes:
        taxonomy = table.schema[attribute.name].taxonomy
        if isinstance(attribute, Numbers):
            inside = points.numbers[:, points.column_of(attribute.name)]
            numbers.append(Axis(attribute.name, np.clip(inside, 0.0, 1.0)))
        elif taxonomy is not None:  # others were refused
            categories.append(axis_of(attribute.name, table.data.column(attribute.name), taxonomy))
    return (*categories, *numbers)


GROUPING = "k_anonymity"


def guarantee(recipe: Recipe) -> str:
    """Return the model that a recipe's release promises: k-anonymity by grouping unless declared otherwise."""
    return registry.load("release", recipe.release).guarantee


def by_grouping(recipe: Recipe) -> bool:
    """Tell whether the release shows its classes: records that are equal in their quasi-identifiers."""
    return guarantee(recipe) == GROUPING


def in_two_tables(recipe: Recipe) -> bool:
    """Tell whether confidential columns are released in a second table; the release must declare this."""
    return registry.load("release", recipe.release).two_tables


def deals_by_key(recipe: Recipe) -> bool:
    """Tell whether a recipe's release assigns values by a secret key, which its receipt stores."""
    deals = registry.load("release", recipe.release).deals_by_key
    return deals and recipe.set.get("not_private_seed") is None


def chooses_by_key(recipe: Recipe) -> bool:
    """Tell whether a recipe's method takes one of several partitions by a secret key, which its receipt stores."""
    return registry.load("partition", recipe.method).chooses_by_key and recipe.set.get("choices", 1) != 1


def refuse_what_cannot_be_released(release: Releaser, recipe: Recipe, schema: Schema) -> None:
    """Refuse requests that the release cannot fulfil, and tables that it does not accept."""
    owner = type(release).__name__
    if in_two_tables(recipe):
        _refuse_in_two_tables(owner, recipe)
    elif not by_grouping(recipe) and (recipe.t is not None or of_values(resolve("Recipe", recipe.require))):
        raise ParameterError(
            f"{owner}: t and require are not possible, because the output does not show the classes, and nothing is "
            "promised about confidential values. Leave them out, or use the release centroid or medoid."
        )
    if not by_grouping(recipe) and not in_two_tables(recipe) and recipe.together is not None:
        raise ParameterError(
            f"{owner}: together is not possible, because records of a group would be released with different values. "
            "Leave it out, or use the release centroid or medoid."
        )
    if release.as_written and recipe.when_missing == "fill":
        raise ParameterError(
            f"{owner}: when_missing must be 'category' or 'exclude', got 'fill': this release keeps the cells and "
            "fills none. Use one of these, or the release centroid."
        )
    release.refuse(schema)


def _refuse_in_two_tables(owner: str, recipe: Recipe) -> None:
    """Refuse requests that do not apply to classes whose members are released unchanged."""
    faults = []
    if recipe.block_count > 1:
        faults.append(
            f"{owner}: there must be one block of quasi-identifiers, got {recipe.block_count}: a confidential "
            "row belongs to one class. Leave out attribute_blocks and household_level, or choose another release."
        )
    if not registry.load("partition", recipe.method).promises_k:
        faults.append(
            f"{owner}: the method must form classes of at least k records; {recipe.method} does not. Choose another "
            "method, or another release."
        )
    if recipe.n is not None:
        faults.append(
            f"{owner}: n is not possible: quasi-identifiers are released unchanged, so a class has no location of "
            "its own. Leave it out, or use the release centroid."
        )
    if recipe.small_strata == "merge":
        faults.append(
            f"{owner}: small_strata must be 'refuse', got 'merge': the column is released unchanged, and would "
            "separate small strata again. Merge its categories first, or choose another release."
        )
    raise_all(ParameterError, faults)


def with_origins(release: Release, typed: pa.Table) -> pa.Table:
    """Return the values of cells that were taken from other records, for the measures."""
    return pa.table({name: typed.column(name).take(pa.array(rows)) for name, rows in release.origins.items()})


def comparable_with_original(release: Release) -> Release:
    """Parse the quasi-identifiers as values, before and after, for an audit that compares them.

    A value that a file declares missing is a value here: it must also occur before. Another statistical package uses
    other codes: there it counts as missing, before and after.
    """
    if release.original is None:
        return release
    left = release.data.select(release.original.column_names)
    before, after = (_read(_undeclared(one, release.original, left), release) for one in (release.original, left))
    read = {**release.read, **{name: after.column(name) for name in after.column_names}}
    return replace(release, read=read, original=before)


def _undeclared(data: pa.Table, before: pa.Table, after: pa.Table) -> pa.Table:
    """Set declared missing values to missing in columns, if the files do not declare the same."""
    from shoal.types.statistical_files import Variable

    found = {}
    for name in data.column_names:
        fields = [table.schema.field(name) for table in (before, after)]
        old, new = map(Variable.of, fields)
        if old is not None and new is not None and old.missing != new.missing:
            column = data.column(name)
            for field in fields:
                column = without_user_missing(field, column)
            found[name] = column
    return with_columns(data, found)


def _read(data: pa.Table, release: Release) -> pa.Table:
    """Parse the text cells of the columns, ignoring file metadata and category order."""
    from shoal.schema.cells import is_text

    found = {}
    for name in data.column_names:
        column = data.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if is_text(column):
            schema = Schema((replace(release.schema[name], order=()),))
            column = as_values(name, Table(pa.table({name: column}), schema, release.dialect), exact=True)
        found[name] = column
    return pa.table(found)


def covers_originals(recipe: Recipe) -> bool:
    """Tell whether ε is claimed for original records."""
    return recipe.epsilon is not None and recipe.claim == "original"


def whole_lists(recipe: Recipe, table: Table) -> dict[str, list[str]]:
    """Return the columns that list all categories of their taxonomy, whether or not a record has them."""
    if not covers_originals(recipe):
        return {}
    trees = {column.name: column.taxonomy for column in table.schema.columns}
    return {name: sorted(tree.paths) for name, tree in trees.items() if tree is not None}
