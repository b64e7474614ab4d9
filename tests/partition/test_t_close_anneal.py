"""t_close_anneal: classes are unions of atoms, close by value, and depend on the atoms' multisets of values only."""

from __future__ import annotations

import importlib.util
import json
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.stages.encode import confidential_arrays
from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.models.demands import demands_of
from shoal.kernels.repair.unite import Effort, alternatives
from shoal.types import Points

_spec = importlib.util.spec_from_file_location(
    "oracle_t_close_merge", Path(__file__).parents[1] / "oracles" / "t_close_merge.py"
)
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def secrets(kind: str, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return confidential values that go with the first coordinate."""
    n = len(x)
    numbers = x[:, 0] + rng.normal(size=n)
    if kind == "numbers":
        return numbers
    if kind == "ties":
        return np.round(numbers)
    if kind == "categories":
        return np.array(list("abcd"))[np.clip(np.round(numbers) + 1, 0, 3).astype(int)]
    return np.column_stack([numbers, rng.integers(0, 3, n)])


def distances(labels: np.ndarray, secret: np.ndarray) -> list[Fraction]:
    """Return the largest distance of every class from the table, by the transcription of the definition."""
    attributes = confidential_arrays(secret, len(labels))
    return [max(oracle.distances(np.flatnonzero(labels == c).tolist(), attributes)) for c in np.unique(labels)]


KINDS = ("numbers", "ties", "categories", "two columns")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k", "t"), [(60, 3, 0.1), (80, 2, 0.25), (45, 5, 0.15)])
def test_classes_are_unions_of_atoms_and_close_by_value(kind: str, n: int, k: int, t: float) -> None:
    rng = np.random.default_rng(n + k)
    x = rng.normal(size=(n, 2))
    secret = secrets(kind, x, rng)
    atoms = shoal.microaggregate(x, k).labels
    found = shoal.microaggregate(x, k, method="t_close_anneal", confidential=secret, t=t, seed=3).labels
    assert all(len(set(found[atoms == atom])) == 1 for atom in np.unique(atoms))
    assert max(distances(found, secret)) <= Fraction(str(t))
    assert len(np.unique(found)) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_exchanging_values_within_atoms_changes_no_class(kind: str) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 2))
    secret = secrets(kind, x, rng)
    atoms = shoal.microaggregate(x, 3).labels
    given = {"k": 3, "method": "t_close_anneal", "t": 0.2, "seed": 1, "effort": "fast"}
    before = shoal.microaggregate(x, confidential=secret, **given).labels
    for _ in range(8):
        order = np.arange(60)
        for atom in np.unique(atoms):
            inside = np.flatnonzero(atoms == atom)
            order[inside] = rng.permutation(inside)
        assert (order != np.arange(60)).any()
        after = shoal.microaggregate(x, confidential=secret[order], **given).labels
        assert after.tolist() == before.tolist()


def test_values_of_other_atoms_do_matter() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(60, 2))
    secret = secrets("numbers", x, rng)
    given = {"k": 3, "method": "t_close_anneal", "t": 0.2, "seed": 1, "effort": "fast"}
    before = shoal.microaggregate(x, confidential=secret, **given).labels
    after = shoal.microaggregate(x, confidential=rng.permutation(secret), **given).labels
    assert before.tolist() != after.tolist()


def test_it_loses_less_than_merging() -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(size=(400, 2))
    secret = secrets("numbers", x, rng)

    def lost(method: str) -> float:
        part = shoal.microaggregate(x, 4, method=method, confidential=secret, t=0.15)
        means = np.array([x[part.labels == c].mean(axis=0) for c in range(len(part))])
        return float(((x - means[part.labels]) ** 2).sum())

    assert lost("t_close_anneal") < 0.7 * lost("t_close_merge")


@pytest.mark.parametrize(
    ("n", "k", "secret", "t"),
    [
        (7, 2, [0, 0, 0, 1, 1, 2, 2], 0.2),
        (9, 9, [3, 1, 2, 5, 4, 7, 6, 8, 0], 0.0),
        (12, 3, [4] * 12, 0.0),
        (12, 3, list("aabbccaabbcc"), 0.1),
        (12, 3, list(range(12)), 1.0),
        (12, 3, list(range(12)), 0.0),
    ],
)
def test_ends(n: int, k: int, secret: list[object], t: float) -> None:
    part = shoal.microaggregate(np.arange(float(n)) ** 2, k, method="t_close_anneal", confidential=secret, t=t)
    assert part.sizes.min() >= k
    assert max(distances(part.labels, np.array(secret))) <= Fraction(str(t))


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_every_effort_keeps_t(effort: str) -> None:
    rng = np.random.default_rng(10)
    x = rng.normal(size=(40, 2))
    secret = secrets("numbers", x, rng)
    part = shoal.microaggregate(x, 4, method="t_close_anneal", confidential=secret, t=0.2, effort=effort)
    assert max(distances(part.labels, secret)) <= Fraction("0.2")


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        ("mdva", "TCloseAnneal: no method is called 'mdva'; .* Did you mean 'mdav'?"),
        ("k_first", "TCloseAnneal: first must be a method that does not enforce t"),
        ("mic1d", "TCloseAnneal: first must form classes of at least k records, got 'mic1d'"),
        ("individual_ranking", "TCloseAnneal: first must partition all attributes together, .* forms 2 blocks"),
    ],
)
def test_methods_that_cannot_form_atoms_are_refused(first: str, sentence: str) -> None:
    x = np.random.default_rng(2).normal(size=(20, 2))
    with pytest.raises(shoal.ParameterError, match=sentence):
        shoal.microaggregate(x, 3, method="t_close_anneal", first=first, confidential=x[:, 0], t=0.2)


class TestChoices:
    """One of several partitions, by a secret key."""

    x = np.random.default_rng(11).normal(size=(48, 2))
    pay = np.random.default_rng(12).integers(0, 9, 48)
    given: ClassVar[dict] = {"k": 3, "method": "t_close_anneal", "t": 0.25, "effort": "fast"}

    def test_alternatives_differ_hold_and_lose_more_and_more(self) -> None:
        confidential = confidential_arrays(self.pay, 48)
        demands = demands_of(Points(self.x, confidential=confidential), 3, 0.25)
        atoms = shoal.microaggregate(self.x, 3).labels
        found = alternatives(self.x, atoms, demands, Effort(250_000, 1, 1, 1, 60, 0), 0, 20)
        assert len({labels.tobytes() for labels in found}) == len(found) == 20
        lost = [sse(self.x, labels) for labels in found]
        assert lost == sorted(lost)
        for labels in found:
            assert all(len(set(labels[atoms == atom])) == 1 for atom in np.unique(atoms))
            assert max(distances(labels, self.pay)) <= Fraction("0.25")

    def test_the_key_decides(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def labels(key: int) -> bytes:
            monkeypatch.setattr("shoal.secret.fresh", lambda size=32: bytes([key]) * size)
            found = shoal.microaggregate(self.x, confidential=self.pay, choices=20, **self.given)
            return found.labels.tobytes()

        made = [labels(key) for key in range(12)]
        assert len(set(made)) > 3
        assert made == [labels(key) for key in range(12)]

    def test_a_receipt_repeats_the_choice(self, tmp_path: Path) -> None:
        table = pa.table({"a": self.x[:, 0], "b": self.x[:, 1], "pay": self.pay})
        recipe = {"quasi": ["a", "b"], "confidential": ["pay"], "k": 3, "t": 0.25, "method": "t_close_anneal"}
        recipe["set"] = {"choices": 20, "effort": "fast"}
        done = shoal.protect(table, recipe)
        done.receipt(tmp_path / "r.json")
        assert len(bytes.fromhex(json.loads((tmp_path / "r.json").read_text())["choice_key"])) == 32
        assert shoal.protect(table, recipe, repeat=tmp_path / "r.json").data.equals(done.data)
        assert any(not shoal.protect(table, recipe).data.equals(done.data) for _ in range(6))

    @pytest.mark.parametrize("more", [{}, {"t": 0.3, "attacker": "table"}], ids=str)
    def test_auto_refuses_choices_that_protect_nothing(self, more: dict) -> None:
        table = pa.table({"a": self.x[:, 0], "b": self.x[:, 1], "pay": self.pay})
        with pytest.raises(shoal.ParameterError, match="Auto: choices must be 1 unless"):
            shoal.protect(table, quasi=["a", "b"], confidential=["pay"], k=3, method="auto", set={"choices": 2}, **more)
