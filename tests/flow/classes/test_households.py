"""Records that stay together: classes of whole groups, k of them in each, and none split as it is written."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import registry
from shoal.flow.gate.gate import gate
from shoal.flow.plan.promise import promise_of
from shoal.kernels.arithmetic.class_statistics import class_means
from shoal.types import Partition, Release, Schema

N = 90
RNG = np.random.default_rng(6)
HOUSE = np.sort(RNG.integers(0, 36, N))
FRAME = pa.table(
    {
        "house": [f"h{h}" for h in HOUSE],
        "region": np.array(["n", "s"])[HOUSE % 2],
        "age": RNG.integers(0, 90, N),
        "rooms": HOUSE % 5,
        "work": np.array(["a", "b", "c"])[RNG.integers(0, 3, N)],
        "pay": pa.array([None if i % 8 == 0 else float(v) for i, v in enumerate(RNG.lognormal(9, 1, N))]),
        "w": RNG.uniform(1, 9, N),
        "ill": RNG.integers(0, 3, N),
    }
).take(pa.array(RNG.permutation(N)))
RECIPE = {"quasi": ["age", "rooms", "work", "pay"], "together": "house", "k": 4}
METHODS = ["mdav", "v_mdav", "tour", "pcp", "zscores", "blocks", "individual_ranking", "auto"]


def classes(before: pa.Table, after: pa.Table, names: list[str]) -> dict[tuple, set[str]]:
    """Return the households of each class, as the table is written."""
    found = defaultdict(set)
    for house, *values in zip(before["house"].to_pylist(), *(after[n].to_pylist() for n in names), strict=True):
        found[tuple(values)].add(house.strip())
    return found


@pytest.mark.parametrize("method", METHODS)
def test_every_class_holds_k_whole_households(method: str) -> None:
    assert method in registry.keys("partition")
    settings_ = {"by": "mdav"} if method == "individual_ranking" else {}
    done = shoal.protect(FRAME, {**RECIPE, "method": method, "set": settings_})
    for block in done.partition.blocks:
        found = classes(FRAME, done.data, [name for name in RECIPE["quasi"] if name in block.attributes])
        assert min(map(len, found.values())) >= 4
        assert sum(map(len, found.values())) == len(set().union(*found.values()))
    assert "house" not in done.data.column_names
    assert done.audit.findings[0].note == "counted in subjects"


@given(data=st.data(), k=st.integers(2, 4), n=st.integers(4, 30))
@settings(max_examples=25, deadline=None)
def test_classes_are_those_of_the_means_of_households(data: st.DataObject, k: int, n: int) -> None:
    house = data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    x = np.array(data.draw(st.lists(st.tuples(*[st.integers(-9, 9)] * 2), min_size=n, max_size=n)), float)
    frame = pa.table({"x": x[:, 0], "y": x[:, 1], "house": house})
    recipe = {"quasi": ["x", "y"], "together": "house", "k": k, "exact_means": True, "set": {"scale": "none"}}
    recipe |= {"method": "mdav"}
    order = list(dict.fromkeys(house))
    if len(order) < k:
        with pytest.raises(shoal.DataError, match=f"k must be at most {len(order)}, got {k}"):
            shoal.protect(frame, recipe)
        return
    own = np.array([order.index(h) for h in house])
    means = np.column_stack([class_means(np.ascontiguousarray(x[:, j]), own) for j in (0, 1)])  # to the last bit
    expected = shoal.microaggregate(means, k).labels[own]
    done = shoal.protect(frame, recipe)
    assert np.array_equal(done.partition.labels, expected)
    for name, column in (("x", x[:, 0]), ("y", x[:, 1])):  # means of records: totals are kept
        assert done.data[name].to_numpy().sum() == pytest.approx(column.sum(), abs=1e-9)


def test_households_of_one_change_nothing() -> None:
    alone = FRAME.set_column(0, "house", pa.array([f"h{i}" for i in range(N)]))
    done = shoal.protect(alone, {**RECIPE, "method": "mdav"})
    plain = shoal.protect(alone, {**RECIPE, "method": "mdav", "together": None, "identifier": ["house"]})
    assert np.array_equal(done.partition.labels, plain.partition.labels)
    assert done.data.equals(plain.data)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_files_with_strata_weights_and_refinement(tmp_path: Path, end: str) -> None:
    shoal.write_table(FRAME, tmp_path / f"in.{end}")
    recipe = {**RECIPE, "strata": ["region"], "weight": "w", "effort": "fast", "confidential": ["ill"]}
    done = shoal.protect_file(tmp_path / f"in.{end}", tmp_path / f"out.{end}", recipe)
    found = classes(FRAME, done.data, [*RECIPE["quasi"], "region"])
    assert min(map(len, found.values())) >= 4
    assert done.audit.to_dict()["weighted_k"] > 4
    assert [f.attributes[-1] for f in done.audit.findings if f.model == "k_anonymity"] == ["pay", "region", "w", "w"]


def test_small_strata_are_counted_in_households() -> None:
    frame = FRAME.set_column(
        1, "region", pa.array(["few" if h in ("h1", "h2") else "n" for h in FRAME["house"].to_pylist()])
    )
    recipe = {**RECIPE, "strata": ["region"]}
    with pytest.raises(shoal.DataError, match="k must be at most 2"):
        shoal.protect(frame, recipe)
    assert (
        "2 of 2 strata were merged into 1" in shoal.protect(frame, {**recipe, "small_strata": "merge"}).partition.note
    )


def test_what_cannot_stay_together_is_refused() -> None:
    crossed = FRAME.set_column(1, "region", pa.array(["n", "s"] * (N // 2)))
    with pytest.raises(
        shoal.DataError, match=r"every group of 'house' must be in one stratum; \d+ of \d+ are in several"
    ):
        shoal.protect(crossed, {**RECIPE, "strata": ["region"]})
    lacking = FRAME.set_column(
        0, "house", pa.array([" " if i < 3 else h for i, h in enumerate(FRAME["house"].to_pylist())])
    )
    with pytest.raises(shoal.DataError, match=r"Column 'house': every record must have a group; 3 of 90 values"):
        shoal.protect(lacking, RECIPE)
    with pytest.raises(shoal.ParameterError, match="together cannot be used, because this method forms no"):
        shoal.protect(FRAME, {"quasi": ["age"], "together": "house", "method": "mic1d"})
    for more, words in (
        ({"subject": "w"}, "subject and together cannot both be given"),
        ({"confidential": ["ill"], "t": 0.3}, "t and require are not possible with together"),
        ({"confidential": ["ill"], "require": {"p": 2}}, "t and require are not possible with together"),
        ({"identifier": ["house"]}, "column 'house' is both identifier and subject"),
    ):
        with pytest.raises(shoal.ParameterError, match=words):
            shoal.Recipe.from_dict({**RECIPE, **more})


def test_the_gate_stops_a_household_that_is_split() -> None:
    recipe = shoal.Recipe(quasi=["x"], together="house", k=2)
    x = np.array([0, 0, 0, 1, 1, 1])
    for house, message in (
        (["a", "b", "b", "c", "d", "d"], None),
        (["a", "b", "b", "c", "d", " a"], "Records of 1 groups of 'house' must stay together and are in several"),
        (["a", "a", "a", "c", "d", "d"], "requires 2 and achieves 1"),
        (None, "It is not known which records must stay together"),
    ):
        subjects = None if house is None else pa.chunked_array([house])
        release = Release(pa.table({"x": x}), Schema(()), subjects=subjects)
        if message is None:
            assert gate(release, promise_of(recipe, Partition.of(x, ["x"]))).holds
            continue
        with pytest.raises(shoal.GuaranteeError, match=message):
            gate(release, promise_of(recipe, Partition.of(x, ["x"])))
    leaving = Release(pa.table({"x": x, "house": list("abbcdd")}), Schema(()))
    with pytest.raises(shoal.GuaranteeError, match="Identifiers would have been released: house"):
        gate(leaving, promise_of(recipe, Partition.of(x, ["x"])))


def test_recipes_round_trip() -> None:
    recipe = shoal.Recipe.from_dict(RECIPE)
    assert shoal.Recipe.from_toml(recipe.to_toml()) == recipe
    assert recipe.columns(shoal.Role.SUBJECT) == ("house",)
