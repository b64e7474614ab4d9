"""Stream k-anonymity from its definition ([DS17] Definition 5), group by group. Obviously right, and slow."""

from __future__ import annotations

from itertools import combinations


def holds(quasi: list[tuple], subjects: list, k: int) -> bool:
    """Every tuple is in some group of tuples with its quasi-identifiers that concern k subjects: all are tried."""
    rows = range(len(quasi))
    groups = [set(group) for size in rows for group in combinations(rows, size + 1)]
    return all(
        any(
            row in group and len({subjects[i] for i in group}) >= k and all(quasi[i] == quasi[row] for i in group)
            for group in groups
        )
        for row in rows
    )


def achieved(quasi: list[tuple], subjects: list) -> int:
    """The largest k that holds: adding tuples that are equal to a group leaves it one, so the largest groups decide."""
    return min(
        len({subject for other, subject in zip(quasi, subjects, strict=True) if other == here}) for here in quasi
    )


def levels(quasi: list[tuple], subjects: list, classes: list) -> list[int]:
    """Subjects of each named class, in order of first tuples; 0 where its tuples are not equal. None names no class."""
    named = [(name, row if name is None else -1) for row, name in enumerate(classes)]
    found = []
    for name in dict.fromkeys(named):
        rows = [row for row, other in enumerate(named) if other == name]
        equal = len({quasi[row] for row in rows}) == 1
        found.append(len({subjects[row] for row in rows}) if equal else 0)
    return found


def between(classes: list) -> int:
    """The most tuples of other classes between the first and the last tuple of one."""
    most = 0
    for name in set(classes) - {None}:
        rows = [row for row, other in enumerate(classes) if other == name]
        most = max(most, sum(classes[row] != name for row in range(rows[0], rows[-1])))
    return most
