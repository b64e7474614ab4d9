"""Contracts: every component inherits that of its family, and what it does not declare is not promised."""

from __future__ import annotations

import inspect
import re
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal import registry
from shoal.errors import ParameterError
from shoal.flow.plan.components import as_promised
from shoal.flow.verify.requirements import all_claimed
from shoal.partition.least_error import LeastError
from shoal.partition.mdav import Mdav
from shoal.recipe.recipe import Recipe
from shoal.types import Finding, Partition, Points, Verdict
from shoal.types.protocols import Encoder, Partitioner, Releaser, Sink, Source, Steering
from shoal.types.stream import Channel, Link, StreamAttribute, StreamMethod, Wire

BY_KEY: dict[str, Any] = {
    "partition": Partitioner,
    "release": Releaser,
    "steer": Steering,
    "stream.partition": StreamMethod,
    "stream.channels": Channel,
}
BY_CLAIM: dict[tuple[str, str], Any] = {
    ("io.sources", "suffixes"): Source,
    ("io.sources", "schemes"): Source,
    ("io.sinks", "suffixes"): Sink,
    ("io.sinks", "schemes"): Sink,
    ("points", "kinds"): Encoder,
    ("stream.points", "kinds"): StreamAttribute,
}
COMPONENTS = [(contract, registry.load(room, key)) for room, contract in BY_KEY.items() for key in registry.keys(room)]
COMPONENTS += [
    (contract, cls)
    for (room, claim), contract in BY_CLAIM.items()
    for cls in dict.fromkeys(registry.load(room, key) for key in registry.declared(room, claim).values())
]
KEYS = [(room, key) for room in BY_KEY for key in registry.keys(room)]


def attributes(contract: type) -> dict[str, Any]:
    """The class attributes of a contract, with their types."""
    hints = typing.get_type_hints(contract, include_extras=True)
    return {
        name: typing.get_args(hint)[0] for name, hint in hints.items() if typing.get_origin(hint) is typing.ClassVar
    }


