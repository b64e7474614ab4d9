"""Classes of a table on disk: partitioned block by block, united where confidential values demand it, and released."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.classes.strata import joint_note
from shoal.flow.engines.blockwise.block import Atoms
from shoal.flow.engines.blockwise.class_values import Released, owners_of, release_block, variation_of
from shoal.flow.engines.blockwise.encoding import Encoded, encoding_of
from shoal.flow.engines.blockwise.facts import ROW, STRATUM
from shoal.flow.engines.blockwise.method import Whole, way_to_partition
from shoal.flow.engines.blockwise.plan import DISK
from shoal.flow.engines.blockwise.unite import atoms_of_block, united_classes
from shoal.flow.engines.disk.runs import Runs
from shoal.flow.engines.disk.store import DiskStore
from shoal.flow.engines.disk.survey import Survey
from shoal.flow.plan.plan import Plan
from shoal.flow.stages.values import read_as_missing, refuse_codes
from shoal.kernels.refine.blockwise import partition_in_blocks
from shoal.types import Confidential, Resolution


@dataclass(eq=False)
class Formed:
    """The classes of a table: of each record its class, and of each class its released values."""

    labels: NDArray[np.int32] = field(repr=False)  #: of every released record, in the order of the input
    values: pa.Table = field(repr=False)  #: one row for each class: quasi-identifiers, and the mean weight
    sizes: NDArray[np.int64] = field(repr=False)
    sse: dict[str, float]  #: of each quasi-identifier, in units of its deviation
    sst: dict[str, float]
    resolutions: dict[str, Resolution]
    together: bool  #: whether records with equal quasi-identifiers share an atom
    blocks: int  #: number of blocks in which classes were formed
    note: str
    atoms: Atoms  #: the classes before any were united


def form_on_disk(plan: Plan, found: Survey, confidential: tuple[Confidential, ...], folder: Path) -> Formed:
    """Form the classes of a table whose columns are stored on disk, stratum by stratum.

    `confidential` are the values that requirements are about, in the order of the records.
    """
    encoded = encoding_of(plan, found, found.over)
    labels = np.zeros(found.records, np.int32)
    rng = np.random.default_rng(plan.recipe.seed)
    seed = None if found.strata is None else int(rng.integers(1 << 60))  # the same in every stratum
    notes: list[str] = []
    pieces: list[Released] = []
    atoms = Atoms()
    classes, together = 0, True
    for source, records in _strata(found, folder):
        store = DiskStore(source, records, encoded.points, folder, labels)
        own = rng if seed is None else np.random.default_rng(seed)
        atoms = atoms.with_more(_partition(plan, encoded, store, confidential, own, notes))
        together &= store.copies.together
        some = [release_block(plan, found, encoded, *block) for block in store.blocks()]
        store.close()
        if classes:
            _shift(labels, source, classes)
        pieces += [replace(one, first=classes + one.first) for one in some]
        classes += sum(len(one.sizes) for one in some)
    return _joined(encoded, found, labels, pieces, joint_note(notes), atoms, together)


def _partition(
    plan: Plan,
    encoded: Encoded,
    store: DiskStore,
    confidential: tuple[Confidential, ...],
    rng: np.random.Generator,
    notes: list[str],
) -> Atoms:
    """Partition the records of a store; return the classes before any were united."""
    how, note = way_to_partition(plan, encoded.like(), len(store), rng, DISK)
    partition_in_blocks(store, how)
    atoms = store.atoms()
    if confidential:
        _unite(plan, encoded, store, confidential, int(rng.integers(1 << 60)))
    notes += how.form.notes if isinstance(how.form, Whole) else [note]
    return atoms


def _unite(plan: Plan, encoded: Encoded, store: DiskStore, confidential: tuple[Confidential, ...], seed: int) -> None:
    """Unite the classes of a store until every requirement holds."""
    blocks = (
        atoms_of_block(encoded.points(table), labels, table.column(ROW).to_numpy())[0]
        for _, table, labels in store.blocks()
    )
    if (found := united_classes(plan, blocks, confidential, seed)) is not None:
        into, sizes = found
        store.relabel(into)
        store.regroup(sizes)


def _strata(found: Survey, folder: Path) -> Iterator[tuple[Callable[[], Iterator[pa.Table]], int]]:
    """Yield the records of each stratum and their number; without strata, all records."""
    if found.strata is None:
        yield found.parts, found.records
        return
    runs: Runs | None = None
    for table in found.parts():
        runs = runs or Runs(folder / "strata", table.schema, len(found.stratum_of))
        runs.append(table, table.column(STRATUM).to_numpy())
    assert runs is not None  # there are records
    runs.finish()
    for number in range(runs.count):
        if runs.records[number]:

            def source(number: int = number) -> Iterator[pa.Table]:
                yield from (pa.Table.from_batches([batch]) for batch in runs.parts(number))

            yield source, int(runs.records[number])
    runs.remove()


def _shift(labels: NDArray[np.int32], source: Callable[[], Iterator[pa.Table]], by: int) -> None:
    for table in source():
        labels[table.column(ROW).to_numpy()] += by


def _joined(
    encoded: Encoded,
    found: Survey,
    labels: NDArray[np.int32],
    pieces: list[Released],
    note: str,
    atoms: Atoms,
    together: bool,
) -> Formed:
    """Put the blocks together, in the order of their classes."""
    pieces = sorted(pieces, key=lambda one: one.first)
    values = pa.concat_tables([one.values for one in pieces]).combine_chunks()
    sizes = np.concatenate([one.sizes for one in pieces])
    _refuse_codes(encoded, values, sizes)
    owners = owners_of(encoded)
    lost = [math.fsum(one.lost[at] for one in pieces) for at in range(len(owners))]
    names = dict.fromkeys(owners)
    return Formed(
        labels,
        values,
        sizes,
        {name: math.fsum(value for owner, value in zip(owners, lost, strict=True) if owner == name) for name in names},
        variation_of(encoded, found),
        encoded.resolutions,
        together,
        len(pieces),
        note,
        atoms,
    )


def _refuse_codes(encoded: Encoded, values: pa.Table, sizes: NDArray[np.int64]) -> None:
    """Refuse class values that the table's file format would read as missing."""
    lost = {}
    for one in encoded.columns:
        column = values.column(one.name)
        if one.noted is not None:
            lost[one.name] = int(sizes[read_as_missing(one.noted.with_type(column.type), column)].sum())
    refuse_codes(lost, int(sizes.sum()))
