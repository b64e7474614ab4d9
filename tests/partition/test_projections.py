"""pcp and zscores equal their transcription; blocks are formed from correlations both ways; signs are no accident."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.order.projection import correlated_blocks, principal_component, uncorrelated_blocks, z_score_sum
from shoal.partition.pcp import Pcp
from shoal.partition.zscores import Zscores
from shoal.types import Points

_file = Path(__file__).parents[1] / "oracles" / "projection.py"
_spec = importlib.util.spec_from_file_location("oracle_projection", _file)
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

PLACES = {"pcp": oracle.principal_components, "zscores": oracle.z_score_sums}
KERNELS = {"pcp": principal_component, "zscores": z_score_sum}
BOTH = pytest.mark.parametrize("method", ["pcp", "zscores"])


def three_factors(n: int = 300) -> np.ndarray:
    """Nine attributes: 0, 3, 6 go together, and so do 1, 4, 7 and 2, 5, 8."""
    rng = np.random.default_rng(12)
    factors = rng.normal(size=(n, 3))
    return np.hstack([factors + 0.3 * rng.normal(size=(n, 3)) for _ in range(3)])


@BOTH
@given(seed=st.integers(0, 10**6), n=st.integers(2, 11), d=st.integers(1, 4), k=st.integers(2, 4))
def test_equals_the_transcription(method: str, seed: int, n: int, d: int, k: int) -> None:
    k = min(k, n)
    X = np.random.default_rng(seed).normal(size=(n, d)) * 10.0 ** np.arange(d)
    found = shoal.microaggregate(X, k, method=method).labels
    assert found.tolist() == oracle.projected(X.tolist(), k, PLACES[method](X.tolist()))


@BOTH
def test_places_are_those_of_the_transcription(method: str) -> None:
    X = np.random.default_rng(4).normal(size=(50, 4)) * [1.0, 2.0, 3.0, 40.0]
    expected = [float(place) for place in PLACES[method](X.tolist())]
    np.testing.assert_allclose(KERNELS[method](X), expected, rtol=1e-10, atol=1e-10)


@BOTH
def test_equal_records_have_equal_places(method: str) -> None:
    X = np.tile(np.random.default_rng(4).normal(size=(37, 5)), (3, 1))
    places = KERNELS[method](X).reshape(3, 37)
    assert np.array_equal(places[0], places[1])
    assert np.array_equal(places[0], places[2])


def test_the_component_points_where_its_largest_part_grows() -> None:
    X = np.random.default_rng(5).normal(size=(200, 1)) * [1.0, -5.0, 2.0] + np.random.default_rng(6).normal(
        size=(200, 3)
    )
    for sign in (1.0, -1.0):
        assert np.corrcoef(principal_component(sign * X), sign * X[:, 1])[0, 1] > 0.9


@BOTH
def test_classes_hold_k_to_2k_minus_1_and_follow_the_projection(method: str) -> None:
    X = three_factors()
    part = shoal.microaggregate(X, 5, method=method)
    assert 5 <= part.sizes.min() <= part.sizes.max() <= 9
    assert (np.diff(part.labels[np.argsort(KERNELS[method](X), kind="stable")]) >= 0).all()


@BOTH
def test_blocks_are_formed_both_ways(method: str) -> None:
    X = three_factors()
    formed = {g: shoal.microaggregate(X, 5, method=method, group=g).blocks for g in ("correlated", "uncorrelated")}
    together = [("0", "3", "6"), ("1", "4", "7"), ("2", "5", "8")]
    assert [block.attributes for block in formed["correlated"]] == together
    assert [block.attributes for block in formed["uncorrelated"]] == [("0", "1", "2"), ("3", "4", "5"), ("6", "7", "8")]
    for block in formed["correlated"]:
        alone = shoal.microaggregate(X[:, [int(j) for j in block.attributes]], 5, method=method)
        assert np.array_equal(block.labels, alone.labels)


@BOTH
@pytest.mark.parametrize("group", ["correlated", "uncorrelated"])
@pytest.mark.parametrize(
    ("d", "size", "expected"), [(1, 3, [1]), (3, 3, [3]), (4, 3, [2, 2]), (7, 3, [2, 2, 3]), (5, 1, [1] * 5)]
)
def test_blocks_are_even_and_never_larger_than_said(method: str, group: str, d: int, size: int, expected: list) -> None:
    X = np.random.default_rng(7).normal(size=(40, d))
    part = shoal.microaggregate(X, 4, method=method, group=group, block_size=size)
    assert sorted(len(block.attributes) for block in part.blocks) == expected
    assert sorted(int(j) for block in part.blocks for j in block.attributes) == list(range(d))


@given(seed=st.integers(0, 10**6), d=st.integers(1, 9), count=st.integers(1, 9))
def test_blocks_hold_every_attribute_once_and_do_not_change_with_the_sign(seed: int, d: int, count: int) -> None:
    count = min(count, d)
    rng = np.random.default_rng(seed)
    strength = np.abs(np.corrcoef(rng.normal(size=(20, d)), rowvar=False)).reshape(d, d)
    sizes = [len(part) for part in np.array_split(np.arange(d), count)]
    together, apart = correlated_blocks(strength, sizes), uncorrelated_blocks(strength, count)
    for blocks in (together, apart):
        assert sorted(j for block in blocks for j in block) == list(range(d))
    assert len(together) == len(apart) == count


def test_the_strongest_pair_is_together_or_apart() -> None:
    strength = np.eye(4) + 0.1
    strength[1, 3] = strength[3, 1] = 0.9
    assert [1, 3] in correlated_blocks(strength, [2, 2])
    assert not any({1, 3} <= set(block) for block in uncorrelated_blocks(strength, 2))


def test_strata_share_the_blocks_of_the_whole_table() -> None:
    X = three_factors(120)
    X[::2, 0] = X[::2, 1] * -1.0  # in every other record 0 goes with 1: alone, the strata would find other blocks
    frame = pa.table({f"x{j}": X[:, j] for j in range(9)})
    recipe = {"quasi": frame.column_names, "k": 4, "method": "pcp", "set": {"group": "correlated"}}
    found = shoal.protect(frame.append_column("s", pa.array(["a", "b"] * 60)), {**recipe, "strata": ["s"]})
    whole = shoal.protect(frame, recipe)
    assert [b.attributes for b in found.partition.blocks] == [b.attributes for b in whole.partition.blocks]
    assert len(found.partition.blocks) == 3
    assert not any(set(block.labels[::2]) & set(block.labels[1::2]) for block in found.partition.blocks)
    asked = [f.required for f in found.audit.findings if f.model == "k_anonymity"]
    assert asked == [4] * 6 + [None]


def test_the_blocks_of_a_recipe_are_kept_apart() -> None:
    X = three_factors(60)
    frame = pa.table({f"x{j}": X[:, j] for j in range(9)})
    blocks = [["x0", "x1", "x2", "x3"], ["x4", "x5", "x6", "x7", "x8"]]
    recipe = {"quasi": frame.column_names, "k": 4, "blocks": blocks, "method": "zscores"}
    assert [list(b.attributes) for b in shoal.protect(frame, recipe).partition.blocks] == blocks
    formed = shoal.protect(frame, {**recipe, "set": {"group": "correlated", "block_size": 2}}).partition.blocks
    assert [set(b.attributes) <= set(blocks[0]) for b in formed] == [True, True, False, False, False]


@pytest.mark.parametrize("cls", [Pcp, Zscores])
def test_settled_blocks_are_no_parameter(cls: type) -> None:
    points = Points(three_factors(), tuple("abcdefghi"))
    settled = cls(k=5, group="correlated").settled(points)
    assert settled.blocks(points.only(["a"])) == (("a", "d", "g"), ("b", "e", "h"), ("c", "f", "i"))
    with pytest.raises(shoal.ParameterError, match="no parameter is called 'settled_blocks'"):
        shoal.microaggregate(np.ones((9, 2)), 3, method="pcp", settled_blocks=())


@pytest.mark.parametrize("method", ["mdav", "pcp"])
@pytest.mark.parametrize(("word", "number"), [("correlated", 3), ("uncorrelated", 3)])
def test_a_recipe_forms_blocks_by_correlation_for_any_method(method: str, word: str, number: int) -> None:
    X = three_factors(120)
    frame = pa.table({f"x{j}": X[:, j] for j in range(9)})
    base = {"quasi": frame.column_names, "k": 4, "method": method, "row_order": "keep"}
    done = shoal.protect(frame, {**base, "attribute_blocks": word})
    found = [block.attributes for block in done.partition.blocks]
    assert len(found) == number
    together = {tuple(sorted(int(name[1:]) % 3 for name in block)) for block in found}
    assert together == ({(0, 0, 0), (1, 1, 1), (2, 2, 2)} if word == "correlated" else {(0, 1, 2)})
    assert done.recipe.attribute_blocks == tuple(found)  # the recipe that is kept lists what was found
    again = shoal.protect(frame, {**base, "attribute_blocks": found})
    assert (again.partition.labels == done.partition.labels).all()
    assert again.recipe == done.recipe
    assert done.audit.attacker is not None
    assert done.audit.attacker.knows == "table"


def test_confidential_values_do_not_change_the_blocks() -> None:
    X = three_factors(60)
    frame = pa.table({f"x{j}": X[:, j] for j in range(9)})
    recipe = {"quasi": frame.column_names[:8], "confidential": ["x8"], "k": 4, "attribute_blocks": "correlated"}
    other = frame.set_column(8, "x8", pa.array(X[::-1, 8]))
    one, two = (shoal.protect(data, {**recipe, "method": "mdav"}).recipe.attribute_blocks for data in (frame, other))
    assert one == two


@pytest.mark.parametrize("more", [{"t": 0.3}, {"weight": "x7"}, {"release": "anatomy"}])
def test_blocks_by_correlation_are_refused_where_listed_ones_are(more: dict[str, object]) -> None:
    X = abs(three_factors(60))
    frame = pa.table({f"x{j}": X[:, j] for j in range(9)})
    base = {"quasi": [f"x{j}" for j in range(7)], "confidential": ["x8"], "k": 4, "method": "mdav", **more}
    for blocks in ("correlated", [["x0", "x1", "x2"], ["x3", "x4", "x5", "x6"]]):
        with pytest.raises(shoal.ParameterError, match="block"):
            shoal.protect(frame, {**base, "attribute_blocks": blocks})
