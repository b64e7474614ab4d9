"""Comparison of a masked table with its original, row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.errors import DataError, ParameterError, SchemaError, raise_all
from shoal.flow.evidence.receipt import Receipt
from shoal.flow.exact_losses import exact_losses
from shoal.flow.large_tables import LargePair, complete_in, too_large
from shoal.flow.protect.row_order import kept_rows, lined_up, rows_in
from shoal.flow.recoding.recode import recode_columns
from shoal.flow.stages.batch_tables import kinds_of_batches
from shoal.flow.stages.batches import Batches, batches_of, first_file, read_whole
from shoal.flow.stages.encode import confidential_columns, encode, weights_in
from shoal.flow.stages.masked_values import masked_values
from shoal.flow.stages.measure import (
    AnyMeasure,
    compared,
    measures,
    of_sample,
    read_attacks,
    read_measures,
    with_advice,
    with_attacks,
    without_pairs,
)
from shoal.flow.stages.read import is_textual, listed, schema_for
from shoal.flow.stages.three_tables import attacked_tables, rows_outside, shared_records
from shoal.flow.stages.values import categories, only_rows, people_in, strata_of
from shoal.locations import Place
from shoal.memory import ceiling
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.types import Comparison, ControlledMeasure, Dialect, Kind, Readings, Role, Schema, Table, with_columns


def places_by_key(original: Table, masked: Table, key: str) -> NDArray[np.int64]:
    """Return for each original record its row in the masked table; −1 if it is not there.

    Raises
    ------
    SchemaError
        If a table lacks the key column.
    DataError
        If the key is missing or occurs twice in a table, or a masked record's key is not in the original.
    """
    tables = {"original": original, "masked": masked}
    raise_all(
        SchemaError,
        [
            unknown(f"Compare, {which} table", "column (key)", key, table.data.column_names)
            for which, table in tables.items()
            if key not in table.data.column_names
        ],
    )
    n = len(original)
    both = pa.chunked_array([_text(key, c) for t in tables.values() for c in t.data.column(key).chunks])
    codes = categories(key, both, "cannot be a key. Name another column.")
    faults = []
    for which, own in (("original", codes[:n]), ("masked", codes[n:])):
        missing = tables[which].data.column(key).null_count
        if missing or len(np.unique(own)) < len(own):
            faults.append(
                f"Column {key!r}: a key must be present and unique for every record; in the {which} table it is not. "
                "Name another column."
            )
    strange = int((~np.isin(codes[n:], codes[:n])).sum())
    if strange:
        faults.append(
            f"Column {key!r}: every masked record must be in the original; {strange:,} of {len(masked):,} are not. "
            f"Give the file that was masked and its masked version."
        )
    raise_all(DataError, faults)
    row = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
    row[codes[n:]] = np.arange(len(codes) - n)
    return np.asarray(row[codes[:n]])


def _text(key: str, chunk: pa.Array) -> pa.Array:
    """Return a key as text: a number in one table may be text in the other."""
    try:
        return chunk.cast(pa.large_string())
    except pa.ArrowException:
        raise DataError(f"Column {key!r}: {chunk.type} cannot be a key. Name another column.") from None


@dataclass(frozen=True)
class Compared:
    """The request for a comparison: the columns, and facts that they do not carry."""

    columns: Sequence[str]
    kinds: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, Mapping[str, Any] | str] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    confidential: Sequence[str] = ()
    strata: Sequence[str] = ()
    key: str | None = None  #: a column that identifies records in both tables; None: both have the same row order
    settings: Mapping[str, Any] = field(default_factory=dict)  #: parameters of the measures
    seed: int = 0
    only: Sequence[str] = ()  #: measures to compute; empty: all
    recipe: Recipe | None = None  #: of the run that masked the table, if known
    receipt: Receipt | None = None  #: of the run that masked the table; maps released rows to input rows
    synthetic: bool = False  #: no released row is that of an original record

    def __post_init__(self) -> None:
        if self.synthetic and (self.key is not None or self.receipt is not None):
            raise ParameterError(
                "Compare: key and receipt cannot be given with synthetic data, because its rows do not correspond to "
                "original rows. Leave them out, or leave out --synthetic."
            )
        if self.key is not None and self.receipt is not None:
            raise ParameterError(
                "Compare: key and receipt must not both be given: each of them matches the rows. Leave out one."
            )

    @classmethod
    def of(cls, recipe: Recipe | None, said: Compared) -> Compared:
        """Complete a request from a known recipe: compare its quasi-identifiers unless columns are named."""
        if recipe is None:
            return said
        names = said.columns or recipe.quasi
        confidential = said.confidential or [name for name in recipe.confidential if name not in names]
        strata = said.strata or [name for name in recipe.strata if name not in names]
        known = {*names, *confidential}
        kinds: dict[str, str] = {name: kind for name, kind in recipe.kinds.items() if name in known}
        taxonomies = {name: tree for name, tree in recipe.taxonomies.items() if name in known}
        orders = {name: order for name, order in recipe.orders.items() if name in known}
        return replace(
            said,
            columns=names,
            kinds={**kinds, **said.kinds},
            taxonomies={**taxonomies, **said.taxonomies},
            orders={**orders, **said.orders},
            confidential=confidential,
            strata=strata,
            seed=said.seed or recipe.seed,
            recipe=recipe,
        )

    def with_receipt(self, path: Path | None) -> Compared:
        """Return the request with the receipt in a file, if there is one."""
        return self if path is None else replace(self, receipt=Receipt.read(path))

    @property
    def weight(self) -> str | None:
        """The column of sampling weights, if the recipe names one that is not compared."""
        named = None if self.recipe is None else self.recipe.weight
        return None if named in self.columns or named in self.confidential else named

    @property
    def people(self) -> str | None:
        """The column of people or groups that k counts, if the recipe names one."""
        return None if self.recipe is None else next(iter(self.recipe.columns(Role.SUBJECT)), None)

    @property
    def missing(self) -> str:
        """How a missing value of the original is treated."""
        return "fill" if self.recipe is not None and self.recipe.when_missing == "fill" else "category"

    def text_of(self, place: Place, text: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the text settings from the recipe and the caller; a recipe's apply to text files only."""
        if self.recipe is None or not is_textual(first_file(place)):
            return text
        return {**self.recipe.text, **text}

    def left(self, table: Table) -> Table:
        """Return the original records that were released: all, unless the recipe excludes or suppresses some."""
        if self.recipe is None:
            return table
        whole = replace(table, schema=schema_for(table.data, self.recipe, table.dialect))
        if self.recipe.suppress:  # recoded values decide who would cost the most
            here = whole.schema.names()
            whole = recode_columns(whole, {name: how for name, how in self.recipe.recode.items() if name in here})
        return only_rows(table, kept_rows(whole, self.recipe).rows)

    @cached_property
    def measures(self) -> list[AnyMeasure]:
        """The measures to compute."""
        return measures(self.settings, only=listed("measures", self.only))

    @property
    def extra(self) -> tuple[str, ...]:
        """Columns that a measure needs but that are not compared themselves."""
        named = (name for one in self.measures for name in one.columns)
        return tuple(dict.fromkeys(name for name in named if name not in self.columns))

    def schema(self, data: pa.Table, dialect: Dialect | None, unread: tuple[str, ...] = ()) -> Schema:
        """Return a schema in which only the needed columns have a role."""
        from shoal.schema.roles import schema_of

        recipe, kinds = self._meant(data.column_names)
        return schema_of(data, recipe.roles, kinds, dialect, unread, recipe.taxonomies, recipe.orders)

    def schema_in(self, batches: Batches) -> Schema:
        """Return the same schema of a table that is read in batches."""
        from shoal.schema.roles import schema_from

        recipe, kinds = self._meant(batches.arrow.names)
        known = {**kinds, **recipe.taxonomies, **recipe.orders}
        inferred = kinds_of_batches(batches, [name for name in batches.arrow.names if name not in known])
        taxonomies, orders = recipe.taxonomies, recipe.orders
        return schema_from(batches.arrow, inferred.__getitem__, recipe.roles, kinds, (), taxonomies, orders)

    def _meant(self, there: Sequence[str]) -> tuple[Recipe, dict[str, Kind]]:
        """Return the roles of the needed columns as a recipe, and the kinds that need not be inferred."""
        recipe = Recipe(
            quasi=listed("columns", self.columns),
            confidential=tuple(self.confidential),
            strata=tuple(self.strata),
            weight=self.weight if self.weight in there else None,
            kinds=self.kinds,
            taxonomies=self.taxonomies,
            orders=self.orders,
        )
        looked_at = {*recipe.quasi, *recipe.confidential, *self.extra, *recipe.columns(Role.WEIGHT)}
        others = dict.fromkeys(set(there) - looked_at, Kind.NOMINAL)  # their kind is never used
        return recipe, {**others, **recipe.kinds}


