"""Audits in parts on disk: equal to those in memory, for every model and every kind of cell, and closed to faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv, parquet

import shoal
from shoal import registry
from shoal.errors import DataError, ParameterError, SchemaError
from shoal.flow.plan.merging import is_mergeable, refuse_unmergeable
from shoal.flow.stages import parts as in_parts
from shoal.recipe.requirements import resolve
from shoal.types import Audit

TINY = "1KB"  # far less than any process has: as many parts as are allowed


def table(n: int = 400, seed: int = 1) -> pa.Table:
    """Return classes of 3 to 9 records over numbers and texts, with missing values, NaN and −0 among them."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(n), rng.integers(3, 10, n))[:n]
    number = np.array([0.0, -0.0, np.nan, 1.5, -2.25, 7.0])[classes % 6] + np.where(classes % 6 < 3, 0, classes // 6)
    town = np.array(["a", "b", "", None, "ä" * 40], object)[classes % 5]
    ill = np.array(["flu", "Flu ", "ulcer", None, "asthma", "cold"], object)[rng.integers(0, 6, n)]
    pay = np.round(rng.normal(2000, 500, n), 2)
    pay[rng.integers(0, n, 9)] = np.nan
    order = rng.permutation(n)
    return pa.table(
        {
            "x": pa.array(number, from_pandas=False),
            "town": pa.array(town),
            "class": pa.array(classes // 2),
            "region": pa.array(np.array(["north", "south"])[classes % 2]),
            "pay": pa.array(pay, from_pandas=False),
            "days": pa.array(rng.integers(0, 5, n)),
            "ill": pa.array(ill),
            "stage": pa.DictionaryArray.from_arrays(rng.integers(0, 3, n), ["low", "mid", "high"], ordered=True),
            "born": pa.array(rng.integers(0, 9000, n).astype(np.int32)).cast(pa.date32()),
            "who": pa.array([f"P{i}" for i in rng.integers(0, n // 2, n)]),
            "w": pa.array(np.round(rng.uniform(0, 5, n), 3)),
        }
    ).take(order)


def written(folder: Path, data: pa.Table, files: int = 3, suffix: str = "parquet") -> Path:
    """Write a table to a folder of files."""
    folder.mkdir()
    step = -(-data.num_rows // files)
    for i in range(files):
        some = data.slice(i * step, step)
        if suffix == "parquet":
            parquet.write_table(some, folder / f"{i}.parquet", row_group_size=50)
        else:
            plain = some.set_column(some.column_names.index("stage"), "stage", some["stage"].cast(pa.string()))
            there = plain.column_names.index("pay")
            plain = plain.set_column(there, "pay", pc.if_else(pc.is_nan(plain["pay"]), None, plain["pay"]))
            csv.write_csv(plain, folder / f"{i}.csv")
    return folder


def bare(audit: Audit) -> Audit:
    """Return an audit without the numbers of the worst classes, which parts do not know."""
    findings = tuple(replace(one, worst=()) for one in audit.findings)
    return replace(audit, findings=findings, overall=replace(audit.overall, worst=()))


def without_sets(audit: Audit) -> Audit:
    """Return an audit without sets of combinations, which parts cannot count."""
    assert any(one.model == "k_sets" for one in audit.findings)
    return replace(audit, findings=tuple(one for one in audit.findings if one.model != "k_sets"))


def noted(audit: Audit, note: str) -> Audit:
    """Return an audit with another note on k-anonymity."""
    first = replace(audit.findings[0], note=note)
    return replace(audit, findings=(first, *audit.findings[1:]), overall=first)


def both(folder: Path, quasi: list[str], **given: Any) -> tuple[Audit, Audit]:
    """Audit a folder in memory and in parts."""
    return bare(shoal.audit(folder, quasi, **given)), bare(shoal.audit(folder, quasi, **given, memory=TINY))


CASES: dict[str, dict[str, Any]] = {
    "numbers": {"quasi": ["x"]},
    "texts": {"quasi": ["town"]},
    "both": {"quasi": ["x", "town"]},
    "strata": {"quasi": ["x", "town", "region"], "confidential": ["pay"]},
    "confidential": {"quasi": ["x", "town"], "confidential": ["pay", "days", "ill", "born"]},
    "ordered": {"quasi": ["class"], "confidential": ["stage"]},
    "subjects": {"quasi": ["class"], "confidential": ["days"], "subject": "who"},
    "exact subjects": {"quasi": ["class"], "subject": "who", "subject_exact": True},
    "weights": {"quasi": ["class"], "confidential": ["ill"], "weight": "w"},
    "weights of subjects": {"quasi": ["x"], "subject": "who", "weight": "w"},
    "kinds": {"quasi": ["class"], "confidential": ["days"], "kinds": {"days": "nominal"}},
    "taxonomy": {
        "quasi": ["class"],
        "confidential": ["days"],
        "taxonomies": {"days": {"few": ["0", "1"], "many": {"some": ["2", "3"], "most": ["4"]}}},
    },
    "one class": {"quasi": ["one"], "confidential": ["pay", "ill"]},
    "all unique": {"quasi": ["row"], "confidential": ["pay"]},
}


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Use few parts, and note how many were used."""
    used: list[int] = []
    plain = in_parts.split

    def split(*given: Any, parts: int, **rest: Any) -> in_parts.Parts:
        used.append(parts)
        return plain(*given, parts=parts, **rest)

    monkeypatch.setattr("shoal.flow.audit.split", split)
    monkeypatch.setattr(in_parts, "_MOST", 7)
    monkeypatch.setattr(in_parts, "_ROWS", 37)
    return used


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("case", CASES)
def test_equal_to_the_audit_in_memory(case: str, suffix: str, tmp_path: Path, spread: list[int]) -> None:
    given = dict(CASES[case])
    if suffix == "csv" and case == "ordered":
        given["kinds"] = {"stage": "nominal"}
    data = table()
    data = data.append_column("one", pa.array(["x"] * len(data))).append_column("row", pa.array(range(len(data))))
    folder = written(tmp_path / "in", data, suffix=suffix)
    whole, found = both(folder, **given)
    assert spread == [7]
    if "subject" in given:
        whole = without_sets(whole)
        assert found.overall.note.startswith(f"{whole.overall.note}; all records of a subject together were not")
        found = noted(found, whole.overall.note)
    assert found == whole
    assert found.to_dict() == whole.to_dict()


def test_columns_of_extension_types(tmp_path: Path, spread: list[int]) -> None:
    stored = {
        "uuid": pa.array([bytes([i % 4]) * 16 if i else None for i in range(60)], pa.binary(16)),
        "bool8": pa.array([i % 2 for i in range(60)], pa.int8()),
        "json": pa.array([str(i % 3) for i in range(60)]),
    }
    kinds = {"uuid": pa.uuid(), "bool8": pa.bool8(), "json": pa.json_()}
    data = {name: pa.ExtensionArray.from_storage(kinds[name], cells) for name, cells in stored.items()}
    (tmp_path / "in").mkdir()
    for part in range(2):
        some = pa.table({"class": [i % 5 for i in range(60)], **data}).slice(30 * part, 30)
        parquet.write_table(some, tmp_path / "in" / f"{part}.parquet")
    for name in data:
        whole, found = both(tmp_path / "in", ["class"], confidential=[name])
        assert found == whole
        whole, found = both(tmp_path / "in", ["class", name])
        assert found == whole
    assert len(spread) == 6
    assert min(spread) > 1


REQUIRED = {
    "t": (0.2, 0.9),
    "alpha": (0.2, 1),
    "beta": (0.5, 9),
    "p": (1, 3),
    "l_distinct": (1, 3),
    "l_entropy": (1, 2.5),
    "l_recursive": ((4, 1), (1, 3)),
    "e": (0, 900),
    "kpqr": ((1, 0.1, 0.001), (2, 0.1, 0.9)),
}


@pytest.mark.usefixtures("spread")
@pytest.mark.parametrize("model", REQUIRED)
def test_required_levels(model: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "in", table())
    column = "pay" if model == "e" else "days"
    for level in REQUIRED[model]:
        whole, found = both(folder, ["x", "town"], confidential=[column], require={model: level, "k": 2})
        assert found == whole
    assert not {True, False} - {
        bare(shoal.audit(folder, ["x", "town"], ["days"], require={"k": k})).holds for k in (2, 99)
    }


@pytest.mark.usefixtures("spread")
def test_rare_values_in_few_parts(tmp_path: Path) -> None:
    """A part without a rare value must not lower the ratio of the others."""
    rare = pa.table({"class": [1] * 4 + [2] * 4 + [3] * 4, "stage": ["a"] * 12, "pay": [1, 50, 2, 90, *[1] * 8]})
    folder = written(tmp_path / "in", rare)
    for q in (0.2, 0.01, 0.9):
        whole, found = both(folder, ["class"], confidential=["pay"], require={"kpqr": (2, q, 1)})
        assert found == whole


def test_other_models_are_refused_or_left_out(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", table())
    with pytest.raises(ParameterError, match="Audit: n_t_closeness must be audited with the whole table in memory"):
        shoal.audit(folder, ["class"], ["days"], require={"n_t": (50, 0.3)}, memory=TINY)
    refuse_unmergeable(resolve("Audit", {"k": 2, "t": 0.1, "dominance": 0.5}))
    reported = [key for key in registry.keys("privacy") if registry.says("privacy", key, "reported")]
    assert all(map(is_mergeable, reported))


def test_a_large_ceiling_changes_nothing(tmp_path: Path, spread: list[int]) -> None:
    folder = written(tmp_path / "in", table())
    assert shoal.audit(folder, ["class"], memory="1TB") == shoal.audit(folder, ["class"])
    assert spread == []
    one = tmp_path / "one.parquet"
    parquet.write_table(table(), one)
    assert bare(shoal.audit(one, ["class"], memory=TINY)) == bare(shoal.audit(folder, ["class"]))
    assert spread == [7]


def test_a_process_without_memory_is_audited_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spread: list[int]
) -> None:
    folder = written(tmp_path / "in", table())
    monkeypatch.setattr("shoal.memory.available", lambda: 1000)
    assert shoal.audit(folder, ["class"]).records == 400
    assert spread == [7]


def _unlinked(folder: Path) -> None:
    (folder / "1.parquet").unlink()
    (folder / "1.parquet").symlink_to(folder / "gone")


def _truncated(folder: Path) -> None:
    raw = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(raw[: len(raw) // 2])


def _holed(folder: Path) -> None:
    raw = bytearray((folder / "1.parquet").read_bytes())
    raw[40:400] = bytes(360)
    (folder / "1.parquet").write_bytes(bytes(raw))


def _renamed(folder: Path) -> None:
    parquet.write_table(table().rename_columns([f"{name}_" for name in table().column_names]), folder / "1.parquet")


def _retyped(folder: Path) -> None:
    data = table()
    data = data.set_column(data.column_names.index("days"), "days", data["days"].cast(pa.float64()))
    parquet.write_table(data, folder / "1.parquet")


def _mixed(folder: Path) -> None:
    (folder / "9.csv").write_text("a\n1\n")


def _nested(folder: Path) -> None:
    (folder / "more").mkdir()


def _emptied(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


FAULTS: dict[Callable[[Path], None], tuple[type[Exception], str]] = {
    _unlinked: (DataError, "there is no such file"),
    _truncated: (DataError, "damaged or truncated"),
    _holed: (DataError, "damaged or truncated"),
    _renamed: (SchemaError, "must have the same columns; those of 0.parquet are others"),
    _retyped: (
        SchemaError,
        r"same types as 0\.parquet; columns 'days' \(double instead of int64\) differ",
    ),
    _mixed: (DataError, "must have the same format, got csv, parquet"),
    _nested: (DataError, "must not hold other folders, got 'more'"),
    _emptied: (DataError, "the folder must hold files, got none"),
}


@pytest.mark.parametrize("memory", [None, TINY])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_are_sentences(fault: Callable[[Path], None], memory: str | None, tmp_path: Path) -> None:
    folder = written(tmp_path / "in", table())
    fault(folder)
    kind, sentence = FAULTS[fault]
    with pytest.raises(kind, match=sentence):
        shoal.audit(folder, ["x", "class"], ["days"], memory=memory)


@pytest.mark.parametrize("column", ["pay", "w"])
def test_cells_that_cannot_be_read_are_counted_in_the_whole_table(column: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [f"{i % 7},{'odd' if i in (11, 30, 61) else i % 3}" for i in range(70)]
    for part in range(2):
        (folder / f"{part}.csv").write_text("\n".join([f"age,{column}", *lines[35 * part : 35 * part + 35]]) + "\n")
    given = {"confidential": ["pay"], "kinds": {"pay": "integer"}} if column == "pay" else {"weight": "w"}
    said = {None: "in data rows 12, 31, 62", TINY: "in 3 rows" if column == "pay" else "in data rows 12, 31, 62"}
    for memory, where in said.items():
        with pytest.raises(DataError, match=f"'{column}': every cell must be .*; 3 of 70 cannot be read .*, {where}"):
            shoal.audit(folder, ["age"], **given, memory=memory)


def test_scratch_of_a_killed_run_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, scratch = written(tmp_path / "in", table()), tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("SHOAL_SCRATCH", str(scratch))
    seen: list[list[str]] = []

    def split(*given: Any, scratch: Path, **rest: Any) -> in_parts.Parts:
        seen.append(sorted(path.suffix for path in scratch.parent.iterdir()))  # a folder with a mark, and its lock
        return plain(*given, scratch=scratch, **rest)

    plain = in_parts.split
    monkeypatch.setattr("shoal.flow.audit.split", split)
    shoal.audit(folder, ["class"], memory=TINY)
    assert [len(found) for found in seen] == [2]
    assert seen[0][0] == ".lock"
    assert list(scratch.iterdir()) == []


def test_absent_columns_and_sizes(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", table())
    with pytest.raises(SchemaError, match=r"'clas'.*Did you mean"):
        shoal.audit(folder, ["clas"], memory=TINY)
    with pytest.raises(ParameterError, match="memory: must be a positive size"):
        shoal.audit(folder, ["class"], memory="2 gigs")
    with pytest.raises(ParameterError, match="memory cannot be given with a frame"):
        shoal.audit(table(), ["class"], memory="2GB")


def test_the_command(run: Callable, tmp_path: Path) -> None:
    folder = written(tmp_path / "in", table())
    plain = run("audit", folder, "--quasi", "class", "--confidential", "days", "--json")
    small = run("audit", folder, "--quasi", "class", "--confidential", "days", "--json", "--memory", TINY)
    assert plain.code == small.code == 0
    assert plain.out == small.out
    assert run("audit", folder, "--quasi", "class", "--require", "k=99", "--memory", TINY).code == 4
    assert run("audit", folder, "--quasi", "class", "--memory", "much").code == 2
