"""Cuts equal their transcription, keep equal records together, and depend on nothing but values."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.refine import blockwise
from shoal.kernels.refine.blockwise import Memory, cuts_for
from shoal.kernels.refine.cuts import (
    Cuts,
    Sample,
    block_of,
    chosen,
    cut_tree,
    merged_sample,
    without_small,
)
from shoal.types.coded import Coded


def _oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"cuts_{name}", Path(__file__).parents[2] / "oracles" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle, codes = _oracle("cuts"), _oracle("coded_tables")

KINDS = ("scattered", "lattice", "copies", "one constant column", "one vector", "coded", "coded lattice", "only codes")


def table(kind: str, seed: int, n: int, d: int) -> np.ndarray | Coded:
    """Return n records."""
    rng = np.random.default_rng(seed)
    if kind.startswith("coded"):
        return codes.table(seed, n, 9, d, grid=kind.endswith("lattice"))
    if kind == "only codes":
        return codes.table(seed, n, 12, 0)
    x = {
        "scattered": rng.normal(size=(n, d)),
        "lattice": rng.integers(0, 3, (n, d)) / 10.0,
        "copies": rng.normal(size=(max(n // 5, 1), d))[rng.integers(0, max(n // 5, 1), n)],
        "one constant column": np.column_stack((np.full(n, 7.0), rng.normal(size=(n, d - 1)))),
        "one vector": np.tile(rng.normal(size=d), (n, 1)),
    }[kind]
    return np.ascontiguousarray(x)


def columns(x: np.ndarray | Coded) -> list[tuple[Any, ...]]:
    """Describe the columns for the transcription."""
    if not isinstance(x, Coded):
        return [("number",)] * x.shape[1]
    found: list[tuple[Any, ...]] = []
    for place in x.layout.order.tolist():
        if place >= 0:
            found.append(("number",))
            continue
        column, height = x.column(~place), int(x.layout.height[~place])

        def distance(a: int, b: int, column: Any = column, height: int = height) -> float:
            apart = (t for low, t in zip(column.low, column.times, strict=True) if low[a] != low[b])
            return float(sum(apart)) / height

        found.append(("code", float(x.layout.weight[~place]), distance))
    return found


def vectors(x: np.ndarray | Coded) -> list[list[Any]]:
    """Return the records as lists of values."""
    keys = x.sort_keys() if isinstance(x, Coded) else list(x.T)
    return [list(row) for row in zip(*(key.tolist() for key in keys), strict=True)]


def nested(cuts: Cuts, x: np.ndarray | Coded) -> Any:
    """Return the tree as the transcription writes it, with its blocks numbered from left to right."""
    places = x.layout.order.tolist() if isinstance(x, Coded) else list(range(x.shape[1]))
    met: list[int] = []

    def of(node: int) -> Any:
        if node < 0:
            met.append(~node)
            return None
        left, right = of(int(cuts.left[node])), of(int(cuts.right[node]))
        return places.index(int(cuts.axis[node])), float(cuts.at[node]), left, right

    tree = of(0 if len(cuts.axis) else -1)
    assert met == list(range(cuts.blocks))
    return tree


def sample_of(x: np.ndarray | Coded) -> Sample:
    return merged_sample([Sample(x, np.ones(len(x), np.int64))])


CASES = {"seed": st.integers(0, 10**6), "n": st.integers(1, 60), "d": st.integers(1, 3), "kind": st.sampled_from(KINDS)}


@settings(max_examples=60)
@given(**CASES, count=st.integers(1, 12), least=st.integers(0, 12))
def test_blocks_equal_the_transcription(seed: int, n: int, d: int, kind: str, count: int, least: int) -> None:
    x = table(kind, seed, n, d)
    sample, rows = sample_of(x), vectors(x)
    counted = Counter(map(tuple, rows))
    assert vectors(sample.x) == sorted(map(list, counted))
    assert sample.counts.tolist() == [counted[tuple(v)] for v in vectors(sample.x)]
    tree = oracle.cut_tree(columns(x), vectors(sample.x), sample.counts.tolist(), count)
    cuts = cut_tree(sample, count)
    assert nested(cuts, x) == tree
    assert block_of(cuts, x).tolist() == [oracle.block_of(tree, row) for row in rows]
    records = np.bincount(block_of(cuts, x), minlength=cuts.blocks)
    kept = without_small(cuts, records, least)
    pruned = oracle.without_small(tree, records, least)
    assert nested(kept, x) == pruned
    assert block_of(kept, x).tolist() == [oracle.block_of(pruned, row) for row in rows]
    assert kept.blocks == 1 or np.bincount(block_of(kept, x)).min() >= least


@given(**CASES, count=st.integers(2, 9), part=st.integers(1, 70))
def test_blocks_depend_on_values_only(seed: int, n: int, d: int, kind: str, count: int, part: int) -> None:
    x = table(kind, seed, n, d)
    blocks = block_of(cuts_for(Memory(x), count, 2), x)
    order = np.random.default_rng(seed).permutation(n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blockwise, "_PART", part)
        cuts = cuts_for(Memory(x[order]), count, 2)
    assert block_of(cuts, x[order]).tolist() == blocks[order].tolist()
    homes: dict[tuple[Any, ...], set[int]] = {}
    for vector, block in zip(vectors(x), blocks.tolist(), strict=True):
        homes.setdefault(tuple(vector), set()).add(block)
    assert all(len(found) == 1 for found in homes.values())


@pytest.mark.parametrize("kind", ["scattered", "copies", "coded"])
def test_a_sample_takes_all_copies_of_a_vector_or_none(kind: str) -> None:
    x = table(kind, 3, 20_000, 2)
    inside = np.zeros(len(x), np.bool_)
    inside[chosen(x, 0.25)] = True
    homes: dict[tuple[Any, ...], set[bool]] = {}
    for vector, one in zip(vectors(x), inside.tolist(), strict=True):
        homes.setdefault(tuple(vector), set()).add(one)
    assert all(len(found) == 1 for found in homes.values())
    assert np.mean([found == {True} for found in homes.values()]) == pytest.approx(0.25, abs=0.05)
    order = np.random.default_rng(0).permutation(len(x))
    assert np.array_equal(np.sort(order[chosen(x[order], 0.25)]), np.flatnonzero(inside))
    assert set(chosen(x, 0.1)) <= set(np.flatnonzero(inside))
    assert np.array_equal(chosen(x, 1.0), np.arange(len(x)))


def test_both_zeros_are_the_same_value() -> None:
    x = np.zeros((400, 2))
    x[:, 0] = np.arange(400) // 2
    other = np.where((x == 0.0) & (np.arange(400)[:, None] % 2 == 0), -0.0, x)
    assert np.array_equal(chosen(x, 0.3), chosen(other, 0.3))
    for one, same in ((x, other), (other, x)):
        assert block_of(cuts_for(Memory(one), 8, 2), one).tolist() == block_of(cuts_for(Memory(same), 8, 2), x).tolist()


def test_a_sample_cuts_about_equal_blocks() -> None:
    x = table("scattered", 1, 60_000, 3)
    sizes = np.bincount(block_of(cuts_for(Memory(x), 12, 100), x))
    assert len(sizes) == 12
    assert sizes.min() > 0.8 * 5_000
    assert sizes.max() < 1.25 * 5_000
