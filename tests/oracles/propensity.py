"""pMSE of [WROK09]: a logistic regression by plain Newton steps, term by term."""

from __future__ import annotations

from math import exp

import numpy as np


def pmse(originals, masked):
    """The mean squared distance of fitted propensities from ½; rows of terms, without the intercept."""
    rows = [[1.0, *row] for row in (*originals, *masked)]
    member = [0] * len(originals) + [1] * len(masked)
    b = np.zeros(len(rows[0]))
    for _ in range(100):
        p = [1 / (1 + exp(-float(np.dot(b, row)))) for row in rows]
        gradient = sum((np.array(row) * (m - q) for row, m, q in zip(rows, member, p, strict=True)), np.zeros(len(b)))
        curvature = sum(
            (np.outer(row, row) * q * (1 - q) for row, q in zip(rows, p, strict=True)), np.zeros((len(b),) * 2)
        )
        b = b + np.linalg.pinv(curvature, hermitian=True) @ gradient
    p = [1 / (1 + exp(-float(np.dot(b, row)))) for row in rows]
    return sum((q - 0.5) ** 2 for q in p) / len(p)
