"""Nothing that accompanies the released table comes from the input: metadata, categories, properties, time stamps."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import parquet

import shoal
from shoal.errors import GuaranteeError
from shoal.flow.gate import read_back as flow_metadata
from shoal.flow.protect import protect as flow_protect
from shoal.types.released import released, released_column
from shoal.types.statistical_files import FileNotes, Variable

SECRET = b"Sycamore"
AGES = [31, 33, 62, 60, 35, 61]
RECIPE = {"quasi": ["age"], "confidential": ["ill"], "k": 3, "identifier": ["name"]}
SPARK = "org.apache.spark.sql.parquet.row.metadata"
ML = json.dumps({"fields": [{"name": "town", "metadata": {"ml_attr": {"vals": ["Sycamore", "Oak"]}}}]})


def people(**metadata: str) -> pa.Table:
    """Six people; the illness has an unused category, and columns and table carry metadata."""
    ill = pa.DictionaryArray.from_arrays(pa.array([3, 1, 1, 3, 1, 3], pa.int8()), ["Sycamore", "flu", "none", "cold"])
    fields = [
        pa.field("name", pa.string()),
        pa.field("age", pa.int64(), metadata={"note": "Sycamore is 99"}),
        pa.field("ill", ill.type, metadata={"labels": "Sycamore"}),
        pa.field("visits", pa.list_(pa.field("item", pa.int64(), metadata={"note": "Sycamore"}))),
    ]
    visits = pa.array([[1], None, [], [2, 3], [4], [5]], fields[3].type)
    return pa.table([list("abcdef"), AGES, ill, visits], schema=pa.schema(fields, metadata=metadata))


def written(path: Path, table: pa.Table) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


def schema_of(path: Path) -> pa.Schema:
    if path.suffix == ".parquet":
        return parquet.read_schema(path)
    return pa.ipc.open_file(pa.OSFile(str(path))).schema


FORMATS = pytest.mark.parametrize("suffix", [".parquet", ".arrow"])


@FORMATS
def test_metadata_of_files_is_dropped(tmp_path: Path, suffix: str) -> None:
    pandas = {"pandas": json.dumps({"columns": [{"name": "Sycamore"}]})}
    source = written(tmp_path / f"in{suffix}", people(**{SPARK: ML, "source": "Sycamore"}, **pandas))
    done = shoal.protect_file(source, tmp_path / f"out{suffix}", RECIPE)
    schema = schema_of(tmp_path / f"out{suffix}")
    assert not schema.metadata
    assert [field.metadata for field in schema] == [None] * 3
    assert schema.field("visits").type.value_field.metadata is None
    data = (tmp_path / f"out{suffix}").read_bytes()
    assert SECRET not in data
    assert b"note" not in data
    assert done.notes == (flow_metadata._DROPPED,)
    assert done.data.schema.metadata is None


@FORMATS
def test_metadata_is_kept_on_demand_with_a_warning(tmp_path: Path, suffix: str, run: Callable[..., Any]) -> None:
    source = written(tmp_path / f"in{suffix}", people(**{SPARK: ML}, pandas="{}"))
    out = tmp_path / f"out{suffix}"
    options = ["--quasi", "age", "--confidential", "ill", "--identifier", "name", "--k", "3", "--keep-metadata"]
    said = run("protect", source, "-o", out, *options)
    assert said.code == 0, said.err
    assert "read it before you publish" in " ".join(said.out.split())
    schema = schema_of(out)
    assert schema.metadata == {SPARK.encode(): ML.encode()}
    assert schema.field("age").metadata == {b"note": b"Sycamore is 99"}
    assert schema.field("visits").type.value_field.metadata == {b"note": b"Sycamore"}
    said = run("protect", source, "-o", out, *options, "--json", "--force")
    assert json.loads(said.out)["notes"] == [flow_metadata._KEPT]


def test_tables_without_metadata_get_no_note(tmp_path: Path) -> None:
    frame = pd.DataFrame({"name": list("abcdef"), "age": AGES, "ill": pd.Categorical(list("xyxyxy"))})
    frame.to_parquet(tmp_path / "in.parquet")  # with the notes of pandas, which are not needed
    assert shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.parquet", RECIPE).notes == ()
    assert shoal.protect(frame, RECIPE, keep_metadata=True).notes == ()


@FORMATS
def test_categories_that_do_not_occur_are_dropped_everywhere(tmp_path: Path, suffix: str) -> None:
    cells = people().column("ill").combine_chunks()
    table = people().append_column("town", cells).append_column("both", pa.StructArray.from_arrays([cells], ["one"]))
    source = written(tmp_path / f"in{suffix}", table)
    recipe = {**RECIPE, "quasi": ["age", "town"], "release": "medoid"}
    if suffix == ".parquet":  # which has no categories inside records
        source = written(source, table.drop_columns(["both"]))
    shoal.protect_file(source, tmp_path / f"out{suffix}", recipe)
    out = tmp_path / f"out{suffix}"
    table = parquet.read_table(out) if suffix == ".parquet" else pa.ipc.open_file(out.read_bytes()).read_all()
    assert table["ill"].chunk(0).dictionary.to_pylist() == ["cold", "flu"]  # sorted
    assert set(table["town"].chunk(0).dictionary.to_pylist()) <= {"cold", "flu"}
    assert suffix == ".parquet" or table["both"].chunk(0).field(0).dictionary.to_pylist() == ["cold", "flu"]


def test_the_gate_refuses_metadata_and_categories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = written(tmp_path / "in.parquet", people(source="clinic"))
    monkeypatch.setattr(flow_protect, "with_released_metadata", lambda release, **_: release)
    with pytest.raises(GuaranteeError, match="metadata that may not be released, of the table, column 'age'"):
        shoal.protect_file(source, tmp_path / "out.parquet", RECIPE)
    bare = people().replace_schema_metadata(None).cast(pa.schema([(f.name, f.type) for f in people().schema]))
    written(source, bare.drop_columns(["visits"]))
    with pytest.raises(GuaranteeError, match="categories that do not occur, in 'ill'"):
        shoal.protect_file(source, tmp_path / "out.parquet", RECIPE)
    assert not (tmp_path / "out.parquet").exists()


def test_the_gate_refuses_properties_of_workbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.io.sinks import excel

    monkeypatch.setattr(excel, "_save", lambda book, path: book.save(path))  # by openpyxl, now
    with pytest.raises(GuaranteeError, match="of creator, created, modified"):
        shoal.protect_file(csv_of(tmp_path), tmp_path / "out.xlsx", {"quasi": ["age"], "k": 3})


def csv_of(folder: Path) -> Path:
    rows = "\n".join(f"{age},{place}" for age, place in zip(AGES, "xyzxyz", strict=True))
    (folder / "in.csv").write_text(f"age,town\n{rows}\n")
    return folder / "in.csv"


# frames


def test_pandas_frames() -> None:
    frame = people().drop_columns(["visits"]).to_pandas()
    frame["rank"] = pd.Categorical(list("cabcab"), ["c", "Sycamore", "b", "a"], ordered=True)
    frame["arrow"] = pd.array(list("xyxyxy"), pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))
    frame["region"] = pd.Categorical(list("uuuvvv"), ["v", "u", "Sycamore"])
    frame.attrs["source"] = "Sycamore"
    frame.columns.name = "Sycamore"
    recipe = {**RECIPE, "quasi": ["age", "rank"], "k": 2}
    before = frame.copy(deep=True)
    done = shoal.protect(frame, recipe)
    assert done.data["ill"].cat.categories.tolist() == ["cold", "flu"]
    assert done.data["region"].cat.categories.tolist() == ["u", "v"]
    assert done.data["ill"].tolist() == frame["ill"].tolist()
    assert set(done.data["rank"].cat.categories) <= set("cab")
    assert done.data["rank"].cat.ordered
    assert done.data.attrs == {}
    assert done.data.columns.name is None
    assert SECRET not in pickle.dumps(done.data)
    pd.testing.assert_frame_equal(frame, before)
    assert frame.attrs == {"source": "Sycamore"}
    kept = shoal.protect(frame, recipe, keep_metadata=True).data
    assert kept.attrs == {"source": "Sycamore"}
    assert kept.columns.name == "Sycamore"
    assert kept["ill"].cat.categories.tolist() == ["cold", "flu"]


def test_polars_frames() -> None:
    enum = pl.Enum(["flu", "Sycamore", "cold"])
    frame = pl.DataFrame(
        {
            "name": list("abcdef"),
            "age": AGES,
            "ill": pl.Series(["cold", "flu"] * 3, dtype=enum),
            "had": pl.Series([["cold"], ["flu"], None, [], ["flu"], ["flu"]], dtype=pl.List(enum)),
            "town": pl.Series(["x", "y", "Sycamore"] * 3, dtype=pl.Categorical)[[0, 1, 0, 1, 0, 1]],
        }
    )
    done = shoal.protect(frame, {**RECIPE, "quasi": ["age", "town"]}).data
    assert done["ill"].dtype == pl.Enum(["flu", "cold"])  # in their order
    assert done["ill"].to_list() == frame["ill"].to_list()
    assert done["had"].dtype == pl.List(pl.Enum(["flu", "cold"]))
    assert done["had"].to_list() == frame["had"].to_list()
    assert done["town"].dtype == pl.Categorical
    for save in ("write_parquet", "write_ipc"):
        getattr(done, save)(data := io.BytesIO())
        assert SECRET not in data.getvalue()
    assert SECRET not in pickle.dumps(done)
    assert "Sycamore" not in str(done.to_arrow().schema)
    assert "Sycamore" not in done.to_arrow().column("town").unify_dictionaries().chunk(0).dictionary.to_pylist()


def test_pyarrow_tables() -> None:
    table = people(source="Sycamore")
    done = shoal.protect(table, RECIPE)
    assert done.data.schema.metadata is None
    assert [field.metadata for field in done.data.schema] == [None] * 3
    assert done.data["ill"].chunk(0).dictionary.to_pylist() == ["cold", "flu"]
    assert done.notes == (flow_metadata._DROPPED,)
    kept = shoal.protect(table, RECIPE, keep_metadata=True)
    assert kept.data.schema.metadata == {b"source": b"Sycamore"}
    assert kept.data.schema.field("ill").metadata == {b"labels": b"Sycamore"}
    assert kept.notes == (flow_metadata._KEPT,)


def test_anatomy_has_two_tables_without_metadata(tmp_path: Path) -> None:
    recipe = {**RECIPE, "release": "anatomy", "k": 2}
    done = shoal.protect(people(source="Sycamore"), recipe)
    assert done.confidential.schema.metadata is None
    assert done.confidential.schema.field("ill").metadata is None
    assert done.confidential["ill"].chunk(0).dictionary.to_pylist() == ["cold", "flu"]
    source = written(tmp_path / "in.parquet", people(source="Sycamore"))
    done = shoal.protect_file(source, tmp_path / "out.parquet", recipe)
    for path in (tmp_path / "out.parquet", Path(done.beside)):
        assert SECRET not in path.read_bytes()
        assert not schema_of(path).metadata


# statistical packages and Excel


def survey(package: str) -> pa.Table:
    sex = Variable(package, label="Sex", measure="nominal", labels=((1.0, "female"), (2.0, "male"), (3.0, "Sycamore")))
    fields = [pa.field("age", pa.float64()), sex.onto(pa.field("sex", pa.float64()))]
    notes = FileNotes(package, label="Clinic of Sycamore", notes=("Sycamore wrote this",))
    cells: list[Any] = [[float(age) for age in AGES], [1.0, 2.0] * 3]
    return pa.table(cells, schema=pa.schema(fields, metadata=notes.metadata()))


@pytest.mark.parametrize(("name", "package"), [("a.sav", "spss"), ("a.zsav", "spss"), ("a.dta", "stata")])
def test_labels_and_notes_of_statistical_files(tmp_path: Path, name: str, package: str) -> None:
    source, out = tmp_path / f"in-{name}", tmp_path / name
    shoal.write_table(survey(package), source, keep_metadata=True)
    read = pyreadstat.read_dta if package == "stata" else pyreadstat.read_sav
    assert read(str(source))[1].file_label == "Clinic of Sycamore"
    recipe = {"quasi": ["age"], "k": 3}
    done = shoal.protect_file(source, out, recipe)
    assert done.notes == (flow_metadata._DROPPED,)
    meta = read(str(out))[1]
    assert not meta.file_label
    assert meta.notes == []
    assert meta.creation_time == dt.datetime(1980, 1, 1)
    assert meta.column_names_to_labels["sex"] == "Sex"
    assert meta.variable_value_labels["sex"] == {1.0: "female", 2.0: "male", 3.0: "Sycamore"}  # the questionnaire
    assert b"Clinic of" not in out.read_bytes()
    assert shoal.protect_file(source, out, recipe, force=True, keep_metadata=True).notes == (flow_metadata._KEPT,)
    kept = read(str(out))[1]
    assert kept.file_label == "Clinic of Sycamore"
    assert kept.notes == (["Sycamore wrote this"] if package == "spss" else [])
    shoal.protect_file(source, tmp_path / "out.parquet", recipe)
    assert b"Clinic of" not in (tmp_path / "out.parquet").read_bytes()


@pytest.mark.parametrize("version", range(8, 16))
@pytest.mark.parametrize("label", [None, "about <label> and <timestamp>"])
def test_time_stamps_of_stata(tmp_path: Path, version: int, label: str | None) -> None:
    from shoal.io.sinks.stata import Stata

    table = pa.table({"age": AGES}).replace_schema_metadata(FileNotes("stata", label=label).metadata())
    Stata(stata_version=version).write(table, tmp_path / "a.dta", None)
    values, meta = pyreadstat.read_dta(str(tmp_path / "a.dta"), output_format="dict")
    assert (meta.creation_time, meta.file_label or None) == (dt.datetime(1980, 1, 1), label)
    assert list(values["age"]) == AGES


def test_properties_of_workbooks(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [("age", "town"), *zip(AGES, "xyzxyz", strict=True)]:
        book.active.append(row)
    book.properties.creator = book.properties.title = book.properties.lastModifiedBy = "Sycamore"
    book.active["A2"].comment = openpyxl.comments.Comment("Sycamore", "Sycamore")
    book.defined_names["Sycamore"] = openpyxl.workbook.defined_name.DefinedName("Sycamore", attr_text="Sheet!$A$1")
    book.create_sheet("Sycamore").sheet_state = "hidden"
    book.save(tmp_path / "in.xlsx")
    shoal.protect_file(f"{tmp_path}/in.xlsx?sheet=Sheet", tmp_path / "out.xlsx", {"quasi": ["age"], "k": 3})
    with zipfile.ZipFile(tmp_path / "out.xlsx") as archive:
        assert all(member.date_time == (1980, 1, 1, 0, 0, 0) for member in archive.infolist())
        assert not any(SECRET in archive.read(name) for name in archive.namelist())
    made = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert made.properties.creator == "shoal"
    assert made.properties.created == made.properties.modified == dt.datetime(1980, 1, 1)
    assert made.properties.lastModifiedBy is None
    assert made.sheetnames == ["Sheet1"]


class Later(dt.datetime):
    """A clock that is years ahead."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Later:
        return cls(2031, 5, 6, 7, 8, 9, tzinfo=tz)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".xlsx", ".sav", ".zsav", ".dta"])
