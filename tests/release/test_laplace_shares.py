"""Noise has the shares of ε that a method weighed it with: the error is the one that classes were chosen for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal

X = np.random.default_rng(1).lognormal(size=(400, 2)) * [1, 30]
TABLE = pa.table({"a": X[:, 0], "b": X[:, 1]})
BOUNDS = {"a": [0, 30], "b": [0, 900]}


def protected(**more: Any) -> Any:
    recipe = {"quasi": ["a", "b"], "method": "least_error", "release": "laplace", "epsilon": 2.0, "bounds": BOUNDS}
    return shoal.protect(TABLE, recipe | more)


@pytest.mark.parametrize("split", [None, "even", "expression1"])
def test_the_ledger_has_the_shares_of_the_method(split: str | None) -> None:
    done = protected(set={} if split is None else {"split": split})
    spent = [entry.epsilon for entry in done.ledger.entries]
    assert spent == pytest.approx([2.0 * block.share for block in done.partition.blocks])
    assert sum(spent) == pytest.approx(2.0)


def test_blocks_of_ones_own_never_spend_more_than_epsilon() -> None:
    done = protected(blocks=[["a"], ["b"]])
    assert [entry.epsilon for entry in done.ledger.entries] == [1.0, 1.0]


def test_the_epsilon_of_each_attribute_is_kept() -> None:
    done = protected(epsilon={"a": 0.3, "b": 0.7})
    assert [entry.epsilon for entry in done.ledger.entries] == [0.3, 0.7]
    assert [block.share for block in done.partition.blocks] == pytest.approx([0.3, 0.7])


def test_it_is_not_for_original_records() -> None:
    with pytest.raises(shoal.ShoalError, match="these depend on it"):
        protected(claim="original")