def compare_frames(original: Any, masked: Any, asked: Compared, control: Any = None) -> Readings:
    """Measure the loss of a masked frame, row by row, and attack it if there is a control."""
    from shoal.io.sources.frame import Frame

    (before, unread), (after, lost) = (Frame().read(frame) for frame in (original, masked))
    schema = asked.schema(before, None, unread)
    _all_there(after, schema, lost)
    outside = None if control is None else Table(Frame().read(control)[0], schema)
    return _compare(Table(before, schema), Table(after, schema), outside, asked)


def compare_files(
    original: Place,
    masked: Place,
    asked: Compared,
    text: Mapping[str, Any],
    memory: str | int | None = None,
    control: Place | None = None,
) -> Readings:
    """Measure the loss of a masked file or folder, row by row, and attack it if there is a control.

    If both tables are too large for the memory, SSE and IL are still those of all records, and all other measures are
    taken on a sample of whole classes.
    """
    limit = ceiling(memory)
    if too_large((original, masked), limit):
        if control is not None or asked.synthetic:
            raise ParameterError(
                "Compare: a control table and synthetic data need all tables in memory, and they do not fit. Raise "
                "--memory, or compare a sample of whole people."
            )
        return _compare_large(original, masked, asked, text, limit)
    (before, dialect), (after, its) = (read_whole(place, asked.text_of(place, text)) for place in (original, masked))
    schema = asked.schema(before, dialect)
    _all_there(after, schema)
    outside = None
    if control is not None:
        outside = Table(*_with_schema(read_whole(control, asked.text_of(control, text)), schema))
    return _compare(Table(before, schema, dialect), Table(after, schema, its), outside, asked)


