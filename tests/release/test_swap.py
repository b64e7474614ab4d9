"""Swapping: the same values in every class, dealt by a secret key, and an audit of its own."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import permutations, product
from math import factorial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow.protect import protect as flow
from shoal.release.swap import dealt, ranks_as_written
from shoal.types import Release, Run

RNG = np.random.default_rng(8)
FRAME = pa.table({"x": RNG.normal(size=60), "y": RNG.integers(0, 90, 60), "c": RNG.integers(0, 5, 60)})
RECIPE = {"quasi": ["x", "y"], "confidential": ["c"], "k": 5, "release": "swap"}


def inside(data: pa.Table, labels: np.ndarray, names: list[str]) -> list[Counter]:
    rows = list(zip(*(data[name].to_pylist() for name in names), strict=True))
    return [Counter(rows[i] for i in np.flatnonzero(labels == label)) for label in range(labels.max() + 1)]


@pytest.mark.parametrize("together", [False, True])
def test_every_class_keeps_its_values(together: bool) -> None:
    done = shoal.protect(FRAME, {**RECIPE, "set": {"together": together}})
    labels = done.partition.labels
    for name in ("x", "y"):
        assert inside(FRAME, labels, [name]) == inside(done.data, labels, [name])
    assert (inside(FRAME, labels, ["x", "y"]) == inside(done.data, labels, ["x", "y"])) is together
    assert not done.data.equals(FRAME)


def test_the_guarantee_is_another_and_grouping_is_only_reported() -> None:
    found = shoal.protect(FRAME, RECIPE).audit
    required, grouped = [finding for finding in found.findings if finding.model != "dominance"]
    assert (required.model, required.required, required.holds) == ("probabilistic_k_anonymity", 5, True)
    assert required.achieved >= 5
    assert "does not show whether" in required.note
    assert (grouped.model, grouped.promised, grouped.achieved) == ("k_anonymity", False, 1)
    assert found.overall is grouped


@pytest.mark.parametrize("sizes", [(6,), (3, 3), (4, 2)], ids=str)
def test_all_dealings_of_six_rows_are_equally_likely(sizes: tuple[int, ...]) -> None:
    """Chi-square over 10,000 keys: its mean is the number of dealings less 1, its variance twice that."""
    labels = RNG.permutation(np.repeat(np.arange(len(sizes)), sizes))
    ranks = np.arange(6)
    keys = 10_000
    drawn = Counter(tuple(ranks[dealt(labels, ranks, i.to_bytes(32, "big"), "x")].tolist()) for i in range(keys))
    dealings = np.prod([factorial(size) for size in sizes])
    expected = keys / dealings
    assert len(drawn) == dealings
    free = dealings - 1
    chi_square = sum((count - expected) ** 2 for count in drawn.values()) / expected
    assert abs(chi_square - free) < 5 * np.sqrt(2 * free)
    for rows in drawn:
        assert sorted(rows) == list(range(6))
        assert all(labels[row] == label for row, label in zip(rows, labels, strict=True))


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([2.5, -0.0, 0.0, None, 2.5, float("nan"), float("nan")]),
        pa.array([3, None, -1, 3], pa.int16()),
        pa.array([True, False, None, True]),
        pa.array(["b", "a", None, " a", "b"]),
        pa.array([None, None], pa.string()),
        pa.array(["b", "a", None, "b"]).dictionary_encode(),
        pa.array([b"\xff", b"a", None, b"\xff"]),
        pa.array([[1], [2], None, [1]]),
        pa.array([1, 2, None], pa.timestamp("us", "UTC")),
        pa.array([], pa.float32()),
    ],
    ids=lambda cells: str(cells.type),
)
def test_cells_that_are_written_the_same_have_one_rank(cells: pa.Array) -> None:
    """And the ranks do not depend on the order of rows, nor on chunks."""
    ranks = ranks_as_written(pa.chunked_array([cells[:2], cells[2:]]))
    written = [repr(value) for value in cells.to_pylist()]
    pairs = set(zip(written, ranks.tolist(), strict=True))
    assert len(pairs) == len(set(written)) == len(set(ranks.tolist()))
    assert all(rank == max(ranks) for text, rank in pairs if text == "None")
    turned = np.arange(len(cells))[::-1]
    assert np.array_equal(ranks_as_written(pa.chunked_array([cells.take(pa.array(turned))])), ranks[turned])


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system's randomness, always the same."""
    monkeypatch.setattr("shoal.secret.fresh", lambda size=32: bytes(range(size)))


PEOPLE = pa.table({"age": ["34", "35", "33", "51", "52", "050"], "visits": ["2", "2.0", None, "7", "8", "9"]})
SIX = {"quasi": ["age", "visits"], "k": 3, "release": "swap", "kinds": {"age": "nominal", "visits": "nominal"}}


def exchanged(data: pa.Table, one: int, other: int, names: list[str]) -> pa.Table:
    """Exchange some columns of two records."""
    order = np.arange(data.num_rows)
    order[[one, other]] = order[[other, one]]
    for name in names:
        data = data.set_column(data.column_names.index(name), name, data[name].take(pa.array(order)))
    return data


