"""The gate of files larger than memory: it finds what the gate in memory finds, and refuses what that refuses."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv, parquet

import shoal
from shoal.errors import DataError, GuaranteeError, ParameterError, ShoalError
from shoal.flow.evidence.build import histogram
from shoal.flow.gate.files import Audited, Written, audit_files, refuse_unaudited
from shoal.flow.gate.gate import gate
from shoal.flow.plan.promise import Promise
from shoal.flow.stages import parts as in_parts
from shoal.types import Audit, Dialect, Release

TINY = 1000


@pytest.fixture(autouse=True)
def few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_parts, "_MOST", 5)
    monkeypatch.setattr(in_parts, "_ROWS", 41)


def table(n: int = 240) -> pa.Table:
    rng = np.random.default_rng(3)
    pay = np.round(rng.normal(2000, 500, n), 1)
    pay[:7] = np.nan
    return pa.table(
        {
            "age": rng.integers(20, 80, n),
            "income": np.round(rng.lognormal(8, 1, n)),
            "sex": np.array(["f", "m", None], object)[rng.integers(0, 3, n)],
            "region": np.array(["n", "s"])[rng.integers(0, 2, n)],
            "pay": pa.array(pay, from_pandas=False),
            "ill": np.array(["flu", "Flu", "ulcer", None], object)[rng.integers(0, 4, n)],
            "town": [f"t{i}" for i in rng.integers(0, 40, n)],
            "house": [f"h{i}" for i in rng.integers(0, n // 3, n)],
            "w": np.round(rng.uniform(1, 3, n), 2),
        }
    )


CASES: dict[str, dict[str, Any]] = {
    "numbers": {},
    "mixed": {"quasi": ["age", "income", "sex"], "kinds": {"sex": "nominal"}},
    "confidential": {"confidential": ["pay", "ill"], "reviewed": ["town"]},
    "levels": {"confidential": ["pay", "ill"], "t": 0.5, "require": {"p": {"pay": 2}, "alpha": {"pay": 0.9}}},
    "strata": {"confidential": ["ill"], "strata": ["region"]},
    "subjects": {"confidential": ["ill"], "subject": "house"},
    "groups": {"confidential": ["ill"], "together": "house"},
    "class weights": {"confidential": ["ill"], "weight": "w", "release_weight": "class", "strata": ["region"]},
    "record weights": {"weight": "w", "release_weight": "record"},
    "hidden weights": {"weight": "w", "release_weight": "none", "require": {"dominance": 0.9}},
    "text": {"quasi": ["age", "sex"], "confidential": ["ill"], "kinds": {"sex": "nominal"}},
    "faults": {"confidential": ["ill"], "subject": "house", "require": {"p": 2}},
    "n_t": {"confidential": ["pay"], "t": 0.6, "n": 100},
}
OTHERS = ("text", "faults", "n_t")


@cache
def gated(case: str) -> tuple[Release, Promise, Audit]:
    """Protect a table, and return what the gate was given and what it found."""
    given = {"quasi": ["age", "income"], "k": 4, "method": "mdav", "effort": "fast", **CASES[case]}
    seen: list[tuple[Release, Promise, Audit]] = []

    def noting(release: Release, promise: Promise) -> Audit:
        seen.append((release, promise, gate(release, promise)))
        return seen[-1][2]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.flow.protect.protect.gate", noting)
        shoal.protect(table(), **given)
    return seen[-1]


def written(folder: Path, release: Release, suffix: str = "parquet") -> Written:
    """Write a release as the disk engine does: several files, and what is not released in a scratch file."""
    data, paths = release.data, []
    for i in range(3):
        paths.append(folder / f"{i}.{suffix}")
        some = data.slice(i * 80, 80)
        if suffix == "parquet":
            parquet.write_table(some, paths[-1])
        else:
            csv.write_csv(some, paths[-1])
    hidden = {}
    if release.subjects is not None:
        digests = [hashlib.blake2b(str(who).encode(), digest_size=16).digest() for who in release.subjects.to_pylist()]
        hidden["subject"] = pa.array(digests, pa.binary(16))
    if release.weights is not None:
        hidden["weight"] = pa.array(release.weights)
    if hidden:
        parquet.write_table(pa.table(hidden), folder / "hidden.parquet", row_group_size=33)
    return Written(
        tuple(paths),
        release.schema,
        len(data),
        Dialect() if suffix == "csv" else None,
        folder / "hidden.parquet" if hidden else None,
        release.resolutions,
    )


def audited(folder: Path, what: Written, promise: Promise, memory: int = TINY) -> Audited:
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    found = audit_files(what, promise, memory=memory, scratch=scratch)
    assert list(scratch.iterdir()) == []
    return found


def bare(audit: Audit) -> Audit:
    """Return an audit without what parts do not know."""
    findings = tuple(replace(one, worst=()) for one in audit.findings)
    unchanged = audit.unchanged and replace(audit.unchanged, in_class=None)
    overall = replace(audit.overall, worst=())
    return replace(audit, findings=findings, overall=overall, unchanged=unchanged, attacker=None)


@pytest.mark.parametrize("memory", [TINY, 10**12])
@pytest.mark.parametrize("case", [case for case in CASES if case not in OTHERS])
def test_finds_what_the_gate_in_memory_finds(case: str, memory: int, tmp_path: Path) -> None:
    release, promise, expected = gated(case)
    found = audited(tmp_path, written(tmp_path, release), promise, memory)
    assert bare(found.audit) == bare(expected)
    assert found.class_sizes == histogram(release, promise.quasi)


def test_text_files(tmp_path: Path) -> None:
    release, promise, expected = gated("text")
    found = audited(tmp_path, written(tmp_path, release, "csv"), promise)
    assert bare(found.audit).overall == bare(expected).overall
    assert found.audit.unchanged.unique == expected.unchanged.unique


def _one_apart(release: Release, what: Written) -> Written:
    """Give one record an income of its own."""
    data = parquet.read_table(what.paths[1])
    parquet.write_table(data.set_column(1, "income", pa.array([1.0, *data["income"].to_pylist()[1:]])), what.paths[1])
    return what


def _too_fine(release: Release, what: Written) -> Written:
    for path in what.paths:
        data = parquet.read_table(path)
        parquet.write_table(data.set_column(1, "income", pc.add(data["income"], 1e-7)), path)
    return what


def _same_values(release: Release, what: Written) -> Written:
    for path in what.paths[:2]:
        data = parquet.read_table(path)
        at = data.column_names.index("ill")
        parquet.write_table(data.set_column(at, "ill", pa.array(["flu"] * len(data))), path)
    return what


def _row_lost(release: Release, what: Written) -> Written:
    parquet.write_table(parquet.read_table(what.paths[2]).slice(1), what.paths[2])
    return what


def _file_lost(release: Release, what: Written) -> Written:
    what.paths[1].unlink()
    return what


def _truncated(release: Release, what: Written) -> Written:
    what.paths[1].write_bytes(what.paths[1].read_bytes()[:-100])
    return what


def _column_lost(release: Release, what: Written) -> Written:
    for path in what.paths:
        parquet.write_table(parquet.read_table(path).drop_columns(["age"]), path)
    return what


def _confidential_lost(release: Release, what: Written) -> Written:
    for path in what.paths:
        parquet.write_table(parquet.read_table(path).drop_columns(["ill"]), path)
    return what


def _identifier_left(release: Release, what: Written) -> Written:
    for path in what.paths:
        data = parquet.read_table(path)
        parquet.write_table(data.append_column("house", pa.array(range(len(data)))), path)
    return what


def _one_person(release: Release, what: Written) -> Written:
    parquet.write_table(pa.table({"subject": pa.array([b"0" * 16] * what.records, pa.binary(16))}), what.hidden)
    return what


def _fewer_people(release: Release, what: Written) -> Written:
    parquet.write_table(parquet.read_table(what.hidden).slice(1), what.hidden)
    return what


def _more_people(release: Release, what: Written) -> Written:
    people = parquet.read_table(what.hidden)
    parquet.write_table(pa.concat_tables([people, people.slice(0, 1)]), what.hidden)
    return what


def _nobody(release: Release, what: Written) -> Written:
    return replace(what, hidden=None)


FAULTS: dict[Any, tuple[type[ShoalError], str]] = {
    _one_apart: (GuaranteeError, "requires 4 and achieves 1"),
    _too_fine: (GuaranteeError, "more digits than their resolution allows: income"),
    _same_values: (GuaranteeError, "p_sensitivity of ill over age, income"),
    _row_lost: (GuaranteeError, "more or fewer rows than the subjects"),
    _file_lost: (DataError, "there is no such file"),
    _truncated: (DataError, "damaged or truncated"),
    _column_lost: (GuaranteeError, "Columns are not in the output: age"),
    _confidential_lost: (GuaranteeError, "Confidential columns are not in the output: ill"),
    _identifier_left: (GuaranteeError, "Identifiers would have been released: house"),
    _one_person: (GuaranteeError, "requires 4 and achieves 1"),
    _fewer_people: (GuaranteeError, "more or fewer rows than the subjects"),
    _more_people: (GuaranteeError, "more or fewer rows than the subjects"),
    _nobody: (GuaranteeError, "The value of 'house' is not known for every record"),
}


@pytest.mark.parametrize("memory", [TINY, 10**12])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_fails_closed(fault: Any, memory: int, tmp_path: Path) -> None:
    release, promise, _ = gated("faults")
    what = fault(release, written(tmp_path, release))
    kind, sentence = FAULTS[fault]
    (tmp_path / "scratch").mkdir()
    with pytest.raises(kind, match=sentence):
        audit_files(what, promise, memory=memory, scratch=tmp_path / "scratch")


def test_rows_that_were_not_written(tmp_path: Path) -> None:
    release, promise, _ = gated("numbers")
    what = written(tmp_path, release)
    with pytest.raises(GuaranteeError, match="The files have 240 rows, but 250 were written"):
        audited(tmp_path, replace(what, records=250), promise)


def test_groups_that_are_split(tmp_path: Path) -> None:
    release, promise, _ = gated("groups")
    what = written(tmp_path, release)
    people = parquet.read_table(what.hidden)["subject"].to_pylist()
    rows = list(zip(release.data["age"].to_pylist(), release.data["income"].to_pylist(), strict=True))
    other = next(at for at, row in enumerate(rows) if row != rows[0])
    people[other] = people[0]  # the same group in two classes
    parquet.write_table(pa.table({"subject": pa.array(people, pa.binary(16))}), what.hidden)
    (tmp_path / "scratch").mkdir()
    with pytest.raises(GuaranteeError, match="groups of 'house' must stay together"):
        audit_files(what, replace(promise, k=2), memory=TINY, scratch=tmp_path / "scratch")


def test_promises_about_whole_tables_are_refused() -> None:
    _, promise, _ = gated("n_t")
    with pytest.raises(ParameterError, match="Recipe: n_t_closeness must be audited with the whole table in memory"):
        refuse_unaudited(promise)
