"""The page that weighs noise in a real browser: quiet, drawn, readable on a phone, in the dark and on paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.report.frontier import render


@pytest.fixture(scope="module")
def found() -> shoal.Explored:
    bounds = {"income": [0, 500_000], "commute_minutes": [0, 240]}
    seen = shoal.explore(shoal.survey(1000), {"quasi": list(bounds)}, epsilon=1.0, bounds=bounds)
    return replace(seen, source="survey<b>.csv")


def test_quiet_drawn_and_on_its_own(found: shoal.Explored, visit: Callable[..., Any], screenshots: Path) -> None:
    seen = visit(render(found))
    assert (seen.complaints, seen.asked) == ([], [])
    assert seen.width() <= 1100
    charts = seen.boxes("svg.curves")
    assert len(charts) == 2
    assert all(box["height"] > 300 for box in charts)
    points = seen.boxes("svg.curves .point")
    assert len(points) == sum(setting.state == "ran" for setting in found.settings)
    assert len(seen.boxes("svg.parts .bar.noise")) == len(found.ways)
    seen.page.screenshot(path=screenshots / "noise.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(found: shoal.Explored, scheme: str, visit: Callable[..., Any], screenshots: Path) -> None:
    seen = visit(render(found), width=400, scheme=scheme)
    assert seen.width() <= 400
    for written in ("svg.curves .tick", "svg.parts .label"):
        assert min(box["height"] for box in seen.boxes(written)) >= 9
    seen.page.screenshot(path=screenshots / f"noise-400-{scheme}.png", full_page=True)


def test_on_paper(found: shoal.Explored, visit: Callable[..., Any], screenshots: Path) -> None:
    page = visit(render(found)).page.pdf(path=screenshots / "noise.pdf", prefer_css_page_size=True)
    assert page.startswith(b"%PDF")
    assert 1 <= page.count(b"/Type /Page\n") + page.count(b"/Type /Page ") <= 8
