"""The disk engine's gate: the metadata of the written files and quick attacks, as in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import shoal
from shoal.attack.weights import Weights
from shoal.flow.engines.disk import output, protect
from shoal.flow.gate import read_back
from shoal.types import Attempt
from shoal.types.released import released

N = 400
RECIPE: dict[str, Any] = {
    "quasi": ["age", "job"],
    "confidential": ["pay"],
    "identifier": ["name"],
    "k": 4,
    "method": "blocks",
    "set": {"size": 60},
}


def table(*, by: str = "", note: str = "", gaps: bool = False) -> pa.Table:
    rng = np.random.default_rng(3)
    age = np.round(rng.normal(40, 12, N), 2)
    data = pa.table(
        {
            "age": pa.array(age, mask=(np.arange(N) % 9 == 0) if gaps else None),
            "job": pa.array(rng.choice(["cook", "nurse", "smith"], N)).dictionary_encode(),
            "name": [f"Person {i}" for i in rng.permutation(N)],
            "pay": rng.integers(0, 99, N),
            "w": rng.integers(1, 9, N),
            "town": pa.array(rng.choice([f"town {i}" for i in range(30)], N)).dictionary_encode(),
        }
    )
    data = data.take(pa.array(np.lexsort((age, data[by].to_pylist())))) if by else data
    return data.replace_schema_metadata({"about": note}) if note else data


def protected(data: pa.Table, folder: Path, engine: str, suffix: str = ".parquet", **given: Any) -> Any:
    source = folder / f"in{suffix}"
    if suffix == ".parquet":
        parquet.write_table(data, source, row_group_size=90)
    else:
        csv.write_csv(pa.table({name: data[name].cast(pa.string()) for name in data.column_names}), source)
    keep = given.pop("keep_metadata", False)
    target = folder / f"{engine}{suffix}"
    return shoal.protect(
        source, {**RECIPE, **given}, output=target, engine=engine, memory="500MB", force=True, keep_metadata=keep
    )


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize(
    ("data", "given"),
    [
        (table(), {}),
        (table(note="from the clinic"), {"row_order": "keep"}),
        (table(note="from the clinic of Person 7"), {"keep_metadata": True}),
        (table(by="town"), {"weight": "w", "release_weight": "record"}),
        (table(by="age"), {"row_order": "keep", "weight": "w"}),
        (table(gaps=True), {"when_missing": "exclude"}),
    ],
)
def test_notes_and_attempts_are_those_of_the_memory_engine(
    data: pa.Table, given: dict[str, Any], suffix: str, tmp_path: Path
) -> None:
    memory, disk = (protected(data, tmp_path, engine, suffix, **given) for engine in ("memory", "disk"))
    assert disk.notes == memory.notes
    assert disk.run.attempts == memory.run.attempts
    assert {one.attack for one in disk.run.attempts} >= {"metadata", "row_order", "weights"}


def test_the_note_on_metadata_and_the_attack_on_row_order(tmp_path: Path) -> None:
    found = protected(table(by="age", note="from the clinic"), tmp_path, "disk", row_order="keep")
    assert any(note.startswith("Metadata of the input was dropped") for note in found.notes)
    assert {one.attack for one in found.run.attempts if one.succeeded} >= {"row_order"}
    found.report(tmp_path / "report.html")
    assert "row_order: succeeded." in (tmp_path / "report.html").read_text()


def _with_everything(data: pa.Table, unchanged: Any, **given: Any) -> pa.Table:
    return released(data, unchanged, **{**given, "keep": True})


def _with_a_category(data: pa.Table, unchanged: Any, **given: Any) -> pa.Table:
    made = released(data, unchanged, **given)
    cells = made["town"].combine_chunks()
    listed = pa.DictionaryArray.from_arrays(cells.indices, [*cells.dictionary.to_pylist(), "east"])
    return made.set_column(made.column_names.index("town"), "town", listed)


@pytest.mark.parametrize(
    ("writer", "said"),
    [
        (_with_everything, "metadata that may not be released, of the table"),
        (_with_a_category, "lists categories that do not occur, in 'town'"),
    ],
)
def test_files_with_more_than_values_are_not_published(
    writer: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protect, "released", writer)
    with pytest.raises(shoal.GuaranteeError, match=said):
        protected(table(note="from the clinic"), tmp_path, "disk")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_a_successful_attack_stops_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Weights, "run", lambda self, case: Attempt.of("weights", len(case), len(case), 0.0, "it"))
    with pytest.raises(shoal.GuaranteeError, match="The attack 'weights' on the output must fail, but it succeeded"):
        protected(table(), tmp_path, "disk")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("row_order", ["keep", "shuffle"])
def test_a_sample_is_attacked_as_it_was_written(
    row_order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[Any] = []
    monkeypatch.setattr(Weights, "run", lambda self, case: cases.append(case) or Attempt.not_run("weights", "No."))
    monkeypatch.setattr(output, "_SAMPLE", 100)
    given = {"row_order": row_order, "when_missing": "exclude", "keep_metadata": True}
    data = table(gaps=True, note="from the clinic of Person 7")
    done = protected(data, tmp_path, "disk", **given)
    (case,) = cases
    assert 50 < len(case) < 200
    whole = parquet.read_table(tmp_path / "disk.parquet")
    assert np.isin(case.classes, np.arange(100)).all()
    keys = [tuple(row.values()) for row in whole.select(RECIPE["quasi"]).to_pylist()]
    inside = {tuple(row.values()) for row in case.table.data.select(RECIPE["quasi"]).to_pylist()}
    assert len(case) == sum(key in inside for key in keys)  # whole classes
    assert case.truth.data.column("pay").equals(case.table.data.column("pay").cast(pa.int64()))  # row by row
    said = {one.attack: one for one in done.run.attempts}
    assert f"Measured on a sample of {len(case):,} records." in said["row_order"].sentence
    assert (said["metadata"].records, said["metadata"].learnt) == (len(whole), 1)  # of all records
    assert read_back._KEPT in done.notes


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("pay", {"confidential": ["pay"]}),
        ("pay", {}),
        ("pay", {"weight": "pay", "release_weight": "record"}),
        ("half", {"strata": ["half"]}),
    ],
)
def test_a_cell_that_changes_on_its_way_to_the_disk_stops_the_release(
    name: str, given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.io.sinks.parquet import ParquetWriter

    write = ParquetWriter.write

    def spoilt(self: ParquetWriter, table: pa.Table) -> None:
        cells = table.column(name).to_pylist()
        cells[0], cells[-1] = cells[-1], cells[0]
        write(self, table.set_column(table.schema.get_field_index(name), name, pa.array(cells)))

    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    columns = {"age": [5] * 60, "pay": [7 * i % 61 for i in range(60)], "half": [i // 30 for i in range(60)]}
    parquet.write_table(pa.table(columns), source)
    recipe = {"quasi": ["age"], "k": 3, "row_order": "keep", **given}
    shoal.protect(source, recipe, output=target, engine="disk")
    monkeypatch.setattr(ParquetWriter, "write", spoilt)
    with pytest.raises(shoal.GuaranteeError, match=f"Columns changed on their way to the disk: '{name}'"):
        shoal.protect(source, recipe, output=target, engine="disk", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]
