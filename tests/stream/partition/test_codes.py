"""Stream methods form the same classes from codes as from coordinates."""

import numpy as np
import pytest

from shoal import registry
from shoal.stream.engine.buffer import Core, Domain
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.types.stream import Waiting

TREE = {"north": {"coast": ["a", "b"], "inland": ["c", "d"]}, "south": ["e", "f"], "islands": ["g"]}
RECIPE = {
    "quasi": ["place", "age", "job"],
    "bounds": {"age": (0, 100)},
    "categories": {"job": [f"job {i}" for i in range(40)]},
    "taxonomies": {"place": TREE},
    "attribute_weights": {"job": 0.5},
    "k": 4,
    "delay": 60,
}


def tuples(n, seed):
    rng = np.random.default_rng(seed)
    return {
        "place": list(rng.choice(list("abcdefg"), n)),
        "age": rng.uniform(0, 100, n).tolist(),
        "job": [f"job {i}" for i in rng.integers(0, 40, n)],
    }


@pytest.mark.parametrize("order_weight", [0.0, 0.01])
@pytest.mark.parametrize("method", registry.keys("stream.partition"))
def test_codes_and_coordinates_give_the_same_classes(method, order_weight):
    recipe = StreamRecipe(**RECIPE, method=method, order_weight=order_weight)
    domain, cells = Domain(recipe), tuples(500, 1)
    values = [a.take(cells[name]).values for name, a in zip(recipe.quasi, domain.attributes, strict=True)]
    x, rows = domain.place(values), np.arange(500)
    plain = np.concatenate(
        [a.place(own) * scale for a, own, scale in zip(domain.attributes, values, domain.scales, strict=True)], axis=1
    )
    assert x.shape[1] < 6 < plain.shape[1]
    np.testing.assert_array_equal(domain.embed(x), plain)
    both = [
        Waiting(x, rows, rows, np.empty((500, 0), np.int64), 0, domain.steps, domain.embed),
        Waiting(plain, rows, rows, np.empty((500, 0), np.int64), 0),
    ]
    begun = [
        registry.load("stream.partition", method)().begin(domain.space, recipe.k, recipe.delay, order_weight)
        for _ in both
    ]
    ours, theirs = (one.advance(waiting, 1 << 60) for one, waiting in zip(begun, both, strict=True))
    np.testing.assert_array_equal(ours.labels, theirs.labels)


def test_errors_are_those_of_the_embedding():
    recipe = StreamRecipe(**RECIPE, method="nearest")
    core, cells = Core(recipe), tuples(300, 2)
    formed, _ = core.take(range(300), cells)
    domain = core.domain

    def placed(own):
        values = [a.take(own[name]).values for name, a in zip(recipe.quasi, domain.attributes, strict=True)]
        return domain.embed(domain.place(values))

    released = {name: [cells[name][i] for i in formed.positions] for name in recipe.quasi}
    centres = {name: np.repeat(formed.values[name], formed.sizes).tolist() for name in recipe.quasi}
    pairs = zip(domain.attributes, domain.scales, strict=True)
    middle = np.concatenate([a.middle * scale for a, scale in pairs])
    x = placed(released)
    assert core.tally.lost == pytest.approx(((x - placed(centres)) ** 2).sum())
    assert core.tally.spread == pytest.approx(((x - middle) ** 2).sum())
