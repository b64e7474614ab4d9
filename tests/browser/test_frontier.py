"""The page of a frontier in a real browser: quiet, drawn, readable on a phone, in the dark and on paper."""

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
    base = {"quasi": ["birth", "income", "commute_minutes"], "identifier": ["person", "household"]}
    methods = ["mdav", "pcp", "individual_ranking"]
    seen = shoal.explore(shoal.survey(1000), base, k=[3, 5, 10, 25, 5000], methods=methods)
    return replace(seen, source="survey<b>.csv")


def test_quiet_drawn_and_on_its_own(found: shoal.Explored, visit: Callable[..., Any], screenshots: Path) -> None:
    seen = visit(render(found))
    assert (seen.complaints, seen.asked) == ([], [])
    assert seen.width() <= 1100
    assert seen.boxes("svg.scatter")[0]["height"] > 300
    points = seen.boxes("svg.scatter .point")
    assert len(points) == sum(setting.state == "ran" for setting in found.settings)
    assert all(5 < box["width"] < 30 and 5 < box["height"] < 30 for box in points)
    assert len(seen.boxes("svg.scatter .ring")) == 1
    seen.page.screenshot(path=screenshots / "frontier.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(found: shoal.Explored, scheme: str, visit: Callable[..., Any], screenshots: Path) -> None:
    seen = visit(render(found), width=400, scheme=scheme)
    assert seen.width() <= 400
    tall = seen.boxes("svg.scatter .tick")
    assert min(box["height"] for box in tall) >= 9
    seen.page.screenshot(path=screenshots / f"frontier-400-{scheme}.png", full_page=True)


def test_on_paper(found: shoal.Explored, visit: Callable[..., Any], screenshots: Path) -> None:
    page = visit(render(found)).page.pdf(path=screenshots / "frontier.pdf", prefer_css_page_size=True)
    assert page.startswith(b"%PDF")
    assert 1 <= page.count(b"/Type /Page\n") + page.count(b"/Type /Page ") <= 5
