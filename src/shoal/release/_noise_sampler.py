"""Noise for a release: drawn by OpenDP, and rounded to a resolution within bounds.

OpenDP's draws are safe against floating-point attacks; the seed serves tests only.

The resolution comes from the recipe or from the kind of the column, never from the data. So rounding is
post-processing: it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import EngineError, ParameterError
from shoal.types import Domain, Kind

_LARGEST = 2**62  # fits into int64 and is exact as a double
_EXACT = 2**53  # every integer up to this is exact as a double


@dataclass(frozen=True)
class Grid:
    """Multiples of a resolution inside the bounds of an attribute.

    Attributes
    ----------
    step
        The resolution.
    first, last
        The lowest and the highest multiple inside the bounds, in steps.
    domain
        The bounds.
    whole
        Whether values are released as int64.
    """

    step: Fraction
    first: int
    last: int
    domain: Domain
    whole: bool

    @classmethod
    def of(cls, name: str, step: float, domain: Domain, *, whole: bool) -> Grid:
        """Return the grid of an attribute.

        Raises
        ------
        ParameterError
            If no multiple of the resolution lies within the bounds.

        >>> grid = Grid.of("age", 5, Domain(0.5, 99.5), whole=True)
        >>> grid.rounded(np.array([0.5, 12.4, 99.5])).to_pylist()
        [5, 10, 95]
        """
        exact = Fraction(str(step))
        low, high = (Fraction(str(float(end))) for end in domain)
        if whole:
            low, high = max(low, Fraction(-_LARGEST)), min(high, Fraction(_LARGEST))
        first, last = math.ceil(low / exact), math.floor(high / exact)
        if first > last:
            raise ParameterError(
                f"Laplace: the bounds of {name!r} must contain a multiple of its resolution, {step:g}, but do not. "
                "Widen the bounds, or give a finer resolution."
            )
        return cls(exact, first, last, domain, whole)

    def rounded(self, values: NDArray[np.float64]) -> pa.Array:
        """Return the nearest multiple of each value, with no more digits than the resolution has."""
        with np.errstate(over="ignore"):  # a step may be far smaller than the values
            steps = np.clip(np.rint(values / float(self.step)), float(self.first), float(self.last))
        if self.whole:
            return pa.array(np.clip(steps.astype(np.int64), self.first, self.last) * int(self.step))
        if self.step.denominator > _EXACT:
            return pa.array(self.domain.clamped(steps * float(self.step)))
        # steps × numerator is an integer, so the quotient is rounded once: 0.3, not 0.30000000000000004
        return pa.array(self.domain.clamped(steps * self.step.numerator / self.step.denominator))


def step_of(kind: Kind, resolution: float | str | None) -> float | None:
    """Return the step of an attribute's released values: as declared, or 1 for integers; None: all digits.

    >>> step_of(Kind.INTEGER, None), step_of(Kind.CONTINUOUS, None), step_of(Kind.CONTINUOUS, 0.5)
    (1, None, 0.5)
    """
    if resolution is not None:
        assert not isinstance(resolution, str)  # otherwise it was refused
        return resolution
    return 1 if kind is Kind.INTEGER else None


_STEPS = 64  # of one rounding each: the library rounds its figures up


@dataclass(frozen=True)
class Noise:
    """Source of noise.

    The library draws from the discrete Laplace distribution on the multiples of 2⁻¹⁰⁷⁴, with exact arithmetic, and
    rounds to the nearest float; it takes its randomness from the operating system. **Its seed cannot be set.** So tests
    have another source, which is not private: anyone who knows the seed can remove the noise.
    """

    seed: int | None = None  #: not private

    @property
    def name(self) -> str:
        """Return the name of the source."""
        if self.seed is not None:
            return "a seed, for a test: NOT PRIVATE"
        return f"OpenDP {self._library.__version__}"

    @cached_property
    def _library(self) -> Any:
        library = registry.package("opendp", "dp", "Laplace")
        prelude = registry.package("opendp.prelude", "dp", "Laplace")
        prelude.enable_features("contrib")  # contains its Laplace mechanism
        prelude.__version__ = getattr(library, "__version__", "") or _version()
        return prelude

    @cached_property
    def _seeded(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def laplace(
        self, values: NDArray[np.float64], sensitivity: float, epsilon: float
    ) -> tuple[NDArray[np.float64], float]:
        """Return values with Laplace noise, and its scale.

        **Guarantee.** The scale is at least sensitivity / ε, and the library itself confirms that the result is
        ε-differentially private for lists that differ by `sensitivity` in L1.
        """
        if sensitivity == 0.0:
            return values.copy(), 0.0
        scale = _scale(sensitivity, epsilon)
        if self.seed is not None:
            return values + self._seeded.laplace(0.0, scale, len(values)), scale
        dp = self._library
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
        measurement, scale = _calibrated(lambda b: dp.m.make_laplace(*space, scale=b), sensitivity, epsilon, scale)
        return np.asarray(measurement(values.tolist()), np.float64), scale

    def choose(
        self, scores: NDArray[np.float64], sensitivity: float, epsilon: float
    ) -> tuple[NDArray[np.int64], float]:
        """Draw a column for each row of scores by the exponential mechanism; return the columns and the scale.

        `sensitivity` is the largest change of each score of a row.
        """
        scale = _scale(2.0 * sensitivity, epsilon)
        if self.seed is not None:
            drawn = self._seeded.gumbel(0.0, scale, scores.shape)
            return np.asarray((scores + drawn).argmax(axis=1), np.int64), scale
        dp = self._library
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
        measurement, scale = _calibrated(
            lambda b: dp.m.make_noisy_max(*space, dp.max_divergence(), scale=b), sensitivity, epsilon, scale
        )
        return np.array([measurement(row) for row in scores.tolist()], np.int64), scale


def noisy(
    values: NDArray[np.float64],
    labels: NDArray[np.int64],
    domain: Domain,
    cost: tuple[NDArray[np.float64], float],
    noise: Noise,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the noisy mean of each class, within the bounds, and the scale of its noise.

    `cost` holds the largest change of the mean of each class (or, as one number, of the list of all), and ε.
    """
    reach, epsilon = cost
    offsets = domain.clamped(values) - domain.low  # from 0: rounding errors are then small relative to the width
    means = exact_means(offsets, labels)
    every = np.broadcast_to(reach, means.shape)
    found, scales = np.empty(len(means)), np.empty(len(means))
    for one in np.unique(every):  # classes of one size at once: by parallel composition each has ε
        where = np.flatnonzero(every == one)
        found[where], scales[where] = noise.laplace(means[where], float(one), epsilon)
    return domain.clamped(found + domain.low), scales


