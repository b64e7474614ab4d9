"""Attackers: which one a release withstands, the sentences about it, and replays on exchanged inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
import shoal.types
from shoal.flow.protect import replay
from shoal.recipe.attacker import withstood


def people(n: int = 60, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 60, n),
            "rooms": rng.integers(1, 6, n),
            "pay": rng.integers(0, 9, n),
            "who": rng.permutation(n) // 2,
        }
    )


BASE: dict[str, Any] = {"quasi": ["age", "rooms"], "confidential": ["pay"], "k": 3}
QUICK: dict[str, Any] = {**BASE, "effort": "fast"}


@pytest.mark.parametrize(
    ("more", "knows"),
    [
        ({"method": "auto"}, "algorithm"),
        ({"t": 0.3}, "algorithm"),
        ({"t": 0.3, "attacker": "table"}, "table"),
        ({"method": "mdav", "t": 0.3}, "algorithm"),
        ({"method": "mdav", "t": 0.3, "attacker": "table"}, "table"),
        ({"method": "mdav", "require": {"p": 2}, "effort": "fast"}, "algorithm"),
        ({"method": "t_close_merge", "t": 0.3}, "algorithm"),
        ({"method": "t_close_merge", "t": 0.3, "attacker": "table"}, "table"),
        ({"method": "t_close_merge", "t": 0.3, "set": {"first": "k_first"}}, "table"),
        ({"method": "t_close_anneal", "t": 0.3, "subject": "who"}, "algorithm"),
        ({}, "algorithm"),  # auto, the default
        ({"method": "mdav"}, "table"),
        ({"method": "v_mdav"}, "algorithm"),
        ({"method": "individual_ranking"}, "table"),
        ({"method": "individual_ranking", "quasi": ["age"]}, "algorithm"),
        ({"method": "pcp"}, "algorithm"),
        ({"method": "pcp", "set": {"group": "correlated"}}, "table"),
        ({"method": "mic1d"}, "table"),
        ({"together": "who", "household_level": ["rooms"]}, "table"),
        ({"method": "t_first", "t": 0.3}, "table"),
        ({"method": "t_first", "t": 0.3, "require": {"p": 2}}, "table"),
        ({"method": "p_sensitive", "require": {"p": 2}}, "table"),
        ({"method": "steered", "t": 0.3}, "table"),
        ({"method": "auto", "blocks": [["age"], ["rooms"]]}, "table"),
        ({"method": "auto", "steer": [{"by": "position"}]}, "table"),
        ({"method": "auto", "release": "swap", "set": {"not_private_seed": 1}}, ""),  # nothing is promised
    ],
)
def test_the_recipe_says_whom_it_withstands(more: dict[str, Any], knows: str) -> None:
    assert withstood(shoal.Recipe(**{**BASE, **more})) == knows


def doubled() -> pa.Table:
    """Give a table in which many records are equal, some of one region."""
    found = people().drop_columns(["age"])
    region = ["one" if i < 2 else "two" for i in range(len(found))]
    return found.append_column("age", pa.array([20 + i // 8 for i in range(60)])).append_column("region", [region])


WEAK: dict[str, tuple[dict[str, Any], str]] = {
    "equal records are split": ({"method": "pcp"}, "table"),
    "equal records are split before classes are merged": ({"method": "t_close_merge", "t": 0.3}, "table"),
    "atoms have fewer than k people": ({"method": "t_close_merge", "t": 0.3, "subject": "who"}, "table"),
    "strata are merged": ({"method": "auto", "strata": ["region"], "small_strata": "merge"}, "table"),
    "equal records are kept together": ({"method": "auto"}, "algorithm"),
    "people are in atoms": ({"method": "t_close_anneal", "t": 0.3, "subject": "who"}, "algorithm"),
}


@pytest.mark.parametrize("case", WEAK)
def test_the_audit_says_no_more_than_the_atoms_allow(case: str) -> None:
    more, knows = WEAK[case]
    done = shoal.protect(doubled(), {**BASE, **({"effort": "fast"} if more["method"] == "auto" else {}), **more})
    assert done.audit.attacker is not None
    assert done.audit.attacker.knows == knows


@pytest.mark.parametrize("method", ["t_close_merge", "t_close_anneal"])
def test_methods_that_merge_atoms_withstand_replays(method: str) -> None:
    table = people().set_column(0, "age", pa.array(np.random.default_rng(1).permutation(60)))
    effort = {"effort": "fast"} if method == "t_close_anneal" else {}
    done = shoal.protect(table, BASE, method=method, t=0.2, require={"exchangeability": 3}, set=effort)
    assert len(done.partition) < done.partition.blocks[0].atoms.max() + 1
    assert "3 exchanged inputs" in done.audit.attacker.sentence


def test_auto_looks_at_single_confidential_values_only_if_the_attacker_knows_the_table() -> None:
    table = people()
    strong = shoal.protect(table, **QUICK, t=0.2)
    weak = shoal.protect(table, **QUICK, t=0.2, attacker="table")
    assert "united" in strong.partition.note
    assert "t_first" in weak.partition.note
    atoms = strong.partition.blocks[0].atoms
    assert np.bincount(atoms).min() >= 3
    assert len(set(zip(atoms.tolist(), strong.partition.labels.tolist(), strict=True))) == atoms.max() + 1
    cells = list(zip(*(table.column(name).to_pylist() for name in BASE["quasi"]), strict=True))
    assert len(set(zip(cells, atoms.tolist(), strict=True))) == len(set(cells))  # equal records are together


def test_report_evidence_and_json_say_it(tmp_path: Path, run: Any) -> None:
    shoal.write_table(people(), tmp_path / "in.csv")
    line = ("--quasi", "age,rooms", "--confidential", "pay", "--identifier", "who", "--k", "3", "--t", "0.3", "--json")
    files = ("--report", tmp_path / "r.html", "--evidence", tmp_path / "e.json", "--effort", "fast")
    for attacker, words in (("algorithm", "at most 1 in 3, even for someone who knows"), ("table", "k = 3 is counted")):
        out = tmp_path / f"{attacker}.csv"
        ran = run("protect", tmp_path / "in.csv", "-o", out, *line, *files, "--attacker", attacker, "--force")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["audit"]["attacker"]["knows"] == attacker
        assert words in (tmp_path / "r.html").read_text()
        evidence = json.loads((tmp_path / "e.json").read_text())
        assert words in evidence["audit"]["attacker"]["says"]
        assert shoal.verify(tmp_path / "e.json", out).holds
        evidence["audit"]["attacker"] = {**evidence["audit"]["attacker"], "at_most": 0.01, "knows": "algorithm"}
        (tmp_path / "forged.json").write_text(json.dumps(evidence))
        assert verdict(tmp_path / "forged.json", out) == "does not hold"
        evidence["audit"]["attacker"] = shoal.types.Attacker("table", 3).to_dict()  # less than the recipe allows
        (tmp_path / "forged.json").write_text(json.dumps(evidence))
        assert verdict(tmp_path / "forged.json", out) == "holds"


def test_with_two_tables_the_statement_is_about_rows_of_the_second(tmp_path: Path) -> None:
    shoal.write_table(people().drop_columns(["who"]), tmp_path / "in.csv")
    recipe = {**QUICK, "method": "auto", "release": "anatomy"}
    done = shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "out.csv", evidence=tmp_path / "e.json")
    assert "the person behind a row of the second table is at most 1 in 3" in done.audit.attacker.sentence
    assert verdict(tmp_path / "e.json", tmp_path / "out.csv") == "cannot be checked"


def verdict(evidence: Path, out: Path) -> str:
    """Return what the verifier finds about the attacker that the evidence names."""
    (found,) = [one for one in shoal.verify(evidence, out).checks if one.claim.startswith("Attacker")]
    return found.verdict.value


def test_with_subjects_the_largest_share_of_an_atom_is_named() -> None:
    table = people()
    done = shoal.protect(table, **QUICK, subject="who", t=0.3)
    who, atoms = np.array(table.column("who").to_pylist()), done.partition.blocks[0].atoms
    shares = [np.bincount(who[atoms == one]).max() / (atoms == one).sum() for one in set(atoms.tolist())]
    assert min(len(set(who[atoms == one].tolist())) for one in set(atoms.tolist())) >= 3
    assert done.audit.attacker is not None
    assert max(shares) <= done.audit.attacker.share <= max(shares) + 0.001
    assert f"at most {done.audit.attacker.share:g}" in done.audit.attacker.sentence


@pytest.mark.parametrize(
    ("method", "more"),
    [("auto", {"effort": "fast"}), ("t_close_anneal", {"effort": "fast"}), ("t_close_merge", {"first": "pcp"})],
)
def test_replays_find_equal_classes_of_an_exchangeable_run(method: str, more: dict[str, Any]) -> None:
    table = people() if method != "t_close_merge" else people().set_column(0, "age", pa.array(np.arange(60) * 7 % 61))
    done = shoal.protect(table, **BASE, method=method, set=more, t=0.2, require={"exchangeability": 3})
    assert done.partition.blocks[0].atoms.max() > done.partition.labels.max()  # there is something to unite
    (found,) = [one for one in done.audit.findings if one.model == "exchangeability"]
    assert (found.achieved, found.required, found.holds) == (3, 3, True)
    assert found.note == "3 of 3 exchanged inputs gave equal classes"
    assert "3 exchanged inputs" in done.audit.attacker.sentence


@pytest.mark.parametrize("method", ["t_first", "k_first"])
def test_a_method_that_looks_at_confidential_values_fails_the_replay(method: str) -> None:
    with pytest.raises(shoal.GuaranteeError, match="exchangeability over age, rooms requires 5 and achieves"):
        shoal.protect(people(), **BASE, method=method, t=0.3, require={"exchangeability": 5})


def test_a_large_table_is_replayed_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_SAMPLE", 40)
    sizes, formed = [], replay.form
    monkeypatch.setattr(replay, "form", lambda plan, table: sizes.append(len(table)) or formed(plan, table))
    assert shoal.protect(people(), **QUICK, method="auto", require={"exchangeability": 2}).audit.holds
    assert sizes == [40, 40, 40]


def test_exchangeability_is_required_of_one_block_only() -> None:
    with pytest.raises(shoal.ParameterError, match="partitioned in blocks"):
        shoal.protect(people(), **BASE, method="mdav", blocks=[["age"], ["rooms"]], require={"exchangeability": 2})


def test_an_audit_of_a_table_alone_replays_nothing() -> None:
    found = shoal.audit(people(), quasi=["rooms"], require={"exchangeability": 2})
    assert not found.holds
    assert "no run was replayed" in [one.note for one in found.findings]
