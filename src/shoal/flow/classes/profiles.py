"""Profiles: classes of whole people, for releases that show which records belong to one person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.flow.classes.improve import by_value
from shoal.flow.classes.strata import joint_note
from shoal.types import Block, Partition, Points, changes, sort_keys
from shoal.types.protocols import Partitioner


@dataclass(frozen=True, eq=False)
class Profiles:
    """People with equally many records in the same strata, who differ only in the values of their records.

    Attributes
    ----------
    rows
        The records of each person, (people, records): sorted by stratum, then by value.
    equal
        Whether a record equals the next one of its person, (people, records - 1).
    """

    rows: NDArray[np.int64] = field(repr=False)
    equal: NDArray[np.bool_] = field(repr=False)

    def points(self, coordinates: NDArray[np.float64], owners: Sequence[str]) -> Points:
        """Return each person as a point: the coordinates of all their records, one after the other."""
        people, records = self.rows.shape
        return Points(np.ascontiguousarray(coordinates[self.rows].reshape(people, -1)), tuple(owners) * records)


def profile_groups(subjects: NDArray[np.int64], strata: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the group of each person: people with equally many records in the same strata share one.

    >>> profile_groups(np.array([0, 0, 1, 2, 2]), None).tolist()
    [1, 0, 1]
    >>> profile_groups(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])).tolist()
    [0, 0]
    """
    inside = np.zeros(len(subjects), np.int64) if strata is None else strata
    ordered = inside[np.lexsort((inside, subjects))]
    ends = np.cumsum(np.bincount(subjects))
    begins = np.concatenate(([0], ends[:-1]))
    kinds = [tuple(ordered[begin:end].tolist()) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    numbers = {kind: at for at, kind in enumerate(sorted(set(kinds), key=lambda kind: (len(kind), kind)))}
    return np.array([numbers[kind] for kind in kinds], np.int64)


def profiles_of(points: Points, subjects: NDArray[np.int64], strata: NDArray[np.int64] | None) -> list[Profiles]:
    """Sort the records of each person by value, and group the people who have equally many in the same strata."""
    order = by_value(sort_keys(points.x), len(points))
    vectors = np.empty(len(points), np.int64)  # equal records share a number, ascending with the value
    vectors[order] = np.cumsum(np.concatenate(([False], changes(points.x[order]))))
    inside = np.zeros(len(points), np.int64) if strata is None else strata
    rows = np.lexsort((vectors, inside, subjects))
    begins = np.concatenate(([0], np.cumsum(np.bincount(subjects))[:-1]))
    groups, records, found = profile_groups(subjects, strata), np.bincount(subjects), []
    for group in range(int(groups.max()) + 1):
        people = np.flatnonzero(groups == group)
        own = rows[begins[people][:, None] + np.arange(int(records[people[0]]))]
        same = (vectors[own[:, 1:]] == vectors[own[:, :-1]]) & (inside[own[:, 1:]] == inside[own[:, :-1]])
        found.append(Profiles(own, same))
    return found


def partition_profiles(
    points: Points,
    method: Partitioner,
    subjects: NDArray[np.int64],
    strata: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Partition:
    """Partition whole people; the records of a class of people form a class for each place in their sorted records.

    A person with m records is one point in the coordinates of all of them. The method forms classes of people with the
    same m, in the same strata. Records that come j-th in a class of people form a class of records. If anyone in the
    class of people has equal records there, which could take each other's place, the classes of these places are one.

    **Guarantee.** If the method forms classes of at least k points, every person shares the classes of all their
    records, each with equally many, with at least k - 1 other people. Ties within a person never depend on rows.

    Parameters
    ----------
    points
        The records.
    method
        The method that forms classes, here of people.
    subjects, strata
        The person and the stratum of each record.
    rng
        The random generator.
    """
    seed, begun = int(rng.integers(1 << 60)), 0
    labels, notes, by_value_ = np.empty(len(points), np.int64), [], True
    for profiles in profiles_of(points, subjects, strata):
        inside = profiles.points(points.coordinates, points.owners)
        found = method.partition(inside, np.random.default_rng(seed))  # the same, whatever the order of groups
        block = _only_block(method, found)
        own = _labels(block.labels, profiles.equal)
        labels[profiles.rows] = own + begun
        begun += int(own.max()) + 1
        by_value_ &= block.by_value and (block.atoms is None or _same(block.atoms, block.labels))
        notes.append(found.note)
    names = tuple(dict.fromkeys(points.owners))
    note = joint_note([one.replace(" records of ", " people of ") for one in notes])
    note = note.replace(" strata", " groups of people with equally many records")
    return Partition((replace(Block(names, labels), by_value=by_value_),), note)


def _only_block(method: Partitioner, found: Partition) -> Block:
    """Return the block of a partition of people; their records have no values of a method that makes them itself."""
    if len(found.blocks) != 1 or found.blocks[0].values is not None or not found.blocks[0].promised:
        raise ParameterError(
            f"{type(method).__name__}: with subject_out = pseudonym the method must form one block of classes of at "
            "least k. Choose auto, or leave out subject_out."
        )
    return found.blocks[0]


def _labels(classes: NDArray[np.int64], equal: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the class of each record, (people, records): that of its person, and its place or the places united.

    >>> _labels(np.array([0, 0, 1]), np.array([[True, False], [False, False], [False, False]])).tolist()
    [[0, 0, 1], [0, 0, 1], [2, 3, 4]]
    """
    united = np.zeros((int(classes.max()) + 1, equal.shape[1]), np.bool_)
    np.logical_or.at(united, classes, equal)
    places = np.concatenate((np.zeros((len(united), 1), np.int64), np.cumsum(~united, axis=1)), axis=1)
    keys = classes[:, None] * (equal.shape[1] + 1) + places[classes]
    return np.asarray(np.unique(keys, return_inverse=True)[1].reshape(keys.shape), np.int64)


def _same(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Tell whether two labellings form the same classes."""
    pairs = len(np.unique(np.column_stack((one, other)), axis=0))
    return pairs == len(np.unique(one)) == len(np.unique(other))
