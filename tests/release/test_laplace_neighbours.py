"""The claim ``original``, over all neighbours: types, missing values and categories of one record change no output.

The noise is made constant here. Then two neighbours must publish the same bytes: nothing but the noisy values may
depend on the data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.cli import main
from shoal.flow.protect.files import read_frame
from shoal.release._noise_sampler import Noise
from shoal.release.laplace import Laplace

ILL = {"lungs": ["flu", "asthma"], "belly": ["ulcer", "polyp"]}  # an unused category
RECIPE: dict[str, Any] = {
    "quasi": ["ill", "age"],
    "k": 2,
    "method": "insensitive",
    "release": "laplace",
    "epsilon": 1.0,
    "claim": "original",
    "when_missing": "fill",
    "kinds": {"age": "integer"},
    "bounds": {"age": [0, 120]},
    "taxonomies": {"ill": ILL},
}
RECORDS = [(34, "flu"), (51, "ulcer"), (29, "asthma"), (77, "flu"), (60, "ulcer")]
AGES = [51, 51.5, None, 500, 1e308, float("inf"), "x", True]
ILLS = ["flu", "polyp", None, "gout", 3, 2.5]


EVERY = list(product(AGES, ILLS))
SOME = [(age, ILLS[at % len(ILLS)]) for at, age in enumerate(AGES)]  # every age and every illness once


def neighbours(n: int, others: list[tuple[Any, Any]]) -> Iterator[list[tuple[Any, Any]]]:
    """The table, and all tables in which the second record is one of the others."""
    yield RECORDS[:n]
    for new in others:
        yield [RECORDS[0], new, *RECORDS[2:n]]


def exhaustive(name: str) -> Any:
    """Some neighbours always, all of them in the long run."""
    long = pytest.param(EVERY, marks=pytest.mark.long, id="every")
    return pytest.mark.parametrize(name, [pytest.param(SOME, id="some"), long])


@pytest.fixture
def constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noisy values that do not depend on the data at all, with the scale that ε needs."""
    laplace, choose = Noise.laplace, Noise.choose
    monkeypatch.setattr(
        Noise, "laplace", lambda self, v, s, e: (np.linspace(9.75, 30.0, len(v)), laplace(self, v, s, e)[1])
    )
    monkeypatch.setattr(
        Noise, "choose", lambda self, v, s, e: (np.arange(len(v)) % v.shape[1], choose(self, v, s, e)[1])
    )
    monkeypatch.setattr(Laplace, "release", class_after_class(Laplace.release))


def class_after_class(release: Callable[..., Any]) -> Callable[..., Any]:
    """Release rows in the order of classes: drawn at random, the order would hide the difference that is looked for."""

    def arranged(self: Laplace, table: Any, points: Any, partition: Any, *rest: Any) -> Any:
        made, order = release(self, table, points, partition, *rest), np.argsort(partition.labels, kind="stable")
        classes = {name: labels[order] for name, labels in made.classes.items()}
        return replace(made, data=made.data.take(order), classes=classes)

    return arranged


