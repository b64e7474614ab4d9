"""The attack by someone who knows the algorithm: it finds what methods give away, and nothing where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal.attack._propagation import Classes, Matching, proven, remaining_orders
from shoal.attack._worlds import link_probabilities, number_of_worlds, right_guesses, worlds


def people(n: int, seed: int = 1, ties: bool = False) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    pay = np.argsort(np.argsort(x[:, 0] + rng.normal(size=n)))
    return pa.table({"age": x[:, 0], "place": x[:, 1], "pay": pay // 3 if ties else pay})


def attempt(table: pa.Table, method: str, k: int, **more: Any) -> Any:
    recipe = {"quasi": ["age", "place"], "confidential": ["pay"], "k": k, "method": method, "row_order": "keep", **more}
    done = shoal.protect(table, recipe)
    return shoal.attack(table, done.data, recipe=recipe, only=["algorithm"])["algorithm"]


def test_every_assignment_is_replayed_where_there_are_few() -> None:
    found = attempt(people(12), "steered", 2, t=0.25)
    assert "exact" in found.sentence
    assert found.baseline == 6.0  # of so few records even all would not be 4 deviations more
    assert found.learnt >= 8


@pytest.mark.parametrize("method", ["mdav", "t_close_merge"])
def test_nothing_is_learnt_of_a_small_table_with_exchangeable_classes(method: str) -> None:
    found = attempt(people(12), method, 2, **({"t": 0.4} if method != "mdav" else {}))
    assert found.verdict == "withstood"
    assert found.learnt <= found.baseline


@pytest.mark.parametrize("method", ["mdav", "tour", "t_close_merge", "t_close_anneal"])
def test_nothing_is_learnt_of_a_larger_table_with_exchangeable_classes(method: str) -> None:
    more = {"t": 0.3} if method.startswith("t_") else {}
    found = attempt(
        people(60), method, 3, **more, **({"set": {"effort": "fast"}} if method == "t_close_anneal" else {})
    )
    assert found.verdict == "withstood"
    assert found.learnt == round(found.baseline)
    assert found.baseline <= 20 + 1e-9


def test_classes_with_equal_released_values_are_told_apart_by_the_method() -> None:
    few = people(60)
    few = few.set_column(0, "age", pa.array(np.repeat([20, 30, 40], 20))).set_column(1, "place", pa.array([1] * 60))
    found = attempt(few, "mdav", 5)
    assert (found.verdict, found.learnt) == ("withstood", 12), found.sentence


@pytest.mark.parametrize("ties", [False, True])
def test_links_of_steered_are_proven(ties: bool) -> None:
    found = attempt(people(120, ties=ties), "steered", 4, t=0.2)
    assert found.verdict == "succeeded"
    assert "proven by propagation" in found.sentence
    assert found.learnt > 60


def test_a_few_known_links_of_t_first_prove_many() -> None:
    found = attempt(people(120), "t_first", 4, t=0.2)
    assert found.verdict == "withstood"
    assert "Someone who knows 1 of these links beforehand proves" in found.sentence


def test_a_chain_is_walked_where_classes_change() -> None:
    found = attempt(people(60), "k_first", 3, t=0.2)
    assert found.verdict == "succeeded"
    assert "chain" in found.sentence
    assert found.records <= 30


@pytest.mark.parametrize(("attacker", "verdict"), [("algorithm", "withstood"), ("table", "succeeded")])
def test_auto_withstands_the_attacker_that_it_is_asked_to(attacker: str, verdict: str) -> None:
    found = attempt(people(60), "auto", 3, t=0.25, attacker=attacker, set={"effort": "fast"})
    assert found.verdict == verdict
    assert ("whoever knows all links outside an atom" in found.sentence) is (attacker == "algorithm")


def test_the_baseline_is_the_share_of_the_class() -> None:
    recipe = {"quasi": ["age", "place"], "confidential": ["pay"], "k": 3, "row_order": "keep", "t": 0.25}
    recipe |= {"method": "t_close_anneal", "set": {"effort": "fast"}}
    table = people(60)
    done = shoal.protect(table, recipe)
    found = shoal.attack(table, done.data, recipe=recipe, only=["algorithm"])["algorithm"]
    assert found.baseline == pytest.approx(len(done.partition))
    assert found.verdict == "withstood"
    assert found.learnt == round(found.baseline)


def test_it_is_not_run_without_what_it_needs() -> None:
    table = people(12)
    recipe = {"quasi": ["age", "place"], "confidential": ["pay"], "k": 2, "method": "mdav", "row_order": "keep"}
    done = shoal.protect(table, recipe)
    other = shoal.attack(table, done.data, recipe={**recipe, "k": 3}, only=["algorithm"])["algorithm"]
    assert (other.verdict, other.learnt) == ("not_run", 0)
    assert "does not form the classes" in other.sentence
    none = shoal.attack(table, done.data, recipe={**recipe, "confidential": []}, only=["algorithm"])["algorithm"]
    assert none.verdict == "not_run"


def test_it_is_not_run_on_a_table_that_the_recipe_refuses() -> None:
    table = people(4)
    found = shoal.attack(table, table, quasi=["age", "place"], confidential=["pay"])  # by default k is 5
    assert len(found) > 1
    assert found["algorithm"].verdict == "not_run"
    assert "k must be at most the number of records" in found["algorithm"].sentence


def test_the_true_world_is_never_struck_out() -> None:
    for seed in range(6):
        table = people(40, seed)
        x, pay = np.column_stack((table["age"], table["place"])), table["pay"].to_numpy()
        order = np.lexsort(x.T[::-1])
        x, pay = x[order], pay[order]
        labels = shoal.microaggregate(x, 4, method="steered", confidential=pay, t=0.3).labels
        classes = Classes.of(labels, pay.astype(float))
        unit = (x - x.min(axis=0)) / np.ptp(x, axis=0)
        left = remaining_orders(classes, Matching.of(unit, classes, 4))
        for rows, domain in zip(classes.members, left, strict=True):
            assert (domain == rows[np.argsort(pay[rows])]).all(axis=1).any() or not len(domain)
        link = proven(classes, left)
        assert (link[link >= 0] == pay[link >= 0]).all()


def test_proven_links_are_those_of_all_consistent_worlds() -> None:
    x = np.column_stack((people(9, 3)["age"], people(9, 3)["place"]))
    x = x[np.lexsort(x.T[::-1])]
    pay = np.random.default_rng(4).permutation(9)
    labels = shoal.microaggregate(x, 3, method="steered", confidential=pay, t=0.3).labels

    def classes_of(world: np.ndarray) -> list[int]:
        found = shoal.microaggregate(x, 3, method="steered", confidential=world.copy(), t=0.3).labels
        return np.unique(found, return_index=True)[1][np.unique(found, return_inverse=True)[1]].tolist()

    before = classes_of(pay)
    exact = link_probabilities(labels, pay, lambda world: classes_of(world) == before)
    classes = Classes.of(labels, pay.astype(float))
    unit = (x - x.min(axis=0)) / np.ptp(x, axis=0)
    link = proven(classes, remaining_orders(classes, Matching.of(unit, classes, 3)))
    for row in np.flatnonzero(link >= 0):
        assert exact[row, row] == 1.0
    assert right_guesses(exact) >= (link >= 0).sum()


def test_worlds_are_all_and_different() -> None:
    labels, codes = np.array([0, 1, 0, 1, 0, 1, 1]), np.array([3, 1, 3, 0, 2, 1, 1])
    found = {tuple(world.tolist()) for world in worlds(labels, codes)}
    assert len(found) == number_of_worlds(labels, codes) == 3 * 4


CENSUS = {"quasi": ["TAXINC", "POTHVAL"], "confidential": ["FEDTAX"], "k": 5, "row_order": "keep"}


def of_census(folder: Path, **more: Any) -> Any:
    table = pyarrow.csv.read_csv(folder / "census.csv").select(["TAXINC", "POTHVAL", "FEDTAX"])
    recipe = {**CENSUS, **more}
    return shoal.attack(table, shoal.protect(table, recipe).data, recipe=recipe, only=["algorithm"])["algorithm"]


def test_a_thousand_links_of_steered_on_census(reference_data: Path) -> None:
    found = of_census(reference_data, method="steered", t=0.15)
    proven_ = int(found.sentence.split("(")[1].split(" proven")[0].replace(",", ""))
    assert 1_000 <= proven_ <= found.learnt <= 1_080
    assert of_census(reference_data, method="mdav").learnt == 216


@pytest.mark.parametrize("effort", ["fast", pytest.param("default", marks=pytest.mark.long)])
def test_no_link_of_t_close_anneal_on_census(reference_data: Path, effort: str) -> None:
    found = of_census(reference_data, method="t_close_anneal", t=0.15, set={"effort": effort})
    assert found.verdict == "withstood"
    assert found.learnt == round(found.baseline) <= 216
    assert "proven" not in found.sentence
    assert "none of 5 exchanges" in found.sentence
