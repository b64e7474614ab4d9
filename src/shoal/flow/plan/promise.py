"""Promise of a release: everything that its audit must find; and uniqueness on columns that are released unchanged.

Unchanged columns can identify records however well the quasi-identifiers are protected. The counts use only the output
and the classes, so exchanging two members of a class does not change them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import GuaranteeError
from shoal.flow.plan.components import of_persons_in, of_values, required_in
from shoal.flow.plan.release_traits import GROUPING, guarantee, in_two_tables
from shoal.recipe.attacker import withstood
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, by_replay, of_population, resolve
from shoal.types import Block, Partition, Release, Role, Unchanged, in_one_piece
from shoal.types.privacy_ledger import sequential


@dataclass(frozen=True, eq=False)
class Promise:
    """Findings that the audit of a release must make, derived from the recipe; only blocks come from the partition.

    Attributes
    ----------
    quasi, confidential, strata
        The columns of these roles.
    removed
        Columns that must not be in the output.
    k, model
        The level k, and the key of the model that promises it.
    required
        Models of confidential values at their levels, t-closeness among them.
    persons
        Models about single people: at their levels, or for information.
    blocks
        Sets of attributes with joint k-anonymity, in the recipe's order; each quasi-identifier is in one block.
    nested
        Whether the classes of the second block lie within those of the first.
    counted
        The column whose values k counts; None: records.
    together, whole
        The column of groups that are never split, and the quasi-identifiers in which their records must be equal.
    weight, weights_of_classes
        The weight column, and whether its class mean is released in its place.
    hidden_figures
        Whether people's shares depend on weights or subjects that are not released.
    epsilon, claim
        The largest ε that noise may spend, and for which records; None: no noise is promised.
    two_tables
        Whether confidential columns are released in a second table.
    seeded
        Whether values were assigned by a public seed, so that nothing is promised for them.
    reviewed
        Columns released unchanged that a person has reviewed.
    replayed
        Models that are audited by repeating the run.
    population
        Required models that count people of a population.
    withstands
        The attacker that k withstands, who knows the ``algorithm``, or only the ``table``; empty: no k is promised.
    pseudonym
        The column of pseudonyms, which must show the people, no more; None: the output does not show them.
    """

    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    k: int
    blocks: tuple[Block, ...]
    strata: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    model: str = GROUPING
    required: tuple[Required, ...] = ()
    persons: tuple[Required, ...] = ()
    nested: bool = False
    counted: str | None = None
    together: str | None = None
    whole: frozenset[str] = frozenset()
    weight: str | None = None
    weights_of_classes: bool = False
    hidden_figures: bool = False
    epsilon: float | None = None
    claim: str | None = None
    two_tables: bool = False
    seeded: bool = False
    reviewed: tuple[str, ...] = ()
    replayed: tuple[Required, ...] = ()
    population: tuple[Required, ...] = ()
    withstands: str = ""
    pseudonym: str | None = None

    @property
    def visible_classes(self) -> bool:
        """Whether records of a class are equal in their quasi-identifiers."""
        return self.model == GROUPING

    @property
    def promises_t(self) -> bool:
        """Whether every block promises t-closeness where t is required."""
        return all(block.promised_t for block in self.blocks)

    def of_second_table(self, link: str) -> Promise:
        """Return the promise for the table of confidential columns: what anyone can audit, over the classes."""
        (block,) = self.blocks
        return Promise(
            (link,),
            self.confidential,
            self.k,
            (replace(block, attributes=(link,), promised=True),),
            required=self.required,
        )


def _withstands(recipe: Recipe, partition: Partition) -> str:
    """Return the attacker that k withstands, by the recipe and by the classes that were formed."""
    asked = withstood(recipe, promised=all(block.promised for block in partition.blocks))
    by_value = len(partition.blocks) == 1 and partition.blocks[0].by_value
    return "table" if asked == "algorithm" and not by_value else asked


def promise_of(recipe: Recipe, partition: Partition) -> Promise:
    """Return the promise of a recipe after its classes are formed.

    Raises
    ------
    GuaranteeError
        If the blocks of the partition are not the quasi-identifiers, each once: some would not be audited.
    """
    epsilon = recipe.epsilon
    removed = recipe.removed
    return Promise(
        recipe.quasi,
        recipe.confidential,
        recipe.k,
        _blocks(recipe, partition),
        recipe.strata,
        removed=(*removed, *(recipe.columns(Role.WEIGHT) if recipe.release_weight == "none" else ())),
        model=guarantee(recipe),
        required=tuple(of_values(required_in(recipe))),
        persons=tuple(one for one in of_persons_in(recipe) if epsilon is None or one.is_required),
        nested=recipe.nested,
        counted=recipe.counted,
        together=recipe.together,
        whole=frozenset(name for block in recipe.whole_blocks for name in block),
        weight=recipe.weight,
        weights_of_classes=recipe.release_weight == "class",
        hidden_figures=hides_figures(recipe),
        epsilon=sequential(epsilon.values()) if isinstance(epsilon, Mapping) else epsilon,
        claim=recipe.claim,
        two_tables=in_two_tables(recipe),
        seeded=recipe.set.get("not_private_seed") is not None,
        reviewed=recipe.reviewed,
        replayed=tuple(one for one in resolve("Recipe", recipe.require) if by_replay(one.key)),
        population=tuple(one for one in resolve("Recipe", recipe.require) if of_population(one.key)),
        withstands=_withstands(recipe, partition),
        pseudonym=recipe.pseudonym,
    )


def hides_figures(recipe: Recipe) -> bool:
    """Tell whether people's shares depend on unreleased data: subjects or original weights."""
    people = recipe.counted is not None and recipe.pseudonym is None
    return people or (recipe.weight is not None and recipe.release_weight != "record")


