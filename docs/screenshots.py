"""Screenshots of a report for the documentation: ``python docs/screenshots.py [FOLDER]``.

The verdict is that of the command in README.md, the attributes are those of the demo's recipe.
It needs playwright and Debian's chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import shoal

IMAGES = Path(__file__).parent / "images"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
ROLES = {
    "quasi": ["birth", "income", "commute_minutes"],
    "confidential": ["health"],
    "identifier": ["person", "household"],
    "k": 5,
}
#: Each picture: its name, what is protected how, the element it begins with, and how many pixels it is high.
PICTURES = (
    ("report_verdict", ("survey.csv", "safe.csv", ROLES), "header", 1080),
    ("report_attributes", ("survey.csv", "again.csv", "recipe.toml"), "#attributes", 685),
)


def main() -> None:
    """Take all pictures in light and in dark."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        demo = Path(made) / "demo"
        shoal.demo(demo)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for name, (source, output, recipe), element, height in PICTURES:
            report = demo / f"{name}.html"
            how = demo / recipe if isinstance(recipe, str) else recipe
            shoal.protect(demo / source, how, output=demo / output, report=report)
            for scheme in ("light", "dark"):
                page = browser.new_context(viewport={"width": 1020, "height": 900}, color_scheme=scheme).new_page()
                page.goto(report.as_uri())
                top = page.locator(element).bounding_box()["y"] - 24
                clip = {"x": 0, "y": max(top, 0), "width": 1020, "height": height}
                taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
                few = taken.convert("RGB").quantize(192, dither=Image.Dither.NONE)  # a third of the size
                few.save(folder / f"{name}-{scheme}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
