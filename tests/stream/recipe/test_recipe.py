"""The description of a stream: what it may say, and what it refuses in a sentence."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import ParameterError
from shoal.stream import StreamRecipe
from shoal.stream.engine.buffer import Core
from shoal.types import Kind

GOOD: dict[str, Any] = {"quasi": ["age"], "bounds": {"age": (0, 120)}, "k": 3, "delay": 10}

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "k below 2": ({"k": 1}, "StreamRecipe: k must be an integer ≥ 2 and < 2³¹, got 1. Raise k."),
    "k of text": ({"k": "3"}, "StreamRecipe: k must be an integer ≥ 2 and < 2³¹, got '3'."),
    "delay below k − 1": ({"k": 9, "delay": 7}, "delay must be at least k − 1 = 8, got 7. Raise delay, or lower k."),
    "seconds of nothing": ({"delay_seconds": 0}, "delay_seconds must be a number > 0, got 0."),
    "an order weight below 0": (
        {"order_weight": -1},
        "order_weight must be a number ≥ 0 and ≤ 1e6, or 'keep', got -1.",
    ),
    "another word": ({"order_weight": "much"}, "or 'keep', got 'much'."),
    "no quasi": ({"quasi": []}, "quasi must name at least one field, got none."),
    "quasi of text": ({"quasi": "age"}, "quasi must be a list of field names, got 'age'."),
    "no bounds": ({"bounds": {}}, "bounds must name the two ends of 'age', got none. Add them: age=0:100."),
    "bounds of three": ({"bounds": {"age": (0, 1, 2)}}, "the bounds of 'age' must be two values"),
    "bounds of text": ({"bounds": {"age": ("a", "b")}}, "must be two numbers, got 'a' and 'b'."),
    "infinite bounds": ({"bounds": {"age": (0, float("inf"))}}, "must be two numbers"),
    "bounds exchanged": ({"bounds": {"age": (9, 0)}}, "the lower bound of 'age' must be below the upper one."),
    "bounds of parts": (
        {"bounds": {"age": (0, 9.5)}, "kinds": {"age": "integer"}},
        "the bounds of 'age' must be two integers",
    ),
    "bounds of another": ({"bounds": {"age": (0, 1), "x": (0, 1)}}, "bounds names 'x', which is neither"),
    "two roles": ({"identifier": ["age"]}, "field 'age' is both quasi and identifier. Give it one role."),
    "twice": ({"quasi": ["age", "age"]}, "field 'age' is named twice as quasi. Name it once."),
    "class field": ({"class_field": "age"}, "field 'age' is both class_field and quasi."),
    "unknown kind": ({"kinds": {"age": "number"}}, "field 'age': no kind is called 'number'"),
    "unknown method": ({"method": "neerest"}, "no method is called 'neerest'"),
    "unknown missing": ({"when_missing": "fill"}, "no when_missing is called 'fill'; there is refuse."),
    "ordinal without order": (
        {"kinds": {"age": "ordinal"}, "bounds": {}},
        "the domain of 'age', which is ordinal, must be known, got none. Give its categories from the lowest",
    ),
    "nominal with bounds": ({"kinds": {"age": "nominal"}}, "bounds names 'age', which is nominal."),
    "two domains": (
        {"categories": {"age": ["a"]}},
        "the domain of 'age' is given in bounds and in categories. Give it once.",
    ),
    "a category twice": ({"bounds": {}, "categories": {"age": [1, "1"]}}, "must be different, got one twice."),
    "no category": ({"bounds": {}, "categories": {"age": []}}, "must be a list of its categories"),
    "nothing as category": ({"bounds": {}, "orders": {"age": [None, 1]}}, "must be values, got one that is a list"),
    "one zone": (
        {"bounds": {"age": ("2024-01-01T00:00Z", "2025-01-01T00:00")}},
        "must be two dates or times in ISO 8601, with a zone or without, of the years 1 to 9999.",
    ),
    "a date and a time": ({"bounds": {"age": ("2024-01-01", "2025-01-01T10:00")}}, "two dates or two times"),
    "weight of another": (
        {"attribute_weights": {"x": 1}},
        "attribute_weights names 'x', which is not a quasi",
    ),
    "negative weight": ({"attribute_weights": {"age": -1}}, "the weight of attribute 'age' must be a number ≥ 0"),
    "means of integers": ({"round_integers": False}, "round_integers must be true, got False"),
    "t of nothing": ({"t": 0.2}, "t needs at least one confidential field, got none."),
    "keep with t": (
        {"t": 0.2, "confidential": ["pay"], "order_weight": "keep"},
        "order_weight 'keep' cannot be promised with t",
    ),
    "a table of text": ({"kinds": "x"}, "kinds must be a table of names and values, got 'x'."),
    "an unknown field": ({"delai": 3}, "no field is called 'delai'"),
    "a bad taxonomy": ({"bounds": {}, "taxonomies": {"age": {}}}, "Taxonomy of 'age': must hold at least one value"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_refused_in_a_sentence(name: str) -> None:
    change, sentence = BAD[name]
    with pytest.raises(ParameterError) as caught:
        StreamRecipe.from_dict({**GOOD, **change})
    assert sentence in str(caught.value)


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        StreamRecipe(quasi=["age", "pay"], bounds={}, k=1, delay=0, method="x")
    assert str(caught.value).count("\n- ") == 4
    with pytest.raises(ParameterError) as caught:  # rules between fields need fields that are valid one by one
        StreamRecipe(quasi=["age", "pay"], bounds={"name": [0, 1]}, k=3, delay=10)
    assert str(caught.value).count("\n- ") == 2


def test_toml_both_ways(tmp_path: Path) -> None:
    recipe = StreamRecipe(
        quasi=["age", "born", "size", "work"],
        bounds={"age": (0, 120), "born": (dt.date(1900, 1, 1), dt.date(2020, 1, 1))},
        kinds={"age": "integer"},  # type: ignore[dict-item]
        orders={"size": ["s", "m", "l"]},
        taxonomies={"work": {"hand": ["baker", "smith"], "head": ["clerk"]}},
        k=3,
        delay=10,
        order_weight="keep",
        identifier=["name"],
        round_integers=True,
    )
    again = StreamRecipe.from_toml(recipe.to_toml())
    assert again == recipe
    assert again.fingerprint == recipe.fingerprint
    assert [known.kind for known in recipe.known] == [Kind.INTEGER, Kind.DATETIME, Kind.ORDINAL, Kind.NOMINAL]
    (tmp_path / "r.toml").write_text(recipe.to_toml(), encoding="utf-8")
    assert StreamRecipe.load(tmp_path / "r.toml") == recipe
    with pytest.raises(ParameterError, match="cannot be read"):
        StreamRecipe.load(tmp_path / "none.toml")
    with pytest.raises(ParameterError, match="not TOML"):
        StreamRecipe.from_toml("k = ")


def test_moments_of_toml_are_bounds() -> None:
    said = 'quasi = ["at"]\nk = 2\ndelay = 3\n[bounds]\nat = [2024-01-01, 2025-01-01]\n'
    assert StreamRecipe.from_toml(said).known[0].kind is Kind.DATETIME


def test_what_changed_since_it_was_stored() -> None:
    recipe = StreamRecipe(**GOOD)
    other = StreamRecipe(**{**GOOD, "k": 4, "bounds": {"age": (0, 99)}})
    assert other.changed(recipe.stored) == ("bounds", "k")
    assert recipe.changed(StreamRecipe(**GOOD).stored) == ()
    assert other.fingerprint != recipe.fingerprint


def test_a_taxonomy_in_a_file_counts_by_what_it_says(tmp_path: Path) -> None:
    nested = {"hand": ["baker", "smith"], "head": ["clerk"]}
    text = "leaf,group\nbaker,hand\nsmith,hand\nclerk,head\n"
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "work.csv").write_text(text, encoding="utf-8")
        said = 'quasi = ["work"]\nk = 2\ndelay = 3\n[taxonomies]\nwork = "work.csv"\n'
        (tmp_path / folder / "r.toml").write_text(said, encoding="utf-8")
    prints = [StreamRecipe.load(tmp_path / folder / "r.toml").fingerprint for folder in ("a", "b")]
    assert prints[0] == prints[1]
    assert len(StreamRecipe(quasi=["work"], taxonomies={"work": nested}, k=2, delay=3).known[0].taxonomy.paths) == 3  # type: ignore[union-attr]


def test_a_promise_that_nobody_keeps_is_refused() -> None:
    with pytest.raises(ParameterError):
        Core(StreamRecipe(**GOOD, confidential=["pay"], require={"k_e": 3}))


def test_too_many_categories_are_refused() -> None:
    recipe = StreamRecipe(quasi=["zip"], categories={"zip": list(range(3000))}, k=2, delay=3)
    Core(recipe)  # codes take no coordinates
    with pytest.raises(ParameterError, match=r"Castle: .* at most 2,048 coordinates, got 3,000; most are of 'zip'"):
        Core(replace(recipe, method="castle"))
