"""A method may form blocks, promise nothing, and make the values that leave: the gate audits what is promised."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.partition.auto import Auto
from shoal.points.datetime import Datetime
from shoal.points.encoding import Encoding
from shoal.points.numeric import Numeric
from shoal.types import Block, Partition, Points, Step

N = 24
RNG = np.random.default_rng(3)
FRAME = pa.table({"a": RNG.normal(size=N), "b": RNG.integers(0, 99, N), "c": RNG.normal(size=N)})
RECIPE = {"quasi": ["a", "b", "c"], "k": 4}
SIX = np.arange(N) // 4


def lets(monkeypatch: pytest.MonkeyPatch, form: Callable[[Points], Partition]) -> None:
    """Let MDAV give another partition."""
    monkeypatch.setattr(Auto, "partition", lambda self, points, rng: form(points))


def test_blocks_that_a_method_forms_are_audited_each(monkeypatch: pytest.MonkeyPatch) -> None:
    lets(monkeypatch, lambda _: Partition((Block(("c", "a"), SIX), Block(("b",), SIX[::-1].copy()))))
    audit = shoal.protect(FRAME, RECIPE).audit
    assert [(f.attributes, f.required) for f in audit.findings if f.model == "k_anonymity"] == [
        (("a", "c"), 4),
        (("b",), 4),
        (("a", "b", "c"), None),
    ]
    assert "not promised" in next(f.note for f in audit.findings if f.attributes == ("a", "b", "c"))
    lets(monkeypatch, lambda _: Partition((Block(("a", "c"), SIX), Block(("b",), np.arange(N)))))
    with pytest.raises(shoal.GuaranteeError, match="k_anonymity over b requires 4 and achieves"):
        shoal.protect(FRAME, RECIPE)


@pytest.mark.parametrize("blocks", [[("a", "b")], [("a", "b"), ("b", "c")], [("a", "b", "c", "d")], [()], []])
def test_blocks_that_are_not_the_quasi_identifiers_fail_closed(
    monkeypatch: pytest.MonkeyPatch, blocks: list[tuple[str, ...]]
) -> None:
    from shoal.flow.gate.gate import gate
    from shoal.flow.plan.promise import promise_of
    from shoal.types import Release, Schema

    partition = Partition(tuple(Block(names, np.zeros(N, np.int64)) for names in blocks))
    constant = pa.table({name: np.zeros(N) for name in "abcd"})
    with pytest.raises(shoal.GuaranteeError, match="some would not be audited"):
        gate(Release(constant, Schema(())), promise_of(shoal.Recipe.from_dict(RECIPE), partition))


def test_a_method_without_a_promise_is_audited_and_claims_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Callable
) -> None:
    lets(monkeypatch, lambda p: Partition((Block(("a", "b", "c"), np.arange(N), False, p.coordinates, "values are"),)))
    shoal.write_table(FRAME, tmp_path / "in.csv")
    arguments = ("protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--quasi", "a,b,c", "--k", 4, "--force")
    printed = run(*arguments)
    assert printed.code == 0
    assert "not promised" in printed.out
    assert "k_anonymity over a, b, c: no k-anonymity of records is promised; values are; 72 of 72" in printed.out
    assert "as the method computes it" in printed.out
    found = json.loads(run(*arguments, "--json").out)["audit"]
    assert (found["k"], found["requirements"]) == (1, [])
    assert found["not_promised"][0]["required"] is None
    assert found["not_promised"][0]["achieved"] == 1


def test_strata_join_the_blocks_of_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    def form(points: Points) -> Partition:
        half = np.arange(len(points)) // 4
        return Partition((Block(("a",), half), Block(("b", "c"), half, True, points.coordinates[:, 1:] * 0.0)))

    lets(monkeypatch, form)
    frame = FRAME.append_column("s", pa.array(["x", "y"] * (N // 2)))
    done = shoal.protect(frame, {**RECIPE, "strata": ["s"]})
    first, second = done.partition.blocks
    assert first.sizes.tolist() == [4] * 6
    assert np.array_equal(first.labels, second.labels)
    assert np.array_equal(np.unique(first.labels[::2]), [0, 1, 2])
    assert done.data["c"].to_numpy() == pytest.approx(FRAME["c"].to_numpy().mean())


def test_parts_with_other_blocks_are_not_joined() -> None:
    parts = [Partition.of(np.zeros(2, np.int64), (name,)) for name in "ab"]
    with pytest.raises(ValueError, match="same blocks"):
        Partition.joined(parts, [np.array([0, 1]), np.array([2, 3])])


def test_weights_are_refused_where_a_method_makes_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    lets(monkeypatch, lambda p: Partition((Block(("a", "b", "c"), np.arange(N), False, p.coordinates),)))
    frame = FRAME.append_column("w", pa.array(np.ones(N)))
    with pytest.raises(shoal.ParameterError, match="has no means to weight"):
        shoal.protect(frame, {**RECIPE, "weight": "w"})


@pytest.mark.parametrize("scale", ["standard", "range", "none"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([3.5, -1e300, 2.0, 1e300]),
        pa.array([0.5, 7.25, 0.5, 2.0], pa.float32()),
        pa.array([9, 9, 9, 9]),
        pa.array([1, 200, 3, 44], pa.uint8()),
        pa.array([Decimal("1.25"), Decimal("-3.50"), Decimal("0.00"), Decimal("9.99")], pa.decimal128(9, 2)),
        pa.array([date(1950, 1, 1), date(2001, 2, 3), date(1999, 12, 31), date(1970, 1, 1)]),
        pa.array([date(1950, 1, 1), date(2001, 2, 3), date(1999, 12, 31), date(1970, 1, 1)], pa.date64()),
        pa.array([datetime(2024, 1, 1 + i, i) for i in range(4)], pa.timestamp("ms", "Europe/Madrid")),
    ],
    ids=lambda column: str(column.type),
)
def test_coordinates_decode_to_what_they_were(column: pa.Array, scale: str) -> None:
    chunked = pa.chunked_array([column])
    moments = pa.types.is_temporal(column.type)
    attribute = (Datetime if moments else Numeric).encode("x", chunked)
    points = Encoding(scale=scale).encode([attribute])
    found = attribute.decode(points.footings[0].undo(points.coordinates[:, 0]), resolution=attribute.resolution(None))
    assert found.type == column.type
    if pa.types.is_floating(column.type):
        np.testing.assert_allclose(found.to_numpy(), column.to_numpy(), atol=1e-12 * np.abs(column.to_numpy()).max())
    else:
        assert found.equals(column)


def test_what_a_type_cannot_hold_is_moved_to_its_end() -> None:
    far = np.array([-1e308, 1e308])
    for type_ in (pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float32(), pa.decimal128(5, 2)):
        column = pa.chunked_array([pa.array([Decimal(1), Decimal(2)] if pa.types.is_decimal(type_) else [1, 2], type_)])
        low, high = Numeric.encode("x", column).decode(far, resolution=Step(1, 0)).to_pylist()
        assert low < 1
        assert high > 100
        assert abs(float(high)) < 1e39
    for type_ in (pa.date32(), pa.timestamp("s"), pa.timestamp("ns")):
        days = pa.chunked_array([pa.array([1, 2], pa.int32()).cast(pa.date32()).cast(type_)])
        first, last = (
            str(moment)[:4] for moment in Datetime.encode("x", days).decode(far, resolution=None).to_pylist()
        )
        assert first in ("0001", "1677")
        assert last in ("9999", "2262")


def test_coordinates_of_attributes_are_found_for_bare_points_too() -> None:
    bare = Points(np.arange(6.0).reshape(2, 3))
    assert bare.places == {"0": (0,), "1": (1,), "2": (2,)}
    assert bare.only(["2", "0"]).coordinates.tolist() == [[0.0, 2.0], [3.0, 5.0]]
