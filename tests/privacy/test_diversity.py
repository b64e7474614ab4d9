"""The audits that count values equal their definitions exactly, on thousands of small tables, and fail closed."""

from __future__ import annotations

import importlib.util
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.distinct_l_diversity import DistinctLDiversity
from shoal.privacy.entropy_l_diversity import EntropyLDiversity
from shoal.privacy.k_e import KE
from shoal.privacy.kpqr import Kpqr
from shoal.privacy.p_sensitivity import PSensitivity
from shoal.privacy.recursive_l_diversity import RecursiveLDiversity
from shoal.types import Finding

_spec = importlib.util.spec_from_file_location(
    "oracle_tables", Path(__file__).parents[1] / "oracles" / "confidential_tables.py"
)
assert _spec is not None
assert _spec.loader is not None
tables = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tables)
POOLS, diversity, kpqr = tables.POOLS, tables.diversity, tables.kpqr

#: Each row is three bytes: its class, and its values in two columns. Bytes shrink well, and are quickly drawn.
TABLES = st.binary(min_size=3, max_size=75)
TABLES_EACH = 1000  # of eleven kinds: more than 10,000 in all

L_ENTROPY = [1, 1.5, 2, 2.5, 3, 4, 1.8898815748423097]  # the last: exp(entropy) of (2, 1), rounded
LEVELS = [0.1, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 1]
RANGES = [0, 0.1, 0.2, 0.6, 1, 2, 2 / 3, 8e-16, 0.4, 1 / 24]


def rounded(want: Fraction) -> float:
    return float(want) if want < 2**1024 else math.inf


def close(found: Finding, want: Fraction, required: float | None) -> bool:
    """Whether what was achieved is what is wanted, rounded; what rounds to the limit but is not is on its side."""
    if required is not None and rounded(want) == required and want != Fraction(str(required)):
        side = 1 if want > Fraction(str(required)) else -1
        return found.achieved == math.nextafter(float(required), math.inf * side)
    return found.achieved == rounded(want)


def parts(data: bytes, kinds: tuple[str, str]) -> tuple[list[int], dict[str, list[int]], dict[str, Any]]:
    rows = [data[i : i + 3] for i in range(0, len(data) - 2, 3)]
    places = {"a": [row[1] for row in rows], "b": [row[2] for row in rows]}
    return [row[0] % 4 for row in rows], places, {"a": POOLS[kinds[0]], "b": POOLS[kinds[1]]}


def check_counts(found: dict[str, Finding], classes: list[list], asked: dict[str, float]) -> None:
    fewest = min(map(diversity["distinct"], classes))
    for model, level in (("p_sensitivity", "p"), ("distinct_l_diversity", "l")):
        assert (found[model].achieved, found[model].holds) == (fewest, fewest >= asked["p"])
        assert (found[model].level, found[model].worst[0][1]) == (level, fewest)
    entropy, l_asked = found["entropy_l_diversity"], asked["l_entropy"]
    assert entropy.holds == all(diversity["entropy_holds"](values, Fraction(str(l_asked))) for values in classes)
    least = min(map(diversity["effective"], classes))
    assert entropy.achieved == float(least) or (entropy.achieved < l_asked <= float(least) and not entropy.holds)
    recursive, c = found["recursive_l_diversity"], Fraction(str(asked["c"]))
    assert recursive.achieved == min(diversity["recursive"](values, c) for values in classes)
    assert recursive.holds == all(diversity["recursive_holds"](values, c, asked["p"]) for values in classes)
    share = max(map(diversity["share"], classes))
    assert close(found["alpha_k"], share, asked["alpha"])
    assert found["alpha_k"].holds == (share <= Fraction(str(asked["alpha"])))
    assert found["alpha_k"].worst[0][1] == float(share)


def check_kpqr(found: Finding, classes: list[list], pool: Any, asked: dict[str, float]) -> None:
    table = [value for values in classes for value in values]
    squared, has_place = tables.distance(pool, table)
    p, r, alone = kpqr["achieved"](classes, Fraction(str(asked["q"])), squared, has_place)
    assert close(found, r, asked["r"])
    assert found.holds == (p is None or (p >= asked["p"] and r >= Fraction(str(asked["r"]))))
    assert dict(found.found) == {"p": len(set(table)) if p is None else p, "r_rare": rounded(alone)}


@pytest.mark.parametrize("kind", POOLS)
@settings(max_examples=TABLES_EACH)
@given(data=TABLES, other=st.sampled_from(sorted(POOLS)), i=st.integers(0, 10**6))
def test_equal_to_the_definitions(kind: str, data: bytes, other: str, i: int) -> None:
    quasi, places, pools = parts(data, (kind, other))
    release = tables.release_of(quasi, {name: tables.arrow(pools[name], at) for name, at in places.items()}, pools)
    asked = {"p": 1 + i % 4, "l_entropy": L_ENTROPY[i % 7], "c": [0, 0.5, 1, 2, 2.5, 4][i % 6]}
    asked |= {"alpha": LEVELS[i % 7], "e": RANGES[i % 10], "q": LEVELS[i // 7 % 7], "r": [0, 0.5, 1, 1.5, 1 / 3][i % 5]}
    models = [
        PSensitivity(asked["p"]),
        DistinctLDiversity(asked["p"]),
        EntropyLDiversity(asked["l_entropy"]),
        RecursiveLDiversity(asked["c"], asked["p"]),
        AlphaK(asked["alpha"]),
        Kpqr(asked["p"], asked["q"], asked["r"]),
    ]
    findings = [finding for model in models for finding in model.audit(release, ["q"], ["a", "b"])]
    for name, pool in pools.items():
        rows = [{"q": q, "c": value} for q, value in zip(quasi, tables.told(pool, places[name]), strict=True)]
        classes = diversity["classes"](rows, ["q"], "c")
        found = {finding.model: finding for finding in findings if finding.confidential == name}
        check_counts(found, classes, asked)
        check_kpqr(found["kpqr"], classes, pool, asked)
        ranges = KE().audit(release, ["q"], [name])
        if kind_has_numbers(pool):
            want = min(diversity["reach"]([tables.number(value) for value in values]) for values in classes)
            assert close(KE(asked["e"]).audit(release, ["q"], [name])[0], want, asked["e"])
            assert KE(asked["e"]).audit(release, ["q"], [name])[0].holds == (want >= Fraction(str(asked["e"])))
        assert len(ranges) == kind_has_numbers(pool)


def kind_has_numbers(pool: Any) -> bool:
    return pool.kind.value in ("continuous", "integer", "datetime")
