"""Contracts of privacy models and measures: every key inherits one, and mypy rejects what does not fit."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal import registry
from shoal.types import (
    Column,
    CombinedMeasure,
    Comparison,
    ConfidentialModel,
    Kind,
    Measure,
    PrivacyModel,
    Reading,
    Release,
    Role,
    Schema,
    TableModel,
)
from shoal.types.protocols import Reads

MODELS = registry.keys("privacy")
MEASURES = [(room, key) for room in registry.ROOMS["measures"] for key in registry.keys(room)]
#: Audited only where a table is protected: a table by itself does not show enough.
NEED_MORE = {"delta_presence", "k_map", "k_sets", "anatomy_k", "differential_privacy", "probabilistic_k_anonymity"}


@pytest.mark.parametrize("key", MODELS)
def test_every_model_inherits_one_contract_and_declares_what_has_no_default(key: str) -> None:
    cls = registry.load("privacy", key)
    assert is_dataclass(cls)
    assert PrivacyModel in cls.__mro__
    assert (TableModel in cls.__mro__) != (ConfidentialModel in cls.__mro__)
    assert cls.of_confidential is (ConfidentialModel in cls.__mro__)
    assert cls.key == key
    assert cls.level in {field.name for field in fields(cls)}
    assert all(isinstance(text, str) and text for text in (cls.short, cls.example))
    assert all(type(flag) is bool for flag in (cls.reported, cls.of_persons))
    assert [registry.load("privacy", other).short for other in MODELS].count(cls.short) == 1


@pytest.mark.parametrize("key", [key for key in MODELS if key not in NEED_MORE])
def test_its_findings_have_its_names_and_its_level(key: str) -> None:
    cls = registry.load("privacy", key)
    schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)))
    release = Release(pa.table({"age": [30, 30, 30, 50, 50, 50], "pay": [1, 2, 3, 4, 5, 6]}), schema)
    model = cls(4) if key == "n_t_closeness" else cls()
    found = model.audit(release, ["age"], ["pay"]) if cls.of_confidential else (model.audit(release, ["age"]),)
    for one in found:
        assert (one.model, one.short, one.level) == (key, cls.short, cls.level)
        assert (one.attributes, one.required, one.holds, one.classes) == (("age",), None, True, 2)
        assert one.confidential == ("pay" if cls.of_confidential else None)


@pytest.mark.parametrize(("room", "key"), MEASURES)
def test_every_measure_inherits_one_contract_and_its_readings_have_its_names(room: str, key: str) -> None:
    cls = registry.load(room, key)
    assert is_dataclass(cls)
    assert Reads in cls.__mro__
    assert (Measure in cls.__mro__) != (CombinedMeasure in cls.__mro__) == bool(cls.of)
    assert cls.key == key
    assert cls.unit in ("", "%")
    assert all(type(flag) is bool for flag in (cls.quick, cls.exchangeable, cls.by_attribute))
    assert cls().columns == ()
    found = cls().reading(cls.range[0], ("age",), (("part", 1.0),), "a note")
    expected = (key, cls.range[0], cls.goal, cls.range, ("age",), cls.unit, (("part", 1.0),), "a note", cls.short)
    assert found == Reading(*expected)
    assert found.name == cls.name()


def test_an_undeclared_measure_promises_nothing_and_takes_the_name_of_its_module() -> None:
    class Plain(Measure):
        def measure(self, comparison: Comparison) -> Reading:
            return self.undefined("there is nothing")

    class Named(Plain):
        key = "named"
        short = "nm"

    x = np.zeros((1, 1))
    assert (Plain.exchangeable, Plain.by_attribute, Plain.quick, Plain.of) == (False, False, False, ())
    assert Plain.name() == __name__.rpartition(".")[2]
    assert Named.name() == "nm"
    assert Named().measure(Comparison(x, x, ("age",))).measure == "named"
    assert not isinstance(Plain(), CombinedMeasure)


def test_a_level_below_the_required_one_does_not_hold() -> None:
    model = registry.load("privacy", "k_anonymity")(3)
    assert [model.finding(("age",), achieved, 3, 1).holds for achieved in (2, 3, 4)] == [False, True, True]
    assert not model.finding(("age",), 9, 3, 1, holds=False).holds


def test_a_model_or_measure_without_its_method_cannot_be_made() -> None:
    for contract in (TableModel, ConfidentialModel, Measure, CombinedMeasure):
        with pytest.raises(TypeError, match="abstract"):
            type("Incomplete", (contract,), {})()


PROGRAM = """
from collections.abc import Mapping, Sequence
from shoal.types import CombinedMeasure, Comparison, ConfidentialModel, Finding, Measure, Reading, Release, TableModel

class Table(TableModel):
    short, level, example = "table", "k", "5"
    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        return self.finding(tuple(attributes), 2, None, 1)

class Column(ConfidentialModel):
    short, level, example = "column", "p", "2"
    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        return self.finding(attributes, 2, None, 1, confidential=confidential)

class Loss(Measure):
    def measure(self, comparison: Comparison) -> Reading:
        return self.reading(0.0, comparison.attributes)

class Both(CombinedMeasure):
    def value(self, values: Mapping[str, float]) -> float:
        return sum(values.values())

made = (Table(), Column(), Loss(), Both())
"""
REFUSED = {
    "class A(TableModel):\n    def audit(self, release: Release) -> Finding: ...": 'incompatible with supertype "',
    "class B(ConfidentialModel):\n    def audit_column(self, release: Release, attributes: tuple[str, ...], "
    "confidential: str) -> bool: ...": 'incompatible with return type "Finding"',
    "class C(Measure):\n    def measure(self, comparison: Release) -> Reading: ...": "incompatible with supertype",
    "class D(Measure):\n    range = (0, 'many')": "incompatible type|Incompatible types in assignment",
    "class G(TableModel):\n    def audit(self, release: Release, attributes: Sequence[str]) -> Finding: ...\n"
    "G()": '"short"',
    "class E(Measure): ...\nE()": "Cannot instantiate abstract class",
    "class F(CombinedMeasure):\n    def value(self, values: int) -> float: ...": "incompatible with supertype",
    "Loss().reading('high')": 'Argument 1 to "reading"',
}


def test_mypy_accepts_what_fits_and_rejects_wrong_signatures(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program, blocks = PROGRAM, {}
    for block in REFUSED:
        first = program.count("\n") + 1
        program += block + "\n"
        blocks[block] = set(range(first, program.count("\n") + 1))
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", "program.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not ran.stderr, ran.stderr
    said = [(int(line.split(":")[1]), line) for line in ran.stdout.splitlines() if ": error:" in line]
    assert all(number > PROGRAM.count("\n") for number, _ in said), said
    for block, sentences in REFUSED.items():
        found = [line for number, line in said if number in blocks[block]]
        assert any(sentence in line for line in found for sentence in sentences.split("|")), (block, found)
