"""Screenshots of a report for the documentation: ``python docs/screenshots.py R.html [FOLDER]``.

``R.html`` is the report of the survey of ``shoal demo``. It needs playwright and Debian's chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images"
#: Each picture: its name, the element it begins with, and how many pixels it is high.
PICTURES = (("report_verdict", "header", 1180), ("report_attributes", "#attributes", 685))
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def main() -> None:
    """Take all pictures in light and in dark."""
    report = Path(sys.argv[1]).resolve()
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else IMAGES
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for scheme in ("light", "dark"):
            page = browser.new_context(viewport={"width": 1020, "height": 900}, color_scheme=scheme).new_page()
            page.goto(report.as_uri())
            for name, element, height in PICTURES:
                top = page.locator(element).bounding_box()["y"] - 24
                clip = {"x": 0, "y": max(top, 0), "width": 1020, "height": height}
                taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
                few = taken.convert("RGB").quantize(192, dither=Image.Dither.NONE)  # a third of the size
                few.save(folder / f"{name}-{scheme}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
