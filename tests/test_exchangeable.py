"""The promise `exchangeable`: values that change places within an atom change no class, and no link exceeds 1 in k.

First methods by themselves, then whole runs with every requirement and release, as users have them. Methods, models and
releases are taken from the registry, so that a new one is tested without an edit here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.attack._worlds import link_probabilities, members_of, number_of_worlds, worlds
from shoal.flow.classes.form import form
from shoal.flow.protect.anonymise import anonymise, plan_for
from shoal.flow.protect.replay import exchanged
from shoal.flow.stages.read import schema_for
from shoal.kernels.repair import unite
from shoal.parameters import build, declarations
from shoal.types import Confidential, Partition, Points, Table, with_columns
from shoal.types.points import Requirement

METHODS = registry.keys("partition")
PROMISED = [key for key in METHODS if registry.load("partition", key).exchangeable]
MERGING = [key for key in PROMISED if registry.load("partition", key).promises_t]
OTHERS = [key for key in METHODS if key not in PROMISED]
LEVELS = {
    "p_sensitive": {"p": 2},
    "kpqr": {"p": 2, "q": 0.3, "r": 0.3},
}
QUICK = {"effort": "fast"}
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
        given |= quick(self.cls) | LEVELS.get(self.method, {})
        return build(self.cls, {"k": self.k, **given}).partition(points, np.random.default_rng(3))


def quick(cls: Any) -> dict[str, Any]:
    """Return the parameters with which a method takes little time."""
    known = {declared.name for declared in declarations(cls)}
    return dict([(name, value) for name, value in QUICK.items() if name in known][:1])


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
    formed = case.form(points)
    atoms = [block.atom_labels for block in formed.blocks]

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


@pytest.mark.parametrize("method", PROMISED)
def test_people_who_change_places_in_an_atom_change_no_class(method: str) -> None:
    case, rng = Small(method, n=40, k=3, t=0.3), np.random.default_rng(5)
    points = case.points()
    formed = case.form(points)
    atoms = [block.atom_labels for block in formed.blocks]
    for at, labels in enumerate(atoms):
        rows = np.arange(len(labels))
        for inside in members_of(np.unique(labels, return_inverse=True)[1]):
            rows[inside] = rng.permutation(inside)
        x = points.coordinates.copy()
        places = [at] if len(atoms) > 1 else list(range(x.shape[1]))
        x[:, places] = x[np.ix_(rows, places)]
        assert sets(case.form(replace(points, x=x)))[at] == sets(formed)[at]


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


# Whole runs

WHOLE = [key for key in PROMISED if registry.load("partition", key).promises_k and key != "individual_ranking"]
RELEASES: dict[str, dict[str, Any]] = {
    key: {"release": key, **({"epsilon": 1.0, "bounds": {"a": [0, 99], "b": [0, 999]}} if key == "laplace" else {})}
    for key in registry.keys("release")
}
REQUIREMENTS: dict[str, dict[str, Any]] = {
    "k": {},
    "t": {"t": 0.4},
    "n_t": {"n": 5, "t": 0.4},
    "p": {"require": {"p": 2}},
    "l_distinct": {"require": {"l_distinct": 2}},
    "l_entropy": {"require": {"l_entropy": 1.6}},
    "l_recursive": {"require": {"l_recursive": [2, 2]}},
    "alpha": {"require": {"alpha": 0.6}},
    "beta": {"require": {"beta": 1}},
    "e": {"require": {"e": 2}},
    "kpqr": {"require": {"kpqr": [2, 0.5, 0.3]}},
    "all": {"t": 0.45, "require": {"p": 2, "alpha": 0.7, "e": 1}},
    "dominance": {"subject": "who", "require": {"dominance": 0.5}},
    "subject": {"subject": "who", "t": 0.45},
    "together": {"together": "who"},
    "strata": {"strata": ["area"], "t": 0.45},
}
TABLES = ((6, 2), (8, 2), (6, 3), (7, 3), (8, 3))


@dataclass(frozen=True)
class Whole:
    """A small table, and the recipe with which it is protected."""

    method: str
    requirement: str
    release: str = "centroid"
    seed: int = 0
    attacker: str = "algorithm"

    @property
    def size(self) -> tuple[int, int]:
        n, k = TABLES[self.seed % len(TABLES)]
        return (8, 2) if self.grouped else (n, k)

    @property
    def grouped(self) -> bool:
        return bool({"subject", "together", "strata"} & set(REQUIREMENTS[self.requirement]))

    @property
    def quasi(self) -> list[str]:
        return ["a"] if registry.load("partition", self.method).dimensions == 1 else ["a", "b"]

    def table(self) -> pa.Table:
        rng, n = np.random.default_rng(self.seed), self.size[0]
        columns: dict[str, Any] = {"a": rng.permutation(90)[:n], "b": rng.permutation(900)[:n]}
        if self.seed % 3 == 2 and self.method in ("auto", "t_close_anneal"):  # which keep equal records together
            columns |= {name: cells[rng.integers(0, n - 1, n)] for name, cells in columns.items()}
            columns["b"] = columns["a"] * 7 % 50
        columns["secret"] = rng.permutation(np.arange(n) % (2 + self.seed % 2)) * 2
        if self.seed % 4 == 3 and self.requirement not in ("e", "kpqr", "all"):
            columns["secret"] = [f"illness {value}" for value in columns["secret"]]
        if self.grouped:
            columns["who"] = rng.permutation(np.array([0, 0, 1, 1, 2, 3, 4, 5]))
            columns["area"] = np.arange(n) % 2
        fields = REQUIREMENTS[self.requirement]
        spare = {"b"} - set(self.quasi) | {"who", "area"} - {
            fields.get("subject"),
            fields.get("together"),
            *fields.get("strata", ()),
        }
        return pa.table({name: cells for name, cells in columns.items() if name not in spare})

    def recipe(self) -> shoal.Recipe:
        fields: dict[str, Any] = {"t": 0.45} if self.method in MERGING and self.method != "auto" else {}
        fields |= {"set": quick(registry.load("partition", self.method))}
        fields |= {"quasi": self.quasi, "confidential": ["secret"], "k": self.size[1], "method": self.method}
        fields |= {"row_order": "keep", "attacker": self.attacker, **REQUIREMENTS[self.requirement]}
        release = dict(RELEASES[self.release])
        if "bounds" in release:
            release["bounds"] = {name: bounds for name, bounds in release["bounds"].items() if name in self.quasi}
        return shoal.Recipe(**{**fields, **release})


@pytest.fixture(autouse=True)
def little_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unite atoms with little effort: the steps are the same, and every world takes them all."""
    monkeypatch.setattr(unite, "effort_for", lambda *_: unite.Effort(250_000, 1, 1, 1, 60, 0))


