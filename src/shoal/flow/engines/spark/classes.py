"""Classes of a DataFrame: partitioned block by block on the workers, united where demanded, and released."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.classes.strata import joint_note
from shoal.flow.engines.blockwise.block import Atoms
from shoal.flow.engines.blockwise.class_values import owners_of, variation_of
from shoal.flow.engines.blockwise.encoding import encoding_of
from shoal.flow.engines.blockwise.facts import Facts, stratum_key
from shoal.flow.engines.blockwise.method import Whole, way_to_partition
from shoal.flow.engines.blockwise.unite import united_classes
from shoal.flow.engines.spark.frames import Rows
from shoal.flow.engines.spark.input import Input, StoredRecords
from shoal.flow.engines.spark.plan import SPARK
from shoal.flow.engines.spark.release import ReleaseBlock
from shoal.flow.engines.spark.scratch import Scratch
from shoal.flow.engines.spark.store import SparkStore
from shoal.flow.plan.plan import Plan
from shoal.flow.stages.encode import confidential_columns
from shoal.kernels.refine.blockwise import Blockwise, partition_in_blocks
from shoal.partition.blocks import Blocks
from shoal.types import Coded, Role, Schema, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(eq=False)
class FormedOnSpark:
    """The released rows of a DataFrame with hidden columns, and what all blocks together tell about them."""

    rows: list[DataFrame] = field(repr=False)
    release: ReleaseBlock = field(repr=False)
    classes: int
    sse: dict[str, float]  #: of each quasi-identifier, in units of its deviation
    sst: dict[str, float]
    together: bool
    atoms: Atoms
    note: str


def form_on_spark(plan: Plan, facts: Facts, table: Input, rows: Rows, scratch: Scratch) -> FormedOnSpark:
    """Form and release the classes of a DataFrame that has the same rows whenever it is read."""
    if isinstance(plan.method, Blocks):  # rows have no order that could distinguish equal records
        plan = replace(plan, method=replace(plan.method, whole=True))
    stored = StoredRecords(table, facts)
    encoded = encoding_of(plan, facts, partial(stored.over, rows))
    release = ReleaseBlock(plan, facts, encoded)
    demanding = plan.recipe.t is not None or bool(plan.requirements)
    stores, notes, seeds = [], [], []
    for strata, records, rng in _strata(plan, facts, encoded.like()):
        store = SparkStore(rows, records, replace(stored, strata=strata), release, scratch, demanding)
        how, note = way_to_partition(
            plan, encoded.like(), records if strata is None or len(strata) == 1 else 1, rng, SPARK
        )
        store.whole = how.form if isinstance(how.form, Whole) else None
        if strata is not None and how.blocks == 1:
            _partition_strata(store, how)
        else:
            partition_in_blocks(store, how)
        notes += [note] if store.whole is None else [one.note for one in store.reports]
        seeds.append(int(rng.integers(1 << 60)))
        stores.append(store)
    if demanding:
        _unite(plan, stores, table, seeds)
    return _joined(release, stores, joint_note(notes), facts)


def _strata(
    plan: Plan, facts: Facts, like: NDArray[np.float64] | Coded
) -> Iterator[tuple[frozenset[int] | None, int, np.random.Generator]]:
    """Yield strata that are partitioned at once: each large one, and all that are a block of their own.

    Each comes with its records and a random generator, the same for every stratum. Without strata: all records.
    """
    rng = np.random.default_rng(plan.recipe.seed)
    if not facts.stratum_of:
        yield None, facts.records, rng
        return
    seed = int(rng.integers(1 << 60))
    sizes = _records_of_strata(facts)
    ways = [way_to_partition(plan, like, size, np.random.default_rng(seed), SPARK)[0] for size in sizes]
    small = [number for number, way in enumerate(ways) if way.blocks == 1]
    for number in sorted(set(range(len(sizes))) - set(small)):
        yield frozenset({number}), sizes[number], np.random.default_rng(seed)
    if small:
        yield frozenset(small), sum(sizes[number] for number in small), np.random.default_rng(seed)


def _records_of_strata(facts: Facts) -> list[int]:
    """Return how many records each stratum has."""
    assert facts.strata is not None  # there are strata
    rows = facts.strata.rows
    keys = zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True)
    sizes = [0] * len(facts.stratum_of)
    for key, count in zip(keys, facts.strata.counts.tolist(), strict=True):
        sizes[facts.stratum_of[stratum_key(*key)]] += count
    return sizes


def _partition_strata(store: SparkStore, how: Blockwise) -> None:
    """Partition strata, one block each."""

    def form(
        number: int, x: NDArray[np.float64] | Coded, people: NDArray[np.int64] | None, _: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        labels = how.form(0, x, people)
        return labels, np.empty((int(labels.max()) + 1, 0))

    store.group_strata()
    store.run(form, lambda done: None, last=True)


def _unite(plan: Plan, stores: list[SparkStore], table: Input, seeds: list[int]) -> None:
    """Unite the classes of every store until all requirements hold, and release them."""
    names = table.schema.names(Role.CONFIDENTIAL)
    laid = [[one.laid for one in store.reports if one.laid is not None] for store in stores]
    data = pa.concat_tables([cells for blocks in laid for _, cells in blocks])
    confidential = confidential_columns(Table(data, Schema(tuple(table.schema[name] for name in names))))
    start = 0
    for store, blocks, seed in zip(stores, laid, seeds, strict=True):
        atoms = []
        for one, _ in blocks:
            atoms.append(one._replace(row=np.arange(start, start + len(one.row))))
            start += len(one.row)
        found = united_classes(plan, atoms, confidential, seed)
        if found is None:
            sizes = np.concatenate([one.size for one in atoms])
            found = np.arange(len(sizes)), sizes
        store.release_united(*found)


def _joined(release: ReleaseBlock, stores: list[SparkStore], note: str, facts: Facts) -> FormedOnSpark:
    """Put the stores together."""
    owners = owners_of(release.encoded)
    released = [one.released for store in stores for one in store.reports if one.released is not None]
    lost = [math.fsum(one[at] for _, one in released) for at in range(len(owners))]
    sse = {
        name: math.fsum(value for owner, value in zip(owners, lost, strict=True) if owner == name)
        for name in dict.fromkeys(owners)
    }
    return FormedOnSpark(
        [store.rows for store in stores if store.rows is not None],
        release,
        sum(count for count, _ in released),
        sse,
        variation_of(release.encoded, facts),
        all(store.copies.together for store in stores),
        reduce(Atoms.with_more, (store.atoms for store in stores), Atoms()),
        note,
    )
