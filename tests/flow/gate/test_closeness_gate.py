"""A recipe with t: the release is audited for t as written, or withheld."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.flow.gate import read_back as gating
from shoal.kernels.repair import unite as uniting

RNG = np.random.default_rng(2)
N = 60
PEOPLE = pa.table(
    {
        "age": RNG.integers(18, 90, N),
        "visits": RNG.integers(0, 9, N),
        "pay": RNG.integers(10, 30, N),
        "ill": pa.array(RNG.choice(["flu", "asthma", "ulcer"], N).tolist()),
        "region": pa.array(["n"] * 20 + ["s"] * 40),
    }
)
RECIPE = {"quasi": ["age", "visits"], "confidential": ["pay", "ill"], "k": 3, "t": 0.3, "method": "mdav"}
TAXONOMY = {"ill": {"lungs": ["flu", "asthma"], "gut": ["ulcer"]}}


def closeness(audit: shoal.Audit) -> dict:
    return {f.confidential: f for f in audit.findings if f.model == "t_closeness" and f.attributes == audit.quasi}


@pytest.mark.parametrize("t", [0, 0.05, 0.3, 1])
@pytest.mark.parametrize("taxonomies", [{}, TAXONOMY])
def test_what_was_promised_holds_in_every_confidential_column(t: float, taxonomies: dict) -> None:
    done = shoal.protect(PEOPLE, {**RECIPE, "t": t, "taxonomies": taxonomies})
    again = shoal.audit(done.data, ["age", "visits"], ["pay", "ill"], require={"k": 3, "t": t}, taxonomies=taxonomies)
    assert again.holds
    for name, found in closeness(done.audit).items():
        assert (found.required, found.holds) == (t, True)
        assert found.achieved == closeness(again)[name].achieved == done.audit.to_dict()["confidential"][name]["t"]
    if t == 0:
        assert len(done.partition) == 1


@pytest.mark.parametrize("kind", ["pyarrow", "polars", "pandas"])
def test_frames_of_every_kind(kind: str) -> None:
    frame = {"pyarrow": PEOPLE, "polars": pl.DataFrame(PEOPLE), "pandas": PEOPLE.to_pandas()}[kind]
    done = shoal.protect(frame, RECIPE)
    assert type(done.data) is type(frame)
    assert shoal.audit(done.data, ["age", "visits"], ["pay", "ill"], require={"t": 0.3}).holds


@pytest.mark.parametrize("source", ["in.csv", "in.parquet"])
@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_the_census_through_files(
    source: str, target: str, tmp_path: Path, reference_data: Path, run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.csv.read_csv(reference_data / "census.csv")
    shoal.write_table(table, source)
    columns = ["--quasi", "TAXINC,POTHVAL", "--confidential", "FEDTAX"]
    ran = run("protect", source, "-o", target, *columns, "--k", 5, "--t", 0.15, "--method", "mdav")
    assert (ran.code, ran.err) == (0, "")
    assert "FEDTAX given" in ran.out
    again = run("audit", target, *columns, "--require", "k=5,t=0.15", "--json")
    found = json.loads(again.out)
    assert again.code == 0
    assert found["confidential"]["FEDTAX"]["t"] <= 0.15
    assert [(r["model"], r["required"]) for r in found["requirements"]] == [("k_anonymity", 5), ("t_closeness", 0.15)]
    assert run("audit", source, *columns, "--require", "t=0.15").code == 4


@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_t_that_strata_make_impossible_writes_nothing(target: str, tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "in.parquet")
    recipe = {**RECIPE, "t": 0, "strata": ["region"]}
    with pytest.raises(shoal.DataError, match="t_closeness of column 'pay': t must be at least 0"):
        shoal.protect_file(tmp_path / "in.parquet", tmp_path / target, recipe)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_with_strata_it_also_holds_for_those_who_know_the_stratum() -> None:
    done = shoal.protect(PEOPLE, {**RECIPE, "t": 0.45, "strata": ["region"]})
    over = [f.attributes for f in done.audit.findings if f.model == "t_closeness" and f.confidential == "pay"]
    assert over == [("age", "visits"), ("age", "visits", "region")]


def test_the_gate_does_not_believe_the_method(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(uniting, "alternatives", lambda points, labels, *rest: [labels])
    with pytest.raises(shoal.GuaranteeError, match=r"Nothing was written\. Raise t\.$"):
        shoal.protect(PEOPLE, {**RECIPE, "t": 0.01})
    pq.write_table(PEOPLE, tmp_path / "in.parquet")
    with pytest.raises(shoal.GuaranteeError, match=r"t_closeness of ill over age, visits requires 0\.01 and achieves"):
        shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.csv", {**RECIPE, "t": 0.01})
    assert not (tmp_path / "out.csv").exists()


def test_the_confidential_values_audited_are_those_that_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.io.sinks.frame import Frame

    write = Frame.write

    def sorted_pay(self: Frame, native: object, columns: pa.Table, drop: object) -> object:
        out = write(self, native, columns, drop).sort_values(["age", "visits"], ignore_index=True)
        out["pay"] = np.sort(out["pay"].to_numpy())  # the same values, in other records
        return out

    assert shoal.protect(PEOPLE.to_pandas(), RECIPE).audit.holds
    monkeypatch.setattr(Frame, "write", sorted_pay)
    with pytest.raises(shoal.GuaranteeError, match="t_closeness of pay"):
        shoal.protect(PEOPLE.to_pandas(), {**RECIPE, "t": 0.2})


def test_a_confidential_column_that_is_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.io.sinks.frame import Frame

    write = Frame.write
    monkeypatch.setattr(
        Frame, "write", lambda self, native, columns, drop: write(self, native, columns, drop).drop_columns(["pay"])
    )
    with pytest.raises(shoal.GuaranteeError, match="Confidential columns are not in the output: pay"):
        shoal.protect(PEOPLE, RECIPE)


def test_without_t_it_is_reported() -> None:
    done = shoal.protect(PEOPLE, {"quasi": ["age", "visits"], "confidential": ["pay"], "k": 3})
    assert 0 < done.audit.to_dict()["confidential"]["pay"]["t"] < 1
    assert [f.required for f in done.audit.findings if f.model == "t_closeness"] == [None]


def test_a_confidential_column_that_cannot_be_audited_is_refused() -> None:
    frame = PEOPLE.append_column("list", pa.array([[1]] * N))
    with pytest.raises(shoal.SchemaError, match="Column 'list': a confidential column must hold numbers"):
        shoal.protect(frame, {"quasi": ["age", "visits"], "confidential": ["pay", "list"], "k": 3})


def test_an_order_outlives_a_text_file(tmp_path: Path) -> None:
    codes = pa.array(RNG.integers(0, 3, N).astype(np.int8))
    pain = pa.DictionaryArray.from_arrays(codes, pa.array(["none", "some", "a lot"]), ordered=True)
    pq.write_table(PEOPLE.append_column("pain", pain), tmp_path / "in.parquet")
    recipe = {**RECIPE, "confidential": ["pain"]}
    kept, cells = (shoal.protect_file(tmp_path / "in.parquet", tmp_path / n, recipe) for n in ("a.parquet", "b.csv"))
    assert closeness(kept.audit)["pain"].achieved == closeness(cells.audit)["pain"].achieved
    before = PEOPLE.append_column("pain", pain)["pain"]
    with pytest.raises(shoal.GuaranteeError, match="Column 'pain' changed on its way"):
        gating._in_order("pain", before, pa.chunked_array([["none", "SOME"]]))


def test_with_n_less_is_promised_and_both_are_reported() -> None:
    done = shoal.protect(PEOPLE, {**RECIPE, "n": 20})
    found = [f for f in done.audit.findings if f.confidential == "pay" and f.model.endswith("t_closeness")]
    models = [(f.model, f.required, f.given) for f in found]
    assert models == [("n_t_closeness", 0.3, (("n", 20),)), ("t_closeness", None, ())]
    found = done.audit.to_dict()["confidential"]["pay"]
    assert found["n_t"]["t"] <= found["t"] <= 0.3
    recipe = shoal.Recipe(**{**RECIPE, "n": 20})
    assert shoal.Recipe.from_toml(recipe.to_toml()) == recipe
    assert "n" not in shoal.Recipe(**RECIPE).to_dict()
    for n in (0, 2.5, True):
        with pytest.raises(shoal.ParameterError, match="Recipe: n must be an integer ≥ 1"):
            shoal.Recipe(**{**RECIPE, "n": n})


def test_pandas_missing_values_are_values() -> None:
    frame = PEOPLE.to_pandas()
    frame["pay"] = frame["pay"].astype(float)
    frame.loc[::4, "pay"] = np.nan
    frame["ill"] = frame["ill"].mask(pd.Series(range(N)) % 7 == 0)
    done = shoal.protect(frame, RECIPE)
    assert shoal.audit(done.data, ["age", "visits"], ["pay", "ill"], require={"t": 0.3}).holds
