"""Fields of a tuple as coordinates: domains known before, the same conventions as for tables."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import registry
from shoal.points.nominal import Nominal as TableNominal
from shoal.stream import StreamAnonymizer
from shoal.stream.points.datetime import Datetime
from shoal.stream.points.nominal import Nominal
from shoal.stream.points.numeric import Numeric
from shoal.stream.points.ordinal import Ordinal
from shoal.types import Column, Kind, Role, Taxonomy, coded
from shoal.types.stream import Known

ORGANS = Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",), "gout": ("feet", "toes")})
ALL = [
    Known("q", Kind.CONTINUOUS, -3.5, 8),
    Known("q", Kind.INTEGER, 0, 9),
    Known("q", Kind.INTEGER, 0, 9, resolution=1),
    Known("q", Kind.ORDINAL, categories=("low", "middle", "high")),
    Known("q", Kind.NOMINAL, categories=("x", "y", "z")),
    Known("q", Kind.NOMINAL, taxonomy=ORGANS),
    Known("q", Kind.DATETIME, "2024-01-01", "2024-12-31"),
    Known("q", Kind.DATETIME, "2024-01-01T00:00:00Z", "2024-12-31T00:00:00Z"),
]


def made(known: Known) -> Any:
    return registry.for_kind("stream.points", known.kind).of(known)


def test_every_kind_is_served() -> None:
    assert set(registry.declared("stream.points", "kinds")) == set(Kind)


@pytest.mark.parametrize("known", ALL, ids=lambda known: f"{known.kind}-{known.resolution}-{known.low}")
def test_every_attribute_keeps_to_its_domain(known: Known) -> None:
    attribute = made(known)
    rng = np.random.default_rng(0)
    cells: list[Any] = {
        Kind.ORDINAL: ["low", "middle", "high"],
        Kind.NOMINAL: list(known.categories or ORGANS.paths),
        Kind.DATETIME: ["2023-05-05", "2024-06-07", "2024-06-08", "2029-01-01"],
    }.get(known.kind, [-100, 1, 2, 3, 1000])
    if known.kind is Kind.DATETIME and "Z" in known.low:
        cells = [f"{cell}T10:00:00+02:00" for cell in cells]
    cells = [cells[i] for i in rng.integers(0, len(cells), 40)]
    taken = attribute.take([*cells, None, object(), [], "?", {1}, np.arange(2)])
    assert [at for at, _ in taken.faults] == [40, 41, 42, 43, 44, 45]
    assert all("'q'" in sentence and "?" not in sentence for _, sentence in taken.faults)
    values = taken.values[:40]
    x = attribute.place(values)
    assert x.shape[1] == len(attribute.middle)
    assert ((x[:, None] - x[None]) ** 2).sum(axis=2).max() <= 1 + 1e-12
    centres = attribute.centroid(values, np.array([25, 15]))
    again = attribute.take(attribute.plain(centres))  # released values are in the domain
    assert not again.clamped.any()
    assert not [at for at, _ in again.faults] or known.kind is Kind.INTEGER
    assert (again.values == centres).all()
    assert len(attribute.centroid(values[:0], np.empty(0, np.int64))) == 0
    assert attribute.plain(attribute.centroid(values[:0], np.empty(0, np.int64))) == []
    for cell in cells:
        assert not attribute.fits(cell) or not (attribute.take([cell]).faults or attribute.take([cell]).clamped.any())


NUMBERS = {
    "text": ["1", " 2.5", "-3e0", "+4", "5."],
    "decimals": [Decimal(1), Decimal("2.5"), Decimal(-3), Decimal(4), Decimal(5)],
    "numpy": np.array([1, 2.5, -3, 4, 5]),
    "arrow": pa.array([1, 2.5, -3, 4, 5]),
    "pandas": pd.Series([1, 2.5, -3, 4, 5]),
    "objects": np.array([1, 2.5, -3, 4, 5], object),
    "tuple": (1, 2.5, -3, 4, 5),
}


@pytest.mark.parametrize("cells", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_any_make(cells: Any) -> None:
    taken = Numeric.of(Known("q", Kind.CONTINUOUS, -10, 10)).take(cells)
    assert taken.values.tolist() == [1, 2.5, -3, 4, 5]
    assert not taken.faults


@pytest.mark.parametrize("cell", ["0x10", "1_000", "nan", "inf", "1e999", "", " ", b"1", 1j, "1,5", True, np.True_])
def test_no_numbers(cell: Any) -> None:
    assert len(Numeric.of(Known("q", Kind.CONTINUOUS, -10, 10)).take([cell]).faults) == 1


@given(st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=20), st.sampled_from([(-1e300, 1e300), (-1, 1)]))
def test_means_stay_between_members(cells: list[float], bounds: tuple[float, float]) -> None:
    q = Numeric.of(Known("q", Kind.CONTINUOUS, *bounds))
    taken = q.take(cells)
    x = q.place(taken.values)
    assert ((x >= 0) & (x <= 1)).all()
    mean = q.centroid(taken.values, np.array([len(cells)]))[0]
    assert taken.values.min() <= mean <= taken.values.max()


def test_integers_leave_as_integers_if_asked() -> None:
    for step, wanted in ((1, [2, 2]), (None, [1.5, 2.5])):
        q = Numeric.of(Known("q", Kind.INTEGER, 0, 9, resolution=step))
        found = q.plain(q.centroid(q.take([1, 2, 2, 3]).values, np.array([2, 2])))
        assert found == wanted
        assert all(type(one) is type(wanted[0]) for one in found)


def test_moments() -> None:
    days = Datetime.of(Known("q", Kind.DATETIME, dt.date(2024, 1, 1), dt.date(2024, 12, 31)))
    for cells in (
        ["2024-02-01", "2024-02-03"],
        [dt.date(2024, 2, 1), dt.datetime(2024, 2, 3)],
        np.array(["2024-02-01", "2024-02-03"], "datetime64[ns]"),
        pa.array([dt.date(2024, 2, 1), dt.date(2024, 2, 3)]),
        pd.Series(pd.to_datetime(["2024-02-01", "2024-02-03"])),
    ):
        taken = days.take(cells)
        assert not taken.faults
        assert days.plain(days.centroid(taken.values, np.array([2]))) == ["2024-02-02"]
    zoned = Datetime.of(Known("q", Kind.DATETIME, "2024-01-01T00:00:00Z", "2024-12-31T00:00:00Z"))
    taken = zoned.take(
        ["2024-02-01T12:00:00+02:00", "2024-02-01T10:00:01Z", "2024-02-01T12:00:00", "0001-01-01T00:00+05:00"]
    )
    assert [at for at, _ in taken.faults] == [2, 3]
    assert zoned.plain(zoned.centroid(taken.values[:2], np.array([2]))) == ["2024-02-01T10:00:00Z"]
    fine = Datetime.of(Known("q", Kind.DATETIME, "2024-01-01T00:00:00.5", "2024-12-31T00:00:00"))
    taken = fine.take(["2024-02-01T00:00:00", "2024-02-01T00:00:00.25"])
    assert fine.plain(fine.centroid(taken.values, np.array([2]))) == ["2024-02-01T00:00:00.125000"]


def test_categories_that_are_numbers_leave_as_they_were_named() -> None:
    order = Ordinal.of(Known("q", Kind.ORDINAL, categories=(1, 2, 3)))
    taken = order.take([1, "2", 3.0, 2])
    assert taken.values.tolist() == [0, 1, 2, 1]
    assert order.plain(order.centroid(taken.values, np.array([4]))) == [2]


@given(st.lists(st.sampled_from(sorted(ORGANS.paths)), min_size=1, max_size=12), st.booleans())
def test_nominal_conventions_are_those_of_tables(cells: list[str], grouped: bool) -> None:
    known = Known(
        "q", Kind.NOMINAL, categories=() if grouped else tuple(ORGANS.paths), taxonomy=ORGANS if grouped else None
    )
    mine = Nominal.of(known)
    column = Column("q", Role.QUASI, Kind.NOMINAL, known.taxonomy)
    theirs = TableNominal.of(column, pa.chunked_array([cells]), "category")
    values = mine.take(cells).values
    labels = np.zeros(len(cells), np.int64)
    assert mine.plain(mine.centroid(values, np.array([len(cells)]))) == [
        theirs.centroid(labels, None, resolution=None)[0].as_py()
    ]
    x, y = mine.place(values), coded([(theirs.coded(), 1.0)]).embedding()
    apart = [((z[:, None] - z[None]) ** 2).sum(axis=2) for z in (x, y)]
    assert np.allclose(apart[0], apart[1])


def test_a_stream_of_all_kinds_releases_what_protect_would() -> None:
    """With the whole stream in one class, both give the same centroid."""
    rng = np.random.default_rng(5)
    n = 9
    table = pa.table(
        {
            "a": rng.integers(0, 50, n),
            "b": rng.normal(size=n).clip(-4, 4),
            "c": [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 300, n)],
            "d": rng.choice(["low", "middle", "high"], n),
            "e": rng.choice(["flu", "asthma", "ulcer"], n),
        }
    )
    nested = {"lungs": ["flu", "asthma"], "belly": ["ulcer"]}
    done = shoal.protect(
        table,
        {
            "quasi": list("abcde"),
            "k": n,
            "orders": {"d": ["low", "middle", "high"]},
            "taxonomies": {"e": nested},
            "exact_means": True,
        },
    ).data.to_pylist()
    s = StreamAnonymizer(
        quasi=list("abcde"),
        bounds={"a": (0, 50), "b": (-4, 4), "c": ("2024-01-01", "2024-12-31")},
        orders={"d": ["low", "middle", "high"]},
        taxonomies={"e": nested},
        k=n,
        delay=100,
    )
    s.push_many(table)
    left = s.flush()
    assert len(left) == n
    for mine, theirs in zip(left, done, strict=True):
        assert mine["a"] == pytest.approx(theirs["a"])
        assert mine["b"] == pytest.approx(theirs["b"])
        assert mine["c"] == theirs["c"].isoformat()
        assert (mine["d"], mine["e"]) == (theirs["d"], theirs["e"])


def test_weights_of_attributes_count() -> None:
    columns = {"a": [0, 10, 0, 5, 5], "b": [0, 0, 10, 5, 5]}
    bounds = {"a": (0, 10), "b": (0, 10)}
    for weights, with_ in (({"a": 0.1}, 1), ({"b": 0.1}, 2)):
        s = StreamAnonymizer(quasi=["a", "b"], bounds=bounds, k=2, delay=2, attribute_weights=weights)
        assert s.push_many(columns).positions.tolist()[:2] == [0, with_]
