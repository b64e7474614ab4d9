"""[DS17] Section VI.C: the weights at which t-closeness is reached, through the whole product."""

from __future__ import annotations

from pathlib import Path

import ds17
import ds17_stream
import pytest


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case["name"], marks=pytest.mark.xfail(strict=True, reason=case["why"]) if "why" in case else ()
        )
        for case in ds17.CASES
    ],
)
def test_printed_weight(reference_data: Path, case: dict) -> None:
    assert ds17.reached(case, reference_data) == case["printed"]


@pytest.mark.parametrize("case", ds17.CASES, ids=lambda case: case["name"])
def test_our_weight_is_below_the_bound_and_the_figures_are_what_is_said(reference_data: Path, case: dict) -> None:
    X, C = ds17.table(case["data"], case["n"], reference_data)
    assert ds17.reached(case, reference_data) == case["ours"] <= ds17.bound(case, X.shape[1]) + 1
    above = ds17.steered(X, C, case["t"], ds17.bound(case, X.shape[1]) + 1)
    assert ds17.indicators(X, C, above).max_emd <= case["t"]
    assert 0.48 < ds17.indicators(X, C, ds17.steered(X, C, case["t"], 0)).max_emd < 0.51  # "around 0.5"


def test_to_the_letter_t_is_reached_at_no_weight() -> None:
    assert min(ds17.to_the_letter(1001, 5, weight).max_emd for weight in range(0, 410, 3)) > 0.1
    assert ds17.to_the_letter(1000, 5, 200).max_emd < 0.1


@pytest.mark.parametrize("what", ["largest", "average"])
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"weight {case['weight']}", marks=pytest.mark.xfail(strict=True, reason=case["why"]))
        for case in ds17_stream.CASES
    ],
)
def test_printed_displacement(reference_data: Path, case: dict, what: str) -> None:
    X, _ = ds17.table("mcd", 1080, reference_data)
    assert getattr(ds17_stream.moved(X, case["weight"]), what) == pytest.approx(case[f"printed_{what}"], abs=0.05)


@pytest.mark.parametrize("case", ds17_stream.CASES, ids=lambda case: f"weight {case['weight']}")
def test_our_displacement_is_what_is_said(reference_data: Path, case: dict) -> None:
    X, _ = ds17.table("mcd", 1080, reference_data)
    found = ds17_stream.moved(X, case["weight"])
    assert found.largest == case["largest"]
    assert found.average == pytest.approx(case["average"], abs=0.005)


def test_what_the_figure_shows(reference_data: Path) -> None:
    """Displacement falls and loss rises with the weight; with "keep" nothing moves."""
    X, _ = ds17.table("mcd", 1080, reference_data)
    found = [ds17_stream.moved(X, weight) for weight in (0.0, 0.01, 0.02, 0.05, 0.1, "keep")]
    assert [one.average for one in found] == sorted((one.average for one in found), reverse=True)
    assert found[0].mse < found[1].mse < found[2].mse < found[3].mse < found[4].mse
    assert found[-1][:2] == (0, 0)
