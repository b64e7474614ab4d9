"""The exchange rule: if two members of a class change places in the input, every published byte is the same."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal

made = runpy.run_path(str(Path(__file__).parent / "exchange.py"))
Case, METHODS, RELEASES, FLAVOURS, EXTRAS = (made[n] for n in ("Case", "METHODS", "RELEASES", "FLAVOURS", "EXTRAS"))
PLACES = made["PLACES"]
FORMATS = (".csv", ".parquet", ".arrow", ".xlsx", ".sav", ".dta")
_FEW = pytest.param(15, 1, id="few")  # exchanges of each method, and of each table
_MANY = pytest.param(55, 3, marks=pytest.mark.long, id="many")
_TABLES = 96  # of each method at most: some combinations are refused


def cases(method: str) -> Iterator[Any]:
    """Give cases of a method: releases, flavours, extras and sizes, pairwise."""
    m = METHODS.index(method)
    for i in range(_TABLES):
        release, flavour = RELEASES[i % len(RELEASES)], FLAVOURS[(m + i) % len(FLAVOURS)]
        extra = EXTRAS[(m + i + i // len(FLAVOURS)) % len(EXTRAS)]
        # households whose rows are neighbours are moved whole, so that single records cannot be exchanged there
        more = {"row_order": "shuffle"} if i % 5 == 4 and extra != "households" else {}
        yield Case(method, release, flavour, extra, k=2 + (i // 2) % 3, n=24 + i % 7, seed=100 * m + i, more=more)


def published(case: Any, table: pa.Table, folder: Path) -> tuple[Any, dict[str, bytes]]:
    """Protect a table in memory, and return all that is published of it."""
    with made["fixed_randomness"]():
        done = shoal.protect(table, case.recipe)
        done.evidence(folder / "evidence.json", force=True)
    if case.release == "anatomy":  # the first table has the people as they were
        found = {"first table, sorted": made["as_rows"](done.data), "second table": made["as_bytes"](done.confidential)}
    else:
        found = {"data": made["as_bytes"](done.data), "evidence": (folder / "evidence.json").read_bytes()}
    said = (done.audit.to_dict(), done.audit.sentences, done.audit.warnings, done.impact, done.notes, done.suppressed)
    return done, {**found, "said": repr(said).encode()}


def may_differ(case: Any, done: Any) -> bool:
    """Tell whether classes may depend on the order of rows: equal records, ties of MDAV, or several blocks."""
    equal = case.flavour in ("duplicates", "categories")
    several = len(done.partition.blocks) > 1 and case.extra in ("subjects", "households")
    return equal or case.method == "mdav" or several


@pytest.mark.parametrize(("least", "of_each"), [_FEW, _MANY])
@pytest.mark.parametrize("method", METHODS)
def test_an_exchange_within_a_class_changes_nothing_that_is_published(
    method: str, least: int, of_each: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(METHODS.index(method))
    compared = skipped = 0
    for case in cases(method):
        if compared >= least:
            break
        table = made["table_of"](case)
        try:
            done, before = published(case, table, tmp_path)
        except (shoal.ParameterError, shoal.SchemaError, shoal.DataError):  # a combination that is refused
            continue
        for names, i, j in islice(made["pairs"](table, done, rng), of_each):
            again, after = published(case, made["exchanged"](table, made["moved"](case, names), i, j), tmp_path)
            if not made["same_classes"](done, again):
                assert may_differ(case, again), case
                skipped += 1
                continue
            assert [name for name in before if before[name] != after[name]] == [], (case, i, j)
            compared += 1
    assert compared >= least
    assert skipped <= compared / 3


@pytest.mark.parametrize("release", RELEASES)
def test_recoded_records_are_exchanged_like_others(release: str, tmp_path: Path) -> None:
    rng, compared = np.random.default_rng(1), 0
    for at, flavour in enumerate(FLAVOURS):
        case = Case("auto", release, flavour, "recoded", k=2 + at % 3, n=30, seed=at)
        table = made["table_of"](case)
        done, before = published(case, table, tmp_path)
        for names, i, j in islice(made["pairs"](table, done, rng), 2):
            _, after = published(case, made["exchanged"](table, made["moved"](case, names), i, j), tmp_path)
            assert [name for name in before if before[name] != after[name]] == [], (case, i, j)
            compared += 1
    assert compared >= len(FLAVOURS)


@pytest.mark.parametrize("flavour", PLACES)
def test_places_are_exchanged_like_other_attributes(flavour: str, tmp_path: Path) -> None:
    rng, at, compared = np.random.default_rng(2), PLACES.index(flavour), 0
    methods = [one for one in METHODS if one not in ("individual_ranking", "mdav")]  # the first has a block per column
    for i, method in enumerate(methods):
        release, extra = RELEASES[(i + at) % len(RELEASES)], EXTRAS[(i + 2 * at) % len(EXTRAS)]
        more = {"set": {"scale": ("standard", "range", "none")[i % 3]}} if i % 2 else {}
        case = Case(method, release, flavour, extra, k=2 + i % 3, n=27 + i, seed=10 * at + i, more=more)
        table = made["table_of"](case)
        try:
            done, before = published(case, table, tmp_path)
        except (shoal.ParameterError, shoal.SchemaError, shoal.DataError):  # a combination that is refused
            continue
        pairs = list(islice(made["pairs"](table, done, rng), 2))
        inputs = [made["exchanged"](table, made["moved"](case, names), one, other) for names, one, other in pairs]
        names = pairs[0][0]
        if release != "anatomy" and extra != "households":
            inputs.append(made["permuted"](table, made["moved"](case, names), done.partition.labels, rng))
        for changed in inputs:
            again, after = published(case, changed, tmp_path)
            assert made["same_classes"](done, again), case
            assert [name for name in before if before[name] != after[name]] == [], case
            compared += 1
    assert compared >= 10


DEMANDS: dict[str, dict[str, Any]] = {
    "t": {"t": 0.3},
    "p": {"require": {"p": 2}},
    "l": {"require": {"l_entropy": 2}},
    "alpha": {"require": {"alpha": 0.6}},
    "e": {"require": {"e": 3}},
    "people": {"require": {"dominance": 0.6}},
    "mdav, then t": {"method": "mdav", "set": {}, "t": 0.3},
    "mdav, refined, then p": {"method": "mdav", "set": {}, "effort": "fast", "require": {"p": 2}},
}


@pytest.mark.parametrize("demand", DEMANDS)
def test_members_of_an_atom_exchange_rows_and_nothing_that_is_published_changes(demand: str, tmp_path: Path) -> None:
    at, compared = list(DEMANDS).index(demand), 0
    for i, flavour in enumerate(FLAVOURS):  # among them equal records, whose rows must not decide on their classes
        extra = EXTRAS[(i + at) % len(EXTRAS)]
        release = ("centroid", "medoid")[i % 2]
        case = Case("auto", release, flavour, extra, k=2 + i % 2, n=26 + i, seed=31 * at + i, more=DEMANDS[demand])
        table = made["table_of"](case)
        try:
            done, before = published(case, table, tmp_path)
        except (shoal.ParameterError, shoal.SchemaError, shoal.DataError):  # a combination that is refused
            continue
        block, rng = done.partition.blocks[0], np.random.default_rng(i)
        assert done.audit.attacker is not None
        assert done.audit.attacker.knows == "algorithm"
        for _ in range(2):
            other = made["permuted"](table, made["moved"](case, block.attributes), block.atoms, rng)
            again, after = published(case, other, tmp_path)
            assert made["same_classes"](done, again), case
            assert [name for name in before if before[name] != after[name]] == [], case
            compared += 1
    assert compared >= 8


def files(case: Any, table: pa.Table, folder: Path, suffix: str, run: Any) -> dict[str, bytes]:
    """Protect a file on the command line, and return all that is published of it."""
    for path in folder.iterdir():
        path.unlink()
    shoal.write_table(table, folder / f"in{suffix}")
    (folder / "r.toml").write_text(shoal.Recipe(**case.recipe).to_toml())
    papers = (
        "--evidence",
        "evidence.json",
        "--report",
        "report.html",
        "--edition",
        "external",
        "--receipt",
        "mine.json",
    )
    with made["fixed_randomness"](), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ran = run(
            "protect",
            f"in{suffix}",
            "-o",
            f"out{suffix}",
            "--recipe",
            "r.toml",
            "--json",
            *papers,
            "--receipt",
            "mine.json",
        )
    assert ran.code == 0, ran.err
    evidence = json.loads((folder / "evidence.json").read_text())
    assert evidence.pop("seal")
    assert evidence.pop("commitment")["sha256"]
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name.startswith(("out", "report"))}
    return {**found, "evidence": json.dumps(evidence).encode(), "stdout": ran.out.encode(), "stderr": ran.err.encode()}


def compare_files(cases_: list[tuple[Any, str]], folder: Path, run: Any, exchanges: int) -> tuple[int, int]:
    """Compare files before and after exchanges; return how many were compared, of pairs and of all members."""
    rng, of_pairs, of_all = np.random.default_rng(7), 0, 0
    for case, suffix in cases_:
        table = made["table_of"](case)
        try:
            done = shoal.protect(table, case.recipe)
        except (shoal.ParameterError, shoal.SchemaError, shoal.DataError):
            continue
        before = files(case, table, folder, suffix, run)
        found = list(islice(made["pairs"](table, done, rng), exchanges))
        others = [made["exchanged"](table, made["moved"](case, names), i, j) for names, i, j in found]
        if len(done.partition.blocks) == 1 and case.release != "anatomy" and case.extra != "households":
            names = made["moved"](case, done.partition.blocks[0].attributes)
            others.append(made["permuted"](table, names, done.partition.labels, rng))
        for at, other in enumerate(others):
            if not made["same_classes"](done, shoal.protect(other, case.recipe)):
                continue
            after = files(case, other, folder, suffix, run)
            differ = [name for name in before if before[name] != after.get(name)]
            if (
                case.release == "anatomy"
            ):  # the first table has the people as they were, and its digest is in the evidence
                differ = [name for name in differ if name not in (f"out{suffix}", "evidence")]
            assert differ == [], (case, suffix, at)
            of_pairs, of_all = of_pairs + (at < len(found)), of_all + (at >= len(found))
    return of_pairs, of_all


@pytest.mark.parametrize("suffix", FORMATS)
def test_files_reports_and_evidence_are_the_same_bytes(suffix: str, tmp_path: Path, run: Any) -> None:
    at = FORMATS.index(suffix)
    case = Case("mdav", RELEASES[at % 3], FLAVOURS[at % 3], EXTRAS[at % 3], k=3, n=24, seed=at)
    assert compare_files([(case, suffix)], tmp_path, run, 1)[0] == 1


@pytest.mark.long
def test_the_whole_crossing_of_methods_releases_and_formats(tmp_path: Path, run: Any) -> None:
    chosen = [
        (case, FORMATS[(m + i) % len(FORMATS)])
        for m, method in enumerate(METHODS)
        for i, case in enumerate(islice((one for one in cases(method) if not one.more), 14))
    ]
    of_pairs, of_all = compare_files(chosen, tmp_path, run, 3)
    assert of_pairs >= 200
    assert of_all >= 20


def test_the_external_report_of_swapped_missing_values_shows_the_release_alone(tmp_path: Path) -> None:
    case = Case("pcp", "swap", "missing", "subjects", k=3, n=26, seed=202)
    table = made["table_of"](case)
    labels = shoal.protect(table, case.recipe).partition.labels
    names, pages = made["moved"](case, ("a", "b", "c")), set()
    for seed in range(4):
        other = made["permuted"](table, names, labels, np.random.default_rng(seed)) if seed else table
        with made["fixed_randomness"]():
            shoal.protect(other, case.recipe).report(tmp_path / "r.html", "external", force=True)
        pages.add((tmp_path / "r.html").read_bytes())
    assert len(pages) == 1


def test_the_external_report_of_several_blocks_looks_at_each_attribute_by_itself(tmp_path: Path) -> None:
    case = Case("individual_ranking", "medoid", "lattice", "weights of records", k=2, n=25, seed=801)
    table, pages = made["table_of"](case), []
    done = shoal.protect(table, case.recipe)
    found = list(islice(made["pairs"](table, done, np.random.default_rng(7)), 6))
    for other in [table, *(made["exchanged"](table, made["moved"](case, names), i, j) for names, i, j in found)]:
        with made["fixed_randomness"]():
            shoal.protect(other, case.recipe).report(tmp_path / "r.html", "external", force=True)
        pages.append((tmp_path / "r.html").read_bytes())
    assert len(set(pages)) == 1


def test_combinations_of_swapped_cells_are_counted_without_regard_to_subjects(tmp_path: Path) -> None:
    compared = 0
    for seed in range(3):
        case = Case("auto", "swap", "integers", "subjects", n=40, seed=seed, more={"strata": ["zone"]})
        rng, table = np.random.default_rng(seed), made["table_of"](case)
        table = table.append_column("zone", pa.array(np.arange(40) % 4))
        for name, values in zip("abc", (rng.integers(0, 4, 40), np.zeros(40), np.zeros(40)), strict=True):
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(values))
        done, before = published(case, table, tmp_path)
        for _ in range(3):
            other = made["permuted"](table, made["moved"](case, ("a", "b", "c")), done.partition.labels, rng)
            assert published(case, other, tmp_path)[1] == before, case
            compared += 1
    assert compared == 9
