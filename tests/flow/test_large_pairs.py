"""compare and attack on tables that do not fit into memory: exact losses, and a sample of whole classes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import shoal
from shoal.flow import attack as attack_flow
from shoal.flow import compare as compare_flow
from shoal.flow import large_tables

N = 600
ORDERS = {"grade": ["low", "middle", "high"]}
TREE = {"icd": {"A": ["A1", "A2", "A3"], "B": ["B1", "B2"], "C": ["C1"]}}
COLUMNS = ["age", "whole", "day", "second", "job", "grade", "icd", "same"]
KINDS = {"orders": ORDERS, "taxonomies": TREE}
RECIPE: dict[str, Any] = {
    "quasi": COLUMNS,
    "confidential": ["pay"],
    "identifier": ["name"],
    "k": 4,
    "row_order": "keep",
    **KINDS,
}


def table(*, gaps: float = 0.0) -> pa.Table:
    rng = np.random.default_rng(5)

    def column(values: Any, kind: pa.DataType | None = None) -> pa.Array:
        cells = pa.array(values, kind)
        return pa.array(cells.to_pylist(), cells.type, mask=rng.random(N) < gaps)

    return pa.table(
        {
            "age": column(np.round(rng.normal(40, 12, N), 2)),
            "whole": column(rng.integers(0, 500, N)),
            "day": column(rng.integers(0, 20_000, N), pa.int32()).cast(pa.date32()),
            "second": column(rng.integers(0, 10**9, N)).cast(pa.timestamp("s")),
            "job": column(rng.choice(["cook", "nurse", "smith", "baker"], N)),
            "grade": column(rng.choice(ORDERS["grade"], N)),
            "icd": column(rng.choice(["A1", "A2", "A3", "B1", "B2", "C1"], N)),
            "same": pa.array(np.full(N, 3.5)),
            "name": [f"Person {i}" for i in rng.permutation(N)],
            "pay": rng.integers(0, 99, N),
            "town": pa.array(rng.choice(["north", "south"], N)).dictionary_encode(),
        }
    )


def write(data: pa.Table, path: Path) -> Path:
    """Write a table as a file, or in parts to a folder."""
    if path.suffix == ".csv":
        csv.write_csv(pa.table({n: data[n].cast(pa.string()) for n in data.column_names}), path)
    elif path.suffix == ".parquet":
        parquet.write_table(data, path, row_group_size=100)
    else:
        path.mkdir()
        for begin in range(0, len(data), 250):
            parquet.write_table(data.slice(begin, 250), path / f"part-{begin:05}.parquet")
    return path


def protected(data: pa.Table, folder: Path, suffix: str = ".parquet", **given: Any) -> tuple[Path, Path]:
    """Write a table and its release."""
    source, target = folder / f"in{suffix}", folder / f"out{suffix}"
    write(data, source)
    options = {name: given.pop(name) for name in ("receipt", "evidence") if name in given}
    shoal.protect(source, {**RECIPE, **given}, output=target, **options)
    return source, target


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take about 100 records for a sample, and read few rows at a time."""
    monkeypatch.setattr(large_tables, "SAMPLE", 100)
    for module in (compare_flow, attack_flow):
        monkeypatch.setattr(module, "too_large", lambda places, memory: memory < 10_000)


LITTLE = "1KB"
LOSSES = ["sse", "il_sse", "mae"]


def same(found: dict[str, Any], whole: dict[str, Any]) -> None:
    """Require the losses of all records, and a stated sample."""
    for name in ("sse", "il_sse"):
        assert found[name] == pytest.approx(whole[name], rel=1e-12), name
    assert found["sample"]["of"] == N
    assert 60 < found["sample"]["records"] < 200
    assert "sample" not in whole


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ""])
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_losses_are_those_of_all_records(suffix: str, gaps: float, tmp_path: Path) -> None:
    paths = protected(table(gaps=gaps), tmp_path, suffix)
    whole = shoal.compare(*paths, COLUMNS, **KINDS, measures=LOSSES).to_dict()
    same(shoal.compare(*paths, COLUMNS, **KINDS, measures=LOSSES, memory=LITTLE).to_dict(), whole)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("fill", [False, True])
