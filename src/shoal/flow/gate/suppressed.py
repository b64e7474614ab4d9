"""Suppressed records: no more than the recipe allows, and people or groups only as a whole."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeError
from shoal.flow.stages.values import lacking_a_value, named
from shoal.recipe.recipe import Recipe
from shoal.types import Release, Role, Table


def check_suppressed(
    table: Table,
    recipe: Recipe,
    rows: NDArray[np.int64] | None,
    suppressed: int,
    held: NDArray[np.int64] | None = None,
    *,
    written: int,
) -> None:
    """Refuse a release that lacks other records than its recipe and its count of suppressed ones say.

    Parameters
    ----------
    table
        All records of the input.
    recipe
        Its `suppress` is the largest share of people and of records.
    rows
        The rows that are released; None: all.
    suppressed
        The number of records that the run states as suppressed.
    held
        The rows that are left out as a control; None: none.
    written
        The number of rows of the release as it was read back.

    Raises
    ------
    GuaranteeError
        If a count is wrong, there are more than the share, or a person is released in part.
    """
    if written != (len(table) if rows is None else len(rows)):
        raise GuaranteeError("The release has more or fewer rows than it must have. Nothing was written.")
    released = np.ones(len(table), np.bool_)
    if rows is not None:
        released[:] = False
        released[rows] = True
    eligible = np.ones(len(table), np.bool_) if recipe.when_missing != "exclude" else ~lacking_a_value(table)
    if held is not None:
        eligible[held] = False
    dropped = eligible & ~released
    if (released & ~eligible).any() or int(dropped.sum()) != suppressed:
        raise GuaranteeError("Records are missing that were not counted as suppressed. Nothing was written.")
    if not suppressed:
        return
    people = _people(table, recipe)
    gone, all_ = np.unique(people[dropped]), np.unique(people[eligible])
    if np.isin(gone, people[released]).any():
        raise GuaranteeError("A person or group was suppressed in part. Nothing was written.")
    share = Fraction(repr(float(recipe.suppress)))
    if suppressed > math.floor(share * int(eligible.sum())) or len(gone) > math.floor(share * len(all_)):
        raise GuaranteeError(f"More was suppressed than suppress = {recipe.suppress:g} allows. Nothing was written.")


def _people(table: Table, recipe: Recipe) -> NDArray[np.int64]:
    """Return the number of each record's person or group, as the audit counts them; else every record is a person."""
    from shoal.privacy.counting.classes import people_of

    names = table.schema.names(Role.SUBJECT)
    if not names:
        return np.arange(len(table))
    subjects = named(table.data, names[0])
    return people_of(Release(table.data, table.schema, None, subjects, subject_exact=recipe.subject_exact)).codes
