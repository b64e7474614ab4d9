"""The audits that count values equal their definitions exactly, on thousands of small tables, and fail closed."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import SchemaError
from shoal.parameters import declarations
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.beta_likeness import BetaLikeness
from shoal.privacy.distinct_l_diversity import DistinctLDiversity
from shoal.privacy.entropy_l_diversity import EntropyLDiversity
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.k_e import KE
from shoal.privacy.kpqr import Kpqr
from shoal.privacy.p_sensitivity import PSensitivity
from shoal.privacy.recursive_l_diversity import RecursiveLDiversity
from shoal.registry import keys, load
from shoal.types import Column, Finding, Kind, Release, Role, Schema

_spec = importlib.util.spec_from_file_location(
    "oracle_tables", Path(__file__).parents[1] / "oracles" / "confidential_tables.py"
)
assert _spec is not None
assert _spec.loader is not None
tables = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tables)
POOLS, diversity, kpqr = tables.POOLS, tables.diversity, tables.kpqr

#: Each row is three bytes: its class, and its values in two columns. Bytes shrink well, and are quickly drawn.
TABLES = st.binary(min_size=3, max_size=45)
TABLES_EACH = 5 * settings.default.max_examples  # of twelve kinds: 1,500 in all, 12,000 in a long run

L_ENTROPY = [1, 1.5, 2, 2.5, 3, 4, 1.8898815748423097]  # the last: exp(entropy) of (2, 1), rounded
LEVELS = [0.1, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 1]
RANGES = [0, 0.1, 0.2, 0.6, 1, 2, 2 / 3, 8e-16, 0.4, 1 / 24]


def rounded(want: Fraction) -> float:
    return float(want) if want < 2**1024 else math.inf


@cache
def made(model: Any, *levels: float) -> Any:
    return model(*levels)


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
    check_gains(found["beta_likeness"], classes, asked["beta"])


def check_gains(found: Finding, classes: list[list], beta: float) -> None:
    table = [value for values in classes for value in values]
    gain = max(diversity["gain"](values, table) for values in classes)
    assert close(found, gain, beta)
    assert found.holds == (gain <= Fraction(str(beta)))
    assert found.worst[0][1] == pytest.approx(float(gain), abs=1e-12)
    beyond = sum(diversity["beyond_logarithm"](values, table) for values in classes)
    assert dict(found.found) == {"over_enhanced": beyond}


def meant(value: Any) -> Any:
    return tables.MEANT.get(value, value)


def check_kpqr(found: Finding, classes: list[list], pool: Any, asked: dict[str, float]) -> None:
    table = [value for values in classes for value in values]
    squared, has_place = tables.distance(pool, table)
    p, r, alone = kpqr["achieved"](classes, Fraction(str(asked["q"])), squared, has_place, meant)
    assert close(found, r, asked["r"])
    assert found.holds == (p is None or (p >= asked["p"] and r >= Fraction(str(asked["r"]))))
    assert dict(found.found) == {"p": len(set(map(meant, table))) if p is None else p, "r_rare": rounded(alone)}


@pytest.mark.parametrize("kind", POOLS)
@settings(max_examples=TABLES_EACH)
@given(data=TABLES, other=st.sampled_from(sorted(POOLS)), i=st.integers(0, 10**6))
def test_equal_to_the_definitions(kind: str, data: bytes, other: str, i: int) -> None:
    quasi, places, pools = parts(data, (kind, other))
    release = tables.release_of(quasi, {name: tables.arrow(pools[name], at) for name, at in places.items()}, pools)
    asked = {"p": 1 + i % 4, "l_entropy": L_ENTROPY[i % 7], "c": [0, 0.5, 1, 2, 2.5, 4][i % 6]}
    asked |= {"alpha": LEVELS[i % 7], "e": RANGES[i % 10], "q": LEVELS[i // 7 % 7], "r": [0, 0.5, 1, 1.5, 1 / 3][i % 5]}
    asked["beta"] = [0, 0.25, 0.5, 1, 2, 1 / 3][i // 5 % 6]
    models = [
        made(PSensitivity, asked["p"]),
        made(DistinctLDiversity, asked["p"]),
        made(EntropyLDiversity, asked["l_entropy"]),
        made(RecursiveLDiversity, asked["c"], asked["p"]),
        made(AlphaK, asked["alpha"]),
        made(BetaLikeness, asked["beta"]),
        made(Kpqr, asked["p"], asked["q"], asked["r"]),
    ]
    findings = [finding for model in models for finding in model.audit(release, ["q"], ["a", "b"])]
    for name, pool in pools.items():
        rows = [{"q": q, "c": value} for q, value in zip(quasi, tables.told(pool, places[name]), strict=True)]
        classes = diversity["classes"](rows, ["q"], "c")
        found = {finding.model: finding for finding in findings if finding.confidential == name}
        check_counts(found, [list(map(meant, values)) for values in classes], asked)
        check_kpqr(found["kpqr"], classes, pool, asked)
        if kind_has_numbers(pool):
            want = min(diversity["reach"]([tables.number(value) for value in values]) for values in classes)
            (ranges,) = made(KE, asked["e"]).audit(release, ["q"], [name])
            assert close(ranges, want, asked["e"])
            assert ranges.holds == (want >= Fraction(str(asked["e"])))


def kind_has_numbers(pool: Any) -> bool:
    return pool.kind.value in ("continuous", "integer", "datetime")


def everything(release: Release, names: list[str], quasi: tuple[str, ...] = ("q",)) -> list[Finding]:
    models = [load("privacy", key)() for key in keys("privacy") if getattr(load("privacy", key), "reported", False)]
    models.append(Kpqr(2, 0.3, 0.5))
    found = [m.audit(release, quasi, names) for m in models if getattr(m, "of_confidential", False)]
    return [KAnonymity().audit(release, quasi), *(finding for some in found for finding in some)]


@settings(max_examples=4 * settings.default.max_examples)
@given(data=TABLES, kind=st.sampled_from(sorted(POOLS)), other=st.sampled_from(sorted(POOLS)), seed=st.integers(0, 99))
def test_row_order_changes_nothing_but_the_numbers_of_classes(data: bytes, kind: str, other: str, seed: int) -> None:
    quasi, places, pools = parts(data, (kind, other))
    release = tables.release_of(quasi, {name: tables.arrow(pools[name], at) for name, at in places.items()}, pools)
    shuffled = replace(release, data=release.data.take(np.random.default_rng(seed).permutation(len(quasi))))
    both = [everything(r, ["a", "b"]) for r in (release, shuffled)]
    assert [f.to_dict() for f in both[0]] == [f.to_dict() for f in both[1]]
    assert [[level for _, level in f.worst] for f in both[0]] == [[level for _, level in f.worst] for f in both[1]]


@settings(max_examples=4 * settings.default.max_examples)
@given(data=TABLES, kind=st.sampled_from(sorted(POOLS)))
def test_over_no_columns_the_table_is_one_class(data: bytes, kind: str) -> None:
    quasi, places, pools = parts(data, (kind, kind))
    release = tables.release_of(quasi, {"a": tables.arrow(pools["a"], places["a"])}, pools)
    alone = replace(release, data=release.data.set_column(0, "q", pa.array([1] * len(quasi))))
    one, same = everything(release, ["a"], ()), everything(alone, ["a"])
    assert [(f.achieved, f.holds, f.classes, f.found) for f in one] == [
        (f.achieved, f.holds, f.classes, f.found) for f in same
    ]
    assert one[0].achieved == len(quasi)
    assert next(f for f in one if f.model == "t_closeness").achieved == 0
    subjects = replace(release, subjects=pa.chunked_array([quasi]))
    assert KAnonymity().audit(subjects, ()).achieved == len(set(quasi))


@settings(max_examples=4 * settings.default.max_examples)
@given(data=TABLES)
def test_subjects_change_k_and_nothing_else(data: bytes) -> None:
    quasi, places, pools = parts(data, ("few", "nominal"))
    release = tables.release_of(quasi, {name: tables.arrow(pools[name], at) for name, at in places.items()}, pools)
    people = replace(release, subjects=pa.chunked_array([[at % 5 for at in places["b"]]]))
    assert [f.to_dict() for f in everything(release, ["a", "b"])[1:]] == [
        f.to_dict() for f in everything(people, ["a", "b"])[1:]
    ]


#: Two classes of four, and levels that just hold.
EXACT = {"q": [1, 1, 1, 1, 2, 2, 2, 2], "c": [1, 2, 3, 4, 1, 2, 3, 4]}
HOLDING = [
    PSensitivity(4),
    DistinctLDiversity(4),
    EntropyLDiversity(4),
    RecursiveLDiversity(1.5, 4),
    AlphaK(0.25),
    KE(3),
    Kpqr(4, 0.5, 1),
]


@pytest.mark.parametrize("model", HOLDING, ids=lambda model: type(model).__name__)
def test_one_changed_cell_turns_an_exact_release_red(model: Any) -> None:
    schema = Schema((Column("q", Role.QUASI, Kind.INTEGER), Column("c", Role.CONFIDENTIAL, Kind.INTEGER)))
    assert model.audit(Release(pa.table(EXACT), schema), ["q"], ["c"])[0].holds
    for row in range(8):
        value = EXACT["c"][row]
        changed = dict(EXACT, c=[*EXACT["c"][:row], 3 if value in (1, 4) else 1, *EXACT["c"][row + 1 :]])
        (found,) = model.audit(Release(pa.table(changed), schema), ["q"], ["c"])
        spread = isinstance(model, KE) and value in (2, 3)  # the ends are still there
        assert found.holds is spread
        assert spread or found.worst[0][0] == (row > 3)
        if not spread:
            required, achieved = found.levels
            assert required != achieved


@pytest.mark.parametrize("model", HOLDING, ids=lambda model: type(model).__name__)
def test_a_missing_cell_and_a_lonely_record_count(model: Any) -> None:
    schema = Schema((Column("q", Role.QUASI, Kind.INTEGER), Column("c", Role.CONFIDENTIAL, Kind.INTEGER)))
    lonely = dict(EXACT, q=[1, 1, 1, 1, 2, 2, 2, None])
    assert not model.audit(Release(pa.table(lonely), schema), ["q"], ["c"])[0].holds
    missing = dict(EXACT, c=[1, 2, 3, None, 1, 2, None, None])
    assert not model.audit(Release(pa.table(missing), schema), ["q"], ["c"])[0].holds


def test_as_written() -> None:
    schema = Schema((Column("q", Role.QUASI, Kind.INTEGER), Column("c", Role.CONFIDENTIAL, Kind.CONTINUOUS)))
    release = Release(pa.table({"q": [1, 1, 1], "c": [0.1, 0.3, 0.1]}), schema)
    assert KE(0.2).audit(release, ["q"], ["c"])[0].holds  # in floats 0.3 − 0.1 is less
    assert not KE(math.nextafter(0.2, 1)).audit(release, ["q"], ["c"])[0].holds
    thirds = AlphaK(2 / 3).audit(release, ["q"], ["c"])[0]
    assert not thirds.holds  # 0.6666666666666666 is less than two thirds
    assert float(thirds.levels[1]) > float(thirds.levels[0])


def test_ranges_are_of_numbers_and_moments_only() -> None:
    pools = {name: POOLS[name] for name in ("nominal", "ordinal", "taxonomy", "date")}
    release = tables.release_of([1, 1, 2], {name: tables.arrow(pool, [0, 1, 2]) for name, pool in pools.items()}, pools)
    assert [f.confidential for f in KE().audit(release, ["q"], list(pools))] == ["date"]
    assert KE().audit(release, ["q"], ["date"])[0].note == "in days"
    for name in ("nominal", "ordinal", "taxonomy"):
        with pytest.raises(
            SchemaError, match=f"Column '{name}': k_e needs numbers, dates or times, but this column is"
        ):
            KE(1).audit(release, ["q"], [name])


def test_large_classes_and_many_classes_agree() -> None:
    rng = np.random.default_rng(0)
    schema = Schema((Column("q", Role.QUASI, Kind.INTEGER), Column("c", Role.CONFIDENTIAL, Kind.CONTINUOUS)))
    numbers = {"integers": rng.integers(0, 10**9, 30_000) * 1.0, "floats": rng.normal(size=40_000) * 1e-3 + 7}
    for values in numbers.values():
        release = Release(pa.table({"q": rng.integers(0, 3, len(values)), "c": values}), schema)
        (found,) = Kpqr(2, 0.5, 0.9).audit(release, ["q"], ["c"])
        q = release.data["q"].to_numpy()
        assert found.achieved == pytest.approx(min(values[q == i].var() for i in range(3)) / values.var(), rel=1e-9)
        assert KE(0).audit(release, ["q"], ["c"])[0].achieved == pytest.approx(
            min(np.ptp(values[q == i]) for i in range(3)), rel=1e-12
        )


def test_what_floats_cannot_tell_is_told_exactly() -> None:
    from shoal.privacy.counting.histograms import at_least, effective

    for counts in ((2, 1), (500, 499), (10**6, 1), (4, 1, 1, 1, 1), (3, 3, 2)):
        written = Fraction(str(effective(counts)))
        assert at_least(counts, written - Fraction(1, 10**38))
        assert not at_least(counts, written + Fraction(1, 10**38))
    assert at_least((4, 1, 1, 1, 1), Fraction(4))  # 8⁸ = 4⁸ · 4⁴
    assert at_least((10**6, 10**6), Fraction(2))
    assert not at_least((10**6, 10**6 - 1), Fraction(2))


def test_many_ranks_are_ranks() -> None:
    from shoal.privacy.counting.values import ranks_of

    rng = np.random.default_rng(1)
    near = 1 + rng.integers(0, 50, 5000) * 2.0**-52
    ends = [np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324]
    some = [rng.normal(size=5000), near, np.concatenate([rng.normal(size=50_000), near[:200], ends])]
    whole = [rng.integers(-(10**17), 10**17, 5000), rng.integers(0, 100, 5000), rng.integers(-128, 128, 500, np.int8)]
    for values in (*some, *whole, np.arange(3.0)):
        distinct, ranks = np.unique(values, return_inverse=True)
        assert np.array_equal(ranks_of(values)[0], ranks)
        assert np.array_equal(ranks_of(values)[1], distinct)


def test_every_model_says_whether_it_is_reported_and_how_it_is_written() -> None:
    reported = {key for key in keys("privacy") if load("privacy", key).reported}
    assert {"k_anonymity", "p_sensitivity", "alpha_k", "k_e", "t_closeness"} <= reported
    assert not reported & {"kpqr", "n_t_closeness"}
    for key in keys("privacy"):
        model = load("privacy", key)
        numbers = [d for d in declarations(model) if any(d.accepts(number) for number in (0.5, 1, 10))]
        assert len(model.example.split(":")) == len(numbers)
