"""Sampling weights: what the smallest class weighs is reported, and weighted totals are kept."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import registry
from shoal.kernels.class_means import class_means

N = 60
RNG = np.random.default_rng(8)
FRAME = pa.table(
    {
        "age": RNG.integers(0, 90, N),
        "income": RNG.lognormal(9, 1, N),
        "region": ["n", "s", "w"] * (N // 3),
        "w": RNG.uniform(0.5, 9, N),
    }
)
# Releases that keep means: a new one that says so is tested as well.
BY_MEANS = [key for key in registry.keys("release") if key == "centroid"]


def lightest(frame: pa.Table, names: list[str]) -> float:
    """Return the smallest sum of weights of a class, in the plainest way."""
    found = defaultdict(list)
    for row in frame.to_pylist():
        found[tuple(row[name] for name in names)].append(row["w"] or 0.0)
    return min(map(math.fsum, found.values()))


@given(
    rows=st.lists(
        st.tuples(st.sampled_from([1, 2, None]), st.one_of(st.none(), st.floats(0, 1e6))), min_size=1, max_size=30
    )
)
def test_the_audit_weighs_the_lightest_class(rows: list[tuple]) -> None:
    frame = pa.table(
        {"age": pa.array([r[0] for r in rows], pa.int64()), "w": pa.array([r[1] for r in rows], pa.float64())}
    )
    found = shoal.audit(frame, quasi=["age"], weight="w")
    assert found.to_dict()["weighted_k"] == pytest.approx(lightest(frame, ["age"]), abs=1e-9)
    assert found.to_dict()["k"] == shoal.audit(frame, quasi=["age"]).to_dict()["k"]
    assert "weighted_k" not in shoal.audit(frame, quasi=["age"]).to_dict()


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_protect_reports_it_of_frames_and_files_alike(tmp_path: Path, end: str) -> None:
    recipe = {"quasi": ["age", "income"], "weight": "w", "strata": ["region"], "k": 4}
    done = shoal.protect(FRAME, recipe)
    expected = lightest(done.data, ["age", "income"])
    assert done.audit.to_dict()["weighted_k"] == pytest.approx(expected, rel=1e-12)
    assert all(dict(f.found)["weighted_k"] > 0 for f in done.audit.findings if f.model == "k_anonymity")
    assert done.audit.to_dict()["requirements"][0]["found"]["weighted_k"] == pytest.approx(expected)
    shoal.write_table(FRAME, tmp_path / f"in.{end}")
    again = shoal.protect_file(tmp_path / f"in.{end}", tmp_path / f"out.{end}", recipe)
    assert again.audit.to_dict()["weighted_k"] == pytest.approx(expected, rel=1e-12)


def test_weights_must_be_numbers() -> None:
    with pytest.raises(shoal.SchemaError, match="Column 'region': a weight must be a number, this one is nominal"):
        shoal.audit(FRAME, quasi=["age"], weight="region")


@pytest.mark.parametrize("release", BY_MEANS)
@given(data=st.data(), k=st.integers(2, 5), strata=st.booleans(), n=st.integers(10, 40))
@settings(max_examples=25, deadline=None)
def test_weighted_totals_are_kept(release: str, data: st.DataObject, k: int, strata: bool, n: int) -> None:
    number = st.floats(-1e6, 1e6, allow_nan=False)
    x = np.array(data.draw(st.lists(number, min_size=n, max_size=n)))
    w = np.array(data.draw(st.lists(st.floats(0.001, 1e4), min_size=n, max_size=n)))
    region = np.arange(n) % 2
    frame = pa.table({"x": x, "whole": np.arange(n) ** 2, "region": region, "w": w})
    recipe = {"quasi": ["x", "whole"], "weight": "w", "k": k, "release": release, "exact_means": True}
    done = shoal.protect(frame, {**recipe, "strata": ["region"]} if strata else recipe)
    left = np.asarray(done.data["w"].to_numpy())
    assert math.fsum(left) == pytest.approx(math.fsum(w), rel=1e-12)
    for where in (region == 0, region == 1) if strata else (np.ones(n, bool),):
        for name in ("x", "whole"):
            before, after = (np.asarray(f[name].to_numpy(), float)[where] for f in (frame, done.data))
            size = math.fsum(abs(before * w[where])) or 1.0
            assert math.fsum(after * left[where]) == pytest.approx(math.fsum(before * w[where]), abs=1e-12 * size)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from([0.0, 1.0, -3.5, 1e-3, 7e5]), st.sampled_from([0.0, 1e-9, 2.5, 1e9])
        ),
        min_size=1,
        max_size=30,
    )
)
def test_totals_are_kept_however_unequal_weights_are(records: list[tuple[int, float, float]]) -> None:
    labels, values, weights = (np.array(column) for column in zip(*records, strict=True))
    labels = np.unique(labels, return_inverse=True)[1]
    means = class_means(values, labels, weights)
    for label in range(labels.max() + 1):
        mine = labels == label
        share = weights[mine] if weights[mine].any() else np.ones(mine.sum())
        lost = abs((share * values[mine]).sum() - share.sum() * means[label])
        assert lost <= 1e-13 * (share * np.abs(values[mine])).sum()
