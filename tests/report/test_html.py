"""The report states the findings, shows no one's values, and gives outsiders nothing that helps them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.report.html import Html
from shoal.types import Codes, Readings

VOID = {"meta", "br", "hr", "img", "link"}
HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    "{{ 7 * 7 }}",
    "n" * 300,
    "עברית ועוד",
    "🐟🐠",
    "two\nlines\x00",
    "turned \u202e round",
)


class Page(HTMLParser):
    """The contents of a page: every opened element is closed, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    def count(self, tag: str, part: str = "") -> int:
        return sum(name == tag and part in (given.get("class") or "") for name, given in self.seen)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def people(n: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "person": [f"p{i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "town": rng.choice(["Ayton", "Beeford", "Cold Kirby"], n, p=[0.6, 0.3, 0.1]),
            "region": rng.choice(["north", "south"], n),
            "illness": rng.choice(["flu", "asthma", "ulcer"], n),
        }
    )


RECIPE: dict[str, Any] = {
    "quasi": ["age", "income", "town"],
    "confidential": ["illness"],
    "identifier": ["person"],
    "strata": ["region"],
    "k": 5,
    "seed": 424242,
}


@pytest.fixture(scope="module")
def account(account_of: Callable[..., Any]) -> Any:
    return account_of(people(), full=True, certified=True, **RECIPE)


def test_the_verdict_is_the_first_heading(account: Any) -> None:
    page = Html().render(account)
    heading = re.search(r"<h1>(.*?)</h1>", page)
    assert heading is not None
    expected = "Every record shares its quasi-identifiers with at least 4 others: the audit found k = 5."
    assert heading[1] == expected
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("edition", ["internal", "external"])
def test_one_file_without_scripts_or_addresses(account: Any, edition: str) -> None:
    page = Html(edition).render(account)
    found = Page(page)
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page
    assert not {tag for tag, _ in found.seen} & {"script", "link", "img", "iframe", "object", "form"}
    assert not re.search(r"https?://|url\(|@import", page)
    assert all(str(given["href"]).startswith("#") for tag, given in found.seen if tag == "a")
    assert len(page.encode()) < 300_000
    assert page == Html(edition).render(account)


def test_charts_are_named_and_tables_have_scopes(account: Any) -> None:
    found = Page(Html().render(account))
    charts = found.count("svg")
    assert charts == found.count("desc")
    assert found.count("svg", "histogram") == 2
    assert found.count("svg", "shares") == 1
    assert found.count("svg", "sizes") == 1
    assert found.count("svg", "heat") == 3
    assert found.count("rect", "bar before") > 10
    assert found.count("path", "outline") == 2
    assert all("scope" in given for tag, given in found.seen if tag == "th")


def test_nobody_is_shown(account_of: Callable[..., Any]) -> None:
    data = people()
    incomes = data["income"].to_pylist()
    towns = data["town"].to_pylist()
    incomes[7], towns[9] = 987_654.25, "Zyzzyva"
    data = data.set_column(2, "income", pa.array(incomes)).set_column(3, "town", pa.array(towns))
    made = account_of(data, full=True, **RECIPE)
    for edition in ("internal", "external"):
        text = Page(Html(edition).render(made)).text
        assert "Zyzzyva" not in text
        assert "987" not in text
        assert not any(re.search(rf"(?<![\d.]){income:,}(?![\d.])", text) for income in incomes if income % 1)


def test_outsiders_read_nothing_that_helps_them(account: Any) -> None:
    known = replace(account, left_out=1717)
    inside, outside = (Page(Html(edition).render(known)).text for edition in ("internal", "external"))
    for told in ("424242", account.fingerprint, "1,717", "person:", "people.csv", "seed = ", "stratum 0", "numpy"):
        assert told in inside, told
        assert told not in outside, told
    assert "before" not in Page(Html("external").render(known)).text.partition("Risk")[0].lower()
    assert "parts" not in outside
    assert "not measured" not in outside
    assert "safe.csv" in outside
    page = Page(Html("external").render(known))
    assert page.count("rect", "bar before") == 0
    assert page.count("rect", "bar after") > 5
    assert page.count("svg", "sizes") == 0


