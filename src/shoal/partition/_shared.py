"""Shared parts of methods: checks of confidential attributes, projections by blocks of attributes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import DataError, ParameterError
from shoal.parameters import Checked, Param, build, unknown
from shoal.types import Block, Coded, Confidential, Partition, Points
from shoal.types.protocols import Partitioner


def confidential(owner: object, points: Points) -> tuple[Confidential, ...]:
    """Return the confidential attributes; at least one is required."""
    if not points.confidential:
        raise DataError(
            f"{type(owner).__name__}: a confidential attribute must be given, got none. Give confidential= in Python, "
            f"--confidential on the command line."
        )
    return points.confidential


def ranked(owner: object, points: Points) -> list[Confidential]:
    """Return the confidential attributes that have an order, or all if none has one; at least one is required."""
    if not points.confidential:
        raise DataError(
            f"{type(owner).__name__}: at least one confidential attribute must be given, got none. Name it: "
            "confidential= in Python, --confidential on the command line."
        )
    return [attribute for attribute in points.confidential if attribute.ranked] or list(points.confidential)


def growing_sizes(least: int, n: int) -> Iterator[int]:
    """Yield a class size, and then ever larger ones, as long as n records form two classes.

    >>> list(growing_sizes(5, 30)), list(growing_sizes(5, 8))
    ([5, 8, 13], [5])
    """
    yield least
    while 2 * (least := least + least // 2 + 1) <= n:
        yield least


def enough_values(owner: object, attributes: tuple[Confidential, ...], p: int) -> None:
    """Refuse to require more values per class than the table has."""
    for attribute in attributes:
        there = int((attribute.counted.counts > 0).sum())
        if p > there:
            raise DataError(
                f"{type(owner).__name__}: p must be at most the number of values of every confidential attribute, got "
                f"p = {p} and {there} of {attribute.name!r} in the table. Lower p to at most {there}."
            )


_CATEGORIES = 256  # most categories and groups of an attribute, for methods that need a coordinate for each


def few_coordinates(owner: object, points: Points) -> NDArray[np.float64]:
    """Return the coordinates of points, for a method that needs them; refuse attributes with many categories."""
    if isinstance(points.x, Coded):
        name, places = max(points.places.items(), key=lambda one: len(one[1]))
        if len(places) > _CATEGORIES:
            raise DataError(
                f"{type(owner).__name__}: a nominal column may have at most {_CATEGORIES} categories and groups; "
                f"{name!r} has {len(places):,}. Group its categories, or choose a method such as mdav."
            )
    return points.coordinates


def blocks_by_correlation(owner: object, points: Points, word: str, size: int) -> tuple[tuple[str, ...], ...]:
    """Return blocks of at most `size` attributes, by name, from the correlations of their coordinates.

    With ``correlated``, attributes of a block go together; with ``uncorrelated`` those that do are in different blocks.

    References: [N14] Section 4.1, [NHT08].
    """
    from shoal.kernels.order.projection import correlated_blocks, correlations, uncorrelated_blocks

    names, places = list(points.places), list(points.places.values())
    strength = correlations(few_coordinates(owner, points), places)
    count = -(-len(names) // size)
    if word == "correlated":
        sizes = [len(part) for part in np.array_split(np.arange(len(names)), count)]
        found = correlated_blocks(strength, sizes)
    else:  # [N14] 4.1: the first attributes of all blocks are correlated, the second too, and so on
        found = uncorrelated_blocks(strength, count)
    return tuple(tuple(names[j] for j in block) for block in found)


@dataclass(frozen=True)
class Projected(Checked, Partitioner):
    """[N14] Algorithm 1: split the attributes into blocks, project each, sort, and cut with the least SSE."""

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    group: Annotated[
        Literal["none", "correlated", "uncorrelated"],
        Param("Blocks of correlated or of uncorrelated attributes; in a recipe, use attribute_blocks."),
    ] = "none"
    block_size: Annotated[int, Param("Most attributes in a block; in a recipe, use block_size.", low=1)] = 3
    settled_blocks: tuple[tuple[str, ...], ...] = ()  #: set by `settled` only

    @staticmethod
    @abstractmethod
    def project(points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one number for each record."""

    def blocks(self, points: Points) -> tuple[tuple[str, ...], ...]:
        """Return the blocks of attributes, by name."""
        if self.settled_blocks or self.group == "none":
            return self.settled_blocks or (tuple(points.places),)
        return blocks_by_correlation(self, points, self.group, self.block_size)

    def settled(self, points: Points) -> Self:
        """Return the method with the blocks found in these points, for use on any part of them."""
        return replace(self, settled_blocks=self.blocks(points))

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of at least k records in each block; nothing is random."""
        from shoal.kernels.order.projection import projected_labels

        blocks = []
        for names in self.blocks(points):
            coordinates = few_coordinates(self, points.only(names))
            blocks.append(Block(names, projected_labels(coordinates, self.project(coordinates), self.k)))
        return Partition(tuple(blocks))


def refuse_first(owner: str, first: str) -> None:
    """Refuse a method that cannot form the classes which another method then merges."""
    if first not in registry.keys("partition"):
        raise ParameterError(unknown(owner, "method", first, registry.keys("partition")))
    method = registry.load("partition", first)
    if method.promises_t:
        raise ParameterError(
            f"{owner}: first must be a method that does not enforce t, got {first!r}, which does. Use {first!r} alone, "
            "or choose another first."
        )
    if method.promises:
        raise ParameterError(
            f"{owner}: first must be a method that needs only k, got {first!r}, which enforces another model. Use "
            f"{first!r} alone, with --t, or choose another first."
        )
    if not method.promises_k:
        raise ParameterError(
            f"{owner}: first must form classes of at least k records, got {first!r}, which does not promise them. "
            "Choose another first."
        )


def formed_first(owner: str, first: str, k: int, points: Points, rng: np.random.Generator) -> Partition:
    """Form the classes which another method then merges; they must be of all attributes together."""
    method = build(registry.load("partition", first), {"k": k})
    formed: Partition = method.partition(points, rng)
    if len(formed.blocks) > 1:
        raise ParameterError(
            f"{owner}: first must partition all attributes together, got {first!r}, which forms "
            f"{len(formed.blocks)} blocks. Choose another first."
        )
    return formed
