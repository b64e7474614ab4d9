"""The attack on evidence: digests of cells and figures with all digits fall; the evidence of shoal withstands it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.attack.evidence import Evidence
from shoal.flow.evidence.receipt import of_table
from shoal.types import Attempt, Case, Column, Kind, Role, Schema, Table

ROLES = {"name": Role.IDENTIFIER, "age": Role.QUASI, "income": Role.QUASI, "ill": Role.CONFIDENTIAL}
KINDS = {"age": Kind.INTEGER, "income": Kind.INTEGER}
RECIPE = {"quasi": ["age", "income"], "confidential": ["ill"], "identifier": ["name"], "k": 5}


def as_table(data: pa.Table) -> Table:
    columns = (Column(name, ROLES[name], KINDS.get(name, Kind.NOMINAL)) for name in data.column_names)
    return Table(data, Schema(tuple(columns)))


def case_of(n: int, folder: Path) -> Case:
    rng = np.random.default_rng(0)
    people = pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round().astype(int),
            "ill": rng.choice(list("abcdef"), n),
        }
    )
    done = shoal.protect(people, RECIPE)
    done.evidence(folder / "public.json", receipt=folder / "mine.json")
    said = json.loads((folder / "public.json").read_text())
    (folder / "printed.json").write_text(json.dumps(done.printed.to_dict()))
    return Case(as_table(people), (as_table(done.data),), rows=np.arange(n), evidence=said)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A release with evidence that has no losses: what falls here falls for another reason."""
    return case_of(200, tmp_path_factory.mktemp("small"))


def attacked(case: Case, **more: Any) -> Attempt:
    return Evidence().run(replace(case, evidence={**(case.evidence or {}), **more}))


@pytest.mark.parametrize("n", [60, 1000])
def test_losses_tell_nothing_as_published_and_much_with_three_digits(n: int, tmp_path: Path) -> None:
    case = case_of(n, tmp_path)
    assert case.evidence is not None
    assert case.evidence["commitment"]
    assert bool(case.evidence["readings"]) is (n >= 1000)
    found = attacked(case)
    assert found.learnt <= round(found.baseline), found.sentence
    assert found.records == 40, found.sentence
    found = attacked(case, readings=json.loads((tmp_path / "printed.json").read_text()))
    assert found.learnt >= 1.5 * found.baseline, found.sentence
    assert "'age'" in found.sentence
    assert found.succeeded or n > 60


def sha(text: object) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()


def keyed(salt: str, text: object) -> str:
    return hmac.new(bytes.fromhex(salt), str(text).encode(), "sha256").hexdigest()


WEAK: dict[str, Callable[[pa.Table, str], Any]] = {
    "a digest of each cell": lambda people, salt: [sha(one) for one in people["name"].to_pylist()],
    "sorted digests of names": lambda people, salt: sorted(sha(one) for one in people["name"].to_pylist()),
    "the first digits of digests": lambda people, salt: [sha(one)[:20] for one in people["age"].to_pylist()],
    "keyed digests, and the key": lambda people, salt: [keyed(salt, one) for one in people["income"].to_pylist()],
    "digests of rows": lambda people, salt: [sha(",".join(map(str, row.values()))) for row in people.to_pylist()],
    "a digest of a column": lambda people, salt: sha("\n".join(map(str, people["age"].to_pylist()))),
    "a digest of the input": lambda people, salt: of_table(people).hex,
    "a keyed digest of the input": lambda people, salt: hmac.new(
        bytes.fromhex(salt), bytes.fromhex(of_table(people).hex), "sha256"
    ).hexdigest(),
    "a mean with all digits": lambda people, salt: float(np.mean(people["income"].to_numpy())),
}


@pytest.mark.parametrize("weakness", WEAK)
def test_weakened_evidence_falls(small: Case, weakness: str) -> None:
    assert small.evidence is not None
    found = attacked(small, more=WEAK[weakness](small.original.data, small.evidence["salt"]))
    assert found.verdict == "succeeded", found.sentence
    assert "person" not in found.sentence


@pytest.mark.parametrize("quasi", [["born"], ["born", "town"]])
def test_dates_and_categories_are_attacked_by_their_digests(tmp_path: Path, quasi: list[str]) -> None:
    rng = np.random.default_rng(0)
    born = pa.array(rng.integers(0, 20, 200).astype("int32")).cast(pa.date32())
    people = pa.table({"born": born, "town": rng.choice(["Oslo", "Rome"], 200)}).select(quasi)
    columns = (Column("born", Role.QUASI, Kind.DATETIME), Column("town", Role.QUASI, Kind.NOMINAL))[: len(quasi)]
    done = shoal.protect(people, {"quasi": quasi, "k": 5})
    done.evidence(tmp_path / "said.json")
    said = json.loads((tmp_path / "said.json").read_text())
    original, released = (Table(data, Schema(columns)) for data in (people, done.data))
    case = Case(original, (released,), rows=np.arange(200), evidence=said)
    assert attacked(case).verdict == "withstood"
    assert attacked(case, more=[sha(one) for one in people["born"].to_pylist()]).verdict == "succeeded"


def test_reasons_not_to_run(small: Case) -> None:
    assert Evidence().run(replace(small, evidence=None)).verdict == "not_run"
    unknown = Evidence().run(replace(small, rows=None, why_no_rows="The rows were shuffled."))
    assert unknown.sentence == "The rows were shuffled."
