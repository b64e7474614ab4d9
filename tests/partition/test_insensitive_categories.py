"""Insensitive with categories: the order of the oracle, and how far one record moves classes, means and scores."""

from __future__ import annotations

import runpy
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.partition.insensitive import Insensitive, least_noise, moves
from shoal.points.nominal import axis_of, cuts_of, line_of
from shoal.privacy.differential_privacy import spread
from shoal.schema.taxonomy_files import taxonomy_of
from shoal.types import Axis, Points, Taxonomy

ORACLES = Path(__file__).parents[1] / "oracles"
ORACLE = runpy.run_path(str(ORACLES / "insensitive_categories.py"))
apart = runpy.run_path(str(ORACLES / "taxonomy_distance.py"))["distance"]
RNG = np.random.default_rng(0)

ILLNESS = {"lungs": ["asthma", "flu"], "belly": {"stomach": ["ulcer"], "gut": ["colitis", "polyp"]}}
PLAIN = {"all": ["x", "y", "z"]}
TWO = {"hot": ["red"], "cold": ["blue", "green"]}
Nested = dict[str, Any] | None


def axes_for(records: list[tuple[Any, ...]], nested: tuple[Nested, ...]) -> tuple[Axis, ...]:
    found = []
    for j, own in enumerate(nested):
        column = [record[j] for record in records]
        if own is None:
            found.append(Axis(f"x{j}", np.array(column, float)))
        else:
            found.append(axis_of(f"x{j}", pa.chunked_array([pa.array(column, pa.string())]), taxonomy_of("x", own)))
    return tuple(found)


