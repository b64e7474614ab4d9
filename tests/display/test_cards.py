"""Cards of results in a notebook: escaped, short, and without a cell of the table."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.display.card import Card, Grid

SCRIPT = "<script>alert(1)</script>"
SECRET = "Zyxomma"
N = 60


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """A table whose cells are recognisable, and whose column names are hostile."""
    rng = np.random.default_rng(3)
    return pa.table(
        {
            f"name{SCRIPT}": [f"{SECRET}{i}" for i in range(N)],
            f"age{SCRIPT}": 770_000 + rng.permutation(N),
            "pay\u202e\x1b[31m": 880_000 + 3 * rng.permutation(N),
            f"ill{SCRIPT}": [f"{SECRET}{'ab'[i % 2]}" for i in range(N)],
        }
    )


@pytest.fixture(scope="module")
def results(people: pa.Table) -> dict[str, Any]:
    """Every kind of result."""
    name, age, pay, ill = people.column_names
    roles = {"quasi": [age, pay], "confidential": [ill], "identifier": [name], "k": 5}
    done = shoal.protect(people, roles)
    tried = {"methods": ["mdav"], "k": [5, 10], "effort": ["none"]}
    explore = {name: value for name, value in roles.items() if name != "k"}
    bounds = {age: [770_000, 770_100], pay: [880_000, 880_300]}
    return {
        "protected": done,
        "audit": done.audit,
        "readings": done.readings,
        "partition": done.partition,
        "failed": shoal.audit(people, [age], [ill], require={"k": 2, "p": 2}),
        "compared": shoal.compare(people, done.data, [age, pay]),
        "attacked": shoal.attack(people, done.data, roles),
        "explored": shoal.explore(people, explore, **tried),
        "weighed": shoal.explore(people, {"quasi": [age, pay]}, **tried, epsilon=1.0, bounds=bounds),
        "inspected": shoal.inspect(people),
        "planned": shoal.plan(people, roles),
        "refused": shoal.plan(people, {**roles, "k": 500}),
    }


class Tags(HTMLParser):
    """The tags of a page, and whether each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


KINDS = ["protected", "audit", "readings", "partition", "failed", "compared", "attacked", "explored", "weighed"]
KINDS += ["inspected", "planned", "refused"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_card_is_whole_escaped_html(results: dict[str, Any], kind: str) -> None:
    page = results[kind]._repr_html_()
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    assert "script" not in tags.seen
    assert "\u202e" not in page
    assert "\x1b" not in page


@pytest.mark.parametrize("kind", KINDS)
def test_neither_card_nor_text_shows_a_cell(results: dict[str, Any], kind: str) -> None:
    shown = results[kind]._repr_html_() + repr(results[kind])
    assert SECRET not in shown
    assert not re.search(r"\b(77|88)\d{4}\b|\b(77|88)\d,\d{3}\b", shown)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "attacked"])
def test_the_text_is_one_short_line(results: dict[str, Any], kind: str) -> None:
    text = repr(results[kind])
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 240
    assert text.endswith(".")


def test_verdicts(results: dict[str, Any]) -> None:
    assert '<span class="badge good">holds</span>' in results["audit"]._repr_html_()
    assert '<span class="badge bad">does not hold</span>' in results["failed"]._repr_html_()
    assert "2 of 2 requirements do not hold." in repr(results["failed"])
    assert '<span class="badge bad">refused</span>' in results["refused"]._repr_html_()
    assert "badge bad" not in results["planned"]._repr_html_()


def test_the_card_of_a_release_says_what_was_found(results: dict[str, Any]) -> None:
    done = results["protected"]
    page = done._repr_html_()
    assert "<dt>k</dt><dd>5</dd>" in page
    assert f"<dt>classes</dt><dd>{done.audit.overall.classes}</dd>" in page
    assert "k_anonymity" in page
    assert "il_sse" in page


def test_warnings_come_before_tables_and_good_news(people: pa.Table) -> None:
    page = shoal.protect(people, quasi=[people.column_names[1]], k=5)._repr_html_()
    warned = page.index("<b>Warning:</b> 60 of 60 records (100.0 %) are unique on columns that are released unchanged")
    assert warned < page.index("What an attacker could learn") < page.index("<table>")


def test_figures_are_aligned_right() -> None:
    page = Grid("", ("Setting", "Loss", "Note"), (("a", "1,000", ""), ("b", "2.5 %", ""))).html()
    assert "<th>Setting</th><th class=n>Loss</th><th>Note</th>" in page
    assert "<td>b</td><td class=n>2.5 %</td><td></td>" in page


def test_measures_with_the_same_remark_share_it() -> None:
    people = pa.table({"age": range(40), "pay": range(40)})
    moved = people.take(list(range(39, -1, -1)))
    page = shoal.compare(people, moved, ["age"], measures=["il_sse", "mae"])._repr_html_()
    assert "il_sse, mae: were not measured, because the rows seem to be in another order" in page


def test_losses_that_no_budget_covers_are_not_shown() -> None:
    pytest.importorskip("opendp")
    people = pa.table({"age": list(range(20, 80))})
    recipe = {"quasi": ["age"], "k": 20, "method": "insensitive", "release": "laplace", "epsilon": 5.0}
    done = shoal.protect(
        people, recipe | {"claim": "original", "bounds": {"age": [0, 120]}, "kinds": {"age": "integer"}}
    )
    assert "il_sse" not in done._repr_html_()
    assert "lost" not in repr(done)


def test_a_verification(tmp_path: Any, results: dict[str, Any]) -> None:
    done = results["protected"]
    done.evidence(tmp_path / "e.json")
    found = shoal.verify(tmp_path / "e.json", done.data)
    assert '<span class="badge good">holds</span>' in found._repr_html_()
    assert SECRET not in repr(found) + found._repr_html_()


def test_long_tables_and_names_are_cut() -> None:
    page = Card("Title", "lead", grids=(Grid("", ("a",), tuple((f"row {i}",) for i in range(100))),)).html()
    assert "row 39" in page
    assert "row 40" not in page
    assert "… and 60 more" in page


def test_a_pickled_result_has_a_card(results: dict[str, Any]) -> None:
    import pickle

    done = results["protected"]
    assert repr(pickle.loads(pickle.dumps(done))) == repr(done)


def test_cards_say_what_an_attacker_could_learn() -> None:
    table = pa.table({"age": [30, 31, 40, 41, 50, 51], "<i>": list("aabbcc")})
    done = shoal.protect(table, quasi=["age"], confidential=["<i>"], k=2)
    for page in (done._repr_html_(), done.audit._repr_html_()):
        assert page.index("Worst case: someone who knows") < page.index("On average the chance is")
        assert "the ceiling 1/k is 50 %" in page
        assert "share one value of &lt;i&gt;" in page
