"""Costs of the stages of a run, from operation counts alone: nanoseconds of one core of an ordinary machine.

Counts of what kernels do are beside the kernels; methods declare their cost as class attributes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.types.coded import Coded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.recipe.recipe import Recipe
    from shoal.types.protocols import Partitioner

    Coordinates = NDArray[np.float64] | Coded


class Units(NamedTuple):
    """Unit costs in nanoseconds, measured on two cores of an AMD EPYC."""

    run: float = 1.5e7  #: for a run: its plan, checks and notes
    record: float = 1_800.0  #: for a record, to encode, release, compare and audit it …
    cell: float = 400.0  #: … and for each of its quasi-identifiers and confidential values
    category: float = 70_000.0  #: for each category of a taxonomy, to describe it and to look for it in the output
    text: float = 750.0  #: for a cell of a file that is read, written and read back, as text …
    binary: float = 300.0  #: … or in a binary format
    sort: float = 600.0  #: for a record, to sort it by value
    equal: float = 1_000.0  #: for a record, to keep equal records together …
    settle: float = 5_000.0  #: … and for each that differs from all others, to move all its copies …
    settle_coded: float = 30_000.0  #: … with coded attributes
    merge: float = 1_000.0  #: for a record, to merge atoms until all classes meet the requirements …
    merge_coded: float = 7_000.0  #: … with coded attributes …
    merge_all_coded: float = 18_000.0  #: … where any two classes may be merged
    report: float = 2e8  #: for the measures and charts of a report …
    link: float = 1_200.0  #: … and to look up a record with one set of known attributes …
    link_coded: float = 3_400.0  #: … with coded attributes
    union: float = 330.0  #: for a move of an atom between classes of a few records …
    union_coded: float = 3_500.0  #: … with coded attributes …
    union_record: float = 5.0  #: … and for each record of the classes
    disk: float = 185.0  #: for a cell that the disk engine reads, writes and audits …
    disk_text: float = 850.0  #: … as text
    blocks_fast: float = 520.0  #: for a quasi-identifier of a record, to form classes in blocks, with effort fast …
    blocks_default: float = 1_650.0  #: … default …
    blocks_best: float = 7_300.0  #: … or best …
    blocks_coded: float = 4.0  #: … and how many times as long with coded attributes
    person: float = 6_000.0  #: for a record of a person, to tell people apart


UNITS = Units()
_ODD = np.uint64(0x9E3779B97F4A7C15)  # of a hash
_LINKS = 5_000_000  # look-ups of a measure at most; see distance_linkage
_SETS = 511  # sets of known attributes at most
_WHOLE_ATOMS = 6_000  # most atoms annealed as a whole
_BLOCK = 4_000  # records of a block of a large table
_FEWEST = 1_000  # records that are looked up with each set, at least


class Contents(NamedTuple):
    """Contents of a file: the number of its columns, and whether its cells are text."""

    columns: int
    text: bool


def of_table(recipe: Recipe, n: int, file: Contents | None = None) -> float:
    """Return the cost of everything but classes and measures: encode, release, compare, audit; read and write a file.

    >>> from shoal.recipe.recipe import Recipe
    >>> of_table(Recipe(quasi=["age"]), 1000)
    17200000.0
    """
    inside = UNITS.run + n * (UNITS.record + UNITS.cell * (len(recipe.quasi) + len(recipe.confidential)))
    inside += UNITS.category * sum(map(_categories, recipe.taxonomies.values()))
    if file is None:
        return inside
    return inside + n * file.columns * (UNITS.text if file.text else UNITS.binary)


def on_disk(recipe: Recipe, n: int, file: Contents, *, coded: bool) -> tuple[float, float]:
    """Return the cost of a run on disk: in one thread, to read, write and audit; in all, to form classes.

    >>> from shoal.recipe.recipe import Recipe
    >>> on_disk(Recipe(quasi=["age"], effort="fast"), 1000, Contents(6, False), coded=False)
    (16110000.0, 520000.0)
    """
    from shoal.kernels.repair.unite import effort_for

    effort = "fast" if recipe.t is not None else recipe.effort or "default"
    blocks = {"fast": UNITS.blocks_fast, "default": UNITS.blocks_default, "best": UNITS.blocks_best}[effort]
    alone = UNITS.run + n * file.columns * (UNITS.disk_text if file.text else UNITS.disk)
    shared = n * len(recipe.quasi) * blocks * (UNITS.blocks_coded if coded else 1.0)
    if recipe.subject is not None:
        alone += n * UNITS.person
    if recipe.t is not None or recipe.require:
        x = np.broadcast_to(0.0, (n, len(recipe.quasi)))  # records that take no memory: only their number counts
        work = effort_for(recipe.effort or "default", x, max(n // recipe.k, 1), max(len(recipe.confidential), 1))
        shared += of_unions(x, recipe.k, work, least_size(n, recipe.k, recipe.t))
    return alone, shared


def distinct(x: Coordinates) -> int:
    """Return the number of different records, by a hash of each.

    >>> import numpy as np
    >>> distinct(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    2
    """
    columns = [*x.numbers.T, *x.codes.T] if isinstance(x, Coded) else list(x.T)
    hashes = np.zeros(len(x), np.uint64)
    for column in columns:
        hashes = hashes * _ODD + column.astype(np.float64).view(np.uint64)
        hashes ^= hashes >> np.uint64(29)
    return len(np.unique(hashes))


def _categories(tree: Any) -> int:
    """Return the number of categories and groups of a taxonomy; 0 if it is a file."""
    if isinstance(tree, Mapping):
        return sum(1 + _categories(inside) for inside in tree.values())
    return 0 if isinstance(tree, str) else len(tree)


def of_report(attributes: int, n: int, *, coded: bool) -> float:
    """Return the cost of all measures: nearly all of it is spent on linking records by sets of known attributes.

    >>> of_report(3, 1000, coded=False)
    208400000.0
    """
    return UNITS.report + of_links(attributes, n, coded=coded)


def of_links(attributes: int, n: int, *, coded: bool) -> float:
    """Return the cost of linking records by every set of known attributes, or by as many as the measures use."""
    return links(attributes, n) * (UNITS.link_coded if coded else UNITS.link)


def links(attributes: int, n: int) -> int:
    """Return the number of look-ups of all records, each by every set of known attributes that the measures use."""
    sets = min((1 << min(attributes, 20)) - 1, _SETS)
    return min(n * sets, max(_LINKS, _FEWEST * sets))


def of_mdav(x: Coordinates, k: int) -> float:
    """Return the cost of a partition by MDAV, if searches in its index prune as well as possible."""
    return min(by_brute_force(x, k), _through_index(x, k))


def by_brute_force(x: Coordinates, k: int) -> float:
    """Return the cost of a partition by MDAV without an index."""
    from shoal.kernels.mdav.mdav import brute_total, coded_total

    n, d = x.shape
    return float(coded_total(n, n, d, k) if isinstance(x, Coded) else brute_total(n, n, d, k))


def _through_index(x: Coordinates, k: int) -> float:
    from shoal.kernels.mdav.mdav import coded_least, index_least

    n, d = x.shape
    return float(coded_least(n, n, d, k) if isinstance(x, Coded) else index_least(n, n, d, min(d, 13), k))


def uses_index(x: Coordinates, k: int) -> bool:
    """Tell whether an index would make MDAV faster."""
    return _through_index(x, k) < by_brute_force(x, k)


def of_method(method: type[Partitioner], x: Coordinates, k: int, mdav: float) -> float:
    """Return the cost of the classes of a method that does not search, by what it declares.

    `mdav` is the cost of a partition by MDAV.
    """
    n, d = x.shape
    first = by_brute_force(x, k) if method.quadratic else mdav
    cuts = n * k * d if 2 * k <= n else 0
    return float(method.relative_cost * first + 1e9 * (method.cost_of_cell * n * d + method.cost_of_cut * cuts))


class Refinement(NamedTuple):
    """Counts of refining classes, record by record."""

    moves: float  #: cost of the moves
    looked_up: float  #: number of records whose neighbours are looked up
    inside: int  #: number of records among which they are looked up


def of_refinement(x: Coordinates, k: int, effort: Any) -> Refinement:
    """Return the counts of a refinement with an effort: its name, or the work itself."""
    from shoal.kernels.refine.refine import WHOLE, cost_to_refine, effort_for

    work, n = effort_for(effort, x, k) if isinstance(effort, str) else effort, len(x)
    nothing = work._replace(moves=0, in_blocks=0, quench=0)
    moves = float(cost_to_refine(work, x, k) - cost_to_refine(nothing, x, k))
    if n <= WHOLE and not work.blocks:
        return Refinement(moves, float(n if work.runs else 0), n)
    return Refinement(moves, float(work.rounds * n), min(n, _BLOCK))


def of_close_refinement(x: Coordinates, k: int, effort: str, size: int) -> float:
    """Return the cost of refining classes of about `size` records that must meet demands."""
    from shoal.kernels.refine.refine import CLOSE_EFFORTS
    from shoal.kernels.repair.refine import seconds_to_refine

    n, d = x.shape
    return 2e9 * seconds_to_refine(CLOSE_EFFORTS[effort], n, size, d)


def of_unions(x: Coordinates, k: int, effort: Any, size: int) -> float:
    """Return the cost of moving atoms of k records between classes of about `size`."""
    move = (UNITS.union_coded if isinstance(x, Coded) else UNITS.union) + UNITS.union_record * max(size, 2 * k)
    atoms = max(len(x) // k, 1)
    chosen = 2.0 if effort.choice and atoms <= _WHOLE_ATOMS else 1.0  # choosing among all classes takes as long again
    return chosen * moves_of_atoms(effort, atoms) * move


def _quench(moves: int, atoms: int) -> int:
    return min(200, max(moves // atoms, 10))


def moves_of_atoms(effort: Any, atoms: int) -> float:
    """Return the moves of all annealings of atoms, with those at temperature 0."""
    if atoms > _WHOLE_ATOMS:
        return float(effort.rounds * atoms * (effort.in_blocks + _quench(effort.in_blocks * atoms, atoms)))
    runs, each = effort.shared_out(atoms)
    moves = [int(each * 0.85**generation) for generation in range(effort.generations)]
    return float(sum(runs * (some + atoms * _quench(some, atoms)) for some in moves))


def least_size(n: int, k: int, t: float | None) -> int:
    """Return the smallest size of a class within t of a table whose values differ: [SC15] eq. (3).

    >>> least_size(1000, 5, 0.05), least_size(1000, 5, None)
    (10, 5)
    """
    return k if t is None else max(k, math.ceil(n / (2 * (n - 1) * t + 1) - 1e-9))
