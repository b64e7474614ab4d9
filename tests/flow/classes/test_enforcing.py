"""Every model through the façade: enforced after any method, kept by refinement, audited; the impossible is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.kernels.repair import repair as satisfying
from shoal.privacy.p_sensitivity import PSensitivity
from shoal.types import Finding

RNG = np.random.default_rng(11)
N = 160
AGE = RNG.normal(50, 15, N)
FRAME = pa.table(
    {
        "age": AGE,
        "size": RNG.exponential(size=N),
        "pay": np.round(AGE * 10 + RNG.normal(0, 50, N)),
        "illness": np.where(AGE > 55, RNG.choice(["flu", "cough", "rare"], N, p=[0.7, 0.25, 0.05]), "break"),
        "grade": pa.array(RNG.integers(1, 6, N)),
        "s": np.repeat(["x", "y"], N // 2),
        "person": [f"p{i // 3}" for i in range(N)],
    }
)
BASE: dict[str, Any] = {"quasi": ["age", "size"], "k": 4, "attacker": "table"}
ASKED: list[tuple[list[str], dict[str, Any]]] = [
    (["illness"], {"p": 2}),
    (["illness"], {"l_distinct": 3}),
    (["illness"], {"l_entropy": 2}),
    (["illness"], {"l_recursive": [3, 2]}),
    (["illness"], {"alpha": 0.6}),
    (["illness"], {"beta": 1.5}),
    (["pay"], {"e": 400}),
    (["grade"], {"kpqr": [3, 0.3, 0.5]}),
    (["illness"], {"kpqr": [2, 0.3, 0.5]}),
    (["pay", "illness"], {"e": {"pay": 300}, "l_entropy": {"illness": 1.8}, "p": 2}),
    (["illness", "grade"], {"l_entropy": 1.7, "alpha_k": 0.7, "k": 4}),
    (["grade"], {"t": 0.2, "l_distinct": 3}),
    (["grade", "illness"], {"t": {"grade": 0.2}, "p": 2}),
]
IDS = [",".join(asked) for _, asked in ASKED]


def required(done: shoal.Protected) -> list[Finding]:
    found = [f for f in done.audit.findings if f.required is not None]
    assert all(f.holds for f in found)
    return found


def models(asked: dict[str, Any]) -> int:
    return sum(len(level) if isinstance(level, dict) else 1 for level in asked.values())


@pytest.mark.parametrize(("confidential", "asked"), ASKED, ids=IDS)
@pytest.mark.parametrize("method", ["mdav", "tour", "auto"])
def test_what_is_required_holds_and_refinement_keeps_it(
    method: str, confidential: list[str], asked: dict[str, Any]
) -> None:
    settings = {"effort": "fast"} if method == "auto" else {}
    recipe = {**BASE, "confidential": confidential, "require": asked, "method": method, **settings}
    plain, refined = shoal.protect(FRAME, recipe), shoal.protect(FRAME, {**recipe, "effort": "fast"})
    for done in (plain, refined):
        assert done.partition.sizes.min() >= 4
        assert len(required(done)) > (1 if "k" not in asked else 0)
    assert refined.readings["il_sse"] <= plain.readings["il_sse"] * (1 + 1e-12)
    again = shoal.audit(refined.data, BASE["quasi"], confidential, require={**asked, "k": 4})
    assert again.holds


@pytest.mark.parametrize(("confidential", "asked"), ASKED, ids=IDS)
@pytest.mark.parametrize("more", [{}, {"effort": "fast"}, {"method": "auto", "effort": "fast"}])
def test_what_is_required_holds_for_unions_of_atoms(
    confidential: list[str], asked: dict[str, Any], more: dict[str, Any]
) -> None:
    recipe = {**BASE, "attacker": "algorithm", "method": "mdav", "confidential": confidential, "require": asked, **more}
    done = shoal.protect(FRAME, recipe)
    atoms, labels = done.partition.blocks[0].atoms, done.partition.labels
    assert len(required(done)) > (1 if "k" not in asked else 0)
    assert len(done.partition) > 3
    assert np.bincount(atoms).min() >= 4
    assert len(np.unique(atoms * len(labels) + labels)) == atoms.max() + 1  # no atom is split


@pytest.mark.parametrize(("confidential", "asked"), ASKED, ids=IDS)
def test_repair_loses_less_than_one_class(confidential: list[str], asked: dict[str, Any]) -> None:
    done = shoal.protect(FRAME, {**BASE, "confidential": confidential, "require": asked, "method": "mdav"})
    assert len(done.partition) > 3


def test_rows_in_another_order_hold_too() -> None:
    order = RNG.permutation(N)
    asked = {"l_entropy": 2, "alpha": 0.7}
    done = shoal.protect(FRAME.take(order), {**BASE, "confidential": ["illness"], "require": asked, "method": "mdav"})
    assert {f.model for f in required(done)} == {"k_anonymity", "entropy_l_diversity", "alpha_k"}


def test_strata_hold_it_too() -> None:
    recipe = {**BASE, "confidential": ["grade"], "require": {"l_distinct": 3}, "strata": ["s"], "method": "mdav"}
    found = [f for f in required(shoal.protect(FRAME, recipe)) if f.model == "distinct_l_diversity"]
    assert [f.attributes for f in found] == [("age", "size"), ("age", "size", "s")]


@pytest.mark.parametrize("method", ["mdav", "individual_ranking", "auto", "v_mdav"])
@pytest.mark.parametrize("refine", [None, "fast"])
def test_k_counts_subjects(method: str, refine: str | None) -> None:
    settings = {"effort": "fast"} if method == "auto" else {}
    recipe = {**BASE, "subject": "person", "method": method, "refine": refine, **settings}
    done = shoal.protect(FRAME, recipe)
    asked = [f for f in done.audit.findings if f.required is not None]
    assert asked
    assert all(f.achieved >= 4 and f.note == "counted in subjects" for f in asked)
    labels = [block.labels for block in done.partition.blocks]
    people = FRAME.column("person").to_pandas()
    for label in labels:
        assert pd.Series(people).groupby(label).nunique().min() >= 4


IMPOSSIBLE: list[tuple[list[str], dict[str, Any], str]] = [
    (["grade"], {"p": 6, "k": 7}, "p_sensitivity of column 'grade': p must be at most 5, got 6: the whole table"),
    (["grade"], {"l_distinct": 6}, "l must be at most 5, got 6"),
    (["illness"], {"l_entropy": 4}, "entropy_l_diversity of column 'illness': l must be at most "),
    (["illness"], {"l_recursive": [0.5, 3]}, "recursive_l_diversity of column 'illness': l "),
    (["illness"], {"alpha": 0.2}, "alpha_k of column 'illness': alpha must be at least 0."),
    (["pay"], {"e": 1e6}, "k_e of column 'pay': e must be at most "),
    (["grade"], {"kpqr": [6, 0.9, 0.1], "k": 7}, "kpqr of column 'grade': p must be at most 5"),
]


@pytest.mark.parametrize(("confidential", "asked", "words"), IMPOSSIBLE, ids=[",".join(a) for _, a, _ in IMPOSSIBLE])
def test_what_cannot_be_had_is_refused_with_what_can(
    confidential: list[str], asked: dict[str, Any], words: str
) -> None:
    with pytest.raises(shoal.DataError) as caught:
        shoal.protect(FRAME, {"quasi": ["age", "size"], "confidential": confidential, "require": asked})
    assert words in str(caught.value)


def test_the_largest_feasible_level_is_feasible() -> None:
    with pytest.raises(shoal.DataError) as caught:
        shoal.protect(FRAME, {**BASE, "confidential": ["illness"], "require": {"l_entropy": 4}})
    most = float(str(caught.value).split("at most ")[1].split(",")[0])
    done = shoal.protect(FRAME, {**BASE, "confidential": ["illness"], "require": {"l_entropy": most}})
    assert len(done.partition) == 1


def test_too_few_subjects_are_refused_at_once() -> None:
    with pytest.raises(shoal.DataError, match="k must be at most 54, got 60"):
        shoal.protect(FRAME, {"quasi": ["age"], "k": 60, "subject": "person"})


def test_what_strata_make_impossible_is_refused_at_once() -> None:
    frame = FRAME.append_column("only", pa.array(["a"] * (N // 2) + ["b"] * (N // 2)))
    with pytest.raises(shoal.DataError, match=r"p must be at most 1, got 2: a stratum of 's' has no more"):
        shoal.protect(frame, {**BASE, "confidential": ["only"], "require": {"p": 2}, "strata": ["s"]})


class TestSentences:
    @pytest.mark.parametrize(
        ("recipe", "words"),
        [
            ({"require": {"p": 2}}, "p_sensitivity needs at least one confidential column"),
            ({"confidential": ["grade"], "require": {"q": 2}}, "no model is called 'q'"),
            ({"confidential": ["grade"], "require": {"l_recursive": 2}}, "must be c:l, got 2"),
            ({"confidential": ["grade"], "require": {"p": {"pay": 2}}}, "required of 'pay', which is not confidential"),
            ({"confidential": ["grade"], "require": {"p": 5}}, "p must be at most k, got p = 5 and k = 4"),
            ({"confidential": ["grade"], "require": {"k": 6}}, "k is set to 4 and required at 6"),
            ({"confidential": ["grade"], "require": {"alpha": 1.5}}, "alpha must be a number"),
            ({"confidential": ["grade"], "require": {"stream_k": 5}}, "cannot be required of a table"),
            (
                {"confidential": ["grade"], "require": {"p": 2}, "method": "mic1d"},
                "t, require and subject cannot be used",
            ),
            (
                {"confidential": ["grade"], "require": {"p": 2}, "method": "individual_ranking"},
                "where quasi-identifiers are partitioned in blocks",
            ),
            ({"confidential": ["grade"], "method": "kpqr"}, "kpqr must be required once, at one level, got none"),
        ],
    )
    def test_of_a_recipe(self, recipe: dict[str, Any], words: str) -> None:
        with pytest.raises(shoal.ParameterError) as caught:
            shoal.protect(FRAME, {**BASE, **recipe})
        assert words in str(caught.value)

    def test_e_of_categories(self) -> None:
        with pytest.raises(shoal.SchemaError, match="illness"):
            shoal.protect(FRAME, {**BASE, "confidential": ["illness"], "require": {"e": 3}})


class TestTheGate:
    RECIPE: ClassVar[dict[str, Any]] = {**BASE, "confidential": ["illness"], "require": {"p": 2}, "method": "mdav"}

    def test_does_not_believe_the_repair(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(satisfying, "satisfy", lambda points, labels, k, demands: labels)
        with pytest.raises(shoal.GuaranteeError, match=r"p_sensitivity of illness .* requires 2 and achieves 1"):
            shoal.protect(FRAME, self.RECIPE)

    def test_fails_where_a_model_was_not_looked_at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(PSensitivity, "audit", lambda self, release, attributes, confidential: ())
        with pytest.raises(shoal.GuaranteeError, match="p_sensitivity of column 'illness' was required, but the audit"):
            shoal.protect(FRAME, self.RECIPE)


def test_recipes_keep_it(tmp_path: Path) -> None:
    asked = {"l_recursive": [2, 3], "e": {"pay": 9}, "t": 0.2, "k": 7}
    recipe = shoal.Recipe(quasi=["age"], confidential=["pay"], require=asked)
    assert (recipe.k, recipe.t, recipe.method) == (7, 0.2, "auto")
    assert recipe.require == {"l_recursive": [2, 3], "e": {"pay": 9}}
    assert shoal.Recipe.from_toml(recipe.to_toml()) == recipe
    assert shoal.Recipe(quasi=["age"], k=7, t=0.2, confidential=["pay"], require=asked) == recipe


class TestBarePoints:
    X = np.column_stack([AGE, FRAME.column("size").to_numpy()])
    GRADE = FRAME.column("grade").to_numpy()

    @pytest.mark.parametrize("method", ["mdav", "p_sensitive", "auto"])
    @pytest.mark.parametrize("effort", [None, "fast"])
    def test_what_is_required_holds(self, method: str, effort: str | None) -> None:
        more = {"p_sensitive": {"p": 2}}.get(method, {})
        part = shoal.microaggregate(
            self.X, 4, method, confidential=self.GRADE, effort=effort, require={"l_distinct": 3}, **more
        )
        values = pd.Series(self.GRADE).groupby(part.labels)
        assert values.nunique().min() >= 3
        assert values.size().min() >= 4

    def test_a_column_by_its_number(self) -> None:
        two = np.column_stack([self.GRADE, FRAME.column("pay").to_numpy()])
        part = shoal.microaggregate(self.X, 4, confidential=two, require={"e": {"1": 300}})
        pay = pd.Series(two[:, 1]).groupby(part.labels)
        assert (pay.max() - pay.min()).min() >= 300

    def test_nothing_confidential(self) -> None:
        with pytest.raises(shoal.ParameterError, match="needs at least one confidential"):
            shoal.microaggregate(self.X, 4, require={"p": 2})
