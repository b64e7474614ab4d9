"""The frontier is what no other setting beats, and the recommendation is the best by a stated rule."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.flow.explore.explore import on_frontier, recommended
from shoal.types import Setting

frontier = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "frontier.py"))["frontier"]
PERCENT = st.integers(0, 6).map(lambda i: i / 2)  # few values: many ties
PAIRS = st.lists(st.tuples(PERCENT, PERCENT), min_size=1, max_size=12)


def settings_of(pairs: list[tuple[float, float]], keeps: bool = True) -> tuple[Setting, ...]:
    made = [
        Setting({"method": "mdav", "k": 3 + at % 4}, 0.1, "ran", loss, risk, keeps=keeps)
        for at, (loss, risk) in enumerate(pairs)
    ]
    return on_frontier(made)


@given(PAIRS)
def test_the_frontier_is_the_oracles(pairs: list[tuple[float, float]]) -> None:
    assert [setting.frontier for setting in settings_of(pairs)] == frontier(pairs)


@given(PAIRS)
def test_nobody_has_a_lower_mean_than_the_recommended(pairs: list[tuple[float, float]]) -> None:
    best, reason, _ = recommended(settings_of(pairs))
    assert best is not None
    assert best.frontier
    least = min(loss + risk for loss, risk in pairs)
    assert best.loss + best.risk == least
    assert best.asked[0] == min(3 + at % 4 for at, pair in enumerate(pairs) if sum(pair) == least)  # all such are on it
    assert best.name in reason


@given(PAIRS, PERCENT)
def test_a_limit_of_risk_gives_the_least_loss_below_it(pairs: list[tuple[float, float]], most: float) -> None:
    best, _, rule = recommended(settings_of(pairs), max_risk=most)
    below = [loss for loss, risk in pairs if risk <= most]
    assert (best is None) == (not below)
    assert best is None or (best.loss, best.risk <= most) == (min(below), True)
    assert f"risk of at most {most:g} %" in rule


@given(PAIRS, PERCENT)
def test_a_limit_of_loss_gives_the_least_risk_below_it(pairs: list[tuple[float, float]], most: float) -> None:
    best, _, _ = recommended(settings_of(pairs), max_loss=most)
    below = [risk for loss, risk in pairs if loss <= most]
    assert (best is None) == (not below)
    assert best is None or (best.risk, best.loss <= most) == (min(below), True)


def test_what_cannot_be_reached_is_said_with_what_can() -> None:
    best, reason, _ = recommended(settings_of([(1.0, 8.0), (4.0, 2.0)]), max_risk=1.0)
    assert best is None
    assert "risk of at most 1 %" in reason
    assert "2.00 %" in reason


@pytest.mark.parametrize("pair", [(math.nan, 1.0), (1.0, math.nan)])
def test_without_a_figure_nothing_is_compared(pair: tuple[float, float]) -> None:
    settings = settings_of([pair, (50.0, 50.0)])
    assert [setting.frontier for setting in settings] == [False, True]


def test_a_weaker_promise_is_never_recommended() -> None:
    best, reason, _ = recommended(settings_of([(1.0, 1.0)], keeps=False))
    assert best is None
    assert "promises k" in reason