def test_losses_of_each_kind(column: str, fill: bool, tmp_path: Path) -> None:
    data = table(gaps=0.1)
    moved = pa.array(np.random.default_rng(1).permutation(N))
    masked = data.set_column(data.column_names.index(column), column, data[column].take(moved))
    paths = write(data, tmp_path / "a.parquet"), write(masked, tmp_path / "b.parquet")
    known = {name: value for name, value in KINDS.items() if column in value}
    recipe = {"quasi": [column], "k": 3, **known, **({"when_missing": "fill"} if fill else {})}
    given: dict[str, Any] = {"recipe": recipe, "measures": ["sse", "il_sse"]}
    whole, found = (shoal.compare(*paths, **given, memory=size).to_dict() for size in ("1GB", LITTLE))
    for name in ("sse", "il_sse"):
        assert found[name] == pytest.approx(whole[name], rel=1e-12)


@pytest.mark.usefixtures("small")
def test_values_that_only_the_release_has(tmp_path: Path) -> None:
    data = table()
    masked = data.set_column(0, "age", pa.array([None, *data["age"].to_pylist()[1:]]))
    odd = ["*", "A", "other", None]
    masked = masked.set_column(6, "icd", pa.array([*odd, *data["icd"].to_pylist()[4:]]))
    paths = write(data, tmp_path / "a.parquet"), write(masked, tmp_path / "b.parquet")
    names = ["age", "icd"]
    whole, found = (
        shoal.compare(*paths, names, taxonomies=TREE, measures=["sse", "il_sse"], memory=size).to_dict()
        for size in ("1GB", LITTLE)
    )
    assert found["sse"] == pytest.approx(whole["sse"], rel=1e-12)
    assert found["il_sse"] == pytest.approx(whole["il_sse"], rel=1e-12)


@pytest.mark.usefixtures("small")
def test_rows_that_were_shuffled_or_excluded(tmp_path: Path) -> None:
    paths = protected(
        table(gaps=0.02), tmp_path, row_order="shuffle", when_missing="exclude", receipt=tmp_path / "r.json"
    )
    given: dict[str, Any] = {**KINDS, "receipt": tmp_path / "r.json", "measures": LOSSES}
    whole, found = (shoal.compare(*paths, COLUMNS, **given, memory=size).to_dict() for size in ("1GB", LITTLE))
    assert found["il_sse"] == pytest.approx(whole["il_sse"], rel=1e-12)
    assert found["sample"]["of"] < N
    recipe = {**RECIPE, "row_order": "shuffle", "when_missing": "exclude"}
    attacked = shoal.attack(*paths, recipe, receipt=tmp_path / "r.json", memory=LITTLE)
    assert attacked.sample is not None
    assert attacked["row_order"].verdict == "withstood"
    with pytest.raises(shoal.DataError, match="rows were shuffled"):
        shoal.attack(*paths, recipe, memory=LITTLE)


@pytest.mark.usefixtures("small")
def test_rows_that_were_excluded_need_no_receipt(tmp_path: Path) -> None:
    recipe = {**RECIPE, "when_missing": "exclude"}
    paths = protected(table(gaps=0.02), tmp_path, when_missing="exclude")
    whole, found = (
        shoal.compare(*paths, recipe=recipe, measures=LOSSES, memory=size).to_dict() for size in ("1GB", LITTLE)
    )
    assert found["il_sse"] == pytest.approx(whole["il_sse"], rel=1e-12)
    assert shoal.attack(*paths, recipe, only=["row_order"], memory=LITTLE).sample is not None


@pytest.mark.usefixtures("small")
def test_suppressed_records_are_left_out_once(tmp_path: Path) -> None:
    more: dict[str, Any] = {"suppress": 0.05, "row_order": "shuffle"}
    paths = protected(table(), tmp_path, **more, receipt=tmp_path / "r.json")
    given: dict[str, Any] = {"recipe": {**RECIPE, **more}, "receipt": tmp_path / "r.json", "measures": LOSSES}
    whole, found = (shoal.compare(*paths, **given, memory=size).to_dict() for size in ("1GB", LITTLE))
    assert found["il_sse"] == pytest.approx(whole["il_sse"], rel=1e-12)
    assert found["sample"]["of"] == N - int(0.05 * N)
    with pytest.raises(shoal.DataError, match="or the receipt"):
        shoal.compare(*paths, recipe={**RECIPE, **more}, memory=LITTLE)


@pytest.mark.usefixtures("small")
def test_the_note_on_another_order(tmp_path: Path) -> None:
    data = table().drop_columns(["same"])
    paths = write(data, tmp_path / "a.parquet"), write(data.take(pa.array(np.arange(N)[::-1])), tmp_path / "b.parquet")
    whole, found = (shoal.compare(*paths, ["age"], memory=size).to_dict()["notes"] for size in ("1GB", LITTLE))
    first = "the rows seem to be in another order than in the original: whole has"
    assert all(any(note.startswith(first) for note in notes.values()) for notes in (whole, found))


