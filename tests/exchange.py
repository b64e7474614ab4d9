"""What the exchange test is made of: tables of many flavours, exchanges within classes, and all that is published."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal

METHODS = (
    "mdav",
    "v_mdav",
    "pcp",
    "zscores",
    "tour",
    "anneal",
    "blocks",
    "auto",
    "individual_ranking",
    "refined",
)
RELEASES = ("centroid", "medoid", "swap", "anatomy", "median", "trimmed_mean")
FLAVOURS = ("integers", "digits", "lattice", "duplicates", "missing", "categories", "dates")
PLACES = (
    "places",
    "rounded places",
    "places with gaps",
    "places beside categories",
    "places on a grid",
    "places at the poles",
)
EXTRAS = ("", "weights", "weights of records", "no weights", "subjects", "households", "strata")


@dataclass(frozen=True)
class Case:
    """One way to protect a table."""

    method: str = "mdav"
    release: str = "centroid"
    flavour: str = "integers"
    extra: str = ""
    k: int = 3
    n: int = 30
    seed: int = 0
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def recipe(self) -> dict[str, Any]:
        """The recipe, as plain values."""
        found: dict[str, Any] = {
            "quasi": ["a", "b", "c"],
            "confidential": ["secret"],
            "identifier": ["name"],
            "k": self.k,
            "method": "mdav" if self.method == "refined" else self.method,
            "release": self.release,
            "row_order": "keep",
            **({"effort": "fast"} if self.method == "auto" else {}),
            **({"effort": "fast"} if self.method == "refined" else {}),
            **({"orders": {"b": ["low", "middle", "high"]}} if self.flavour == "categories" else {}),
            **({"coordinates": [["a", "b"]]} if self.flavour in PLACES else {}),
            **_EXTRAS[self.extra],
            **self.more,
        }
        return found


_EXTRAS: dict[str, dict[str, Any]] = {
    "": {},
    "weights": {"weight": "w"},
    "weights of records": {"weight": "w", "release_weight": "record"},
    "no weights": {"weight": "w", "release_weight": "none"},
    "subjects": {"subject": "person"},
    "households": {"together": "home"},
    "strata": {"strata": ["region"]},
    "recoded": {"recode": {"c": {"interval": 2, "top": 5000}, "secret": {"top": 6}}},
}


def table_of(case: Case) -> pa.Table:
    """Return a table of a flavour; quasi-identifiers a, b and c."""
    rng, n = np.random.default_rng(case.seed), case.n
    columns = _QUASI[case.flavour](rng, n)
    columns |= {
        "name": pa.array([f"person {i:03d}" for i in range(n)]),
        "secret": pa.array(rng.integers(0, 9, n)),
        "note": pa.array([f"note {i}" for i in range(n)]),
    }
    if "weight" in case.recipe:
        columns["w"] = pa.array(rng.uniform(1, 900, n)) if case.seed % 2 else pa.array(rng.integers(1, 900, n))
    if case.extra == "subjects":
        columns["person"] = pa.array(rng.permutation(n) // 2)
    if case.extra == "households":
        columns["home"] = pa.array(np.sort(rng.integers(0, max(n // 2, 1), n)))
    if case.extra == "strata":
        columns["region"] = pa.array(["north" if i % 2 else "south" for i in range(n)])
    return pa.table(columns)


def _integers(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    return {
        "a": pa.array(rng.choice(10_000, n, replace=False)),
        "b": pa.array(rng.choice(100_000, n, replace=False), pa.int32()),
        "c": pa.array(np.round(rng.lognormal(6, 1, n), 2)),
    }


def _digits(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    return {
        "a": pa.array(rng.normal(size=n)),
        "b": pa.array(rng.lognormal(3, 2, n)),
        "c": pa.array(rng.random(n) * 1e9),
    }


def _lattice(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    found = {name: rng.integers(0, 6, n).astype(float) for name in "abc"}
    return {name: pa.array(values + np.arange(n) * 1e-6) for name, values in found.items()}


def _duplicates(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    few = rng.integers(0, 50, (max(n // 4, 2), 3))
    rows = few[rng.integers(0, len(few), n)]
    return {name: pa.array(rows[:, j]) for j, name in enumerate("abc")}


def _missing(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    found = _integers(rng, n)
    gone = [rng.random(n) < 0.2 for _ in range(3)]
    return {
        name: pa.array(column.to_pylist(), column.type, mask=mask)
        for (name, column), mask in zip(found.items(), gone, strict=True)
    }


def _categories(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    return {
        "a": pa.array(rng.choice(["cook", "nurse", "smith", "baker"], n)),
        "b": pa.array(rng.choice(["low", "middle", "high"], n)),
        "c": pa.array(rng.choice(9_000, n, replace=False)),
    }


def _places(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    """Return places of a city, in degrees with 16 digits, and a number."""
    return {
        "a": pa.array(rng.normal(52.5, 0.08, n)),
        "b": pa.array(rng.normal(13.4, 0.12, n)),
        "c": pa.array(rng.lognormal(3, 2, n)),
    }


def _rounded_places(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    found = _places(rng, n)
    return found | {name: pa.array(np.round(found[name].to_numpy(), 2)) for name in "ab"}


def _places_with_gaps(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    found = _places(rng, n)
    return found | {name: pa.array(found[name].to_pylist(), mask=rng.random(n) < 0.2) for name in "ab"}


def _places_on_a_grid(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    """Return places with many equal distances; many share a place, and the numbers beside them differ."""
    grid = {name: pa.array(start + rng.integers(0, 5, n) / 10) for name, start in (("a", 52), ("b", 13))}
    return grid | {"c": pa.array(rng.choice(9_000, n, replace=False))}


def _places_at_the_poles(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    """Return places at the ends of the ranges, where a degree of longitude has no length."""
    ends = {"a": [-90.0, 90.0, 89.999999, 0.0], "b": [-180.0, 180.0, 179.9, -179.9]}
    found = {name: pa.array(rng.choice(values, n)) for name, values in ends.items()}
    return found | {"c": pa.array(rng.lognormal(3, 2, n))}


def _places_beside_categories(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    return _places(rng, n) | {"c": pa.array(rng.choice(["cook", "nurse", "smith", "baker"], n))}


def _dates(rng: np.random.Generator, n: int) -> dict[str, pa.Array]:
    return {
        "a": pa.array(rng.choice(20_000, n, replace=False), pa.int32()).cast(pa.date32()),
        "b": pa.array(rng.choice(10**9, n, replace=False)).cast(pa.timestamp("s")),
        "c": pa.array(rng.choice(9_000, n, replace=False) / 4),
    }


_QUASI: dict[str, Callable[[np.random.Generator, int], dict[str, pa.Array]]] = {
    "integers": _integers,
    "digits": _digits,
    "lattice": _lattice,
    "duplicates": _duplicates,
    "missing": _missing,
    "categories": _categories,
    "dates": _dates,
    "places": _places,
    "rounded places": _rounded_places,
    "places with gaps": _places_with_gaps,
    "places beside categories": _places_beside_categories,
    "places on a grid": _places_on_a_grid,
    "places at the poles": _places_at_the_poles,
}


def moved(case: Case, names: tuple[str, ...]) -> list[str]:
    """Return the columns that change places: quasi-identifiers of a block, and what belongs to the person.

    With several blocks the attributes of one change places alone: a person's class in another block stays.
    """
    person = [
        "name",
        *(["person"] if case.extra == "subjects" else []),
        *(["home"] if case.extra == "households" else []),
    ]
    weight = ["w"] if case.recipe.get("release_weight", "class") != "record" and "weight" in case.recipe else []
    if case.release == "anatomy":  # all of the first table is the person's
        return ["a", "b", "c", "note", *person, *(["w"] if "weight" in case.recipe else [])]
    return [*names, *(person if len(names) == len(case.recipe["quasi"]) else []), *weight]


def exchanged(table: pa.Table, names: list[str], i: int, j: int) -> pa.Table:
    """Return the table after two records changed places in some columns."""
    rows = np.arange(table.num_rows)
    rows[[i, j]] = j, i
    for name in names:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), table.column(name).take(pa.array(rows)))
    return table


def permuted(table: pa.Table, names: list[str], labels: np.ndarray, rng: np.random.Generator) -> pa.Table:
    """Return the table after the members of every class changed places at random in some columns."""
    rows = np.arange(table.num_rows)
    for label in np.unique(labels):
        inside = np.flatnonzero(labels == label)
        rows[inside] = rng.permutation(inside)
    for name in names:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), table.column(name).take(pa.array(rows)))
    return table


def pairs(table: pa.Table, done: Any, rng: np.random.Generator) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Give pairs of records that share a class of a block and differ in it, in a random order."""
    block = done.partition.blocks[int(rng.integers(len(done.partition.blocks)))]
    cells = [tuple(table.column(name)[row].as_py() for name in block.attributes) for row in range(table.num_rows)]
    labels = block.labels.copy()
    if done.rows is not None:  # released rows are in another order than those of the input
        labels[done.rows] = block.labels
    for i in rng.permutation(table.num_rows).tolist():
        inside = [j for j in np.flatnonzero(labels == labels[i]).tolist() if cells[j] != cells[i]]
        if inside:
            yield block.attributes, i, int(rng.choice(inside))