def test_outsiders_read_no_figures_of_the_originals_of_few_records(account: Any) -> None:
    assert account.audit.records < 1_000
    page = Html("external").render(account)
    assert page.count("are not published with this release.") == 2  # neither losses nor risks
    assert "Change of correlations" not in page
    assert "Changes of means" not in page


def test_outsiders_read_figures_of_the_originals_with_few_digits(account_of: Callable[..., Any]) -> None:
    page = Html("external").render(account_of(people(2_000), full=True, **RECIPE))
    assert page.count("Rounded to the share of 100 records") == 2
    change = page.partition("Change of correlations")[2].partition("</svg>")[0]
    figures = re.findall(r"<title>[^<]*: (−?[\d.]+)</title>", change)
    assert len(figures) == 3  # and none is like −1.1 × 10⁻¹⁶
    assert all(re.fullmatch(r"−?\d(\.\d{1,2})?", figure) for figure in figures)
    assert figures[0] == "0"
    assert "10⁻" not in page
    risk = page.partition('<section id="risk">')[2]
    values = re.findall(r'<div class="value">([\d,.]+)', risk)
    assert len(values) > 8
    for value in values:
        digits = value.replace(",", "").replace(".", "").strip("0")
        assert len(digits) <= 3, value


def test_the_last_digits_of_originals_do_not_reach_outsiders(account: Any) -> None:
    """Sums that differ in their last bits give the same page, and −0 is 0."""
    found = account.comparison

    def with_originals(change: float) -> Any:
        """The table as it was released, but for the last digits."""
        off = 1.0 + change * np.sin(np.arange(len(found)))
        numbers = {name: pair._replace(before=pair.after * off) for name, pair in found.numbers.items()}
        readings = Readings(tuple(replace(r, value=r.value * (1 + change)) for r in account.readings.readings))
        return replace(account, compared=lambda: replace(found, numbers=numbers), readings=readings)

    one, other = with_originals(1e-13), with_originals(-1e-13)
    assert Html("external").render(one) == Html("external").render(other)
    assert Html("internal").render(one) != Html("internal").render(other)


@pytest.mark.parametrize("release", ["swap", "anatomy", "laplace"])
def test_some_releases_are_not_compared_with_the_originals(account_of: Callable[..., Any], release: str) -> None:
    noise = {"epsilon": 1.0, "bounds": {"age": [20, 120], "income": [0, 1e6]}} if release == "laplace" else {}
    made = account_of(people(), **{**RECIPE, "quasi": ["age", "income"], "release": release, **noise})
    page = Html("external").render(made)
    assert "Change of correlations" not in page
    assert "Information loss" not in page
    assert "change" not in Page(page.partition('id="moments"')[2].partition("</section>")[0]).text
    assert page.count("are not published with this release") == 2
    assert "outside the bounds" not in page
    assert "Change of correlations" in Html("internal").render(made)


def test_a_swap_by_a_seed_is_said_not_to_be_private(account_of: Callable[..., Any]) -> None:
    made = account_of(people(), **{**RECIPE, "release": "swap", "set": {"not_private_seed": 1}})
    for edition in ("internal", "external"):
        text = Page(Html(edition).render(made)).text
        assert "NOT PRIVATE" in text
        assert "No class size was promised" in text


