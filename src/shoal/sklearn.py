"""scikit-learn: microaggregation of training data as a transformer; see ``docs/python.md`` (`shoal[sklearn]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, ParameterError, listing
from shoal.extras import package

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import validate_data
except ImportError:  # missing, or older than 1.6
    package("sklearn", "sklearn", "Microaggregator")
    raise

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EXPECTED_FAILED_CHECKS", "Microaggregator"]

#: Checks of ``sklearn.utils.estimator_checks.check_estimator`` that call `transform`, which always refuses; give them
#: as its `expected_failed_checks`.
EXPECTED_FAILED_CHECKS = dict.fromkeys(
    (
        "check_dict_unchanged",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_nan_inf",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_predict1d",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in_after_fitting",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_transformers_unfitted",
    ),
    "transform refuses: classes are formed from all records together",
)


class Microaggregator(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Release numbers in classes of at least k records, each column by its class mean; audited.

    Every column is a quasi-identifier. For categories, dates, missing values and other roles use :func:`shoal.protect`.

    **Guarantee.** What `fit_transform` returns was audited as it is: every combination of values occurs at least k
    times, and the requirement holds, or GuaranteeError is raised and nothing is returned.

    Parameters
    ----------
    k
        Smallest number of records in a class.
    method
        The method; see ``shoal list methods``.
    effort
        ``fast``, ``default`` or ``best``; None: that of the method.
    seed
        Random seed.

    Attributes
    ----------
    labels_
        The class of each row.
    audit_
        The findings of the independent audit.
    loss_
        Information loss: 100·SSE/SST, standardised.
    n_features_in_, feature_names_in_
        As in every estimator.

    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> released = Microaggregator(k=5).fit_transform(X)
    >>> int(np.unique(released, axis=0, return_counts=True)[1].min()) >= 5
    True
    """

    def __init__(self, k: int = 5, *, method: str = "auto", effort: str | None = None, seed: int = 0) -> None:
        self.k = k
        self.method = method
        self.effort = effort
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Microaggregator:
        """Form and audit the classes of X; the released values are those of `fit_transform`."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Return X with every value replaced by the mean of its class; rows keep their order.

        Parameters
        ----------
        X
            Numbers, shape (n, d), none of them missing.
        y
            Ignored.
        """
        from shoal.api.protect import protect

        try:
            values = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        except (TypeError, ValueError):  # the message of numpy shows a cell
            if refused := _not_numeric(X):
                raise DataError(
                    f"Microaggregator: every column of X must hold numbers, {listing(refused)} does not. Leave it out, "
                    "or call shoal.protect, which also takes categories and dates."
                ) from None
            raise
        names = [f"x{j}" for j in range(values.shape[1])]
        table = pa.table([np.ascontiguousarray(column) for column in values.T], names=names)
        effort = {} if self.effort is None else {"effort": self.effort}
        recipe = {"quasi": names, "k": self.k, "method": self.method, "seed": self.seed, "row_order": "keep", **effort}
        done = protect(table, {**recipe, "kinds": dict.fromkeys(names, "continuous")})
        self.labels_ = done.partition.labels
        self.audit_ = done.audit
        self.loss_ = done.readings["il_sse"]
        return np.column_stack([done.data[name].to_numpy() for name in names])

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Refuse: a record that was not in the table has no class of at least k."""
        raise ParameterError(
            "Microaggregator: transform must not be called, because classes are formed from all records together and a "
            "new record has no class. Call fit_transform on the training records; give new ones to the model unchanged."
        )


def _not_numeric(X: Any) -> list[str]:
    """Return the columns of text, dates or objects: their names in a frame, else their positions from 0."""
    if hasattr(X, "columns"):
        return [repr(name) for name in X.columns if not _numeric(X[name])]
    cells = np.asarray(X)
    return [f"column {at}" for at, column in enumerate(cells.T) if not _numeric(column)] if cells.ndim == 2 else []


def _numeric(column: Any) -> bool:
    kind = np.asarray(column).dtype.kind
    if kind in "cmM":  # scikit-learn says what is wrong with complex numbers; dates would become nanoseconds
        return kind == "c"
    try:
        np.asarray(column, np.float64)
    except (TypeError, ValueError):
        return False
    return True
