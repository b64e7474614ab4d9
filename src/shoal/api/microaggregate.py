"""Microaggregation of points, and a lower bound on its loss."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from shoal.deadline import stopping_after
from shoal.errors import ParameterError
from shoal.flow.classes.microaggregate import bound_points, microaggregate_points
from shoal.parameters import shown
from shoal.recipe.contents import seconds_in
from shoal.types import Certificate, Partition


def microaggregate(
    X: ArrayLike,
    k: int,
    method: str = "mdav",
    confidential: ArrayLike | None = None,
    seed: int = 0,
    effort: str | None = None,
    steer: Sequence[Mapping[str, Any] | tuple[ArrayLike, float]] = (),
    require: Mapping[str, Any] | None = None,
    attacker: str = "algorithm",
    deadline: float | None = None,
    **params: Any,
) -> Partition:
    """Partition points into classes of at least k, without scaling them.

    Parameters
    ----------
    X
        Points, shape (n, d) (or (n,) for one coordinate).
    k
        Smallest number of points in a class.
    method
        Registry key, see ``shoal list methods``.
    confidential
        One value per point, or one row of values, for the methods that need it. Numbers are ordered, text is not.
    seed
        Random seed.
    effort
        Time to spend on a lower loss: ``fast``, ``default`` or ``best``. None: ``default`` for methods that search,
        such as ``anneal``; the classes of other methods stay as they are.
    steer
        Artificial attributes, for the partition only: pairs (values, weight), or tables as in a recipe, in which a
        column is an array. Numbers are scaled to 0 … weight; records with different texts are weight apart.
    require
        Privacy models that every class must satisfy, by name: ``{"l_entropy": 3, "e": {"0": 500}}``; a column of
        `confidential` is called by its number.
    attacker
        The attacker that repairs and ``auto`` must withstand: one who knows the ``algorithm``, or only the ``table``.
    deadline
        Seconds after which searches stop with the best classes so far.
    **params
        Parameters of the method; an unknown name is an error.

    >>> microaggregate([[0.0], [0.1], [5.0], [5.5], [0.2], [5.1]], k=3).labels.tolist()
    [1, 1, 0, 0, 1, 0]
    """
    for old, new in (("refine", "effort"), ("seconds", "deadline")):
        if params.get(old) is not None:
            warnings.warn(f"{old} is now called {new}", DeprecationWarning, stacklevel=2)
    effort, deadline = params.pop("refine", None) or effort, params.pop("seconds", None) or deadline
    if deadline is not None and seconds_in(deadline) is None:
        raise ParameterError(
            f"microaggregate: deadline must be a number of seconds > 0, got {shown(deadline)}. Correct it, or leave it "
            "out."
        )
    with stopping_after(seconds_in(deadline)):
        return microaggregate_points(X, k, method, confidential, seed, effort, steer, require or {}, params, attacker)


def lower_bound(X: ArrayLike, k: int, labels: ArrayLike | None = None) -> Certificate:
    """Bound the SSE of any partition of points into classes of at least k from below, without scaling them.

    Parameters
    ----------
    X
        Points, shape (n, d) (or (n,) for one coordinate).
    k
        Smallest number of points in a class.
    labels
        A partition of the points whose SSE is compared with the bound.

    Returns
    -------
    Certificate
        ``bound``, ``how`` it was obtained, and with labels ``sse`` and ``gap``.

    >>> lower_bound([0.0, 0.1, 5.0, 5.5, 0.2, 5.1], k=3).how
    ('optimal cut',)
    """
    return bound_points(X, k, labels)
