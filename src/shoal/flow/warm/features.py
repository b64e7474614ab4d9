"""Features whose kernels are compiled in advance: every component of the registry, on small tables.

Each feature runs on a table of numbers and on one with a number, a nominal attribute and an attribute with a taxonomy.
Fast methods also run on tables that are large enough for a spatial index. A table that a feature refuses is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import registry
from shoal.errors import ShoalError
from shoal.flow.attack import AttackRequest, attack_release
from shoal.flow.classes.microaggregate import bound_points
from shoal.flow.compare import Compared, compare_frames
from shoal.flow.demo import RECIPE, Survey, taxonomy
from shoal.flow.protect.protect import protect_frame
from shoal.parameters import declarations
from shoal.recipe.fields import EFFORTS
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import of_confidential, of_persons
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.stream.replay import replay_table

SMALL, LARGE = 220, 40_000  # records
_CHEAP = 30.0  # largest cost, in multiples of MDAV and as declared, of a method that also runs on a large table
_K = 5
_WORK = "uvw"
_TREE = {"north": ["a", "b", "c"], "south": {"coast": ["d", "e"], "hills": ["f", "g", "h"]}}
_LEAVES = "abcdefgh"


def features() -> dict[str, Callable[[], object]]:
    """Return what runs each feature, by its name."""
    return dict(_features())


def _features() -> Iterator[tuple[str, Callable[[], object]]]:
    for key in registry.keys("partition"):
        yield f"method {key}", partial(_method, key)
    yield "blocks of a large table", partial(_on_tables, method="blocks", set={"size": SMALL // 4})
    for effort in EFFORTS:
        yield f"effort {effort}", partial(_on_tables, (SMALL, LARGE) if effort == "fast" else (SMALL,), effort=effort)
    for key in registry.keys("privacy"):
        if of_confidential(key) or of_persons(key):
            yield f"require {key}", partial(_require, key)
            yield f"repair {key}", partial(_require, key, attacker="table")
            yield f"refine with {key}", partial(_require, key, attacker="table", effort="fast")
    for key in registry.keys("release"):
        yield f"release {key}", partial(_on_tables, release=key)
    for key in registry.keys("steer"):
        yield f"steer {key}", partial(_steer, key)
    for key in registry.keys("stream.partition"):
        yield f"stream {key}", partial(_stream, key)
    yield "compare", _compare
    yield "attack", _attack
    yield "certificate", partial(bound_points, _coordinates(60), _K, None)
    yield "survey", _survey


def _coordinates(n: int) -> Any:
    return np.random.default_rng(1).normal(size=(n, 2))


def _tables(n: int) -> Iterator[tuple[pa.Table, dict[str, Any]]]:
    """Yield a table of numbers and a mixed one, each with the fields of a recipe that describe it."""
    rng, x = np.random.default_rng(1), _coordinates(n)
    pay = np.argsort(np.argsort(x[:, 0])) * 6 // n * 900  # near records have the same value, so classes need repair
    plain = {"confidential": ["pay"], "k": _K, "row_order": "keep"}
    whole = np.rint(x[:, 1] * 1_000).astype(np.int64)  # integers and other numbers come as arrays of different types
    yield pa.table({"x": x[:, 0], "y": whole, "pay": pay}), {**plain, "quasi": ["x", "y"]}
    mixed = {
        "x": x[:, 0],
        "work": rng.choice(list(_WORK), n),
        "place": rng.choice(list(_LEAVES), n),
        "pay": pay,
    }
    yield pa.table(mixed), {**plain, "quasi": ["x", "work", "place"], "taxonomies": {"place": _TREE}}


def _on_tables(sizes: tuple[int, ...] = (SMALL,), **fields: Any) -> None:
    """Protect the tables by recipes with these fields; a refusal counts only if all are refused."""
    refusals, done = [], 0
    for n in sizes:
        for table, about in _tables(n):
            try:
                protect_frame(table, Recipe.from_dict({"method": "mdav", **about, **fields}))
                done += 1
            except ShoalError as error:
                refusals.append(error)
    if not done:
        raise refusals[0]


def _method(key: str) -> None:
    cls = registry.load("partition", key)
    levels = {"t": 0.3} if cls.promises_t else {}
    quasi = {"quasi": ["x"]} if cls.dimensions == 1 else {}
    large = "relative_cost" in vars(cls) and cls.relative_cost <= _CHEAP and not cls.quadratic
    _on_tables(
        (SMALL, LARGE) if large else (SMALL,),
        method=key,
        require={model: _level(model) for model in cls.promises},
        **levels,
        **quasi,
    )


def _level(model: str) -> Any:
    """Return the level that a privacy model declares as an example: one number, or a list."""
    found = [float(one) if "." in one else int(one) for one in registry.load("privacy", model).example.split(":")]
    return found if len(found) > 1 else found[0]


def _require(model: str, **fields: Any) -> None:
    _on_tables(require={model: _level(model)}, **fields)


def _steer(key: str) -> None:
    """Steer by a component, with a value for each parameter that has no default."""
    values = {int: _K, float: 1.0, str: "x"}
    own = {one.name: values[one.kind] for one in declarations(registry.load("steer", key)) if one.required}
    _on_tables(steer=[{"by": key, "weight": 1.0, **own}])


def _stream(method: str) -> None:
    """Replay both tables as streams, with k alone and with another demand."""
    for table, about in _tables(SMALL):
        numbers = [name for name in about["quasi"] if name in ("x", "y")]
        declared: dict[str, Any] = {
            **{name: about[name] for name in ("quasi", "taxonomies") if name in about},
            "bounds": dict.fromkeys(numbers, (-6_000, 6_000)),
            "categories": {"work": [*_WORK]} if "work" in about["quasi"] else {},
            "method": method,
            "k": _K,
            "delay": 20,
        }
        replay_table(table, StreamRecipe.from_dict(declared), None)
        with suppress(ShoalError):  # a method for k alone
            more = {"confidential": ["pay"], "require": {"p_sensitivity": 2}}
            replay_table(table, StreamRecipe.from_dict({**declared, **more}), None)


def _compare() -> None:
    """Run every measure on both tables and what they become."""
    for table, about in _tables(SMALL):
        recipe = Recipe.from_dict(about)
        compare_frames(table, protect_frame(table, recipe).data, Compared.of(recipe, Compared(recipe.quasi)))


def _attack() -> None:
    for table, about in _tables(SMALL):
        recipe = Recipe.from_dict(about)
        attack_release(AttackRequest(table, [protect_frame(table, recipe).data], recipe))


def _survey() -> None:
    """Protect a survey with weights, households, strata, dates, an order, and missing values."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "occupations.csv").write_text(taxonomy(), encoding="utf-8")
        (Path(folder) / "recipe.toml").write_text(RECIPE, encoding="utf-8")
        protect_frame(Survey(records=1_000).read(), Recipe.load(Path(folder) / "recipe.toml"))
