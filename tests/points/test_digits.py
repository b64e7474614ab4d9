"""Released numbers have no more digits than their column, and whole units of time."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.points._digits import decimal_counts, integers_to_step, own_step, to_step, to_unit
from shoal.privacy.counting.staged_file import too_fine
from shoal.types import Release, Schema, Step

N = 200
RNG = np.random.default_rng(5)


def written_decimals(number: float) -> int:
    """Return how many decimals the shortest text of a number has, in the plainest way."""
    return max(0, -int(Decimal(repr(float(number))).normalize().as_tuple().exponent))


@given(st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=60), st.integers(0, 6))
def test_decimals_of_a_column_are_those_that_99_percent_of_its_cells_have(values: list[int], decimals: int) -> None:
    column = np.array([value / 10**decimals for value in values])
    there = sorted(written_decimals(value) for value in column.tolist() if value)
    expected = next((d for d in range(8) if sum(own <= d for own in there) >= 0.99 * len(there)), 0)
    assert own_step(decimal_counts(column)) == Step(1, expected if there else 0)


def test_a_few_noisy_floats_do_not_count_and_zeros_neither() -> None:
    column = np.round(RNG.random(1000), 1)
    column[:9] = 0.1 + 0.2
    assert own_step(decimal_counts(column)) == Step(1, 1)
    mostly_zero = np.zeros(1000)
    mostly_zero[:40] = 0.25
    assert own_step(decimal_counts(mostly_zero)) == Step(1, 2)
    assert own_step(decimal_counts(np.zeros(3))) == Step(1, 0)


@given(
    st.floats(-1e12, 1e12, allow_nan=False),
    st.sampled_from([1, 0.1, 0.05, 0.25, 100, 1000, 1e-6, 7]),
)
def test_values_become_the_nearest_multiple(value: float, step: float) -> None:
    found, unit = float(to_step(np.array([value]), Step.of(step))[0]), Fraction(str(step))
    if abs(value) / step < 2**50:
        assert abs(Fraction(found) - Fraction(value)) <= unit / 2 * (1 + Fraction(1, 10**9))
        assert Decimal(repr(found)) % Decimal(str(step)) == 0


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([1, 7, 100, 2**40, 2**63]))
def test_integers_become_the_nearest_multiple_that_their_type_holds(value: int, step: int) -> None:
    found = int(integers_to_step(np.array([value]), Step(step, 0), pa.int64())[0])
    assert found % step == 0
    assert abs(found - value) <= step


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        (pa.array(RNG.integers(0, 90, N)), pa.int64()),
        (pa.array(RNG.integers(0, 90, N), pa.int8()), pa.int8()),
        (pa.array(np.round(RNG.lognormal(6, 1, N), 2)), pa.float64()),
        (pa.array(np.round(RNG.random(N), 1).astype(np.float32)), pa.float32()),
        (pa.array([Decimal(int(v)) / 4 for v in RNG.integers(0, 999, N)], pa.decimal128(12, 4)), pa.decimal128(12, 4)),
        (pa.array(RNG.integers(0, 20_000, N).astype(np.int32)).cast(pa.date32()), pa.date32()),
        (pa.array([None if v == 3 else v for v in RNG.integers(0, 9, N).tolist()]), pa.int64()),
    ],
    ids=str,
)
def test_columns_keep_their_type_and_digits(column: pa.Array, type_: pa.DataType) -> None:
    done = shoal.protect(pa.table({"x": column, "y": RNG.normal(size=N)}), {"quasi": ["x", "y"], "k": 4})
    assert done.data["x"].type == type_
    if not pa.types.is_temporal(type_):
        decimals = lambda cells: max(written_decimals(float(str(cell))) for cell in cells if cell is not None)  # noqa: E731
        assert decimals(done.data["x"].to_pylist()) <= decimals(column.to_pylist())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ".sav", ".dta"])
def test_amounts_keep_two_decimals_in_every_format(tmp_path: Path, suffix: str) -> None:
    frame = pa.table({"pay": np.round(RNG.lognormal(6, 1, N), 2), "age": RNG.integers(0, 99, N)})
    shoal.write_table(frame, tmp_path / f"in{suffix}")
    shoal.protect_file(tmp_path / f"in{suffix}", tmp_path / "out.csv", {"quasi": ["pay", "age"], "k": 5})
    out = pyarrow.csv.read_csv(tmp_path / "out.csv")
    assert out["age"].type == pa.int64()
    assert max(map(written_decimals, out["pay"].to_pylist())) == 2


@pytest.mark.parametrize("unit", [1e-19, 1e-25, 1e-310])
def test_numbers_too_small_for_decimals_are_not_rounded_to_nothing(unit: float) -> None:
    frame = pa.table({"charge": [unit * i for i in range(1, 7)]})
    released = shoal.protect(frame, {"quasi": ["charge"], "k": 3}).data["charge"].to_pylist()
    assert released == pytest.approx([2 * unit] * 3 + [5 * unit] * 3, rel=1e-9, abs=0)


class TestDeclared:
    FRAME = pa.table(
        {
            "income": RNG.integers(0, 99_999, N),
            "born": pa.array(RNG.integers(0, 20_000, N).astype(np.int32)).cast(pa.date32()),
            "seen": pa.array(RNG.integers(0, 10**9, N)).cast(pa.timestamp("s")),
        }
    )

    @pytest.mark.parametrize("unit", ["year", "month", "day"])
    def test_steps_and_units_are_kept(self, unit: str) -> None:
        resolution = {"income": 100, "born": unit, "seen": "hour"}
        done = shoal.protect(self.FRAME, {"quasi": list(resolution), "k": 5, "resolution": resolution})
        assert all(value % 100 == 0 for value in done.data["income"].to_pylist())
        assert done.data["income"].type == pa.int64()
        assert all(moment.minute == moment.second == 0 for moment in done.data["seen"].to_pylist())
        days = done.data["born"].to_pylist()
        assert unit == "day" or all(day.day == 1 for day in days)
        assert unit != "year" or all(day.month == 1 for day in days)

    def test_a_month_is_the_one_that_the_mean_falls_in(self) -> None:
        ticks = np.array([date(2020, 3, 31).toordinal() - date(1970, 1, 1).toordinal()])
        assert to_unit(ticks, "month", None).tolist() == [date(2020, 3, 1).toordinal() - date(1970, 1, 1).toordinal()]

    @pytest.mark.parametrize(
        ("resolution", "said"),
        [
            ({"born": 5}, "Column 'born': its resolution must be a unit such as 'month'"),
            ({"income": "month"}, "Column 'income': its resolution must be a number"),
        ],
    )
    def test_a_resolution_must_fit_its_column(self, resolution: dict, said: str) -> None:
        with pytest.raises(shoal.SchemaError, match=said):
            shoal.protect(self.FRAME, {"quasi": ["income", "born"], "k": 5, "resolution": resolution})

    def test_categories_have_none(self) -> None:
        frame = pa.table({"sex": ["f", "m"] * 5})
        with pytest.raises(shoal.SchemaError, match="'sex': a resolution is for numbers and dates"):
            shoal.protect(frame, {"quasi": ["sex"], "k": 5, "resolution": {"sex": 2}})

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"resolution": {"x": 0}}, "the resolution of 'x' must be a number > 0"),
            ({"resolution": {"x": "week"}}, "or for dates one of year, month"),
            ({"resolution": {"z": 1}}, "names 'z', which is not a quasi-identifier"),
            ({"resolution": {"x": 1}, "exact_means": True}, "resolution and exact_means exclude each other"),
            ({"resolution": {"x": 1}, "release": "swap"}, "swap releases cells unchanged"),
            ({"exact_means": "yes"}, "exact_means must be true or false"),
            ({"release_weight": "all"}, "release_weight"),
            ({"row_order": "sorted"}, "row_order"),
        ],
    )
    def test_what_a_recipe_may_not_say(self, more: dict, said: str) -> None:
        with pytest.raises(shoal.ParameterError, match=said):
            shoal.Recipe(quasi=["x"], **more)


def test_round_integers_is_accepted_and_its_opposite_names_exact_means() -> None:
    frame = pa.table({"x": RNG.integers(0, 99, N)})
    plain = shoal.protect(frame, {"quasi": ["x"], "k": 5})
    rounded = shoal.protect(frame, {"quasi": ["x"], "k": 5, "set": {"round_integers": True}})
    assert rounded.data.equals(plain.data)
    with pytest.raises(shoal.ParameterError, match="exact_means = true"):
        shoal.protect(frame, {"quasi": ["x"], "k": 5, "set": {"round_integers": False}})


def test_exact_means_are_released_with_all_digits_and_the_partition_loses_the_same() -> None:
    frame = pd.DataFrame({"x": RNG.integers(0, 99, N), "y": np.round(RNG.normal(size=N), 1)})
    rounded = shoal.protect(frame, {"quasi": ["x", "y"], "k": 5})
    exact = shoal.protect(frame, {"quasi": ["x", "y"], "k": 5, "exact_means": True})
    assert exact.data["x"].dtype == float
    means = frame.groupby(exact.partition.labels)["x"].transform("mean")
    np.testing.assert_allclose(exact.data["x"], means, rtol=1e-14)
    for name in ("il_sse", "sse"):
        assert rounded.readings[f"{name}_partition"] == pytest.approx(exact.readings[name], rel=1e-12)
        assert rounded.readings[name] > exact.readings[name]


def test_means_made_by_a_method_are_rounded_too() -> None:
    frame = pa.table({"x": RNG.integers(0, 999, N), "y": np.round(RNG.normal(size=N), 2)})
    done = shoal.protect(frame, {"quasi": ["x", "y"], "k": 5, "method": "mic1d"})
    assert done.data["x"].type == pa.int64()
    assert max(map(written_decimals, done.data["y"].to_pylist())) <= 2


class TestGate:
    """The auditor's own reading of digits, against values that are too fine."""

    @pytest.mark.parametrize(
        ("values", "step", "fine"),
        [
            ([1.25, 0.5], Step(1, 2), False),
            ([1.255], Step(1, 2), True),
            ([0.1 + 0.2], Step(1, 1), True),
            ([150], Step(100, 0), True),
            ([200], Step(100, 0), False),
            ([0.15, 0.1], Step(5, 2), False),
            ([0.12], Step(5, 2), True),
            ([Decimal("1.10")], Step(1, 1), False),
            ([Decimal("1.15")], Step(1, 1), True),
            ([date(2020, 3, 1)], "month", False),
            ([date(2020, 3, 2)], "month", True),
            ([datetime(2020, 1, 1, 5)], "hour", False),
            ([datetime(2020, 1, 1, 5, 1)], "hour", True),
            ([datetime(2020, 1, 1, 5)], "day", True),
            (["many"], Step(1, 0), True),
            ([3.0], "day", True),
        ],
    )
    def test_what_is_too_fine_is_found(self, values: list, step: Step | str, fine: bool) -> None:
        assert too_fine(Release(pa.table({"x": values}), Schema(()), resolutions={"x": step})) == ["x"] * fine

    def test_a_file_with_more_digits_is_not_published(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import shoal.points.numeric as numeric

        monkeypatch.setattr(numeric, "to_step", lambda values, step: values)
        frame = pa.table({"pay": np.round(RNG.lognormal(6, 1, N), 2)})
        shoal.write_table(frame, tmp_path / "in.csv")
        with pytest.raises(shoal.GuaranteeError, match="more digits than their resolution allows: pay"):
            shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", {"quasi": ["pay"], "k": 5})
        assert not (tmp_path / "out.csv").exists()
