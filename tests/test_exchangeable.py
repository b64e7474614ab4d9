"""The promise `exchangeable`: values that change places within an atom change no class, and no link exceeds 1 in k."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.attack._worlds import link_probabilities, members_of, number_of_worlds, worlds
from shoal.parameters import build
from shoal.types import Confidential, Partition, Points
from shoal.types.points import Requirement

METHODS = registry.keys("partition")
PROMISED = [key for key in METHODS if registry.load("partition", key).exchangeable]
MERGING = [key for key in PROMISED if registry.load("partition", key).promises_t]
OTHERS = [key for key in METHODS if key not in PROMISED]
LEVELS = {
    "p_sensitive": {"p": 2},
    "kpqr": {"p": 2, "q": 0.3, "r": 0.3},
    "t_close_anneal": {"effort": "fast"},
    "anneal": {"effort": "fast"},
    "auto": {"seconds": 0.01},
}
KINDS = ("integers", "ties", "nominal", "mixed")
SIZES = ((12, 2), (9, 3))
REQUIRED = {
    "p_sensitivity": (("p", 2),),
    "entropy_l_diversity": (("l", 1.5),),
    "alpha_k": (("alpha", 0.6),),
}
MOST = 400  # worlds of a table at most, in which links are counted
_EXACT = 1e-9


@dataclass(frozen=True)
class Small:
    """A small table, and how its classes are formed."""

    method: str
    kind: str = "integers"
    n: int = 12
    k: int = 2
    seed: int = 0
    t: float = 0.25
    required: str = ""

    @property
    def cls(self) -> Any:
        return registry.load("partition", self.method)

    def points(self) -> Points:
        rng = np.random.default_rng(self.seed)
        x = rng.permutation(np.arange(1.0, 10.0 * self.n))[: 2 * self.n].reshape(self.n, 2)
        if self.kind == "mixed":  # a number, and a category as two coordinates
            x = np.column_stack((x[:, 0], 40.0 * np.eye(2)[rng.integers(0, 2, self.n)]))
        if self.cls.dimensions == 1 or self.method == "least_error":
            x = x[:, :1]
        codes = rng.permutation(self.n) if self.kind in ("integers", "mixed") else rng.integers(0, 4, self.n)
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        secret = Confidential("secret", codes, np.bincount(codes), ordered=self.kind != "nominal")
        required = (Requirement(self.required, "secret", REQUIRED[self.required]),) if self.required else ()
        return Points(np.ascontiguousarray(x), confidential=(secret,), required=required)

    def form(self, points: Points) -> Partition:
        given = {"t": self.t} if self.cls.promises_t else {}
        given |= LEVELS.get(self.method, {})
        return build(self.cls, {"k": self.k, **given}).partition(points, np.random.default_rng(3))

    def atoms(self, points: Points) -> list[np.ndarray]:
        return [block.atom_labels for block in self.form(points).blocks]


def with_codes(points: Points, codes: np.ndarray) -> Points:
    return replace(points, confidential=(replace(points.confidential[0], codes=codes.copy()),))


def sets(partition: Partition) -> list[list[int]]:
    """The classes of every block, numbered by their first rows."""
    found = []
    for block in partition.blocks:
        _, first, own = np.unique(block.labels, return_index=True, return_inverse=True)
        found.append(first[own].tolist())
    return found


def check(case: Small, most: int) -> int:
    """Check that a table keeps the promise; return 1 if all links were enumerated, and 0 if there are too many."""
    points = case.points()
    codes = points.confidential[0].codes
    formed, atoms = case.form(points), case.atoms(points)

    def same(world: np.ndarray) -> bool:
        return sets(case.form(with_codes(points, world))) == sets(formed)

    for labels in atoms:
        if number_of_worlds(labels, codes) <= most:
            assert all(same(world) for world in worlds(labels, codes)), case
    if len(formed.blocks) > 1 or not formed.blocks[0].promised or not case.cls.promises_k:
        return 0  # blocks, and classes of values: no 1 in k follows
    labels = np.unique(formed.labels, return_inverse=True)[1]
    if number_of_worlds(labels, codes) > most:
        return 0
    found = link_probabilities(labels, codes, same)
    assert np.allclose(found.sum(axis=1), 1.0)
    assert found.max() <= 1 / case.k + _EXACT, case
    return 1


def cases(method: str, count: int) -> list[Small]:
    """Give tables of a method: kinds and sizes, and requirements where the method meets them itself."""
    found = []
    for i in range(count):
        n, k = SIZES[i // len(KINDS) % 2]
        required = ["", *REQUIRED][i % 4] if method == "t_close_anneal" and i % 2 else ""
        found.append(Small(method, KINDS[i % len(KINDS)], n, k, seed=i, t=(0.4, 0.3, 0.25)[i % 3], required=required))
    return found


@pytest.mark.parametrize("method", PROMISED)
def test_values_that_change_places_in_an_atom_change_no_class(method: str) -> None:
    several = 3 if method in MERGING else 6
    enumerated = sum(check(case, MOST if method in MERGING else 100) for case in cases(method, several))
    cls = registry.load("partition", method)
    assert enumerated >= (1 if cls.promises_k and method != "individual_ranking" else 0)


@pytest.mark.long
def test_links_stay_within_1_in_k_in_500_tables() -> None:
    chosen = [case for method in PROMISED for case in cases(method, 24 if "anneal" in method else 96)]
    assert sum(check(case, MOST) for case in chosen) >= 500


@pytest.mark.parametrize("method", PROMISED)
def test_people_who_change_places_in_an_atom_change_no_class(method: str) -> None:
    case, rng = Small(method, n=40, k=3, t=0.3), np.random.default_rng(5)
    points = case.points()
    formed, atoms = case.form(points), case.atoms(points)
    for at, labels in enumerate(atoms):
        rows = np.arange(len(labels))
        for inside in members_of(np.unique(labels, return_inverse=True)[1]):
            rows[inside] = rng.permutation(inside)
        x = points.coordinates.copy()
        places = [at] if len(atoms) > 1 else list(range(x.shape[1]))
        x[:, places] = x[np.ix_(rows, places)]
        assert sets(case.form(replace(points, coordinates=x)))[at] == sets(formed)[at]


@pytest.mark.parametrize("method", OTHERS)
def test_a_method_that_promises_nothing_has_a_counterexample(method: str) -> None:
    assert any(counterexample(Small(method, KINDS[seed % 2], seed=seed)) for seed in range(20))


def counterexample(case: Small) -> bool:
    """Tell whether exchanging two values within a class changes the classes."""
    points = case.points()
    formed, codes = case.form(points), points.confidential[0].codes
    for inside in members_of(formed.labels):
        world = codes.copy()
        world[inside[:2]] = world[inside[:2]][::-1]
        if sets(case.form(with_codes(points, world))) != sets(formed):
            return True
    return False


RELEASES = ("centroid", "medoid", "swap", "anatomy")


def check_release(release: str, method: str, seed: int) -> int:
    """Check the links of a released table: classes, and rows as they were released."""
    rng = np.random.default_rng(seed)
    n, k = SIZES[seed % 2]
    quasi = {"a": rng.permutation(100)[:n], "b": rng.permutation(1000)[:n]}
    codes = rng.permutation(n)
    recipe: dict[str, Any] = {"quasi": ["a", "b"], "confidential": ["secret"], "k": k, "method": method}
    recipe |= {"release": release, "row_order": "keep"}
    if method in MERGING:
        recipe |= {"t": 0.35, **({"set": {"effort": "fast"}} if method == "t_close_anneal" else {})}

    def released(world: np.ndarray) -> Any:
        done = shoal.protect(pa.table({**quasi, "secret": world}), recipe)
        rows = sorted(map(str, done.data.to_pylist())) if release in ("centroid", "medoid") else None
        return sets(done.partition), rows

    labels = np.unique(
        shoal.protect(pa.table({**quasi, "secret": codes}), recipe).partition.labels, return_inverse=True
    )
    if number_of_worlds(labels[1], codes) > MOST:
        return 0
    before = released(codes)
    found = link_probabilities(labels[1], codes, lambda world: released(world) == before)
    assert found.max() <= 1 / k + _EXACT, (release, method, seed)
    return 1


@pytest.mark.long
def test_links_stay_within_1_in_k_in_every_release() -> None:
    chosen = [(release, "mdav") for release in RELEASES] + [(release, "t_close_merge") for release in RELEASES[:2]]
    assert sum(check_release(release, method, seed) for release, method in chosen for seed in (1, 2)) >= 8