def _with_schema(read: tuple[pa.Table, Dialect | None], schema: Schema) -> tuple[pa.Table, Schema, Dialect | None]:
    return read[0], schema, read[1]


def _all_there(masked: pa.Table, schema: Schema, unread: tuple[str, ...] = ()) -> None:
    """Refuse a masked table that lacks columns of the original."""
    from shoal.schema.roles import schema_of

    named = dict.fromkeys(schema.names(Role.QUASI), Role.QUASI)
    schema_of(masked, named, dict.fromkeys(masked.column_names, Kind.NOMINAL), None, unread)


def _compare(original: Table, masked: Table, control: Table | None, asked: Compared) -> Readings:
    """Measure the masked values on the scale of the original; a missing value counts as a value."""
    if control is None and not asked.synthetic:
        return with_advice(_measured(original, masked, asked), asked.measures)
    who = _members(original, masked, control, asked)
    attacking = [one for one in asked.measures if isinstance(one, ControlledMeasure)]
    three = attacked_tables(who.table, masked, control, asked.confidential, missing=asked.missing, seed=asked.seed)
    if not who.in_rows:
        return _with_note(read_attacks(three, asked.measures), who.note)
    found = with_attacks(_measured(who.original, masked, asked), read_attacks(three, attacking))
    return _with_note(found, who.note)


def _measured(original: Table, masked: Table, asked: Compared) -> Readings:
    """Measure row by row; if the rows seem to be shuffled, only what does not depend on their order."""
    found = read_measures(_comparison(original, masked, asked), asked.measures)
    note = _order_of(original, masked, asked)
    return _unpaired(found, asked, note) if note else found


def _unpaired(found: Readings, asked: Compared, note: str) -> Readings:
    """Return what does not depend on the order of rows; nothing if people are counted, whose rows are unknown."""
    return without_pairs(found, asked.measures if asked.people is None else (), note)


def _order_of(original: Table, masked: Table, asked: Compared) -> str:
    """Return a note if rows are matched by position and seem to be in another order."""
    return "" if asked.receipt is not None or asked.key is not None else _shuffled(asked.left(original), masked)


class _Members(NamedTuple):
    """The people in a release."""

    table: Table  #: their original records
    original: Table  #: the original, without the records of the control if rows are matched by position
    in_rows: bool  #: released rows can be matched with those of `original`
    note: str = ""


