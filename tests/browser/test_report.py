"""The report in a real browser: quiet, drawn, readable on a phone, in the dark and on paper."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.report.html import Html

EDITIONS = ("internal", "external")


@pytest.fixture(scope="module")
def survey(account_of: Callable[..., Any]) -> Any:
    return account_of(
        shoal.survey(),
        full=True,
        quasi=["birth", "marital", "education", "work", "rooms", "rent"],
        confidential=["health", "income"],
        identifier=["person", "household"],
        strata=["region"],
        weight="weight",
        orders={"education": ["primary", "secondary", "bachelor", "master"]},
    )


@pytest.fixture(scope="module")
def odd(account_of: Callable[..., Any]) -> Any:
    """Columns with names that break pages, and more than a heat map likes."""
    rng = np.random.default_rng(0)
    names = ["<script>alert(1)</script>", '"><img src="http://a.test/x">', "x" * 300, "עברית", "🐟", "a b " * 60]
    data = {name: rng.normal(size=200) for name in names} | {f"n{j}": rng.normal(size=200) for j in range(16)}
    data["category"] = rng.choice([*names], 200)
    return account_of(pa.table(data), quasi=list(data), k=4)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("which", ["survey", "odd"])
def test_quiet_drawn_and_on_its_own(
    which: str, edition: str, visit: Callable[..., Any], request: pytest.FixtureRequest, screenshots: Path
) -> None:
    seen = visit(Html(edition).render(request.getfixturevalue(which)))
    assert seen.complaints == []
    assert seen.asked == []
    assert seen.width() <= 1100
    kinds = ["histogram", "shares", "heat", *(["sizes"] if edition == "internal" else [])]
    if (which, edition) != ("odd", "external"):  # losses of fewer than 1,000 records are not published
        kinds.append("scale")
    for kind in kinds:
        boxes = seen.boxes(f"svg.{kind}")
        assert boxes, kind
        assert all(box["width"] > 50 and box["height"] > 8 for box in boxes), kind
    bars = seen.boxes("svg .bar")
    assert len(bars) > 10
    assert sum(box["width"] > 1 and box["height"] > 1 for box in bars) > len(bars) / 2
    seen.page.screenshot(path=screenshots / f"report-{which}-{edition}.png", full_page=True)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("which", ["survey", "odd"])
def test_no_scrolling_aside_on_a_phone(
    which: str, edition: str, visit: Callable[..., Any], request: pytest.FixtureRequest, screenshots: Path
) -> None:
    seen = visit(Html(edition).render(request.getfixturevalue(which)), width=400)
    assert seen.width() <= 400
    tables = seen.page.query_selector_all(".stacked")  # their rows become blocks, which no one has to scroll
    assert len(tables) >= 2
    heads = seen.page.eval_on_selector_all(".stacked td", "all => all.map(one => one.dataset.head)")
    assert all(heads)
    for table in tables:
        assert table.evaluate("one => one.scrollWidth <= one.parentElement.clientWidth")
    sizes = seen.page.eval_on_selector_all("p, td, th, dd, li", "all => all.map(one => getComputedStyle(one).fontSize)")
    assert min(float(size.removesuffix("px")) for size in sizes) >= 12
    seen.page.screenshot(path=screenshots / f"report-{which}-{edition}-400.png", full_page=True)


def test_dark_is_dark_and_can_be_read(survey: Any, visit: Callable[..., Any], screenshots: Path) -> None:
    for scheme in ("light", "dark"):
        seen = visit(Html().render(survey), scheme=scheme)
        behind, ink = (
            _brightness(seen.page.evaluate(f"getComputedStyle(document.body).{name}"))
            for name in ("backgroundColor", "color")
        )
        assert (behind < ink) is (scheme == "dark")
        assert (max(behind, ink) + 0.05) / (min(behind, ink) + 0.05) > 7
        faint = _brightness(seen.page.eval_on_selector("caption", "one => getComputedStyle(one).color"))
        paper = _brightness(seen.page.eval_on_selector(".card", "one => getComputedStyle(one).backgroundColor"))
        assert (max(paper, faint) + 0.05) / (min(paper, faint) + 0.05) > 4.5
        seen.page.screenshot(path=screenshots / f"report-survey-{scheme}.png", full_page=True)


def _brightness(colour: str) -> float:
    """The relative luminance of a colour, as in WCAG."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("edition", EDITIONS)
def test_prints(survey: Any, edition: str, visit: Callable[..., Any], screenshots: Path) -> None:
    from pypdf import PdfReader

    seen = visit(Html(edition).render(survey), scheme="dark")
    path = screenshots / f"report-survey-{edition}.pdf"
    seen.page.pdf(path=path, prefer_css_page_size=True, print_background=True)
    pages = PdfReader(io.BytesIO(path.read_bytes())).pages
    assert 3 <= len(pages) <= 15
    assert float(pages[0].mediabox.width) == pytest.approx(595, abs=2)  # A4
    words = " ".join(" ".join(page.extract_text().split()) for page in pages)
    assert "the audit found k = 5" in words
    assert "Several releases" in words
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
