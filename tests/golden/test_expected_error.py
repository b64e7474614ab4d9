"""The expected error is what releases have on average, and says where it is least."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from expected_error import expected_error
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.types import Footing, Partition, Points

_ORACLE = Path(__file__).parents[1] / "oracles" / "laplace.py"
algorithm_1 = runpy.run_path(str(_ORACLE))["algorithm_1"]
RNG = np.random.default_rng(0)


def people(n: int = 120, seed: int = 1) -> Points:
    X = np.random.default_rng(seed).lognormal(size=(n, 3)) * [1, 5, 20]
    return Points(X, ("a", "b", "c"), widths=1.5 * X.max(axis=0))


def simulated(points: Points, part: Partition, shares: np.ndarray, epsilon: float, runs: int) -> np.ndarray:
    """Squared errors of noisy means, drawn again and again."""
    assert points.widths is not None
    rng, found = np.random.default_rng(3), np.zeros(runs)
    for block, share in zip(part.blocks, shares, strict=True):
        places = [points.places[name][0] for name in block.attributes]
        for place in places:
            x = points.coordinates[:, place]
            scale = points.widths[places].sum() / (block.sizes * epsilon * share)
            noise = rng.laplace(0, scale, (runs, len(block)))
            means = np.bincount(block.labels, x) / block.sizes
            found += ((x - (means + noise)[:, block.labels]) ** 2).sum(axis=1)
    return found


@pytest.mark.parametrize("method", ["mdav", "individual_ranking", "least_error"])
@pytest.mark.parametrize("split", ["even", "expression1"])
def test_it_is_the_mean_of_many_draws(method: str, split: str) -> None:
    from shoal import registry
    from shoal.parameters import build

    points, k, epsilon = people(), 6, 2.0
    assert points.widths is not None
    params = {"split": split, "epsilon": epsilon} if method == "least_error" else {}
    found = expected_error(points, epsilon, [k], method, split=split, params=params)[0]
    part = build(registry.load("partition", method), {"k": k, **params}).partition(points, RNG)
    wide = points.widths / points.widths.sum() if split == "expression1" else np.full(3, 1 / 3)
    shares = wide if len(part.blocks) == 3 else np.ones(1)
    drawn = simulated(points, part, shares, epsilon, 4000)
    assert abs(drawn.mean() - found.total) < 5 * drawn.std() / np.sqrt(len(drawn))


@given(seed=st.integers(0, 10**6), epsilon=st.sampled_from([0.2, 1.0, 5.0]), split=st.sampled_from(["even", "least"]))
def test_no_fixed_size_has_a_lower_error_than_variable_sizes(seed: int, epsilon: float, split: str) -> None:
    points = people(60, seed)
    fixed = expected_error(points, epsilon, range(2, 61, 4), "individual_ranking", split="even", params={"by": "mdav"})
    params = {"split": split, "epsilon": epsilon}
    (free,) = expected_error(points, epsilon, [2], "least_error", params=params)
    assert free.total <= min(e.total for e in fixed) * (1 + 1e-9)


def test_loss_rises_and_noise_falls_with_k_and_the_least_sum_is_between() -> None:
    ks = list(range(2, 100, 3))
    found = expected_error(people(), 20.0, ks, "individual_ranking")
    assert [e.k for e in found] == ks
    assert found[-1].lost > found[0].lost
    assert found[-1].noise < found[0].noise
    assert ks[0] < min(found, key=lambda e: e.total).k < ks[-1]


def test_expression_1_does_not_depend_on_the_scaling_of_coordinates() -> None:
    plain = people()
    assert plain.widths is not None
    spread = np.array([2.0, 4.0, 0.5])
    footings = tuple(Footing(0.0, float(s), 0) for s in spread)
    scaled = Points(plain.coordinates / spread, plain.owners, footings=footings, widths=plain.widths / spread)
    (a,), (b,) = (expected_error(p, 1.0, [5], "individual_ranking") for p in (plain, scaled))
    shares = plain.widths / plain.widths.sum()
    part = shoal.microaggregate(plain.coordinates, 5, method="individual_ranking")
    noise = [
        2 * (w / s) ** 2 * (1 / block.sizes).sum()
        for w, s, block in zip(plain.widths, shares, part.blocks, strict=True)
    ]
    assert a.noise == pytest.approx(sum(noise))
    assert b.noise == pytest.approx(sum(n / s**2 for n, s in zip(noise, spread, strict=True)))


def test_in_a_block_the_scale_is_one_in_the_own_units_of_columns() -> None:
    plain = people()
    assert plain.widths is not None
    spread = np.array([2.0, 4.0, 0.5])
    footings = tuple(Footing(1.0, float(s) / 2, 1) for s in spread)  # an exponent counts, too
    scaled = Points(plain.coordinates / spread, plain.owners, footings=footings, widths=plain.widths / spread)
    (found,) = expected_error(scaled, 1.0, [5], "mdav")
    part = shoal.microaggregate(scaled.coordinates, 5)
    ((sizes, widths),) = [(part.sizes.tolist(), plain.widths.tolist())]
    scales = algorithm_1(sizes, widths, 1.0)  # in own units, the same for all attributes
    noise = sum(
        m * 2 * (b / s) ** 2 for m, row in zip(sizes, scales, strict=True) for b, s in zip(row, spread, strict=True)
    )
    assert found.noise == pytest.approx(noise)


def recipe_of(method: str, **more: object) -> dict[str, object]:
    wide = {"a": [-400, 500], "b": [-2000, 2500], "c": [-9000, 9900]}  # so far off that hardly a value is clipped
    base = {"quasi": ["a", "b", "c"], "k": 8, "method": method, "release": "laplace", "epsilon": 25.0, "bounds": wide}
    return {**base, **more}


@pytest.mark.parametrize(
    "more",
    [
        {"method": "mdav"},
        {"method": "mdav", "attribute_weights": {"a": 4.0, "c": 0.25}},
        {"method": "mdav", "set": {"scale": "none"}},
        {"method": "mdav", "set": {"scale": "range"}},
        {"method": "individual_ranking", "set": {"split": "expression1"}},
        {"method": "least_error"},
    ],
)
def test_it_is_the_mean_of_real_releases_of_scaled_points(more: dict[str, object]) -> None:
    """In the unit of the points: their scaling and the weights of attributes are in what is expected."""
    import pyarrow as pa

    from shoal.flow.plan.release_traits import bounded
    from shoal.flow.stages.encode import encode
    from shoal.flow.stages.read import schema_for
    from shoal.points.encoding import Encoding
    from shoal.types import Table

    X = np.random.default_rng(5).lognormal(size=(90, 3)) * [1, 5, 20]
    table = pa.table(dict(zip("abc", X.T, strict=True)))
    recipe = shoal.Recipe.from_dict(recipe_of(**more))  # type: ignore[arg-type]
    typed, attributes = encode(Table(table, schema_for(table, recipe, None)), recipe.quasi)
    scale = recipe.set.get("scale", "standard")
    points = bounded(Encoding(scale).encode(attributes, recipe.attribute_weights), recipe, typed)
    params = {"epsilon": 25.0} if recipe.method == "least_error" else {}
    (found,) = expected_error(points, 25.0, [8], recipe.method, params=params)
    drawn = []
    for seed in range(120):
        said = {**recipe.to_dict(), "set": {**recipe.set, "not_private_seed": seed}}
        left = np.column_stack([column.to_numpy() for column in shoal.protect(table, said).data.columns])
        unit = np.array([np.ldexp(f.spread, f.exponent) for f in points.footings])
        drawn.append((((left - X) / unit) ** 2).sum())
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - found.total) < 4 * error
    assert error < 0.1 * found.total


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"method": "mdva"}, shoal.ParameterError, "no method is called 'mdva'.*Did you mean 'mdav'"),
        ({"split": "odd"}, shoal.ParameterError, "no split is called 'odd'"),
        ({"epsilon": 0.0}, shoal.ParameterError, "epsilon must be a number > 0, got 0.0"),
        ({"epsilon": float("nan")}, shoal.ParameterError, "epsilon must be a number > 0, got nan"),
        ({"ks": [121]}, shoal.DataError, "k must be at most the number of records, got k = 121 and 120"),
        ({"points": Points(np.eye(4))}, shoal.DataError, "widths of domains must be known, got none"),
        ({"points": Points(np.eye(4), ("a", "b", "b", "c"), widths=np.ones(4))}, shoal.DataError, "'b' has more"),
    ],
)
def test_what_cannot_be_answered_is_said(change: dict[str, object], error: type[Exception], words: str) -> None:
    asked = {"points": people(), "epsilon": 1.0, "ks": [3], "method": "mdav"} | change
    with pytest.raises(error, match=words):
        expected_error(**asked)  # type: ignore[arg-type]