def domain_of(nested: tuple[Nested, ...], steps: int = 3) -> list[tuple[Any, ...]]:
    numbers = [Fraction(i, steps - 1) for i in range(steps)]
    return list(product(*(numbers if own is None else ORACLE["leaves"](own) for own in nested)))


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([(ILLNESS,), (ILLNESS, None), (TWO, ILLNESS, None), (PLAIN, None, None), (ILLNESS, TWO)]),
    st.integers(2, 4),
    st.sampled_from([None, 1, 2, 3, 4, 9]),
    st.integers(0, 2**32 - 1),
)
def test_classes_equal_the_oracle(nested: tuple[Nested, ...], k: int, strips: int | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    there = domain_of(nested)
    records = [there[i] for i in rng.integers(len(there), size=int(rng.integers(k, 40)))]
    points = Points(np.zeros((len(records), 1)), ("x",), axes=axes_for(records, nested))
    (block,) = Insensitive(k, strips).partition(points, RNG).blocks
    assert block.attributes == tuple(f"x{j}" for j in range(len(nested)))
    for label, rows in enumerate(ORACLE["classes"](records, nested, k, block.strips)):
        found = np.flatnonzero(block.labels == label)
        assert sorted(records[i] for i in found) == sorted(records[i] for i in rows)


def tables(nested: tuple[Nested, ...]) -> list[dict[str, list[Fraction]] | None]:
    """For each axis of categories how far every leaf is from every other, in line."""
    found: list[dict[str, list[Fraction]] | None] = []
    for own in nested:
        paths = {} if own is None else taxonomy_of("x", own).paths
        line = [] if own is None else ORACLE["leaves"](own)
        found.append(None if own is None else {a: [apart(paths, a, b) for b in line] for a in line})
    return found


def summary(members: list[Any], distances: list[dict[str, list[Fraction]] | None]) -> list[list[Fraction]]:
    """For each axis of a class: the mean of numbers, or the mean distance of every leaf; in exact fractions."""
    found = []
    for j, far in enumerate(distances):
        values = [[record[j]] if far is None else far[record[j]] for record in members]
        found.append([sum(column, Fraction(0)) / len(members) for column in zip(*values, strict=True)])
    return found


SMALL: list[tuple[tuple[Nested, ...], int, int]] = [
    ((ILLNESS,), 5, 3),
    ((TWO, None), 4, 2),
    ((TWO, None), 4, 3),
    ((ILLNESS, None), 3, 2),
    ((TWO, TWO), 4, 2),
    ((PLAIN, None), 4, 2),
]


def cuts(nested: tuple[Nested, ...]) -> list[tuple[int, ...]]:
    """Every way to cut all axes but the last."""
    options = [sorted(cuts_of(taxonomy_of("x", own))) if own else [1, 2] for own in nested[:-1]]
    return [(*own, 1) for own in product(*options)]


@pytest.mark.parametrize(("nested", "n", "steps"), SMALL)
@pytest.mark.parametrize("k", [1, 2])
def test_no_neighbour_of_any_table_changes_more_than_is_claimed(
    nested: tuple[Nested, ...], n: int, steps: int, k: int
) -> None:
    """All tables on a small domain and all neighbours: each class changes by one record, and the lists by `moves`."""
    there, distances = domain_of(nested, steps), tables(nested)
    every = list(combinations_with_replacement(range(len(there)), n))
    tight = 0.0
    for strips in cuts(nested):
        order = ORACLE["in_order"](there, nested, strips)
        rank = {i: at for at, i in enumerate(order)}  # of the domain itself: all records of one place are equal
        members = {data: parted(sorted(data, key=rank.__getitem__), k) for data in every}
        of_class = cache(lambda own: summary([there[i] for i in own], distances))
        most = [Fraction(0)] * len(nested)
        for data in every:
            for other in neighbours(data, len(there)):
                pairs = [(x, y) for x, y in zip(members[data], members[other], strict=True) if x != y]
                assert all((Counter(x) - Counter(y)).total() == 1 for x, y in pairs)
                changes = [list(map(moved, of_class(x), of_class(y))) for x, y in pairs]
                most = [
                    max(old, sum(new, Fraction(0))) for old, new in zip(most, zip(*changes, strict=True), strict=True)
                ]
        size = n if n < 2 * k else k
        bound = [step / size for step in moves(n // k, strips, axes_for([], nested))]
        assert all(float(own) <= limit for own, limit in zip(most, bound, strict=True)), strips
        tight = max(tight, *(float(own) / limit for own, limit in zip(most, bound, strict=True)))
    assert tight >= (0.999 if k == 1 else 0.6)  # nothing less would do


def neighbours(data: tuple[int, ...], domain: int) -> set[tuple[int, ...]]:
    """All tables in which one record is another; as multisets, for the order of rows does not count."""
    return {tuple(sorted((*data[:i], new, *data[i + 1 :]))) for i in range(len(data)) for new in range(domain)} - {data}


def parted(rows: list[int], k: int) -> list[tuple[int, ...]]:
    """Cut a row of records into classes: k each, the last takes the rest."""
    cuts = [k * i for i in range(len(rows) // k)]
    return [tuple(rows[i : len(rows) if i == cuts[-1] else i + k]) for i in cuts]


def moved(one: list[Fraction], other: list[Fraction]) -> Fraction:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def taxonomies(draw: Any, depth: int = 3) -> Any:
    """A random tree: groups within groups, of different depths."""
    count = iter(range(10**6))

    def grown(left: int) -> Any:
        if left == 0 or draw(st.integers(0, 2)) == 0:
            return [f"leaf{next(count)}" for _ in range(draw(st.integers(1, 3)))]
        return {f"group{next(count)}": grown(left - 1) for _ in range(draw(st.integers(1, 3)))}

    return {f"top{i}": grown(depth - 1) for i in range(draw(st.integers(1, 3)))}


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_audit_finds_by_itself_what_the_line_says(data: st.DataObject) -> None:
    taxonomy = taxonomy_of("x", taxonomies(data.draw))
    names, steps = line_of(taxonomy)
    assert sorted(names) == sorted(taxonomy.paths)
    for count, cut in cuts_of(taxonomy).items():
        assert spread(taxonomy, count) == pytest.approx((cut.within, cut.between))
        assert cut.cells is not None
        assert len(set(cut.cells.tolist())) == count
    assert spread(taxonomy, None) == pytest.approx((0.0, steps.sum()))
    assert spread(taxonomy, len(taxonomy.paths) + 1) == (np.inf, np.inf)
    for i, one in enumerate(names):  # the distance of any two is the longest step between them
        for j in range(i):
            assert steps[j:i].max() == pytest.approx(float(apart(taxonomy.paths, one, names[j])))


def test_a_group_and_a_leaf_of_one_name_are_told_apart() -> None:
    taxonomy = Taxonomy({"a": ("g",), "h": ("g",), "b": ("g", "h"), "c": ("g", "h")})
    assert line_of(taxonomy)[0] == ("a", "h", "b", "c")
    assert sorted(cuts_of(taxonomy)) == [1, 3, 4]
    assert spread(taxonomy, 3) == pytest.approx((cuts_of(taxonomy)[3].within, cuts_of(taxonomy)[3].between))


def test_with_categories_in_front_the_number_of_classes_does_not_matter() -> None:
    axes = axes_for([], (TWO, None))
    for classes in (10, 100, 10_000):
        assert least_noise(classes, axes) == (3, 1)
        assert moves(classes, (3, 1), axes) == pytest.approx((1.5, 3.0))


def test_a_taxonomy_of_one_leaf_moves_nothing() -> None:
    axes = axes_for([], ({"all": ["only"]}, None))
    assert moves(50, least_noise(50, axes), axes) == pytest.approx((0.0, 1.0))