def test_what_was_done_is_said(account: Any) -> None:
    text = Page(Html().render(account)).text
    for words in (
        "Classes never cross region.",
        "5, counted in records.",
        "Differential privacy.",
        "Nothing is required of illness.",
        "Every combination of quasi-identifiers is shared by at least k records.",
        "No partition is below",
        "0 % is best, 100 % is worst",
        "not measured",
    ):
        assert words in text, words


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ({"release": "swap"}, "Values were swapped within classes of at least 5"),
        ({"release": "anatomy"}, "Every record is joined with at least 5 confidential rows"),
        ({"release": "medoid"}, "By medoid."),
        ({"method": "mic1d"}, "No class size was promised: the audit found k ="),
        ({"method": "individual_ranking"}, "In each of 2 blocks, every record shares"),
        ({"t": 0.3, "method": "t_close_merge"}, "t-closeness was required at 0.3 and found at"),
        ({"subject": "person", "identifier": []}, "with records of at least 4 other subjects"),
        ({"together": "person", "identifier": []}, "with records of at least 4 other groups"),
        ({"when_missing": "exclude"}, "Records with a missing quasi-identifier are excluded."),
        ({"require": {"p": 2}, "method": "p_sensitive"}, "p-sensitive k-anonymity was required at 2 and found at"),
    ],
)
@pytest.mark.parametrize("edition", ["internal", "external"])
def test_every_release_and_model_has_its_words(
    account_of: Callable[..., Any], recipe: dict[str, Any], words: str, edition: str
) -> None:
    given = {**RECIPE, "quasi": ["age", "income"], "strata": [], **recipe}
    assert words in Page(Html(edition).render(account_of(people(), **given))).text


@pytest.mark.parametrize("edition", ["internal", "external"])
def test_columns_may_be_called_anything(account_of: Callable[..., Any], edition: str) -> None:
    rng = np.random.default_rng(1)
    data = {name: rng.normal(size=60) for name in HOSTILE}
    data["of categories"] = rng.choice([*HOSTILE], 60)
    made = account_of(pa.table(data), quasi=list(data), k=3)
    page = Html(edition).render(made)
    found = Page(page)
    assert not {tag for tag, _ in found.seen} & {"script", "img"}
    assert not any(name.startswith("on") for _, given in found.seen for name in given)
    assert "49" not in re.findall(r"<h3[^>]*><bdi>(.*?)</bdi>", page)
    assert "🐟🐠" in found.text
    assert "\u202e" not in found.text.partition(" quasi = ")[0]
    assert "n" * 60 not in found.text.partition(" quasi = ")[0]  # but in the recipe, which must run as it is
    page.encode("utf-8")


def test_many_attributes_and_many_categories(account: Any, account_of: Callable[..., Any]) -> None:
    rng = np.random.default_rng(2)
    data = {f"x{j}": rng.normal(size=200) for j in range(59)} | {"c": [f"c{i % 1000}" for i in range(200)]}
    made = account_of(pa.table(data), quasi=list(data), k=5)
    page = Html().render(made)
    assert Page(page).count("svg", "histogram") == 30
    assert "Not drawn: x30" in Page(page).text
    assert len(page.encode()) < 1_000_000
    codes = Codes(np.arange(8000) % 1000, np.arange(8000) % 1000, tuple(f"category {i}" for i in range(1000)))
    known = replace(account.comparison, categories={"town": codes})
    assert "988 others" in Page(Html().render(replace(account, compared=lambda: known))).text


def test_one_record_one_class_and_nothing_read(account: Any, account_of: Callable[..., Any]) -> None:
    one_class = account_of(people(6), **{**RECIPE, "strata": []})
    assert "1 class" in Page(Html().render(one_class)).text
    comparison = account.comparison
    alone = replace(
        comparison,
        original=comparison.original[:1],
        masked=comparison.masked[:1],
        numbers={name: type(pair)(*(column[:1] for column in pair)) for name, pair in comparison.numbers.items()},
        categories={n: c._replace(before=c.before[:1], after=c.after[:1]) for n, c in comparison.categories.items()},
        classes=np.zeros(1, np.int64),
        strata=np.zeros(1, np.int64),
        confidential=(),
    )
    nothing = Readings(tuple(replace(r, value=math.nan, note="nothing") for r in account.readings.readings))
    for edition in ("internal", "external"):
        made = replace(account, compared=lambda: alone, readings=nothing)
        found = Page(Html(edition).render(made))
        assert found.count("svg", "histogram") == 0
        assert str(int(alone.numbers["age"].before[0])) not in re.findall(
            r"\d+", found.text.partition("Means")[2][:400]
        )


def test_a_failed_audit_is_not_green(account: Any) -> None:
    failed = replace(account.audit.findings[0], achieved=2, holds=False)
    page = Html().render(replace(account, checked=replace(account.audit, findings=(failed,))))
    assert 'class="verdict bad"' in page
    assert "k_anonymity requires 5 and achieves 2" in page


