"""Frames and files go through the same rooms: order, types and everything but quasi-identifiers are kept."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.flow.gate import read_back
from shoal.flow.gate.gate import gate
from shoal.flow.plan.promise import promise_of
from shoal.types import Finding

N = 40
RNG = np.random.default_rng(5)
ARROW = pa.table(
    {
        "id": [f"p{i}" for i in range(N)],
        "note": pa.array([None if i % 7 == 0 else f"n{i}" for i in range(N)]),
        "age": RNG.integers(18, 90, N),
        "income": RNG.lognormal(10, 1, N),
        "born": pa.array([date(1950 + i, 1 + i % 12, 1 + i % 28) for i in range(N)]),
        "seen": pa.array([datetime(2024, 1, 1 + i % 28, i % 24) for i in range(N)], pa.timestamp("us")),
        "sick": pa.array([None if i % 5 == 0 else bool(i % 2) for i in range(N)]),
    }
)
RECIPE = {"quasi": ["age", "income", "born", "seen"], "identifier": ["id"], "confidential": ["sick"], "k": 4}
FRAMES = {
    "pyarrow": ARROW,
    "polars": pl.DataFrame(ARROW),
    "pandas": ARROW.to_pandas(),
    "pandas on Arrow": ARROW.to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.mark.parametrize("name", FRAMES)
def test_the_same_kind_of_frame_comes_back(name: str) -> None:
    frame = FRAMES[name]
    before = frame.copy() if hasattr(frame, "copy") else frame
    done = shoal.protect(frame, RECIPE)
    assert type(done.data) is type(frame)
    columns = list(done.data.column_names if name == "pyarrow" else done.data.columns)
    assert columns == ["note", "age", "income", "born", "seen", "sick"]
    assert len(done.data) == N
    assert frame.equals(before)
    assert done.audit.overall.achieved >= 4
    for kept in ("note", "sick"):
        assert done.data[kept].equals(frame[kept])


@pytest.mark.parametrize("name", FRAMES)
def test_all_kinds_of_frames_give_the_same_values(name: str) -> None:
    done = shoal.protect(FRAMES[name], RECIPE)
    expected = shoal.protect(ARROW, RECIPE)
    assert np.array_equal(done.partition.labels, expected.partition.labels)
    assert [float(v) for v in done.data["income"].to_numpy()] == expected.data["income"].to_pylist()


def test_pandas_index_means_nothing() -> None:
    frame = FRAMES["pandas"].set_index(pd.Index([7] * N))
    assert np.array_equal(shoal.protect(frame, RECIPE).partition.labels, shoal.protect(ARROW, RECIPE).partition.labels)


def test_pandas_index_that_names_people_does_not_leave() -> None:
    frame = FRAMES["pandas"].copy()
    bare = frame.drop(columns="id").set_index(frame["id"].to_numpy())
    frame.attrs["who"] = "p7"
    numbered = frame.drop(columns="id").set_index(pd.Index(range(900, 900 + N)))
    for named in (frame.set_index("id"), bare, frame.set_index(["id", "note"]), numbered):
        done = shoal.protect(named, {**RECIPE, "identifier": []})
        assert done.data.index.equals(pd.RangeIndex(N))
        assert "p7" not in done.data.to_csv() + str(done.data.attrs)


def test_notes_of_pandas_in_the_schema_do_not_leave(tmp_path: Path) -> None:
    noted = pa.Table.from_pandas(FRAMES["pandas"])
    assert b"id" in noted.schema.metadata[b"pandas"]
    assert not shoal.protect(noted, RECIPE).data.schema.metadata
    pq.write_table(noted, tmp_path / "in.parquet")
    shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.parquet", RECIPE)
    assert b"pandas" not in (pq.read_schema(tmp_path / "out.parquet").metadata or {})


def test_a_recipe_is_saved_with_the_output_or_not_at_all(tmp_path: Path) -> None:
    shoal.write_table(ARROW, tmp_path / "in.csv")
    (tmp_path / "old.toml").write_text("precious")
    with pytest.raises(shoal.ParameterError, match=r"old\.toml: already exists"):
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE, save_recipe=tmp_path / "old.toml")
    with pytest.raises(shoal.DataError):
        shoal.protect_file(
            tmp_path / "in.csv", tmp_path / "out.csv", {**RECIPE, "k": 99}, save_recipe=tmp_path / "r.toml"
        )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "old.toml"]
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE, save_recipe=tmp_path / "r.toml")
    assert shoal.Recipe.load(tmp_path / "r.toml") == shoal.Recipe.from_dict(RECIPE)


def test_the_output_is_delimited_as_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x;y\n1,5;2\n2;3\n7;8\n9;9\n")
    recipe = {"quasi": ["x", "y"], "k": 2, "text": {"decimal": ","}}
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.tsv", recipe)
    assert (tmp_path / "out.tsv").read_text().splitlines()[:2] == ["x\ty", "1,8\t2"]
    shoal.protect_file(tmp_path / "out.tsv", tmp_path / "again.csv", recipe)
    assert (tmp_path / "again.csv").read_text().splitlines()[:2] == ["x;y", "1,8;2"]


def test_a_forgotten_decimal_comma_is_guessed_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x;y\n1,5;2\n2,5;3,5\n7,5;8\n9,25;9\n")
    with pytest.raises(shoal.DataError) as refused:
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", {"quasi": ["x", "y"], "k": 2})
    assert "Column 'x'" in str(refused.value)
    assert str(refused.value).count("--decimal ','") == 2


@pytest.mark.parametrize(
    ("type_", "released"),
    [
        (pa.int8(), pa.int8()),
        (pa.uint64(), pa.uint64()),
        (pa.float32(), pa.float32()),
        (pa.float64(), pa.float64()),
        (pa.decimal128(12, 2), pa.decimal128(12, 2)),
        (pa.date32(), pa.date32()),
        (pa.date64(), pa.date64()),
        (pa.timestamp("s"), pa.timestamp("s")),
        (pa.timestamp("ns"), pa.timestamp("ns")),
        (pa.timestamp("ms", tz="Europe/Madrid"), pa.timestamp("ms", tz="Europe/Madrid")),
    ],
)
def test_types_are_kept(type_: pa.DataType, released: pa.DataType) -> None:
    numbers = RNG.permutation(N)
    if pa.types.is_decimal(type_):
        column = pa.array([Decimal(int(v)) / 4 for v in numbers], type_)
    elif type_ == pa.date64():
        column = pa.array(numbers).cast(pa.int32()).cast(pa.date32()).cast(type_)
    elif pa.types.is_date(type_):
        column = pa.array(numbers).cast(pa.int32()).cast(type_)
    else:
        column = pa.array(numbers).cast(type_)
    done = shoal.protect(pa.table({"x": column}), {"quasi": ["x"], "k": 3})
    assert done.data.schema.field("x").type == released
    assert done.audit.overall.achieved >= 3
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        exact = shoal.protect(pa.table({"x": column}), {"quasi": ["x"], "k": 3, "exact_means": True})
        assert exact.data.schema.field("x").type == pa.float64()


def test_blocks_are_partitioned_each_on_its_own() -> None:
    recipe = {**RECIPE, "blocks": [["age", "born"], ["income", "seen"]]}
    done = shoal.protect(ARROW, recipe)
    first, second, over_all = (f for f in done.audit.findings if f.model == "k_anonymity")
    assert (first.attributes, first.required, first.holds) == (("age", "born"), 4, True)
    assert (second.attributes, second.required, second.holds) == (("income", "seen"), 4, True)
    assert over_all.required is None
    assert over_all.achieved < 4
    assert "not promised" in over_all.note
    assert done.audit.to_dict()["k"] == over_all.achieved
    assert [block.attributes for block in done.partition.blocks] == [("age", "born"), ("income", "seen")]
    assert len(done.partition) == over_all.classes
    alone = shoal.protect(ARROW.select(["age", "born"]), {"quasi": ["age", "born"], "k": 4})
    assert np.array_equal(done.partition.blocks[0].labels, alone.partition.labels)
    assert done.data["age"].equals(alone.data["age"])


def test_classes_do_not_cross_strata() -> None:
    frame = ARROW.append_column("region", pa.array(["n", "s", None, "s"] * (N // 4)))
    done = shoal.protect(frame, {**RECIPE, "strata": ["region"]})
    pairs = set(zip(done.partition.labels.tolist(), frame["region"].to_pylist(), strict=True))
    assert len(pairs) == len(done.partition)
    sized = [f for f in done.audit.findings if f.model == "k_anonymity"]
    assert [f.attributes[-1] for f in sized] == ["seen", "region"]
    with pytest.raises(shoal.DataError, match=r"at least k = 11 records; 2 of 3 hold fewer \(the smallest 10\)"):
        shoal.protect(frame, {**RECIPE, "strata": ["region"], "k": 11})


def test_weighted_means_keep_weighted_totals() -> None:
    weight = RNG.uniform(1, 50, N)
    frame = ARROW.append_column("w", pa.array(weight))
    done = shoal.protect(frame, {**RECIPE, "weight": "w"})
    before, after = ((f["income"].to_numpy() * weight).sum() for f in (frame, done.data))
    assert after == pytest.approx(before)
    unweighted = shoal.protect(ARROW, RECIPE)
    assert not np.allclose(done.data["income"].to_numpy(), unweighted.data["income"].to_numpy())
    with pytest.raises(shoal.DataError, match="Column 'w': weights must be ≥ 0; negative in data rows 1, 2"):
        shoal.protect(ARROW.append_column("w", pa.array(-weight)), {**RECIPE, "weight": "w"})


def test_k_counts_subjects_where_they_are_named() -> None:
    alone = ARROW.append_column("who", pa.array(range(N)))
    done = shoal.protect(alone, {**RECIPE, "subject": "who"})
    assert "who" not in done.data.column_names
    assert done.audit.overall.note == "counted in subjects"
    twins = ARROW.append_column("who", pa.array([0] * N))
    with pytest.raises(shoal.DataError, match=r"must be at most 1, got 4: .* \(counted in subjects\)"):
        shoal.protect(twins, {**RECIPE, "subject": "who"})


def test_infinities_are_refused_by_row_and_missing_values_are_not() -> None:
    frame = pa.table({"x": pa.array([1.0, None, 3.0, None]), "y": pa.array([1.0, None, float("inf"), 4.0])})
    with pytest.raises(shoal.DataError) as refused:
        shoal.protect(frame, {"quasi": ["x", "y"], "k": 2})
    assert "Column 'x'" not in str(refused.value)
    assert "Column 'y': values must be finite; 1 of 4 are NaN or infinite, in data row 3." in str(refused.value)


@pytest.mark.parametrize("kind", ["ordinal", "nominal"])
def test_categories_leave_with_one_that_a_member_has(kind: str) -> None:
    done = shoal.protect(ARROW, {**RECIPE, "kinds": {"age": kind}})
    assert done.audit.overall.achieved >= RECIPE["k"]
    assert done.data["age"].type == ARROW["age"].type
    for label in range(len(done.partition)):
        rows = np.flatnonzero(done.partition.labels == label)
        assert done.data["age"][int(rows[0])].as_py() in ARROW["age"].take(rows).to_pylist()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow"])
@pytest.mark.parametrize("target", [".csv", ".parquet", ".arrow"])
def test_files_of_any_format_give_the_same_values(tmp_path: Path, suffix: str, target: str) -> None:
    source, output = tmp_path / f"in{suffix}", tmp_path / f"out{target}"
    shoal.write_table(ARROW, source)
    done = shoal.protect_file(source, output, {**RECIPE, "row_order": "keep"})
    expected = shoal.protect(ARROW, RECIPE)
    assert np.array_equal(done.partition.labels, expected.partition.labels)
    assert done.readings.to_dict() == pytest.approx(expected.readings.to_dict())
    again = shoal.audit_file(output, quasi=RECIPE["quasi"], require={"k": 4})
    assert again.holds
    if target == ".parquet" and suffix != ".parquet":
        assert pq.read_schema(output).field("income").type == pa.float64()
        assert pq.read_schema(output).field("born").type == pa.date32()


def test_cells_that_are_not_touched_are_kept_to_the_letter(tmp_path: Path) -> None:
    text = (
        'zip;x;when;note\r\n007;1,50;01.02.2020;"a;b"\r\n0120;2,5;03.02.2020;\r\n'
        '9;3;05.02.2020;""\r\n8;4;07.02.2020;é\r\n'
    )
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(text.encode("latin-1"))
    recipe = {
        "quasi": ["x", "when"],
        "k": 2,
        "text": {"decimal": ",", "encoding": "latin-1", "datetime": "%d.%m.%Y"},
    }
    shoal.protect_file(source, output, recipe)
    assert output.read_bytes().decode("latin-1") == (
        'zip;x;when;note\r\n007;2;02.02.2020;"a;b"\r\n0120;2;02.02.2020;\r\n'
        '9;3,5;06.02.2020;""\r\n8;3,5;06.02.2020;é\r\n'
    )


def test_what_fails_its_audit_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.release.centroid import Centroid

    honest = Centroid.release

    def leaking(self: Centroid, *arguments: object) -> object:
        release = honest(self, *arguments)  # type: ignore[arg-type]
        values = release.data["income"].to_pylist()
        values[3] += 1
        index = release.data.column_names.index("income")
        object.__setattr__(release, "data", release.data.set_column(index, "income", pa.array(values)))
        return release

    monkeypatch.setattr(Centroid, "release", leaking)
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    shoal.write_table(ARROW, source)
    with pytest.raises(shoal.GuaranteeError, match="requires 4 and achieves 1"):
        shoal.protect_file(source, output, RECIPE)
    with pytest.raises(shoal.GuaranteeError, match="Nothing was written"):
        shoal.protect(ARROW, RECIPE)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_sink_that_loses_a_value_or_a_row_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.io.sinks.csv import Csv

    honest = Csv.write
    source = tmp_path / "in.csv"
    shoal.write_table(ARROW, source)
    wrong = {
        "lacks rows": lambda table: table.slice(0, 39),
        "'note' changed": lambda table: table.set_column(0, "note", table["note"].fill_null("x")),
    }
    for message, change in wrong.items():

        def write(self: Csv, table: pa.Table, path: Path, dialect: object, change=change) -> None:
            honest(self, change(table), path, dialect)  # type: ignore[arg-type]

        monkeypatch.setattr(Csv, "write", write)
        with pytest.raises(shoal.GuaranteeError, match=message):
            shoal.protect_file(source, tmp_path / "out.csv", RECIPE)
    assert not (tmp_path / "out.csv").exists()


def test_an_identifier_that_would_leave_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.types import Partition, Release, Schema

    release = Release(ARROW, Schema(()))
    partition = Partition.of(np.zeros(N, np.int64), RECIPE["quasi"])
    with pytest.raises(shoal.GuaranteeError, match="Identifiers would have been released: id"):
        gate(release, promise_of(shoal.Recipe.from_dict(RECIPE), partition))


def test_the_gate_does_not_believe_the_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.partition.auto import Auto
    from shoal.types import Partition

    def alone(self: Auto, points: object, rng: object) -> Partition:
        return Partition.of(np.arange(N), tuple(RECIPE["quasi"]))

    monkeypatch.setattr(Auto, "partition", alone)
    with pytest.raises(shoal.GuaranteeError, match="requires 4 and achieves 1"):
        shoal.protect(ARROW, RECIPE)


def test_findings_hold_no_value() -> None:
    done = shoal.protect(ARROW, RECIPE)
    finding = done.audit.overall
    assert isinstance(finding, Finding)
    assert all(isinstance(number, int) for pair in finding.worst for number in pair)


def test_columns_that_arrow_cannot_hold_pass_through_pandas() -> None:
    frame = FRAMES["pandas"].assign(mixed=[1, "a"] * (N // 2))
    done = shoal.protect(frame, RECIPE)
    assert done.data["mixed"].tolist() == frame["mixed"].tolist()
    with pytest.raises(shoal.SchemaError, match="column 'mixed' holds values of mixed types"):
        shoal.protect(frame, {**RECIPE, "quasi": ["mixed"]})


def test_scale_is_a_setting() -> None:
    labels = [
        shoal.protect(ARROW, {**RECIPE, "set": {"scale": scale}}).partition.labels.tolist()
        for scale in ("standard", "range", "none")
    ]
    assert labels[0] != labels[2]
    with pytest.raises(
        shoal.ParameterError, match="scale must be one of 'auto', 'standard', 'range', 'none', got 'log'"
    ):
        shoal.protect(ARROW, {**RECIPE, "set": {"scale": "log"}})
    with pytest.raises(shoal.ParameterError, match="no parameter \\(in set\\) is called 'scael'"):
        shoal.protect(ARROW, {**RECIPE, "set": {"scael": "none"}})


def test_notes_on_columns_are_kept_in_files_on_demand(tmp_path: Path) -> None:
    field = pa.field("x", pa.float64(), nullable=False, metadata={"unit": "km"})
    table = pa.Table.from_arrays([pa.array([1.0, 2.0, 3.0])], schema=pa.schema([field], metadata={"source": "us"}))
    pq.write_table(table, tmp_path / "in.parquet")
    recipe = {"quasi": ["x"], "k": 3}
    shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.parquet", recipe, keep_metadata=True)
    schema = pq.read_schema(tmp_path / "out.parquet")
    assert schema.field("x").metadata[b"unit"] == b"km"
    assert schema.metadata[b"source"] == b"us"


def test_text_becomes_values_only_where_nothing_is_lost(tmp_path: Path) -> None:
    rows = "".join(
        f"{i},{i}.5,123456789012345678{i},2020-01-0{i}T10:00:00+02:00,{'x' if i == 3 else i}\n" for i in range(1, 7)
    )
    (tmp_path / "in.csv").write_text("x,y,account,zoned,mixed\n" + rows)
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.parquet", {"quasi": ["x"], "identifier": [], "k": 3})
    table = pq.read_table(tmp_path / "out.parquet")
    assert [str(t) for t in table.schema.types] == ["int64", "double", "string", "string", "string"]
    assert table["account"].to_pylist()[0] == "1234567890123456781"


def test_means_of_moments_centuries_apart_stay_between_them() -> None:
    ends = [datetime(1700, 1, 1), datetime(2262, 4, 10), datetime(2262, 4, 10)]
    done = shoal.protect(pa.table({"x": pa.array(ends, pa.timestamp("ns"))}), {"quasi": ["x"], "k": 3})
    mean = done.data["x"].cast(pa.timestamp("us")).to_pylist()[0]
    assert abs((mean - datetime(2074, 11, 7)).days) < 2
    assert np.isfinite(done.readings["il_sse"])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([Decimal(10) ** 37] * 3, pa.decimal256(40, 2)),
        pa.array([Decimal("9" * 20)] * 3, pa.decimal128(20, 0)),
        pa.array([9007199254740993] * 3, pa.int64()),
        pa.array([2**64 - 1] * 3, pa.uint64()),
        pa.array([2**63 - 1] * 3, pa.int64()),
    ],
)
def test_equal_values_leave_as_they_are_in_types_with_more_digits_than_a_float(column: pa.Array) -> None:
    recipe = {"quasi": ["x"], "k": 3, "set": {"round_integers": True}}
    assert shoal.protect(pa.table({"x": column}), recipe).data["x"].to_pylist() == column.to_pylist()


def test_weights_at_the_ends_of_the_range() -> None:
    for weights in ([1e308] * 3, [5e-324] * 3, [1e308, 1e-308, 1e-308]):
        frame = pa.table({"x": [1.0, 2.0, 6.0], "w": weights})
        done = shoal.protect(frame, {"quasi": ["x"], "weight": "w", "k": 3})
        assert done.data["x"].to_pylist()[0] == (1.0 if weights[1] == 1e-308 else 3.0)


def test_strata_of_any_type() -> None:
    codes = ["n", "s", None, "s"] * (N // 4)
    for column in (
        pa.array(codes).dictionary_encode(),
        pa.array(codes, pa.large_string()),
        pa.array([1, 2] * (N // 2)),
    ):
        frame = ARROW.append_column("region", column)
        assert shoal.protect(frame, {**RECIPE, "strata": ["region"]}).audit.holds
    categories = FRAMES["pandas"].assign(region=pd.Categorical(codes))
    assert shoal.protect(categories, {**RECIPE, "strata": ["region"]}).audit.holds
    with pytest.raises(shoal.DataError, match="cannot be strata"):
        shoal.protect(ARROW.append_column("l", pa.array([[1]] * N)), {**RECIPE, "strata": ["l"]})


def test_a_repr_shows_no_cell() -> None:
    secret = pa.table({"x": [31415926.5] * 3, "c": ["SECRET"] * 3})
    done = shoal.protect(secret, {"quasi": ["x"], "confidential": ["c"], "k": 3})
    from shoal.flow.stages.encode import encode
    from shoal.flow.stages.read import schema_for
    from shoal.points.encoding import Encoding
    from shoal.types import Comparison, Release, Table

    table = Table(secret, schema_for(secret, done.recipe, None))
    _, attributes = encode(table, ["x"])
    points = Encoding(scale="none").encode(attributes)
    release = Release(secret, table.schema, None, secret["c"])
    pair = Comparison(points.coordinates, points.coordinates, ("x",))
    for thing in (done, done.partition, done.audit, done.readings, table, attributes, points, release, pair):
        assert "31415926" not in repr(thing)
        assert "SECRET" not in repr(thing)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["SECRET", "1", "2"], "continuous"),
        (["SECRET", "1", "2"], "datetime"),
        ([1.5, 31415926.5, 3.0], "datetime"),
        ([1.0, 31415926.0, 3.0], "datetime"),
        ([True, False, True], "datetime"),
        ([True, False, True], "continuous"),
        ([datetime(2020, 1, 1)] * 3, "continuous"),
    ],
)
def test_a_kind_that_does_not_fit_is_refused_without_a_value(column: list, kind: str) -> None:
    frame = pa.table({"x": column})
    with pytest.raises(shoal.DataError, match="Column 'x'") as refused:
        shoal.protect(frame, {"quasi": ["x"], "k": 2, "kinds": {"x": kind}})
    assert "SECRET" not in str(refused.value)
    assert "31415926" not in str(refused.value)


def test_texts_that_are_numbers_may_be_called_so() -> None:
    frame = pa.table({"x": ["1", "2", "6"]})
    assert (
        shoal.protect(frame, {"quasi": ["x"], "k": 3, "kinds": {"x": "continuous"}}).data["x"].to_pylist() == [3.0] * 3
    )


def test_comparing_with_text_shows_no_value() -> None:
    with pytest.raises(shoal.DataError) as refused:
        shoal.compare(pa.table({"a": [1, 2]}), pa.table({"a": ["SECRET"] * 2}), ["a"])
    assert "SECRET" not in str(refused.value)
    for columns, fault in (("a", "must be a list of column names"), ([], "must name at least one column, got none")):
        with pytest.raises(shoal.ParameterError, match=f"columns {fault}"):
            shoal.compare(pa.table({"a": [1, 2]}), pa.table({"a": [1, 2]}), columns)
    with pytest.raises(shoal.ParameterError, match="columns must be a list of column names, got 'name'"):
        shoal.compare(pa.table({"name": [1, 2]}), pa.table({"name": [1, 2]}), "name")


def test_the_order_of_a_block_does_not_matter() -> None:
    done = shoal.protect(ARROW, {**RECIPE, "blocks": [["seen", "born", "income", "age"]]})
    assert done.audit.overall.attributes == tuple(RECIPE["quasi"])
    assert done.audit.overall.holds


def test_numbers_of_numpy_will_do() -> None:
    assert shoal.protect(ARROW, {**RECIPE, "k": np.int64(4)}).recipe == shoal.Recipe.from_dict(RECIPE)
    assert len({shoal.Recipe.from_dict(RECIPE), shoal.Recipe.from_dict(RECIPE)}) == 1
    assert shoal.microaggregate(np.arange(9.0), np.int32(3), seed=np.int64(1)).sizes.tolist() == [3, 3, 3]


@pytest.mark.parametrize("recipe", [5, [1]])
def test_what_is_no_recipe_is_refused(recipe: object) -> None:
    with pytest.raises(shoal.ParameterError, match="recipe must be a Recipe, a mapping or a path"):
        shoal.protect(ARROW, recipe)  # type: ignore[arg-type]
    with pytest.raises(shoal.ParameterError, match="quasi must be given"):
        shoal.protect(ARROW)


def test_a_column_may_be_called_like_anything() -> None:
    frame = FRAMES["pandas"].rename(columns={"age": "self", "income": "class"})
    done = shoal.protect(frame, {"quasi": ["self", "class"], "k": 4})
    assert done.audit.overall.achieved >= 4


def test_what_is_said_of_text_holds_for_the_output_or_is_refused(tmp_path: Path) -> None:
    shoal.write_table(ARROW, tmp_path / "in.parquet")
    recipe = {**RECIPE, "text": {"delimiter": ";", "decimal": ","}}
    shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.csv", recipe)
    header, first = (tmp_path / "out.csv").read_text().splitlines()[:2]
    assert header == "note;age;income;born;seen;sick"
    assert "," in first.split(";")[2]
    with pytest.raises(shoal.ParameterError, match="is not a text file, so delimiter, decimal cannot be set"):
        shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.parquet", recipe)


def test_a_recipe_must_not_replace_the_data(tmp_path: Path) -> None:
    shoal.write_table(ARROW, tmp_path / "in.csv")
    before = (tmp_path / "in.csv").read_bytes()
    for name in ("in.csv", "out.csv"):
        with pytest.raises(shoal.ParameterError, match="must not replace the input or the output"):
            shoal.protect_file(
                tmp_path / "in.csv", tmp_path / "out.csv", RECIPE, force=True, save_recipe=tmp_path / name
            )
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]
    assert (tmp_path / "in.csv").read_bytes() == before


def test_a_float_that_changed_on_the_disk_is_seen() -> None:
    nan = float("nan")
    before = pa.chunked_array([[1.0, nan, None]])
    assert read_back._same(before, pa.chunked_array([[1.0, nan, None]]))
    for after in ([1.5, nan, None], [1.0, 2.0, None], [1.0, nan, 3.0], [1.0, None, None]):
        assert not read_back._same(before, pa.chunked_array([pa.array(after, pa.float64(), from_pandas=False)]))
    large = pa.chunked_array([pa.array(["a", None], pa.large_string())])
    assert read_back._same(large, pa.chunked_array([["a", None]]))
    assert not read_back._same(large, pa.chunked_array([["b", None]]))
    seconds = pa.chunked_array([pa.array([5], pa.timestamp("s"))])
    assert read_back._same(seconds, pa.chunked_array([pa.array([5000], pa.timestamp("ms"))]))


def test_cells_with_a_decimal_comma_in_quotes_between_commas(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('x,y\n"1,5",a\n"2,5",b\n7,c\n9,d\n')
    recipe = {"quasi": ["x"], "k": 2, "text": {"delimiter": ",", "decimal": ","}}
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe)
    assert (tmp_path / "out.csv").read_text() == "x,y\n2,a\n2,b\n8,c\n8,d\n"
