"""Swapping: the same values in every class, in another order, and an audit of its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.flow import protect as flow
from shoal.flow.anonymising import Anonymised
from shoal.release.swap import permuted
from shoal.types import Release

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
    required, grouped = found.findings
    assert (required.model, required.required, required.holds) == ("probabilistic_k_anonymity", 5, True)
    assert required.achieved >= 5
    assert "cannot be seen" in required.note
    assert (grouped.model, grouped.promised, grouped.achieved) == ("k_anonymity", False, 1)
    assert found.overall is grouped


def test_all_orders_are_equally_likely() -> None:
    labels = np.array([0, 1, 0, 1, 0])
    drawn = Counter(tuple(permuted(labels, i.to_bytes(4, "big"), "x").tolist()) for i in range(6000))
    assert len(drawn) == 12
    assert max(drawn.values()) - min(drawn.values()) < 150  # 500 each; the deviation of one is 21
    for rows in drawn:
        assert sorted(rows) == [0, 1, 2, 3, 4]
        assert all(labels[row] == label for row, label in zip(rows, labels, strict=True))


def test_another_seed_gives_another_order_and_so_does_another_table() -> None:
    orders = []
    for seed, frame in ((0, FRAME), (1, FRAME), (0, FRAME.set_column(0, "x", pa.array(FRAME["x"].to_numpy() ** 3)))):
        done = shoal.protect(frame, {**RECIPE, "quasi": ["x"], "seed": seed})
        before, after = frame["x"].to_pylist(), done.data["x"].to_pylist()
        orders.append(tuple(before.index(value) for value in after))
    assert len(set(orders)) == 3


def test_who_knows_the_seed_and_finds_the_classes_again_cannot_run_it_again() -> None:
    done = shoal.protect(FRAME, {**RECIPE, "set": {"together": True}})
    again = shoal.protect(done.data, {**RECIPE, "set": {"together": True}})
    labels = [part.partition.labels for part in (done, again)]
    assert np.array_equal(*(one[:, None] == one for one in labels))  # the classes can be found again
    rows = [tuple(row) for row in zip(FRAME["x"].to_pylist(), FRAME["y"].to_pylist(), strict=True)]
    out = [tuple(row) for row in zip(done.data["x"].to_pylist(), done.data["y"].to_pylist(), strict=True)]
    twice = [tuple(row) for row in zip(again.data["x"].to_pylist(), again.data["y"].to_pylist(), strict=True)]
    first = [rows.index(row) for row in out]
    second = [out.index(row) for row in twice]
    assert first != second


@pytest.mark.parametrize("more", [{"t": 0.3}, {"require": {"p": 2}}, {"t": 0.3, "n": 10}])
def test_requirements_of_confidential_columns_are_refused(more: dict) -> None:
    with pytest.raises(
        shoal.ParameterError, match="Swap: t and require must be left out, for the classes cannot be seen"
    ):
        shoal.protect(FRAME, {**RECIPE, **more})


def _broken(change: object) -> object:
    """Return the flow's stage, after which something is changed in what leaves."""
    real = flow.anonymise

    def anonymise(*args: object, **more: object) -> Anonymised:
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
