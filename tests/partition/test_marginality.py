"""Categories are ranked by marginality: t_first and steered keep t by the taxonomy, and equal their transcriptions."""

from __future__ import annotations

import importlib.util
import math
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.partition.steered import Steered
from shoal.partition.t_first import TFirst
from shoal.types import Confidential, Points
from shoal.types.marginality import by_marginality, marginalities

ORACLES = Path(__file__).parents[1] / "oracles"


def oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"oracle_{name}_here", ORACLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain, merging = oracle("marginality"), oracle("t_close_merge")

# leaves 0 … 5; 6 = {0, 1}, 7 = {3, 4}, 8 = {6, 2}; 7, 8 and leaf 5 are below the root
TREE = np.array([6, 6, 8, 7, 7, -1, 8, -1, -1])


def attribute(values: list[int], kind: str) -> Confidential:
    codes = np.array(values)
    parents = TREE if kind == "taxonomy" else None
    return Confidential("ill", codes, np.bincount(codes, minlength=6), ordered=False, parents=parents)


def sets(labels: list[int]) -> set[tuple[int, ...]]:
    return {tuple(row for row, own in enumerate(labels) if own == label) for label in set(labels)}


categories = st.lists(st.integers(0, 5), min_size=4, max_size=26)
kinds = st.sampled_from(["taxonomy", "nominal"])


@given(values=categories, kind=kinds)
def test_marginality_is_the_sum_of_distances_to_all_records(values: list[int], kind: str) -> None:
    ill = attribute(values, kind)
    assert marginalities(ill).tolist() == [plain.marginality(ill, value) for value in range(6)]
    assert by_marginality(ill).codes.tolist() == plain.ranks(ill)
    assert by_marginality(ill).counts.tolist() == [values.count(value) for value in plain.order(ill)]


def test_an_order_of_its_own_stays() -> None:
    pay = Confidential("pay", np.array([2, 0, 1]), np.ones(3, int))
    assert by_marginality(pay) is pay


@given(
    values=categories,
    kind=kinds,
    k=st.integers(2, 4),
    t=st.sampled_from([0.05, 0.2, 0.35, 0.6]),
    seed=st.integers(0, 99),
)
def test_t_first_equals_the_transcription(values: list[int], kind: str, k: int, t: float, seed: int) -> None:
    ill, X = attribute(values, kind), np.random.default_rng(seed).normal(size=(len(values), 2))
    labels = TFirst(k=k, t=t).partition(Points(X, confidential=(ill,)), np.random.default_rng(0)).labels.tolist()
    assert sets(labels) == sets(plain.t_first(X.tolist(), ill, k, t))
    assert min(map(len, sets(labels))) >= k
    assert all(max(merging.distances(rows, (ill,))) <= Fraction(str(t)) for rows in sets(labels))


@given(
    values=categories,
    kind=kinds,
    k=st.integers(2, 4),
    t=st.sampled_from([0.05, 0.2, 0.35, 0.6]),
    seed=st.integers(0, 99),
)
def test_steered_equals_the_transcription(values: list[int], kind: str, k: int, t: float, seed: int) -> None:
    ill, X = attribute(values, kind), np.random.default_rng(seed).normal(size=(len(values), 2))
    labels = Steered(k=k, t=t).partition(Points(X, confidential=(ill,)), np.random.default_rng(0)).labels.tolist()
    expected = plain.steered(X.tolist(), ill, k, t, lambda size: 1.001 * (len(values) // size - 1) * math.sqrt(2))
    assert sets(labels) == sets(expected)
    assert min(map(len, sets(labels))) >= k
    assert all(max(merging.distances(rows, (ill,))) <= Fraction(str(t)) for rows in sets(labels))


@pytest.mark.parametrize("method", ["t_first", "steered"])
@pytest.mark.parametrize("tree", [{"lung": ["asthma", "flu"], "heart": ["attack", "stroke"]}, None])
def test_a_release_is_audited_by_the_taxonomy_and_for_the_table_only(
    method: str, tree: dict[str, list[str]] | None
) -> None:
    rng = np.random.default_rng(4)
    ill = rng.choice(["asthma", "flu", "attack", "stroke"], 240, p=[0.5, 0.2, 0.2, 0.1])
    frame = pa.table({"age": rng.normal(50, 9, 240), "pay": rng.normal(size=240), "ill": ill})
    recipe = {"quasi": ["age", "pay"], "confidential": ["ill"], "k": 3, "t": 0.15, "method": method}
    done = shoal.protect(frame, recipe | ({"taxonomies": {"ill": tree}} if tree else {}))
    close = next(one for one in done.audit.findings if one.model == "t_closeness")
    assert close.holds
    assert ("taxonomy" in close.note) == bool(tree)
    assert len(done.partition) > 5
    assert done.audit.attacker is not None
    assert done.audit.attacker.knows == "table"


ONE_LEAF = {"lung": {"airway": ["asthma"]}, "heart": ["attack", "stroke"], "skin": {"surface": {"rash": ["acne"]}}}
PATHS = {
    "asthma": ("lung", "airway"),
    "attack": ("heart",),
    "stroke": ("heart",),
    "acne": ("skin", "surface", "rash"),
    None: (),
}
HEIGHTS = {(): 4, ("lung",): 2, ("lung", "airway"): 1, ("heart",): 1, ("skin",): 3, ("skin", "surface"): 2} | {
    ("skin", "surface", "rash"): 1
}


def moved(inside: list[str | None], table: list[str | None]) -> Fraction:
    """Return the distance of a class from the table, by what groups pass on to those around them."""
    here, there = Counter(inside), Counter(table)
    waiting: dict[tuple[str, ...], list[Fraction]] = defaultdict(list)
    total = Fraction(0)
    for value, path in PATHS.items():
        waiting[path].append(Fraction(here[value], len(inside)) - Fraction(there[value], len(table)))
    for path in sorted(HEIGHTS, key=len, reverse=True):
        more = sum((one for one in waiting[path] if one > 0), Fraction(0))
        less = sum((-one for one in waiting[path] if one < 0), Fraction(0))
        total += Fraction(HEIGHTS[path], HEIGHTS[()]) * min(more, less)
        if path:
            waiting[path[:-1]].append(more - less)
    return total


@pytest.mark.parametrize("method", ["t_first", "steered"])
@pytest.mark.parametrize("t", [0.1, 0.25])
def test_groups_of_one_leaf_and_missing_values_keep_t(method: str, t: float) -> None:
    rng = np.random.default_rng(8)
    age = rng.integers(20, 30, 120)  # many equal records
    ill = [rng.choice(["asthma", "attack", "stroke", "acne"][: 2 + (one > 24) * 2]) for one in age]
    ill = [None if row % 9 == 0 else str(value) for row, value in enumerate(ill)]
    frame = pa.table({"age": age, "pay": rng.integers(0, 4, 120), "ill": ill})
    recipe = {"quasi": ["age", "pay"], "confidential": ["ill"], "k": 3, "t": t, "method": method}
    done = shoal.protect(frame, recipe | {"taxonomies": {"ill": ONE_LEAF}, "row_order": "keep"})
    classes: dict[tuple[float, ...], list[str | None]] = defaultdict(list)
    for *quasi, value in zip(*done.data.to_pydict().values(), strict=True):
        classes[tuple(quasi)].append(value)
    close = next(one for one in done.audit.findings if one.model == "t_closeness")
    assert close.achieved == float(max(moved(rows, ill) for rows in classes.values()))
    assert close.achieved <= t
    assert len(classes) > 2
