"""Union of atoms: whole classes are merged across blocks until they meet the demands on confidential values.

An atom is a class that was formed from quasi-identifiers alone. Of each only its mean, its size and its confidential
values are kept in memory; with coded attributes also the codes of its records. Distances of distributions are those
from the whole table, never from a block.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.flow.plan.plan import Plan
from shoal.types import Coded, Confidential, Points, sort_keys

if TYPE_CHECKING:
    from shoal.kernels.models.demands import Demands
    from shoal.kernels.repair.atoms import Atoms


class BlockAtoms(NamedTuple):
    """The atoms of a block."""

    first: NDArray[np.float64] | Coded  #: the first record of each, in order of value
    mean: NDArray[np.float64]  #: (atoms, d); empty if records have codes
    size: NDArray[np.int64]
    row: NDArray[np.int64]  #: the number of each record, atom after atom
    records: Coded | None  #: the records in the same order, if they have codes


def atoms_of_block(
    x: NDArray[np.float64] | Coded, labels: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[BlockAtoms, NDArray[np.int64]]:
    """Return the atoms of a block, and the order that sorts its records atom after atom, by value within each."""
    from shoal.kernels.refine.class_state import arranged
    from shoal.kernels.repair.atoms import means_of_classes

    order = arranged(x, np.arange(len(labels)))
    order = order[np.argsort(labels[order], kind="stable")]
    size, inside = np.bincount(labels), x[order]
    coded = inside if isinstance(inside, Coded) else None
    means = np.empty((len(size), 0)) if isinstance(x, Coded) else means_of_classes(x, labels)
    return BlockAtoms(inside[np.cumsum(size) - size], means, size, rows[order], coded), order


def united_classes(
    plan: Plan, blocks: Iterable[BlockAtoms], confidential: tuple[Confidential, ...], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Unite atoms until every requirement holds; return the class of each atom and the sizes of the classes.

    **Guarantee.** Every class is a union of atoms, and meets all demands, unless one class holds all records. The
    classes are those that `auto` forms in memory. None: the atoms meet all demands as they are.

    **Complexity.** About 50 bytes a record, and 8·d for each atom; with coded attributes also the codes of all records.

    Parameters
    ----------
    plan
        With the demands.
    blocks
        The atoms, block after block.
    confidential
        The values that the demands are about, by the number of the record.
    seed
        Of the search.
    """
    from shoal.kernels.models.demands import demands_of, hold
    from shoal.kernels.repair.unite import effort_for, unions_of_atoms

    recipe = plan.recipe
    effort = recipe.effort or "default"
    laid = _laid_out(list(blocks))
    inside = tuple(attribute.rows(laid.row) for attribute in confidential)
    atom = np.repeat(np.arange(len(laid.size)), laid.size)
    x = np.broadcast_to(np.zeros((1, 1)), (len(atom), 1)) if laid.rows is None else laid.rows
    of_values = tuple(one for one in plan.requirements if one.attribute)
    demands = demands_of(Points(x, confidential=inside, required=of_values), plan.method.k, recipe.t)
    if demands is None or hold(demands, atom).all():
        return None
    work = effort_for(effort, x, len(laid.size), max(len(confidential), 1))
    own = unions_of_atoms(_atoms(laid, demands, atom), laid.rows, demands, work, seed, 1)[0]
    return own[laid.place], np.bincount(own, weights=laid.size).astype(np.int64)


class _Laid(NamedTuple):
    """Atoms, in the order of their first records by value."""

    mean: NDArray[np.float64]  #: (atoms, d); empty if records have codes
    rows: Coded | None  #: the records if they have codes, atom after atom, in order of value
    size: NDArray[np.int64]
    row: NDArray[np.int64]  #: the number of each record, atom after atom
    place: NDArray[np.int64]  #: of each atom, as the blocks number them, in this order


def _atoms(laid: _Laid, demands: Demands, atom: NDArray[np.int64]) -> Atoms:
    from shoal.kernels.repair.atoms import atoms_of, atoms_of_means
    from shoal.kernels.space.principal_axes import on_main_axes

    if laid.rows is not None:
        return atoms_of(laid.rows, atom, demands)
    code = np.stack([own[np.lexsort((own, atom))] for own in demands.c.codes])
    return atoms_of_means(on_main_axes(laid.mean), laid.size, code)


def _laid_out(blocks: list[BlockAtoms]) -> _Laid:
    """Sort the atoms of all blocks by their first records."""
    size, row = np.concatenate([one.size for one in blocks]), np.concatenate([one.row for one in blocks])
    turn = np.lexsort(sort_keys(_stacked([one.first for one in blocks]))[::-1])
    place = np.empty(len(turn), np.int64)
    place[turn] = np.arange(len(turn))
    begin, after = np.cumsum(size) - size, np.cumsum(size[turn]) - size[turn]
    moved = np.repeat(begin[turn] - after, size[turn]) + np.arange(len(row))
    coded: list[NDArray[np.float64] | Coded] = [one.records for one in blocks if one.records is not None]
    whole = _stacked(coded)[moved] if coded else None
    assert whole is None or isinstance(whole, Coded)
    mean = np.concatenate([one.mean for one in blocks])[turn]
    return _Laid(mean, whole, size[turn].astype(np.int64), row[moved], place)


def _stacked(parts: list[NDArray[np.float64] | Coded]) -> NDArray[np.float64] | Coded:
    """Return some records and others."""
    first = parts[0]
    if not isinstance(first, Coded):
        return np.concatenate([one for one in parts if not isinstance(one, Coded)])
    coded = [one for one in parts if isinstance(one, Coded)]
    numbers, codes = np.concatenate([one.numbers for one in coded]), np.concatenate([one.codes for one in coded])
    return replace(first, numbers=numbers, codes=codes)
