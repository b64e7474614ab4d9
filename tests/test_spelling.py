"""Spellings: one person is counted once, one value is counted once, both when classes are formed and in the audit."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import spelling
from shoal.errors import DataError, ParameterError, SchemaError
from shoal.kernels.models.kpqr import kpqr
from shoal.points.codes import confidential_of
from shoal.privacy.counting import spelling as audit_spelling
from shoal.privacy.stream_gate.gate import fewest
from shoal.stream import StreamAnonymizer
from shoal.types import Column, Kind, Role

#: Texts with everything that the rule is about.
PIECES = [
    "a",
    "A",
    "ß",
    "É",
    "e\u0301",
    "ﬁ",
    "Ａ",
    "1",
    "0",
    "00",
    ".",
    "+",
    "-",
    " ",
    "\u00a0",
    "\t",
    "\u200b",
    "\ufeff",
]
PIECES += ["\x00", "\u3164", "x\u0345", "İ", "ς", "12E5", "\U000e0041", "\u2800", "\u0600"]
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
SAME_PERSON = [
    ["1", "1.0", "01", "+1", " 1 ", "1.", "１"],
    ["Ann", "ANN", " ann", "Ann\u200b", "\ufeffann"],
    ["José", "Jose\u0301", "JOSÉ"],
    ["Straße", "STRASSE"],
    ["-0.50", "-.5", "-00.5"],
    ["0", "-0", "0.00", "000"],
]
OTHERS = ["12E5", "1200000", "1_0", "10", "1,0", "Ann Lee", "AnnLee", "1.01", "-1", "0x1", "nan", "1e0"]


@given(TEXTS)
def test_the_audit_has_the_same_rule_in_other_code(text: str) -> None:
    assert spelling.person(text) == audit_spelling.same_person(text)
    assert spelling.value(text) == audit_spelling.same_value(text)
    assert spelling.person(spelling.person(text)) == spelling.person(text)


def test_the_same_characters_are_invisible_to_both() -> None:
    for point in (*range(0x20000), *range(0xE0000, 0xE1000)):
        assert (spelling._INVISIBLE.match(chr(point)) is not None) == audit_spelling._invisible(chr(point)), hex(point)


@given(st.lists(st.one_of(st.none(), TEXTS.filter(lambda text: text.isprintable() or text < "\ud800")), max_size=8))
def test_columns_are_compared_as_texts_are(names: list[str | None]) -> None:
    column = pa.chunked_array([pa.array(names, pa.string())])
    keys = spelling.people(column.combine_chunks()).to_pylist()
    assert keys == [None if name is None else spelling.person(name) or None for name in names]
    codes, respelled = audit_spelling.people_in(column, exact=False)
    told = [key or "" for key in keys]
    assert [codes[0] == code for code in codes] == [told[0] == key for key in told] if told else True
    assert len(set(codes.tolist())) == len(set(told))
    assert (respelled > 0) == (len({n for n in names if n and n.strip()} - {None}) > len(set(told) - {""}))


@pytest.mark.parametrize("one", SAME_PERSON, ids=lambda names: names[0])
def test_spellings_of_one_person(one: list[str]) -> None:
    assert len({spelling.person(name) for name in one}) == 1
    assert spelling.person(one[0]) not in {spelling.person(name) for name in OTHERS}
    assert len({spelling.person(name) for name in OTHERS}) == len(OTHERS)


def people(names: list[Any], kind: str) -> Any:
    frame = pd.DataFrame({"age": np.arange(float(len(names))), "who": names})
    frame["who"] = frame["who"].astype("category") if kind == "categories" else frame["who"]
    return pa.table({"age": frame["age"], "who": [n.encode() for n in names]}) if kind == "bytes" else frame


@pytest.mark.parametrize("kind", ["text", "categories", "bytes"])
@pytest.mark.parametrize("column", ["subject", "together"])
def test_a_class_of_one_person_in_many_spellings_is_not_released(kind: str, column: str) -> None:
    names = ["Ann", "ANN", " ann ", "Ann\u200b", "1", "01", "1.0", "+1"]
    recipe: dict[str, Any] = {"quasi": ["age"], "k": 3, column: "who"}
    with pytest.raises(DataError, match=r"at most 2.*6 names were treated as other spellings.*subject_exact = true"):
        shoal.protect(people(names, kind), shoal.Recipe(**recipe))
    done = shoal.protect(people(names, kind), shoal.Recipe(**recipe, subject_exact=True))
    assert done.audit.overall.achieved >= 3


def test_classes_are_formed_of_people_not_of_spellings() -> None:
    rng = np.random.default_rng(0)
    names = [f"{name:03}" if twice else f" {name}.0" for name in range(12) for twice in (0, 1)]
    frame = pd.DataFrame({"age": rng.normal(size=24), "who": names})
    done = shoal.protect(frame, shoal.Recipe(quasi=["age"], k=4, subject="who"))
    assert done.data.assign(who=np.repeat(np.arange(12), 2)).groupby("age")["who"].nunique().min() >= 4
    assert (
        "12 names were treated as other spellings of the same subject (subject_exact = true would"
        in done.audit.overall.note
    )
    together = shoal.protect(frame, shoal.Recipe(quasi=["age"], k=4, together="who"))
    assert (together.data["age"].to_numpy().reshape(12, 2).std(axis=1) == 0).all()


def test_an_audit_counts_people_and_says_what_it_took_for_one() -> None:
    frame = pd.DataFrame({"age": [40] * 4, "who": ["é", "e\u0301", "É", "Bo"]})
    found = shoal.audit(frame, ["age"], subject="who", require={"k": 3})
    assert (found.overall.achieved, found.holds) == (2, False)
    assert (
        "2 names were treated as other spellings of the same subject (subject_exact = true would" in found.overall.note
    )
    exact = shoal.audit(frame, ["age"], subject="who", require={"k": 3}, subject_exact=True)
    assert (exact.overall.achieved, exact.holds, exact.overall.note) == (4, True, "counted in subjects")


def test_dominance_is_of_people() -> None:
    frame = pd.DataFrame({"age": [40] * 4, "who": ["Ann", "ANN", "ann", "Bo"]})
    found = shoal.audit(frame, ["age"], subject="who", require={"dominance": 0.5})
    assert [f.achieved for f in found.findings if f.model == "dominance"] == [0.75]


def test_a_household_spelled_in_two_ways_has_one_dwelling() -> None:
    frame = pd.DataFrame(
        {"rent": [1.0, 2, 3, 3, 4, 4], "age": [1.0, 2, 3, 4, 5, 6], "home": ["a", "A", "b", "b", "c", "c"]}
    )
    recipe = {"quasi": ["rent", "age"], "k": 2, "together": "home", "household_level": ["rent"]}
    with pytest.raises(DataError, match=r"differ in 1 of 3 groups.*1 name was treated as another spelling"):
        shoal.protect(frame, shoal.Recipe(**recipe))
    assert shoal.protect(frame, shoal.Recipe(**recipe, subject_exact=True)).audit.holds


def test_subject_exact_needs_subjects() -> None:
    with pytest.raises(ParameterError, match="subject_exact needs subject or together"):
        shoal.Recipe(quasi=["a"], subject_exact=True)
    with pytest.raises(ParameterError, match="subject_exact must be true or false"):
        shoal.Recipe(quasi=["a"], subject="b", subject_exact=1)  # type: ignore[arg-type]


def push(names: list[Any], **more: Any) -> list[Any]:
    stream = StreamAnonymizer(quasi=["a"], bounds={"a": (0, 9)}, k=2, delay=len(names), subject="s", **more)
    return [one for at, name in enumerate(names) for one in stream.push({"a": at, "s": name})] + stream.flush()


@pytest.mark.parametrize("one", SAME_PERSON, ids=lambda names: names[0])
def test_a_stream_counts_people(one: list[str]) -> None:
    assert push(one) == []
    assert fewest(np.array([len(one)]), one) == 1
    assert len(push(one, subject_exact=True)) == len(one)
    assert fewest(np.array([len(one)]), one, exact=True) == len(one)


def test_exponents_are_no_plain_numbers_in_a_stream() -> None:
    assert len(push(["12E5", "1200000"])) == 2
    assert push([1e22, "10000000000000000000000", "1" + "0" * 22 + ".0"]) == []


ILL = ["flu", " flu", "Flu", "FLU\u200b", "gout", "Gout"]


@pytest.mark.parametrize(
    "require", [{"p": 3}, {"l_distinct": 3}, {"l_entropy": 2.5}, {"l_recursive": (2, 3)}, {"alpha": 0.3}]
)
def test_a_value_in_many_spellings_counts_once(require: dict[str, Any]) -> None:
    frame = pd.DataFrame({"age": np.arange(6.0), "ill": ILL})
    with pytest.raises(DataError, match="of column 'ill'"):
        shoal.protect(frame, shoal.Recipe(quasi=["age"], confidential=["ill"], k=3, require=require))
    frame["age"] = 0.0
    assert not shoal.audit(frame, ["age"], ["ill"], require=require).holds


@pytest.mark.parametrize("method", ["auto", "mdav", "p_sensitive"])
def test_methods_count_values_as_the_audit_does(method: str) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.normal(size=40), "ill": rng.choice([*ILL, "01", "1", None], 40)})
    recipe = shoal.Recipe(quasi=["age"], confidential=["ill"], k=4, method=method, require={"p": 3})
    done = shoal.protect(frame, recipe).data
    done["ill"] = ["" if pd.isna(value) else value.strip("\u200b ").lower() for value in done["ill"]]
    assert done.groupby("age")["ill"].nunique().min() >= 3


def test_codes_with_leading_zeros_stay_values_of_their_own() -> None:
    frame = pd.DataFrame({"age": [1, 1], "code": ["01", "1"]})
    assert shoal.audit(frame, ["age"], ["code"], require={"p": 2}).holds


def test_closeness_is_between_values_as_they_are_spelled() -> None:
    frame = pd.DataFrame({"age": [1, 1, 2, 2], "ill": ["flu", "flu", "Flu", "Flu"]})
    found = {f.model: f.achieved for f in shoal.audit(frame, ["age"], ["ill"]).findings}
    assert found["t_closeness"] == 0.5
    assert found["p_sensitivity"] == 1


@pytest.mark.parametrize("what", ["order", "taxonomy", "categories"])
def test_two_spellings_in_an_order_or_a_taxonomy_are_refused(what: str) -> None:
    frame = pd.DataFrame({"age": np.arange(6.0), "ill": ["low", "Low", "high"] * 2})
    more: dict[str, Any] = {"k": 2, "quasi": ["age"], "confidential": ["ill"]}
    if what == "order":
        more["orders"] = {"ill": ["low", "Low", "high"]}
    elif what == "taxonomy":
        more["taxonomies"] = {"ill": {"some": ["low", "Low"], "much": ["high"]}}
    else:
        frame["ill"] = pd.Categorical(frame["ill"], ["low", "Low", "high"], ordered=True)
    with pytest.raises(SchemaError, match="lists two spellings of one value"):
        shoal.protect(frame, shoal.Recipe(**more, require={"p": 2}))
    if what == "categories":
        with pytest.raises(SchemaError, match="lists two spellings of one value"):
            shoal.audit(frame, ["age"], ["ill"])


def test_a_stream_counts_values_as_they_are_meant() -> None:
    def stream(values: list[Any]) -> list[Any]:
        s = StreamAnonymizer(quasi=["a"], bounds={"a": (0, 9)}, k=2, delay=9, confidential=["ill"], require={"p": 2})
        return [one for at, value in enumerate(values) for one in s.push({"a": at, "ill": value})] + s.flush()

    assert stream(["flu", "Flu", "FLU\u200b", "\ufeffflu "]) == []
    assert len(stream(["flu", "Flu", "gout", "Gout"])) >= 2


plain = runpy.run_path(str(Path(__file__).parent / "oracles" / "kpqr_heuristic.py"))


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 30),
    p=st.integers(1, 5),
    q=st.sampled_from([0.1, 0.3, 0.5, 1]),
    r=st.sampled_from([0, 0.3, 0.9]),
)
def test_the_kpqr_heuristic_counts_values_merged_and_rarity_exactly(
    seed: int, n: int, p: int, q: float, r: float
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice(["a", "A", "b", "B ", "c", "d"], n).tolist()
    points, order = rng.normal(size=(n, 2)), rng.permutation(n)
    column = Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)
    attribute = confidential_of(column, pa.chunked_array([values]))
    labels, _ = kpqr(points, attribute, 3, p, q, r, order)
    more = {"squared": plain["nominal"], "same": lambda value: value.strip().lower()}
    want = plain["kpqr"](points.tolist(), values, 3, p, q, r, order.tolist(), **more)
    assert labels.tolist() == list(want)


def test_kpqr_required_of_classes_counts_merged_and_marks_rare_by_spelling() -> None:
    rng = np.random.default_rng(1)
    ill = ["flu"] * 20 + ["Flu"] * 2 + ["gout"] * 18 + ["Gout"] * 2
    frame = pd.DataFrame({"age": rng.normal(size=42), "ill": ill})
    recipe = shoal.Recipe(quasi=["age"], confidential=["ill"], k=3, require={"kpqr": (2, 0.1, 0)})
    found = shoal.protect(frame, recipe).data
    for _, one in found.groupby("age"):
        if {"Flu", "Gout"} & set(one["ill"]):
            assert one["ill"].str.lower().nunique() == 2


def test_a_stream_file_counts_people(tmp_path: Path) -> None:
    lines = [f'{{"a": {at}, "s": "{name}"}}' for at, name in enumerate(["Ann", "ANN", "ann", "1", "01"])]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    recipe = shoal.StreamRecipe(quasi=["a"], bounds={"a": (0, 9)}, k=3, delay=5, subject="s")
    assert shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", recipe).to_dict()["released"] == 0
