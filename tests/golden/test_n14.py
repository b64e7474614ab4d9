"""[N14] Tables 4 to 6 through the whole product: what comes out to the last digit, and what is known not to."""

from __future__ import annotations

from pathlib import Path

import n14
import n14_page
import pytest

CELLS = list(n14.cells())
PAGE = Path(__file__).parents[2] / "docs" / "papers" / "n14.md"


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(
            cell, id=cell.name, marks=() if cell.comes_out else pytest.mark.xfail(strict=True, reason=cell.reason)
        )
        for cell in CELLS
    ],
)
def test_printed_figure(reference_data: Path, cell: n14.Cell) -> None:
    assert n14.shown(n14.ours(cell, reference_data), cell.printed) == cell.printed


@pytest.mark.parametrize("blocks", ["correlated", "non-correlated"])
def test_both_readings_of_interval_disclosure(reference_data: Path, blocks: str) -> None:
    for method, rows in n14.PAPER["interval_disclosure"][blocks].items():
        for k, figures in rows.items():
            found = n14.interval_disclosure(blocks, method, int(k), reference_data)
            assert [f"{value:.2f}" for value in found] == figures, (method, k)


def test_what_must_come_out_is_on_the_list() -> None:
    listed = set(n14.PAPER["comes_out"])
    assert listed <= {cell.name for cell in CELLS}
    for blocks in ("correlated", "non-correlated"):
        assert {f"4 {blocks} mic1d {k} SSE" for k in (3000, 4000, 5000)} <= listed
        assert {f"4 {blocks} mic1d 5000 {sets}" for sets in ("1G", "3G")} <= listed
        assert {f"4 {blocks} mdav {k} 1G" for k in (5, 25, 50)} <= listed


def test_the_page_shows_what_comes_out(reference_data: Path) -> None:
    shown = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    tables = [row for row in shown if row.startswith(tuple(f"| {name} |" for name in n14_page.NAMES.values()))]
    assert tables == list(n14_page.printed_and_ours(reference_data))
    compared = [row for row in shown if row.startswith(("| Census |", "| Water |"))]
    assert compared == list(n14_page.compared(reference_data))
