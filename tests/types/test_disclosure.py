"""Sentences state the counts of the audit: the worst case first, its ceiling beside it, then the average."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.types.disclosure import sentences_of

FOUR = pa.table({"age": [30] * 2 + [40] * 2 + [50] * 5, "ill": list("ab") + list("cc") + list("abcda")})


def test_worst_case_ceiling_where_and_average() -> None:
    found = shoal.audit(FOUR, ["age"], ["ill"], require={"k": 2})
    assert found.sentences == (
        "Worst case: someone who knows a person's age is left with 2 records that match, and picks the right one with "
        "a chance of 1 in 2 (50 %; the ceiling 1/k is 50 %). This is so for 4 of 9 records, in 2 of 3 classes. On "
        "average the chance is 33.3 %, 1 in 3.",
        "In 1 of 3 classes all 2 records share one value of ill: anyone who knows that a person is in this class "
        "learns it.",
    )


def test_without_a_requirement_there_is_no_ceiling_and_unique_records_are_counted() -> None:
    table = pa.table({"age": [30, 40, 50, 50], "ill": list("abcd")})
    identity, values = shoal.audit(table, ["age"], ["ill"]).sentences
    assert identity == (
        "Worst case: 2 of 4 records, in 2 of 3 classes, are unique: someone who knows a person's age may find the "
        "record (100 %). On average the chance is 75 %, 1 in 1.33."
    )
    assert values.startswith("In 2 of 3 classes all records share one value of ill (2 of 4 records)")


def test_the_largest_share_of_a_value_is_told_where_none_is_certain_with_what_was_allowed() -> None:
    table = pa.table({"age": [30] * 4, "ill": list("aaab")})
    (_, values) = shoal.audit(table, ["age"], ["ill"], require={"alpha": 0.8}).sentences
    assert values == (
        "The records of the only class do not all share one value of ill. At worst 75 % of the records of a class "
        "share one; 80 % was allowed."
    )


def test_columns_with_most_certain_records_come_first_and_long_lists_end() -> None:
    ills = {f"c{j}": ["x"] * (2 * j) + [str(i) for i in range(20 - 2 * j)] for j in range(10)}
    table = pa.table({"age": [i // 2 for i in range(20)], **ills})
    said = shoal.audit(table, ["age"], list(ills)).sentences[1:]
    assert [line.partition(" value of ")[2].split(" ")[0] for line in said[:3]] == ["c9", "c8", "c7"]
    assert len(said) == 9
    assert said[-1] == "2 more confidential columns: in at most 1 of 10 classes all records share one value."


def test_subjects_are_counted_and_no_chance_is_promised_for_records() -> None:
    table = pa.table({"age": [30] * 6, "who": list("aaaabc")})
    linked, identity = shoal.audit(table, ["age"], subject="who", require={"k": 3}).sentences
    assert "in all of the person's records, which the release links, is left with 1 person" in linked  # a has four
    assert "is left with the records of 3 subjects that match" in identity
    assert "if each is equally likely. This is so in 1 of 1 classes." in identity


@pytest.mark.parametrize(("column", "words"), [("subject", "people"), ("together", "groups")])
def test_what_k_counts_is_named(column: str, words: str) -> None:
    table = pa.table({"age": list(range(8)), "who": [i // 2 for i in range(8)]})
    done = shoal.protect(table, {"quasi": ["age"], "k": 2, column: "who", "row_order": "keep"})
    assert f"is left with the records of 2 {words} that match" in done.audit.sentences[0]
    assert "age counts as known to others" in done.impact
    weak = shoal.protect(table, {"quasi": ["age"], "k": 2, column: "who", "attacker": "table"})
    assert f"records of 2 {words} that match" in weak.audit.sentences[0]


RECIPES: dict[str, tuple[dict[str, Any], str]] = {
    "swap": ({"release": "swap"}, "No class size is promised over age and pay"),
    "anatomy": ({"release": "anatomy", "confidential": ["ill"]}, "can find the person in the first table"),
    "blocks": ({"blocks": [["age"], ["pay"]]}, "Worst case: "),
    "individual ranking": ({"method": "individual_ranking"}, "someone who knows a person's age and pay may find"),
}


@pytest.mark.parametrize("case", RECIPES)
def test_nothing_is_claimed_that_is_not_promised(case: str) -> None:
    settings, words = RECIPES[case]
    table = pa.table({"age": list(range(20)), "pay": [i * 7 % 20 for i in range(20)], "ill": list("abcde" * 4)})
    done = shoal.protect(table, {"quasi": ["age", "pay"], "k": 4, **settings})
    assert words in done.audit.sentences[0]
    assert done.audit.sentences[0] in done.impact
    if not done.audit.overall.promised:
        assert "chance of 1 in 4" not in done.audit.sentences[0]


def test_strata_released_with_them_count() -> None:
    """Someone who knows the stratum sees the smaller classes, even if two strata share their values."""
    table = pa.table({"age": [30] * 8, "town": list("aaabbbbb")})
    done = shoal.protect(table, {"quasi": ["age"], "strata": ["town"], "k": 3})
    assert done.audit.overall.achieved == 8
    assert "a person's age and town is left with 3 records that match" in done.audit.sentences[0]


def test_findings_of_parts_add_up_to_the_same_sentences() -> None:
    found = shoal.audit(FOUR, ["age"], ["ill"])
    parts = [shoal.audit(FOUR.slice(*rows), ["age"], ["ill"]) for rows in ((0, 4), (4, 5))]
    from shoal.flow.plan.merging import merged_audit

    assert merged_audit(parts).sentences == found.sentences


def test_outsiders_are_not_told_how_many_classes_are_the_smallest() -> None:
    found = shoal.audit(FOUR, ["age"], ["ill"])
    assert "This is so for" in found.sentences[0]
    assert "This is so for" not in sentences_of(found, where=False)[0]
    assert sentences_of(replace(found, findings=()), where=False)[0] == sentences_of(found, where=False)[0]


def test_strata_that_tell_more_classes_apart_are_named() -> None:
    table = pa.table({"age": [30] * 4, "region": list("AABB"), "ill": list("xxyy")})
    audit = shoal.protect(table, quasi=["age"], strata=["region"], confidential=["ill"], k=2).audit
    (values,) = [one for one in audit.sentences if "one value of ill" in one]
    assert values.startswith("In 2 of 2 classes of quasi-identifiers and region all records share one value of ill (4 ")
    assert "All members share one value of 'ill' in 2 of 2 classes" in audit.warnings[-1]
    assert audit.to_dict()["confidential"]["ill"]["p"] == 2  # over quasi-identifiers alone
    assert [f.attributes for f in audit.reported] == [("age",)] * len(audit.reported)
    same = table.set_column(0, "age", [[30, 30, 50, 50]])
    said = shoal.protect(same, quasi=["age"], strata=["region"], confidential=["ill"], k=2).audit.sentences
    assert not any("Someone who also knows" in one for one in said)


def test_a_column_with_a_single_value_needs_no_class() -> None:
    table = pa.table({"age": [30, 30, 50, 50], "ill": list("aaaa"), "pay": list("xxxy")})
    said = shoal.audit(table, ["age"], ["ill", "pay"]).sentences
    assert said[1] == (
        "All 4 records have the same value of ill: anyone who knows that a person is in the table learns it."
    )
    assert said[2].startswith("In 1 of 2 classes all 2 records share one value of pay")


def test_the_paragraph_tells_weights_and_who_is_not_released() -> None:
    n = 60
    values = {"age": [i * 7 % 41 for i in range(n)], "w": [1.0 + i % 3 for i in range(n)], "pay": list(range(n))}
    values["age"][0] = None
    settings = {"quasi": ["age"], "weight": "w", "confidential": ["pay"], "k": 3, "when_missing": "exclude"}
    done = shoal.protect(pa.table(values), settings, holdout=0.1, suppress=0.1)
    assert "Set aside as a control: 6 records of people drawn at random." in done.impact
    assert f"those who would cost the most, were left out: {done.suppressed} records." in done.impact
    assert done.left_out in (0, 1)  # it may be among those set aside
    assert ("Also left out: 1 record without a value" in done.impact) is bool(done.left_out)
    assert "Means of classes are weighted by w, and each record has the mean weight of its class." in done.impact
    assert pickle.loads(pickle.dumps(done)).impact == done.impact


def test_the_paragraph_tells_blocks_recoding_and_suppression() -> None:
    values = [[float(i % 7) for i in range(40)], [float(i % 11) for i in range(40)]]
    table = pa.table([*values, list(range(40))], names=["x", "y", "pay"])
    blocks = shoal.protect(table, quasi=["x", "y"], k=3, attribute_blocks=[["x"], ["y"]]).impact
    assert "classes of at least" not in blocks
    assert "k-anonymity over x alone: " in blocks
    recipe = {"quasi": ["x", "y"], "confidential": ["pay"], "k": 3}
    told = shoal.protect(table, recipe, suppress=0.1, recode={"pay": {"top": 20}}).impact
    assert "pay was recoded first. Up to 10 % of the people" in told
    assert "pay is released unchanged except for recoding." in told
    assert "classes of at least 3 records" in told


@pytest.mark.parametrize("asked", [{}, {"p": 1}, {"t": 1}, {"alpha": 1, "l_distinct": 1}])
def test_a_requirement_that_every_table_meets_does_not_silence_the_warning(asked: dict[str, float]) -> None:
    (warning,) = shoal.audit(FOUR, ["age"], ["ill"], require=asked).warnings
    assert "in 1 of 3 classes (2 records)" in warning
    assert not shoal.audit(FOUR, ["age"], ["ill"], require={**asked, "t": 0.9}).warnings
