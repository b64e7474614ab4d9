"""[SC15] Table 1: Algorithm 1 after MDAV. It does not come out; how much of it does is counted, with no tolerance."""

from __future__ import annotations

from pathlib import Path

import pytest
import sc15

CELLS = list(sc15.cells(1))
SOME = [cell for cell in CELLS if cell.k in (2, 10, 30) and cell.t in (0.09, 0.17)]  # of 64, all for the same reason


@pytest.mark.parametrize("number", sc15.TABLES)
def test_as_much_comes_out_as_is_said(reference_data: Path, number: int) -> None:
    smallest, average, _ = sc15.come_out(number, reference_data)
    assert len(list(sc15.cells(number))) == 98
    assert {"smallest": smallest, "average": average} == sc15.TABLES[number]["comes_out"]


def test_one_class_where_t_is_smallest(reference_data: Path) -> None:
    """The column of t = 0.01 comes out: all records are one class."""
    column = [cell for cell in CELLS if cell.t == 0.01]
    assert len(column) == 14
    assert all(sc15.ours(cell, reference_data).pair == (1080, 1080) for cell in column)


@pytest.mark.xfail(strict=True, reason=sc15.TABLES[1]["why"])
@pytest.mark.parametrize("cell", SOME, ids=lambda cell: f"{cell.data} k={cell.k} t={cell.t}")
def test_smallest_and_average_class(reference_data: Path, cell: sc15.Cell) -> None:
    assert sc15.ours(cell, reference_data).pair == (cell.smallest, cell.average)
