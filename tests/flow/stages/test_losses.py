"""Losses in pieces: bit for bit those of the whole table side by side, which is built only on request."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shoal
from shoal.flow.protect import anonymise
from shoal.flow.stages.measure import measures, of_partition, read_measures
from shoal.kernels.arithmetic.sums import location_and_spread, orderless_total
from shoal.points import _pieces
from shoal.points.codes import _ranks
from shoal.points.encoding import Encoding
from shoal.points.numeric import Numeric
from shoal.privacy.counting import classes
from shoal.types import Column, Kind, Role

N = 240


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pieces, "_PIECE", 37)


def _table(*names: str) -> pa.Table:
    rng = np.random.default_rng(5)
    columns = {
        "pay": pa.array(np.round(rng.lognormal(7, 1, N), 2)),
        "age": pa.array(rng.integers(18, 90, N)),
        "small": pa.array(rng.normal(size=N).astype(np.float32)),
        "same": pa.array(np.full(N, 3.25)),
        "huge": pa.array(rng.normal(size=N) * 1e300),
        "lacking": pa.array(np.round(rng.normal(size=N), 1), mask=rng.random(N) < 0.1),
        "town": pa.array(rng.choice(["a", "b", "c"], N)),
        "born": pa.array([date(1950, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 20_000, N)]),
        "weight": pa.array(np.round(rng.uniform(1, 9, N), 1)),
        "value": pa.array(rng.integers(0, 99, N)),
    }
    return pa.table({name: columns[name] for name in (*names, "value")})


NUMBERS = ("pay", "age", "small")
CASES = [
    (NUMBERS, {}),
    (NUMBERS, {"exact_means": True}),
    (NUMBERS, {"set": {"scale": "range"}}),
    (NUMBERS, {"release": "medoid"}),
    (NUMBERS, {"attribute_weights": {"age": 4.0}}),
    (("pay", "same"), {}),
    (("huge", "age"), {}),
    (("pay", "lacking", "born"), {}),
    (("town", "pay", "age"), {}),
]


@pytest.mark.parametrize(("names", "fields"), CASES)
def test_losses_in_pieces_are_those_of_the_whole_table(names: tuple[str, ...], fields: dict) -> None:
    table = _table(*names)
    done = shoal.protect(table, quasi=list(names), confidential=["value"], k=4, **fields)
    whole = replace(done.comparison)  # without cached totals
    expected = (*read_measures(whole, measures(quick=True)).readings, *of_partition(whole))
    assert [one.name for one in done.readings.readings] == [one.name for one in expected]
    assert [one.value.hex() for one in done.readings.readings] == [one.value.hex() for one in expected]
    assert {"il_sse", "sse", "mse", "mae"} <= {one.name for one in expected}
    assert done.readings["sse"] > 0


def test_weighted_losses_in_pieces_are_those_of_the_whole_table() -> None:
    table = _table("pay", "age", "weight")
    done = shoal.protect(table, quasi=["pay", "age"], weight="weight", k=4)
    whole = replace(done.comparison)
    expected = (*read_measures(whole, measures(quick=True)).readings, *of_partition(whole))
    assert [one.value for one in done.readings.readings] == [one.value for one in expected]


def test_the_table_before_and_after_is_built_once_and_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, make = [], anonymise.compared
    monkeypatch.setattr(anonymise, "compared", lambda *args, **more: built.append(1) or make(*args, **more))
    shoal.write_table(_table(*NUMBERS), tmp_path / "in.parquet")
    done = shoal.protect(tmp_path / "in.parquet", quasi=list(NUMBERS), k=4, output=tmp_path / "out.parquet")
    assert not built
    assert len(done.comparison) == N
    assert done.comparison is done.comparison
    assert len(built) == 1


def test_a_frame_that_is_changed_later_does_not_change_its_comparison() -> None:
    frame = pd.DataFrame({"pay": np.random.default_rng(1).normal(size=N), "age": np.arange(N) % 50})
    done, expected = (shoal.protect(one, quasi=["pay", "age"], k=4, row_order="keep") for one in (frame, frame.copy()))
    values = frame["pay"].to_numpy()
    values.flags.writeable = True
    values[:] = 0.0
    assert np.array_equal(done.comparison.original, expected.comparison.original)
    assert done.comparison.numbers["pay"].before.any()


COLUMNS = [
    np.random.default_rng(1).normal(size=1000) * 10.0 ** np.random.default_rng(2).integers(-9, 9, 1000),
    np.random.default_rng(3).normal(size=500) * 1e300,
    np.random.default_rng(4).normal(size=500) * 5e-310,
    np.full(50, -7.1),
    np.zeros(40),
    np.array([1.5]),
]


@pytest.mark.parametrize("column", COLUMNS)
def test_totals_and_scales_in_pieces_are_those_of_the_column(column: np.ndarray) -> None:
    parts = [column[rows] for rows in _pieces.pieces(len(column))]
    assert _pieces.totals(lambda: [(part, abs(part)) for part in parts]) == [
        orderless_total(column),
        orderless_total(abs(column)),
    ]
    found = _pieces.standard(column)
    assert (found.location, found.spread, found.exponent) == location_and_spread(column)


@pytest.mark.parametrize("odd", [math.inf, math.nan])
def test_totals_of_values_that_are_not_finite(odd: float) -> None:
    column = np.append(np.ones(80), odd)
    (found,) = _pieces.totals(lambda: [(column[rows],) for rows in _pieces.pieces(len(column))])
    assert repr(found) == repr(orderless_total(column)) == repr(odd)


def test_numbers_are_encoded_as_other_attributes_are() -> None:
    table = _table("pay", "age", "same")
    attributes = [Numeric.encode(name, table.column(name)) for name in ("pay", "age", "same")]
    one, other = Encoding().encode(attributes), Encoding().encode(attributes, {"pay": 1.0})
    assert np.array_equal(one.x, other.x)
    assert (one.owners, one.footings) == (other.owners, other.footings)


def test_the_audit_groups_records_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grouped, make = [], classes._grouped
    monkeypatch.setattr(classes, "_grouped", lambda data, n: grouped.append(data.column_names) or make(data, n))
    shoal.protect(_table(*NUMBERS), quasi=list(NUMBERS), confidential=["value"], k=4)
    assert grouped == [list(NUMBERS)]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()])
def test_ranks_of_integers_within_a_narrow_range(kind: pa.DataType) -> None:
    shift = 2**64 - 300 if kind == pa.uint64() else -128 if pa.types.is_signed_integer(kind) else 0
    values = pa.chunked_array([pa.array([v + shift for v in (0, 255, 7, 7, 0, 130)], kind)])
    expected = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    assert _ranks(Column("pay", Role.CONFIDENTIAL, Kind.INTEGER), values).tolist() == expected.tolist()
