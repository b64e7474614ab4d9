"""Two frontiers where requirements look at confidential values, and the price of the stronger promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.explore.explore import on_frontier, recommended
from shoal.types import Explored, Setting


def setting(attacker: str, loss: float, risk: float, k: int = 5, t: float | None = 0.2) -> Setting:
    recipe = {"method": "mdav", "k": k, "t": t, "quasi": ["a"]}
    return Setting(recipe, 1.0, state="ran", loss=loss, risk=risk, k=k, classes=9, keeps=True, attacker=attacker)


SOME = [setting("algorithm", 12.0, 2.0), setting("algorithm", 6.0, 4.0), setting("algorithm", 13.0, 3.0),
        setting("table", 5.0, 3.0), setting("table", 9.0, 1.5)]  # fmt: skip


@pytest.mark.parametrize(("attacker", "best"), [("algorithm", 1), ("table", 3)])
def test_each_attacker_has_a_frontier_and_the_recipe_s_is_recommended(attacker: str, best: int) -> None:
    found = on_frontier(SOME, attacker)
    assert [one.frontiers for one in found] == [("algorithm",), ("algorithm",), (), ("table",), ("table",)]
    assert [one.frontier for one in found] == [attacker in one.frontiers for one in found]
    assert recommended(found, attacker=attacker)[0] is found[best]


def test_the_price_compares_the_least_losses_at_the_same_k_and_t() -> None:
    others = [setting("algorithm", 3.0, 9.0, t=0.4), setting("table", 3.0, 8.0, t=0.4), setting("table", 1.0, 8.0, k=9)]
    settings = on_frontier([*SOME, *others], "algorithm")
    found = Explored(settings, settings[1], "", "", "il_sse", "dld", 60, 60, 1.0, 1, attacker="algorithm")
    assert found.price_in_words == (
        "The stronger promise, against someone who knows the algorithm, costs 20 % more loss at t = 0.2 (6.00 % "
        "instead of 5.00 %) and no loss at t = 0.4, with k = 5."
    )
    assert found.to_dict()["prices"][0] == {"k": 5, "t": 0.2, "algorithm": 6.0, "table": 5.0}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table({"age": rng.permutation(90), "rooms": rng.normal(size=90), "pay": rng.integers(0, 9, 90)})


BASE: dict[str, Any] = {"quasi": ["age", "rooms"], "confidential": ["pay"], "t": 0.3}


def test_a_run_draws_both_and_saves_the_recipe_s_own(table: pa.Table, tmp_path: Path) -> None:
    shoal.write_table(table, tmp_path / "in.csv")
    files = {"output": tmp_path / "f.html", "save_recipe": tmp_path / "best.toml"}
    found = shoal.explore(tmp_path / "in.csv", BASE, k=[3, 6], methods=["t_close_merge", "t_first"], **files)
    assert {one.recipe["method"]: one.attacker for one in found.settings} == {
        "t_close_merge": "algorithm",
        "t_first": "table",
    }
    assert (tmp_path / "best.toml").read_text().count('method = "t_close_merge"') == 1
    page = (tmp_path / "f.html").read_text()
    assert found.price_in_words in page
    assert all(f'<polyline class="frontier {name}"' in page for name in ("algorithm", "table"))
    assert "withstands someone who knows the algorithm" in page


def test_requirements_are_repaired_against_each_attacker(table: pa.Table) -> None:
    recipe = {**BASE, "t": None, "require": {"p": 3}}
    found = shoal.explore(table, recipe, k=[3], methods=["mdav", "p_sensitive"])
    assert [(one.method, one.attacker) for one in found.settings] == [
        ("mdav", "algorithm"), ("mdav (table)", "table"), ("p_sensitive", "table")]  # fmt: skip
    assert found.recommended is not None
    assert found.recommended.attacker == "algorithm"


def test_a_setting_that_only_the_table_withstands_is_not_recommended(table: pa.Table) -> None:
    found = shoal.explore(table, BASE, k=[3], methods=["t_first"])
    assert found.recommended is None
    assert found.reason.startswith("No setting that ran withstands someone who knows the algorithm. ")
    assert shoal.explore(table, {**BASE, "attacker": "table"}, k=[3], methods=["t_first"]).recommended is not None
