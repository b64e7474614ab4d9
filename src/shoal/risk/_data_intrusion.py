"""Data intrusion simulation (DIS), and its share of each record by SUDA scores: DIS-SUDA."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FRACTION = 0.01  #: sampling fraction if none is known, as in sdcMicro


def data_intrusion(uniques: int, pairs: int, fraction: float) -> float:
    """Return the estimated chance that a unique match is correct: π·n₁ / (π·n₁ + 2·(1−π)·n₂).

    n₁ are the sample uniques, n₂ the pairs of records that are equal to each other and to no third one, and π is the
    sampling fraction: if one record of a pair had not been sampled, the other would be a false match [SE02].

    >>> round(data_intrusion(4, 3, 0.01), 6), data_intrusion(0, 3, 0.01), data_intrusion(4, 0, 0.01)
    (0.006689, 0.0, 1.0)
    """
    return fraction * uniques / (fraction * uniques + 2 * (1.0 - fraction) * pairs) if uniques else 0.0


def dis_suda(score: Floats, uniques: int, pairs: int, attributes: int, fraction: float) -> Floats:
    """Distribute the chance of all sample uniques among records by their scores: DIS-SUDA, 0 for a score of 0.

    With Q = 1 + (8 − A)/20 for A attributes, and a = Σ 1/scoreᵠ over records with a score, the chance of a record is
    1 / (1 + (n₁/DIS − n₁) / (scoreᵠ·a)), as sdcMicro computes it.

    >>> dis_suda(np.array([0.0, 2.0, 2.0]), uniques=2, pairs=1, attributes=4, fraction=0.5).tolist()
    [0.0, 0.5, 0.5]
    """
    risk = np.zeros(len(score))
    some = score > 0
    dis = data_intrusion(uniques, pairs, fraction)
    if not some.any() or not dis:
        return risk
    power = score[some] ** (1.0 + (8 - attributes) / 20.0)
    wrong = uniques / dis - uniques
    risk[some] = 1.0 / (1.0 + wrong / (power * float((1.0 / np.sort(power)).sum())))
    return risk
