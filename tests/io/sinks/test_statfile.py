"""SPSS and Stata files keep what they know: files that pyreadstat wrote, read and written, and read by pyreadstat."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.io.sinks.spss import Spss as SpssSink
from shoal.io.sinks.stata import Stata as StataSink
from shoal.io.sources.spss import Spss
from shoal.io.sources.stata import Stata

#: All that pyreadstat tells of a file, but for the time it was written, and its own names for sets of labels.
FIELDS = (
    "column_names",
    "column_names_to_labels",
    "file_label",
    "number_rows",
    "variable_value_labels",
    "notes",
    "original_variable_types",
    "readstat_variable_types",
    "missing_ranges",
    "missing_user_values",
    "variable_storage_width",
    "variable_display_width",
    "variable_alignment",
    "variable_measure",
)
WORDS = st.text("abcé Z9", min_size=1, max_size=12).map(lambda text: text.strip() or "x")
DOUBLES = st.floats(-1e300, 1e300) | st.integers(-99, 200).map(float)


def told(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What pyreadstat itself reads: the metadata by field, and the values with their bits."""
    read = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    values, meta = read(path, user_missing=True, output_format="dict", disable_datetime_conversion=True)
    bits = {name: [bit_by_bit(value) for value in column] for name, column in values.items()}
    return {name: getattr(meta, name) for name in FIELDS}, bits


def bit_by_bit(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else value


@st.composite
def numbers(draw: st.DrawFn, n: int) -> dict[str, Any]:
    """A numeric variable of SPSS, with all its metadata."""
    form, values = draw(
        st.sampled_from(
            [
                ("F8.0", st.integers(-99, 99).map(float)),
                ("F11.2", DOUBLES),
                ("DATE11", st.integers(100_000, 160_000).map(lambda day: day * 86_400.0)),
                ("DATETIME20", st.floats(1e10, 1.4e10)),
                ("TIME8", st.floats(0, 1e5)),
                ("DOLLAR9.2", DOUBLES),
            ]
        )
    )
    column = draw(st.lists(st.none() | values, min_size=n, max_size=n))
    codes = draw(st.lists(st.integers(-99, 99).map(float), max_size=3, unique=True))
    ranges: list[Any] = [*codes]
    if draw(st.booleans()):
        ranges = [*codes[:1], {"lo": draw(st.sampled_from([-math.inf, 500.0])), "hi": 999.0}]
    return {
        "column": pl.Series(column, dtype=pl.Float64),
        "format": form,
        "missing": ranges,
        "labels": draw(st.dictionaries(st.sampled_from([*codes, 1.0, 2.5, -7.0]), WORDS, max_size=3)),
    }


@st.composite
def texts(draw: st.DrawFn, n: int) -> dict[str, Any]:
    column = draw(st.lists(st.just("") | WORDS, min_size=n, max_size=n))
    width = draw(st.integers(max(1, *(len(text.encode()) for text in column)), 300))
    codes = draw(st.lists(st.sampled_from(["x", "NA", "-9"]), max_size=3, unique=True))
    labels = draw(st.dictionaries(st.sampled_from(["a", "b", "NA"]), WORDS, max_size=2))
    column[0] += "\0" * (width - len(column[0].encode()))
    return {"column": pl.Series(column), "format": f"A{width}", "missing": codes, "labels": labels}


SPSS_WORDS = {"all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"}  # no names


@st.composite
def sav(draw: st.DrawFn) -> dict[str, Any]:
    """What pyreadstat's writer takes."""
    n = draw(st.integers(1, 6))
    variables = draw(st.lists(numbers(n) | texts(n), min_size=1, max_size=4))
    words = st.from_regex(r"[a-zé][a-zé_.$#@0-9]{0,8}", fullmatch=True).filter(lambda name: name not in SPSS_WORDS)
    names = draw(st.lists(words, min_size=4, max_size=4, unique=True))
    of = dict(zip(names, variables, strict=False))
    aligned = st.sampled_from(["left", "center", "right"])
    return {
        "df": pl.DataFrame({name: one["column"] for name, one in of.items()}),
        "file_label": draw(WORDS | st.just("")),
        "note": draw(st.lists(WORDS, max_size=3)),
        "column_labels": {name: draw(st.none() | WORDS) for name in of},
        "variable_value_labels": {name: one["labels"] for name, one in of.items() if one["labels"]},
        "missing_ranges": {name: one["missing"] for name, one in of.items() if one["missing"]},
        "variable_display_width": {name: draw(st.integers(1, 40)) for name in of},
        "variable_measure": {name: draw(st.sampled_from(["nominal", "ordinal", "scale", "unknown"])) for name in of},
        "variable_alignment": {name: draw(aligned) for name in of},
        "variable_format": {name: one["format"] for name, one in of.items()},
    }


@settings(max_examples=4 * settings.default.max_examples)
@given(sav(), st.sampled_from(["a.sav", "a.zsav"]))
def test_spss_files_keep_all_that_they_know(tmp_path: Path, given: dict[str, Any], name: str) -> None:
    from pyreadstat._readstat_writer import writer_entry_point

    first, second, third = tmp_path / "in.sav", tmp_path / name, tmp_path / "again.sav"
    writer_entry_point(given["df"], str(first), writer_format="sav", **{k: v for k, v in given.items() if k != "df"})
    SpssSink().write(Spss().read(first)[0], second, None)
    SpssSink().write(Spss().read(second)[0], third, None)
    assert told(second)[0] == told(first)[0]
    if name == "a.sav":  # the compression of the other has no sign of zeros
        assert told(second)[1] == told(first)[1]
    assert told(third) == told(second)


@st.composite
def dta(draw: st.DrawFn) -> dict[str, Any]:
    n = draw(st.integers(1, 6))
    kinds = {
        "whole": (st.integers(-2_147_483_647, 2_147_483_620), "%12.0g", pl.Int32),
        "number": (DOUBLES, "%10.0g", pl.Float64),
        "days": (st.integers(-40_000, 40_000), "%td", pl.Int32),
        "moments": (st.integers(0, 2 * 10**12).map(float), "%tc", pl.Float64),
    }
    df, formats, labels, missing = {}, {}, {}, {}
    for name in draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, unique=True)):
        values, formats[name], kind = kinds[name]
        letters = st.sampled_from(["a", "b", "z"])
        tagged = draw(st.booleans())
        column: list[Any] = draw(
            st.lists(st.none() | values | letters if tagged else st.none() | values, min_size=n, max_size=n)
        )
        whole = kind is pl.Int32
        labels[name] = draw(st.dictionaries(st.integers(-9, 99), WORDS, max_size=2))
        if tagged and any(not isinstance(value, str | None) for value in column):
            df[name], missing[name] = pl.Series(column, dtype=pl.Object), ["a", "b", "z"]
            labels[name] |= draw(st.dictionaries(letters, WORDS, max_size=2))
        else:
            df[name] = pl.Series([None if isinstance(value, str) else value for value in column], dtype=kind)
        labels[name] = {
            key if whole or isinstance(key, str) else float(key): text for key, text in labels[name].items()
        }
    df["text"] = pl.Series(draw(st.lists(st.text("aé ", max_size=9), min_size=n, max_size=n)))
    return {
        "df": pl.DataFrame(df),
        "file_label": draw(WORDS),
        "column_labels": {name: draw(st.none() | WORDS) for name in df},
        "variable_value_labels": {name: one for name, one in labels.items() if one},
        "missing_user_values": missing,
        "variable_format": formats,
    }


