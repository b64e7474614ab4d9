"""The page that weighs noise: curves by k, the two parts, the least marked, nothing fetched, nothing unescaped."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from shoal.flow.explore.noise import least_expected
from shoal.report.charts.curves import axis, bars, best_sized, curves, least_of_each, split_curve
from shoal.report.frontier import render
from shoal.types import Explored, Setting

ODD = '<b>&"x'


def setting(method: str, k: int, lost: float, noise: float, *, sized: bool = True) -> Setting:
    recipe = {"method": method, "k": k, "epsilon": 1.0}
    return Setting(recipe, 0.1, "ran", lost + noise, k=k, classes=9, keeps=sized, noise=noise, sized=sized)


def explored(*settings: Setting) -> Explored:
    best, reason, rule = least_expected(settings)
    told = ("What was looked at.",)
    return Explored(settings, best, reason, rule, "il_sse", "", 100, 100, 60.0, 2, "k = 3\n", "in.csv", told, 1.0,
                    "microaggregated")  # fmt: skip


SIZED = [setting("mdav", k, 0.5 * k, 900 / k**2) for k in (2, 5, 10, 20, 50, 100)]
FREE = setting("least_error", 5, 3.0, 1.5, sized=False)
BOTH = explored(*SIZED, setting("pcp", 5, 9.0, 200.0), setting("pcp", 50, 40.0, 5.0), FREE)
ONLY = explored(*SIZED)


def test_every_setting_is_a_point_that_says_its_parts() -> None:
    told = [t.text for t in ET.fromstring(str(curves(BOTH))).iter("title")][1:]
    assert sorted(told) == sorted(f"{s.name}: {s.figures[0]} %, of it {s.figures[2]} % by noise" for s in BOTH.settings)


def test_the_least_has_the_ring_and_the_least_k_a_dashed_one() -> None:
    def rings(found: Explored) -> list[tuple[str, float]]:
        svg = ET.fromstring(str(curves(found)))
        return [(c.get("class"), float(c.get("cy"))) for c in svg.iter("circle") if "ring" in c.get("class", "")]

    assert [style for style, _ in rings(ONLY)] == ["ring"]
    found = dict(rings(BOTH))
    assert set(found) == {"ring", "ring second"}
    assert found["ring"] > found["ring second"]  # lower on the page
    assert best_sized(BOTH) is min(BOTH.settings[:-1], key=lambda s: s.loss)


def test_curves_fall_and_rise_and_lie_within_the_drawing() -> None:
    for found in (BOTH, ONLY, explored(SIZED[0]), explored(FREE), explored(setting("mdav", 3, 0.0, 0.0))):
        svg = ET.fromstring(str(curves(found)))
        for line in svg.iter("polyline"):
            places = [tuple(map(float, place.split(","))) for place in line.get("points").split()]
            assert all(0 < x < 640 and 0 < y < 380 for x, y in places)
        ys = [float(c.get("cy")) for c in svg.iter("circle")]
        assert all(0 < y < 380 for y in ys)
    ys = [float(p.split(",")[1]) for p in next(ET.fromstring(str(curves(ONLY))).iter("polyline")).get("points").split()]
    at = ys.index(max(ys))
    assert 0 < at < len(ys) - 1
    assert ys[: at + 1] == sorted(ys[: at + 1])
    assert ys[at:] == sorted(ys[at:], reverse=True)


def test_parts_are_told_apart_without_colours() -> None:
    svg = ET.fromstring(str(split_curve(ONLY, ONLY.ways["mdav"])))
    assert {line.get("class") for line in svg.iter("polyline")} == {"part sum", "part microaggregation", "part noise"}
    assert {"noise", "microaggregation"} <= {t.text for t in svg.iter("text")}
    drawn = ET.fromstring(str(bars(BOTH)))
    assert len([p for p in drawn.iter("path") if p.get("class") == "hatch"]) == len(BOTH.ways)


def test_bars_have_the_proportion_of_the_parts() -> None:
    least = least_of_each(BOTH)
    assert least[0] is BOTH.recommended
    rects = list(ET.fromstring(str(bars(BOTH))).iter("rect"))
    for one, lost, noise in zip(least, rects[::2], rects[1::2], strict=True):
        share = float(noise.get("width")) / (float(noise.get("width")) + float(lost.get("width")))
        assert share == pytest.approx(one.noise / one.loss, abs=0.01)
    longest = max(float(r.get("x")) + float(r.get("width")) for r in rects)
    assert longest <= 640


@pytest.mark.parametrize(("low", "high"), [(2, 5), (2, 1000), (0.001, 1e6), (3, 3.1), (1e-6, 1e-5)])
def test_ticks_are_few_and_within(low: float, high: float) -> None:
    found = axis(low, high)
    assert len(found.ticks) <= 13
    assert all(low * (1 - 1e-9) <= tick <= high * (1 + 1e-9) for tick in found.ticks)
    assert found.place(low) == 0
    assert found.place(high) == pytest.approx(1)


def test_the_page_is_whole_and_fetches_nothing() -> None:
    page = render(BOTH)
    assert page.startswith("<!doctype html>")
    assert not re.search(r"(src|href|\burl)\s*[=(]|@import|https?://|<script", page)
    assert BOTH.recommended is not None
    for words in (BOTH.reason, "shoal protect in.csv", "k = 3\n", BOTH.rule, BOTH.meaning, "What was looked at."):
        assert words in page
    assert "not ε-differential privacy of the original records" in page
    assert page.count("<tr") == 1 + len(BOTH.settings)


def test_names_are_escaped_and_settings_that_did_not_run_are_told() -> None:
    failed = Setting({"method": "m", "k": 5, "epsilon": 1.0}, 0.0, "failed", note=ODD)
    late = Setting({"method": "late", "k": 7, "epsilon": 1.0}, 99.0)
    odd = replace(BOTH, source=ODD, toml=ODD, notes=(ODD,), reason=ODD, settings=(*BOTH.settings, failed, late))
    page = render(odd)
    assert ODD not in page
    assert "late, k = 7" in page


def test_what_is_infinite_is_a_dash() -> None:
    endless = replace(SIZED[0], loss=math.inf, noise=math.inf)
    page = render(explored(endless, *SIZED[1:]))
    assert "–" in page
    assert explored(endless).recommended is None
    assert "inf" not in render(explored(endless, *SIZED[1:])).replace("information", "")


def test_without_a_recommendation_there_is_no_recipe() -> None:
    page = render(replace(BOTH, recommended=None, reason="None."))
    assert "No setting to recommend" in page
    assert "shoal protect in.csv" not in page


def test_the_least_is_recommended_and_of_equals_the_lower_k() -> None:
    same = [setting("mdav", 9, 1.0, 1.0), setting("mdav", 4, 1.5, 0.5), setting("pcp", 4, 1.0, 1.0)]
    assert least_expected(same)[0] is same[1]
    assert least_expected(same, 3.0)[0] is same[1]
    best, reason, _ = least_expected(same, 1.9)
    assert best is None
    assert "at most 1.9 %. The least is 2.00 % (mdav, k = 4)" in reason


def test_what_is_weaker_than_the_recipe_is_grey_and_said_to_be() -> None:
    settings = [replace(one, meets=one.sized and one.asked[0] >= 50) for one in BOTH.settings]
    found = replace(explored(*settings), demands={"k": 50})
    svg = ET.fromstring(str(curves(found)))
    points = [g for g in svg.iter("g") if g.get("class", "").startswith("point")]
    assert len(points) == len(settings)
    grey = {g.find("title").text for g in points if g.get("class") == "point below"}
    assert len(grey) == sum(not one.meets for one in settings)
    assert all(said.endswith("; weaker than the recipe") for said in grey)
    assert found.recommended.asked[0] >= 50
    assert best_sized(found) is found.recommended
    assert {one.name for one in least_of_each(found)} == {"mdav, k = 50", "pcp, k = 50"}
    page = render(found)
    assert "Grey ones are weaker than the recipe, which demands k ≥ 50." in page
    assert page.count('<tr class="below">') == len(grey)
    nothing = replace(explored(*(replace(one, meets=False) for one in BOTH.settings)), demands={"k": 999})
    assert "No setting to recommend" in render(nothing)