@pytest.mark.usefixtures("small")
def test_refusals(tmp_path: Path) -> None:
    paths = protected(table(), tmp_path)
    with pytest.raises(shoal.ParameterError, match="a key needs both tables in memory"):
        shoal.compare(*paths, ["age"], key="pay", memory=LITTLE)
    with pytest.raises(shoal.ParameterError, match="an earlier release, must fit into memory"):
        shoal.attack(*paths, RECIPE, earlier=paths[1], memory=LITTLE)
    write(table().slice(1), tmp_path / "less.parquet")
    for size in ("1GB", LITTLE):
        with pytest.raises(shoal.DataError, match="the same rows in the same order, got 600 and 599"):
            shoal.compare(paths[0], tmp_path / "less.parquet", ["age"], memory=size)
    with pytest.raises(shoal.DataError, match="the original has 600 rows and the release 599"):
        shoal.attack(paths[0], tmp_path / "less.parquet", RECIPE, memory=LITTLE)
    with pytest.raises(shoal.ParameterError, match="memory"):
        shoal.compare(table(), table(), ["age"], memory="1GB")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_an_attack_on_a_sample_of_whole_classes(suffix: str, tmp_path: Path) -> None:
    paths = protected(table(), tmp_path, suffix)
    seen: list[Any] = []
    quick = ("homogeneity", "metadata", "row_order", "unique_columns", "weights")
    whole = shoal.attack(*paths, RECIPE, only=quick)
    real = attack_flow.run_attacks
    attack_flow.run_attacks = lambda case, keys: seen.append(case) or real(case, keys)  # type: ignore[assignment]
    try:
        found = shoal.attack(*paths, RECIPE, memory=LITTLE)
    finally:
        attack_flow.run_attacks = real
    (case,) = seen
    assert case.truth.data["pay"].cast(pa.string()).equals(case.table.data["pay"].cast(pa.string()))
    released = parquet.read_table(paths[1]) if suffix == ".parquet" else csv.read_csv(paths[1])
    numbers = ["age", "whole"]
    keys = [tuple(row.values()) for row in released.select(numbers).to_pylist()]
    inside = {tuple(row.values()) for row in case.table.data.select(numbers).to_pylist()}
    assert len(case) == sum(key in inside for key in keys)  # whole classes
    assert found.sample == (len(case), N)
    assert found["algorithm"].sentence.startswith("It needs all records")
    assert found["metadata"].records == N
    assert found["unique_columns"].learnt <= whole["unique_columns"].learnt
    assert found["unique_columns"].learnt / len(case) == pytest.approx(whole["unique_columns"].learnt / N, abs=0.15)


@pytest.mark.usefixtures("small")
def test_the_commands_say_that_it_is_a_sample(tmp_path: Path, run: Callable[..., Any]) -> None:
    paths = protected(table(), tmp_path, "")
    (tmp_path / "recipe.toml").write_text(shoal.Recipe(**RECIPE).to_toml())
    for command in (
        ("compare", *paths, "--columns", "age,whole", "--measures", "sse,il_sse,mae"),
        ("attack", *paths, "--recipe", tmp_path / "recipe.toml", "--only", "row_order"),
    ):
        plain = run(*command, "--memory", LITTLE)
        assert "Figures are those of a sample of" in plain.out
        assert f"of {N} records, in whole classes." in plain.out
        assert json.loads(run(*command, "--memory", LITTLE, "--json").out)["sample"]["of"] == N
        ample = run(*command, "--memory", "1GB", "--json")
        assert ample.out == run(*command, "--json").out
        assert "sample" not in json.loads(ample.out)


def test_tables_beyond_the_ceiling_are_read_in_batches(tmp_path: Path) -> None:
    paths = protected(table(), tmp_path)
    whole = shoal.compare(*paths, COLUMNS, **KINDS).to_dict()
    found = shoal.compare(*paths, COLUMNS, **KINDS, memory="10KB").to_dict()
    of_classes = {"prosecutor_risk", "journalist_risk", "marketer_risk", "individual_risk", "suda"}
    for name in of_classes:  # they need all classes
        assert found[name] is None
        assert "a sample of classes" in found["notes"][name]
    for table_ in (whole, whole["parts"], whole["notes"], found["parts"], found["notes"]):
        for name in of_classes & table_.keys():
            del table_[name]
    assert "sse" not in found["parts"]  # the sum is of all records, and so would its part have to be
    del whole["parts"]["sse"]
    whole["notes"].pop("sse", None)
    for name, value in whole.items():  # the sample is all of it
        assert found[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)
