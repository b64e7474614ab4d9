"""Verification of folders, and of outputs larger than memory: the same verdicts as in memory."""

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
from shoal.errors import ParameterError
from shoal.flow.evidence.receipt import of_file, of_folder
from shoal.flow.stages import parts as in_parts
from shoal.report.evidence import Evidence

TINY = "1KB"


@pytest.fixture(autouse=True)
def few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_parts, "_MOST", 5)
    monkeypatch.setattr(in_parts, "_ROWS", 41)


def table(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "age": rng.integers(20, 80, n),
            "income": np.round(rng.lognormal(8, 1, n)),
            "region": np.array(["n", "s"])[rng.integers(0, 2, n)],
            "pay": np.round(rng.normal(2000, 500, n), 1),
            "ill": np.array(["flu", "ulcer", "cold"])[rng.integers(0, 3, n)],
            "who": [f"p{i}" for i in rng.integers(0, n, n)],
            "w": np.round(rng.uniform(1, 3, n), 2),
        }
    )


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "confidential": {"confidential": ["pay", "ill"]},
    "t and p": {"confidential": ["pay", "ill"], "t": 0.4, "require": {"p": 2}},
    "strata": {"confidential": ["pay"], "strata": ["region"]},
    "subjects": {"confidential": ["ill"], "subject": "who"},
    "weights": {"confidential": ["ill"], "weight": "w", "release_weight": "class"},
    "taxonomy": {"confidential": ["ill"], "taxonomies": {"ill": {"lungs": ["flu", "cold"], "stomach": ["ulcer"]}}},
    "order": {"confidential": ["ill"], "orders": {"ill": ["cold", "flu", "ulcer"]}},
}


def protected(folder: Path, suffix: str, **given: Any) -> tuple[Path, Path]:
    source, out, evidence = folder / "in.parquet", folder / f"out.{suffix}", folder / "evidence.json"
    parquet.write_table(table(), source)
    shoal.protect(source, output=out, quasi=["age", "income"], k=4, method="mdav", evidence=evidence, **given)
    return evidence, out


@pytest.mark.parametrize("case", CASES)
def test_verdicts_are_those_in_memory(case: str, tmp_path: Path) -> None:
    suffix = "csv" if case in ("t and p", "weights", "order") else "parquet"
    evidence, out = protected(tmp_path, suffix, **CASES[case])
    whole, found = shoal.verify(evidence, out), shoal.verify(evidence, out, memory=TINY)
    assert whole.holds
    assert found.to_dict() == whole.to_dict()


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_changed_output_fails_alike(suffix: str, tmp_path: Path) -> None:
    evidence, out = protected(tmp_path, suffix, confidential=["pay", "ill"], require={"p": 2})
    data = csv.read_csv(out) if suffix == "csv" else parquet.read_table(out)
    for changed in (
        data.set_column(0, "age", pa.array([99.5, *data["age"].to_pylist()[1:]])),
        data.set_column(3, "pay", pa.array([0.0] * len(data))),
        data.slice(1),
        data.drop_columns(["ill"]),
        data.drop_columns(["age"]),
    ):
        if suffix == "csv":
            csv.write_csv(changed, out)
        else:
            parquet.write_table(changed, out)
        whole, found = shoal.verify(evidence, out), shoal.verify(evidence, out, memory=TINY)
        assert not whole.holds
        assert found.to_dict() == whole.to_dict()


def in_folder(evidence: Path, out: Path, folder: Path) -> None:
    """Turn an output and its evidence into those of a folder with two files."""
    folder.mkdir()
    data = parquet.read_table(out)
    for i, some in enumerate((data.slice(0, 100), data.slice(100))):
        parquet.write_table(some, folder / f"part-{i}.parquet")
    digest = of_folder(folder)
    said = json.loads(evidence.read_text())
    said["outputs"][0] |= {"name": folder.name, "sha256": digest.hex, "bytes": digest.size}
    said.pop("seal", None)
    evidence.write_text(Evidence(said).render())


@pytest.mark.parametrize("memory", [None, TINY])
def test_folders(memory: str | None, tmp_path: Path, run: Callable) -> None:
    evidence, out = protected(tmp_path, "parquet", confidential=["pay", "ill"], t=0.4)
    folder = tmp_path / "out"
    in_folder(evidence, out, folder)
    found = shoal.verify(evidence, folder, require={"k": 4}, memory=memory)
    assert found.holds, [check for check in found.checks if check.verdict.value == "fails"]
    options = [] if memory is None else ["--memory", memory]
    assert run("verify", evidence, folder, *options).code == 0
    (folder / "part-1.parquet").rename(folder / "part-2.parquet")
    assert run("verify", evidence, folder, *options).code == 4


def test_digest_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("x\n1\n")
    (tmp_path / "a.csv").write_text("x\n2\n")
    first = of_folder(tmp_path)
    assert first.size == 8
    (tmp_path / ".hidden").write_text("")
    assert of_folder(tmp_path) == first
    assert first.hex != of_file(tmp_path / "a.csv").hex
    (tmp_path / "b.csv").rename(tmp_path / "c.csv")
    assert of_folder(tmp_path).hex != first.hex


def test_models_of_whole_tables_are_refused(tmp_path: Path) -> None:
    evidence, out = protected(tmp_path, "parquet", confidential=["pay"], t=0.5, n=100)
    with pytest.raises(ParameterError, match="verify: n_t_closeness must be audited with the whole table in memory"):
        shoal.verify(evidence, out, memory=TINY)
