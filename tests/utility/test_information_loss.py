"""IL of [N14] equals its definition, and comes near what Table 6 prints where the protected files come out."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.types import Comparison, Pair
from shoal.utility.information_loss import InformationLoss

_spec = importlib.util.spec_from_file_location(
    "oracle_information_loss", Path(__file__).parents[1] / "oracles" / "information_loss.py"
)
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def compared(X: np.ndarray, Y: np.ndarray) -> Comparison:
    names = tuple(f"a{j}" for j in range(X.shape[1]))
    numbers = {name: Pair(x, y) for name, x, y in zip(names, X.T, Y.T, strict=True)}
    return Comparison(np.zeros(X.shape), np.zeros(X.shape), names, numbers)


ROWS = st.integers(1, 3).flatmap(
    lambda p: st.lists(
        st.lists(st.tuples(st.integers(-3, 9), st.integers(-3, 9)), min_size=p, max_size=p), min_size=2, max_size=12
    )
)


@given(ROWS)
def test_equal_to_the_definition(rows: list[list[tuple[int, int]]]) -> None:
    both = np.array(rows, float)
    X, Y = both[:, :, 0], both[:, :, 1]
    plain = oracle.components(X.T.tolist(), Y.T.tolist())
    V = np.atleast_2d(np.cov(X, rowvar=False))
    varies = np.outer(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0) > 0)
    if (np.abs(V[varies]) < 1e-9).any():  # a covariance that only rounding keeps from 0, or not: so is the variation
        return
    found = InformationLoss().measure(compared(X, Y))
    assert found.value == pytest.approx(oracle.information_loss(X.T.tolist(), Y.T.tolist()), rel=1e-6, abs=1e-6)
    parts = dict(found.parts)
    assert parts.pop("five") == pytest.approx(100 * oracle.mean(list(plain.values())), rel=1e-6, abs=1e-6)
    assert parts == {name: pytest.approx(100 * part, rel=1e-6, abs=1e-6) for name, part in plain.items()}


def test_zero_varies_by_nothing_or_by_all() -> None:
    X, Y = np.array([[0.0], [0.0], [2.0], [4.0]]), np.array([[0.0], [1.0], [2.0], [3.0]])
    assert dict(InformationLoss().measure(compared(X, Y)).parts)["values"] == 100 * (0 + 1 + 0 + 0.25) / 4


def test_nothing_changed_nothing_lost() -> None:
    X = np.random.default_rng(1).normal(1e6, 1, (40, 4))
    X[:, 2] = 7.0
    found = InformationLoss().measure(compared(X, X.copy()))
    assert found.value == 0.0
    assert (found.name, found.unit) == ("il", "%")


def test_records_with_a_missing_number_are_left_out_and_counted() -> None:
    X, Y = np.random.default_rng(2).normal(size=(2, 20, 2))
    X[3, 0], Y[5, 1] = math.nan, math.nan
    whole = np.delete(np.arange(20), [3, 5])
    found = InformationLoss().measure(compared(X, Y))
    assert found.value == pytest.approx(InformationLoss().measure(compared(X[whole], Y[whole])).value)
    assert "2 records were omitted" in found.note
    assert math.isnan(InformationLoss().measure(compared(X[[3, 4]], Y[[3, 4]])).value)
    assert math.isnan(InformationLoss().measure(Comparison(np.zeros((2, 1)), np.zeros((2, 1)), ("work",))).value)


@pytest.mark.parametrize(("k", "printed"), [(3000, 22.17), (4000, 57.31)])
def test_near_table_6_where_the_protected_file_comes_out(reference_data: Path, k: int, printed: float) -> None:
    import n14

    X, Y = n14.matrix(n14.data("6", reference_data)), n14.masked("6", "correlated", "mic1d", k, reference_data)
    found = InformationLoss().measure(compared(X, Y))
    assert found.value == pytest.approx(n14.measure.information_loss(X, Y), rel=1e-9)  # by other code
    assert found.value == pytest.approx(printed, rel=0.025)
    assert abs(dict(found.parts)["five"] - printed) > abs(found.value - printed)
