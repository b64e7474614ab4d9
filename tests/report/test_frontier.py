"""The page of a frontier: whole, without a network, every setting a point, nothing that people wrote unescaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from shoal.flow.explore.explore import on_frontier, recommended
from shoal.report.charts.charts import mark, rounds, scatter
from shoal.report.frontier import render
from shoal.types import Explored, Setting

ODD = '<b>&"x'


def explored(*pairs: tuple[float, float], methods: int = 2, t: float | None = None) -> Explored:
    made = [
        Setting({"method": f"m{at % methods}", "k": 3 + at, "t": t}, 0.1, "ran", loss, risk, keeps=True, classes=9)
        for at, (loss, risk) in enumerate(pairs)
    ]
    settings = on_frontier(made)
    best, reason, rule = recommended(settings)
    return Explored(settings, best, reason, rule, "il_sse", "dld", 100, 100, 60.0, 2, toml="k = 3\n", source="in.csv")


FEW = explored((1.0, 9.0), (2.0, 4.0), (5.0, 1.0), (6.0, 5.0), t=0.2)


def drawn(found: Explored) -> ET.Element:
    return ET.fromstring(scatter(found))


def test_every_setting_is_a_point_that_says_its_figures() -> None:
    svg = drawn(FEW)
    points = [g for g in svg.iter("g") if g.get("class", "").startswith("point")]
    told = {g.find("title").text for g in points}
    assert told == {f"{s.name}: loss {s.loss:.2f} %, risk {s.risk:.2f} %" for s in FEW.settings}
    assert [g.get("class") for g in points].count("point dim") == 1
    assert len([c for c in svg.iter("circle") if c.get("class") == "ring"]) == 1


def test_the_frontier_goes_down_to_the_right() -> None:
    places = drawn(FEW).find("polyline").get("points").split()
    xs, ys = zip(*(map(float, place.split(",")) for place in places), strict=True)
    assert len(xs) == 3
    assert list(xs) == sorted(xs)
    assert list(ys) == sorted(ys)  # down the page is less risk


@pytest.mark.parametrize(
    "pairs", [((0.0, 0.0),), ((1e-9, 100.0), (300.0, 0.0)), ((1.0, 1.0), (1.1, 1.2), (1.2, 1.1), (90.0, 0.01))]
)
def test_points_lie_within_the_drawing(pairs: tuple[tuple[float, float], ...]) -> None:
    svg = drawn(explored(*pairs, methods=1))
    for circle in svg.iter("circle"):
        assert 0 < float(circle.get("cx")) < 520
        assert 0 < float(circle.get("cy")) < 360


def test_axes_are_spread_where_points_would_crowd_and_say_so() -> None:
    assert "square roots" not in scatter(FEW)
    assert "square roots" in scatter(explored((1.0, 3.0), (1.1, 2.0), (1.2, 1.5), (90.0, 1.0)))


@pytest.mark.parametrize("largest", [1e-12, 0.3, 1.0, 7.2, 99.0, 100.0, 1e6])
def test_marks_reach_beyond_the_largest(largest: float) -> None:
    found = rounds(largest)
    assert found[0] == 0
    assert found[-2] < largest * 1.05
    assert found[-1] >= largest
    assert 4 <= len(found) <= 8


def test_methods_differ_in_colour_and_shape() -> None:
    assert len({re.sub(r"[\d.]+", "", mark(kind, 0, 0)) + mark(kind, 0, 0)[:25] for kind in range(12)}) == 12


def test_the_page_is_whole_and_fetches_nothing() -> None:
    page = render(FEW)
    assert page.startswith("<!doctype html>")
    assert not re.search(r"(src|href|\burl)\s*[=(]|@import|https?://|<script", page)
    for words in (FEW.reason, "shoal protect in.csv", "k = 3\n", FEW.rule, "distance linkage"):
        assert words in page
    assert page.count("<tr") == 1 + len(FEW.settings)


def test_names_are_escaped() -> None:
    odd = replace(FEW, source=ODD, toml=ODD, notes=(ODD,), reason=ODD)
    failed = Setting({"method": "m", "k": 5}, 0.0, "failed", note=ODD)
    page = render(replace(odd, settings=(*odd.settings, failed, Setting({"method": "late", "k": 7}, 99.0))))
    assert ODD not in page
    assert "&lt;b&gt;&amp;" in page
    assert "late, k = 7" in page


def test_without_a_recommendation_there_is_no_recipe() -> None:
    page = render(replace(FEW, recommended=None, reason="None."))
    assert "No setting to recommend" in page
    assert "shoal protect in.csv" not in page


def test_what_is_weaker_than_the_recipe_is_grey_and_said_to_be() -> None:
    settings = (replace(FEW.settings[0], meets=False, note="weaker than the recipe: k < 4"), *FEW.settings[1:])
    settings = on_frontier(settings)
    best, reason, rule = recommended(settings)
    found = replace(FEW, settings=settings, recommended=best, reason=reason, rule=rule, demands={"k": 4})
    svg = drawn(found)
    (grey,) = [g for g in svg.iter("g") if g.get("class") == "point below"]
    assert grey.find("title").text == "m0, k = 3, t = 0.2: loss 1.00 %, risk 9.00 %; weaker than the recipe: k < 4"
    assert len(svg.find("polyline").get("points").split()) == 2
    page = render(found)
    assert "Grey ones are weaker than the recipe, which demands k ≥ 4." in page
    assert len(re.findall(r'<tr class="below">.*weaker than the recipe: k &lt; 4', page)) == 1
    assert "Grey" not in render(FEW)
