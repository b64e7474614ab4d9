"""Ordered categories as points: ranks apart, medians leave."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, SchemaError
from shoal.kernels.arithmetic.class_statistics import medians
from shoal.points.encoding import Encoding, attribute_of
from shoal.points.ordinal import Ordinal
from shoal.schema.roles import in_order
from shoal.types import Column, Footing, Kind, Role

SCHOOL = ("primary", "secondary", "university")


def column(order: tuple[str, ...] = ()) -> Column:
    return Column("school", Role.QUASI, Kind.ORDINAL, order=order)


def brute_median(values: list[int], weights: list[int]) -> int:
    """The least value up to which at least half of the weight lies; weights that are all 0 count the same."""
    share = weights if any(weights) else [1] * len(values)
    below = {v: sum(w for u, w in zip(values, share, strict=True) if u <= v) for v in values}
    return min(v for v, w in below.items() if 2 * w >= sum(share))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12))
def test_medians_equal_their_definition(records: list[tuple[int, int, int]]) -> None:
    values, labels, weights = (list(column) for column in zip(*records, strict=True))
    labels = np.unique(labels, return_inverse=True)[1].tolist()
    found = medians(np.array(values, float), np.array(labels), np.array(weights, float))
    plain = medians(np.array(values, float), np.array(labels), None)
    for label in range(max(labels) + 1):
        rows = [row for row, of in enumerate(labels) if of == label]
        assert found[label] == brute_median([values[r] for r in rows], [weights[r] for r in rows])
        assert plain[label] == brute_median([values[r] for r in rows], [1] * len(rows))


def test_medians_of_light_classes_are_not_swallowed_by_heavy_ones() -> None:
    labels, values = np.repeat([0, 1], [2, 5]), np.array([4.0, 6.0, 9.0, 1.0, 2.0, 3.0, 0.0])
    assert medians(values, labels, np.array([1.0, 1.0, *[1e-17] * 5])).tolist() == [4.0, 2.0]
    many = np.arange(100_000.0)
    assert medians(many, np.zeros(len(many), np.int64), None).tolist() == [49_999.0]
    assert medians(many, np.arange(len(many)) // 4, np.full(len(many), 0.1)).tolist() == many[1::4].tolist()


@settings(max_examples=40)
@given(st.lists(st.sampled_from(SCHOOL), min_size=1, max_size=8))
def test_categories_are_as_far_apart_as_their_ranks(values: list[str]) -> None:
    cells = in_order(column(SCHOOL), pa.chunked_array([values]))
    found = attribute_of(column(SCHOOL), cells, Ordinal, "category", pa.string())
    x = Encoding(scale="none").encode([found]).coordinates[:, 0]
    assert x.tolist() == [SCHOOL.index(value) for value in values]
    placed = found.place(lambda values: Footing(0.0, 1.0, 0))
    np.testing.assert_array_equal(found.like(pa.chunked_array([values]), placed), placed.coordinates)
    assert found.centroid(np.arange(len(values)), None, resolution=None).to_pylist() == values


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (pa.array([3, 1, 2, 3], pa.int16()), ()),
        (pa.array([3, 1, 2, 3], pa.int16()), ("3", "1", "2")),
        (pa.array([3.0, 1.0, 2.5, 3.0]), ()),
        (pa.array([3.0, 1.0, 2.0, 3.0]), ("3", "1", "2")),
        (pa.array([Decimal("3.5"), Decimal("1.0"), Decimal("2.0"), Decimal("3.5")]), ()),
        (pa.array([Decimal("3.5"), Decimal("1.0"), Decimal("2.0"), Decimal("3.5")]), ("3.5", "1", "2")),
        (pa.array([True, False, True, True]), ("False", "True")),
        (pa.array(["a", "b", "c", "a"], pa.large_string()), ("c", "b", "a")),
        (pa.array(["a", "b", "c", "a"]).dictionary_encode(), ("c", "b", "a")),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0], pa.int8()), ["x", "y", "z"], ordered=True), ()),
    ],
    ids=str,
)
def test_types_leave_as_they_came(cells: pa.Array, order: tuple[str, ...]) -> None:
    chunks = pa.chunked_array([cells])
    found = attribute_of(column(order), in_order(column(order), chunks), Ordinal, "category", cells.type)
    leaving = found.centroid(np.arange(4), None, resolution=None)
    assert leaving.type == cells.type
    assert leaving.to_pylist() == cells.to_pylist()
    assert found.values[0] == found.values[3]


def test_values_beyond_the_order_are_counted_and_not_named() -> None:
    with pytest.raises(DataError, match="2 of 3 are not, in 3 of 5 records") as caught:
        in_order(column(SCHOOL), pa.chunked_array([["primary", "secret", "secret", "hidden", None]]))
    assert "secret" not in str(caught.value)


def test_texts_without_an_order_are_refused() -> None:
    with pytest.raises(SchemaError, match="the order of an ordinal column must be known"):
        Ordinal.encode("school", pa.chunked_array([["a", "b"]]))


def test_an_order_may_name_more_categories_than_the_column_has_room_for() -> None:
    order = tuple(f"c{at:03d}" for at in range(200))
    cells = pa.chunked_array(
        [pa.array(["c190", "c150", "c190"]).dictionary_encode().cast(pa.dictionary("int8", "string"))]
    )
    found = attribute_of(column(order), in_order(column(order), cells), Ordinal, "category", cells.type)
    assert found.centroid(np.zeros(3, np.int64), None, resolution=None).to_pylist() == ["c190"] * 3


def test_an_order_of_numbers_names_numbers_only() -> None:
    cells, order = pa.chunked_array([[0, 1, 1]]), ("0", "1", "do not know")
    with pytest.raises(SchemaError, match="must be a value of type int64") as caught:
        attribute_of(column(order), in_order(column(order), cells), Ordinal, "category", cells.type)
    assert "do not know" not in str(caught.value)
