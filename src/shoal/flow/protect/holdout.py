"""Holdout: people who are left out of a release at random, as a control for attacks on it.

**Exchange rule.** The draw depends on secret randomness, on the number of records and, if people or households are
declared, on their names; never on the position or the values of a record of theirs. If two released members of a
class exchange their places, the same people are held out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal import secret
from shoal.errors import DataError, ParameterError, rows_kept
from shoal.flow.evidence.receipt import Receipt, of_name
from shoal.flow.plan.release_traits import covers_originals
from shoal.flow.protect.row_order import Kept, kept_rows
from shoal.flow.stages.values import only_rows, told_apart
from shoal.flow.stages.write import open_sink
from shoal.locations import Place
from shoal.recipe.recipe import Recipe
from shoal.types import Role, Table, called

_DRAW = "holdout"


class Held(NamedTuple):
    """People who are left out of a release."""

    rows: NDArray[np.int64]  #: their rows in the input, ascending
    others: NDArray[np.int64]  #: all other rows, ascending
    key: bytes  #: by which they were drawn
    people: int
    of: int  #: number of people in the input
    unit: str  #: unit that is drawn as a whole: ``records``, or the values of a column

    def note(self, where: str) -> str:
        """Say how many people were left out; `where` says where their records are."""
        many = f" ({len(self.rows):,} records)" if self.people != len(self.rows) else ""
        return (
            f"{self.people:,} of {self.of:,} {self.unit}{many} were drawn at random and left out of the release, as a "
            f"control: {where} holds their original values. Keep it private."
        )


def refuse_holdout(share: float | None, recipe: Recipe, engine: str = "memory", path: Path | None = None) -> None:
    """Refuse a holdout that cannot be drawn, or written to its file; with a share of None, check nothing."""
    if share is None:
        return
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
        raise ParameterError(f"Holdout: must be above 0 and below 1, got {share!r}. Try 0.1, a tenth of the people.")
    if engine != "memory":
        raise ParameterError(
            f"Holdout: people can be left out by engine = memory only, got {engine}. Leave out --holdout, or set "
            "people aside before."
        )
    if covers_originals(recipe):
        raise ParameterError(
            "Holdout: must not be given with claim = original, whose ε is about all records of the input. Leave it "
            "out, or set people aside before."
        )
    if path is not None and not open_sink(Place(path)).batched:
        raise ParameterError(f"{path.name}: people who are left out are written to a CSV or Parquet file. Rename it.")


def draw_holdout(table: Table, share: float | None, recipe: Recipe, earlier: Receipt | None = None) -> Held | None:
    """Draw a share of the people at random: whole subjects or households if they are declared, else records.

    Parameters
    ----------
    table
        All records of the input.
    share
        The share of people, rounded to a whole number of them; None: no holdout.
    recipe
        Its `subject` or `together` names the people.
    earlier
        The receipt of the run to repeat: the same people are drawn.

    Raises
    ------
    DataError
        If no one would be left out, or no one would stay; or if only one of this run and the run to repeat has a
        holdout.
    """
    _refuse_other(earlier, share)
    if share is None:
        return None
    key = secret.fresh() if earlier is None or earlier.holdout_key is None else earlier.holdout_key
    names = table.schema.names(Role.SUBJECT)
    if names:
        units, of = _people(table, names[0], key, exact=recipe.subject_exact)
    else:
        units, of = np.argsort(np.argsort(secret.stream(key, _DRAW, len(table)))), len(table)
    people = round(share * of)
    if not 0 < people < of:
        raise DataError(
            f"Holdout: must leave out at least 1 of {of:,} people and keep at least 1; {share:g} leaves out "
            f"{people:,}. Choose another share."
        )
    held = units < people
    unit = f"people ({names[0]})" if recipe.subject else f"households ({names[0]})" if names else "records"
    return Held(np.flatnonzero(held), np.flatnonzero(~held), key, people, of, unit)


def _people(table: Table, name: str, key: bytes, *, exact: bool) -> tuple[NDArray[np.int64], int]:
    """Return for each record the rank of its person by a keyed digest of the name, and the number of people."""
    encoded = told_apart(table, name, exact=exact).combine_chunks().dictionary_encode(null_encoding="encode")
    names = encoded.dictionary.to_pylist()
    digests = [of_name(key, f"{_DRAW}\0{'' if one is None else called(one)}") for one in names]
    rank = np.empty(len(names), np.int64)
    rank[np.argsort(np.array(digests), kind="stable")] = np.arange(len(names))
    return rank[encoded.indices.to_numpy()], len(names)


def released_rows(whole: Table, recipe: Recipe, held: Held | None) -> tuple[Table, Kept]:
    """Return the records to release, and which rows of the input they are."""
    if held is None:
        kept = kept_rows(whole, recipe)
        return only_rows(whole, kept.rows), kept
    others = only_rows(whole, held.others)
    with rows_kept(held.others):
        kept = kept_rows(others, recipe)
    rows = held.others if kept.rows is None else held.others[kept.rows]
    return only_rows(others, kept.rows), replace(kept, rows=rows)


def _refuse_other(earlier: Receipt | None, share: float | None) -> None:
    """Refuse to repeat a run with a holdout without one, or the other way round."""
    if earlier is None or (earlier.holdout_key is None) == (share is None):
        return
    if share is None:
        raise DataError(
            "Repeat: the receipt is of a run that left people out. Give its --holdout and --holdout-to as well."
        )
    raise DataError("Repeat: the receipt is of a run that left no one out. Leave out --holdout and --holdout-to.")


def write_holdout(
    held: Held | None, path: Path | None, hidden: Mapping[str, Path], read: Callable[[bool], Table]
) -> tuple[str, ...]:
    """Write the original records of the people who are left out, and return the note on them.

    `read` returns the input for a text file, exactly as it is written there, or for another one.
    """
    if held is None or path is None:
        return ()
    sink = open_sink(Place(path))
    table = read(sink.textual).as_read  # before recoding
    sink.write(sink.fitted(table.data.take(held.rows)), hidden["holdout"], sink.dialect_for(path, table.dialect))
    return (held.note(path.name),)