def of_type(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(isinstance(one, typing.get_args(kind)[0]) for one in value)
    return isinstance(value, kind)


@pytest.mark.parametrize(("contract", "cls"), COMPONENTS, ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_a_component_inherits_its_contract(contract: type, cls: type) -> None:
    assert contract in cls.__mro__
    assert not inspect.isabstract(cls)
    for name, kind in attributes(contract).items():
        assert of_type(getattr(cls, name), kind), name


@pytest.mark.parametrize(("room", "key"), KEYS)
def test_declarations_are_known_and_can_be_read_without_an_import(room: str, key: str) -> None:
    cls, contract = registry.load(room, key), BY_KEY[room]
    own = [name for name, hint in inspect.get_annotations(cls).items() if str(hint).startswith("ClassVar")]
    assert set(own) <= attributes(contract).keys()  # a misspelt one would promise nothing
    for name in attributes(contract):
        said = registry.says(room, key, name)
        assert getattr(cls, name) == (getattr(contract, name) if said is None else said), name


def test_no_code_asks_whether_an_attribute_exists() -> None:
    contracts = {contract for contract, _ in COMPONENTS} | {Link, Wire}
    names = {name for one in contracts for name in (*one.__annotations__, *vars(one)) if not name.startswith("_")}
    names.remove("of")  # measures have another
    asked = re.compile(r'\b(?:get|has)attr\((?:[^()]|\([^()]*\))*?, "(\w+)"')
    found = {
        (path.name, name)
        for path in Path(shoal.__file__).parent.rglob("*.py")
        for name in asked.findall(path.read_text(encoding="utf-8"))
        if name in names
    }
    assert not found


def test_a_default_promises_nothing() -> None:
    for contract in (Partitioner, Releaser, Steering, StreamMethod, Source, Sink):
        found = {name: getattr(contract, name) for name in attributes(contract)}
        assert not any(value is True for name, value in found.items() if name != "only_k"), found
    assert Partitioner.promises == ()
    assert Releaser.guarantee == "k_anonymity"  # the audit must find it in the output itself
    assert StreamMethod.only_k  # demands other than k are refused


def test_a_method_must_form_classes() -> None:
    class Nothing(Partitioner):
        pass

    with pytest.raises(TypeError, match="partition"):
        Nothing()  # type: ignore[abstract]


def test_optional_parts_have_defaults() -> None:
    points, schema = Points(np.zeros((4, 1))), shoal.types.Schema(())
    method = Mdav(k=2)
    assert method.settled(points) is method
    assert registry.load("release", "swap")().refuse(schema) is None  # type: ignore[func-returns-value]
    sink = registry.load("io.sinks", "parquet")()
    data = object()
    assert sink.fitted(data) is data
    assert sink.dialect_for(None, shoal.types.Dialect()) is None


@pytest.fixture
def undeclared(monkeypatch: pytest.MonkeyPatch) -> None:
    """MDAV as if its author had forgotten to declare that it promises k."""
    monkeypatch.delattr(Mdav, "promises_k")
    real = registry.says
    hidden = ("partition", "mdav", "promises_k")
    monkeypatch.setattr(registry, "says", lambda *asked: None if asked == hidden else real(*asked))


def people() -> Any:
    import pyarrow as pa

    return pa.table({"age": [20, 21, 22, 60, 61, 62], "ill": ["a", "b", "a", "b", "a", "b"]})


@pytest.mark.usefixtures("undeclared")
class TestAnUndeclaredPromise:
    def test_is_not_audited_as_one(self) -> None:
        done = shoal.protect(people(), quasi=["age"], k=3, method="mdav")
        first = done.audit.findings[0]
        assert not first.promised
        assert first.required is None
        assert "no k-anonymity of records is promised" in first.note
        assert not done.partition.blocks[0].promised

    def test_is_not_in_the_partition_of_points(self) -> None:
        assert not shoal.microaggregate(np.arange(6.0), k=3, method="mdav").blocks[0].promised

    @pytest.mark.parametrize(
        "more",
        [
            {"effort": "fast"},
            {"t": 0.5, "confidential": ["ill"]},
            {"require": {"l_distinct": 2}, "confidential": ["ill"]},
            {"release": "anatomy", "confidential": ["ill"]},
            {"steer": [{"by": "position"}]},
        ],
        ids=lambda more: next(iter(more)),
    )
    def test_cannot_be_built_upon(self, more: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match=r"classes of at least k records|which promises none"):
            shoal.protect(people(), quasi=["age"], k=3, method="mdav", **more)

    def test_is_none_for_methods_that_start_from_it(self) -> None:
        for name in ("steered", "t_close_merge"):
            with pytest.raises(ParameterError, match="first must"):
                registry.load("partition", name)(k=2, t=0.5, first="mdav")  # type: ignore[call-arg]

    @pytest.mark.parametrize("promised", [True, False])
    def test_is_none_for_a_verifier(self, promised: bool) -> None:
        claim = Finding("k_anonymity", ("age",), 3.0, 3.0 if promised else None, True, 2, promised=promised)
        found = all_claimed(Recipe(quasi=["age"], k=3, method="mdav"), [claim], None)
        assert found.verdict is (Verdict.FAILS if promised else Verdict.HOLDS)


def test_a_declared_promise_is_audited() -> None:
    first = shoal.protect(people(), quasi=["age"], k=3, method="mdav").audit.findings[0]
    assert (first.promised, first.required) == (True, 3)


@pytest.mark.parametrize("at_least_k", [True, False])
def test_a_parameter_with_which_k_counts_makes_the_promise(at_least_k: bool) -> None:
    formed = Partition.of(np.array([0, 0, 1, 1]))
    assert as_promised(formed, LeastError(k=2, at_least_k=at_least_k)).blocks[0].promised is at_least_k
