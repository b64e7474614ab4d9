"""Union of atoms on disk: whole classes are merged across blocks until they meet the demands on confidential values.

An atom is a class that was formed from quasi-identifiers alone. Of each only its mean, its size and its confidential
values are kept in memory; with coded attributes also the codes of its records. Distances of distributions are those
from the whole table, never from a block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.flow.engines.disk.encoding import Encoded
from shoal.flow.engines.disk.store import ROW, DiskStore
from shoal.flow.plan.plan import Plan
from shoal.types import Coded, Confidential, Points, sort_keys

if TYPE_CHECKING:
    from shoal.kernels.models.demands import Demands
    from shoal.kernels.repair.atoms import Atoms


class _Laid(NamedTuple):
    """Atoms, in the order of their first records by value."""

    mean: NDArray[np.float64]  #: (atoms, d); empty if records have codes
    rows: Coded | None  #: the records if they have codes, atom after atom, in order of value
    size: NDArray[np.int64]
    row: NDArray[np.int64]  #: the number of each record, atom after atom
    place: NDArray[np.int64]  #: of each atom, as the store numbers them, in this order


def unite_on_disk(
    plan: Plan, encoded: Encoded, store: DiskStore, confidential: tuple[Confidential, ...], seed: int
) -> None:
    """Unite the classes of a store until every requirement holds.

    **Guarantee.** Every class is a union of given classes, and meets all demands, unless one class holds all records of
    the store. The classes are those that `auto` forms in memory.

    **Complexity.** About 50 bytes a record, and 8·d for each atom; with coded attributes also the codes of all records.
    """
    from shoal.kernels.models.demands import demands_of, hold
    from shoal.kernels.repair.unite import effort_for, unions_of_atoms

    recipe = plan.recipe
    effort = recipe.effort or "default"
    laid = _laid_out(encoded, store)
    inside = tuple(attribute.rows(laid.row) for attribute in confidential)
    atom = np.repeat(np.arange(len(laid.size)), laid.size)
    x = np.broadcast_to(np.zeros((1, 1)), (len(atom), 1)) if laid.rows is None else laid.rows
    of_values = tuple(one for one in plan.requirements if one.attribute)
    demands = demands_of(Points(x, confidential=inside, required=of_values), plan.method.k, recipe.t)
    if demands is None or hold(demands, atom).all():
        return
    work = effort_for(effort, x, len(laid.size), max(len(confidential), 1))
    own = unions_of_atoms(_atoms(laid, demands, atom), laid.rows, demands, work, seed, 1)[0]
    store.relabel(own[laid.place])
    store.regroup(np.bincount(own, weights=laid.size).astype(np.int64))


def _atoms(laid: _Laid, demands: Demands, atom: NDArray[np.int64]) -> Atoms:
    from shoal.kernels.repair.atoms import atoms_of, atoms_of_means
    from shoal.kernels.space.principal_axes import on_main_axes

    if laid.rows is not None:
        return atoms_of(laid.rows, atom, demands)
    code = np.stack([own[np.lexsort((own, atom))] for own in demands.c.codes])
    return atoms_of_means(on_main_axes(laid.mean), laid.size, code)


def _laid_out(encoded: Encoded, store: DiskStore) -> _Laid:
    """Gather the atoms of all blocks, and sort them by their first records."""
    from shoal.kernels.refine.class_state import arranged
    from shoal.kernels.repair.atoms import means_of_classes

    means, sizes, firsts, rows, records = [], [], [], [], []
    for _, table, labels in store.blocks():
        x = encoded.points(table)
        order = arranged(x, np.arange(len(labels)))
        order = order[np.argsort(labels[order], kind="stable")]  # atom after atom, by value within each
        size = np.bincount(labels)
        inside = x[order]
        firsts.append(inside[np.cumsum(size) - size])
        means.append(np.empty((len(size), 0)) if isinstance(x, Coded) else means_of_classes(x, labels))
        sizes.append(size)
        rows.append(table.column(ROW).to_numpy()[order])
        records.append(inside if isinstance(x, Coded) else None)
    size, row = np.concatenate(sizes), np.concatenate(rows)
    turn = np.lexsort(sort_keys(_stacked(firsts))[::-1])
    place = np.empty(len(turn), np.int64)
    place[turn] = np.arange(len(turn))
    begin, after = np.cumsum(size) - size, np.cumsum(size[turn]) - size[turn]
    moved = np.repeat(begin[turn] - after, size[turn]) + np.arange(len(row))
    coded = [one for one in records if one is not None]
    whole = _stacked(coded)[moved] if coded else None
    assert whole is None or isinstance(whole, Coded)
    return _Laid(np.concatenate(means)[turn], whole, size[turn].astype(np.int64), row[moved], place)


def _stacked(parts: list[NDArray[np.float64] | Coded]) -> NDArray[np.float64] | Coded:
    """Return some records and others."""
    first = parts[0]
    if not isinstance(first, Coded):
        return np.concatenate([one for one in parts if not isinstance(one, Coded)])
    coded = [one for one in parts if isinstance(one, Coded)]
    numbers, codes = np.concatenate([one.numbers for one in coded]), np.concatenate([one.codes for one in coded])
    return replace(first, numbers=numbers, codes=codes)
