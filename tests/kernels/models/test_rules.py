"""Rules: a class has no excess if and only if it holds the model by its definition."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError, SchemaError
from shoal.kernels.models.demands import demands, demands_of, excesses, hold, least_size, rows_of
from shoal.types import Confidential, Points, Requirement

TREE = np.array([6, 6, 7, 7, 8, -1, 8, 8, -1])  # ((0 1) (2 3) 4) and 5


def oracle(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "oracles" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"oracle_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


plain, emd = oracle("rules"), oracle("earth_mover")


def holds(model: str, inside: list[int], a: Confidential, levels: dict[str, float]) -> bool:
    more = {"emd": emd} if model == "t_closeness" else {}
    return bool(getattr(plain, model)(inside, a, **levels, **more))


def attribute(kind: str, codes: np.ndarray, rng: np.random.Generator, name: str = "c") -> Confidential:
    """Return an attribute with these codes: numbers with ties and gaps, ranks, categories, or leaves of a tree."""
    if kind == "tree":
        codes = codes % 6
        return Confidential(name, codes, np.bincount(codes, minlength=6), False, TREE)
    codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    counts = np.bincount(codes)
    if kind == "nominal":
        return Confidential(name, codes, counts, ordered=False)
    if kind == "ordinal":
        return Confidential(name, codes, counts)
    step = float(rng.choice([1.0, 0.1, 1e-3]))
    values = (np.cumsum(rng.integers(1, 4, len(counts))) - 3) * step + float(rng.choice([0.0, 1e6]))
    values = np.array([float(f"{value:.3f}") for value in values])
    if rng.random() < 0.5:
        values[-1] = np.nan  # missing values come last
    if rng.random() < 0.2:
        values[0] = np.nan
    return Confidential(name, codes, counts, values=values)


def levels_of(model: str, rng: np.random.Generator, a: Confidential) -> dict[str, float]:
    """Return levels that are often met exactly."""
    if model == "k_e":
        assert a.values is not None
        gaps = np.abs(np.subtract.outer(a.values, a.values))
        gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
        return {"e": float(f"{rng.choice(gaps):.3f}") if len(gaps) else 1.0}
    choices: dict[str, dict[str, list[float]]] = {
        "p_sensitivity": {"p": [1, 2, 3, 4]},
        "distinct_l_diversity": {"l": [1, 2, 3, 4]},
        "entropy_l_diversity": {"l": [1, 1.5, 2, 2.5, 3]},
        "recursive_l_diversity": {"c": [0.5, 1, 1.5, 2, 3.7], "l": [1, 2, 3]},
        "alpha_k": {"alpha": [0.25, 0.3, 0.5, 0.6, 1]},
        "beta_likeness": {"beta": [0, 0.25, 0.5, 1, 1.7, 3]},
        "t_closeness": {"t": [0.1, 0.2, 0.35]},
        "kpqr": {"p": [1, 2, 3], "q": [0.1, 0.2, 0.25, 1], "r": [0.0, 0.3, 0.5, 0.75, 1]},
    }
    return {name: rng.choice(some).item() for name, some in choices[model].items()}


MODELS = ["p_sensitivity", "distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity", "alpha_k", "k_e"]
MODELS += ["t_closeness", "kpqr", "beta_likeness"]


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=150)
@given(st.integers(0, 100_000))
def test_no_excess_if_and_only_if_the_definition_holds(model: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    kind = "numbers" if model == "k_e" else str(rng.choice(["numbers", "ordinal", "nominal", "tree"]))
    a = attribute(kind, rng.integers(0, rng.integers(2, 9), n), rng)
    labels = np.sort(rng.integers(0, 4, n))
    labels = np.unique(labels, return_inverse=True)[1]
    levels = levels_of(model, rng, a)
    d = demands([a], [Requirement(model, "c", tuple(levels.items()))])
    found = excesses(d, labels)
    wanted = [holds(model, a.codes[labels == b].tolist(), a, levels) for b in range(labels.max() + 1)]
    assert (found == 0.0).tolist() == wanted == hold(d, labels).tolist()
    assert (found >= 0.0).all()
    some = np.flatnonzero(labels < 2)
    assert hold(rows_of(d, some), labels[some]).tolist() == wanted[:2]


@pytest.mark.parametrize("model", [model for model in MODELS if model != "kpqr"])
@settings(max_examples=60)
@given(st.integers(0, 100_000))
def test_unions_of_classes_that_hold_hold(model: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = attribute("numbers", rng.integers(0, 6, 24), rng)
    d = demands([a], [Requirement(model, "c", tuple(levels_of(model, rng, a).items()))])
    assert d.monotone
    labels = np.repeat([0, 1], [12, 12])
    if hold(d, labels).all():
        assert hold(d, np.zeros(24, np.int64)).all()


def test_kpqr_may_fail_in_a_union() -> None:
    a = Confidential("c", np.array([0, 2, 1, 1, 1, 1]), np.array([1, 4, 1]))
    d = demands([a], [Requirement("kpqr", "c", (("p", 2), ("q", 0.2), ("r", 1.5)))])
    assert not d.monotone
    assert hold(d, np.array([0, 0, 1, 1, 1, 1])).all()
    assert not hold(d, np.zeros(6, np.int64)).all()


def test_nearer_to_holding_is_less_excess() -> None:
    codes = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 1, 1, 2, 0, 1, 2, 3, 4])
    a = Confidential("c", codes, np.bincount(codes), values=np.arange(5.0))
    for model, levels in (
        ("distinct_l_diversity", {"l": 5}),
        ("entropy_l_diversity", {"l": 4.5}),
        ("recursive_l_diversity", {"c": 2, "l": 4}),
        ("alpha_k", {"alpha": 0.2}),
        ("k_e", {"e": 4}),
        ("kpqr", {"p": 5, "q": 1, "r": 1}),
    ):
        found = excesses(demands([a], [Requirement(model, "c", tuple(levels.items()))]), np.repeat(np.arange(4), 5))
        assert found[0] > max(found[1:3]) >= min(found[1:3]) > found[3] == 0.0, model


def test_levels_are_taken_as_written() -> None:
    a = Confidential("c", np.array([0, 1, 2]), np.ones(3, np.int64), values=np.array([0.1, 0.3, 0.4]))
    for labels, e, wanted in (([0, 0, 0], 0.3, True), ([0, 0, 0], 0.30000000000000004, False), ([0, 0, 0], 0.2, True)):
        d = demands([a], [Requirement("k_e", "c", (("e", e),))])
        assert hold(d, np.array(labels)).tolist() == [wanted]
    thirds = demands([a], [Requirement("alpha_k", "c", (("alpha", 0.3333333333333333),))])
    assert not hold(thirds, np.zeros(3, np.int64)).any()


@pytest.mark.parametrize("c", [1.2345678901234, 12345678.901234, 1e7 + 1 / 3, 1e300])
def test_fine_and_large_levels_do_not_overflow(c: float) -> None:
    codes = np.repeat([0, 1, 2], [500_000, 400_000, 100_000])
    a = Confidential("c", codes, np.bincount(codes), ordered=False)
    d = demands([a], [Requirement("recursive_l_diversity", "c", (("c", c), ("l", 2)))])
    assert hold(d, np.zeros(10**6, np.int64)).all()
    far = demands([a], [Requirement("recursive_l_diversity", "c", (("c", c), ("l", 4)))])
    assert not hold(far, np.zeros(10**6, np.int64)).any()


def test_what_points_demand() -> None:
    x = np.zeros((6, 1))
    a = Confidential("c", np.array([0, 1, 0, 1, 0, 1]), np.array([3, 3]))
    assert demands_of(Points(x, confidential=(a,)), 2, None) is None
    subjects = demands_of(Points(x, confidential=(a,), subjects=np.array([7, 7, 7, 8, 8, 9])), 2, None)
    assert subjects is not None
    assert hold(subjects, np.array([0, 0, 0, 1, 1, 1])).tolist() == [False, True]
    both = demands_of(Points(x, confidential=(a,), subjects=np.array([7, 7, 7, 8, 8, 9])), 2, 0.2)
    assert both is not None
    assert hold(both, np.array([0, 0, 0, 1, 1, 1])).tolist() == [False, True]
    assert hold(both, np.array([0, 1, 0, 0, 1, 1])).tolist() == [True, True]
    required = (Requirement("alpha_k", "c", (("alpha", 0.5),)),)
    shares = demands_of(Points(x, confidential=(a,), required=required), 2, None)
    assert shares is not None
    assert hold(shares, np.array([0, 0, 1, 1, 1, 0])).tolist() == [False, False]


def test_the_least_size_follows_from_the_rules() -> None:
    a = Confidential("c", np.arange(10), np.ones(10, np.int64), values=np.arange(10.0))
    for model, levels, least in (
        ("p_sensitivity", {"p": 4}, 4),
        ("entropy_l_diversity", {"l": 3.5}, 4),
        ("alpha_k", {"alpha": 0.3}, 4),
        ("recursive_l_diversity", {"c": 0.5, "l": 2}, 4),
        ("k_e", {"e": 3}, 3),
    ):
        d = demands([a], [Requirement(model, "c", tuple(levels.items()))])
        assert (least_size(d, 3), least_size(d, 7)) == (least, 7), model


def test_what_cannot_be_demanded_is_refused_in_a_sentence() -> None:
    a = Confidential("c", np.arange(3), np.ones(3, np.int64))
    with pytest.raises(SchemaError, match="k_e: column 'c' must hold numbers or dates"):
        demands([a], [Requirement("k_e", "c", (("e", 3.0),))])
    with pytest.raises(ParameterError, match="n_t_closeness: no rule makes classes hold this model"):
        demands([a], [Requirement("n_t_closeness", "c", (("n", 3), ("t", 0.1)))])
    with pytest.raises(ParameterError, match="'b' is no confidential attribute"):
        demands([a], [Requirement("p_sensitivity", "b", (("p", 2),))])
    b = Confidential("b", np.arange(3), np.ones(3, np.int64))
    two = [Requirement("t_closeness", name, (("t", t),)) for name, t in (("c", 0.1), ("b", 0.2))]
    with pytest.raises(ParameterError, match="t must be the same for all attributes"):
        demands([a, b], two)
