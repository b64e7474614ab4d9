"""Row order: whether the input is sorted by something that is not released as it is, and the shuffle that hides it.

In a file that is sorted by income, the position of a row gives its income away, whatever is released of it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shoal import secret
from shoal.errors import DataError, ShoalError
from shoal.flow.evidence.receipt import Receipt
from shoal.flow.stages.groupings import subjects_of
from shoal.flow.stages.values import as_values
from shoal.recipe.recipe import Recipe
from shoal.types import Release, Role, Table

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


_FEWEST_PAIRS = 20
_SORTED = 95  # percent of the pairs of neighbours that differ
_SLICES = 8
_SHORTEST_SLICE = 4096
_PARSED = (Role.QUASI, Role.CONFIDENTIAL, Role.WEIGHT)  # whose cells are read later on in any case


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The rows to release, in their order.

    Attributes
    ----------
    rows
        For each released row the number of its row in the input, from 0; None: all rows in the order of the input.
    shuffled
        For each released row its place among the rows that were kept; None: in the order of the input.
    note
        What the user should know of it.
    """

    rows: NDArray[np.int64] | None = field(repr=False)
    shuffled: NDArray[np.int64] | None = field(default=None, repr=False)
    note: str = ""

    def arranged(self, table: Table) -> Table:
        """Return a table of the rows that were kept in the order in which they are released."""
        return table if self.shuffled is None else table.rows(self.shuffled)

    def marked(self, release: Release) -> Release:
        """Return a release that says whether its rows are shuffled."""
        return replace(release, shuffled=self.shuffled is not None)


def order_rows(
    table: Table, kept: NDArray[np.int64] | None, recipe: Recipe, *, is_frame: bool, repeat: Receipt | None = None
) -> RowOrder:
    """Decide in which order rows are released, and draw a random order where the recipe asks for one.

    Parameters
    ----------
    table
        The rows that are released, in the order of the input.
    kept
        Their numbers in the input; None: these are all rows.
    recipe
        Its `row_order` decides. ``auto`` shuffles files that are sorted by a column which is masked, removed or
        confidential, and whatever ε is claimed of original records for.
    is_frame
        Under ``auto`` a frame keeps its order, and a note says what it is sorted by.
    repeat
        The receipt of an earlier run, whose order is taken instead of a new one.

    Raises
    ------
    DataError
        If the receipt is about other rows.
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
    """Return whether to shuffle the rows, and what to say of it."""
    if recipe.row_order != "auto":
        return recipe.row_order == "shuffle", ""
    if recipe.claim == "original":
        return True, "The rows were shuffled, because their order in the input shows ranks, which ε does not cover."
    name = sorted_by(table, recipe)
    if name is None:
        return False, ""
    if is_frame:
        return False, (
            f"The rows keep their order, and they are sorted by {name!r}: their positions give away what it holds. "
            f'Set row_order = "shuffle" if the frame is to be published.'
        )
    return True, f"The rows were shuffled, because they are sorted by {name!r} in the input."


def sorted_by(table: Table, recipe: Recipe) -> str | None:
    """Return the first column that the rows are sorted by and that is masked, removed or confidential, if there is one.

    Of the pairs of neighbouring rows that differ in it, which must be at least 20, at least 95 % go up, or at least
    95 % go down. Pairs with a missing value do not count.
    """
    roles = {Role.QUASI, Role.IDENTIFIER, Role.SUBJECT, Role.CONFIDENTIAL}
    if recipe.release_weight != "record":
        roles.add(Role.WEIGHT)
    names = [column.name for column in table.schema.columns if column.role in roles]
    there = set(table.data.column_names)
    return next((name for name in names if name in there and _is_sorted(table, name)), None)


def _is_sorted(table: Table, name: str) -> bool:
    """Tell whether rows are sorted by a column. Of one that is not, usually an eighth of the rows is looked at."""
    n = len(table)
    step = max(-(-n // _SLICES), _SHORTEST_SLICE)
    whole = _comparable(table, name) if table.schema[name].role in _PARSED else None
    up = down = 0
    for start in range(0, n - 1, step):
        end = step + 1  # the first row of the next slice among them
        if whole is None:
            column = _comparable(replace(table, data=table.data.select([name]).slice(start, end)), name)
        else:
            column = whole.slice(start, end)
        rises, falls = _steps(column)
        up, down = up + rises, down + falls
        most = up + down + max(n - 1 - start - step, 0)  # pairs that can differ after all
        if 100 * min(up, down) > (100 - _SORTED) * most:
            return False
    return up + down >= _FEWEST_PAIRS and 100 * max(up, down) >= _SORTED * (up + down)


def _comparable(table: Table, name: str) -> pa.ChunkedArray:
    """Return the values of a column; one that cannot be read is compared as it is written."""
    import pyarrow as pa

    try:
        return _ranked(as_values(name, table, exact=table.schema[name].role is Role.QUASI))
    except (ShoalError, pa.ArrowException):
        return _ranked(table.data.column(name))


def _steps(column: pa.ChunkedArray) -> tuple[int, int]:
    """Return how many rows have a higher value than the row before them, and how many a lower one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    before, after = column.slice(0, len(column) - 1), column.slice(1)
    try:
        found = pc.sum(pc.less(before, after)), pc.sum(pc.greater(before, after))
    except pa.ArrowException:  # lists and the like have no order
        return 0, 0
    return found[0].as_py() or 0, found[1].as_py() or 0


def _ranked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column that can be compared: ordered categories by rank, others by what they are called."""
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column
    if not kind.ordered:
        return column.cast(kind.value_type)
    chunks = [chunk.indices for chunk in column.unify_dictionaries().chunks]
    return pa.chunked_array(chunks, kind.index_type)


def permutation(n: int, households: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Draw a permutation of n rows, each equally likely, from a secret key.

    Where the rows of every household are neighbours they are in the result, too: households are permuted, and rows
    within their household. Otherwise rows are permuted one by one, for nobody can see which of them belong together.

    >>> sorted(permutation(4).tolist())
    [0, 1, 2, 3]
    """
    import numpy as np

    key = secret.fresh()
    order = np.argsort(_stream(key, "rows", n))
    if households is None or np.count_nonzero(np.diff(households)) != households.max():
        return order
    place = np.argsort(np.argsort(_stream(key, "households", int(households.max()) + 1)))
    return order[np.argsort(place[households[order]], kind="stable")]


def _stream(key: bytes, what: str, n: int) -> NDArray[np.uint64]:
    """Return random numbers that nobody can compute without the key."""
    import numpy as np

    return np.frombuffer(hashlib.shake_256(key + what.encode()).digest(8 * n), "<u8")


def _repeated(receipt: Receipt, n: int, kept: NDArray[np.int64] | None) -> RowOrder:
    """Return the order of an earlier run, if that released the same rows."""
    import numpy as np

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
    """Return the rows of an original in the order of a released table, as its receipt says.

    Raises
    ------
    DataError
        If the receipt is about tables of other sizes.
    """
    import numpy as np

    n = len(original)
    rows = np.arange(n) if receipt.rows is None else receipt.rows
    fits = len(rows) == released and bool(((rows >= 0) & (rows < n)).all()) and len(np.unique(rows)) == released
    if not fits:
        raise DataError(
            f"Receipt: its permutation must name one of the {n:,} rows of the original for each of the {released:,} "
            f"released rows; it does not. Give the receipt that was written with the released table."
        )
    return original if receipt.rows is None else original.rows(rows)