@settings(max_examples=4 * settings.default.max_examples)
@given(dta(), st.sampled_from([14, 15]))
def test_stata_files_keep_all_that_they_know(tmp_path: Path, given: dict[str, Any], version: int) -> None:
    first, second, third = tmp_path / "in.dta", tmp_path / "a.dta", tmp_path / "again.dta"
    pyreadstat.write_dta(given["df"], first, **{k: v for k, v in given.items() if k != "df"})
    StataSink(version).write(Stata().read(first)[0], second, None)
    StataSink(version).write(Stata().read(second)[0], third, None)
    assert told(second) == told(first)
    assert told(third) == told(second)


def test_long_texts_stay_long_texts(tmp_path: Path) -> None:
    texts = ["a" * 3000, "", "b"]
    pyreadstat.write_dta(pl.DataFrame({"s": texts}), tmp_path / "in.dta", version=14)
    table = Stata().read(tmp_path / "in.dta")[0]
    StataSink().write(table.slice(1), tmp_path / "out.dta", None)  # without the only text that is long
    meta, values = told(tmp_path / "out.dta")
    assert (meta["variable_storage_width"], values["s"]) == ({"s": 0}, texts[1:])


@pytest.mark.parametrize("version", range(8, 16))
def test_every_version_is_read_again(tmp_path: Path, version: int) -> None:
    StataSink(version).write(Stata().read(_small(tmp_path))[0], tmp_path / "out.dta", None)
    assert told(tmp_path / "out.dta")[1] == told(tmp_path / "small.dta")[1]
    release = {8: 113, 9: 113, 10: 114, 11: 114, 12: 115, 13: 117, 14: 118, 15: 119}[version]
    head = (tmp_path / "out.dta").read_bytes()[:40]
    assert head[0] == release or f"<release>{release}".encode() in head


def _small(folder: Path) -> Path:
    pyreadstat.write_dta(pl.DataFrame({"x": [1.5, None], "s": ["a ", ""]}), folder / "small.dta")
    return folder / "small.dta"
