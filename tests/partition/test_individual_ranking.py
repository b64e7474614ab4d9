"""Individual ranking is the univariate method on each attribute, and promises no more than that."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.partition.individual_ranking import IndividualRanking
from shoal.types import Points

SINGLE = {"optimal": "optimal_univariate", "mdav": "mdav"}


@pytest.mark.parametrize("by", SINGLE)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), d=st.integers(1, 4), k=st.integers(2, 5))
def test_equals_the_method_on_each_attribute(by: str, seed: int, n: int, d: int, k: int) -> None:
    k = min(k, n)
    X = np.random.default_rng(seed).integers(0, 20, (n, d)).astype(float)
    blocks = shoal.microaggregate(X, k, method="individual_ranking", by=by).blocks
    assert [block.attributes for block in blocks] == [(str(j),) for j in range(d)]
    for j, block in enumerate(blocks):
        assert np.array_equal(block.labels, shoal.microaggregate(X[:, j], k, method=SINGLE[by]).labels)


def test_k_is_required_of_each_attribute_and_reported_of_all() -> None:
    X = np.random.default_rng(1).normal(size=(60, 3))
    frame = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    audit = shoal.protect(frame, {"quasi": ["c", "a", "b"], "k": 4, "method": "individual_ranking"}).audit
    assert [(f.attributes, f.required) for f in audit.findings[:3]] == [(("a",), 4), (("b",), 4), (("c",), 4)]
    assert (audit.findings[3].required, audit.overall.achieved) == (None, 1)
    assert "not promised" in audit.findings[3].note


def test_the_optimal_cut_needs_one_coordinate_for_each_attribute() -> None:
    points = Points(np.random.default_rng(1).normal(size=(20, 3)), ("work", "work", "age"))
    with pytest.raises(shoal.DataError, match=r"'work' has 2\. Use by = mdav"):
        IndividualRanking(k=3).partition(points, np.random.default_rng(0))
    blocks = IndividualRanking(k=3, by="mdav").partition(points, np.random.default_rng(0)).blocks
    assert [block.attributes for block in blocks] == [("work",), ("age",)]
