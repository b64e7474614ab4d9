"""What releases differ in: whose cells leave, and what is promised of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import ParameterError, raise_all
from shoal.flow.requiring import of_values
from shoal.flow.values import as_values
from shoal.recipe import Recipe
from shoal.requirements import resolve
from shoal.types import Release, Schema, Table, with_columns

if TYPE_CHECKING:
    import pyarrow as pa

_GROUPING = "k_anonymity"


def as_written(release: Any) -> bool:
    """Tell whether the cells that leave are cells of the table, as they were written; such a release must say so."""
    return bool(getattr(type(release), "as_written", False))


def guarantee(recipe: Recipe) -> str:
    """Return the model that the release of a recipe promises: k-anonymity by grouping, unless it says otherwise."""
    return str(getattr(registry.load("release", recipe.release), "guarantee", _GROUPING))


def by_grouping(recipe: Recipe) -> bool:
    """Tell whether the classes can be seen in what leaves: records that are equal in their quasi-identifiers."""
    return guarantee(recipe) == _GROUPING


def in_two_tables(recipe: Recipe) -> bool:
    """Tell whether confidential columns leave in a second table; such a release must say so."""
    return bool(getattr(registry.load("release", recipe.release), "two_tables", False))


def deals_by_key(recipe: Recipe) -> bool:
    """Tell whether the release of a recipe deals values by a secret key, which its receipt keeps."""
    deals = getattr(registry.load("release", recipe.release), "deals_by_key", False)
    return bool(deals) and recipe.set.get("not_private_seed") is None


def refuse_what_cannot_be_released(release: Any, recipe: Recipe, table: Table) -> None:
    """Refuse what a recipe asks for and its release cannot give, and a table that it does not take."""
    owner = type(release).__name__
    if in_two_tables(recipe):
        _refuse_in_two_tables(owner, recipe)
    elif not by_grouping(recipe) and (recipe.t is not None or of_values(resolve("Recipe", recipe.require))):
        raise ParameterError(
            f"{owner}: t and require must be left out, for the classes cannot be seen in what leaves, and "
            f"nothing is promised of confidential values. Leave them out, or take the release centroid or medoid."
        )
    if not by_grouping(recipe) and not in_two_tables(recipe) and recipe.together is not None:
        raise ParameterError(
            f"{owner}: together must be left out, for records of a group would leave with different values. "
            f"Leave it out, or take the release centroid or medoid."
        )
    if as_written(release) and recipe.when_missing == "fill":
        raise ParameterError(
            f"{owner}: when_missing must be 'category' or 'exclude', got 'fill': cells leave as they were "
            f"written, and none is filled. Take one of these, or the release centroid."
        )
    if hasattr(release, "refuse"):  # a release that does not take every table
        release.refuse(table)


def _refuse_in_two_tables(owner: str, recipe: Recipe) -> None:
    """Refuse what a recipe asks for and cannot be said of classes whose members leave as they are."""
    faults = []
    if len(recipe.all_blocks) > 1:
        faults.append(
            f"{owner}: there must be one block of quasi-identifiers, got {len(recipe.all_blocks)}: a confidential row "
            f"is of one class. Leave out blocks and household_level, or take another release."
        )
    if not getattr(registry.load("partition", recipe.method), "promises_k", True):
        faults.append(
            f"{owner}: the method must form classes of at least k records, {recipe.method} does not. Take another "
            f"method, or another release."
        )
    if recipe.n is not None:
        faults.append(
            f"{owner}: n must be left out: records leave where they are, and a class has no place by itself. Leave it "
            f"out, or take the release centroid."
        )
    if recipe.small_strata == "merge":
        faults.append(
            f"{owner}: small_strata must be 'refuse', got 'merge': the column leaves as it is, and would tell small "
            f"strata apart. Join its categories before, or take another release."
        )
    raise_all(ParameterError, faults)


def with_origins(release: Release, typed: pa.Table) -> pa.Table:
    """Return the values of cells that were written by other records, for the measures."""
    import pyarrow as pa

    return pa.table({name: typed.column(name).take(pa.array(rows)) for name, rows in release.origins.items()})


def comparable_with_original(release: Release) -> Release:
    """Return a release whose quasi-identifiers are read as values, after as before, for an audit that compares them.

    What a file declares to be missing is a value here: it must have been there before, too. Another package
    has other words for it: there it is missing, before and after.
    """
    if release.original is None:
        return release
    left = release.data.select(release.original.column_names)
    before, after = (_read(_undeclared(one, release.original, left), release) for one in (release.original, left))
    read = {**release.read, **{name: after.column(name) for name in after.column_names}}
    return replace(release, read=read, original=before)


def _undeclared(data: pa.Table, before: pa.Table, after: pa.Table) -> pa.Table:
    """Return columns without what files declare to be missing, where they do not declare the same."""
    from shoal.schema.user_missing import without_user_missing
    from shoal.types.statfile import Variable

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
    """Return the columns with their cells of text read, whatever files note of them and whatever their order is."""
    import pyarrow as pa

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