def test_the_same_release_gives_the_same_bytes(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = csv_of(tmp_path)
    first, second = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    shoal.protect_file(source, first, {"quasi": ["age"], "k": 3})
    monkeypatch.setattr("time.time", lambda: 1_936_000_000.0)
    monkeypatch.setattr("time.localtime", lambda *_: dt.datetime(2031, 5, 6).timetuple())
    monkeypatch.setattr("openpyxl.packaging.core.datetime.datetime", Later)
    shoal.protect_file(source, second, {"quasi": ["age"], "k": 3})
    data = first.read_bytes()
    assert data == second.read_bytes()
    year = dt.datetime.now().strftime("%Y")  # ReadStat asks the operating system, not Python
    assert suffix not in (".sav", ".zsav", ".dta") or not any(
        stamp.encode() in data for stamp in (f" {year} ", f" {year[2:]}") if stamp.strip()
    )


# layout


def test_values_under_missing_ones_are_not_released(tmp_path: Path) -> None:
    raw = np.array([7, 0x65726F6D61637953, 9], np.int64)  # the second spells a name
    assert raw.tobytes()[8:16] == b"Sycamore"
    hidden = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(raw.tobytes())])
    assert hidden.to_pylist() == [7, None, 9]
    made = released_column(pa.chunked_array([hidden]))
    assert made.to_pylist() == [7, None, 9]
    assert b"Sycamore" not in bytes(made.chunk(0).buffers()[1])


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([{"a": "x"}, None, {"a": "y"}]),
        pa.array([[1, 2], None, []]),
        pa.array([[1, 2], None, []], pa.large_list(pa.int64())),
        pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)),
        pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        pa.array([None, True, False]),
        pa.nulls(3),
        pa.array(["x", None, "y"], pa.string_view()),
        pa.array([b"x" * 16] * 3, pa.uuid()),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["z", "a"])),
        pa.DictionaryArray.from_arrays(pa.array([2, 1, 0]), pa.array(["x", None, "x"])),
        pa.DictionaryArray.from_arrays(pa.array([2, 1, 0]), pa.array([3.5, float("inf"), -1.0]), ordered=True),
    ],
    ids=lambda cells: str(cells.type)[:20],
)
def test_values_stay(cells: pa.Array) -> None:
    made = released_column(pa.chunked_array([cells.slice(0, 2), cells.slice(2)]))
    made.validate(full=True)
    assert made.to_pylist() == cells.to_pylist()
    assert made.type == cells.type
    assert made.num_chunks == 1


