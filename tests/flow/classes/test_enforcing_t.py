"""t through the façade: any method is closed by merging, refined and audited; what cannot be done is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.progress import listening

RNG = np.random.default_rng(5)
N = 150
AGE = RNG.normal(50, 15, N)
FRAME = pa.table(
    {
        "age": AGE,
        "size": RNG.exponential(size=N),
        "pay": np.round(AGE * 100 + RNG.normal(0, 500, N)),
        "illness": RNG.choice(["flu", "cough", "break"], N),
        "grade": pa.array(RNG.integers(1, 4, N)),
        "s": np.repeat(["x", "y"], N // 2),
    }
)
RECIPE: dict[str, Any] = {"quasi": ["age", "size"], "k": 3, "t": 0.2, "attacker": "table"}
TREE = {"illness": {"lungs": ["flu", "cough"], "bones": ["break"]}}
CONFIDENTIAL: list[dict[str, Any]] = [
    {"confidential": ["pay"]},
    {"confidential": ["illness"]},
    {"confidential": ["illness"], "taxonomies": TREE},
    {"confidential": ["pay", "illness", "grade"]},
    {"confidential": ["pay", "illness"], "taxonomies": TREE},
]


def achieved(done: shoal.Protected) -> list[float]:
    findings = [f for f in done.audit.findings if f.model == "t_closeness"]
    assert all(f.holds and f.required == 0.2 for f in findings)
    return [f.achieved for f in findings]


@pytest.mark.parametrize("more", CONFIDENTIAL)
@pytest.mark.parametrize("method", ["mdav", "v_mdav", "tour", "t_close_merge", "k_first"])
def test_refinement_keeps_k_and_t_and_lowers_the_loss(method: str, more: dict[str, Any]) -> None:
    recipe = {**RECIPE, **more, "method": method}
    plain, refined = shoal.protect(FRAME, recipe), shoal.protect(FRAME, {**recipe, "effort": "fast"})
    for done in (plain, refined):
        assert max(achieved(done)) <= 0.2
        assert done.partition.sizes.min() >= 3
    assert refined.readings["il_sse"] <= plain.readings["il_sse"] * (1 + 1e-12)


@pytest.mark.parametrize("more", CONFIDENTIAL)
def test_without_a_method_auto_chooses_and_says_which(more: dict[str, Any]) -> None:
    done = shoal.protect(FRAME, {**RECIPE, **more, "effort": "fast"})
    ranked = all(name != "illness" or "taxonomies" in more for name in more["confidential"])
    taken = f"auto chose {'t_first' if ranked else 't_close_merge'}, refined with effort fast"
    assert done.recipe.method == "auto"
    assert done.partition.note.startswith(taken)
    assert max(achieved(done)) <= 0.2


@pytest.mark.parametrize("more", CONFIDENTIAL)
@pytest.mark.parametrize("method", ["mdav", "tour", "auto"])
def test_unions_of_atoms_are_close(method: str, more: dict[str, Any]) -> None:
    done = shoal.protect(FRAME, {**RECIPE, **more, "effort": "fast", "method": method, "attacker": "algorithm"})
    atoms, labels = done.partition.blocks[0].atoms, done.partition.labels
    assert max(achieved(done)) <= 0.2
    assert done.audit.attacker.knows == "algorithm"
    assert np.bincount(atoms).min() >= 3
    assert len(np.unique(atoms * len(labels) + labels)) == atoms.max() + 1  # no atom is split


def test_auto_loses_less_than_the_methods_of_the_papers() -> None:
    recipe = {**RECIPE, "confidential": ["pay"]}
    ours = shoal.protect(FRAME, {**recipe, "effort": "fast"}).readings["il_sse"]
    for method in ("t_close_merge", "k_first", "t_first", "steered"):
        assert ours < shoal.protect(FRAME, {**recipe, "method": method}).readings["il_sse"]


def test_auto_is_heard_before_it_begins() -> None:
    said = []

    class Listener:
        def stage(self, name: str) -> None:
            pass

        def report(self, done: int, total: int) -> None:
            pass

        def say(self, text: str) -> None:
            said.append(text)

    with listening(Listener()):
        shoal.protect(FRAME, {**RECIPE, "confidential": ["pay"], "effort": "fast"})
    assert any(text.startswith("auto chose t_first") for text in said)


def test_strata_are_compared_with_the_whole_table() -> None:
    recipe = {**RECIPE, "confidential": ["grade"], "strata": ["s"], "method": "mdav", "effort": "fast"}
    done = shoal.protect(FRAME, recipe)
    assert len(achieved(done)) == 2  # over the quasi-identifiers, and with the stratum
    pairs = set(zip(done.partition.labels.tolist(), FRAME["s"].to_pylist(), strict=True))
    assert len(pairs) == len(done.partition)


def test_strata_that_differ_too_much_are_refused_and_nothing_leaves() -> None:
    apart = FRAME.append_column("r", pa.array(np.where(np.asarray(FRAME["pay"]) > 5000, "rich", "poor")))
    with pytest.raises(shoal.DataError, match=r"t must be at least 0\.\d+, got 0\.2: a stratum of 'r' has no less"):
        shoal.protect(apart, {**RECIPE, "confidential": ["pay"], "strata": ["r"], "method": "mdav", "effort": "fast"})


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (
            {"blocks": [["age"], ["size"]], "method": "mdav"},
            "t and require are not possible where quasi-identifiers are",
        ),
        ({"method": "individual_ranking"}, "t and require are not possible where quasi-identifiers are"),
        ({"method": "mic1d"}, "t, require and subject cannot be used, because this method forms no classes"),
        ({"t": -0.1}, "t must be a number ≥ 0 and ≤ 1, got -0.1. Raise t"),
        ({"t": "half"}, "t must be a number ≥ 0 and ≤ 1, got 'half'"),
        ({"t": True}, "t must be a number ≥ 0 and ≤ 1, got True"),
        ({"confidential": []}, "t needs at least one confidential column"),
        ({"confidential": ["age"]}, "column 'age' is both quasi and confidential"),
        ({"t": None, "method": "t_first"}, "t must be given, got none"),
    ],
)
def test_what_cannot_be_is_one_sentence(recipe: dict[str, Any], message: str) -> None:
    with pytest.raises((shoal.ParameterError, shoal.SchemaError), match=message):
        shoal.protect(FRAME, {**RECIPE, "confidential": ["pay"], **recipe})


@pytest.mark.parametrize("method", ["auto", "t_first", "k_first", "t_close_merge", "steered"])
@pytest.mark.parametrize("effort", [None, "fast"])
def test_bare_points(method: str, effort: str | None) -> None:
    X, pay = np.column_stack([FRAME["age"], FRAME["size"]]), np.asarray(FRAME["pay"])
    part = shoal.microaggregate(X, 3, method=method, confidential=pay, t=0.25, effort=effort)
    table = pa.table({"class": part.labels, "pay": pay})
    assert shoal.audit(table, ["class"], ["pay"], require={"k": 3, "t": 0.25}).holds


def test_bare_points_without_what_is_needed() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(shoal.DataError, match="a confidential attribute must be given, got none"):
        shoal.microaggregate(X, 3, method="auto", t=0.2)
    with pytest.raises(shoal.ParameterError, match="Mdav: takes no confidential attribute, got one"):
        shoal.microaggregate(X, 3, confidential=X[:, 0])


def test_n_t_closeness_from_file_to_file(tmp_path: Path) -> None:
    ages = np.random.default_rng(2).integers(18, 90, 200)
    rows = "".join(f"{age},{age * 10 + i % 7}\n" for i, age in enumerate(ages))
    (tmp_path / "in.csv").write_text(f"age,pay\n{rows}")
    recipe = {"quasi": ["age"], "confidential": ["pay"], "k": 3, "t": 0.2, "n": 50, "exact_means": True}
    recipe["effort"] = "fast"
    done = shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe)
    assert "." in (tmp_path / "out.csv").read_text()  # means of integers, which are no integers
    asked = [f for f in done.audit.findings if f.model == "n_t_closeness"]
    assert [f.holds for f in asked] == [True]
    assert all(f.required is None for f in done.audit.findings if f.model == "t_closeness")
