"""The steering `spread` equals its transcription, and raises p and l of classes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.steer.spread import Spread
from shoal.types import Confidential, Points

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "spread.py"))["spread"]


@given(values=st.lists(st.integers(0, 4), min_size=3, max_size=40), buckets=st.integers(2, 6), seed=st.integers(0, 99))
def test_equals_the_transcription(values: list[int], buckets: int, seed: int) -> None:
    buckets = min(buckets, len(values))
    x, codes = np.random.default_rng(seed).normal(size=(len(values), 2)), np.unique(values, return_inverse=True)[1]
    points = Points(x, confidential=(Confidential("ill", codes, np.bincount(codes), ordered=False),))
    found = Spread(buckets=buckets).coordinates(points, None)
    np.testing.assert_allclose(found, oracle(x.tolist(), codes.tolist(), buckets), rtol=0, atol=1e-12)


def people(n: int = 240) -> pa.Table:
    rng = np.random.default_rng(3)
    age = rng.normal(50, 15, n)
    ill = np.where(age > 55, "heart", np.where(age > 45, "lung", np.where(age > 35, "skin", "eye")))
    return pa.table({"age": age, "pay": age * 100 + rng.normal(0, 300, n), "ill": ill})


def reaching(done: shoal.Protected, p: int) -> float:
    ill, labels = np.array(done.data["ill"].to_pylist()), done.partition.labels
    return float(np.mean([len(set(ill[labels == label])) >= p for label in range(labels.max() + 1)]))


RECIPE = {"quasi": ["age", "pay"], "confidential": ["ill"], "k": 4, "method": "mdav", "row_order": "keep"}


def test_with_a_large_weight_classes_hold_different_values() -> None:
    plain, steered = (
        shoal.protect(people(), {**RECIPE, "steer": [{"by": "spread", "buckets": 4, "weight": weight}]})
        for weight in (0, 1000)
    )
    assert reaching(plain, 3) < 0.1
    assert reaching(steered, 3) > 0.9
    assert plain.readings["il_sse"] < steered.readings["il_sse"]


def test_it_is_for_an_attacker_who_knows_the_table_and_its_level_is_audited() -> None:
    steer = [{"by": "spread", "buckets": 4, "weight": 1000}]
    done = shoal.protect(people(), {**RECIPE, "require": {"p": 2}, "steer": steer})
    found = next(one for one in done.audit.findings if one.model == "p_sensitivity" and one.required)
    assert found.holds
    assert done.audit.attacker is not None
    assert done.audit.attacker.knows == "table"


def test_what_is_refused() -> None:
    with pytest.raises(shoal.DataError, match="Spread: at least one confidential attribute must be given"):
        shoal.protect(people(), {**RECIPE, "confidential": [], "steer": [{"by": "spread", "buckets": 4}]})
    with pytest.raises(shoal.SchemaError, match="Spread: no confidential column is called 'pay'"):
        shoal.protect(people(), {**RECIPE, "steer": [{"by": "spread", "buckets": 4, "column": "pay"}]})
    with pytest.raises(shoal.DataError, match="Spread: buckets must be at most the number of records, got 241"):
        shoal.protect(people(), {**RECIPE, "steer": [{"by": "spread", "buckets": 241}]})