def test_layout_does_not_depend_on_how_the_input_came_in_pieces(tmp_path: Path) -> None:
    table = people()
    pieces = pa.concat_tables([table.slice(0, 1), table.slice(1, 3), table.slice(4)])
    found = []
    for number, (given, rows) in enumerate([(table, 6), (pieces, 2)]):
        parquet.write_table(given, tmp_path / f"{number}.parquet", row_group_size=rows)
        for suffix in (".parquet", ".arrow"):
            out = tmp_path / f"out{number}{suffix}"
            shoal.protect_file(tmp_path / f"{number}.parquet", out, RECIPE)
            found.append(out.read_bytes())
    assert found[:2] == found[2:]


def test_extension_types_are_kept_where_the_column_is_unchanged() -> None:
    noted = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": "{}", "other": "x"}
    strange = {"ARROW:extension:name": "clinic.patient", "ARROW:extension:metadata": "Sycamore"}
    fields = [pa.field("a", pa.binary(), metadata=noted), pa.field("b", pa.binary(), metadata=noted)]
    fields.append(pa.field("c", pa.binary(), metadata=strange))
    table = pa.table([[b"x"]] * 3, schema=pa.schema(fields))
    made = released(table, ["a", "c"]).schema
    assert made.field("a").metadata == {k.encode(): v.encode() for k, v in noted.items() if k != "other"}
    assert made.field("b").metadata is None
    assert made.field("c").metadata is None


