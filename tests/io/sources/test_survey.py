"""The synthetic survey: always the same, and true to itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.flow.demo import OCCUPATIONS, taxonomy

OF_THE_HOUSEHOLD = ("region", "dwelling", "rooms", "rent")


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 400), st.integers(0, 50))
def test_what_is_of_a_household_is_the_same_for_its_members(records: int, seed: int) -> None:
    survey = shoal.survey(records, seed)
    assert survey.num_rows == records
    assert survey.equals(shoal.survey(records, seed))
    for name in OF_THE_HOUSEHOLD:
        told = {}
        for whose, value in zip(survey["household"].to_pylist(), survey[name].to_pylist(), strict=True):
            assert told.setdefault(whose, value) == value


@pytest.fixture(scope="module")
def survey() -> pa.Table:
    return shoal.survey()


def test_values_are_missing_in_two_columns_only(survey: pa.Table) -> None:
    missing = {name: survey[name].null_count / survey.num_rows for name in survey.column_names}
    assert {name for name, share in missing.items() if share} == {"occupation", "rent"}
    assert all(0.02 < missing[name] < 0.15 for name in ("occupation", "rent"))
    students = np.array(survey["work"].to_pylist()) == "student"
    assert all(value is None for value in np.array(survey["occupation"].to_pylist(), object)[students])


def test_households_are_like_households(survey: pa.Table) -> None:
    households = survey["household"].to_pylist()
    sizes = np.unique(np.unique(households, return_counts=True)[1], return_counts=True)
    assert sizes[0].tolist() == [1, 2, 3, 4, 5]
    born = survey["birth"].cast(pa.int32()).to_numpy() / 365.25
    number = np.unique(households, return_inverse=True)[1]
    means = np.bincount(number, born) / np.bincount(number)
    assert ((born - means[number]) ** 2).mean() < 0.5 * born.var()  # strangers would be at about half


def test_every_occupation_is_in_the_taxonomy_once(survey: pa.Table) -> None:
    rows = [line.split(";") for line in taxonomy().splitlines()]
    names = [row[0] for row in rows]
    assert len(set(names)) == len(names)
    assert {len(row) for row in rows} == {4}
    assert set(survey["occupation"].unique().to_pylist()) == {*names, None}
    groups = [group for inside in OCCUPATIONS.values() for group in inside]
    assert len({*names, *groups, *OCCUPATIONS}) == len(names) + len(groups) + len(OCCUPATIONS)
