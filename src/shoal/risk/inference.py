"""Inference: how much better confidential values are guessed with the masked table than without."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.risk._attacker import advantage, classes_of, within_ranks
from shoal.risk.control.guesses import guessed
from shoal.risk.control.nearest import Attempts
from shoal.types import Attacked, Comparison, Confidential, ControlledMeasure, Measure, Reading, Trio


@dataclass(frozen=True)
class Inference(Checked, Measure, ControlledMeasure):
    """Advantage in guessing a confidential value from the class of a record, in percent; the largest over columns.

    An attacker knows the class of a person, and guesses its most frequent value; for a number, the median of the class,
    which is right if the true value lies within some percent of the ranks of it. Without the classes, the guess would
    be the most frequent value of the table, or its median. The advantage is the share of wrong guesses that the classes
    correct: 100·(share − baseline)/(100 − baseline), at least 0.

    With a control, the attacker guesses from the nearest released records, for members and for people outside the
    release. The value is the excess; the parts give its 95 % interval: see
    :mod:`shoal.risk.control`.

    **Guarantee.** 0 if every class has the distribution of the table. 100 if every class holds one value, and guesses
    without the classes are sometimes wrong.

    **Complexity.** O(n log n) for each confidential attribute.

    **Departures.** [WP14] gives no formula. Without a control, everyone is in the table: even in classes of random
    records, the most frequent value of a few records is right more often than that of all, so small classes raise the
    advantage. With one, as in [GBM23], except that all equally near records are asked, not one of them, and that a
    number is right within a share of the ranks, not of its value.

    References: [WP14], [GBM23].

    >>> ill = Confidential("ill", np.array([0, 0, 1, 1]), np.array([2, 2]), ordered=False)
    >>> masked = np.array([[1.5], [1.5], [3.5], [3.5]])
    >>> Inference().measure(Comparison(masked, masked, ("x",), confidential=(ill,))).value
    100.0
    """

    unpaired: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)
    without_control: ClassVar[str] = (
        "the figure includes what anyone could infer about people outside the release; to measure the excess over it, "
        "leave some people out (protect --holdout 0.1 --holdout-to FILE) and give them as --control FILE"
    )

    within: Annotated[
        float, Param("Largest error of a guessed number, in percent of the records by rank.", low=0, high=100)
    ] = 10.0
    attacks: Attempts = 2_000

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the inference that a masked table allows."""
        parts: list[tuple[str, float]] = []
        advantages, notes = [], []
        classes = classes_of(comparison) if comparison.confidential else None
        for column in comparison.confidential:
            there = _there(column)
            if classes is None or not there.any():
                notes.append(f"Column {column.name!r} holds no value.")
                continue
            if not there.all():
                notes.append(f"{np.count_nonzero(~there):,} missing values of column {column.name!r} were omitted.")
            share, baseline = self._guessed(column, classes[there], there)
            advantages.append(advantage(share, baseline))
            found = {"share": share, "baseline": baseline, "advantage": advantages[-1]}
            parts += [(f"{column.name}: {what}", value) for what, value in found.items()]
        if not comparison.confidential:
            notes.append("no column is confidential.")
        value = max(advantages, default=math.nan)
        names = tuple(column.name for column in comparison.confidential)
        return self.reading(value, names, tuple(parts), " ".join(notes))

    def attack(self, attacked: Attacked) -> Reading:
        """Guess confidential values of members and of control records from the nearest released records."""
        parts: list[tuple[str, float]] = []
        values, notes = [], []
        for name, secret in attacked.confidential.items():
            if attacked.controlled and not _can_be_right(secret):
                notes.append(f"No control record has a released value of column {name!r}: check how both are written.")
                continue
            found = guessed(attacked, secret, self.within, self.attacks)
            if found is None or not found.members.attacks:
                notes.append(f"Column {name!r} holds no value.")
                continue
            values.append(found.value)
            parts += found.parts(name)
            notes.append(f"{name}: {found.told('the guess is right')}")
        if not attacked.confidential:
            notes.append("no column is confidential.")
        return self.reading(max(values, default=math.nan), tuple(attacked.confidential), tuple(parts), " ".join(notes))

    def _guessed(
        self, column: Confidential, classes: NDArray[np.int64], there: NDArray[np.bool_]
    ) -> tuple[float, float]:
        """Return the percentage of correct guesses with the classes, and without."""
        everybody = np.zeros_like(classes)
        if column.values is None:
            codes = column.codes[there]
            return _most_frequent(codes, classes), _most_frequent(codes, everybody)
        values = column.values[column.codes[there]]
        ranked = np.sort(values)
        with_classes, without = (
            100.0 * float(within_ranks(ranked, _medians(values, known), values, self.within).mean())
            for known in (classes, everybody)
        )
        return with_classes, without


def _can_be_right(secret: Trio) -> bool:
    """Tell whether a guess can be right about any control record: else all that members disclose looks like excess."""
    if secret.numeric:
        return not bool(np.isnan(secret.control).all())
    return bool(np.isin(secret.control[secret.control >= 0], secret.released).any())


def _there(column: Confidential) -> NDArray[np.bool_]:
    """Tell which values can be guessed: a missing category can, a missing number cannot."""
    if column.values is None:
        return np.ones(len(column.codes), np.bool_)
    return np.asarray(~np.isnan(column.values[column.codes]))


def _most_frequent(codes: NDArray[np.int64], classes: NDArray[np.int64]) -> float:
    """Return the percentage of records that hold the most frequent value of their class."""
    values = int(codes.max()) + 1
    cells, counts = np.unique(classes * values + codes, return_counts=True)
    most = np.zeros(int(classes.max()) + 1, np.int64)
    np.maximum.at(most, cells // values, counts)
    return 100.0 * float(most.sum()) / len(codes)


def _medians(values: NDArray[np.float64], classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each record the median of its class; the lower of two middle values, so that it is one that occurs."""
    order = np.lexsort((values, classes))
    _, first, inverse, counts = np.unique(classes[order], return_index=True, return_inverse=True, return_counts=True)
    medians = np.empty(len(values))
    medians[order] = values[order][first + (counts - 1) // 2][inverse]
    return medians