def test_columns_may_have_a_whole_list_of_categories() -> None:
    table = people()
    listed = {"ill": ["none", "cold", "flu", "other"]}
    made = released(table, (), whole=listed)
    assert made["ill"].chunk(0).dictionary.to_pylist() == listed["ill"]
    assert made["ill"].to_pylist() == table["ill"].to_pylist()
    frame = pd.DataFrame({"ill": pd.Categorical(["flu"])})
    assert (
        flow_metadata.hand_over(frame, frame, shoal.Schema(()), keep=False, whole=listed)["ill"].cat.categories.tolist()
        == listed["ill"]
    )
    enums = pl.DataFrame({"ill": pl.Series(["flu"], dtype=pl.Enum(["flu"]))})
    made = flow_metadata.hand_over(enums, enums, shoal.Schema(()), keep=False, whole=listed)
    assert made["ill"].dtype == pl.Enum(listed["ill"])


# the exchange test, of categories


def as_parquet(frame: pd.DataFrame, folder: Path, name: str, suffix: str, release: str) -> bytes:
    # categories in the order of their first rows, as Arrow makes them
    table = pa.table({n: pa.array(frame[n]).dictionary_encode() if n != "age" else frame[n] for n in frame})
    parquet.write_table(table, folder / f"{name}.parquet")
    out = folder / f"{name}-out{suffix}"
    recipe = {"quasi": ["age", "town"], "confidential": ["ill"], "k": 3, "release": release}
    shoal.protect_file(folder / f"{name}.parquet", out, recipe)
    return out.read_bytes()


