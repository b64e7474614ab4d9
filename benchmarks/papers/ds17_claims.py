"""[DS17] Section VI.C: two claims in words, judged by our runs.

1. Setting the algorithm up for t = 0.05 where t = 0.1 is wanted has no benefit: MSE and MAE are slightly greater.
2. On MCD with t = 0.1 the MSE is similar to that of the best algorithm of [SC15].
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ds17
import numpy as np

import shoal

WANTED = 0.1


def reaching(data: str, n: int, t: float, folder: Path) -> tuple[int, ds17.Indicators]:
    """The least integer weight of a set-up for t from which on every class is within 0.1, and what it costs."""
    X, C = ds17.table(data, n, folder)
    case: dict[str, Any] = {"n": n, "t": t}
    weight = math.ceil(ds17.bound(case, X.shape[1]))
    found = ds17.indicators(X, C, ds17.steered(X, C, t, weight))
    while weight > 0:
        lower = ds17.indicators(X, C, ds17.steered(X, C, t, weight - 1))
        if lower.max_emd > WANTED:
            break
        weight, found = weight - 1, lower
    return weight, found


def rivals(folder: Path) -> dict[str, ds17.Indicators]:
    """Our transcription of [SC15]'s algorithms on MCD, and steered with the weight that guarantees t."""
    X, C = ds17.table("mcd", 1080, folder)
    found = {}
    for method in ("t_close_merge", "k_first", "t_first", "steered"):
        standard = (X - X.mean(axis=0)) / X.std(axis=0)
        labels = shoal.microaggregate(standard, ds17.K, method=method, confidential=C, t=WANTED).labels
        found[method] = ds17.indicators(X, C, np.asarray(labels))
    return found


def main(folder: Path) -> None:
    """Print both."""
    print("\nSet up for another t than the 0.1 that is wanted:")
    for data, n in (("pcd", 1000), ("mcd", 1080)):
        for t in (0.1, 0.05):
            weight, found = reaching(data, n, t, folder)
            print(f"  {data}, t = {t}: from weight {weight} on; MSE {found.mse:.4f}, MAE {found.mae:.4f}")
    print("\nMCD, t = 0.1, beside the algorithms of [SC15]:")
    for method, found in rivals(folder).items():
        print(f"  {method}: largest EMD {found.max_emd:.4f}, MSE {found.mse:.4f}, MAE {found.mae:.4f}")
