"""The block function takes an Arrow table of records and returns them with their classes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.flow.engines.blockwise.block import CLASS, BlockFunction
from shoal.flow.engines.blockwise.facts import ROW, SUBJECT
from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.refine.blockwise import People
from shoal.types import Coded

K = 3
rng = np.random.default_rng(4)
RECORDS = pa.table(
    {
        "age": rng.integers(0, 9, 40).astype(float),
        "pay": rng.integers(0, 9, 40).astype(float),
        SUBJECT: [f"p{row // 2}" for row in range(40)],
        ROW: np.arange(40),
        CLASS: np.zeros(40, np.int64),
    }
)
seen: list[tuple[int, int]] = []


def points(block: pa.Table) -> np.ndarray:
    return np.column_stack([block.column(name).to_numpy() for name in ("age", "pay")])


def work(number: int, x: np.ndarray | Coded, people: People, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    assert people is not None
    seen.append((number, len(np.unique(people))))
    assert len(before) == len(x)
    labels = mdav(x, K)[0]
    return labels, np.array([np.asarray(x)[labels == c].mean(0) for c in range(labels.max() + 1)])


def test_every_record_comes_back_with_its_class_in_whatever_order_they_arrive() -> None:
    found, facts = BlockFunction(points, work)(7, RECORDS)
    assert seen[-1] == (7, 20)
    assert set(found.column_names) == set(RECORDS.column_names)
    rows = found.column(ROW).to_numpy()
    assert found.drop_columns([CLASS]).equals(RECORDS.drop_columns([CLASS]).take(pa.array(rows)))
    assert sorted(rows) == list(range(40))
    labels = found.column(CLASS).to_numpy()
    assert np.bincount(labels).min() >= K
    for c, mean in enumerate(facts.means):
        assert np.allclose(points(found)[labels == c].mean(0), mean)
    other, _ = BlockFunction(points, work)(7, RECORDS.take(pa.array(rng.permutation(40))))
    assert other.equals(found)


def test_without_rows_equal_records_get_the_same_classes() -> None:
    found, facts = BlockFunction(points, work)(0, RECORDS.drop_columns([ROW]))
    same, _ = BlockFunction(points, work)(0, RECORDS)
    assert found.select(["age", "pay", CLASS]).equals(same.select(["age", "pay", CLASS]))
    labels = found.column(CLASS).to_numpy()
    parted = {tuple(x) for x in points(found) if len(np.unique(labels[(points(found) == x).all(1)])) > 1}
    assert len(np.unique(facts.holders)) == len(parted) > 0
