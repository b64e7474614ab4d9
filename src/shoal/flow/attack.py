"""Attacks on a release: reads original and release, matches their rows, and runs every attack."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import progress, registry
from shoal.errors import DataError, ParameterError, listing
from shoal.flow.classes.form import form
from shoal.flow.evidence.receipt import Receipt
from shoal.flow.gate.attacks import as_released, notes_in, run_attacks, with_parsed
from shoal.flow.large_tables import ROWS, LargePair, MatchedSample, complete_in, too_large
from shoal.flow.protect.anonymise import plan_for
from shoal.flow.protect.row_order import kept_rows, lined_up, rows_in
from shoal.flow.recoding.recode import recoded
from shoal.flow.stages.batch_tables import schema_of_batches
from shoal.flow.stages.batches import Batches, batches_of, files_of, first_file, read_whole
from shoal.flow.stages.read import is_textual, schema_for
from shoal.flow.stages.row_digests import occurrences
from shoal.locations import Place
from shoal.memory import ceiling
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.types import Attempt, Attempts, Case, Dialect, Release, Role, Schema, Table
from shoal.types.attack import AllRecords
from shoal.types.sample import SampleSize

_NAMING = ("orders", "taxonomies", "text")  # fields in which evidence hides names of categories
_UNCHANGED = (Role.CONFIDENTIAL, Role.OTHER, Role.STRATA)  # of columns that tell the order of rows
_OTHER_RECEIPT = (
    "Receipt: it must be that of the released table, but unchanged columns do not match row by row. Give the receipt "
    "that was written with the released table."
)
_KEY = bytes(32)  # of a choice among partitions, where the key of the run is not known


@dataclass(frozen=True, eq=False)
class AttackRequest:
    """The request for attacks: the tables, and what is known of the run that made the release."""

    original: Any
    released: Sequence[Any]
    recipe: Recipe
    earlier: Any = None
    evidence: Mapping[str, Any] | None = None
    receipt: Path | None = None
    only: Sequence[str] = ()
    text: Mapping[str, Any] = field(default_factory=dict)
    memory: str | int | None = None  #: ceiling; None: the available memory

    @property
    def places(self) -> list[Any]:
        """All tables."""
        return [self.original, *self.released, *(() if self.earlier is None else (self.earlier,))]

    @property
    def keys(self) -> tuple[str, ...]:
        """The attacks to run."""
        known = registry.keys("attack")
        for name in self.only:
            if name not in known:
                raise ParameterError(unknown("attack", "attack", name, known))
        return tuple(key for key in known if not self.only or key in self.only)


def attack_release(asked: AttackRequest) -> Attempts:
    """Run the attacks on a release; on a sample of whole classes, if its tables do not fit into memory."""
    keys = asked.keys
    if not _is_large(asked):
        return run_attacks(case_of(asked), keys)
    case = _sampled_case(asked)
    assert case.everything is not None  # the case is a sample
    found = {one.attack: one for one in run_attacks(case, [key for key in keys if not _of_all(key, asked)])}
    attempts = (found.get(key) or Attempt.not_run(key, _TOO_LARGE) for key in keys)
    return Attempts(tuple(attempts), SampleSize(len(case), case.everything.records).stated)


_TOO_LARGE = "It needs all records, and they do not fit into memory. Raise --memory."


def _of_all(key: str, asked: AttackRequest) -> bool:
    """Tell whether an attack would recompute facts about all records."""
    needs = registry.says("attack", key, "needs") or ()
    return "replay" in needs or ("evidence" in needs and asked.evidence is not None)


def _is_large(asked: AttackRequest) -> bool:
    """Tell whether the tables are attacked on a sample; refuse those that exceed a given ceiling and cannot be."""
    if not all(isinstance(one, Place) for one in asked.places):
        return False
    if not too_large(asked.places, ceiling(asked.memory)):
        return False
    if len(asked.places) == 2:
        return True
    if asked.memory is None:
        return False
    raise ParameterError(
        "attack: two released tables, and an earlier release, must fit into memory, and they do not. Raise --memory, "
        "or attack one table."
    )


def _sampled_case(asked: AttackRequest) -> Case:
    """Read an original and its release in batches, match their rows, and return a sample of whole classes."""
    if asked.recipe.recode:
        raise ParameterError(
            "attack: the original of a release with recode must fit into memory, and does not. Raise --memory."
        )
    before, after = (batches_of(one, _text_of(one, asked)) for one in asked.places)
    schema = schema_of_batches(before, asked.recipe)
    _refuse_without_quasi(schema, after.arrow.names)
    pair = _paired(before, after, asked)
    by = [name for name in schema.names(Role.QUASI) if name in after.arrow.names]
    unchanged = [name for name in schema.names(*_UNCHANGED) if name in after.arrow.names]
    progress.stage("Sample")
    sample = pair.sample(by, unchanged, ceiling(asked.memory) // 4)
    moved = _moved_in(sample)
    if moved and asked.receipt is not None:
        raise DataError(_OTHER_RECEIPT)
    if moved or (moved is None and asked.receipt is None and asked.recipe.row_order == "shuffle"):
        raise _unmatched("rows were shuffled")
    original = Table(sample.original, schema, before.dialect)
    released = as_released(Release(sample.released, Schema(()), after.dialect), original)

    def occurring(names: Sequence[str]) -> NDArray[np.int64]:
        return occurrences(sample.released, after.read(names, ROWS), names)

    return Case(
        with_parsed(original, exact=True),
        (released,),
        asked.recipe.to_dict(),
        np.arange(len(released)),
        notes=tuple(notes_in(after.files)),
        everything=AllRecords(pair.records, pair.originals_in_batches, partial(after.read, rows=ROWS), occurring),
    )


def _paired(before: Batches, after: Batches, asked: AttackRequest) -> LargePair:
    n, released = before.count_records(), after.count_records()
    if asked.receipt is not None:
        return LargePair(before, after, rows_in(Receipt.read(asked.receipt), n, released), n, released)
    rows = complete_in(before, asked.recipe)
    if (kept := n if rows is None else len(rows)) != released:
        raise _unmatched(f"the original has {kept:,} rows and the release {released:,}")
    return LargePair(before, after, rows, n, released)


def _unmatched(why: str) -> DataError:
    return DataError(
        "attack: of tables that do not fit into memory, it must be known which row was released for which, and "
        f"{why}. Give the receipt, or raise --memory."
    )


def _moved_in(sample: MatchedSample) -> bool | None:
    """Tell the same as `_moved` from sums over all rows."""
    if any(one.equal and (one.varied or sample.size.of == 1) for one in sample.order.values()):
        return False
    return True if any(one.permuted and not one.equal for one in sample.order.values()) else None


def case_of(asked: AttackRequest) -> Case:
    """Read the tables of a request and match their rows."""
    data, dialect = _read(asked.original, asked)
    original = recoded(Table(data, schema_for(data, asked.recipe, dialect), dialect), asked.recipe)
    if original.before is not None:
        original = replace(original, before=with_parsed(original.before, exact=True))
    tables = tuple(_released(one, original, asked) for one in asked.released)
    _refuse_without_quasi(original.schema, tables[0].data.column_names)
    rows, why = _matched(original, tables[0], asked)
    earlier = None if asked.earlier is None else _released(asked.earlier, original, asked)
    return Case(
        with_parsed(original, exact=True),
        tables,
        asked.recipe.to_dict(),
        rows,
        why,
        earlier,
        None if earlier is None else _matched(original, earlier, replace(asked, receipt=None))[0],
        asked.evidence,
        tuple(notes_in(at for one in asked.released if isinstance(one, Place) for at in _files(one))),
        partial(_classes, asked.recipe, None if asked.receipt is None else Receipt.read(asked.receipt).choice_key),
    )


def _refuse_without_quasi(schema: Schema, there: Sequence[str]) -> None:
    quasi = schema.names(Role.QUASI)
    if not set(quasi) & set(there):
        raise DataError(
            f"attack: the release must have a quasi-identifier of the original ({listing(quasi)}), got none of them. "
            "Give the release of this table; of two tables, give the one with quasi-identifiers first."
        )


def _files(place: Place) -> Sequence[Any]:
    """Return where the tables of a place are: a file or database, or the files of a folder."""
    return files_of(place.at) if isinstance(place.at, Path) else (place.at,)


def _classes(recipe: Recipe, key: bytes | None, table: Table, *, atoms: bool = False) -> NDArray[np.int64]:
    """Return the class of each row of a table, or its atom.

    If one of several partitions was chosen by a secret key, `key` is that key; without it, another one is chosen.
    """
    partition = form(plan_for(table, recipe).with_keys(choice=key or _KEY), table).partition
    return partition.blocks[0].atom_labels if atoms else partition.labels


def recipe_in(evidence: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return the recipe in evidence without taxonomies and orders, whose names evidence hides."""
    said = evidence.get("recipe")
    if not isinstance(said, Mapping):
        raise DataError(f"{owner}: must be evidence of shoal, but it has no recipe. Give the file of --evidence.")
    ranked = said.get("orders") or {}
    kinds = {name: kind for name, kind in (said.get("kinds") or {}).items() if name not in ranked}
    return {**{name: value for name, value in said.items() if name not in _NAMING}, "kinds": kinds}


