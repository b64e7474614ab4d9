"""Outputs of neighbours over many runs, for medoids and for categories of original records: below e^ε, or caught.

Where noise is what ε needs, no event is e^ε times likelier for one of two neighbours. Runs go through the code that
releases; the tests with means are in test_differential_privacy.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.partition.insensitive import Insensitive
from shoal.points.nominal import axis_of
from shoal.release._noise_representative import STAND_INS, Cells, codes_of
from shoal.release._noise_sampler import Noise
from shoal.types import Axis, Block, Column, Domain, Kind, Points, Role, Schema, Table, Taxonomy

RUNS, EPSILON = 3_000, 2.0
FLAT = Taxonomy(dict.fromkeys("abcd", ("all",)))
NESTED = Taxonomy({"a": ("low",), "b": ("low",), "c": ("high",), "d": ("high",)})
UNIT = Domain(0.0, 1.0)
RNG = np.random.default_rng(0)
Data = tuple[list[float] | None, list[str] | None]


def cells_of(data: Data, taxonomy: Taxonomy, times: int = 1) -> Cells:
    """Return a table of a number x and a category c, either may be missing, written several times."""
    numbers, names = data
    columns: dict[str, Any] = {} if names is None else {"c": names * times}
    x = {} if numbers is None else {"x": np.tile(np.array(numbers, float), times)}
    schema = [Column(n, Role.QUASI, Kind.NOMINAL, taxonomy) for n in columns]
    schema += [Column(n, Role.QUASI, Kind.CONTINUOUS) for n in x]
    return Cells(Table(pa.table({**columns, **x}), Schema(tuple(schema))), x, dict.fromkeys(x, UNIT))


def insensitive(data: Data, taxonomy: Taxonomy) -> Block:
    cells = cells_of(data, taxonomy)
    axes = [] if data[1] is None else [axis_of("c", cells.table.data.column("c"), taxonomy)]
    axes += [Axis("x", cells.numbers["x"])] if data[0] is not None else []
    points = Points(np.zeros((len(cells.table), 1)), ("x",), axes=tuple(axes))
    return Insensitive(2).partition(points, RNG).blocks[0]


def fixed(data: Data, taxonomy: Taxonomy) -> Block:
    n = len(next(column for column in data if column is not None))
    names = tuple(name for name, column in (("c", data[1]), ("x", data[0])) if column is not None)
    return Block(names, np.arange(n) // 3)


def outputs(data: Data, taxonomy: Taxonomy, block: Block, own: str, *, whole: bool, factor: float) -> np.ndarray:
    """Return the values of classes in many runs, as numbers of a few places; shape (runs, classes · attributes)."""
    many = replace(block, labels=(block.labels + len(block) * np.arange(RUNS)[:, None]).ravel())
    cells = cells_of(data, taxonomy, RUNS)
    stand, once = (STAND_INS[own](b, partial(c.near, b)) for b, c in ((many, cells), (block, cells_of(data, taxonomy))))
    found = []
    for j, name in enumerate(block.attributes):
        reach = np.array([once.block.moves[j]]) if whole and once.block.moves else 1.0 / stand.block.sizes
        cost = (np.broadcast_to(reach * factor, len(many)), EPSILON / len(block.attributes))
        values, _ = cells.drawn(name, stand, cost, Noise())
        if name == "x":
            places = np.where(values == 0.0, 0, np.where(values == 1.0, 3, np.where(values < 0.5, 1, 2)))
        else:
            places = codes_of(pa.chunked_array([values]), taxonomy)
        found.append(places.reshape(RUNS, len(block)))
    return np.column_stack(found)


def likeliest(one: np.ndarray, other: np.ndarray) -> float:
    """Return log of the largest ratio of chances over all events of four places each, less 4.5 deviations."""
    best = -math.inf
    for chosen in product([False, True], repeat=one.shape[1]):
        if not any(chosen):
            continue
        base = 4 ** np.arange(sum(chosen))
        a, b = (np.bincount(x[:, chosen] @ base, minlength=4 ** sum(chosen)) for x in (one, other))
        for p, q in ((a, b), (b, a)):
            low, high = p - 4.5 * np.sqrt(p), q + 4.5 * np.sqrt(q + 1.0)
            best = max(best, float(np.log(np.maximum(low, 1e-9) / high).max()))
    return best


Form = Callable[[Data, Taxonomy], Block]


def compared(pair: tuple[Data, Data], taxonomy: Taxonomy, form: Form, own: str, factor: float = 1.0) -> float:
    whole = form is not fixed
    lists = [outputs(data, taxonomy, form(data, taxonomy), own, whole=whole, factor=factor) for data in pair]
    return likeliest(lists[0], lists[1])


TURNED: tuple[Data, Data] = (([0, 0, 1, 0, 0, 0], None), ([0, 1, 1, 0, 0, 0], None))  # the medoid of 0, 0, 1 is 0
ALONG: tuple[Data, Data] = (([0, 0, 0, 0], None), ([1, 0, 0, 0], None))
NAMED: tuple[Data, Data] = ((None, list("aadddd")), (None, list("addddd")))
CHAIN: tuple[Data, Data] = ((None, list("aabbccdd")), (None, list("dabbccdd")))  # three classes change, of four
MIXED: tuple[Data, Data] = (([0, 1, 0, 1], list("aacc")), ([1, 1, 0, 1], list("dacc")))


@pytest.mark.parametrize(
    ("pair", "taxonomy", "form", "own"),
    [
        (TURNED, FLAT, fixed, "medoid"),
        (NAMED, FLAT, fixed, "medoid"),
        (ALONG, FLAT, insensitive, "medoid"),
        (CHAIN, FLAT, insensitive, "mean"),
        (CHAIN, NESTED, insensitive, "mean"),
        (CHAIN, FLAT, insensitive, "medoid"),
        (MIXED, NESTED, insensitive, "mean"),
        (MIXED, NESTED, insensitive, "medoid"),
    ],
)
def test_no_event_is_likelier_by_more_than_epsilon_allows(pair: Any, taxonomy: Taxonomy, form: Form, own: str) -> None:
    assert compared(pair, taxonomy, form, own) <= EPSILON


@pytest.mark.parametrize(
    ("pair", "form", "own", "factor"),
    [
        (TURNED, fixed, "medoid", 1 / 3),  # as if a medoid were a mean
        (NAMED, fixed, "medoid", 1 / 6),
        (CHAIN, insensitive, "mean", 1 / 3),  # as if classes counted in parallel: one step for three
        (MIXED, insensitive, "mean", 1 / 5),
    ],
)
def test_what_is_broken_is_caught(pair: Any, form: Form, own: str, factor: float) -> None:
    assert compared(pair, FLAT, form, own, factor) > EPSILON
