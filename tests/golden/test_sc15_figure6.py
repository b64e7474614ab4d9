"""[SC15] Figure 6: the losses of `auto` on the page are those that it has by default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sc15
import sc15_figures

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "sc15.md"


def printed() -> dict[tuple[str, float], str]:
    """Return the column of `auto` on the page, by data and t."""
    found, data = {}, ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 9 and re.fullmatch(r"0\.\d\d", cells[1]):
            data = cells[0] or data
            found[data, float(cells[1])] = cells[5]
    return found


@pytest.mark.parametrize("data", sc15.CENSUS)
@pytest.mark.parametrize("t", [0.02, 0.13, 0.25])
def test_the_page_shows_the_loss_of_auto(reference_data: Path, data: str, t: float) -> None:
    found = sc15_figures.on_line(data, sc15_figures.OURS, sc15.K, t, reference_data)
    assert f"{1000 * found.loss:.3f}" == printed()[data, t]
