"""Models that are trained on a release and tested on untouched records, with scikit-learn (`shoal[target]`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import registry
from shoal.risk.control.membership import auc
from shoal.types import Column, Kind

_NUMBERS = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)
_CODES = 250  # categories that gradient boosting takes; a column with more is left out of both models
_ITERATIONS = 100

Values = Mapping[str, pa.ChunkedArray]  #: columns by name, with parsed cells


class Scores(NamedTuple):
    """Scores on untouched records: area under the curve of a classifier, or R² of a regression."""

    boosting: float  #: gradient-boosted trees
    linear: float  #: logistic or ridge regression


class _Coding(NamedTuple):
    """Codes of one column, fixed by the original records."""

    name: str
    categories: pa.Array | None  #: None: numbers
    center: float = 0.0
    spread: float = 1.0

    def coded(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        if self.categories is None:
            return as_numbers(column)
        found = pc.index_in(as_text(column), value_set=self.categories)
        return np.asarray(pc.cast(found, pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return numbers or dates as floating-point numbers, missing ones as NaN."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def as_text(column: pa.ChunkedArray) -> pa.Array:
    """Return categories as text, missing ones as null."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pa.concat_arrays(column.cast(pa.string()).chunks) if column.num_chunks else pa.array([], pa.string())


@dataclass(frozen=True, eq=False)
class Task:
    """Prediction task: a target and the columns to predict it from, coded as in the original records."""

    target: str
    classes: pa.Array | None  #: of the target; None: it is a number
    columns: Sequence[_Coding]

    @classmethod
    def of(cls, columns: Sequence[Column], target: Column, originals: Values, classes: pa.Array | None) -> Task:
        """Return the task of predicting `target` from the other columns."""
        found = []
        for one in columns:
            if one.kind in _NUMBERS:
                x = as_numbers(originals[one.name])
                known = x[np.isfinite(x)]
                spread = float(known.std()) if len(known) else 0.0
                found.append(_Coding(one.name, None, float(known.mean()) if len(known) else 0.0, spread or 1.0))
                continue
            values = pc.unique(as_text(originals[one.name]).drop_null())
            if len(values) <= _CODES:
                found.append(_Coding(one.name, values.sort()))
        return cls(target.name, classes, found)

    @property
    def score(self) -> str:
        """The name of the score."""
        return "R²" if self.classes is None else "AUC"

    def scores(self, training: Values, test: Values) -> Scores:
        """Train two models on one table and score them on another."""
        ensemble = registry.package("sklearn.ensemble", "target", "Explore: target")
        linear = registry.package("sklearn.linear_model", "target", "Explore: target")
        (x, y), (u, v) = self._coded(training), self._coded(test)
        categorical = [coding.categories is not None for coding in self.columns]
        more: dict[str, Any] = {
            "categorical_features": categorical if any(categorical) else None,
            "max_iter": _ITERATIONS,
            "early_stopping": False,
            "random_state": 0,
        }
        if self.classes is None:
            models = (ensemble.HistGradientBoostingRegressor(**more), linear.Ridge())
        else:
            models = (ensemble.HistGradientBoostingClassifier(**more), linear.LogisticRegression(max_iter=300))
        if self.classes is not None and len(np.unique(y)) < 2:  # a release of one class teaches nothing
            return Scores(0.5, 0.5)
        limits = registry.package("threadpoolctl", "target", "Explore: target").threadpool_limits
        with limits(1), warnings.catch_warnings():  # several settings run at once
            warnings.simplefilter("ignore")  # that a linear model has not converged to the last digit
            models[0].fit(x, y)
            models[1].fit(self._spread_out(x), y)
            return Scores(self._score(models[0], u, v), self._score(models[1], self._spread_out(u), v))

    def _coded(self, table: Values) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the columns and the target as numbers, without records that lack the target."""
        x = np.column_stack([coding.coded(table[coding.name]) for coding in self.columns])
        y = _Coding(self.target, self.classes).coded(table[self.target])
        known = np.isfinite(y)
        return x[known], y[known]

    def _spread_out(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return standardised numbers and an indicator of every category, for linear models."""
        parts = []
        for j, coding in enumerate(self.columns):
            column = x[:, j]
            if coding.categories is None:
                scaled = (column - coding.center) / coding.spread
                parts.append(np.where(np.isfinite(scaled), scaled, 0.0)[:, None])
            else:
                parts.append((column[:, None] == np.arange(len(coding.categories))).astype(np.float64))
        return np.concatenate(parts, axis=1)

    def _score(self, model: Any, x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
        if self.classes is None:
            return float(model.score(x, y))
        shares, known = model.predict_proba(x), list(model.classes_)
        found = []
        for one in np.unique(y):  # each class against all others; two classes mirror each other
            share = shares[:, known.index(one)] if one in known else np.zeros(len(y))
            found.append(auc(share[y == one], share[y != one]))
        return float(np.mean(found))
