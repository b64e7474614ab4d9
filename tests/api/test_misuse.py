"""Arguments of a wrong type: a sentence that names the argument and shows no cell, never a stack trace's error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal

N = 20
PEOPLE = pd.DataFrame({"age": range(N), "pid": [f"Zyxomma{i}" for i in range(N)]})

VERBS: dict[str, Callable[..., Any]] = {
    "protect": lambda **more: shoal.protect(PEOPLE, **{"quasi": ["age"], **more}),
    "audit": lambda **more: shoal.audit(PEOPLE, **{"quasi": ["age"], **more}),
    "compare": lambda **more: shoal.compare(PEOPLE, PEOPLE, **{"columns": ["age"], **more}),
    "attack": lambda **more: shoal.attack(PEOPLE, PEOPLE, quasi=["age"], **more),
    "inspect": lambda **more: shoal.inspect(PEOPLE, **more),
    "microaggregate": lambda **more: shoal.microaggregate(**{"k": 2, **more}),
    "verify": lambda **more: shoal.verify(**{"evidence": "no.json", "output": PEOPLE, **more}),
}


@pytest.mark.parametrize(
    ("verb", "argument", "value", "said"),
    [
        ("protect", "subject", "", "subject must hold column names, got an empty one"),
        ("protect", "weight", "", "weight must hold column names, got an empty one"),
        ("protect", "together", "", "together must hold column names, got an empty one"),
        ("protect", "method", PEOPLE["pid"], "no method is called a Series"),
        ("protect", "repeat", 7, "must be a path, got a int"),
        ("audit", "subject", "", "subject must hold column names, got an empty one"),
        ("audit", "quasi", 5, "quasi must be a list of column names, got 5"),
        ("audit", "quasi", PEOPLE["pid"], "quasi must be a list of column names, got a Series"),
        ("audit", "quasi", pl.Series(["Zyxomma1"]), "quasi must be a list of column names, got a Series"),
        ("audit", "confidential", None, "confidential must be a list of column names, got None"),
        ("audit", "require", 5, "require must be a table of names and values, got 5"),
        ("audit", "require", "k=5", "require must be a table of names and values, got 'k=5'"),
        ("audit", "text", ["Zyxomma"], "text must be a table of names and values, got a list"),
        ("compare", "confidential", "pid", "confidential must be a list of column names, got 'pid'"),
        ("compare", "strata", 1.5, "strata must be a list of column names, got 1.5"),
        ("compare", "measures", 3, "measures must be a list of names, got 3"),
        ("compare", "set", 3, "set must be a table of names and values, got 3"),
        ("compare", "receipt", [1], "must be a path, got a list"),
        ("attack", "only", None, "only must be a list of names, got None"),
        ("attack", "evidence", 4, "must be a path, got a int"),
        ("inspect", "reviewed", 4, "reviewed must be a list of column names, got 4"),
        ("inspect", "text", 4, "text must be a table of names and values, got 4"),
        ("microaggregate", "X", [[1], [2, 3]], "X must be an array of numbers"),
        ("verify", "evidence", None, "must be a path, got a NoneType"),
    ],
)
def test_a_wrong_type_is_refused_in_a_sentence(verb: str, argument: str, value: object, said: str) -> None:
    with pytest.raises(shoal.ShoalError) as refused:
        VERBS[verb](**{argument: value})
    assert said in str(refused.value)
    assert "Zyxomma" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_names_may_come_in_any_collection() -> None:
    named = [("age",), {"age"}, {"age": 1}, pd.Index(["age"]), PEOPLE.columns[:1], iter(["age"]), PEOPLE[["age"]]]
    assert {shoal.audit(PEOPLE, names).overall.achieved for names in named} == {1}
