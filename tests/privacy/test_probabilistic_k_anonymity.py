"""The audit of probabilistic k-anonymity: equal to its definition, and red where it must be."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy.probabilistic_k_anonymity import ProbabilisticKAnonymity
from shoal.types import Column, Kind, Release, Role, Schema

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "probabilistic_k_anonymity.py"))["achieved"]
VALUES = st.sampled_from([None, 0, 1, 2])


def released(before: dict, after: dict, labels: list[int], subjects: list | None = None, **more: object) -> Release:
    schema = Schema(tuple(Column(name, Role.QUASI, Kind.NOMINAL) for name in after))
    classes = dict.fromkeys(before, np.array(labels))
    who = None if subjects is None else pa.chunked_array([subjects])
    return Release(pa.table(after), schema, subjects=who, original=pa.table(before), classes=classes, **more)


@given(st.data(), st.integers(1, 12), st.booleans(), st.booleans())
def test_the_level_equals_the_definition(data: st.DataObject, n: int, shuffled: bool, counted: bool) -> None:
    labels = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    before = [data.draw(st.lists(VALUES, min_size=n, max_size=n)) for _ in range(2)]
    after = [list(column) for column in before]
    if shuffled:
        for column in after:
            for label in set(labels):
                rows = [row for row in range(n) if labels[row] == label]
                for row, value in zip(rows, data.draw(st.permutations([column[row] for row in rows])), strict=True):
                    column[row] = value
    else:
        after[0] = data.draw(st.lists(VALUES, min_size=n, max_size=n))
    subjects = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) if counted else None
    names = ["a", "b"]
    tables = [{name: pa.array(c, pa.int64()) for name, c in zip(names, t, strict=True)} for t in (before, after)]
    found = ProbabilisticKAnonymity().audit(released(*tables, labels, subjects), names)
    assert found.achieved == oracle(before, after, labels, subjects)
    assert found.classes == len(set(labels))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pa.array([1, 2]), pa.array([2.0, 1.0])),
        (pa.array([1.5, None]), pa.array([None, 1.5])),
        (pa.array([0.0, float("nan")]), pa.array([None, -0.0])),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "a"], pa.large_string())),
        (pa.array([0, 86400], pa.timestamp("s")), pa.array([1, 0], pa.date32())),
        (pa.array([True, False]), pa.array([0.0, 1.0])),
        (pa.array([1, 2], pa.decimal128(5, 2)), pa.array([2.0, 1.0])),
        (pa.array([2**60, 2**60 + 1]), pa.array([2**60 + 1, 2**60])),
    ],
)
def test_values_are_compared_as_values(before: pa.Array, after: pa.Array) -> None:
    assert ProbabilisticKAnonymity(2).audit(released({"a": before}, {"a": after}, [0, 0]), ["a"]).holds


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pa.array([1, 2]), pa.array([1, 1])),
        (pa.array([1, None]), pa.array([1, 1])),
        (pa.array([1, None]), pa.array([1, 0])),
        (pa.array(["", None]), pa.array(["", ""])),
        (pa.array([0.1, 0.2]), pa.array([np.nextafter(0.1, 1), 0.2])),
        (pa.array([2**60, 2**60 + 1]), pa.array([2**60, 2**60])),
    ],
)
def test_other_values_turn_it_red(before: pa.Array, after: pa.Array) -> None:
    found = ProbabilisticKAnonymity(2).audit(released({"a": before}, {"a": after}, [0, 0]), ["a"])
    assert (found.achieved, found.holds) == (0, False)
    assert "1 classes whose values changed count as 0" in found.note


def test_types_that_cannot_be_compared_are_an_error_without_a_value() -> None:
    release = released({"a": pa.array([2**60 + 1, 3])}, {"a": pa.array([3.0, 4.0])}, [0, 0])
    said = "Column 'a': int64 was released as double, which cannot be compared"
    with pytest.raises(shoal.GuaranteeError, match=said):
        ProbabilisticKAnonymity(2).audit(release, ["a"])


def test_what_was_not_permuted_splits_the_classes() -> None:
    release = released({"a": [1, 2, 3, 4]}, {"a": [2, 1, 4, 3], "s": ["x", "x", "y", "y"]}, [0, 0, 0, 0])
    assert ProbabilisticKAnonymity(2).audit(release, ["a"]).achieved == 4
    assert ProbabilisticKAnonymity(2).audit(release, ["a", "s"]).achieved == 2
    across = released({"a": [1, 2, 3, 4]}, {"a": [3, 1, 4, 2], "s": ["x", "x", "y", "y"]}, [0, 0, 0, 0])
    assert ProbabilisticKAnonymity(2).audit(across, ["a", "s"]).achieved == 0


def test_subjects_are_counted_and_the_largest_share_is_said() -> None:
    release = released({"a": [1, 2, 3, 4]}, {"a": [2, 1, 4, 3]}, [0, 0, 0, 0], ["p", " p", "p", "q"])
    found = ProbabilisticKAnonymity(3).audit(release, ["a"])
    assert (found.achieved, found.holds) == (2, False)
    assert "counted in subjects; the largest share of one subject in the records of a class is 0.75" in found.note


def test_that_nothing_moved_is_not_said_where_it_may_be_chance() -> None:
    """It is one of the equally likely dealings: to say so would undo it."""
    model = ProbabilisticKAnonymity(2)
    same, other = (model.audit(released({"a": [1, 2]}, {"a": a}, [0, 0]), ["a"]) for a in ([1, 2], [2, 1]))
    assert same == other


@pytest.mark.parametrize(("classes", "achieved"), [(63, 2), (64, 0)])
def test_that_nothing_moved_fails_where_it_cannot_be_chance(classes: int, achieved: int) -> None:
    values = {"a": list(range(2 * classes))}
    labels = [i // 2 for i in range(2 * classes)]
    assert ProbabilisticKAnonymity(2).audit(released(values, values, labels), ["a"]).achieved == achieved
    constant = {"a": list(labels)}  # nothing can move
    assert ProbabilisticKAnonymity(2).audit(released(constant, constant, labels), ["a"]).achieved == 2


@pytest.mark.parametrize("labels", [[0], [0, 0, 0]])
def test_too_few_or_too_many_classes_fail_closed(labels: list[int]) -> None:
    with pytest.raises(shoal.GuaranteeError, match="every record must have one class"):
        ProbabilisticKAnonymity(2).audit(released({"a": [1, 2]}, {"a": [2, 1]}, labels), ["a"])


def test_a_table_by_itself_cannot_be_audited() -> None:
    with pytest.raises(shoal.ParameterError, match="needs the original table and its classes"):
        shoal.audit(pa.table({"a": [1, 1]}), ["a"], require={"prob_k": 2})


def test_a_recipe_cannot_require_it() -> None:
    with pytest.raises(shoal.ParameterError, match="probabilistic_k_anonymity cannot be required of a table"):
        shoal.Recipe(quasi=["a"], require={"prob_k": 2})
