"""A verifier finds out every change of an output, and every number of an evidence that is not true."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib.util
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.flow.evidence.receipt import of_name, of_table
from shoal.report.evidence import Evidence, seal_of

ROWS = 40
RECIPE = {
    "quasi": ["age", "income"],
    "confidential": ["ill", "pay"],
    "identifier": ["name"],
    "strata": ["sex"],
    "weight": "w",
    "k": 4,
    "require": {"p": 2},
}


def people(rows: int = ROWS, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": rng.integers(20, 80, rows),
            "income": np.round(rng.normal(3000, 900, rows), 2),
            "sex": [("f", "m")[i % 2] for i in range(rows)],
            "ill": rng.choice(["flu", "ulcer", "none", "asthma"], rows),
            "pay": rng.integers(1, 9, rows) * 100,
            "w": np.round(rng.uniform(1, 9, rows), 1),
        }
    )


_WRITTEN: dict[str | None, dict[str, bytes]] = {}  # files by what was asked for: they are the same every time


def written(folder: Path, output: str = "out.csv", recipe: dict[str, Any] | None = None, **more: Any) -> tuple:
    """Protect the people there, or copy what was made of them before; return the evidence and the output."""
    source = folder / more.pop("source", "in.csv")
    target = output if "://" in output else folder / output
    papers = {"evidence": folder / "e.json", "receipt": folder / "r.json"}
    known = None if more or "://" in output else json.dumps([source.name, output, recipe], default=str)
    if known in _WRITTEN:
        for name, content in _WRITTEN[known].items():
            (folder / name).write_bytes(content)
        return folder / "e.json", target
    before = set(folder.iterdir())
    shoal.write_table(people(), source)
    shoal.protect_file(source, target, {**RECIPE, **(recipe or {})}, **papers, **more)
    if known and all(path.is_file() for path in folder.iterdir()):
        _WRITTEN[known] = {path.name: path.read_bytes() for path in set(folder.iterdir()) - before}
    return folder / "e.json", target


def failed(evidence: Path, output: Any, source: Any = None) -> list[str]:
    receipt = None if source is None else evidence.with_name("r.json")
    return [check.claim for check in shoal.verify(evidence, output, source, receipt=receipt).failed]


def verdicts(evidence: Path, output: Any) -> dict[str, str]:
    return {check.claim: check.verdict.value for check in shoal.verify(evidence, output).checks}


def edit(evidence: Path, change: Callable[[dict[str, Any]], None], *, resealed: bool = False) -> None:
    values = json.loads(evidence.read_text())
    change(values)
    if resealed:
        values["seal"] = seal_of(values)
    evidence.write_text(json.dumps(values))


FORMATS = ["out.csv", "out.tsv", "out.parquet", "out.sav", "out.dta", "out.xlsx", "out.arrow"]


class TestWhatIsTrue:
    @pytest.mark.parametrize("output", FORMATS)
    def test_every_format(self, output: str, tmp_path: Path) -> None:
        evidence, target = written(tmp_path, output)
        assert failed(evidence, target, tmp_path / "in.csv") == []
        seen = verdicts(evidence, target)
        assert seen["k_anonymity over age, income"] == "holds"
        assert seen["k_anonymity over age, income, sex"] == "holds"
        assert seen["p_sensitivity of ill over age, income"] == "holds"

    @pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
    def test_databases_by_their_content(self, scheme: str, tmp_path: Path) -> None:
        url = f"{scheme}:////{tmp_path}/out.db?table=safe".replace("////", "///")
        evidence, target = written(tmp_path, url)
        assert failed(evidence, target) == []
        values = json.loads(evidence.read_text())
        assert (values["outputs"][0]["of"], values["outputs"][0]["bytes"]) == ("content", None)

    def test_a_database_as_input(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/in.db?table=people"
        shoal.write_table(people(), url)
        papers = {"evidence": tmp_path / "e.json", "receipt": tmp_path / "r.json"}
        shoal.protect_file(url, tmp_path / "out.csv", RECIPE, **papers)
        assert failed(tmp_path / "e.json", tmp_path / "out.csv", url) == []
        with sqlite3.connect(tmp_path / "in.db") as connection:
            connection.execute("UPDATE people SET pay = 1 WHERE age = (SELECT max(age) FROM people)")
        assert failed(tmp_path / "e.json", tmp_path / "out.csv", url) == ["The input is the one that was protected"]

    @pytest.mark.parametrize("as_frame", [pa.Table.to_pandas, lambda t: t], ids=["pandas", "pyarrow"])
    def test_frames(self, as_frame: Callable, tmp_path: Path) -> None:
        frame = as_frame(people())
        done = shoal.protect(frame, RECIPE)
        done.evidence(tmp_path / "e.json", receipt=tmp_path / "r.json")
        assert failed(tmp_path / "e.json", done.data, frame) == []
        other = as_frame(people(seed=1))
        assert failed(tmp_path / "e.json", done.data, other) == ["The input is the one that was protected"]
        with pytest.raises(shoal.ParameterError, match="already exists"):
            done.evidence(tmp_path / "e.json")

    def test_of_a_file_evidence_must_be_asked_for_in_time(self, tmp_path: Path) -> None:
        shoal.write_table(people(), tmp_path / "in.csv")
        done = shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE)
        with pytest.raises(shoal.ParameterError, match="must be requested"):
            done.evidence(tmp_path / "e.json")

    @pytest.mark.parametrize(
        "recipe",
        [
            {"t": 0.4, "require": {}},
            {"t": 0.4, "n": 20, "require": {}},
            {"strata": [], "require": {"l_entropy": 2, "alpha": 0.9, "e": {"pay": 100}, "l_recursive": [2, 2]}},
            {"require": {}, "blocks": [["age"], ["income"]], "release_weight": "record"},
            {"require": {}, "method": "individual_ranking", "release_weight": "record"},
            {
                "require": {},
                "method": "pcp",
                "set": {"group": "correlated", "block_size": 1},
                "release_weight": "record",
            },
            {"require": {}, "method": "mic1d", "strata": [], "weight": None},
            {"release": "medoid"},
            {"strata": [], "t": 0.5, "method": "steered", "set": {"weight": 0.5}, "require": {}},
            {"orders": {"ill": ["none", "flu", "asthma", "ulcer"]}, "t": 0.5},
            {"taxonomies": {"ill": {"lungs": ["flu", "asthma"], "rest": ["ulcer", "none"]}}, "t": 0.6},
            {"text": {"missing": ["flu", "ulcer"]}},
            {"effort": "fast"},
        ],
        ids=str,
    )
    def test_every_promise(self, recipe: dict[str, Any], tmp_path: Path) -> None:
        evidence, target = written(tmp_path, recipe=recipe)
        assert failed(evidence, target, tmp_path / "in.csv") == []

    @pytest.mark.parametrize("t", [0.2, 0.7])
    def test_categories_that_do_not_occur(self, t: float, tmp_path: Path) -> None:
        """Unused categories decide how far others are apart: an unused group is as high, an unused rank counts."""
        deep = {"upper": {"cold": {"mild": ["none"], "rare": {"more": ["plague"]}}, "asthma": ["asthma"]}}
        recipe = {
            "orders": {"pay": ["0", *(str(i) for i in range(100, 1000, 100)), "5000"]},
            "taxonomies": {"ill": {**deep, "lower": ["flu", "ulcer", "gout"]}},
            "require": {},
            "strata": [],
            "t": t,
        }
        evidence, target = written(tmp_path, recipe=recipe)
        assert failed(evidence, target, tmp_path / "in.csv") == []
        said = json.loads(evidence.read_text())
        columns, salt = said["columns"], bytes.fromhex(said["salt"])
        held = set(people()["ill"].to_pylist())
        assert set(columns["ill"]["taxonomy"]) == {of_name(salt, name) for name in held}
        paid = {str(pay) for pay in people()["pay"].to_pylist()}
        assert [name is not None for name in columns["pay"]["order"]] == [
            name in paid for name in recipe["orders"]["pay"]
        ]
        for name in ("plague", "gout", "rare", "5000"):
            assert of_name(salt, name) not in evidence.read_text()

    def test_ordered_categories_of_a_frame_in_a_text_file(self, tmp_path: Path) -> None:
        """The order is known from the input's types only; the evidence knows it by digests."""
        frame = people().to_pandas()
        frame["ill"] = pd.Categorical(frame["ill"], ["none", "flu", "asthma", "ulcer"], ordered=True)
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / "in.parquet")
        recipe = {**RECIPE, "t": 0.5}
        shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.csv", recipe, evidence=tmp_path / "e.json")
        assert failed(tmp_path / "e.json", tmp_path / "out.csv") == []

    def test_verifying_loads_nothing_that_makes(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        code = (
            f"import sys, shoal\nassert shoal.verify({str(evidence)!r}, {str(target)!r}).holds\n"
            "made = ('numba', 'shoal.kernels', 'shoal.partition', 'shoal.points', 'shoal.release', 'shoal.steer')\n"
            "print(*[name for name in sys.modules if name.startswith(made)])"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == ""


class TestWhatCannotBeSeen:
    def test_subjects(self, tmp_path: Path) -> None:
        recipe = {"identifier": [], "subject": "name"}
        evidence, target = written(tmp_path, recipe=recipe)
        assert failed(evidence, target) == []
        assert verdicts(evidence, target)["k_anonymity over age, income"] == "cannot be checked"

    @pytest.mark.parametrize(
        "more",
        [
            {"blocks": [["birth"], ["rent", "rooms"]], "release_weight": "record"},
            {"strata": ["region"]},
            {"identifier": ["person"], "subject": None, "together": "household", "household_level": ["rent", "rooms"]},
        ],
        ids=str,
    )
    def test_households(self, more: dict[str, Any], tmp_path: Path) -> None:
        """Classes hold several records of a household, so that records and households differ."""
        people = shoal.survey(400)
        recipe = {"quasi": ["birth", "rent", "rooms"], "subject": "household", "weight": "weight", "k": 3}
        done = shoal.protect(people, {**recipe, "identifier": ["person"], "confidential": ["health"], **more})
        done.evidence(tmp_path / "e.json", receipt=tmp_path / "r.json")
        seen = shoal.verify(tmp_path / "e.json", done.data, people, receipt=tmp_path / "r.json")
        assert seen.failed == ()
        assert "in records the smallest class has" in " ".join(check.why for check in seen.unchecked)

    def test_small_strata_and_missing_values(self, tmp_path: Path) -> None:
        recipe = {"quasi": ["birth", "rent"], "identifier": ["person", "household"], "strata": ["occupation"], "k": 5}
        done = shoal.protect(shoal.survey(400), {**recipe, "small_strata": "merge", "when_missing": "exclude"})
        done.evidence(tmp_path / "e.json")
        assert done.left_out > 0
        assert failed(tmp_path / "e.json", done.data) == []

    def test_fewer_records_than_subjects_were_claimed(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path, recipe={"identifier": [], "subject": "name"})

        def raise_it(values: dict[str, Any]) -> None:
            for one in values["findings"]:
                if one["model"] == "k_anonymity":
                    one["achieved"] = 30

        edit(evidence, raise_it, resealed=True)
        assert "k_anonymity over age, income" in failed(evidence, target)

    def test_swap_keeps_its_key(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path, recipe={"release": "swap", "require": {}, "seed": 271828})
        assert failed(evidence, target, tmp_path / "in.csv") == []
        seen = verdicts(evidence, target)
        assert seen["probabilistic_k_anonymity over age, income"] == "cannot be checked"
        assert seen["The recipe matches its fingerprint"] == "holds"  # of the seed nothing secret depends
        said, kept = (json.loads((tmp_path / name).read_text()) for name in ("e.json", "r.json"))
        assert said["seed"] == 271828
        assert kept["swap_key"] not in evidence.read_text()

    def test_a_swap_by_a_seed_promises_nothing(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path, recipe={"release": "swap", "require": {}, "set": {"not_private_seed": 3}})
        assert failed(evidence, target) == []
        (claim,) = [one for one in shoal.verify(evidence, target).checks if "recipe were audited" in one.claim]
        assert "nothing is promised" in claim.why

        def with_a_promise(values: dict[str, Any]) -> None:
            values["recipe"]["set"] = {}
            values["fingerprint"] = shoal.Recipe.from_dict(values["recipe"]).fingerprint

        edit(evidence, with_a_promise, resealed=True)
        assert failed(evidence, target) == ["All promises of the recipe were audited"]

    def test_two_tables(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path, recipe={"release": "anatomy"})
        assert failed(evidence, target) == []
        seen = verdicts(evidence, target)
        assert seen["anatomy_k over class"] == "cannot be checked"
        assert seen["p_sensitivity of pay over class"] == "holds"
        second = tmp_path / "out.confidential.csv"
        lines = second.read_text().splitlines()
        second.write_text("\n".join([*lines[:-1], lines[1]]) + "\n")
        assert {"anatomy_k over class", "out.confidential.csv is the released file"} <= set(failed(evidence, target))

    def test_two_frames(self, tmp_path: Path) -> None:
        done = shoal.protect(people(), {**RECIPE, "release": "anatomy"})
        done.evidence(tmp_path / "e.json")
        assert failed(tmp_path / "e.json", [done.data, done.confidential]) == []
        with pytest.raises(shoal.ParameterError, match="2 tables were released, got 1"):
            shoal.verify(tmp_path / "e.json", done.data)


def one_cell(lines: list[str]) -> list[str]:
    cells = lines[3].split(",")
    return [*lines[:3], ",".join(["1", *cells[1:]]), *lines[4:]]


CHANGES: dict[str, Callable[[list[str]], list[str]]] = {
    "one cell": one_cell,
    "one row dropped": lambda lines: lines[:-1],
    "one row appended": lambda lines: [*lines, lines[1]],
    "two rows swapped": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "a blank": lambda lines: [*lines[:-1], lines[-1] + " "],
    "a column renamed": lambda lines: [lines[0].replace("age", "Age"), *lines[1:]],
    "a column dropped": lambda lines: [line.partition(",")[2] for line in lines],
    "an unreadable number": lambda lines: [*lines[:-1], lines[-1].rpartition(",")[0] + ",many"],
}


class TestOutputsThatChanged:
    @pytest.mark.parametrize("name", CHANGES)
    def test_every_change_is_found(self, name: str, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        target.write_text("\n".join(CHANGES[name](target.read_text().splitlines())) + "\n")
        found = failed(evidence, target)
        assert "out.csv is the released file" in found
        if name in ("one cell", "a column dropped", "a column renamed"):
            assert "k_anonymity over age, income" in found
        if name == "two rows swapped":  # the audit holds, but it is another file
            assert found == ["out.csv is the released file"]

    @pytest.mark.parametrize("output", ["out.parquet", "out.sav", "out.xlsx"])
    def test_other_formats(self, output: str, tmp_path: Path) -> None:
        evidence, _ = written(tmp_path, output)
        (tmp_path / "other").mkdir()
        other = tmp_path / "other" / output
        fewer = {**RECIPE, "identifier": ["name"], "seed": 1, "k": 3, "require": {}}
        shoal.protect_file(tmp_path / "in.csv", other, fewer)
        assert {f"{output} is the released file", "k_anonymity over age, income"} <= set(failed(evidence, other))

    def test_a_row_of_a_database(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path, f"sqlite:///{tmp_path}/out.db?table=safe")
        with sqlite3.connect(tmp_path / "out.db") as connection:
            connection.execute("DELETE FROM safe WHERE rowid = 1")
        assert "safe is the released file" in failed(evidence, target)

    def test_an_identifier_that_came_back(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        lines = target.read_text().splitlines()
        target.write_text("\n".join(f"{line},{'name' if at == 0 else at}" for at, line in enumerate(lines)) + "\n")
        assert "No column released that must not be" in failed(evidence, target)

    def test_another_input(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        (tmp_path / "in.csv").write_text((tmp_path / "in.csv").read_text() + "\n")
        assert failed(evidence, target, tmp_path / "in.csv") == ["The input is the one that was protected"]


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """Give the way to every number, truth value and text of a JSON value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    else:
        yield path


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return f"{value}x" if isinstance(value, str) else 7


CLAIMED = ("recipe", "outputs", "records", "columns", "link", "audit", "findings", "class_sizes")
#: What no table can show, so that only the seal, or a signature, keeps it.
ON_TRUST = ("note", "name", "short", "round_integers")


class TestEvidenceThatChanged:
    def test_every_value_is_sealed(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        said = json.loads(evidence.read_text())
        for path in leaves(said):
            _set(evidence, said, path, resealed=False)
            try:
                assert not Evidence.read("e.json", evidence.read_text()).sealed, path
            except shoal.DataError:
                continue  # an unreadable file is refused
        _set(evidence, said, ("versions", "numpy"), resealed=False)
        assert failed(evidence, target) == ["The evidence is unchanged"]

    def test_every_number_that_the_output_shows(self, tmp_path: Path) -> None:
        """A new seal does not hide what the output contradicts."""
        evidence, target = written(tmp_path)
        said = json.loads(evidence.read_text())
        numbers = [
            path
            for path in leaves(said)
            if path[0] in CLAIMED and path[-1] not in ON_TRUST and isinstance(_at(said, path), (int, float))
        ]
        assert len(numbers) > 80
        for path in numbers:
            _set(evidence, said, path, resealed=True)
            assert failed(evidence, target), path

    @pytest.mark.parametrize("name", ["k", "p", "t"])
    def test_a_promise_that_nobody_audited(self, name: str, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)

        def forget(values: dict[str, Any]) -> None:
            asked = {"k": "k_anonymity", "p": "p_sensitivity", "t": "t_closeness"}[name]
            values["findings"] = [one for one in values["findings"] if one["model"] != asked or one["required"] is None]
            if name == "t":
                values["recipe"]["t"] = 0.9
                values["fingerprint"] = shoal.Recipe.from_dict(values["recipe"]).fingerprint

        edit(evidence, forget, resealed=True)
        assert "All promises of the recipe were audited" in failed(evidence, target)

    def test_k_that_is_said_not_to_be_promised(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)

        def shirk(values: dict[str, Any]) -> None:
            for one in values["findings"]:
                one.update(promised=False, required=None)

        edit(evidence, shirk, resealed=True)
        assert "All promises of the recipe were audited" in failed(evidence, target)

    def test_another_recipe(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        edit(evidence, lambda values: values["recipe"].update(method="v_mdav"), resealed=True)
        assert failed(evidence, target) == ["The recipe matches its fingerprint"]
        edit(evidence, lambda values: values["recipe"].update(k=1), resealed=True)
        assert failed(evidence, target) == ["The recipe matches its fingerprint"]

    @pytest.mark.parametrize("format_", [0, 3, "2", None, True, 1.5])
    def test_other_formats_are_refused(self, format_: Any, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        edit(evidence, lambda values: values.update(format=format_), resealed=True)
        with pytest.raises(shoal.DataError, match="the format of evidence must be 2"):
            shoal.verify(evidence, target)

    def test_the_first_format_is_explained(self, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        evidence.write_text('{"format": 1, "salt": "00", "input": {"hmac_sha256": "00"}}')
        with pytest.raises(shoal.DataError, match=r"format 1, .* test guesses .* Do not publish it; protect"):
            shoal.verify(evidence, target)

    @pytest.mark.parametrize("text", ["", "[]", "{", "3", '{"format": 1}', "\x00", '{"a": NaN}', "[" * 100_000])
    def test_what_is_no_evidence_is_refused(self, text: str, tmp_path: Path) -> None:
        evidence, target = written(tmp_path)
        evidence.write_text(text)
        with pytest.raises(shoal.DataError):
            shoal.verify(evidence, target)

    @given(data=st.data())
    @settings(max_examples=60)
    def test_whatever_is_put_there_ends_in_a_verdict_or_a_sentence(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = _once(tmp_path_factory)
        said = json.loads((folder / "e.json").read_text())
        path = data.draw(st.sampled_from(sorted(leaves(said), key=str)))
        put = data.draw(st.sampled_from([None, "", "x", -1, 0, 1e308, [], {}, [[]], True]))
        values = copy.deepcopy(said)
        _at(values, path[:-1])[path[-1]] = put
        values["seal"] = values["seal"] if path[0] == "seal" else seal_of(values)
        (folder / "changed.json").write_text(json.dumps(values))
        with contextlib.suppress(shoal.ShoalError):
            shoal.verify(folder / "changed.json", folder / "out.csv")


def _once(factory: pytest.TempPathFactory) -> Path:
    folder = factory.getbasetemp() / "once"
    if not folder.exists():
        folder.mkdir()
        written(folder)
    return folder


def _at(values: Any, path: tuple) -> Any:
    for step in path:
        values = values[step]
    return values


def _set(evidence: Path, said: dict[str, Any], path: tuple, *, resealed: bool) -> None:
    values = copy.deepcopy(said)
    _at(values, path[:-1])[path[-1]] = changed(_at(said, path))
    if resealed:
        values["seal"] = seal_of(values)
    evidence.write_text(json.dumps(values))


_spec = importlib.util.spec_from_file_location("oracle", Path(__file__).parents[2] / "oracles" / "content_digest.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


class TestContent:
    @given(
        st.lists(st.lists(st.text() | st.none(), min_size=2, max_size=2), min_size=1, max_size=8), st.text(min_size=1)
    )
    def test_equals_the_oracle(self, rows: list[list[str | None]], name: str) -> None:
        columns = [pa.array([row[j] for row in rows], pa.string()) for j in range(2)]
        data = pa.table(columns, names=[name, f"{name}2"])
        assert of_table(data).hex == oracle.content_digest([name, f"{name}2"], rows)

    @given(st.lists(st.tuples(st.integers(), st.text() | st.none()), min_size=1, max_size=6), st.randoms())
    def test_the_order_of_rows_does_not_count_and_nothing_else_is_lost(self, rows: list, random: Any) -> None:
        def table(rows: list) -> pa.Table:
            kinds = pa.schema([("a", pa.int64()), ("b", pa.string())])
            return pa.table([[r[0] for r in rows], [r[1] for r in rows]], schema=kinds)

        rows = [(a % 2**62, b) for a, b in rows]
        mixed = random.sample(rows, len(rows))
        assert of_table(table(rows)) == of_table(table(mixed))
        assert of_table(table(rows)) != of_table(table([*rows, rows[0]]))
        assert of_table(table(rows)) != of_table(table(rows).rename_columns(["a", "c"]))
        other = [(rows[0][0] + 1, rows[0][1]), *rows[1:]]
        assert of_table(table(rows)) != of_table(table(other))

    def test_cells_do_not_run_into_each_other(self) -> None:
        one, other = pa.table({"a": ["x,1:y"], "b": ["z"]}), pa.table({"a": ["x"], "b": ["1:y1:z"]})
        assert of_table(one) != of_table(other)
        assert of_table(pa.table({"a": ["-"]})) != of_table(pa.table({"a": pa.array([None], pa.string())}))


def same_illness(folder: Path, missing: str) -> tuple[Path, Path]:
    """Return a file whose classes hold one illness each, and the evidence of one that is t-close."""
    ages = np.repeat([20, 40, 60, 80], 5)
    close = pa.table({"age": ages, "ill": np.array(list("abcde") * 4)})
    shoal.write_table(close, folder / "in.csv")
    recipe = {"quasi": ["age"], "confidential": ["ill"], "k": 5, "t": 0.01, "text": {"missing": [missing]}}
    shoal.protect_file(folder / "in.csv", folder / "out.csv", recipe, evidence=folder / "e.json")
    return folder / "e.json", folder / "out.csv"


def test_cells_that_an_evidence_calls_missing_are_counted_and_not_said_to_be(tmp_path: Path) -> None:
    evidence, output = same_illness(tmp_path, "c")
    (told,) = [check for check in shoal.verify(evidence, output).unchecked if check.claim == "Meaning of cells"]
    assert "4 of 20 cells of ill hold no value" in told.why  # or all could be called so, and be as close as one likes


def test_two_tables_share_no_column_but_the_class(tmp_path: Path) -> None:
    evidence, output = written(tmp_path, recipe={"release": "anatomy", "strata": [], "weight": None})
    second = output.with_name("out.confidential.csv")
    for path in (output, second):
        head, *rows = path.read_text().splitlines()
        path.write_text("\n".join([f"{head},nr", *(f"{row},{at}" for at, row in enumerate(rows))]) + "\n")

    def with_numbers(values: dict[str, Any]) -> None:
        names = [*output.read_text().splitlines()[0].split(","), *second.read_text().splitlines()[0].split(",")]
        other = {"role": "other", "kind": "integer"}
        values["columns"] = {name: values["columns"].get(name, other) for name in dict.fromkeys(names)}
        for end, path in zip(values["outputs"], (output, second), strict=True):
            content = path.read_bytes()
            end.update(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))

    edit(evidence, with_numbers, resealed=True)
    assert failed(evidence, output) == ["No column released that must not be"]


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (("records",), "1e400"),
        (("records",), "1" + "0" * 400),
        (("note",), '"\\ud800"'),
        (("columns", "ill", "order"), "[1]"),
        (("columns", "ill", "heights"), '{"a": [1000000000]}'),
        (("columns", "ill", "heights"), "[]"),
        (("commitment",), "[]"),
        (("columns", "ill", "missing"), "7"),
        (("columns", "ill", "taxonomy"), '{"a": 1}'),
    ],
)
def test_damage_to_an_evidence_is_a_sentence(tmp_path: Path, where: tuple[str, ...], what: str) -> None:
    evidence, output = written(tmp_path)

    def damage(values: dict[str, Any]) -> None:
        for name in where[:-1]:
            values = values[name]
        values[where[-1]] = "HERE"

    edit(evidence, damage)
    evidence.write_text(evidence.read_text().replace('"HERE"', what))
    with pytest.raises(shoal.DataError, match=r"Give the file of\s+--evidence"):
        shoal.verify(evidence, output)


def test_two_tables_are_joined_by_one_column(tmp_path: Path) -> None:
    evidence, output = written(tmp_path, recipe={"release": "anatomy", "strata": [], "weight": None})

    def nameless(values: dict[str, Any]) -> None:
        values["findings"][0]["attributes"] = []

    edit(evidence, nameless, resealed=True)
    assert failed(evidence, output)


def test_evidence_names_the_attacker_in_the_words_of_earlier_versions_too(tmp_path: Path) -> None:
    evidence, output = written(tmp_path)

    def earlier(values: dict[str, Any]) -> None:
        says = values["audit"]["attacker"]["says"]
        values["audit"]["attacker"]["says"] = says.replace("By quasi-identifiers alone, the chance", "The chance")
        assert values["audit"]["attacker"]["says"] != says

    def bolder(values: dict[str, Any]) -> None:
        values["audit"]["attacker"]["says"] = "Nobody finds the person behind a record."

    edit(evidence, earlier, resealed=True)
    assert not failed(evidence, output)
    edit(evidence, bolder, resealed=True)
    assert failed(evidence, output)


def test_how_a_text_file_is_written_is_said_by_its_evidence_only(tmp_path: Path) -> None:
    evidence, output = written(tmp_path)
    with pytest.raises(shoal.ParameterError, match="delimiter cannot be set"):
        shoal.verify(evidence, f"{output}?delimiter=;")


def test_a_t_that_is_not_promised_is_said_not_to_be(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=60).round(3)
    shoal.write_table(pa.table({"a": x, "c": (100 * x).round()}), tmp_path / "in.csv")
    recipe = {"quasi": ["a"], "confidential": ["c"], "k": 3, "t": 0.05, "method": "steered", "set": {"weight": 0.001}}
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe, evidence=tmp_path / "e.json")
    seen = {check.claim: check.why for check in shoal.verify(tmp_path / "e.json", tmp_path / "out.csv").checks}
    assert "t of c is in the recipe and is NOT promised" in seen["All promises of the recipe were audited"]
    assert seen["t_closeness of c over a"].endswith("not promised")
    found = shoal.verify(tmp_path / "e.json", tmp_path / "out.csv", require={"t": 1})
    assert found.promise == "Promised: k = 3 over a."
    assert [check.claim for check in found.unverified] == ["t of c, which the recipe sets"]
    assert [check.claim for check in found.failed] == ["Required: t = 1 of c"]


PLAIN = {"require": {}, "strata": [], "weight": None}
NOTHING = "no k over all quasi-identifiers together"
TOGETHER = "k over all quasi-identifiers together"


class TestWhatIsPromised:
    @pytest.mark.parametrize(
        ("recipe", "k", "promise", "unverified"),
        [
            ({}, 4, "k = 4 over age, income", []),
            ({"t": 0.4, "confidential": ["pay"]}, 4, "k = 4 over age, income; t = 0.4 of pay over age, income", []),
            ({"method": "mic1d"}, None, NOTHING, [TOGETHER]),
            (
                {"method": "individual_ranking"},
                None,
                f"{NOTHING}; k = 4 over age; k = 4 over income",
                [TOGETHER],
            ),
            ({"blocks": [["age"], ["income"]]}, None, f"{NOTHING}; k = 4 over age; k = 4 over income", [TOGETHER]),
            (
                {"release": "swap"},
                None,
                f"{NOTHING}; prob_k = 4 over age, income",
                ["probabilistic_k_anonymity over age, income", "dominance over age, income"],
            ),
            ({"release": "anatomy"}, None, f"{NOTHING}; anatomy = 4 over class", ["anatomy_k over class"]),
        ],
        ids=["mdav", "t", "mic1d", "individual_ranking", "blocks", "swap", "anatomy"],
    )
    def test_it_comes_first_and_strict_asks_for_all_of_it(
        self, recipe: dict, k: int | None, promise: str, unverified: list[str], tmp_path: Path
    ) -> None:
        evidence, output = written(tmp_path, recipe={**PLAIN, **recipe})
        found = shoal.verify(evidence, output)
        assert (found.k, found.promise) == (k, f"Promised: {promise}.")
        assert [check.claim for check in found.unverified] == unverified
        assert found.holds
        strict = shoal.verify(evidence, output, strict=True)
        assert strict.holds is (unverified == [])
        assert (strict.to_dict()["unverified"], strict.to_dict()["k"]) == (len(unverified), k)
        asked = shoal.verify(evidence, output, require={"k": 4})
        assert asked.holds is (k is not None)

    @pytest.mark.parametrize(
        ("require", "reasons"),
        [
            ({"k": 3, "p": 2, "t": {"pay": 0.4}}, []),
            ({"k": 5}, ["promised at another level: k = 4, k = 4"]),
            ({"p": 1}, []),
            ({"p": 3}, ["promised at another level: p = 2, p = 2"] * 2),
            ({"t": 0.5}, []),
            ({"t": 0.3}, ["promised at another level: t = 0.4, t = 0.4"] * 2),
            ({"alpha": 1}, ["not promised over all quasi-identifiers together"] * 2),
            ({"l_recursive": [3, 2]}, ["promised at another level: l = 2, l = 2"] * 2),
            ({"l_recursive": [9, 1]}, []),
            ({"p": {"age": 2}}, ["not promised over all quasi-identifiers together"]),
        ],
        ids=str,
    )
    def test_a_requirement_is_promised_at_its_level_or_a_stricter_one(
        self, require: dict, reasons: list[str], tmp_path: Path
    ) -> None:
        recipe = {"t": 0.4, "weight": None, "require": {"p": 2, "l_recursive": [9, 2]}}
        evidence, output = written(tmp_path, recipe=recipe)
        found = shoal.verify(evidence, output, require=require)
        assert [check.why for check in found.failed] == reasons
        assert all(check.claim.startswith("Required: ") for check in found.failed)

    def test_a_requirement_that_the_output_refutes_or_cannot_show_fails(self, tmp_path: Path) -> None:
        evidence, output = written(tmp_path, recipe={**PLAIN, "identifier": [], "subject": "name"})
        (check,) = shoal.verify(evidence, output, require={"k": 4}).failed
        assert check.why.startswith("promised, but not confirmed: counted in subjects")
        (tmp_path / "plain").mkdir()
        evidence, output = written(tmp_path / "plain", recipe=PLAIN)
        spoilt = output.read_text().splitlines()
        output.write_text("\n".join([spoilt[0], *spoilt[2:]]) + "\n")
        assert "Required: k = 4" in [check.claim for check in shoal.verify(evidence, output, require={"k": 4}).failed]

    def test_a_requirement_without_a_confidential_column_fails(self, tmp_path: Path) -> None:
        evidence, output = written(tmp_path, recipe={**PLAIN, "confidential": []})
        (check,) = shoal.verify(evidence, output, require={"p": 2}).failed
        assert (check.claim, check.why) == ("Required: p = 2", "no column is confidential")

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_kinds_that_are_taken_from_the_evidence_are_listed(self, ending: str, tmp_path: Path) -> None:
        recipe = {**PLAIN, "kinds": {"pay": "nominal"}, "t": 0.9}
        files = {"output": f"out.{ending}", "source": f"in.{ending}"}
        evidence, target = written(tmp_path, recipe=recipe, **files)
        found = shoal.verify(evidence, target, strict=True)
        (check,) = found.unverified
        assert check.claim == "Meaning of cells"
        assert check.why == "as the publisher states: the kind of pay (nominal; its cells suggest integer)"
        assert not found.holds
        (tmp_path / "found").mkdir()
        evidence, target = written(tmp_path / "found", recipe={**recipe, "kinds": {}}, **files)
        assert shoal.verify(evidence, target, strict=True).holds


class TestTheInput:
    CLAIM = "The input is the one that was protected"

    def test_it_needs_the_receipt(self, tmp_path: Path) -> None:
        evidence, output = written(tmp_path)
        with pytest.raises(shoal.ParameterError, match="must be given with the receipt"):
            shoal.verify(evidence, output, tmp_path / "in.csv")
        assert verdicts(evidence, output)[self.CLAIM] == "cannot be checked"

    def test_the_receipt_of_another_run(self, tmp_path: Path) -> None:
        """The commitment of the evidence is opened, not the one that the receipt brings along."""
        evidence, output = written(tmp_path)
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "b.csv", RECIPE, receipt=tmp_path / "r.json", force=True)
        (check,) = shoal.verify(evidence, output, tmp_path / "in.csv", receipt=tmp_path / "r.json").failed
        assert (check.claim, "another run" in check.why) == (self.CLAIM, True)

    def test_evidence_without_a_commitment(self, tmp_path: Path) -> None:
        _, output = written(tmp_path)
        shoal.protect_file(tmp_path / "in.csv", output, RECIPE, evidence=tmp_path / "e.json", force=True)
        assert json.loads((tmp_path / "e.json").read_text())["commitment"] is None
        assert verdicts(tmp_path / "e.json", output)[self.CLAIM] == "cannot be checked"
        seen = shoal.verify(tmp_path / "e.json", output, receipt=tmp_path / "r.json")
        assert [check.claim for check in seen.failed] == [self.CLAIM]

    @pytest.mark.parametrize(
        "text", ["", "[]", "{}", '{"format": 2}', '{"format": 1}', "[" * 100_000, '{"format": 1, "commitment": 3}']
    )
    def test_what_is_no_receipt_is_refused(self, text: str, tmp_path: Path) -> None:
        evidence, output = written(tmp_path)
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(shoal.DataError, match=r"r\.json: .* receipt"):
            shoal.verify(evidence, output, tmp_path / "in.csv", receipt=tmp_path / "r.json")


def test_noise_is_in_the_evidence_and_cannot_be_checked(tmp_path: Path) -> None:
    table = pa.table({"x": [float(i) for i in range(40)]})
    shoal.write_table(table, tmp_path / "in.csv")
    recipe = {"quasi": ["x"], "k": 10, "release": "laplace", "epsilon": 1.0, "bounds": {"x": [0, 40]}}
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe, evidence=tmp_path / "e.json")
    assert json.loads((tmp_path / "e.json").read_text())["ledger"]["epsilon"] == pytest.approx(1.0)
    found = shoal.verify(tmp_path / "e.json", tmp_path / "out.csv")
    assert found.holds
    assert any("differential_privacy" in check.claim for check in found.unchecked)