def _members(original: Table, masked: Table, control: Table | None, asked: Compared) -> _Members:
    """Find the original records that were released: by receipt, by key, or as those that the control does not hold."""
    if asked.receipt is not None:
        who = _Members(lined_up(original, asked.receipt, len(masked)), original, in_rows=True)
    elif asked.key is not None:
        released = places_by_key(original, masked, asked.key) >= 0
        who = _Members(only_rows(original, np.flatnonzero(released)), original, in_rows=True)
    else:
        left = asked.left(original)
        who = _Members(left, original, in_rows=len(left) == len(masked) and not asked.synthetic)
    if control is None:
        return who
    _refuse_unfit(control, original.schema, asked)
    outside = None if who.in_rows else rows_outside(original, control)
    if outside is None:
        parts = not who.in_rows and len(original) == len(masked) + len(control)
        return who._replace(note=_PARTS if parts else _shared_note(shared_records(who.table, control), len(control)))
    if not len(outside.rows):
        raise DataError(
            "Compare: the control table must hold people who are not in the release, but it holds every original "
            "record. Give another control."
        )
    others = only_rows(original, outside.rows)
    left = asked.left(others)
    in_rows = outside.certain and len(left) == len(masked) and not asked.synthetic
    told = f"all {len(control):,} control records are in the original table; they were not counted as members"
    return _Members(left, others, in_rows, told)


def _refuse_unfit(control: Table, schema: Schema, asked: Compared) -> None:
    """Refuse a control without records, or without a column that the attacks need."""
    there = control.data.column_names
    needed = (*schema.names(Role.QUASI), *asked.confidential)
    raise_all(SchemaError, [unknown("Compare, control", "column", name, there) for name in needed if name not in there])
    if not len(control):
        raise DataError("Compare: the control table must have records, got an empty one. Give another file.")


_PARTS = (
    "the original has as many records as release and control together, but some control records were not found in it: "
    "people outside the release may be counted as members, and the excess is then too low. Give the receipt (--receipt)"
)
_BY_CHANCE = 0.01  # of the control records may equal original ones without a note


def _shared_note(shared: int, of: int) -> str:
    if shared <= of * _BY_CHANCE:
        return ""
    return (
        f"{shared:,} of {of:,} control records equal an original record in all common columns; if they are the same "
        "people, the excess is too low"
    )


def _with_note(found: Readings, note: str) -> Readings:
    """Return readings with a note at the first of them that has a value."""
    at = next((at for at, one in enumerate(found.readings) if not math.isnan(one.value)), 0)
    if not note or not found.readings:
        return found
    noted = list(found.readings)
    noted[at] = replace(noted[at], note="; ".join(filter(None, (note, noted[at].note))))
    return replace(found, readings=tuple(noted))


