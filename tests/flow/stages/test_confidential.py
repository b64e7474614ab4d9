"""Confidential columns as the methods see them: ranks, values told apart, leaves; missing is a value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import shoal
from shoal.flow.stages.encode import confidential_arrays, confidential_columns
from shoal.schema.taxonomy_files import taxonomy_of
from shoal.types import Column, Dialect, Kind, Role, Schema, Table, Taxonomy


def codes(values: pa.ChunkedArray, kind: Kind, taxonomy: Taxonomy | None = None, text: bool = False) -> list[int]:
    schema = Schema((Column("c", Role.CONFIDENTIAL, kind, taxonomy),))
    (found,) = confidential_columns(Table(pa.table({"c": values}), schema, Dialect(missing=("NA",)) if text else None))
    assert found.counts.sum() == len(values)
    assert np.array_equal(np.bincount(found.codes, minlength=len(found.counts)), found.counts)
    return found.codes.tolist()


def test_numbers_dates_and_ordered_categories_are_ranked_and_missing_is_last() -> None:
    assert codes(pa.array([3.5, -1.0, None, float("nan"), 3.5]), Kind.CONTINUOUS) == [1, 0, 2, 2, 1]
    assert codes(pa.array([-0.0, 0.0, 1.0]), Kind.CONTINUOUS) == [0, 0, 1]
    assert codes(pa.array([2, 10, 1]), Kind.ORDINAL) == [1, 2, 0]
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 2]), pa.array(["low", "mid", "high"]), ordered=True)
    assert codes(ordered, Kind.ORDINAL) == [1, 0, 3, 2]


def test_cells_of_text_are_read_by_their_kind() -> None:
    assert codes(pa.array(["10", "9", " 9.0", "NA", ""]), Kind.CONTINUOUS, text=True) == [1, 0, 0, 2, 2]
    assert codes(pa.array(["10", "9", "2"]), Kind.ORDINAL, text=True) == [2, 1, 0]
    told = codes(pa.array(["b", " b", "NA", "", "a"]), Kind.NOMINAL, text=True)
    assert told[0] == told[1]
    assert told[2] == told[3]
    assert len(set(told)) == 3
    with pytest.raises(shoal.SchemaError, match="the order of an ordinal column must be known"):
        codes(pa.array(["low", "high"]), Kind.ORDINAL, text=True)


def test_leaves_of_a_group_are_neighbours_and_the_tree_is_kept() -> None:
    nested = {"lungs": ["flu", "cough"], "other": {"skin": ["rash"], "bone": ["break", "sprain"]}}
    taxonomy = taxonomy_of("c", nested)
    schema = Schema((Column("c", Role.CONFIDENTIAL, Kind.NOMINAL, taxonomy),))
    values = pa.array(["flu", "sprain", "cough", "rash", None, "flu"])
    (found,) = confidential_columns(Table(pa.table({"c": values}), schema))
    assert found.parents is not None
    parents, leaves = found.parents.tolist(), len(found.counts)
    assert leaves == 6  # with the missing one; a leaf that does not occur is there too
    above = {value: parents[code] for value, code in zip(values.to_pylist(), found.codes.tolist(), strict=True)}
    assert above["flu"] == above["cough"] != above["rash"] != above["sprain"]
    assert above[None] == -1
    assert parents[above["flu"]] == -1
    assert parents[above["rash"]] == parents[above["sprain"]] != -1
    assert all(parent == -1 or parent > node for node, parent in enumerate(parents))
    for node in range(leaves, len(parents)):  # the values below each node have no gap
        below = [leaf for leaf in range(leaves) if node in _path(leaf, parents)]
        assert below == list(range(min(below), max(below) + 1))


def test_leaves_may_hang_on_the_root_beside_groups() -> None:
    taxonomy = Taxonomy({"flu": ("lungs",), "well": (), "cough": ("lungs",), "hurt": ()})
    schema = Schema((Column("c", Role.CONFIDENTIAL, Kind.NOMINAL, taxonomy),))
    values = pa.array(["flu", "well", "cough", "hurt"] * 5)
    (found,) = confidential_columns(Table(pa.table({"c": values}), schema))
    assert found.parents is not None
    assert found.parents[found.codes[:4]].tolist() == [4, -1, 4, -1]


@pytest.mark.parametrize("method", ["k_first", "t_first", "t_close_merge", "steered"])
def test_t_holds_where_leaves_hang_on_the_root(method: str, tmp_path: Path) -> None:
    (tmp_path / "ill.csv").write_text("flu;lungs;*\ncough;lungs;*\nwell;*;*\nhurt;*;*\n")
    table = pa.table({"x": np.arange(40.0) ** 2, "c": ["flu"] * 12 + ["well"] * 10 + ["cough"] * 10 + ["hurt"] * 8})
    recipe = {"quasi": ["x"], "confidential": ["c"], "k": 4, "t": 0.3, "method": method}
    done = shoal.protect(table, {**recipe, "taxonomies": {"c": str(tmp_path / "ill.csv")}})
    assert done.audit.holds


def test_large_integers_without_a_sign_and_decimals_are_audited() -> None:
    large = pa.array([2**64 - 1 - at % 5 for at in range(20)], pa.uint64())
    table = pa.table(
        {"x": np.arange(20.0), "c": large, "d": pa.array([at % 3 for at in range(20)]).cast(pa.decimal128(20, 1))}
    )
    recipe = {"quasi": ["x"], "confidential": ["c", "d"], "kinds": {"d": "ordinal"}, "k": 5, "t": 0.4}
    assert shoal.protect(table, recipe).audit.holds


def _path(node: int, parents: list[int]) -> list[int]:
    return [] if parents[node] < 0 else [parents[node], *_path(parents[node], parents)]


def test_values_outside_the_taxonomy_are_counted_not_shown() -> None:
    with pytest.raises(shoal.DataError, match="2 of 3 are not, in 3 of 4 records") as caught:
        codes(pa.array(["flu", "secret", "hidden", "secret"]), Kind.NOMINAL, taxonomy_of("c", {"lungs": ["flu"]}))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ({"a": ["x"], "b": ["x"]}, "a value of group 'b' is also in another"),
        ({}, "must hold at least one value"),
        (["x", "y"], "must be groups of values"),
        ({"a": ["x", {"b": ["y"]}]}, "a list of values or a table of groups, not both"),
    ],
)
def test_taxonomies_that_are_none(nested: object, message: str) -> None:
    with pytest.raises(shoal.ParameterError, match=message):
        taxonomy_of("c", nested)  # type: ignore[arg-type]


def test_bare_points_bring_arrays() -> None:
    one, two = confidential_arrays([[1, 5], [3, 5], [2, 4]], 3)
    assert (one.codes.tolist(), two.codes.tolist(), one.ordered) == ([0, 2, 1], [1, 1, 0], True)
    assert not confidential_arrays(["a", "b"], 2)[0].ordered
    with pytest.raises(shoal.DataError, match=r"for each of the 3 points, got the shape \(2,\)"):
        confidential_arrays([1, 2], 3)
    with pytest.raises(shoal.DataError, match="must be finite"):
        confidential_arrays([1.0, np.nan], 2)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_missing_cells_count_alike_for_method_and_audit(tmp_path: Path, end: str) -> None:
    rows = "".join(f"{i},{'NA' if i % 3 == 0 else 'a' if i % 3 == 1 else 'b'}\n" for i in range(60))
    (tmp_path / "in.csv").write_text(f"age,illness\n{rows}")
    recipe = {"quasi": ["age"], "confidential": ["illness"], "k": 3, "t": 0.0, "text": {"missing": ["NA"]}}
    recipe = {**recipe, "method": "mdav", "taxonomies": {"illness": {"some": ["a", "b"]}}}
    done = shoal.protect_file(tmp_path / "in.csv", tmp_path / f"out.{end}", recipe)
    (found,) = [f for f in done.audit.findings if f.model == "t_closeness"]
    assert (found.achieved, found.holds) == (0.0, True)
    if end == "parquet":
        assert pyarrow.parquet.read_table(tmp_path / "out.parquet")["illness"].null_count == 20


ROWS = range(12)
UNREADABLE = {
    "list": (pa.array([[i % 3] for i in ROWS]), None, "numbers, dates, text or categories, got list<"),
    "struct": (
        pa.array([{"x": i % 3} for i in ROWS]),
        None,
        "numbers, dates, text or categories, got struct",
    ),
    "bytes as numbers": (pa.array([bytes([i]) for i in ROWS]), "integer", "must hold numbers or dates, got binary"),
    "text as numbers": (pa.array([f"x{i}" for i in ROWS]), "integer", "every cell must be an integer; 12 of 12"),
    "text as dates": (pa.array([f"x{i}" for i in ROWS]), "datetime", "every cell must be a date or time"),
    "text without an order": (pa.array([f"x{i}" for i in ROWS]), "ordinal", "the order of an ordinal column"),
    "intervals as numbers": (
        pa.array([pa.MonthDayNano([1, i, 0]) for i in ROWS]),
        "integer",
        "holds intervals of months",
    ),
}
READABLE = {
    "bytes": (pa.array([bytes([i % 3]) for i in ROWS]), None),
    "times": (pa.array([i % 3 for i in ROWS], pa.time32("s")), None),
    "durations": (pa.array([i % 3 for i in ROWS], pa.duration("s")), None),
    "dates": (pa.array([i % 3 for i in ROWS], pa.date32()), None),
    "moments": (pa.array([i % 3 for i in ROWS], pa.timestamp("us", "UTC")), None),
    "nothing but missing values": (pa.nulls(12), None),
    "UUIDs": (pa.array([bytes([i % 3] * 16) for i in ROWS], pa.uuid()), None),
    "categories that are numbers": (pa.array([i % 3 for i in ROWS]).dictionary_encode(), "integer"),
}


def _of(values: pa.Array, kind: str | None) -> tuple[pa.Table, dict[str, object]]:
    return pa.table({"a": ROWS, "c": values}), {} if kind is None else {"kinds": {"c": kind}}


@pytest.mark.parametrize("release", ["centroid", "swap", "anatomy"])
@pytest.mark.parametrize("what", UNREADABLE)
def test_protect_and_audit_refuse_the_same_confidential_columns(what: str, release: str) -> None:
    values, kind, sentence = UNREADABLE[what]
    table, kinds = _of(values, kind)
    recipe = {"quasi": ["a"], "confidential": ["c"], "k": 3, "release": release, **kinds}
    for refused in (
        lambda: shoal.protect(table, recipe),
        lambda: shoal.audit(table, quasi=["a"], confidential=["c"], **kinds),
    ):
        with pytest.raises((shoal.SchemaError, shoal.DataError)) as error:
            refused()
        assert str(error.value).startswith(("Column 'c': ", "Schema: column 'c' "))
        assert sentence in str(error.value)


@pytest.mark.parametrize("what", READABLE)
def test_protect_and_audit_report_the_same_confidential_columns(what: str) -> None:
    table, kinds = _of(*READABLE[what])
    done = shoal.protect(table, {"quasi": ["a"], "confidential": ["c"], "k": 3, **kinds})
    found = shoal.audit(done.data, quasi=["a"], confidential=["c"], **kinds)
    assert done.audit.to_dict()["confidential"]["c"] == found.to_dict()["confidential"]["c"]
    assert done.audit.to_dict()["confidential"]["c"]["p"] >= 1


def test_the_gate_refuses_a_column_that_the_audit_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("shoal.flow.protect.anonymise", "shoal.flow.stages.summary"):
        monkeypatch.setattr(f"{module}.confidential_columns", lambda table: ())
    table, _ = _of(*UNREADABLE["list"][:2])
    with pytest.raises(shoal.SchemaError, match="Column 'c'"):
        shoal.protect(table, {"quasi": ["a"], "confidential": ["c"], "k": 3})
