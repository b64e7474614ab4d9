"""Equal records that several classes hold are noticed, even if their classes are in different blocks."""

from __future__ import annotations

import numpy as np

from shoal.flow.engines.blockwise.copies import Copies, holders

X = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 2.0], [3.0, 1.0], [3.0, 1.0]])


def held(rows: list[int], labels: list[int], before: Copies) -> np.ndarray:
    return holders(X[rows], np.array(labels), before.parted)


def test_copies_of_one_class_are_together() -> None:
    found = Copies.after([held([0, 1, 2, 3, 4], [0, 0, 1, 1, 1], Copies())])
    assert (len(found.parted), found.together) == (0, True)


def test_parted_copies_are_followed_from_block_to_block() -> None:
    first = Copies.after([held([0, 1, 2], [0, 1, 1], Copies()), held([3, 4], [0, 0], Copies())])
    assert (len(first.parted), first.together) == (1, False)
    apart = Copies.after([held([0, 2], [0, 0], first), held([1, 3, 4], [0, 0, 0], first)])
    assert (len(apart.parted), apart.together) == (1, False)  # no block parts them
    united = Copies.after([held([0, 1, 2, 3, 4], [0, 0, 0, 1, 1], apart)])
    assert (len(united.parted), united.together) == (1, True)


def test_zeros_of_both_signs_are_equal() -> None:
    parted = holders(np.array([[-0.0], [0.0]]), np.array([0, 1]), Copies().parted)
    assert parted[0] == parted[1]