def test_an_unknown_edition_is_refused() -> None:
    with pytest.raises(ParameterError, match="edition must be"):
        Html("public")


def test_the_survey_in_full(account_of: Callable[..., Any]) -> None:
    made = account_of(
        shoal.survey(),
        quasi=["birth", "marital", "education", "rooms", "rent"],
        confidential=["income"],
        identifier=["person", "household"],
        weight="weight",
        orders={"education": ["primary", "secondary", "bachelor", "master"]},
    )
    text = Page(Html().render(made)).text
    assert "days" in text
    assert "ordered categories" in text
    assert re.search(r"birth dates or times .*? 19[4-8]\d .*?marital", text)


def test_templates_are_beside_the_code() -> None:
    import shoal.report as room

    home = Path(str(room.__file__)).parent
    assert {"report.html.jinja", "report.css"} <= {path.name for path in home.iterdir()}


@pytest.mark.long
def test_a_million_records_take_seconds(account: Any) -> None:
    import time

    from shoal.types import Column, Comparison, Kind, Pair, Role, Schema

    n, rng = 1_000_000, np.random.default_rng(0)
    names = [f"x{j}" for j in range(10)]
    numbers = {name: Pair(x := rng.lognormal(10, 0.5, n), np.round(x, -2)) for name in names}
    classes = np.sort(rng.integers(0, 150_000, n))
    known = Comparison(
        np.zeros((n, 1)), np.zeros((n, 1)), (*names,), numbers, strata=rng.integers(0, 20, n), classes=classes
    )
    quasi = (Column(name, Role.QUASI, Kind.CONTINUOUS) for name in names)
    schema = Schema((*quasi, *(column for column in account.schema.columns if column.role is not Role.QUASI)))
    large = replace(account, compared=lambda: known, schema=schema)
    Html().render(account)  # imports are not counted
    began = time.process_time()
    page = Html().render(large)
    assert time.process_time() - began < 6  # about 2.5 s on an idle machine
    assert len(page.encode()) < 5_000_000


class TestWhatStandsForAFew:
    """With the output a change of a statistic gives the original's: of few records that is one person's value."""

    def page(self, folder: Path, rows: int, edition: str) -> str:
        rng = np.random.default_rng(3)
        income = rng.lognormal(8, 0.5, rows).round(2)
        income[7] = 9_876_543.21
        regions = np.where(np.arange(rows) < rows - 6, "N", "S")
        table = pa.table({"age": rng.integers(18, 90, rows), "income": income, "region": regions})
        done = shoal.protect(table, {"quasi": ["age", "income"], "strata": ["region"], "k": 4})
        place = folder / f"{edition}-{rows}.html"
        done.report(place, edition=edition)
        return Page(place.read_text()).text

    def test_a_deviation_that_one_record_makes_cannot_be_worked_out(self, tmp_path: Path) -> None:
        assert re.search(r"income — [\d,]+ — — [\d,]+ —", self.page(tmp_path, 60, "internal"))
        assert re.search(r"income [\d,]+ [\d,]+ ", self.page(tmp_path, 60, "external"))  # and no change
        inside = self.page(tmp_path, 61, "internal")
        assert inside.count("attributes that one record dominates are omitted: 1.") == 2  # means and variances
        assert " raw " not in inside

    def test_parts_of_strata_are_not_listed(self, tmp_path: Path) -> None:
        assert "in stratum" not in self.page(tmp_path, 60, "internal")

    def test_quantiles_are_shown_where_enough_records_lie_beyond(self, tmp_path: Path) -> None:
        assert "so it would be one person's value" in self.page(tmp_path, 79, "internal")
        found = re.search(r"age, 5 % (\S+) age, 25 % (\S+)", self.page(tmp_path, 80, "internal"))
        assert found is not None
        assert all(len(one.lstrip("−").partition(".")[2]) <= 2 for one in found.groups())

    def test_outsiders_do_not_see_what_gives_a_statistic_of_one_attribute(self, tmp_path: Path) -> None:
        words = self.page(tmp_path, 80, "external")
        assert not re.search(r"Quantiles|Variances|Normalised SSE|Means means", words)
