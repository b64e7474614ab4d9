"""Files of statistical packages come in with types that fit, or not at all."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from shoal.errors import DataError, ParameterError
from shoal.io.sources.sas import Sas
from shoal.io.sources.spss import Spss
from shoal.io.sources.stata import Stata
from shoal.types.statistical_files import FileNotes, Variable, tag

SECRET = "s3cr3t"
FRAME = pl.DataFrame({"x": [1.0, 2.5, None], "s": [SECRET, "", "b"]})


def written(folder: Path, name: str, frame: pl.DataFrame = FRAME, **options: Any) -> Path:
    write = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}
    write[Path(name).suffix](frame, folder / name, **options)
    return folder / name


FORMATS = [(Spss(), "a.sav"), (Stata(), "a.dta"), (Sas(), "a.xpt")]


@pytest.mark.parametrize(("source", "name"), FORMATS)
def test_values_and_types(tmp_path: Path, source: Any, name: str) -> None:
    table, dialect = source.read(written(tmp_path, name))
    assert dialect is None
    assert table.to_pydict() == {"x": [1.0, 2.5, None], "s": [SECRET, None, "b"]}


def test_whole_numbers_are_integers_where_the_format_says_so(tmp_path: Path) -> None:
    frame = pl.DataFrame({name: [1.0, None, -0.0 if name == "zero" else 3.0] for name in ("a", "b", "c", "zero")})
    formats = {"a": "F8.0", "b": "F8.2", "c": "F8.2", "zero": "F8.0"}
    path = written(tmp_path, "a.sav", frame, variable_format=formats, variable_measure={"c": "ordinal"})
    types = [str(field.type) for field in Spss().read(path)[0].schema]
    assert types == ["int64", "double", "int64", "double"]  # the sign of zero would be lost


def test_dates_and_moments(tmp_path: Path) -> None:
    day, moment = dt.date(2024, 2, 29), dt.datetime(1999, 12, 31, 23, 59, 59, 123000)
    frame = pl.DataFrame({"day": [day, None], "moment": [moment, None]})
    for source, name in FORMATS:
        table = source.read(written(tmp_path, name, frame))[0]
        assert table.to_pydict() == {"day": [day, None], "moment": [moment, None]}


def test_what_a_file_knows_is_noted(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a.sav",
        file_label="Survey",
        note=["first", "second"],
        column_labels={"x": "Income"},
        variable_value_labels={"x": {-9.0: "refused"}},
        missing_ranges={"x": [-9.0, {"lo": 90.0, "hi": 99.0}]},
    )
    table = Spss().read(path)[0]
    noted = Variable.of(table.schema.field("x"))
    assert noted is not None
    assert (noted.label, noted.labels) == ("Income", ((-9.0, "refused"),))
    assert sorted(noted.missing) == [(-9.0, -9.0), (90.0, 99.0)]
    assert FileNotes.of(table.schema) == FileNotes("spss", "Survey", "UTF-8", ("first", "second"))


def test_letters_of_stata(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": pl.Series([1, "a", None, "z"], dtype=pl.Object)})
    table = Stata().read(written(tmp_path, "a.dta", frame, missing_user_values={"x": ["a", "z"]}))[0]
    assert table["x"].to_pylist() == [1, tag("a", whole=True), None, tag("z", whole=True)]
    assert table.schema.field("x").type == pa.int64()


@pytest.mark.parametrize(("source", "name"), FORMATS[:2])
@pytest.mark.parametrize("keep", [0, 3, 40, 0.3, 0.6])
def test_cut_short(tmp_path: Path, source: Any, name: str, keep: float) -> None:
    path = written(tmp_path, name)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(DataError, match=f"{name}: ") as caught:
        source.read(path)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("source", "name"), [*FORMATS, (Sas(), "a.sas7bdat")])
def test_not_that_format(tmp_path: Path, source: Any, name: str) -> None:
    (tmp_path / name).write_text(f"a,b\n{SECRET},2\n" * 200)
    with pytest.raises(DataError, match="damaged") as caught:
        source.read(tmp_path / name)
    assert SECRET not in str(caught.value)


def test_a_file_that_claims_more_rows_than_it_can_hold_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a.dta")
    raw = path.read_bytes()
    place = raw.index(b"<N>") + 3  # the number of rows
    path.write_bytes(raw[:place] + (2**30).to_bytes(8, "little") + raw[place + 8 :])
    with pytest.raises(DataError, match="damaged"):
        Stata().read(path)


@pytest.mark.parametrize("source", [Spss(), Stata(), Sas()])
def test_no_file_folder_and_no_rows(tmp_path: Path, source: Any) -> None:
    with pytest.raises(DataError, match="no such file"):
        source.read(tmp_path / "none")
    with pytest.raises(DataError, match="got a folder"):
        source.read(tmp_path)
    name = {Spss: "a.sav", Stata: "a.dta", Sas: "a.xpt"}[type(source)]
    if name != "a.xpt":
        with pytest.raises(DataError, match="at least one row"):
            source.read(written(tmp_path, name, FRAME.clear()))


def test_a_missing_extra_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a.sav")
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyreadstat"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ParameterError, match=r"a\.sav: reading SPSS files needs .* pip install 'shoal\[stats\]'"):
        Spss().read(path)
    from shoal.io.sinks.stata import Stata as Sink

    with pytest.raises(ParameterError, match=r"a\.dta: writing Stata files needs .* pip install 'shoal\[stats\]'"):
        Sink().write(pa.table({"x": [1]}), tmp_path / "a.dta", None)
