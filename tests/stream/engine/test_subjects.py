"""The subjects of tuples: each is counted once, and missing ones are refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, GuaranteeError
from shoal.privacy.stream_gate.gate import Gate, fewest
from shoal.privacy.stream_gate.read_back import JsonlReader
from shoal.stream import StreamAnonymizer
from shoal.stream.engine.buffer import numbered
from shoal.types.stream import Leaving

MISSING = [None, float("nan"), "", " \t", b"", pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN"), np.ma.masked]
ONE = [1, 1.0, "1", "1.0", "01", "+1", "1\u200b", "１", " 1 ", Decimal("1.00"), np.int64(1), np.float64(1)]
SUBJECTS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(min_size=1).filter(str.strip),
    st.from_regex(r"[+-]?[0-9_]{1,3}(\.[0-9]{0,2})?(e[+-]?[0-9]{1,2})?", fullmatch=True),
    st.decimals(allow_nan=False),
    st.sampled_from([*ONE, "nan", "inf", "-0", "1e999999999"]),
)


def stream() -> StreamAnonymizer:
    return StreamAnonymizer(quasi=["a"], bounds={"a": (0, 9)}, k=2, delay=2, subject="s")


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_a_tuple_without_a_subject_is_refused(missing: Any) -> None:
    s = stream()
    with pytest.raises(DataError, match="Column 's': must have a value, but is missing"):
        s.push({"a": 1, "s": missing})
    assert s.waiting == 0
    assert fewest(np.array([2]), ["x", missing]) == 1 or missing is np.ma.masked or missing == b""


@pytest.mark.parametrize("several", [[], [1], {"id": 1}, (1, 2)], ids=repr)
def test_a_list_is_no_subject(several: Any) -> None:
    with pytest.raises(DataError, match="Column 's': must be text or a number, got a list or a table"):
        stream().push({"a": 1, "s": several})


@pytest.mark.parametrize("same", ONE, ids=repr)
def test_one_subject_written_in_many_ways_is_one(same: Any) -> None:
    s = stream()
    assert s.push({"a": 1, "s": 1}) + s.push({"a": 2, "s": same}) + s.flush() == []
    assert s.dropped == 2
    assert fewest(np.array([2]), [1, same]) == 1


def test_the_gate_sees_them_too() -> None:
    gate = Gate(JsonlReader(["a"], ["s"], "class"), k=2)
    class_ = Leaving(0, [b'{"a":1,"class":0}'] * 3, [0, 1, 2])
    with pytest.raises(GuaranteeError, match="has 1 subject, but k is 2"):
        gate.check(class_, 0, ["1", "1.0", "+1"])
    gate.check(class_, 0, ["1", "1.5", ""])


@given(st.lists(SUBJECTS, min_size=1, max_size=6))
def test_classes_never_form_of_fewer_subjects_than_the_witness_counts(subjects: list[Any]) -> None:
    numbers, faults = numbered("s", subjects)
    assert not faults
    assert len(set(numbers.tolist())) <= fewest(np.array([len(subjects)]), subjects)
