"""People left out of a release as a control: whole, private, repeatable, and gone from everything that is published."""

from __future__ import annotations

import json
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal import secret
from shoal.flow.protect.holdout import draw_holdout
from shoal.recipe.recipe import Recipe
from shoal.types import Table

N = 60


def people(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": [f"p{at:03}" for at in range(n)],
            "home": [f"h{at // 3:02}" for at in range(n)],
            "age": rng.integers(18, 80, n),
            "pay": rng.normal(3000, 500, n).round(2),
            "ill": rng.choice(["flu", "colic"], n),
        }
    )


FIELDS = {"quasi": ["age", "pay"], "confidential": ["ill"], "k": 3, "row_order": "keep"}


def test_a_frame_is_divided() -> None:
    table = people()
    done = shoal.protect(table, FIELDS, holdout=0.1)
    assert len(done.holdout) == 6
    assert len(done.data) == 54
    assert done.audit.overall.achieved >= 3
    assert done.left_out == 0
    assert done.rows is not None
    assert sorted([*done.rows.tolist(), *done.holdout.index.tolist()]) == list(range(N))
    pd.testing.assert_frame_equal(done.holdout, table.loc[done.holdout.index])
    assert list(done.data["id"]) == list(table["id"][done.rows])
    assert "6 of 60 records were drawn at random" in done.notes[-1]
    assert pickle.loads(pickle.dumps(done)).holdout is None
    assert shoal.protect(table, FIELDS).holdout is None


def test_draws_differ_and_ignore_the_seed() -> None:
    drawn = {tuple(shoal.protect(people(), {**FIELDS, "seed": 7}, holdout=0.2).holdout.index) for _ in range(4)}
    assert len(drawn) > 1


@pytest.mark.parametrize(("role", "more"), [("subject", {}), ("together", {})])
def test_people_and_households_stay_whole(role: str, more: dict[str, str]) -> None:
    table = people()
    done = shoal.protect(table, {**FIELDS, role: "home", "k": 2, **more}, holdout=0.25)
    held = set(done.holdout["home"])
    assert len(held) == 5
    assert len(done.holdout) == 15
    assert done.rows is not None
    assert held.isdisjoint(table["home"][done.rows])
    assert "5 of 20 " in done.notes[-1]
    assert "(15 records)" in done.notes[-1]


def test_records_that_are_excluded_are_counted_apart() -> None:
    table = people().astype({"age": float})
    table.loc[::2, "age"] = np.nan
    done = shoal.protect(table, {**FIELDS, "when_missing": "exclude"}, holdout=0.1)
    lacking = int(done.holdout["age"].isna().sum())
    assert done.left_out == 30 - lacking
    assert len(done.data) == 54 - done.left_out
    assert done.rows is not None
    assert list(done.data["id"]) == list(table["id"][done.rows])


