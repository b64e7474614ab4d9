"""[DSS08] Tables 1 to 3: means over seeds beside what is printed, within the tolerances of dss08.toml."""

from __future__ import annotations

from pathlib import Path

import dss08
import pytest


def test_every_printed_loss_is_there() -> None:
    assert [sum(cell.table == table for cell in dss08.CELLS) for table in (1, 2, 3)] == [7, 9, 9]


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(
            cell, id=cell.name, marks=pytest.mark.xfail(strict=True, reason=cell.why) if cell.why is not None else ()
        )
        for cell in dss08.CELLS
    ],
)
def test_printed_loss(reference_data: Path, cell: dss08.Cell) -> None:
    assert dss08.comes_out(cell, reference_data)
