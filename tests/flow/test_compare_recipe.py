"""Comparing with a recipe reads what protecting read: every kind, every way of missing values, frames and files."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.flow.demo import taxonomy

QUICK = ("il_sse", "mae", "mse", "sse")  # what protect reads

QUASI = ["birth", "education", "marital", "occupation", "rent", "rooms"]


@pytest.fixture
def recipe(tmp_path: Path) -> dict:
    (tmp_path / "occupations.csv").write_text(taxonomy(), encoding="utf-8")
    return {
        "quasi": QUASI,
        "identifier": ["person", "household"],
        "weight": "weight",
        "k": 3,
        "row_order": "keep",
        "orders": {"education": ["primary", "secondary", "bachelor", "master"]},
        "taxonomies": {"occupation": str(tmp_path / "occupations.csv")},
    }


@pytest.mark.parametrize("when_missing", ["category", "fill", "exclude"])
@pytest.mark.parametrize("categories", ["leaf", "node", "ancestor"])
def test_a_recipe_gives_the_loss_of_protecting(
    recipe: dict, tmp_path: Path, when_missing: str, categories: str
) -> None:
    recipe |= {"when_missing": when_missing, "set": {"categories": categories}}
    survey = shoal.survey(200)
    done = shoal.protect(survey, recipe)
    read = shoal.compare(survey, done.data, recipe=recipe, measures=QUICK)
    assert {name: read[name] for name in QUICK} == pytest.approx({name: done.readings[name] for name in QUICK})
    shoal.write_table(survey, tmp_path / "in.csv")
    written = shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe)
    found = shoal.compare_files(tmp_path / "in.csv", tmp_path / "out.csv", recipe=recipe, measures=QUICK)
    assert {name: found[name] for name in QUICK} == pytest.approx({name: written.readings[name] for name in QUICK})


def test_columns_say_which_and_the_recipe_what_they_are(recipe: dict) -> None:
    survey = shoal.survey(200)
    done = shoal.protect(survey, recipe)
    ranks = shoal.compare(survey, done.data, ["education"], recipe=recipe)
    apart = shoal.compare(survey, done.data, ["education"])
    assert 0 < ranks["il_sse"] < apart["il_sse"]  # a neighbouring rank is nearer than another category


def test_text_settings_of_a_recipe_are_for_text_files(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a;b\n" + "".join(f"{i},5;{i % 3}\n" for i in range(12)), encoding="utf-8")
    recipe = {"quasi": ["a"], "k": 3, "text": {"decimal": ","}}
    done = shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.parquet", recipe)
    found = shoal.compare_files(tmp_path / "in.csv", tmp_path / "out.parquet", recipe=recipe, measures=QUICK)
    assert {name: found[name] for name in QUICK} == pytest.approx({name: done.readings[name] for name in QUICK})
