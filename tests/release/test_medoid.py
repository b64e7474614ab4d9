"""The medoid: one record of the class, the nearest to the mean."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.release.medoid import medoids

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "medoid.py"))["medoids"]


def compact(labels: list[int]) -> np.ndarray:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25
    ),
    st.booleans(),
)
def test_medoids_equal_the_oracle(rows: list[tuple[int, int, int, int]], weighted: bool) -> None:
    X = np.array([row[:2] for row in rows], float) / 3
    labels = compact([row[2] for row in rows])
    weights = np.array([row[3] / 3 for row in rows]) if weighted else None
    assert medoids(X, labels, weights).tolist() == oracle(X.tolist(), labels.tolist(), weights)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_the_size_of_numbers_does_not_matter(scale: float) -> None:
    X = np.random.default_rng(1).normal(size=(60, 3))
    labels = np.arange(60) % 7
    assert medoids(X * scale, labels, None).tolist() == oracle(X.tolist(), labels.tolist())


def test_of_two_records_the_lower_is_taken() -> None:
    X = np.random.default_rng(2).normal(size=(200, 4))
    lower = [row if X[row].tolist() < X[row + 100].tolist() else row + 100 for row in range(100)]
    assert medoids(X, np.arange(200) % 100, None).tolist() == lower


def test_no_combination_leaves_that_was_not_in_the_table() -> None:
    rng = np.random.default_rng(3)
    sex = rng.integers(0, 2, 90)
    frame = pa.table(
        {
            "sex": np.where(sex == 0, "m", "f"),
            "pregnancies": np.where(sex == 0, 0, rng.integers(1, 5, 90)),
            "age": rng.integers(18, 90, 90),
        }
    )
    done = shoal.protect(frame, {"quasi": frame.column_names, "k": 5, "release": "medoid"})
    assert {tuple(row.values()) for row in done.data.to_pylist()} <= {tuple(row.values()) for row in frame.to_pylist()}
    assert done.data.schema.types == frame.schema.types
    for label in range(len(done.partition)):
        inside = done.data.filter(pa.array(done.partition.labels == label)).to_pylist()
        assert all(row == inside[0] for row in inside)


def test_weights_move_the_medoid() -> None:
    frame = pa.table({"x": [0.0, 1.0, 10.0], "w": [1.0, 1.0, 100.0]})
    plain, weighted = (
        shoal.protect(frame, {"quasi": ["x"], "k": 3, "release": "medoid", **more}) for more in ({}, {"weight": "w"})
    )
    assert plain.data["x"].to_pylist() == [1.0] * 3
    assert weighted.data["x"].to_pylist() == [10.0] * 3


def test_requirements_of_confidential_columns_are_audited_as_for_centroids() -> None:
    rng = np.random.default_rng(4)
    frame = pa.table({"x": rng.normal(size=60), "c": rng.integers(0, 5, 60)})
    done = shoal.protect(
        frame, {"quasi": ["x"], "confidential": ["c"], "k": 4, "t": 0.2, "require": {"p": 3}, "release": "medoid"}
    )
    assert {f.model for f in done.audit.findings if f.required is not None} == {
        "k_anonymity",
        "t_closeness",
        "p_sensitivity",
    }


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=40))
def test_the_loss_is_at_most_twice_that_of_the_means(rows: list[tuple[int, int]]) -> None:
    frame = pa.table({"x": [float(row[0]) for row in rows], "y": [float(row[1]) for row in rows]})
    loss = {
        release: shoal.protect(frame, {"quasi": ["x", "y"], "k": 3, "release": release}).readings["sse"]
        for release in ("centroid", "medoid")
    }
    assert loss["centroid"] - 1e-9 <= loss["medoid"] <= 2 * loss["centroid"] + 1e-9