def read_evidence(path: Path) -> dict[str, Any]:
    """Read evidence as plain values; whether it is true is for ``shoal verify`` to say."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path.name}: cannot be read ({error.strerror}). Check the path of the evidence.") from None
    except (ValueError, RecursionError):
        raise DataError(
            f"{path.name}: must be evidence of shoal, but it is not JSON. Give the file of --evidence."
        ) from None
    if not isinstance(values, dict):
        raise DataError(f"{path.name}: must be evidence of shoal, but it has no recipe. Give the file of --evidence.")
    return values


def _read(given: Any, asked: AttackRequest) -> tuple[pa.Table, Dialect | None]:
    """Read a table from its place, or from a frame."""
    if isinstance(given, Place):
        return read_whole(given, _text_of(given, asked))
    from shoal.io.sources.frame import Frame

    return Frame().read(given)[0], None


def _text_of(given: Place, asked: AttackRequest) -> Mapping[str, Any]:
    """Return the settings of a text file; empty for other formats."""
    return {**asked.recipe.text, **asked.text} if is_textual(first_file(given)) else {}


def _released(given: Any, original: Table, asked: AttackRequest) -> Table:
    data, dialect = _read(given, asked)
    return as_released(Release(data, Schema(()), dialect), original)


def _matched(original: Table, released: Table, asked: AttackRequest) -> tuple[NDArray[np.int64] | None, str]:
    """Return for each released row its row in the original; None, and the reason, if that is not known."""
    n = len(released)
    if asked.receipt is not None:
        receipt = Receipt.read(asked.receipt)
        lined_up(original, receipt, n)  # refuses a receipt of other tables
        rows = np.arange(n) if receipt.rows is None else receipt.rows
        if _moved(original, rows, released):
            raise DataError(_OTHER_RECEIPT)
        return rows, ""
    kept = kept_rows(original, asked.recipe).rows
    rows = np.arange(len(original)) if kept is None else kept
    if len(rows) != n:
        return None, (
            f"It needs to know which row was released for which: the original has {len(rows):,} rows and the release "
            f"{n:,}. Give the receipt."
        )
    moved = _moved(original, rows, released)
    if moved or (moved is None and asked.recipe.row_order == "shuffle"):
        return None, "It needs to know which row was released for which: rows were shuffled. Give the receipt."
    return rows, ""


def _moved(original: Table, rows: NDArray[np.int64], released: Table) -> bool | None:
    """Tell whether columns that should be unchanged hold the same values in another order; None: undecided."""
    moved = None
    for name in original.schema.names(*_UNCHANGED):
        if name not in released.data.column_names:
            continue
        try:
            before, after = (t.data.column(name).cast(pa.large_string()) for t in (original, released))
            before = before.take(rows)
            if before.equals(after):
                if before.length() == 1 or pc.count_distinct(before, mode="all").as_py() > 1:
                    return False
            elif before.sort().equals(after.sort()):
                moved = True
        except pa.ArrowException:  # lists and other types that Arrow cannot sort
            continue
    return moved
