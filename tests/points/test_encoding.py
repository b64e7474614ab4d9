"""The scale of numbers follows from the kinds of the attributes beside them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.points.encoding import Encoding
from shoal.points.nominal import Nominal
from shoal.points.numeric import Numeric
from shoal.points.ordinal import Ordinal
from shoal.types import Attribute, Column, Kind, Role

AGE = Numeric.of(Column("age", Role.QUASI, Kind.CONTINUOUS), pa.chunked_array([[1.0, 2.0, 4.0, 9.0]]), "category")
LONG = Numeric.of(Column("long", Role.QUASI, Kind.CONTINUOUS), pa.chunked_array([[1.0, None, 4.0, 5.0]]), "category")
WORK = Nominal.of(Column("work", Role.QUASI, Kind.NOMINAL), pa.chunked_array([["a", "b", "a", "b"]]), "category")
SIZE = Ordinal.of(
    Column("size", Role.QUASI, Kind.ORDINAL),
    pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 0]), ["low", "high"], ordered=True)]),
    "category",
)


@pytest.mark.parametrize(
    ("attributes", "scale"),
    [
        ([AGE, WORK], "range"),
        ([WORK, LONG], "range"),
        ([AGE, LONG], "standard"),  # room for what is missing is no category
        ([AGE, SIZE], "standard"),  # ranks are scaled like numbers
        ([WORK], "range"),
    ],
)
def test_numbers_are_scaled_to_range_1_only_beside_categories(attributes: list[Attribute], scale: str) -> None:
    assert Encoding().scale_for(attributes) == scale
    expected = Encoding(scale=scale).encode(attributes)  # type: ignore[arg-type]
    assert np.array_equal(Encoding().encode(attributes).coordinates, expected.coordinates)
    assert Encoding(scale="none").scale_for(attributes) == "none"


def test_a_table_is_protected_as_with_the_scale_written_down() -> None:
    data = shoal.survey().slice(0, 300)
    for quasi, scale, other in ((["birth", "work"], "range", "standard"), (["rooms", "income"], "standard", "range")):
        plain, same, not_same = (
            shoal.protect(data, quasi=quasi, k=5, method="mdav", row_order="keep", set=given).partition.labels
            for given in ({}, {"scale": scale}, {"scale": other})
        )
        assert np.array_equal(plain, same)
        assert not np.array_equal(plain, not_same)