def _blocks(recipe: Recipe, partition: Partition) -> tuple[Block, ...]:
    """Return the blocks with attributes in the recipe's order; fail on a quasi-identifier in no block or two."""
    order = [name for block in recipe.all_blocks for name in block]
    if sorted(order) != sorted(name for block in partition.blocks for name in block.attributes):
        raise GuaranteeError(
            "The blocks of the partition are not the quasi-identifiers, each once, so that some would not be audited. "
            "Nothing was written."
        )
    return tuple(
        replace(block, attributes=tuple(name for name in order if name in block.attributes))
        for block in partition.blocks
    )


#: Roles whose columns are always released unchanged; a weight is if the recipe says so.
UNCHANGED = (Role.OTHER, Role.CONFIDENTIAL, Role.STRATA)
_LARGEST = 1 << 62  # a combination of values is encoded as one int64


class Coded(NamedTuple):
    """The value of each record as a number from 0."""

    codes: NDArray[np.int64]
    distinct: int  #: number of distinct values; a missing value counts as one


def count_unchanged(release: Release, promise: Promise) -> Unchanged:
    """Count the records of a release that are unique on its unchanged columns.

    **Complexity.** O(n log n) for n records, per column; a column of distinct values is not sorted.
    """
    n = release.data.num_rows
    names = _unchanged_columns(release, promise)
    if not names:
        return Unchanged(n)
    columns = {name: coded(_cells(release, name)) for name in names}
    found = _with_people(count_unique(n, columns, promise.reviewed), release, promise, columns)
    classes = _classes(release, promise)
    if classes is None:
        return found
    return replace(found, in_class=tuple((name, unique_records([classes, one])) for name, one in columns.items()))


def _with_people(found: Unchanged, release: Release, promise: Promise, columns: Mapping[str, Coded]) -> Unchanged:
    """Add the number of people who are unique by all their unchanged values at once, where pseudonyms show them."""
    from shoal.privacy.counting.sets import sets_of

    if promise.pseudonym is None:
        return found
    people = coded(release.data.column(promise.pseudonym))
    sharing = np.bincount(sets_of(people.codes, combinations(list(columns.values()))))
    return replace(found, people=people.distinct, unique_people=int((sharing == 1).sum()))


def count_unique(records: int, columns: Mapping[str, Coded], reviewed: Sequence[str]) -> Unchanged:
    """Count the records that are unique on all given columns, and on those that are not reviewed."""
    unique = unique_records(list(columns.values()))
    looked_at = tuple(name for name in columns if name in reviewed)
    rest = [one for name, one in columns.items() if name not in looked_at]
    unreviewed = unique if not looked_at else unique_records(rest)
    return Unchanged(records, tuple(columns), unique, looked_at, unreviewed)


