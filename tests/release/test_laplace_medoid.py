"""The medoid as representative: which record it is, how far one record moves it, and the noise that it takes."""

from __future__ import annotations

import runpy
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.partition.insensitive import Insensitive
from shoal.release._noise_representative import Cells, most_central
from shoal.release._noise_sampler import Noise
from shoal.types import Block, Column, Domain, Kind, Points, Role, Schema, Table, Taxonomy

ORACLES = Path(__file__).parents[1] / "oracles"
medoid = runpy.run_path(str(ORACLES / "noisy_medoid.py"))["medoid"]
apart = runpy.run_path(str(ORACLES / "taxonomy_distance.py"))["distance"]
PATHS = {"asthma": ("lungs",), "flu": ("lungs",), "ulcer": ("belly", "stomach"), "polyp": ("belly", "gut")}
RNG = np.random.default_rng(0)


def cells(numbers: np.ndarray, names: list[str] | None = None, domain: Domain | None = None) -> Cells:
    """Numbers in columns x0, x1, … of one domain, and one column of categories."""
    columns = {f"x{j}": column for j, column in enumerate(numbers.T)}
    limits = dict.fromkeys(columns, domain or Domain(0.0, 1.0))
    schema = [Column(name, Role.QUASI, Kind.CONTINUOUS) for name in columns]
    if names is not None:
        schema.append(Column("ill", Role.QUASI, Kind.NOMINAL, Taxonomy(PATHS)))
    data = pa.table({**columns, **({} if names is None else {"ill": names})})
    return Cells(Table(data, Schema(tuple(schema))), columns, limits)


def rows(one: Cells, labels: Any) -> list[int]:
    block = Block(tuple(one.table.data.column_names), np.asarray(labels))
    return most_central(block, partial(one.near, block)).rows.tolist()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans(), st.booleans())