def _compare_large(original: Place, masked: Place, asked: Compared, text: Mapping[str, Any], memory: int) -> Readings:
    """Measure tables that are larger than memory: the losses of all records, and a sample of whole classes."""
    if asked.key is not None:
        raise ParameterError(
            "Compare: a key needs both tables in memory, and they do not fit. Give the receipt of the run, or raise "
            "--memory."
        )
    before, after = (batches_of(place, asked.text_of(place, text)) for place in (original, masked))
    schema = asked.schema_in(before)
    _all_there(after.arrow.empty_table(), schema)
    tables = [Table(one.arrow.empty_table(), schema, one.dialect) for one in (before, after)]
    _refuse_unknown(asked.extra, *tables)
    pair, names = _paired(before, after, asked), schema.names(Role.QUASI)
    shared = [name for name in after.arrow.names if name in before.arrow.names and name not in names]
    progress.stage("Sample")
    sample = pair.sample(names, [] if asked.receipt is not None else shared, memory // 4)
    kept = any(one.equal for one in sample.order.values())
    moved = [name for name, one in sample.order.items() if one.permuted and not kept]
    progress.stage("Measure")
    with TemporaryDirectory(prefix="shoal-") as scratch:
        exact = exact_losses(pair, schema, asked.missing, Path(scratch))
    own, shown = (replace(one, data=data) for one, data in zip(tables, sample[:2], strict=True))
    matched = None if asked.recipe is None else asked.recipe.override(suppress=0)  # the sample holds released records
    comparison = _comparison(own, shown, replace(asked, receipt=None, recipe=matched))
    found = with_advice(read_measures(comparison, asked.measures), asked.measures)
    whole = replace(comparison, numbers={})  # those are of the sample
    whole.cache.update(exact._asdict())
    losses = read_measures(whole, [one for one in asked.measures if one.name() in _EXACT])
    of_all = {one.name: one for one in losses.readings}
    readings = tuple(of_all.get(one.name, one) for one in of_sample(found).readings)
    made = Readings(readings, sample.size.stated)
    return _unpaired(made, asked, _order_note(moved)) if moved else made


_EXACT = ("sse", "il_sse")  # measures whose sums over all records are known


def _paired(before: Batches, after: Batches, asked: Compared) -> LargePair:
    """Match the rows of tables that are read in batches: by row, or by receipt."""
    n, released = before.count_records(), after.count_records()
    if asked.receipt is not None:
        return LargePair(before, after, rows_in(asked.receipt, n, released), n, released)
    rows = None if asked.recipe is None else complete_in(before, asked.recipe)
    _refuse_other_rows(n if rows is None else len(rows), released)
    return LargePair(before, after, rows, n, released)


def _refuse_other_rows(original: int, masked: int) -> None:
    if original != masked:
        raise DataError(
            f"Compare: both tables must have the same rows in the same order, got {original:,} and {masked:,}. Give "
            "the file that was masked and its masked version, a key that both have, or the receipt; for synthetic "
            "data, add --synthetic."
        )


def _comparison(original: Table, masked: Table, asked: Compared) -> Comparison:
    """Align original and masked records: by row, by key, or by receipt."""
    positions = None
    if asked.receipt is not None:
        original = lined_up(original, asked.receipt, len(masked))
    elif asked.key is None:
        original = asked.left(original)
        _refuse_other_rows(len(original), len(masked))
    else:
        positions = places_by_key(original, masked, asked.key)
        original = only_rows(original, np.flatnonzero(positions >= 0))
        masked = only_rows(masked, positions[positions >= 0])
    names, extra = original.schema.names(Role.QUASI), asked.extra
    _refuse_unknown(extra, original, masked)
    typed, attributes = encode(original, names, missing=asked.missing)
    before = with_columns(typed.data, _columns(masked_values(original, original, extra)))
    after = masked_values(masked, original, (*names, *extra))
    seen = [name for name in asked.confidential if name in masked.data.column_names]
    return replace(
        compared(attributes, original.schema, before, after, extra),
        strata=_strata(original, masked, asked),
        confidential=confidential_columns(masked, seen),
        positions=positions,
        seed=asked.seed,
        sampling=weights_in(original),
        people=_people(original, asked),
        pseudonyms=asked.recipe is not None and asked.recipe.pseudonym in masked.data.column_names,
    )


def _strata(original: Table, masked: Table, asked: Compared) -> NDArray[np.int64] | None:
    """Return the stratum of each record: as it is released where small ones are merged, else of the original."""
    merges = asked.recipe is not None and asked.recipe.small_strata == "merge"
    return strata_of(masked if merges and set(asked.strata) <= set(masked.data.column_names) else original)


def _people(original: Table, asked: Compared) -> NDArray[np.int64] | None:
    """Return the number of each original record's person or group, if the recipe and the table have such a column."""
    name = asked.people if asked.people in original.data.column_names else None
    return people_in(original, name, exact=asked.recipe is not None and asked.recipe.subject_exact)


def _shuffled(original: Table, masked: Table) -> str:
    """Report columns that should be unchanged but hold the same values in another order."""
    names = set(original.data.column_names) - set(original.schema.names(Role.QUASI))
    moved = []
    for name in (name for name in masked.data.column_names if name in names):
        try:
            cells = [table.data.column(name).cast(pa.large_string()) for table in (original, masked)]
        except pa.ArrowException:  # lists and other types that Arrow cannot sort
            continue
        if cells[0].equals(cells[1]):
            return ""
        if cells[0].sort().equals(cells[1].sort()):
            moved.append(name)
    return _order_note(moved)


def _order_note(moved: Sequence[str]) -> str:
    """Return the note on columns that hold the same values in another order."""
    if not moved:
        return ""
    return (
        f"the rows seem to be in another order than in the original: {moved[0]} has the same values in other "
        "rows. Give the receipt of the run (--receipt), or a key that both tables have (--key)"
    )


def _columns(data: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {name: data.column(name) for name in data.column_names}


def _refuse_unknown(names: Sequence[str], *tables: Table) -> None:
    """Refuse measured columns that a table lacks."""
    faults = [
        unknown("Compare", "column", name, table.data.column_names)
        for table in tables
        for name in names
        if name not in table.data.column_names
    ]
    raise_all(SchemaError, list(dict.fromkeys(faults)))
