"""A local search: records move to neighbouring classes, or change places, as long as that lowers the SSE."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.arrangement import arrange, numbered
from shoal.kernels.gap import padded
from shoal.kernels.jit import announce, kernel
from shoal.kernels.moves import shift_or_swap
from shoal.kernels.neighbours import neighbours

_NEAR = 10
_SWEEPS = 30


@kernel
def _sweep(a, near, k, open_, tiny):
    """Try every record that is still open; return how many moved."""
    moved = 0
    for i in range(a.x.shape[0]):
        if not open_[i]:
            continue
        open_[i] = False
        for h in range(near.shape[1]):
            home, b = a.label[i], a.label[near[i, h]]
            if b == home or (h > 0 and b == a.label[near[i, h - 1]]):
                continue
            if shift_or_swap(a, i, b, k, -tiny) == np.inf:
                continue
            moved += 1
            for c in (home, b):
                for q in range(a.size[c]):
                    open_[a.member[c, q]] = True
    return moved


def swept(x: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Lower the SSE of a partition until no shift or exchange with a neighbouring class does.

    Guarantee: classes of at least k records, and at most 2k−1 or as many as the largest had. The SSE does not rise.
    """
    announce(_sweep)
    near = neighbours(x, _NEAR)
    a = arrange(padded(x), labels, k)
    tiny = 1e-12 * float(a.own.mean())
    open_ = np.ones(len(x), dtype=np.bool_)
    for _ in range(_SWEEPS):
        if not _sweep(a, near, k, open_, tiny):
            break
    return numbered(a.label)
