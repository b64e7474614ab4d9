"""Risks against a control: high where the release is the table, none where it knows nothing of it."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.risk.control.copies import copied
from shoal.risk.control.membership import membership, outliers
from shoal.risk.control.predicates import singled_out
from shoal.risk.control.tables import Tables

rng = np.random.default_rng(1)
DRAWN = [np.column_stack([rng.normal(size=(300, 2)), rng.integers(0, 9, 300)]) for _ in range(3)]
NUMERIC = (True, True, False)
TABLE = Tables(DRAWN[0], DRAWN[1], DRAWN[0], NUMERIC)  # the release is the table itself
STRANGERS = TABLE._replace(released=DRAWN[2])  # the release is of other people


def test_the_table_itself_is_disclosed() -> None:
    assert copied(TABLE) == 100
    assert membership(TABLE, outliers(TABLE)) == 100
    guessed = singled_out(TABLE)
    assert guessed.originals == 100
    assert guessed.control < 60


def test_other_people_disclose_nothing() -> None:
    assert copied(STRANGERS) == 0
    assert membership(STRANGERS, outliers(STRANGERS)) == pytest.approx(50, abs=15)
    guessed = singled_out(STRANGERS)
    assert guessed.originals == pytest.approx(guessed.control, abs=12)


def test_figures_depend_on_the_seed_only() -> None:
    assert singled_out(TABLE, seed=3) == singled_out(TABLE, seed=3)
    one, other = (outliers(TABLE, seed=2) for _ in range(2))
    assert np.array_equal(one.original, other.original)


def test_a_release_of_one_combination_allows_one_guess_that_fails() -> None:
    tables = TABLE._replace(released=np.zeros((9, 3)))
    assert singled_out(tables).originals < 10
    assert copied(tables) == 0
