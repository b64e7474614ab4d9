"""What must hold of every table: means, sums of squares, the optimum, and the audit of what was made."""

from __future__ import annotations

from collections import Counter
from dataclasses import MISSING, fields, replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import shoal
from shoal import registry

METHODS = registry.keys("partition")
PROMISING = [key for key in METHODS if registry.load("partition", key).promises_k]
VALUES = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e6, 1e6, allow_subnormal=False))


@st.composite
def tables(draw: st.DrawFn, most: int = 40) -> tuple[np.ndarray, int]:
    k = draw(st.integers(2, 5))
    n = draw(st.integers(k, most))
    d = draw(st.integers(1, 4))
    return draw(arrays(np.float64, (n, d), elements=VALUES)), k


def fitting(method: str, X: np.ndarray) -> np.ndarray:
    """The points, in as many coordinates as the method takes: all, unless it says otherwise."""
    return X[:, : registry.load("partition", method).dimensions]


def frame_of(X: np.ndarray) -> pa.Table:
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def needs_t(method: str) -> bool:
    """Whether the method cannot do without t."""
    return any(f.name == "t" and f.default is MISSING for f in fields(registry.load("partition", method)))


def secret(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 9, n)


def protected(method: str, X: np.ndarray, k: int) -> shoal.Protected:
    """Protect a table, with a confidential column and t where the method asks for them."""
    frame = frame_of(X)
    recipe = {"quasi": frame.column_names, "k": k, "method": method, "exact_means": True}
    if models := registry.load("partition", method).promises:
        frame = frame.append_column("c", pa.array(np.arange(len(X)) % 2))
        levels = {"p_sensitivity": 2, "kpqr": [2, 0.3, 0.3]}
        return shoal.protect(frame, {**recipe, "confidential": ["c"], "require": {m: levels[m] for m in models}})
    if needs_t(method):
        frame, recipe = frame.append_column("c", pa.array(secret(len(X)))), {**recipe, "confidential": ["c"], "t": 0.4}
    return shoal.protect(frame, recipe)


def matrix(frame: pa.Table) -> np.ndarray:
    return np.column_stack([frame.column(name).to_numpy() for name in frame.column_names])


@pytest.mark.parametrize("method", PROMISING)
@given(table=tables())
def test_the_audit_of_any_release_at_k_achieves_k(method: str, table: tuple[np.ndarray, int]) -> None:
    X, k = fitting(method, table[0]), table[1]
    done = protected(method, X, k)
    assert done.audit.holds
    for finding in (f for f in done.audit.findings if f.model == "k_anonymity"):
        counted = Counter(zip(*(done.data.column(name).to_pylist() for name in finding.attributes), strict=True))
        assert min(counted.values()) >= (finding.required or 1)
        assert finding.achieved == min(counted.values())
        assert finding.classes == len(counted)
    assert [f.required for f in done.audit.findings[: len(done.partition.blocks)]] == [k] * len(done.partition.blocks)


@pytest.mark.parametrize("method", PROMISING)
@given(table=tables())
def test_means_are_kept_and_total_variation_is_loss_plus_what_is_left(
    method: str, table: tuple[np.ndarray, int]
) -> None:
    X, k = fitting(method, table[0]), table[1]
    masked = matrix(protected(method, X, k).data.select(frame_of(X).column_names))
    scale = np.abs(X).max() + 1
    np.testing.assert_allclose(masked.mean(axis=0), X.mean(axis=0), atol=1e-12 * scale)
    sst = ((X - X.mean(axis=0)) ** 2).sum()
    sse = ((X - masked) ** 2).sum()
    ssa = ((masked - X.mean(axis=0)) ** 2).sum()
    assert sst == pytest.approx(sse + ssa, abs=1e-10 * scale**2 * len(X))


def best_sse(X: np.ndarray, k: int) -> float:
    """The least SSE of any partition into classes of k … 2k−1, by trying all of them."""

    def cost(rows: tuple[int, ...]) -> float:
        return float(((X[list(rows)] - X[list(rows)].mean(axis=0)) ** 2).sum())

    def search(left: tuple[int, ...]) -> float:
        if not left:
            return 0.0
        first, rest = left[0], left[1:]
        best = np.inf
        for size in range(k, min(2 * k - 1, len(left)) + 1):
            if 0 < len(left) - size < k:
                continue
            for others in combinations(rest, size - 1):
                remaining = tuple(row for row in rest if row not in others)
                best = min(best, cost((first, *others)) + search(remaining))
        return best

    return search(tuple(range(len(X))))


@pytest.mark.parametrize("method", PROMISING)
@given(table=tables(most=8))
def test_no_method_beats_the_optimum_in_any_block(method: str, table: tuple[np.ndarray, int]) -> None:
    whole, k = fitting(method, table[0]), table[1]
    more = {"confidential": secret(len(whole)), "t": 0.4} if needs_t(method) else {}
    levels = {"p_sensitivity": {"p": 2}, "kpqr": {"p": 2, "q": 0.3, "r": 0.3}}
    for model in registry.load("partition", method).promises:
        more = {"confidential": np.arange(len(whole)) % 2, **levels[model]}
    blocks = shoal.microaggregate(whole, k, method=method, **more).blocks
    for block in blocks:
        X = whole if len(blocks) == 1 else whole[:, [int(number) for number in block.attributes]]
        sse = sum(((X[block.labels == c] - X[block.labels == c].mean(axis=0)) ** 2).sum() for c in range(len(block)))
        assert sse >= best_sse(X, k) - 1e-9 * (np.abs(X).max() ** 2 + 1)


@given(table=tables(most=8))
def test_on_one_coordinate_the_optimum_is_found(table: tuple[np.ndarray, int]) -> None:
    X, k = table[0][:, :1], table[1]
    labels = shoal.microaggregate(X, k, method="optimal_univariate").labels
    sse = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels))
    assert sse == pytest.approx(best_sse(X, k), rel=1e-9, abs=1e-9 * (np.abs(X).max() ** 2 + 1))


@given(table=tables())
def test_what_compare_reads_is_what_protect_read(table: tuple[np.ndarray, int]) -> None:
    X, k = table
    frame = frame_of(X)
    done = shoal.protect(frame, {"quasi": frame.column_names, "k": k})
    compared = shoal.compare(frame, done.data, frame.column_names)
    read = [one for one in done.readings.readings if not one.name.endswith("_partition")]
    assert read
    whole = (replace(compared.reading(quick.name), parts=(), note=quick.note) for quick in read)  # parts are of compare
    assert all(one == replace(quick, parts=()) for one, quick in zip(whole, read, strict=True))
