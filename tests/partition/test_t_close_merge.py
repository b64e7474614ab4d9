"""Merging after any method equals the plain transcription; what cannot come first is refused in one sentence."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.flow.stages.encode import confidential_arrays

ORACLES = Path(__file__).parents[1] / "oracles"
_spec = importlib.util.spec_from_file_location("oracle_t_close_merge", ORACLES / "t_close_merge.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def can_come_first(method: str) -> bool:
    cls = registry.load("partition", method)
    return cls.promises_k and not (cls.promises_t or cls.promises)


@pytest.mark.parametrize("method", [method for method in registry.keys("partition") if can_come_first(method)])
@pytest.mark.parametrize("t", [0.1, 0.25])
def test_equals_the_transcription_after_every_method(method: str, t: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 1))
    secret = np.column_stack([X[:, 0] + rng.normal(size=60), rng.integers(0, 3, 60)])
    before = shoal.microaggregate(X, 3, method=method, seed=4).labels
    given = {"first": method, "confidential": secret, "t": t, "seed": 4, "attacker": "table"}  # in the order of rows
    found = shoal.microaggregate(X, 3, method="t_close_merge", **given).labels
    want = oracle.t_close_merge(X.tolist(), before.tolist(), confidential_arrays(secret, 60), t)
    assert found.tolist() == want


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        ("mdva", "TCloseMerge: no method is called 'mdva'; .* Did you mean 'mdav'?"),
        (
            "mic1d",
            "TCloseMerge: first must form classes of at least k records, got 'mic1d', which does not promise them",
        ),
        ("t_close_merge", "TCloseMerge: first must be a method that does not enforce t, got 't_close_merge'"),
        ("k_first", "TCloseMerge: first must be a method that does not enforce t, got 'k_first'"),
        ("individual_ranking", "TCloseMerge: first must partition all attributes together, .* forms 2 blocks"),
        (3, "TCloseMerge: first must be text, got 3"),
    ],
)
def test_what_cannot_come_first_is_refused(first: object, sentence: str) -> None:
    X = np.random.default_rng(2).normal(size=(20, 2))
    with pytest.raises(shoal.ParameterError, match=sentence):
        shoal.microaggregate(X, 3, method="t_close_merge", first=first, confidential=X[:, 0], t=0.2)


@pytest.mark.parametrize("method", ["t_close_merge", "k_first"])
def test_t_must_be_given(method: str) -> None:
    with pytest.raises(shoal.ParameterError, match="t must be given"):
        shoal.microaggregate(np.arange(9.0), 3, method=method, confidential=np.arange(9))


@pytest.mark.parametrize("method", ["t_close_merge", "k_first"])
@pytest.mark.parametrize(
    ("n", "k", "secret", "t"),
    [
        (7, 2, [0, 0, 0, 1, 1, 2, 2], 0.2),
        (9, 9, [3, 1, 2, 5, 4, 7, 6, 8, 0], 0.0),
        (12, 3, [4] * 12, 0.0),
        (12, 3, list("aabbccaabbcc"), 0.1),
        (12, 3, list(range(12)), 1.0),
        (12, 3, list(range(12)), 0.0),
    ],
)
def test_ends(method: str, n: int, k: int, secret: list, t: float) -> None:
    part = shoal.microaggregate(np.arange(float(n)) ** 2, k, method=method, confidential=secret, t=t)
    attributes = confidential_arrays(secret, n)
    for label in range(len(part)):
        assert max(oracle.distances(np.flatnonzero(part.labels == label).tolist(), attributes)) <= oracle.Fraction(
            str(t)
        )
    if len(set(secret)) == 1 or t == 1.0:
        assert len(part) == n // k


@pytest.mark.parametrize("method", ["t_close_merge", "k_first"])
def test_through_a_recipe_with_strata(method: str) -> None:
    rng = np.random.default_rng(3)
    n = 120
    frame = pa.table(
        {"a": rng.normal(size=n), "b": rng.normal(size=n), "secret": rng.integers(0, 9, n), "s": np.arange(n) % 2}
    )
    recipe = {"quasi": ["a", "b"], "confidential": ["secret"], "strata": ["s"], "k": 3, "t": 0.3, "method": method}
    done = shoal.protect(frame, recipe)
    strata = frame["s"].to_numpy()
    for label in range(len(done.partition)):
        assert len(set(strata[done.partition.labels == label])) == 1
    assert done.partition.sizes.min() >= 3
