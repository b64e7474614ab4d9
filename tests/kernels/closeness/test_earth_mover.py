"""The earth mover's distance equals its definitions, exactly."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.closeness import earth_mover
from shoal.kernels.closeness.earth_mover import closeness, distances
from shoal.types import Confidential

_spec = importlib.util.spec_from_file_location("oracle_emd", Path(__file__).parents[2] / "oracles" / "earth_mover.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

#: For eight values: two levels, uneven depths, a chain, and a star.
TREES = (
    [8, 8, 8, 9, 9, 10, 10, 10, 11, 11, -1, -1],
    [8, 8, -1, 9, 9, 9, -1, -1, 10, -1, -1],
    [8, 8, 9, 10, 11, 12, 13, 13, 9, 10, 11, 12, 13, -1],
    [-1] * 8,
)


def attribute(table: list[int], ordered: bool, parents: list[int] | None = None) -> Confidential:
    if parents is None:
        codes = np.unique(table, return_inverse=True)[1]
        return Confidential("c", codes, np.bincount(codes), ordered)
    return Confidential("c", np.array(table), np.bincount(table), False, np.array(parents))


def exact(table: list[int], labels: list[int], ordered: bool, parents: list[int] | None = None) -> list[Fraction]:
    found = []
    for c in range(max(labels) + 1):
        inside = [value for value, label in zip(table, labels, strict=True) if label == c]
        if parents is not None:
            found.append(oracle.hierarchical(inside, table, parents))
        else:
            found.append((oracle.ordered if ordered else oracle.equal)(inside, table))
    return found


TABLES = st.lists(st.integers(0, 12), min_size=2, max_size=40)


@given(TABLES, st.booleans(), st.integers(1, 5), st.randoms())
def test_equal_to_the_definition(table: list[int], ordered: bool, classes: int, random) -> None:  # type: ignore[no-untyped-def]
    labels = [*range(min(classes, len(table))), *(random.randrange(classes) for _ in table)][: len(table)]
    labels = np.unique(labels, return_inverse=True)[1].tolist()
    want = exact(table, labels, ordered)
    found, _ = distances(closeness([attribute(table, ordered)], 0.1), np.array(labels))
    assert found[0].tolist() == [float(x) for x in want]


@pytest.mark.parametrize("parents", TREES)
@given(table=st.lists(st.integers(0, 7), max_size=30), labels=st.lists(st.integers(0, 3), min_size=38, max_size=38))
def test_equal_to_the_definition_over_a_tree(parents: list[int], table: list[int], labels: list[int]) -> None:
    table = [*range(8), *table]
    compact = np.unique(labels[: len(table)], return_inverse=True)[1].tolist()
    want = exact(table, compact, False, parents)
    found, _ = distances(closeness([attribute(table, False, parents)], 0.1), np.array(compact))
    assert found[0].tolist() == [float(x) for x in want]


def test_a_star_is_the_equal_distance() -> None:
    table = [0, 0, 1, 2, 2, 2, 3, 1]
    labels = np.array([0, 0, 0, 1, 1, 1, 0, 1])
    star, plain = (attribute(table, False, parents) for parents in ([-1] * 4, None))
    assert distances(closeness([star], 0.1), labels)[0] == pytest.approx(distances(closeness([plain], 0.1), labels)[0])


@given(TABLES, st.booleans(), st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1.0, 1 / 3]))
def test_what_is_close_enough_is_decided_exactly(table: list[int], ordered: bool, t: float) -> None:
    labels = [i % 2 for i in range(len(table))]
    want = [x <= Fraction(str(t)) for x in exact(table, labels, ordered)]
    close = distances(closeness([attribute(table, ordered)], t), np.array(labels))[1][0].tolist()
    assert close == want


def test_exactly_t_is_close_enough() -> None:
    # 0.15 is no binary fraction: its float is a little less
    ranks = attribute(list(range(21)), True)
    inside = next(
        [a, b, c]
        for a in range(21)
        for b in range(a, 21)
        for c in range(b, 21)
        if oracle.ordered([a, b, c], list(range(21))) == Fraction(3, 20)
    )
    labels = np.array([0 if i in inside else 1 for i in range(21)])
    found, close = distances(closeness([ranks], 0.15), labels)
    assert found[0, 0] == 0.15
    assert close[0, 0]
    assert not distances(closeness([ranks], 0.149999999), labels)[1][0, 0]


@pytest.mark.parametrize("ordered", [True, False])
def test_large_classes_are_decided_on_the_safe_side(monkeypatch: pytest.MonkeyPatch, ordered: bool) -> None:
    table = np.random.default_rng(1).integers(0, 9, 60).tolist()
    labels = np.arange(60) % 3
    want = exact(table, labels.tolist(), ordered)
    c = closeness([attribute(table, ordered)], float(max(want)))
    rough = c._replace(exact=np.zeros(1, np.int64))
    found, close = distances(rough, labels)
    assert found[0] == pytest.approx([float(x) for x in want], rel=1e-12)
    assert not close[0].all()  # the worst is exactly t, which a float cannot be trusted to tell
    assert distances(c._replace(exact=np.zeros(1, np.int64), t=c.t + 2e-9), labels)[1].all()


def test_several_attributes_of_several_kinds() -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 4, 50)
    tables = [rng.integers(0, 30, 50).tolist(), [*range(8), *rng.integers(0, 8, 42)], rng.integers(0, 3, 50).tolist()]
    attributes = [
        attribute(tables[0], True),
        attribute([int(v) for v in tables[1]], False, TREES[0]),
        attribute(tables[2], False),
    ]
    found, _ = distances(closeness(attributes, 0.2), labels)
    assert found[0].tolist() == [float(x) for x in exact(tables[0], labels.tolist(), True)]
    assert found[1].tolist() == [float(x) for x in exact([int(v) for v in tables[1]], labels.tolist(), False, TREES[0])]
    assert found[2].tolist() == [float(x) for x in exact(tables[2], labels.tolist(), False)]


def test_one_value_has_no_distance() -> None:
    assert distances(closeness([attribute([5, 5, 5, 5], True)], 0.0), np.array([0, 0, 1, 1]))[1].all()
    assert earth_mover.closeness([attribute([5, 5], True)], 0.0).scale.tolist() == [1]


def test_a_part_of_the_table_is_compared_with_all_of_it() -> None:
    table = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    whole = attribute(table, True)
    rows = np.array([0, 2, 4, 6, 8])
    found, _ = distances(closeness([whole.rows(rows)], 0.1), np.zeros(5, np.int64))
    assert found[0, 0] == float(oracle.ordered([table[i] for i in rows], table))