@pytest.mark.usefixtures("fixed")
@pytest.mark.parametrize("more", [{}, {"together": True}], ids=str)
def test_an_exchange_within_a_class_gives_the_same_release(more: dict) -> None:
    for frame, recipe in ((FRAME, RECIPE), (pa.table({**_columns(PEOPLE), "c": range(6)}), SIX)):
        given = {**recipe, "confidential": ["c"], "set": more}
        done = shoal.protect(frame, given)
        labels = done.partition.labels
        for one in range(0, frame.num_rows, 5):
            other = int(np.flatnonzero(labels == labels[one])[-1])
            again = shoal.protect(exchanged(frame, one, other, list(recipe["quasi"])), given)
            assert again.data.equals(done.data)
            assert again.audit == done.audit


def _columns(data: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {name: data[name] for name in data.column_names}


def test_no_seed_reproduces_a_release() -> None:
    """Before, of 648 arrangements of a six-row table one gave the release with seed 0: the true one."""
    ages, visits = [34, 35, 33, 51, 52, 50], [2, 4, 3, 7, 8, 9]
    recipe = {"quasi": ["age", "visits"], "confidential": ["c"], "k": 3, "release": "swap", "seed": 0}

    def released(ages: list[int], visits: list[int]) -> list:
        frame = pa.table({"age": ages, "visits": visits, "c": list("abcdef")})
        data = shoal.protect(frame, recipe).data
        return [data["age"].to_pylist(), data["visits"].to_pylist()]

    assert len({str(released(ages, visits)) for _ in range(20)}) > 5  # 1,296 dealings are possible
    arrangements = [
        ([*a, *b], [*c, *visits[3:]])
        for a, b, c in product(permutations(ages[:3]), permutations(ages[3:]), permutations(visits[:3]))
    ][:40]
    out = released(ages, visits)
    assert sum(released(*one) == out for one in arrangements) <= 2  # each by chance, 1 in 1,296


def test_runs_differ_unless_a_receipt_is_given(tmp_path: Path) -> None:
    done = shoal.protect(FRAME, RECIPE)
    done.receipt(tmp_path / "r.json")
    assert not shoal.protect(FRAME, RECIPE).data.equals(done.data)
    assert shoal.protect(FRAME, RECIPE, repeat=tmp_path / "r.json").data.equals(done.data)
    kept = json.loads((tmp_path / "r.json").read_text())
    assert len(bytes.fromhex(kept["swap_key"])) == 32


def test_a_seed_promises_nothing() -> None:
    recipe = {**RECIPE, "set": {"not_private_seed": 7}}
    one, other = (shoal.protect(FRAME, recipe) for _ in range(2))
    assert one.data.equals(other.data)
    found, *_ = one.audit.findings
    assert (found.model, found.promised, found.required) == ("probabilistic_k_anonymity", False, None)
    assert found.note.startswith("NOT PRIVATE")


class TestRepeat:
    def write(self, folder: Path, frame: pa.Table = FRAME) -> Path:
        shoal.write_table(frame, folder / "in.csv")
        return folder / "in.csv"

    def test_files(self, tmp_path: Path) -> None:
        source = self.write(tmp_path)
        shoal.protect_file(source, tmp_path / "a.csv", RECIPE, receipt=tmp_path / "r.json")
        shoal.protect_file(source, tmp_path / "b.csv", RECIPE, repeat=tmp_path / "r.json")
        shoal.protect_file(source, tmp_path / "c.csv", RECIPE)
        a, b, c = ((tmp_path / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
        assert a == b != c

    def test_another_input_is_refused(self, tmp_path: Path) -> None:
        source = self.write(tmp_path)
        shoal.protect_file(source, tmp_path / "a.csv", RECIPE, receipt=tmp_path / "r.json")
        source.write_text(source.read_text() + "\n")
        with pytest.raises(shoal.DataError, match="commitment does not match the input"):
            shoal.protect_file(source, tmp_path / "b.csv", RECIPE, repeat=tmp_path / "r.json")
        assert not (tmp_path / "b.csv").exists()
        shoal.protect(FRAME, RECIPE).receipt(tmp_path / "frame.json")
        with pytest.raises(shoal.DataError, match="commitment does not match"):
            shoal.protect(FRAME.slice(1), RECIPE, repeat=tmp_path / "frame.json")

    @pytest.mark.parametrize(
        ("change", "error", "words"),
        [
            ({"release": "medoid"}, shoal.ParameterError, "nothing to repeat"),
            (
                {"set": {"not_private_seed": 1}},
                shoal.ParameterError,
                "not_private_seed and the receipt cannot both be given",
            ),
        ],
        ids=str,
    )
    def test_nothing_to_repeat(self, change: dict, error: type, words: str, tmp_path: Path) -> None:
        shoal.protect(FRAME, RECIPE).receipt(tmp_path / "r.json")
        with pytest.raises(error, match=words):
            shoal.protect(FRAME, {**RECIPE, **change}, repeat=tmp_path / "r.json")

    def test_a_receipt_without_a_key(self, tmp_path: Path) -> None:
        shoal.protect(FRAME, {**RECIPE, "release": "medoid"}).receipt(tmp_path / "r.json")
        with pytest.raises(shoal.DataError, match="must hold the key of a swap"):
            shoal.protect(FRAME, RECIPE, repeat=tmp_path / "r.json")

    def test_a_permutation_alone_may_be_repeated(self, tmp_path: Path) -> None:
        shoal.protect(FRAME, {**RECIPE, "release": "medoid"}).receipt(tmp_path / "r.json")
        kept = json.loads((tmp_path / "r.json").read_text())
        (tmp_path / "r.json").write_text(json.dumps({**kept, "permutation": list(range(60))}))
        shoal.protect(FRAME, {**RECIPE, "release": "medoid"}, repeat=tmp_path / "r.json")

    @pytest.mark.parametrize("what", ["evidence", "report", "save_recipe", "target"])
    def test_the_receipt_is_not_replaced(self, what: str, tmp_path: Path) -> None:
        source, kept = self.write(tmp_path), tmp_path / "r.json"
        shoal.protect_file(source, tmp_path / "a.csv", RECIPE, receipt=kept)
        before = kept.read_bytes()
        names = {"evidence": "r.json", "report": "r.html", "save_recipe": "r.json", "target": "r.csv"}
        link = tmp_path / "linked" / names[what]
        link.parent.mkdir()
        link.symlink_to(kept)
        target = link if what == "target" else tmp_path / "b.csv"
        more = {} if what == "target" else {what: link}
        with pytest.raises(shoal.ParameterError, match="must not be replaced"):
            shoal.protect_file(source, target, RECIPE, repeat=kept, force=True, **more)
        assert kept.read_bytes() == before


def test_a_large_table_of_which_nothing_moved_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pa.table({"x": np.arange(400.0), "c": np.arange(400)})
    monkeypatch.setattr("shoal.release.swap.dealt", lambda labels, *_: np.arange(len(labels)))
    with pytest.raises(shoal.GuaranteeError, match="does not happen by chance"):
        shoal.protect(frame, {"quasi": ["x"], "confidential": ["c"], "k": 5, "release": "swap"})
    small = frame.slice(0, 20)  # where it may happen by chance, there is no error
    found = shoal.protect(small, {"quasi": ["x"], "confidential": ["c"], "k": 5, "release": "swap"}).audit.findings[0]
    assert "moved" not in found.note


@pytest.mark.parametrize("more", [{"t": 0.3}, {"require": {"p": 2}}, {"t": 0.3, "n": 10}])
def test_requirements_of_confidential_columns_are_refused(more: dict) -> None:
    with pytest.raises(
        shoal.ParameterError, match="Swap: t and require are not possible, because the output does not show the classes"
    ):
        shoal.protect(FRAME, {**RECIPE, **more})


def _broken(change: object) -> object:
    """Return the flow's stage, after which the release is changed."""
    real = flow.anonymise

    def anonymise(*args: object, **more: object) -> Run:
        made = real(*args, **more)
        return replace(made, release=change(made.release))

    return anonymise


def _one_cell(release: Release) -> Release:
    values = release.data["x"].to_pylist()
    values[17] += 1
    return replace(release, data=release.data.set_column(0, "x", pa.array(values)))


def _across_classes(release: Release) -> Release:
    labels, values = release.classes["x"], release.data["x"].to_pylist()
    one, other = 0, int(np.flatnonzero(labels != labels[0])[0])
    values[one], values[other] = values[other], values[one]
    return replace(release, data=release.data.set_column(0, "x", pa.array(values)))


def _smaller_class(release: Release) -> Release:
    labels = release.classes["x"].copy()
    labels[0] = labels.max() + 1
    return replace(release, classes=dict.fromkeys(release.classes, labels))


@pytest.mark.parametrize("change", [_one_cell, _across_classes, _smaller_class])
@pytest.mark.parametrize("target", [None, "out.csv", "out.parquet"])
def test_what_is_not_as_promised_does_not_leave(
    change: object, target: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    pq.write_table(FRAME, tmp_path / "in.parquet")
    monkeypatch.setattr(flow, "anonymise", _broken(change))
    given, out = tmp_path / "in.parquet", tmp_path / str(target)
    run = (lambda: shoal.protect(FRAME, RECIPE)) if target is None else lambda: shoal.protect_file(given, out, RECIPE)
    with pytest.raises(shoal.GuaranteeError, match="probabilistic_k_anonymity over x, y requires 5 and achieves"):
        run()
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_what_the_audit_needs_does_not_leave(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(FRAME, tmp_path / "in.parquet")
    shoal.protect_file(tmp_path / "in.parquet", tmp_path / "out.parquet", RECIPE)
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.column_names == FRAME.column_names
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]
