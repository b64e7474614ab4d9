"""Refining through the façade: the audit holds, no more is lost, and what cannot be refined is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.kernels.arithmetic.class_statistics import sse

RNG = np.random.default_rng(11)
N = 180
FRAME = pa.table(
    {
        "a": RNG.normal(size=N),
        "b": RNG.integers(0, 50, N),
        "c": RNG.exponential(size=N),
        "d": RNG.normal(size=N),
        "s": RNG.choice(["x", "y", "z"], N),
        "w": RNG.uniform(1, 5, N),
    }
)
RECIPE: dict[str, Any] = {"quasi": ["a", "b", "c", "d"], "k": 4}
TWO = {"blocks": [["a", "c"], ["b", "d"]]}


@pytest.mark.parametrize("method", ["mdav", "v_mdav", "tour", "blocks", "anneal"])
@pytest.mark.parametrize("more", [{}, {"strata": ["s"]}, TWO, {"strata": ["s"], **TWO}, {"weight": "w"}])
def test_the_audit_holds_and_no_more_is_lost(method: str, more: dict[str, Any]) -> None:
    recipe = {**RECIPE, **more, "method": method, **({"set": {"effort": "fast"}} if method == "anneal" else {})}
    plain, refined = shoal.protect(FRAME, recipe), shoal.protect(FRAME, {**recipe, "effort": "fast"})
    assert all(finding.holds for finding in refined.audit.findings if finding.required is not None)
    for before, after in zip(plain.partition.blocks, refined.partition.blocks, strict=True):
        assert before.attributes == after.attributes
        assert after.sizes.min() >= 4
        assert after.sizes.max() <= max(7, before.sizes.max())
    if "weight" not in more:  # means are weighted then, classes are not
        assert refined.readings["il_sse"] <= plain.readings["il_sse"] * (1 + 1e-12)
        if method == "mdav":
            assert refined.readings["il_sse"] < plain.readings["il_sse"]


def test_classes_do_not_cross_strata() -> None:
    done = shoal.protect(FRAME, {**RECIPE, "strata": ["s"], "effort": "fast"})
    pairs = set(zip(done.partition.labels.tolist(), FRAME["s"].to_pylist(), strict=True))
    assert len(pairs) == len(done.partition.blocks[0].sizes)


@pytest.mark.parametrize("method", ["individual_ranking", "optimal_univariate"])
def test_a_method_of_one_coordinate(method: str) -> None:
    quasi = ["a"] if method == "optimal_univariate" else ["a", "b"]
    recipe = {"quasi": quasi, "k": 4, "method": method}
    plain, refined = shoal.protect(FRAME, recipe), shoal.protect(FRAME, {**recipe, "effort": "fast"})
    assert refined.readings["il_sse"] == pytest.approx(plain.readings["il_sse"], rel=1e-9)  # the optimum already


def test_points() -> None:
    x = np.random.default_rng(0).normal(size=(90, 3))
    plain, refined = shoal.microaggregate(x, 5), shoal.microaggregate(x, 5, effort="fast", seed=2)
    assert sse(x, refined.labels) < sse(x, plain.labels)
    assert np.bincount(refined.labels).min() >= 5
    assert np.array_equal(refined.labels, shoal.microaggregate(x, 5, effort="fast", seed=2).labels)


def test_the_note_of_the_method_stays() -> None:
    x = np.random.default_rng(0).normal(size=(30, 1))
    assert shoal.microaggregate(x, 3, method="auto", effort="fast").note.startswith("auto chose optimal_univariate")


def test_what_promises_nothing_is_not_refined_nor_certified() -> None:
    recipe = {**RECIPE, "method": "mic1d"}
    with pytest.raises(shoal.ParameterError, match=r"Mic1d: effort cannot be used, .* Choose another method"):
        shoal.protect(FRAME, {**recipe, "effort": "fast"})
    with pytest.raises(shoal.ParameterError, match=r"Mic1d: nothing can be certified, .* Leave out --certify"):
        shoal.protect(FRAME, recipe, certify=True)
    with pytest.raises(shoal.ParameterError, match="Mic1d: effort cannot be used"):
        shoal.microaggregate(np.random.default_rng(0).normal(size=(20, 2)), 3, method="mic1d", effort="fast")


@pytest.mark.parametrize("effort", ["most", "", "Fast", "fats"])
def test_an_effort_there_is_not(effort: str) -> None:
    with pytest.raises(shoal.ParameterError, match=r"effort.*fast.*default.*best|effort.*best.*default.*fast") as found:
        shoal.protect(FRAME, {**RECIPE, "effort": effort})
    assert str(found.value).startswith("Recipe")
    with pytest.raises(shoal.ParameterError, match=r"microaggregate.*effort"):
        shoal.microaggregate(np.zeros((9, 2)), 3, effort=effort)


def test_the_command(tmp_path: Path, run: Callable) -> None:
    shoal.write_table(FRAME, tmp_path / "in.csv")
    arguments = ["protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--quasi", "a,b,c,d", "--k", 4, "--force"]
    plain = json.loads(run(*arguments, "--method", "mdav", "--json").out)
    refined = json.loads(run(*arguments, "--effort", "fast", "--save-recipe", tmp_path / "r.toml", "--json").out)
    assert plain["fingerprint"] != refined["fingerprint"]
    assert refined["recipe"]["effort"] == "fast"
    assert refined["readings"]["il_sse"] < plain["readings"]["il_sse"]
    assert refined["audit"]["k"] >= 4
    first = (tmp_path / "out.csv").read_bytes()
    again = run("protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--recipe", tmp_path / "r.toml", "--force")
    assert again.code == 0
    assert (tmp_path / "out.csv").read_bytes() == first


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--effort", "most"], "effort"),
        (["--effort", "fast", "--method", "mic1d"], "effort cannot be used"),
        (["--certify", "--method", "mic1d"], "nothing can be certified"),
    ],
)
def test_the_command_refuses(tmp_path: Path, run: Callable, more: list[str], words: str) -> None:
    shoal.write_table(FRAME, tmp_path / "in.csv")
    ran = run("protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--quasi", "a,b", "--k", 4, *more)
    assert ran.code != 0
    assert words in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out.csv").exists()
