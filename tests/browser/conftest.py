"""A real browser: Debian's chromium, without a network."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; without it tests are skipped, except in CI."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    refuse = pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip
    if chromium is None:
        refuse("chromium is not installed: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        refuse("playwright is not installed: pip install playwright")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures are kept, for people to look at."""
    folder = Path(__file__).parents[2] / ".cache" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Visit:
    """A page that was opened: what it complained about, and what it asked the network for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.route(re.compile("^(?!file:)"), self._refuse)
        page.on("request", lambda request: None if request.url.startswith("file:") else self.asked.append(request.url))

    def _refuse(self, route: Any) -> None:
        self.asked.append(route.request.url)
        route.abort()

    def width(self) -> int:
        """How wide the page is, with what one has to scroll to."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))

    def boxes(self, selector: str) -> list[dict[str, float]]:
        """Where some elements are drawn."""
        script = "found => found.map(one => { const b = one.getBoundingClientRect();"
        script += " return {width: b.width, height: b.height}; })"
        return list(self.page.eval_on_selector_all(selector, script))


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Open a page in a window of its own."""
    contexts = []

    def visit(html: str, *, width: int = 1100, scheme: str = "light") -> Visit:
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        visited = Visit(context.new_page())
        visited.page.goto(path.as_uri())
        return visited

    yield visit
    for context in contexts:
        context.close()