def native(kind: str, rows: list[tuple[Any, Any]]) -> Any:
    """The frame that people would make of these records: its types depend on the values."""
    columns = {"id": range(len(rows)), "age": [age for age, _ in rows], "ill": [ill for _, ill in rows]}
    frame = pd.DataFrame(columns)
    if kind == "pandas":
        return frame
    texts = {name: [None if v is None else str(v) for v in values] for name, values in columns.items()}
    try:
        table = pa.table({name: pa.array(list(values)) for name, values in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        table = pa.table(texts)
    return table if kind == "pyarrow" else pytest.importorskip("polars").from_arrow(table)


def shown(kind: str, done: Any) -> Any:
    """All that a frame has, and all its metadata."""
    data, told = done.data, (done.audit.to_dict(), done.ledger.to_dict(), done.ledger.meaning, done.partition.note)
    if kind == "pandas":
        lists = [list(data[name].cat.categories) for name in data if hasattr(data[name], "cat")]
        return data.dtypes.to_dict(), lists, list(data.index), data.attrs, data.to_dict("list"), told
    if kind == "polars":
        return data.schema, data.to_dict(as_series=False), told
    fields = [(f.name, f.type, f.nullable, f.metadata) for f in data.schema]
    return fields, data.schema.metadata, data.column("ill").chunk(0).dictionary.to_pylist(), data.to_pydict(), told


@pytest.mark.usefixtures("constant")
@pytest.mark.parametrize(("kind", "n"), [("pandas", 3), ("pandas", 5), ("polars", 4), ("pyarrow", 4)])
@exhaustive("others")
def test_frames_of_neighbours_differ_in_nothing_but_noisy_values(kind: str, n: int, others: list[Any]) -> None:
    first, *more = (shown(kind, shoal.protect(native(kind, rows), RECIPE)) for rows in neighbours(n, others))
    assert all(one == first for one in more)
    if kind == "pandas":
        assert list(map(str, first[0].values())) == ["category", "int64"]
        assert first[1] == [["asthma", "flu", "polyp", "ulcer"]]


@pytest.mark.usefixtures("constant")
def test_frames_of_all_neighbours_differ_in_nothing_but_noisy_values() -> None:
    first, *more = (shown("pandas", shoal.protect(native("pandas", rows), RECIPE)) for rows in neighbours(4, EVERY))
    assert len(more) == 48
    assert all(one == first for one in more)


@pytest.mark.usefixtures("constant")
@exhaustive("others")
def test_parquet_files_of_neighbours_are_the_same_bytes(others: list[Any], tmp_path: Path) -> None:
    found = set()
    for rows in neighbours(4, others):
        pq.write_table(native("pyarrow", rows), tmp_path / "in.parquet")
        shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.parquet", RECIPE, force=True)
        found.add((tmp_path / "out.parquet").read_bytes())
    assert len(found) == 1
    schema = pq.read_table(tmp_path / "out.parquet").schema
    assert schema.types == [pa.dictionary(pa.int32(), pa.string()), pa.int64()]
    assert schema.metadata is None


def ran(said: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as left:
        main(said)
    out, err = capsys.readouterr()
    return left.value.code, out, err


def cell(value: Any) -> str:
    return "" if value is None else str(value)


@pytest.mark.usefixtures("constant")
@pytest.mark.parametrize("more", [["--json"], []])
@exhaustive("others")
def test_text_files_and_what_is_printed_of_neighbours_are_the_same(
    more: list[str],
    others: list[Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text(shoal.Recipe.from_dict(RECIPE).to_toml())
    tables = list(neighbours(4, others))
    tables += [[RECORDS[0], (51, odd), *RECORDS[2:4]] for odd in ("a;b;c;d", '"a,b"', '"a\nb"', " flu ")]
    found = set()
    for rows in tables:
        lines = [f"{at},{cell(age)},{cell(ill)}" for at, (age, ill) in enumerate(rows)]
        Path("in.csv").write_text("id,age,ill\n" + "\n".join(lines) + "\n")
        told = ran(["protect", "in.csv", "-o", "out.csv", "--recipe", "r.toml", "--force", *more], capsys)
        found.add((*told, Path("out.csv").read_bytes()))
    ((code, out, _, written),) = found
    assert code == 0
    assert written.splitlines()[0] == b"ill,age"
    assert b"\r" not in written
    if more:
        assert {"readings", "left_out"}.isdisjoint(json.loads(out))
        assert "clamped" not in json.loads(out)["ledger"]
    else:
        assert "Information lost" not in out
        assert "outside the bounds" not in out


@pytest.mark.parametrize("odd", [(None, "flu"), ("x", "flu"), (51, None), (51, "gout"), (float("nan"), 3)])
def test_without_fill_one_odd_cell_is_refused_and_nothing_is_said_of_it(odd: tuple[Any, Any]) -> None:
    rows = [RECORDS[0], odd, *RECORDS[2:4]]
    with pytest.raises(shoal.DataError) as refused:
        shoal.protect(native("pandas", rows), {**RECIPE, "when_missing": "category"})
    said = str(refused.value)
    assert "set when_missing = fill: they become the middle of the bounds, or the first category" in said
    assert "gout" not in said
    assert not any(digit in said for digit in "0123456789")


def test_a_cell_is_read_by_itself_whatever_the_type_of_its_column() -> None:
    """The sensitivity is that of one record: another record must not change how this one is read."""
    recipe = shoal.Recipe.from_dict(RECIPE)
    for rows in neighbours(5, EVERY):
        table = read_frame(native("pandas", rows), recipe)[0].data
        others = table.take([0, 2, 3, 4])
        assert others.column("age").to_pylist() == [34.0, 29.0, 77.0, 60.0]
        assert others.column("ill").to_pylist() == ["flu", "asthma", "flu", "ulcer"]
    odd = [RECORDS[0], ("x", "gout"), (None, None), (51.5, 3)]
    table = read_frame(native("pandas", odd), recipe)[0].data
    assert table.column("age").to_pylist() == [34.0, 60.0, 60.0, 52.0]  # the middle of the bounds, and rounded
    assert table.column("ill").to_pylist() == ["flu", "polyp", "polyp", "polyp"]  # the first of the line


@pytest.mark.usefixtures("constant")
def test_columns_that_the_recipe_does_not_name_change_nothing() -> None:
    frame = native("pandas", RECORDS)
    plain = shown("pandas", shoal.protect(frame[["ill", "age"]], RECIPE))
    odd = frame.assign(other=[object()] * 5, z=list("abcde"), w=1.5)
    odd.index = list("vwxyz")
    odd.attrs = {"who": "ann"}
    assert shown("pandas", shoal.protect(odd, RECIPE)) == plain


@pytest.mark.usefixtures("constant")
def test_how_a_text_file_is_written_comes_from_the_recipe(tmp_path: Path) -> None:
    def written(given: bytes, **more: Any) -> bytes:
        (tmp_path / "in.csv").write_bytes(given)
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", {**RECIPE, **more}, force=True)
        return (tmp_path / "out.csv").read_bytes()

    rows = "age;ill\r\n" + "".join(f"{age};{ill}\r\n" for age, ill in RECORDS)
    plain = written(rows.encode())
    assert plain.startswith(b"ill,age\n")
    assert plain == written(rows.replace(";", "\t").replace("\r", "").encode("utf-8-sig"))
    half = {"resolution": {"age": 0.25}, "kinds": {"age": "continuous"}}
    said = written(rows.encode("utf-16"), text={"delimiter": ";", "decimal": ",", "encoding": "utf-16"}, **half)
    assert said.decode("utf-16").splitlines()[:2] == ["ill;age", "asthma;9,75"]


@pytest.mark.usefixtures("constant")
def test_no_record_changes_the_delimiter_that_is_found(tmp_path: Path) -> None:
    found = set()
    for note in ("0;1;2;3", "0"):  # by its records, the first file looks as if semicolons parted its cells
        rows = [f"{age},{ill},0;1;2;3" for age, ill in RECORDS[1:]]
        (tmp_path / "in.csv").write_text("\n".join(["age,ill,a;b;c;d", f"34,flu,{note}", *rows]) + "\n")
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE, force=True)
        found.add((tmp_path / "out.csv").read_bytes())
    assert len(found) == 1


@pytest.mark.usefixtures("constant")
@pytest.mark.parametrize(
    "name", ["out.csv", "out.arrow", "out.xlsx", "out.sav", "out.dta", "sqlite:///{}/out.db?table=x"]
)
def test_other_formats_have_the_types_of_the_kinds(name: str, tmp_path: Path) -> None:
    pq.write_table(native("pyarrow", [(51.5, "flu"), *RECORDS[1:]]), tmp_path / "in.parquet")
    target = name.format(tmp_path) if "{}" in name else tmp_path / name
    done = shoal.protect_file(tmp_path / "in.parquet", target, RECIPE)
    assert done.data.schema.field("age").type == pa.int64()
    assert done.data.column_names == ["ill", "age"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kinds": {}}, 'Add kinds = { age = "integer" } (--kind age=integer; or continuous, for decimals).'),
    ({"kinds": {}, "bounds": {}}, 'Add kinds = { age = "integer" } (--kind age=integer; or continuous, for decimals); '
     "bounds = { age = [LOW, HIGH] }."),
    ({"kinds": {"age": "integer", "ill": "nominal"}, "taxonomies": {}}, 'Add taxonomies = { ill = "FILE.csv" }.'),
    ({"kinds": {"age": "datetime"}}, "the kind of 'age' must be integer, continuous, or nominal with a taxonomy"),
    ({"when_missing": "exclude"}, "Set when_missing = fill."),
    ({"bounds": "from the data, which is not private"}, "when_missing = fill needs bounds, got those of the data"),
    ({"confidential": ["id"]}, "only quasi-identifiers are released, got 'id' as confidential or strata"),
    ({"weight": "id"}, "there must be no column of role weight"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "sentence"), REFUSED)
def test_what_the_recipe_lacks_is_said_so_that_it_can_be_copied(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(shoal.ParameterError) as refused:
        shoal.protect(native("pandas", RECORDS), {**RECIPE, **said})
    assert sentence in str(refused.value)


def test_names_that_need_quotes_in_toml_have_them() -> None:
    said = {"quasi": ["a b"], "kinds": {}, "taxonomies": {}, "bounds": {"a b": [0, 0.5]}}
    with pytest.raises(shoal.ParameterError, match=r'kinds = { "a b" = "continuous" }'):
        shoal.protect(pd.DataFrame({"a b": [0.1] * 5}), {**RECIPE, **said})


def test_a_certificate_is_refused() -> None:
    with pytest.raises(shoal.ParameterError, match="certify is not possible"):
        shoal.protect(native("pandas", RECORDS), RECIPE, certify=True)


def test_values_beyond_the_bounds_are_not_counted() -> None:
    done = shoal.protect(native("pandas", [(500, "flu"), *RECORDS[1:]]), RECIPE)
    assert done.ledger.clamped is None
    assert "beyond" not in done.ledger.meaning
