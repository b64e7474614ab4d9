"""The exponential mechanism over a taxonomy: distances, chances, and what ε allows."""

from __future__ import annotations

import math
import runpy
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.release._noise_representative import chosen, distances
from shoal.release._noise_sampler import Noise
from shoal.types import Block, Taxonomy

ILLNESS = {"lungs": ["asthma", "flu"], "belly": {"stomach": ["ulcer"], "gut": ["colitis", "polyp"]}}
PATHS = {
    "asthma": ("lungs",),
    "flu": ("lungs",),
    "ulcer": ("belly", "stomach"),
    "colitis": ("belly", "gut"),
    "polyp": ("belly", "gut"),
}
NAMES, APART = distances(Taxonomy(PATHS))


def protect(**said: Any) -> Any:
    rng = np.random.default_rng(0)
    data = pa.table({"age": rng.integers(0, 100, 40), "ill": rng.choice(["asthma", "ulcer", "flu"], 40)})
    recipe = {"quasi": ["age", "ill"], "k": 5, "release": "laplace", "epsilon": 1.0, "bounds": {"age": [0, 100]}}
    return shoal.protect(data, {**recipe, "taxonomies": {"ill": ILLNESS}, **said})


def test_distances_equal_the_oracle_and_those_of_the_points() -> None:
    oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "taxonomy_distance.py"))["distance"]
    assert [[float(oracle(PATHS, a, b)) for b in NAMES] for a in NAMES] == APART.tolist()
    from shoal.kernels.arithmetic.category_representative import tree_of

    inside = tree_of(NAMES, Taxonomy(PATHS)).embedding[: len(NAMES)]
    np.testing.assert_allclose(APART, ((inside[:, None] - inside) ** 2).sum(axis=2), atol=1e-12)
    assert APART.max() == 1.0


def test_no_score_changes_by_more_than_one_over_the_size() -> None:
    for size in (1, 2, 3):
        lists = {data: -APART[list(data)].mean(axis=0) for data in product(range(5), repeat=size)}
        most = 0.0
        for data, scores in lists.items():
            for i, new in product(range(size), range(5)):
                other = lists[(*data[:i], new, *data[i + 1 :])]
                most = max(most, float(np.abs(scores - other).max()))
        assert most == pytest.approx(1 / size)  # and it is attained


def runs(members: list[str], epsilon: float, noise: Noise, factor: float = 1.0, many: int = 6000) -> np.ndarray:
    """How often each category left, over many runs."""
    size = len(members)
    labels = np.repeat(np.arange(many), size)
    cost = (np.full(many, factor / size), epsilon)
    column, _ = chosen(pa.chunked_array([members * many]), Taxonomy(PATHS), Block((), labels), cost, noise)
    left = column.to_numpy(zero_copy_only=False)
    return np.array([(left == name).sum() for name in NAMES]) / many


def test_a_near_category_is_likelier_and_every_category_of_the_taxonomy_may_leave() -> None:
    found = runs(["flu", "flu", "asthma"], 4.0, Noise())
    assert found.argmax() == NAMES.index("flu")
    assert (found > 0).all()
    # as the exponential mechanism says: chances are as exp(ε·score / (2·sensitivity)), for the seeded Gumbel noise
    scores = -APART[[NAMES.index(name) for name in ("flu", "flu", "asthma")]].mean(axis=0)
    expected = np.exp(4.0 * scores / (2 / 3))
    seeded = runs(["flu", "flu", "asthma"], 4.0, Noise(1))
    np.testing.assert_allclose(seeded, expected / expected.sum(), atol=0.03)


def ratio(factor: float) -> float:
    one, other = (runs(["flu", own], 1.0, Noise(), factor) for own in ("flu", "colitis"))
    low, high = one - 4.5 * np.sqrt(one / 6000), other + 4.5 * np.sqrt((other + 1e-4) / 6000)
    back = (other - 4.5 * np.sqrt(other / 6000)) / (one + 4.5 * np.sqrt((one + 1e-4) / 6000))
    return math.log(max((low / high).max(), back.max()))


def test_no_category_is_likelier_by_more_than_epsilon_allows_and_too_little_noise_is_caught() -> None:
    assert ratio(1.0) <= 1.0
    assert ratio(0.2) > 1.0


def test_the_library_itself_says_epsilon() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    scale = Noise().choose(np.zeros((1, 3)), 1 / 3, 0.7)[1]
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    assert dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale).map(1 / 3) <= 0.7


def test_numbers_and_categories_share_the_budget() -> None:
    done = protect()
    assert [(e.attribute, e.mechanism, e.epsilon) for e in done.ledger.entries] == [
        ("age", "laplace", 0.5),
        ("ill", "exponential", 0.5),
    ]
    assert set(done.data["ill"].to_pylist()) <= set(NAMES)
    (found,) = [f for f in done.audit.findings if f.model == "differential_privacy"]
    assert found.achieved == pytest.approx(1.0)
    assert found.holds
    assert done.audit.overall.achieved >= 5


def test_categories_alone_need_no_bounds() -> None:
    done = protect(quasi=["ill"], bounds={})
    assert done.ledger.total == 1.0


def test_the_audit_fails_where_noise_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Noise.choose
    monkeypatch.setattr(Noise, "choose", lambda self, s, reach, epsilon: plain(self, s, reach / 2, epsilon))
    with pytest.raises(shoal.GuaranteeError, match=r"differential_privacy over age, ill requires 1 and achieves 1\.5"):
        protect()


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"taxonomies": {}}, "Column 'ill': noise needs numbers, or categories with a taxonomy"),
        ({"set": {"split": "expression1"}}, "split = expression1 is for numbers; ill holds categories"),
        (
            {
                "claim": "original",
                "method": "insensitive",
                "kinds": {"age": "integer"},
                "set": {"split": "expression1"},
            },
            "split = expression1 is for numbers; ill holds categories, which have no width. Use split = even",
        ),
        ({"bounds": {"age": [0, 100], "ill": [0, 1]}}, "bounds are for numbers; ill holds categories"),
    ],
)
def test_what_is_refused(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(shoal.ShoalError) as refused:
        protect(**said)
    assert sentence in str(refused.value)
