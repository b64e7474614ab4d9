"""Classes of a table on disk: partitioned block by block, united where confidential values demand it, and released."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.flow.classes.improve import canonical, improved
from shoal.flow.classes.strata import joint_note
from shoal.flow.engines.disk.atoms import unite_on_disk
from shoal.flow.engines.disk.class_values import Released, owners_of, release_block, variation_of
from shoal.flow.engines.disk.encoding import Encoded, encoding_of
from shoal.flow.engines.disk.runs import Runs
from shoal.flow.engines.disk.store import ROW, Atoms, DiskStore
from shoal.flow.engines.disk.survey import STRATUM, Survey
from shoal.flow.plan.plan import Plan
from shoal.flow.stages.values import read_as_missing, refuse_codes
from shoal.kernels.refine.blockwise import Blockwise, partition_in_blocks
from shoal.parameters import build
from shoal.partition.auto import LARGE, in_blocks
from shoal.partition.blocks import Blocks
from shoal.types import Coded, Confidential, Points, Resolution


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
    encoded = encoding_of(plan, found)
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
        together &= store.together
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
    how, note = _blockwise(plan, encoded, len(store), rng)
    partition_in_blocks(store, how)
    atoms = store.atoms()
    if confidential:
        unite_on_disk(plan, encoded, store, confidential, int(rng.integers(1 << 60)))
    notes += how.form.notes if isinstance(how.form, _Whole) else [note]
    return atoms


def _strata(found: Survey, folder: Path) -> Iterator[tuple[Callable[[], Iterator[pa.Table]], int]]:
    """Yield the records of each stratum, and how many they are; without strata, all."""
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


def _blockwise(plan: Plan, encoded: Encoded, records: int, rng: np.random.Generator) -> tuple[Blockwise, str]:
    """Return how the records are partitioned, as the plan's method would in memory, and a note on it."""
    method, recipe, like = plan.method, plan.recipe, encoded.like()
    if isinstance(method, Blocks):
        return method.blockwise(records, int(rng.integers(1 << 60))), ""
    if not in_blocks(like, records):
        if plan.requirements or recipe.t is not None:
            raise ParameterError(
                f"Disk engine: with t or require, tables and strata must have {LARGE:,} records or more, got "
                f"{records:,}. Leave out --engine, so that they are protected in memory."
            )
        return Blockwise(1, 1, _Whole(plan, rng), _as_it_is, 0), ""
    effort = "fast" if recipe.t is not None else recipe.effort or "default"  # t unites several classes anyway
    chosen = replace(build(Blocks, {"k": method.k, "effort": effort}), whole=recipe.attacker == "algorithm")
    size = f"{records:,} records of {like.shape[1]} {'columns' if isinstance(like, Coded) else 'coordinates'}"
    demanding = recipe.t is not None or bool(plan.requirements) or recipe.subject is not None
    united = f", with classes united with effort {recipe.effort or 'default'}" if demanding else ""
    note = f"auto chose blocks with effort {effort}{united}: {size}"
    return chosen.blockwise(records, int(rng.integers(1 << 60))), note


class _Whole:
    """The partition of a table of one block, as in memory."""

    def __init__(self, plan: Plan, rng: np.random.Generator) -> None:
        recipe, method = plan.recipe, plan.method
        way = improved(method, recipe.t, recipe.refinement, recipe.attacker, more=plan.repairs)
        self._way, self._rng = canonical(way, method, recipe.method, recipe.attacker), rng
        self.notes: list[str] = []

    def __call__(
        self, number: int, x: NDArray[np.float64] | Coded, people: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        part = self._way.partition(Points(x, subjects=people), self._rng)
        self.notes.append(part.note)
        return part.labels


def _as_it_is(
    turn: int,
    number: int,
    x: NDArray[np.float64] | Coded,
    people: NDArray[np.int64] | None,
    labels: NDArray[np.int32],
) -> NDArray[np.int64]:
    return labels.astype(np.int64)


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