def test_medoids_equal_the_oracle(seed: int, d: int, grid: bool, mixed: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    X = rng.integers(0, 3, (n, d)) / 2 if grid else rng.random((n, d))
    names = rng.choice(sorted(PATHS), n).tolist() if mixed else None
    labels = rng.permutation(np.arange(n) % 3)
    found = rows(cells(X, names), labels)
    for label, row in enumerate(found):
        members = [
            [*((None, Fraction(v)) for v in X[i]), *([(partial(apart, PATHS), names[i])] if names else [])]
            for i in np.flatnonzero(labels == label)
        ]
        own = [*X[row], *([names[row]] if names else [])]
        assert own == [float(v) if kind is None else v for kind, v in medoid(members)]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_a_medoid_depends_on_its_own_class_alone_and_not_on_the_order_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, names = rng.integers(0, 4, (12, 2)) * 1.0, rng.choice(sorted(PATHS), 12)
    labels = np.repeat([0, 1], 6)
    Y, other = X.copy(), names.copy()
    Y[11], other[11] = (1e6, 1e-6), "ulcer"  # of the other class: deviations of the data are quite different now
    wide = Domain(0.0, 1e6)
    first = rows(cells(X, names.tolist(), wide), labels)[0]
    assert rows(cells(Y, other.tolist(), wide), labels)[0] == first
    turned = rng.permutation(12)
    again = turned[rows(cells(X[turned], names[turned].tolist(), wide), labels[turned])[0]]
    assert (X[again].tolist(), names[again]) == (X[first].tolist(), names[first])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_with_classes_held_fixed_one_member_moves_it_by_a_whole_width_and_no_more(size: int) -> None:
    """All classes of a small domain and all neighbours: the bound holds, and is reached in both attributes at once."""
    grid = np.array(list(product([0.0, 0.5, 1.0], [0.0, 1.0])))
    every = list(combinations_with_replacement(range(len(grid)), size))
    X = grid[[i for data in every for i in data]]
    found = X[rows(cells(X), np.repeat(np.arange(len(every)), size))]
    left = dict(zip(every, found, strict=True))
    most = np.zeros(2)
    together = 0.0
    for data, (i, new) in product(every, product(range(size), range(len(grid)))):
        change = np.abs(left[data] - left[tuple(sorted((*data[:i], new, *data[i + 1 :])))])
        most, together = np.maximum(most, change), max(together, change.sum())
    assert most.tolist() == [1.0, 1.0]
    assert together == 2.0  # ΔD, whatever the size


def test_categories_move_by_one_at_most_and_it_is_reached() -> None:
    distance = partial(apart, PATHS)
    names = sorted(PATHS)
    every = list(combinations_with_replacement(range(len(names)), 3))
    column = [names[i] for data in every for i in data]
    one = cells(np.zeros((len(column), 0)), column)
    left = dict(zip(every, rows(one, np.repeat(np.arange(len(every)), 3)), strict=True))
    most = Fraction(0)
    for data, (i, new) in product(every, product(range(3), range(len(names)))):
        other = left[tuple(sorted((*data[:i], new, *data[i + 1 :])))]
        most = max(most, distance(column[left[data]], column[other]))
    assert most == 1


def listed(domain: np.ndarray, data: tuple[int, ...], k: int, strips: int) -> tuple[np.ndarray, tuple[float, ...]]:
    """The list of medoids of insensitive classes, and the stated bound on how far it moves."""
    X = domain[list(data)]
    d = X.shape[1]
    owners = tuple(f"x{j}" for j in range(d))
    part = Insensitive(k, strips).partition(Points(X, owners, widths=np.ones(d), lows=np.zeros(d)), RNG)
    stand = most_central(part.blocks[0], partial(cells(X).near, part.blocks[0]))
    assert stand.block.moves is not None
    return X[stand.rows], stand.block.moves


LINE = np.array([[0.0], [1 / 3], [2 / 3], [1.0]])
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(("n", "k"), [(3, 2), (4, 2), (5, 2), (5, 3)])
@pytest.mark.parametrize(("domain", "strips"), [(LINE, 1), (SQUARE, 1), (SQUARE, 2), (SQUARE, 3)])
def test_of_original_records_no_neighbour_moves_the_list_of_medoids_more(
    n: int, k: int, domain: np.ndarray, strips: int
) -> None:
    every = list(combinations_with_replacement(range(len(domain)), n))
    left = {data: listed(domain, data, k, strips)[0] for data in every}
    bound = np.array(listed(domain, every[0], k, strips)[1])
    most = np.zeros(domain.shape[1])
    for data, (i, new) in product(every, product(range(n), range(len(domain)))):
        other = left[tuple(sorted((*data[:i], new, *data[i + 1 :])))]
        most = np.maximum(most, np.abs(left[data] - other).sum(axis=0))
    assert (most <= bound).all()
    if domain is LINE:
        assert most[0] == pytest.approx(bound[0])  # one width, however many classes: reached


KINDS = {"a": "integer", "b": "continuous"}


def frame(n: int = 60) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table({"a": rng.integers(0, 101, n), "b": rng.uniform(-1, 1, n), "ill": rng.choice(sorted(PATHS), n)})


def protect(**said: Any) -> Any:
    recipe = {"quasi": ["a", "b"], "identifier": ["ill"], "k": 5, "release": "laplace", "epsilon": 1.0}
    recipe |= {"bounds": {"a": [0, 100], "b": [-1, 1]}}
    return shoal.protect(frame(), {**recipe, **said, "set": {"representative": "medoid", **said.get("set", {})}})


def achieved(done: Any) -> Any:
    (found,) = [f for f in done.audit.findings if f.model == "differential_privacy"]
    assert found.holds
    return found.achieved


def test_noise_is_that_of_a_single_record_whatever_the_size_of_the_class() -> None:
    done = protect()
    assert [entry.scales.tolist() for entry in done.ledger.entries] == [pytest.approx([102.0] * 12)] * 2  # ΔD/ε
    assert [entry.epsilon for entry in done.ledger.entries] == pytest.approx([100 / 102, 2 / 102])
    assert achieved(done) == pytest.approx(1.0)
    assert done.ledger.to_dict()["representative"] == "medoid"
    even = protect(blocks=[["a"], ["b"]])
    assert [entry.scales.max() for entry in even.ledger.entries] == pytest.approx([200.0, 4.0])


def test_of_original_records_noise_is_k_times_that_of_means() -> None:
    said = {"claim": "original", "method": "insensitive", "kinds": KINDS}
    scales = [
        [entry.scales.max() for entry in protect(**said, set={"representative": own}).ledger.entries]
        for own in ("mean", "medoid")
    ]
    assert scales[1] == pytest.approx([5 * scale for scale in scales[0]])
    assert achieved(protect(**said)) == pytest.approx(1.0)


def test_with_little_noise_what_leaves_is_a_record_of_each_class() -> None:
    taxonomy = {"lungs": ["asthma", "flu"], "belly": {"stomach": ["ulcer"], "gut": ["polyp"]}}
    done = protect(quasi=["a", "ill"], identifier=["b"], bounds={"a": [0, 100]}, epsilon=1e7,
                   taxonomies={"ill": taxonomy})  # fmt: skip
    table = frame()
    there = set(zip(table["a"].to_pylist(), table["ill"].to_pylist(), strict=True))
    left = set(zip(done.data["a"].to_numpy().round().tolist(), done.data["ill"].to_pylist(), strict=True))
    assert left <= there
    assert [(e.mechanism, round(e.sensitivities.max(), 6)) for e in done.ledger.entries] == [
        ("laplace", 100.0),
        ("exponential", 1.0),
    ]


@pytest.mark.parametrize("claim", ["microaggregated", "original"])
def test_the_audit_fails_where_noise_is_that_of_a_mean(claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Noise.laplace
    monkeypatch.setattr(Noise, "laplace", lambda self, v, reach, epsilon: plain(self, v, reach / 5, epsilon))
    with pytest.raises(shoal.GuaranteeError, match="differential_privacy over a, b requires 1 and achieves 5"):
        protect(claim=claim, method="insensitive", kinds=KINDS)


def test_another_representative_is_refused() -> None:
    with pytest.raises(shoal.ParameterError, match="representative must be one of 'mean', 'medoid', got 'median'"):
        protect(set={"representative": "median"})