def same_classes(one: Any, other: Any) -> bool:
    """Tell whether two partitions have the same sets of rows as classes, block by block."""
    return all(
        _sets(a.labels) == _sets(b.labels) for a, b in zip(one.partition.blocks, other.partition.blocks, strict=True)
    )


def _sets(labels: np.ndarray) -> list[int]:
    _, first, own = np.unique(labels, return_index=True, return_inverse=True)
    return first[own].tolist()


@contextmanager
def fixed_randomness() -> Iterator[None]:
    """Put a fixed source in place of the operating system's randomness."""
    drawn = [0]

    def fresh(size: int = 32) -> bytes:
        drawn[0] += 1
        return hashlib.shake_256(f"draw {drawn[0]}".encode()).digest(size)

    with pytest.MonkeyPatch.context() as patch:
        for module in _users_of_fresh():
            patch.setattr(module, "fresh", fresh)
        yield


@cache
def _users_of_fresh() -> list[Any]:
    """Return the modules that draw from the operating system, by the only function that does."""
    found = []
    for path in Path(shoal.__path__[0]).rglob("*.py"):
        if "fresh" in path.read_text(encoding="utf-8"):
            name = ".".join(("shoal", *path.relative_to(shoal.__path__[0]).with_suffix("").parts))
            module = importlib.import_module(name.removesuffix(".__init__"))
            found += [module] if callable(getattr(module, "fresh", None)) else []
    return found


def as_bytes(frame: Any) -> bytes:
    """Return a frame as bytes: schema, metadata and cells."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, frame.schema) as writer:
        writer.write_table(frame)
    return out.getvalue()


def as_rows(frame: Any) -> bytes:
    """Return the rows of a frame, sorted, as bytes."""
    return json.dumps(sorted(map(str, frame.to_pylist()))).encode()