def as_pandas(frame: pd.DataFrame, folder: Path, name: str, suffix: str, release: str) -> bytes:
    frame = frame.copy()
    for column in ("town", "ill"):
        frame[column] = pd.Categorical(frame[column], frame[column].drop_duplicates())
    done = shoal.protect(frame, {"quasi": ["age", "town"], "confidential": ["ill"], "k": 3, "release": release})
    out = folder / f"{name}{suffix}"
    (done.data.to_parquet if suffix == ".parquet" else done.data.to_feather)(out)
    return out.read_bytes()


@pytest.mark.parametrize("how", [as_parquet, as_pandas])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("release", ["centroid", "medoid"])
def test_exchanged_members_change_no_byte(tmp_path: Path, how: Callable[..., bytes], suffix: str, release: str) -> None:
    # two classes, every other row; in each one town is the most central, and which of the two comes first changes
    frame = pd.DataFrame({"age": [20, 60] * 3, "town": list("cabbba"), "ill": list("zxyxzy")})
    before = how(frame, tmp_path, "before", suffix, release)
    pairs = [*itertools.combinations((0, 2, 4), 2), *itertools.combinations((1, 3, 5), 2)]
    for number, (i, j) in enumerate(pairs):
        swapped = frame.copy()
        for name in ("age", "town"):
            swapped.loc[[i, j], name] = frame.loc[[j, i], name].to_numpy()
        assert how(swapped, tmp_path, f"after{number}", suffix, release) == before
