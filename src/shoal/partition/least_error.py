"""Least error: each attribute cut to minimise loss plus the later noise; k only on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError, listing
from shoal.parameters import Checked, Param, shown
from shoal.types import Block, Partition, Points
from shoal.types.protocols import Partitioner

_LOW, _HIGH = 1e-6, 1e6  # so that nothing overflows
_FROM_THE_DATA = "no bounds were given: noise was weighed by the range of the data"


@dataclass(frozen=True)
class LeastError(Checked, Partitioner):
    """Variable-size classes of one attribute each, with the least total expected error of microaggregation plus noise.

    The classes are meant to be released as means with Laplace noise, one draw per class. A small class loses little and
    needs much noise, because its scale is Δ/(size·ε_i); for a large class it is the other way round. So classes are
    small where values are sparse, and large where they are dense.

    **Guarantee.** For each attribute alone, every record is in exactly one class, and no partition has a lower Σ (SSE +
    2(Δ/ε_i)²/size), up to rounding; with `at_least_k`, none into classes of at least k. **No k otherwise: a class may
    have one record.** Differential privacy comes from the noise of the release, never from these classes. They depend
    on the data, and so do the shares of `split = "least"`: the claim can only be ε for the microaggregated table, with
    classes and shares held fixed.

    **Complexity.** O(n log n) for each attribute; with `split = "least"` about ten to twenty times as much.

    **Departures.** This is the future work of [SD17]: variable sizes without a minimum. `split` determines how ε is
    shared among attributes: evenly (IR_MDAV+DP_1), by Expression (1) in the columns' own units (IR_MDAV+DP_2), or so
    that the sum of all errors in the unit of the points is least. Released values are clipped to their bounds, which
    lowers the error of large noise; the cut ignores this. Without bounds, noise is weighed by the range of the data,
    and a note reports it.

    References: [SD17] Sections 3 and 5; [WU91] and [GG89] for the cut.

    >>> points = Points(np.array([[0.0], [9.0], [1.0], [90.0], [2.0], [91.0]]), widths=np.array([9.0]))
    >>> LeastError(k=2, epsilon=1.0).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 0, 0, 1, 0, 1]
    """

    promises_k: ClassVar[bool] = False
    exchangeable: ClassVar[bool] = True
    k_counts_with: ClassVar[str] = "at_least_k"  #: the parameter without which k does not bound class sizes

    k: Annotated[int, Param("Smallest number of records in a class of one attribute, if there is to be one.", low=2)]
    epsilon: Annotated[
        float | Mapping[str, float],
        Param("The ε of the noise that will be added, or that of each attribute."),
    ] = 1.0
    split: Annotated[
        Literal["even", "expression1", "least"],
        Param("How ε is shared among attributes: evenly, by the widths of their domains, or for the least error."),
    ] = "least"
    at_least_k: Annotated[bool, Param("Let every class of an attribute have at least k records.")] = False

    relative_cost: ClassVar[float] = 0.0
    cost_of_cell: ClassVar[float] = 1e-5  #: seconds to sort one coordinate of a record

    def __post_init__(self) -> None:
        parts = list(self.epsilon.values()) if isinstance(self.epsilon, Mapping) else [self.epsilon]
        if any(isinstance(e, bool) or not isinstance(e, Real) or not _LOW <= float(e) <= _HIGH for e in parts):
            raise ParameterError(
                f"LeastError: epsilon must be a number ≥ {_LOW:g} and ≤ {_HIGH:g}, or one for each attribute, got "
                f"{shown(self.epsilon)}. Correct it."
            )
        super().__post_init__()

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form the classes of least expected error for each attribute; nothing is random."""
        from shoal.kernels.order.least_error import least_error_cut, noise_scales
        from shoal.kernels.order.projection import cut_labels

        self._refuse(points)
        columns = [points.coordinates[:, place] for place, *_ in points.places.values()]
        orders = [np.argsort(column, kind="stable") for column in columns]
        ordered = [np.ascontiguousarray(column[order]) for column, order in zip(columns, orders, strict=True)]
        widths = _widths(points, ordered)
        epsilons = self._epsilons(points, ordered, widths)
        scales = noise_scales(widths, epsilons)
        blocks = []
        for name, order, x, scale, share in zip(
            points.places, orders, ordered, scales, epsilons / epsilons.sum(), strict=True
        ):
            labels = cut_labels(order, least_error_cut(x, float(scale), self._least))
            note = "" if self.at_least_k else "a class may have one record, and then only noise protects it"
            blocks.append(Block((name,), labels, self.at_least_k, note=note, share=float(share)))
        return Partition(tuple(blocks), "" if points.widths is not None else _FROM_THE_DATA)

    @property
    def _least(self) -> int:
        return self.k if self.at_least_k else 1

    def _refuse(self, points: Points) -> None:
        if len(points) < self._least:
            raise DataError(
                f"LeastError: k must be at most the number of records, got k = {self.k:,} and {len(points):,} in the "
                f"table. Lower k."
            )
        if self.at_least_k and points.subjects is not None:
            raise ParameterError(
                "LeastError: at_least_k must be false where k counts subjects, because it would count records. Leave "
                "it out, or leave out subject."
            )
        if isinstance(self.epsilon, Mapping) and (lacking := [n for n in points.places if n not in self.epsilon]):
            raise ParameterError(
                f"LeastError: epsilon must be one number, or one for each attribute; missing for {listing(lacking)}. "
                "Add it."
            )
        for name, places in points.places.items():
            if len(places) != 1:
                raise DataError(
                    f"LeastError: there must be 1 coordinate for each attribute; {name!r} has {len(places)}. Give it "
                    "another role, or choose another method."
                )

    def _epsilons(
        self, points: Points, ordered: list[NDArray[np.float64]], widths: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the ε of each attribute."""
        from shoal.kernels.order.least_error import even_shares, in_own_units, least_error_shares, width_shares

        if isinstance(self.epsilon, Mapping):
            return np.array([float(self.epsilon[name]) for name in points.places])
        if self.split == "even":
            shares = even_shares(len(widths))
        elif self.split == "least":
            shares = least_error_shares(ordered, widths, float(self.epsilon), self._least, points.footings)
        else:
            shares = width_shares(in_own_units(widths, points.footings))
        return np.asarray(shares * float(self.epsilon))


def _widths(points: Points, ordered: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the widths of the domains, or those of the data if none are given; at most the largest float."""
    if points.widths is not None:
        return np.asarray(points.widths)
    with np.errstate(over="ignore"):
        return np.asarray(np.nan_to_num(np.array([column[-1] - column[0] for column in ordered])))
