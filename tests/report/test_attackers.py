"""The report puts what an attacker could learn first, and folds statistics away; outsiders read no original risk."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.protect.anonymise import measured
from shoal.report.html import Html
from shoal.report.sections.attackers import attackers, before_release
from shoal.risk.individual_risk import individual_risks
from shoal.types import Unchanged


def people(n: int = 120) -> pa.Table:
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "age": rng.integers(18, 60, n),
            "pay": rng.integers(10, 90, n),
            "w": rng.uniform(2, 30, n).round(1),
            "home": np.arange(n) // 3,
            "ill": rng.choice(list("abc"), n),
            "shoe": rng.integers(36, 46, n),
        }
    )


RECIPE: dict[str, Any] = {"quasi": ["age", "pay"], "confidential": ["ill"], "weight": "w", "together": "home", "k": 4}


@pytest.fixture(scope="module")
def account(account_of: Callable[..., Any]) -> Any:
    return account_of(people(), full=True, **RECIPE)


def section(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}">(.*?)</section>', page, re.DOTALL)
    return "" if found is None else " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())


def test_worst_case_ceiling_average_and_original(account: Any) -> None:
    said = section(Html().render(account), "learn")
    assert said.index("Worst case") < said.index("On average the chance")
    assert re.search(r"Prosecutor .*? 25 % 25 % .*? 100 % at worst", said)
    assert "People or groups are counted, each as equally likely" in said
    assert "without a table of the population, the figures are those of the prosecutor" in said
    assert "special uniques are the easiest to find" in said
    assert re.search(r"By the sampling weights, .* of a household, at least one member with", said)


def test_outsiders_read_no_risk_of_the_original(account: Any) -> None:
    page = Html("external").render(account)
    said = section(page, "learn")
    assert "Worst case" in said
    for words in ("Prosecutor", "In the original", "sampling weights, someone", "at worst,", "This is so for"):
        assert words not in said
    assert "of these columns, and" not in page


def test_statistics_are_folded_away_and_nothing_else(account: Any) -> None:
    page = Html().render(account)
    before, after = page.split('<details class="fold" id="statisticians">')
    assert {"learn", "impact", "done", "audit", "unchanged", "attributes"} <= set(
        re.findall(r'section id="(\w+)"', before)
    )
    assert {"moments", "risk", "loss", "versions"} <= set(re.findall(r'section id="(\w+)"', after))
    links = re.findall(r'<a href="#(\w+)"', page)
    assert links[0] == "learn"
    assert links[-1] == "statisticians"


def test_the_paragraph_names_what_was_removed_inside_only(account: Any) -> None:
    inside, outside = (section(Html(edition).render(account), "impact") for edition in ("internal", "external"))
    assert "(home) were removed" in inside
    assert "home" not in outside
    assert "k-anonymity: 4, where 4 is required" in outside


def test_unchanged_columns_that_make_records_unique_are_counted_by_number() -> None:
    table = pa.table({"age": [1, 1, 2, 2, 3, 3], "a": list("xxxyyy"), "b": list("pqqqpp"), "c": list("ssssst")})
    run = shoal.protect(table, {"quasi": ["age"], "k": 2}).run
    assert run is not None
    found = measured(run).audit.unchanged
    assert found is not None
    assert found.few == (1, 2)  # the last row by c; the first and the fourth by a and b
    assert found.unique == 4  # the fifth needs all three columns
    assert found.by_few in Html().render(measured(run))
    assert Unchanged(9, ("a", "b"), 4, few=(3,)).by_few == "3 of 9 records are unique on one of these columns."


def test_a_population_counts_for_journalists_and_marketers() -> None:
    rng = np.random.default_rng(3)
    everyone = people(900)
    sample = everyone.take(np.sort(rng.choice(900, 120, replace=False)))
    recipe = {"quasi": ["age", "pay"], "k": 4, "require": {"k_map": 2, "exchangeability": 1}}
    done = shoal.protect(sample.select(["age", "pay", "ill"]), recipe, population=everyone)
    assert done.run is not None
    run = measured(done.run)
    k_map = next(f for f in done.audit.findings if f.model == "k_map")
    average = 100 * dict(k_map.found)["average_risk"]
    journalist = run.readings.reading("journalist_risk")
    assert journalist.value == pytest.approx(100 / k_map.achieved)
    assert dict(journalist.parts)["average"] == pytest.approx(average)
    assert run.readings["marketer_risk"] == pytest.approx(average)
    assert "nearest released combination" in journalist.note
    page = Html().render(run)
    said = section(page, "learn")
    assert re.search(r"Journalist .*? counted in the population, .*? combination [\d.]+ % 50 % [\d.]+ % –", said)
    assert "In the population of 900, someone who does not know who is in the table" in said
    assert "the ceiling 1/k is 50 %" in said
    facts = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)<small>", page))
    assert facts["k found"] == "4"  # neither the people in the population nor the replays


def test_strata_count_as_known_everywhere() -> None:
    """Two strata share their values: someone who knows the stratum sees smaller classes than those of the values."""
    table = pa.table({"age": [30] * 8 + [40] * 8, "town": list("aaabbbbbaaaaabbb"), "w": [2.0] * 16})
    table = table.append_column("ill", [list("xyzxyzxy" * 2)])
    recipe = {"quasi": ["age"], "strata": ["town"], "confidential": ["ill"], "k": 3, "require": {"p": 1}}
    done = shoal.protect(table, {**recipe, "weight": "w", "row_order": "keep"})
    assert done.run is not None
    run = measured(done.run)
    prosecutor = dict(run.readings.reading("prosecutor_risk").parts)
    assert prosecutor["highest"] == prosecutor["original, highest"] == pytest.approx(100 / 3)
    assert prosecutor["average"] == run.readings["marketer_risk"] == 25
    both = individual_risks(np.repeat([0, 1, 2, 3], [3, 5, 5, 3]), np.full(16, 2.0))
    assert run.readings["individual_risk"] == pytest.approx(100 * both.max())
    page = Html().render(run)
    assert "Every record shares its quasi-identifiers and town with at least 2 others: the audit found k = 3." in page
    facts = {name: (value, how) for name, value, how in re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)<small>([^<]*)", page)}
    assert facts["Classes"] == ("4", "of records with equal quasi-identifiers and town")
    assert facts["k found"][0] == "3"
    assert "Strata are released and count as known." in section(page, "learn")
    assert page.count("In ill, p-sensitive k-anonymity was required at 1") == 1
    assert section(page, "impact").count("k-anonymity: ") == 1
    found = shoal.compare(table, done.data, recipe=recipe, measures=["prosecutor_risk"])
    assert found["prosecutor_risk"] == pytest.approx(100 / 3)


def test_merged_strata_count_as_they_are_released() -> None:
    table = pa.table({"age": [30] * 9, "town": list("aabbbbccc")})
    recipe = {"quasi": ["age"], "strata": ["town"], "small_strata": "merge", "k": 3, "row_order": "keep"}
    done = shoal.protect(table, recipe)
    assert done.run is not None
    risk = measured(done.run).readings["prosecutor_risk"]
    assert risk == pytest.approx(100 / smallest(done.data))
    assert shoal.compare(table, done.data, recipe=recipe, measures=["prosecutor_risk"])["prosecutor_risk"] == risk


def smallest(table: pa.Table) -> int:
    return min(table.group_by(["age", "town"]).aggregate([([], "count_all")]).column("count_all").to_pylist())


def test_key_figures_say_whose_classes_they_count() -> None:
    table = pa.table({"age": list(range(20)), "pay": [i * 7 % 20 for i in range(20)], "ill": list("abcde" * 4)})
    settings: dict[str, dict[str, Any]] = {
        "member in the smallest class over all blocks, 4 in each alone": {"attribute_blocks": [["age"], ["pay"]]},
        "of records, which the output does not show": {"release": "swap"},
        "of records that both tables show": {"release": "anatomy", "confidential": ["ill"]},
    }
    for words, setting in settings.items():
        run = shoal.protect(table, {"quasi": ["age", "pay"], "k": 4, **setting}).run
        assert run is not None
        assert words in Html().render(measured(run)), words


def test_a_population_gives_the_sampling_fraction() -> None:
    rng = np.random.default_rng(3)
    everyone = people(900)
    sample = everyone.take(np.sort(rng.choice(900, 120, replace=False)))
    run = shoal.protect(sample.select(["age", "pay", "w"]), quasi=["age", "pay"], weight="w", population=everyone).run
    assert run is not None
    parts = dict(measured(run).readings.reading("suda").parts)
    assert parts["sampling fraction"] == pytest.approx(100 * 120 / 900)


def test_noise_is_no_class_size() -> None:
    table = pa.table({"age": [i % 50 for i in range(120)]})
    recipe = {"quasi": ["age"], "k": 20, "release": "laplace", "epsilon": 0.5, "bounds": {"age": [0, 60]}}
    run = shoal.protect(table, recipe).run
    assert run is not None
    page = Html().render(measured(run))
    least = run.audit.overall.achieved
    assert f"with at least {least - 1:g} others: the audit found k = {least:g}." in page
    assert re.search(rf"<dt>k found</dt><dd>{least:g}<", page)


@pytest.mark.parametrize("counted", [{"subject": "home"}, {"strata": ["ill"]}])
def test_runs_on_disk_count_people_strata_and_weights(counted: dict[str, Any], tmp_path: Path) -> None:
    table = people().set_column(0, "age", pa.array([30 + i // 30 for i in range(120)]))
    shoal.write_table(table.drop_columns(["shoe", "pay"]), tmp_path / "in.csv")
    recipe = {"quasi": ["age"], "weight": "w", "k": 3, **counted}
    done = shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "out.csv", engine="disk")
    assert done.run is not None
    run = measured(done.run)
    least = min(f.achieved for f in done.audit.findings if f.model == "k_anonymity")
    assert run.readings["prosecutor_risk"] == pytest.approx(100 / least)
    known = table.select(["age", *counted.get("strata", [])]).to_pylist()
    classes = np.unique([str(one) for one in known], return_inverse=True)[1]
    risk = individual_risks(classes, table.column("w").to_numpy())
    assert run.readings["individual_risk"] == pytest.approx(100 * risk.max())
    (*_, said) = before_release(run)
    assert ("at least one of a person's records with" in said) is ("subject" in counted)
    if "subject" in counted:
        assert before_release(run)[0].startswith("By the sampling weights")  # one column has no special uniques
        unknown = replace(run, compared=lambda: replace(run.comparison, people=None))
        assert not attackers(unknown)
        assert attackers(run)


def test_no_single_match_where_no_record_is_unique() -> None:
    table = pa.table({"age": [1, 1, 2, 2], "pay": [3, 3, 4, 4]})
    run = shoal.protect(table, quasi=["age", "pay"], k=2).run
    assert run is not None
    assert before_release(measured(run)) == [
        "Before protection, none of these records was unique among them on all quasi-identifiers."
    ]