@pytest.mark.parametrize(("source", "target", "control"), [
    ("in.csv", "out.csv", "control.csv"),
    ("in.csv", "out.csv", "control.parquet"),
    ("in.csv", "out.parquet", "control.csv"),
    ("in.parquet", "out.csv", "control.parquet"),
])  # fmt: skip
def test_a_file_is_divided(tmp_path: Path, run: Callable, source: str, target: str, control: str) -> None:
    table = people()
    table.to_csv(tmp_path / "in.csv", index=False)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "in.parquet")
    told = run(
        *("protect", tmp_path / source, "-o", tmp_path / target, "--quasi", "age,pay", "--confidential", "ill"),
        *("--k", 3, "--identifier", "id", "--holdout", 0.1, "--holdout-to", tmp_path / control),
        *("--receipt", tmp_path / "r.json", "--row-order", "shuffle", "--json"),
    )
    assert told.code == 0, told.err
    assert any("control." in note for note in json.loads(told.out)["notes"])
    assert stat.S_IMODE(os.stat(tmp_path / control).st_mode) == 0o600
    held = read(tmp_path / control)
    assert held.num_rows == 6
    rows = [int(one[1:]) for one in held["id"].to_pylist()]
    expected = table.loc[rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(held.to_pandas().astype(expected.dtypes), expected)
    receipt = json.loads((tmp_path / "r.json").read_text())
    assert sorted([*receipt["permutation"], *rows]) == list(range(N))
    for how in (["--receipt", tmp_path / "r.json"], []):
        measured = run(
            *("compare", tmp_path / source, tmp_path / target, "--columns", "age,pay", "--confidential", "ill"),
            *("--control", tmp_path / control, "--measures", "inference,membership,sse", "--json", *how),
        )
        assert measured.code == 0, measured.err
        assert json.loads(measured.out)["parts"]["inference"]["ill: members, attacks"] == 54


def test_the_table_of_a_comparison_names_what_it_shows(tmp_path: Path, run: Callable) -> None:
    people().to_csv(tmp_path / "in.csv", index=False)
    shoal.protect(
        tmp_path / "in.csv", {"quasi": ["age", "pay"], "confidential": ["ill"], "identifier": ["id"], "k": 3},
        output=tmp_path / "out.csv", holdout=0.2, holdout_to=tmp_path / "control.csv",
    )  # fmt: skip
    compare = ("compare", tmp_path / "in.csv", tmp_path / "out.csv", "--columns", "age,pay", "--confidential", "ill")
    risks = ("--measures", "inference,singling_out,sse")
    shown = " ".join(run(*compare, *risks, "--control", tmp_path / "control.csv").out.replace("│", " ").split())
    assert shown.count("excess of successful attacks on") == 2
    assert "unique in their masked values" not in shown
    assert "measurable difference from strangers" in shown or "of 100 attacks that fail on strangers" in shown
    alone = " ".join(run(*compare, *risks, "--synthetic").out.replace("│", " ").split())
    assert alone.count("share of attacks on members that") == 2
    plain = run("compare", tmp_path / "in.csv", tmp_path / "in.csv", *compare[3:], *risks).out
    assert "attacks on members" not in plain


def read(path: Path) -> pa.Table:
    return pq.read_table(path) if path.suffix == ".parquet" else pcsv.read_csv(path)


def test_text_is_held_out_as_it_was_written(tmp_path: Path) -> None:
    rows = "".join(f"{20 + at % 30},{at}.50,x\n" for at in range(N))
    (tmp_path / "in.csv").write_text("age,pay,note\n" + rows)
    shoal.protect(
        tmp_path / "in.csv", {"quasi": ["age", "pay"], "k": 3}, output=tmp_path / "out.csv", holdout=0.1,
        holdout_to=tmp_path / "control.csv",
    )  # fmt: skip
    lines = (tmp_path / "control.csv").read_text().splitlines()
    assert lines[0] == "age,pay,note"
    assert len(lines) == 7
    assert set(lines[1:]) <= set(rows.splitlines())


def test_a_run_is_repeated_with_the_same_people(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "in.csv", index=False)
    recipe = {**FIELDS, "together": "home", "k": 2, "row_order": "shuffle"}

    def protect(name: str, **more: object) -> None:
        shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / f"{name}.csv", **more)  # type: ignore[arg-type]

    protect("one", holdout=0.2, holdout_to=tmp_path / "a.csv", receipt=tmp_path / "r.json")
    protect("two", holdout=0.2, holdout_to=tmp_path / "b.csv", repeat=tmp_path / "r.json")
    for pair in (("one.csv", "two.csv"), ("a.csv", "b.csv")):
        assert (tmp_path / pair[0]).read_bytes() == (tmp_path / pair[1]).read_bytes()
    with pytest.raises(shoal.DataError, match="run that left people out"):
        protect("three", repeat=tmp_path / "r.json")
    with pytest.raises(shoal.DataError, match="permutation"):
        protect("three", holdout=0.4, holdout_to=tmp_path / "c.csv", repeat=tmp_path / "r.json")
    protect("four", receipt=tmp_path / "s.json")
    with pytest.raises(shoal.DataError, match="left no one out"):
        protect("five", holdout=0.2, holdout_to=tmp_path / "c.csv", repeat=tmp_path / "s.json")
    assert not (tmp_path / "three.csv").exists()
    assert not (tmp_path / "c.csv").exists()


