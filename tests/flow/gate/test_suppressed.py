"""The gate's check of suppressed records: whole people, no more than the share, and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.gate.suppressed import check_suppressed
from shoal.flow.protect import anonymise, row_order
from shoal.flow.stages.read import schema_for
from shoal.types import Table

N = 60
RNG = np.random.default_rng(1)
FRAME = pa.table({"pid": np.arange(N) // 2, "age": RNG.integers(0, 99, N), "pay": RNG.lognormal(8, 1, N).round(2)})
RECIPE: dict[str, Any] = {"quasi": ["age", "pay"], "k": 3, "suppress": 0.1, "effort": "fast", "row_order": "keep"}
Drops = Callable[[Table, shoal.Recipe], np.ndarray]


def first(count: int) -> Drops:
    return lambda table, recipe: np.arange(len(table)) < count


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(
    ("drops", "unit", "said"),
    [
        (first(6), {"identifier": ["pid"]}, ""),
        (first(7), {"identifier": ["pid"]}, "More was suppressed"),
        (first(6), {"subject": "pid"}, ""),
        (first(8), {"subject": "pid"}, "More was suppressed"),
        (first(5), {"subject": "pid"}, "in part"),
        (first(3), {"together": "pid"}, "in part"),
    ],
)
def test_a_release_that_lacks_more_than_allowed_is_refused(
    drops: Drops, unit: dict[str, Any], said: str, as_file: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(row_order, "suppressed", drops)
    output = tmp_path / "out.csv"
    if as_file:
        shoal.write_table(FRAME, tmp_path / "in.csv")

    def protect() -> Any:
        recipe = {**RECIPE, **unit}
        return shoal.protect(tmp_path / "in.csv", recipe, output=output) if as_file else shoal.protect(FRAME, recipe)

    if not said:
        assert protect().suppressed == 6
        return
    with pytest.raises(shoal.GuaranteeError, match=said):
        protect()
    assert not output.exists()


def check(rows: list[int], suppressed: int, held: list[int] | None = None, **more: Any) -> None:
    recipe = shoal.Recipe(**{**RECIPE, "identifier": ["pid"], **more})
    ages = pa.array([None, None, *FRAME.column("age").to_pylist()[2:]])
    data = FRAME.set_column(1, "age", ages)
    table = Table(data, schema_for(data, recipe, None))
    outside = None if held is None else np.array(held)
    check_suppressed(table, recipe, np.array(rows), suppressed, outside, written=len(rows))


def test_incomplete_and_held_out_records_do_not_count() -> None:
    every = list(range(N))
    check(every[2:], 0, when_missing="exclude")
    check(every[7:], 5, when_missing="exclude")  # 5 of 58
    check(every[2:50], 4, held=every[54:], when_missing="exclude")  # 4 of 52
    check(every[:54], 0, held=every[54:])
    wrong: list[tuple[list[int], int, list[int] | None, dict[str, Any]]] = [
        (every[2:], 0, None, {}),
        (every[8:], 6, None, {"when_missing": "exclude"}),
        (every[2:49], 5, every[54:], {"when_missing": "exclude", "suppress": 0.09}),
        (every[:55], 0, every[54:], {}),
        (every[1:], 0, None, {"when_missing": "exclude"}),
        (every[3:], 0, None, {"suppress": 0}),
        (every[3:], 2, None, {}),
    ]
    for rows, suppressed, held, more in wrong:
        with pytest.raises(shoal.GuaranteeError):
            check(rows, suppressed, held, **more)


def test_a_share_is_the_decimal_number_that_was_declared() -> None:
    data = pa.table({"pid": np.arange(100), "age": np.arange(100), "pay": np.arange(100.0)})
    for share in range(1, 50):
        recipe = shoal.Recipe(**{**RECIPE, "identifier": ["pid"], "suppress": share / 100})
        table = Table(data, schema_for(data, recipe, None))
        check_suppressed(table, recipe, np.arange(share, 100), share, written=100 - share)
        with pytest.raises(shoal.GuaranteeError):
            check_suppressed(table, recipe, np.arange(share + 1, 100), share + 1, written=99 - share)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_release_with_a_row_too_many_is_refused(suffix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    released = anonymise._released

    def with_another(made: Any, weights: Any) -> Any:
        found, left = released(made, weights)
        return replace(found, data=pa.concat_tables([found.data, found.data.slice(0, 1)])), left

    monkeypatch.setattr(anonymise, "_released", with_another)
    shoal.write_table(FRAME, tmp_path / f"in.{suffix}")
    with pytest.raises(shoal.GuaranteeError, match="more or fewer rows"):
        shoal.protect(tmp_path / f"in.{suffix}", {**RECIPE, "identifier": ["pid"]}, output=tmp_path / f"out.{suffix}")
    assert not (tmp_path / f"out.{suffix}").exists()
