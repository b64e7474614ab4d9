"""What [SD17] says of Figures 3 and 4, each as something that our runs show or do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from sd17 import PAPER, SEEDS, SIZES, best_fixed, errors, variable

EPSILONS: tuple[float, ...] = tuple(PAPER["figures"])
LARGE = (100, 125, 150, 200, 250, 300)
IR = ("IR_MDAV+DP_1", "IR_MDAV+DP_2")


class Claim(NamedTuple):
    """A sentence of the paper, by its name in the TOML file, and how to check it."""

    name: str
    check: Callable[[Path], bool]


def _sse(line: str, epsilon: float, k: int, folder: Path) -> float:
    return errors(line, epsilon, k, folder).sse


def _below(one: str, other: str, sizes: tuple[int, ...], measure: str) -> Callable[[Path], bool]:
    """Whether one line is never above another by more than seeds explain: two standard errors of the difference."""

    def above(e: float, k: int, folder: Path) -> bool:
        a, b = errors(one, e, k, folder), errors(other, e, k, folder)
        spread = math.hypot(getattr(a, f"{measure}_spread"), getattr(b, f"{measure}_spread"))
        return bool(getattr(a, measure) - getattr(b, measure) > 2 * spread / math.sqrt(SEEDS))

    return lambda folder: not any(above(e, k, folder) for e in EPSILONS for k in sizes)


def _falls(sizes: tuple[int, ...]) -> Callable[[Path], bool]:
    def check(folder: Path) -> bool:
        lines = ("MDAV+DP", *IR)
        rows = [[_sse(line, e, k, folder) for k in sizes] for line in lines for e in EPSILONS]
        return all(row == sorted(row, reverse=True) for row in rows)

    return check


def _rises(folder: Path) -> bool:
    """But for steps back of a hundredth: MDAV is a heuristic."""
    rows = [[_sse(line, 1.0, k, folder) for k in SIZES] for line in ("MDAV", "IR_MDAV")]
    return all(later > 0.99 * earlier for row in rows for earlier, later in pairwise(row))


def _converges(folder: Path) -> bool:
    """Within a tenth of the loss without noise, at the largest k."""
    pairs = (("MDAV+DP", "MDAV"), *((line, "IR_MDAV") for line in IR))
    return all(
        _sse(line, e, 540, folder) < 1.1 * _sse(plain, e, 540, folder) for line, plain in pairs for e in EPSILONS
    )


def _faster(folder: Path) -> bool:
    return all(
        _sse(line, 2.0, k, folder) / _sse("IR_MDAV", 2.0, k, folder)
        < _sse(line, 1.0, k, folder) / _sse("IR_MDAV", 1.0, k, folder)
        for line in IR
        for k in SIZES
        if k <= 300
    )


def _as_insensitive(folder: Path) -> bool:
    """At the best k of each."""
    ours = min(_sse("IR_MDAV+DP_2", 1.0, k, folder) for k in SIZES)
    return ours <= min(_sse("INS+DP", 10.0, k, folder) for k in SIZES)


def _variable(folder: Path) -> bool:
    return all(variable(e, "least", folder)[0].sse < best_fixed(e, folder)[1].sse for e in PAPER["variable"])


CLAIMS = (
    Claim("plain rises", _rises),
    Claim("noise falls", _falls(SIZES)),
    Claim("noise falls, small k", _falls(tuple(k for k in SIZES if k <= 75))),
    Claim("converges", _converges),
    Claim("faster", _faster),
    Claim("ir_2 below mdav", _below("IR_MDAV+DP_2", "MDAV+DP", SIZES, "sse")),
    Claim("ir_1 below mdav", _below("IR_MDAV+DP_1", "MDAV+DP", SIZES, "sse")),
    Claim("ir_1 below mdav, large k", _below("IR_MDAV+DP_1", "MDAV+DP", LARGE, "sse")),
    Claim("ir_2 below ir_1", _below("IR_MDAV+DP_2", "IR_MDAV+DP_1", SIZES, "sse")),
    Claim("ir_2 below mdav, absolute", _below("IR_MDAV+DP_2", "MDAV+DP", SIZES, "sae")),
    Claim("ir_1 below mdav, absolute", _below("IR_MDAV+DP_1", "MDAV+DP", SIZES, "sae")),
    Claim("insensitive", _as_insensitive),
    Claim("variable sizes", _variable),
)
