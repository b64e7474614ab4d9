"""Measures of [N14] Section 2.3 as plain functions; each states what the paper leaves open. DLD and ID are ours."""

from __future__ import annotations

import numpy as np


def own_range(X: np.ndarray) -> np.ndarray:
    """Each attribute from 0 to 1 by its own range."""
    width = X.max(axis=0) - X.min(axis=0)
    return (X - X.min(axis=0)) / np.where(width > 0, width, 1.0)


def sse(X: np.ndarray, Y: np.ndarray) -> float:
    """SSE of two files each scaled by its own range. No error measure: a linear map of the data scores 0."""
    return float(((own_range(X) - own_range(Y)) ** 2).sum())


def real_anonymity(Y: np.ndarray, sets: list[str]) -> float:
    """k′ = n / different records, the mean over some sets of known attributes, each written like "147"."""
    found = [len(Y) / len(np.unique(Y[:, [int(a) - 1 for a in known]], axis=0)) for known in sets]
    return float(np.mean(found))


def information_loss(X: np.ndarray, Y: np.ndarray) -> float:
    """100 × the mean of: mean variation of values, covariances and variances, mean absolute error of correlations.

    Read so: a variation is |x − x′| / |x|, over x ≠ 0; covariances are those on and above the diagonal.
    """
    some = X != 0
    V, W = np.cov(X, rowvar=False), np.cov(Y, rowvar=False)
    upper, above = np.triu_indices(len(V)), np.triu_indices(len(V), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        R, S = np.nan_to_num(np.corrcoef(X, rowvar=False)), np.nan_to_num(np.corrcoef(Y, rowvar=False))
    parts = (
        (np.abs(X - Y)[some] / np.abs(X)[some]).mean(),
        (np.abs(V - W) / np.abs(V))[upper].mean(),
        (np.abs(V - W) / np.abs(V)).diagonal().mean(),
        np.abs(R - S)[above].mean(),
    )
    return 100 * float(np.mean(parts))


def score(il: float, dld: float, id_: float) -> float:
    """0.5·IL + 0.25·(DLD + ID)."""
    return 0.5 * il + 0.25 * (dld + id_)