def unique_records(columns: Sequence[Coded]) -> int:
    """Return how many records share their combination of values with no other record.

    >>> unique_records([Coded(np.array([0, 0, 1]), 2), Coded(np.array([0, 1, 1]), 2)])
    3
    >>> unique_records([Coded(np.array([0, 0, 1]), 2)]), unique_records([])
    (1, 0)
    """
    if not columns:
        return 0
    if any(one.distinct == len(one.codes) for one in columns):
        return len(columns[0].codes)
    sizes = combination_sizes(columns)
    return int((sizes == 1).sum())


def unique_by_few(columns: Sequence[pa.ChunkedArray], largest: int = 3) -> tuple[int, ...] | None:
    """Count the records that one column makes unique, those that need two columns, and so on; None for one column.

    >>> unique_by_few([pa.chunked_array([list("aab")]), pa.chunked_array([list("xyy")])])
    (2,)
    """
    from shoal.risk._minimal_uniques import minimal_uniques

    if len(columns) < 2 or not len(columns[0]):
        return None
    return minimal_uniques([coded(column).codes for column in columns], largest).by_size


def combination_sizes(columns: Sequence[Coded]) -> NDArray[np.int64]:
    """Return the number of records with each combination of values that occurs."""
    keys = np.sort(combinations(columns))
    begins = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return np.diff(np.append(begins, len(keys)))


def combinations(columns: Sequence[Coded]) -> NDArray[np.int64]:
    """Return a number for the combination of values of each record; equal numbers mean equal combinations."""
    keys, most = columns[0]
    for codes, count in columns[1:]:
        if most * count >= _LARGEST:
            found, keys = np.unique(keys, return_inverse=True)
            most = len(found)
        keys, most = keys * count + codes, most * count
    return keys


def coded(column: pa.ChunkedArray) -> Coded:
    """Number the values of a column; a missing value counts as a value.

    >>> import pyarrow as pa
    >>> coded(pa.chunked_array([["b", None, "b"]])).distinct
    2
    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return coded(column.cast(kind.storage_type))
    if pa.types.is_dictionary(kind):
        return coded(column.cast(kind.value_type))
    if pa.types.is_run_end_encoded(kind):
        return coded(pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type))
    if pa.types.is_nested(kind):
        return _as_text(column)
    try:
        encoded = in_one_piece(column).dictionary_encode(null_encoding="encode")
    except pa.ArrowException:
        return _as_text(column)
    return Coded(encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary))


def _as_text(column: pa.ChunkedArray) -> Coded:
    """Number values that Arrow cannot compare, such as lists and structures, by their text."""
    return coded(pa.chunked_array([pa.array([repr(value) for value in column.to_pylist()], pa.large_string())]))


def _cells(release: Release, name: str) -> pa.ChunkedArray:
    return release.data.column(name) if name in release.data.column_names else release.read[name]


def _unchanged_columns(release: Release, promise: Promise) -> list[str]:
    """Return the output columns that are released unchanged; with two tables, those of the first."""
    weight = promise.two_tables or not promise.weights_of_classes
    roles = (*UNCHANGED, *([Role.WEIGHT] if weight else []))
    there = {*release.data.column_names, *release.read} - {release.link}
    return [name for name in release.schema.names(*roles) if name in there]


def _classes(release: Release, promise: Promise) -> Coded | None:
    """Return each record's class; None without classes of at least k, or with one in each of several blocks."""
    from shoal.privacy.counting.classes import classes_of

    blocks = promise.blocks
    if not all(block.promised for block in blocks) or (len(blocks) > 1 and not promise.nested):
        return None
    if not promise.visible_classes and release.link is None:  # the output does not show classes
        found = Partition(blocks)
        return Coded(found.labels, len(found))
    seen = classes_of(release, promise.quasi if release.link is None else (release.link,))
    labels = np.empty(release.data.num_rows, np.int64)
    labels[seen.rows] = np.repeat(np.arange(len(seen.sizes)), seen.sizes)
    return Coded(labels, len(seen.sizes))
