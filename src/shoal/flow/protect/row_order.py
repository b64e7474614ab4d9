"""Rows to release and their order: excludes and suppresses records, and shuffles an input that is sorted.

In a file sorted by income, the position of a row reveals its income, whatever values are released.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shoal import progress, secret
from shoal.errors import DataError, rows_kept
from shoal.flow.classes.suppress import suppressed
from shoal.flow.evidence.receipt import Receipt
from shoal.flow.stages.sorted_rows import sorted_by
from shoal.flow.stages.values import complete_rows, only_rows, subjects_of
from shoal.recipe.recipe import Recipe
from shoal.types import Release, Table


@dataclass(frozen=True, eq=False)
class Kept:
    """The records to release.

    Attributes
    ----------
    rows
        Their row numbers in the input; None: all rows.
    left_out
        Number of records excluded because a quasi-identifier is missing.
    suppressed
        Number of records dropped because they would cost the most.
    """

    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    left_out: int = 0
    suppressed: int = 0


def kept_rows(table: Table, recipe: Recipe) -> Kept:
    """Return the records that a recipe releases: without incomplete ones, and without those that it suppresses."""
    complete = complete_rows(table, recipe)
    left_out = 0 if complete is None else len(table) - len(complete)
    if not recipe.suppress:
        return Kept(complete, left_out)
    progress.stage("Suppress")
    with rows_kept(complete):
        rows = np.flatnonzero(~suppressed(only_rows(table, complete), recipe))
    count = len(table) - left_out - len(rows)
    if not count:
        return Kept(complete, left_out)
    return Kept(rows if complete is None else complete[rows], left_out, count)


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The rows to release, in order.

    Attributes
    ----------
    rows
        For each released row the number of its row in the input, from 0; None: all rows in the order of the input.
    shuffled
        For each released row its position among the kept rows; None: in the order of the input.
    note
        A note for the user.
    """

    rows: NDArray[np.int64] | None = field(repr=False)
    shuffled: NDArray[np.int64] | None = field(default=None, repr=False)
    note: str = ""

    def arranged(self, table: Table) -> Table:
        """Return a table of the kept rows in release order."""
        return table if self.shuffled is None else table.rows(self.shuffled)

    def marked(self, release: Release) -> Release:
        """Return a release that records whether its rows are shuffled."""
        return replace(release, shuffled=self.shuffled is not None)


def order_rows(
    table: Table, kept: NDArray[np.int64] | None, recipe: Recipe, *, is_frame: bool, repeat: Receipt | None = None
) -> RowOrder:
    """Decide the order in which rows are released, and draw a random order if the recipe asks for one.

    Parameters
    ----------
    table
        The rows to release, in the order of the input.
    kept
        Their row numbers in the input; None: all rows.
    recipe
        Its `row_order` decides. ``auto`` shuffles a file that is sorted by a masked, removed or confidential
        column, and any output for which ε is claimed for original records.
    is_frame
        Under ``auto`` a frame keeps its order, and a note names the column that it is sorted by.
    repeat
        The receipt of an earlier run, whose order is reused.

    Raises
    ------
    DataError
        If the receipt belongs to other rows.
    """
    if repeat is not None:
        return _repeated(repeat, len(table), kept)
    shuffle, note = _decision(table, recipe, is_frame=is_frame)
    if not shuffle:
        return RowOrder(kept, note=note)
    households = None if recipe.together is None else subjects_of(table, exact=recipe.subject_exact)
    shuffled = permutation(len(table), households)
    return RowOrder(shuffled if kept is None else kept[shuffled], shuffled, note)


def _decision(table: Table, recipe: Recipe, *, is_frame: bool) -> tuple[bool, str]:
    """Return whether to shuffle the rows, and a note."""
    if recipe.row_order != "auto":
        return recipe.row_order == "shuffle", ""
    if recipe.claim == "original":
        return True, "The rows were shuffled, because their order in the input shows ranks, which ε does not cover."
    name = sorted_by(table.as_read, recipe)
    if name is None:
        return False, ""
    if is_frame:
        return False, (
            f"The rows keep their order, and they are sorted by {name!r}: their positions give away what it holds. "
            f'Set row_order = "shuffle" if the frame is to be published.'
        )
    return True, f"The rows were shuffled, because they are sorted by {name!r} in the input."


def permutation(n: int, households: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Draw a permutation of n rows, each equally likely, from a secret key.

    If the rows of every household are adjacent, they stay adjacent: households are permuted, and rows within each
    household. Otherwise rows are permuted one by one, because the output does not show which of them form a household.

    >>> sorted(permutation(4).tolist())
    [0, 1, 2, 3]
    """
    key = secret.fresh()
    order = np.argsort(secret.stream(key, "rows", n))
    if households is None or np.count_nonzero(np.diff(households)) != households.max():
        return order
    place = np.argsort(np.argsort(secret.stream(key, "households", int(households.max()) + 1)))
    return order[np.argsort(place[households[order]], kind="stable")]


def _repeated(receipt: Receipt, n: int, kept: NDArray[np.int64] | None) -> RowOrder:
    """Return the order of an earlier run, if it released the same rows."""
    ours = np.arange(n) if kept is None else kept
    rows = ours if receipt.rows is None else receipt.rows
    if not np.array_equal(np.sort(rows), ours) or (receipt.rows is None and kept is not None):
        raise DataError(
            f"Receipt: its permutation must name each of the {n:,} released rows once; it does not. Give the receipt "
            f"of a run with the same input and recipe."
        )
    if receipt.rows is None or np.array_equal(rows, ours):
        return RowOrder(kept)
    return RowOrder(rows, np.searchsorted(ours, rows))


def lined_up(original: Table, receipt: Receipt, released: int) -> Table:
    """Return the rows of an original in the order of a released table, by its receipt.

    Raises
    ------
    DataError
        If the receipt belongs to tables of other sizes.
    """
    rows = rows_in(receipt, len(original), released)
    return original if rows is None else original.rows(rows)


def rows_in(receipt: Receipt, n: int, released: int) -> NDArray[np.int64] | None:
    """Return for each released row its row in an original of n rows, by the receipt; None: the same.

    Raises
    ------
    DataError
        If the receipt belongs to tables of other sizes.
    """
    rows = np.arange(n) if receipt.rows is None else receipt.rows
    fits = len(rows) == released and bool(((rows >= 0) & (rows < n)).all()) and len(np.unique(rows)) == released
    if not fits:
        raise DataError(
            f"Receipt: its permutation must name one of the {n:,} rows of the original for each of the {released:,} "
            f"released rows; it does not. Give the receipt that was written with the released table."
        )
    return None if receipt.rows is None else rows