def test_nothing_is_written_if_the_release_is_refused(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(shoal.ShoalError):
        shoal.protect(
            tmp_path / "in.csv", {**FIELDS, "k": 58}, output=tmp_path / "out.csv", holdout=0.1,
            holdout_to=tmp_path / "control.csv",
        )  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"holdout": 0.1}, "got only holdout"),
        ({"holdout_to": "c.csv"}, "got only holdout_to"),
        ({"holdout": 1.0, "holdout_to": "c.csv"}, "above 0 and below 1"),
        ({"holdout": 0.0, "holdout_to": "c.csv"}, "above 0 and below 1"),
        ({"holdout": 0.001, "holdout_to": "c.csv"}, "at least 1 of 60"),
        ({"holdout": 0.1, "holdout_to": "c.xlsx"}, "CSV or Parquet"),
        ({"holdout": 0.1, "holdout_to": "in.csv"}, "must not replace the input"),
        ({"holdout": 0.1, "holdout_to": "c.csv", "engine": "disk"}, "engine = memory only, got disk"),
        ({"holdout": 0.1, "holdout_to": "c.csv", "engine": "spark"}, "engine = memory only, got spark"),
    ],
)
def test_impossible_holdouts_are_refused(
    more: dict[str, object], fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people().to_csv("in.csv", index=False)
    with pytest.raises(shoal.ShoalError, match=fault):
        shoal.protect("in.csv", FIELDS, output="out.csv", **more)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


def test_a_frame_has_no_file_for_it() -> None:
    with pytest.raises(shoal.ParameterError, match="holdout_to"):
        shoal.protect(people(), FIELDS, holdout=0.1, holdout_to="c.csv")


def test_a_claim_about_all_records_is_refused() -> None:
    recipe = Recipe(
        quasi=("age",), release="laplace", method="insensitive", claim="original", epsilon=1.0,
        bounds={"age": (0, 100)},
    )  # fmt: skip
    from shoal.flow.protect.holdout import refuse_holdout

    with pytest.raises(shoal.ParameterError, match="claim = original"):
        refuse_holdout(0.1, recipe)


def test_a_plan_counts_without_them(tmp_path: Path) -> None:
    assert shoal.plan(people(), FIELDS, holdout=0.1).records == 54
    people().to_csv(tmp_path / "in.csv", index=False)
    planned = shoal.plan(tmp_path / "in.csv", FIELDS, holdout=0.1, holdout_to=tmp_path / "c.csv")
    assert planned.records == 54
    assert not planned.refusals
    assert shoal.plan(people(), FIELDS, holdout=2.0).refusals


@pytest.mark.parametrize("column", [None, "home"])
def test_members_who_exchange_places_leave_the_holdout_as_it_is(
    column: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exchange released records with their names; under one key the same people and rows are held out."""
    monkeypatch.setattr(secret, "fresh", lambda size=32: b"k" * size)
    recipe = Recipe(quasi=("age", "pay"), subject=column)
    table = people()
    held = drawn(table, recipe)
    others = np.setdiff1d(np.arange(N), held)
    rng = np.random.default_rng(3)
    for _ in range(5):
        moved = table.copy()
        order = rng.permutation(others)
        names = ["id", "home", "age", "pay"]
        moved.loc[others, names] = table.loc[order, names].to_numpy()
        moved = moved.astype(table.dtypes)
        assert drawn(moved, recipe).tolist() == held.tolist()


def drawn(table: pd.DataFrame, recipe: Recipe) -> np.ndarray:
    from shoal.flow.stages.read import schema_for

    data = pa.Table.from_pandas(table, preserve_index=False)
    held = draw_holdout(Table(data, schema_for(data, recipe, None)), 0.2, recipe)
    assert held is not None
    return held.rows


def test_everyone_is_equally_likely() -> None:
    counts = np.zeros(N)
    table = people()
    recipe = Recipe(quasi=("age", "pay"))
    for _ in range(400):
        counts[drawn(table, recipe)] += 1
    expected = 400 * 0.2
    assert ((counts - expected) ** 2 / expected).sum() < 100  # χ², 59 degrees of freedom, less than 1 in 1,000


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a disk with room for the release, but not for the control."""
    lines = [f"{i},{i * 7 % 1000},{'n' * 300}{i}" for i in range(2_000)]
    (tmp_path / "in.csv").write_text("\n".join(["x,y,name", *lines]) + "\n")
    typed = [
        "protect",
        "in.csv",
        "-o",
        "out.csv",
        "--quasi",
        "x,y",
        "--identifier",
        "name",
        "--holdout",
        "0.1",
        "--holdout-to",
        "held.csv",
    ]
    script = (
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        f"from shoal.cli import main\nmain({typed!r})"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 5, ran.stderr
    assert "held.csv: could not be written" in ran.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["in.csv"]


def test_an_interruption_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("x,y\n" + "".join(f"{i},{i * 7 % 100}\n" for i in range(100)))
    typed = [
        "protect",
        "in.csv",
        "-o",
        "out.csv",
        "--quasi",
        "x,y",
        "--holdout",
        "0.1",
        "--holdout-to",
        "held.csv",
        "--receipt",
        "r.json",
    ]
    monkeypatch.setattr("shoal.flow.protect.protect.anonymise", interrupted)
    assert run(*typed).code == 130
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shoal.flow.protect.protect.check_metadata", interrupted)  # when files are staged
    assert run(*typed).code == 130
    assert [one.name for one in tmp_path.iterdir()] == ["in.csv"]