def most_likely_link(case: Whole, most: int) -> tuple[float, float] | None:
    """Return the largest probability of a person's link in a released table, and the bound that the audit states.

    None: the recipe is refused or promises nothing, or there are too many worlds.
    """
    data = case.table()
    try:
        recipe = case.recipe()
        done = shoal.protect(data, recipe)
    except (shoal.ParameterError, shoal.DataError, shoal.SchemaError):  # such a combination is refused
        return None
    assert done.audit.holds
    says = done.audit.attacker
    if says is None or (says.knows != "algorithm" and case.attacker == "algorithm"):
        return None
    (block,) = done.partition.blocks
    labels = np.unique(block.labels, return_inverse=True)[1]
    table = Table(data, schema_for(data, recipe, None), None)
    secret, codes = data["secret"], np.unique(data["secret"].to_pylist(), return_inverse=True)[1]
    if number_of_worlds(labels, codes) > most:
        return None
    having = np.unique(codes, return_index=True)[1]

    def in_world(world: np.ndarray) -> pa.Table:
        return with_columns(data, {"secret": secret.take(having[world])})

    def same(world: np.ndarray) -> bool:
        again = table.changed(in_world(world), {"secret"})
        return sets(form(plan_for(again, recipe), again).partition) == sets(done.partition)

    found = link_probabilities(labels, codes, same)
    assert np.allclose(found.sum(axis=1), 1.0), case
    people = np.arange(len(codes)) if "who" not in data.column_names else data["who"].to_numpy()
    held = np.array([found[people == person].sum(axis=0) for person in np.unique(people)])
    if case.attacker == "algorithm":
        rng = np.random.default_rng(case.seed)
        for _ in range(3):  # people change rows, which matters where records are equal
            again = exchanged(table, recipe, block.atom_labels, rng)
            other = anonymise(plan_for(again, recipe), again)
            assert sets(other.partition) == sets(done.partition), case
            if case.release in ("centroid", "medoid"):
                assert other.release.data.select(case.quasi).equals(done.data.select(case.quasi)), case
    return float(held.max()), says.share if says.share is not None else 1 / case.size[1]


def enumerated(chosen: list[Whole], most: int, enough: int) -> int:
    """Check tables until links were enumerated in enough of them; return in how many."""
    count = 0
    for case in chosen:
        if count < enough and (found := most_likely_link(case, most)) is not None:
            assert found[0] <= found[1] + _EXACT, (case, found)
            count += 1
    return count


def crossed(methods: list[str], times: int) -> list[Whole]:
    """Cross methods and requirements; releases, sizes and kinds of values take turns."""
    pairs, releases = list(product(methods, REQUIREMENTS)), list(RELEASES)
    return [
        Whole(method, requirement, releases[(i + turn) % len(releases)], seed=i + 7 * turn)
        for turn in range(times)
        for i, (method, requirement) in enumerate(pairs)
    ]


def test_every_model_of_confidential_values_is_required_in_some_run() -> None:
    asked = {key for fields in REQUIREMENTS.values() for key in (*fields.get("require", {}), *fields)}
    names = {registry.says("privacy", key, "short") for key in registry.keys("privacy") if enforced(key)}
    assert names - {"n_t"} <= asked, "give it a line in REQUIREMENTS"


def enforced(key: str) -> bool:
    return bool(registry.says("privacy", key, "of_confidential") or registry.says("privacy", key, "of_persons"))


@pytest.mark.parametrize("method", ["auto", "mdav", "t_close_anneal", "t_close_merge"])
def test_links_stay_within_the_stated_bound(method: str) -> None:
    assert enumerated(crossed([method], 1), 20, 15) >= 5


@pytest.mark.long
@pytest.mark.parametrize("method", WHOLE)
def test_links_stay_within_the_stated_bound_in_500_tables(method: str) -> None:
    """Methods that can form blocks of attributes promise 1 in k of fewer recipes; ten others have 50 tables each."""
    each = 8 if registry.load("partition", method).forms_blocks else 50
    assert enumerated(crossed([method], 12), 40, each) == each


def test_enumeration_finds_links_that_classes_give_away() -> None:
    """Without atoms links exceed 1 in k, so that the tests above can fail."""
    found = [most_likely_link(Whole("auto", "t", seed=seed, attacker="table"), 100) for seed in range(10)]
    assert max(link - bound for link, bound in filter(None, found)) > 0.1
