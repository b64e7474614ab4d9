"""Evidence: written with the output or not at all, and no value of the table is in it."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.report import evidence as report

SCHEMA = Path(report.__file__).with_name("evidence.schema.json")


def table(words: list[str], n: int = 24) -> pa.Table:
    """A table whose cells are all unusual: made of words, and of numbers that nothing else would be."""
    return pa.table(
        {
            "who": [f"{words[0]}§{i}" for i in range(n)],
            "age": [7_310_000 + 37 * i for i in range(n)],
            "town": [f"{words[i % 2]}¶{i % 2}" for i in range(n)],
            "ill": [f"{words[i % 3]}‡{i % 3}" for i in range(n)],
            "w": [5.0625 + 0.03125 * i for i in range(n)],
            "pay": [914_237.5 + 11.25 * (i * i % 101) for i in range(n)],
        }
    )


def cells(data: pa.Table) -> set[str]:
    return {str(value) for name in data.column_names for value in data.column(name).to_pylist()}


WORDS = st.lists(st.text(st.characters(categories=["L", "Nd", "So"]), min_size=3, max_size=8), min_size=3, max_size=3)


@given(words=WORDS)
@settings(max_examples=15)
@pytest.mark.parametrize("how", ["plain", "names", "swap", "anatomy"])
def test_no_cell_is_in_it(how: str, words: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("e")
    data = table(words)
    ills = [f"{words[i]}‡{i}" for i in range(3)]
    towns = [f"{words[i]}¶{i}" for i in range(2)]
    recipe: dict[str, Any] = {"quasi": ["age", "town"], "confidential": ["ill", "pay"], "identifier": ["who"], "k": 4}
    recipe |= {"weight": "w"}
    if how == "names":
        recipe |= {
            "orders": {"ill": ills},
            "taxonomies": {"town": {"north": towns[:1], "south": towns[1:]}},
            "set": {"categories": "node"},
        }
    elif how != "plain":
        recipe["release"] = how
    done = shoal.protect(data, recipe)
    done.evidence(folder / "e.json")
    text = (folder / "e.json").read_text()
    left = [done.data, *([] if done.confidential is None else [done.confidential.drop_columns(["class"])])]
    for one in (data, *(table for table in left)):
        released = one.drop_columns([name for name in one.column_names if name == "class"])
        assert not [cell for cell in cells(released) if cell in text]
    assert not re.search(r"\b(north|south)\b", text)


def test_what_it_says(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    shoal.write_table(table(["one", "two", "three"]), source)
    recipe = shoal.Recipe(quasi=("age", "town"), confidential=("pay",), identifier=("who",), k=4, seed=3)
    done = shoal.protect_file(source, target, recipe, evidence=tmp_path / "e.json")
    said = json.loads((tmp_path / "e.json").read_text())
    assert said["outputs"] == [
        {
            "name": "out.csv",
            "of": "bytes",
            "bytes": target.stat().st_size,
            "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
            "records": 24,
        }
    ]
    salted = hmac.new(bytes.fromhex(said["salt"]), source.read_bytes(), "sha256").hexdigest()
    assert said["input"]["hmac_sha256"] == salted
    assert (said["fingerprint"], said["seed"]) == (recipe.fingerprint, 3)
    assert said["recipe"] == recipe.to_dict()
    assert said["audit"] == done.audit.to_dict()
    assert len(said["findings"]) == len(done.audit.findings)
    assert sum(size * count for size, count in said["class_sizes"]["sizes"]) == 24
    assert said["class_sizes"]["sizes"][0][0] == done.audit.to_dict()["k"]
    assert {"Python", "shoal", "numpy", "pyarrow", "numba"} <= set(said["versions"])
    assert said["readings"]["il_sse"] == done.readings["il_sse"]


def test_salt_is_new_every_time(tmp_path: Path) -> None:
    done = shoal.protect(table(["one", "two", "three"]), {"quasi": ["age"], "k": 4})
    for name in ("a.json", "b.json"):
        done.evidence(tmp_path / name)
    one, other = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert one["salt"] != other["salt"]
    assert one["input"]["hmac_sha256"] != other["input"]["hmac_sha256"]
    assert one["outputs"] == other["outputs"]


class TestBothOrNeither:
    def test_nothing_where_the_guarantee_is_not_met(self, tmp_path: Path) -> None:
        shoal.write_table(table(["one", "two", "three"]), tmp_path / "in.csv")
        recipe = {"quasi": ["age"], "confidential": ["ill"], "k": 4, "require": {"p": 4}}
        with pytest.raises(shoal.ShoalError):
            shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe, evidence=tmp_path / "e.json")
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]

    def test_nothing_where_the_evidence_cannot_be_made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise shoal.EngineError("no")

        shoal.write_table(table(["one", "two", "three"]), tmp_path / "in.csv")
        monkeypatch.setattr("shoal.flow.besides.evidence_of", broken)
        with pytest.raises(shoal.EngineError):
            shoal.protect_file(
                tmp_path / "in.csv", tmp_path / "out.csv", {"quasi": ["age"]}, evidence=tmp_path / "e.json"
            )
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]

    def test_an_evidence_that_is_there_is_not_replaced(self, tmp_path: Path) -> None:
        shoal.write_table(table(["one", "two", "three"]), tmp_path / "in.csv")
        (tmp_path / "e.json").write_text("mine")
        with pytest.raises(shoal.ParameterError, match="exists already"):
            shoal.protect_file(
                tmp_path / "in.csv", tmp_path / "out.csv", {"quasi": ["age"]}, evidence=tmp_path / "e.json"
            )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["e.json", "in.csv"]

    def test_the_name_must_end_in_json(self, tmp_path: Path) -> None:
        shoal.write_table(table(["one", "two", "three"]), tmp_path / "in.csv")
        with pytest.raises(shoal.ParameterError, match=r"must end in \.json"):
            shoal.protect_file(tmp_path / "in.csv", tmp_path / "o.csv", {"quasi": ["age"]}, evidence=tmp_path / "e.txt")


@pytest.mark.parametrize("release", ["centroid", "swap", "anatomy"])
def test_it_fits_the_json_schema(release: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    recipe = {"quasi": ["age"], "confidential": ["ill", "pay"], "k": 4, "release": release}
    done = shoal.protect(table(["one", "two", "three"]), recipe, certify=release == "centroid")
    done.evidence(tmp_path / "e.json")
    said = json.loads((tmp_path / "e.json").read_text())
    jsonschema.validate(said, schema)
    for name in schema["required"]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value for key, value in said.items() if key != name}, schema)
    assert set(schema["required"]) == {"format", *report._FIELDS}