def exact_means(values: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each class from its correctly rounded sum, independent of row order.

    >>> exact_means(np.array([1e16, 1.0, -1e16, 5.0]), np.array([0, 0, 0, 1])).tolist()
    [0.3333333333333333, 5.0]
    """
    order = np.argsort(labels, kind="stable")
    cuts = np.cumsum(np.bincount(labels))[:-1]
    return np.array([math.fsum(part.tolist()) / len(part) for part in np.split(values[order], cuts)])


def _scale(sensitivity: float, epsilon: float) -> float:
    scale = sensitivity / epsilon
    if not math.isfinite(scale):
        raise ParameterError(
            "Laplace: the noise must have a finite scale, but it would be infinite. Raise epsilon, or "
            "narrow the bounds."
        )
    return scale


def _calibrated(make: Callable[[float], Any], sensitivity: float, epsilon: float, scale: float) -> tuple[Any, float]:
    """Return the measurement with the least scale, starting from `scale`, that the library confirms to give ε."""
    for _ in range(_STEPS):
        measurement = make(scale)
        if measurement.map(sensitivity) <= epsilon:
            return measurement, scale
        scale = math.nextafter(scale * (1.0 + 2.0**-50), math.inf)
    raise EngineError("Laplace: the library found no scale of noise that gives epsilon. Choose another epsilon.")


def _version() -> str:
    from importlib.metadata import version

    return version("opendp")
