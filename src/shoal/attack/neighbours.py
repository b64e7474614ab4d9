"""Neighbours: outputs that are likelier for one of two neighbouring tables than ε allows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types.attack import Attempt, Case, codes, joined, numbers
from shoal.types.protocols import Attack

_CELLS = 64  # outputs of a number that is not rounded
_SLACK = 1e-6  # relative: the ledger is written with rounded figures
_DEVIATIONS = 4.0
_MOST = 200  # neighbours of a class


@dataclass(frozen=True)
class Neighbours(Attack):
    """The attacker knows all records but one, and asks which of two tables explains the release better.

    **What the attacker knows.** The release, its ε, bounds and scales of noise from the evidence (or ε and bounds from
    the recipe), and all records but one.

    **What the attacker does.** *Exactly, on a small domain*: every attribute has two values, the ends of its bounds.
    For each pair of classes that differ in one record, and each output (a step of the resolution, or one of 64 parts of
    the bounds), computes both probabilities from the scale that the evidence states. One record may change all
    attributes at once, so the logarithms of the largest ratios add up. *From the release itself*: half of all draws
    from a Laplace distribution of scale b are farther than b·ln 2 from its centre. If significantly fewer of the
    released values are that far from the true means of their classes, their noise is smaller than ε needs. The test
    uses classes so far from both bounds that clamping does not matter, and adds the rounding to the distance.

    Noise from a published seed can be removed, and bounds from the data move with a record: both exceed any ε.

    The sensitivity is a lower bound, so that a success is always real: with fixed classes a mean moves by the width of
    the bounds over the size of the class; for original records the sum of all means moves by at least that, with the
    largest size. A medoid is tested with fixed classes only.

    **Learnt.** Records in classes with an output whose ratio exceeds e^ε. **Baseline.** 0: there must be none.

    References: [DMNS06], [SD17].
    """

    needs: ClassVar[tuple[str, ...]] = ("recipe",)
    advice: ClassVar[str] = "Do not claim this ε; protect the table again with bounds in the recipe and without a seed."

    def run(self, case: Case) -> Attempt:
        """Compare probabilities of outputs, and the size of the noise, with ε."""
        claim = _Claim.of(case)
        if claim is None:
            return Attempt.not_run(self.key, "It needs a release that claims differential privacy, and its ε.")
        n = len(case)
        if claim.open:
            return Attempt.of(self.key, n, n, 0.0, f"a record, because {claim.open},")
        found = [self._stated(case, claim), self._measured(case, claim)]
        return Attempt.worst(found)

    def _stated(self, case: Case, claim: _Claim) -> Attempt:
        """Compute the ratios that the stated scales lead to."""
        if claim.original:
            size = claim.largest(case)
            spent = np.full(len(case), math.fsum(_stated(entry, claim, size, "least_scale") for entry in claim.entries))
        else:
            spent = np.sum([self._in_classes(case, claim, entry) for entry in claim.entries], axis=0)
        learnt = int((spent > claim.epsilon * (1.0 + _SLACK)).sum())
        what = "a record more surely than ε allows, from noise of the stated scale,"
        return Attempt.of(self.key, len(case), learnt, 0.0, what)

    def _in_classes(self, case: Case, claim: _Claim, entry: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the logarithm of the largest ratio for each record; the smallest classes have the largest scale."""
        labels = claim.labels(case, entry["attribute"])
        sizes = np.bincount(labels)
        found = np.zeros(len(sizes))
        for size in np.unique(sizes).tolist():
            which = "least_scale" if size == sizes.max() else "scale"  # between the two: at most the largest
            found[sizes == size] = _stated(entry, claim, size, which)
        return np.asarray(found[labels])

    def _measured(self, case: Case, claim: _Claim) -> Attempt:
        """Compare the distances of released values from the true means with the noise that ε needs."""
        what = "a record more surely than ε allows, because the released noise is too small,"
        if case.truth is None or claim.representative != "mean":
            return Attempt.of(self.key, len(case), 0, 0.0, what)
        for entry in claim.entries:
            name = entry["attribute"]
            if name not in claim.bounds or name not in case.table.data.column_names:
                continue
            own, shown = (numbers(table.data.column(name)) for table in (case.truth, case.table))
            if own is None or shown is None or not np.isfinite(own).all():
                continue
            labels = claim.labels(case, name)
            sizes = np.bincount(labels)
            low, high = claim.bounds[name]
            needed = (high - low) / (np.maximum(sizes, claim.largest(case) if claim.original else 0) * entry["epsilon"])
            if too_small(own, shown, labels, needed, claim.bounds[name], float(claim.steps.get(name, 0.0))):
                return Attempt.of(self.key, len(case), len(case), 0.0, what)
        return Attempt.of(self.key, len(case), 0, 0.0, what)


@dataclass(frozen=True)
class _Claim:
    """The claim of a release: its ε, and how it was spent.

    Attributes
    ----------
    entries
        For each attribute its ε and, if known, the scales of its noise.
    open
        Why the noise protects nothing at all; empty: it may.
    """

    epsilon: float
    original: bool
    representative: str
    bounds: Mapping[str, tuple[float, float]]
    steps: Mapping[str, float]
    entries: tuple[Mapping[str, Any], ...]
    open: str

    def labels(self, case: Case, name: str) -> NDArray[np.int64]:
        """Return the classes of the block of an attribute, as anybody sees them."""
        blocks = {entry["attribute"]: entry.get("block", 0) for entry in self.entries}
        own = [other for other, at in blocks.items() if at == blocks[name] and other in case.table.data.column_names]
        return joined((codes(case.table.data.column(other)) for other in own), len(case))

    def largest(self, case: Case) -> int:
        """Return the largest size that a class can have; classes with equal released values look like one."""
        k = int(case.recipe.get("k") or (case.evidence or {}).get("recipe", {}).get("k") or 1)
        counts = [int(entry["classes"]) for entry in self.entries if "classes" in entry]
        return len(case) - (min(counts, default=1) - 1) * k

    @classmethod
    def of(cls, case: Case) -> _Claim | None:
        """Return the claim in the evidence or, failing that, in the recipe; None if neither has one."""
        ledger = (case.evidence or {}).get("ledger")
        if ledger is not None:
            because = [
                reason
                for field, reason in (
                    ("seeded", "the noise came from a seed"),
                    ("bounds_from_the_data", "the bounds come from the data"),
                )
                if ledger.get(field)
            ]
            return cls(
                float(ledger["epsilon"]),
                ledger["claim"] == "original",
                ledger.get("representative", "mean"),
                {name: (float(low), float(high)) for name, (low, high) in ledger["bounds"].items()},
                ledger.get("resolution", {}),
                tuple(ledger["entries"]),
                " and ".join(because),
            )
        epsilon, bounds = case.recipe.get("epsilon"), case.recipe.get("bounds")
        if epsilon is None or not isinstance(bounds, Mapping):
            return None
        each = epsilon if isinstance(epsilon, Mapping) else dict.fromkeys(case.quasi, epsilon)
        return cls(
            float(sum(epsilon.values()) if isinstance(epsilon, Mapping) else epsilon),
            case.recipe.get("claim") == "original",
            str(case.recipe.get("set", {}).get("representative", "mean")),
            {name: (float(low), float(high)) for name, (low, high) in bounds.items()},
            {},
            tuple({"attribute": name, "epsilon": float(own)} for name, own in each.items()),
            "",
        )


def _stated(entry: Mapping[str, Any], claim: _Claim, size: int, which: str) -> float:
    """Return the logarithm of the largest ratio for a stated scale; 0 if none is stated."""
    return _log_ratio(entry, claim, size, float(entry[which])) if which in entry else 0.0


def _log_ratio(entry: Mapping[str, Any], claim: _Claim, size: int, scale: float) -> float:
    """Return the logarithm of the largest ratio of probabilities of an output, between neighbours of a small domain."""
    name = entry["attribute"]
    if scale <= 0.0:
        return math.inf
    if name not in claim.bounds:  # two categories, as far apart as possible; drawn by score over scale
        return max(abs(a - b) for a, b in _choices(size, scale, one=claim.representative == "medoid"))
    moved = 1 if claim.representative == "medoid" else size
    if claim.original and claim.representative == "medoid":
        return 0.0
    low, high = claim.bounds[name]
    cuts = cuts_of(low, high, float(claim.steps.get(name, 0.0)))
    means = low + (high - low) * np.arange(moved + 1) / moved
    chosen = np.unique(np.linspace(0, moved, min(moved, _MOST) + 1).astype(int))[:-1]
    return max(log_ratio(float(means[at]), float(means[at + 1]), scale, cuts) for at in chosen)


def _choices(size: int, scale: float, *, one: bool) -> Iterator[tuple[float, float]]:
    """Yield logarithms of the probability of a category, for neighbouring classes of two categories."""
    moved = 1 if one else size
    for at in range(min(moved, _MOST)):
        a, b = (1.0 - 2.0 * there / moved for there in (at, at + 1))
        for sign in (1.0, -1.0):
            yield -_softplus(sign * a / scale), -_softplus(sign * b / scale)


def _softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def cuts_of(low: float, high: float, step: float) -> NDArray[np.float64]:
    """Return the ends between outputs: midpoints of steps, or of equal parts of the bounds."""
    parts = (high - low) / step if step > 0.0 else _CELLS
    return np.asarray(np.linspace(low, high, int(min(max(parts, 2), 4 * _CELLS)) + 1)[1:-1])


def log_ratio(one: float, other: float, scale: float, cuts: NDArray[np.float64]) -> float:
    """Return the largest logarithm of a ratio of probabilities of an output, between Laplace noise around two centres.

    Outputs are the stretches between cuts; the first and the last contain everything beyond, because noisy values are
    clamped.

    >>> round(log_ratio(0.0, 0.5, 0.25, np.array([0.0, 0.5, 1.0])), 6)
    2.0
    """
    found = 0.0
    for a, b in zip(_logs(one, scale, cuts), _logs(other, scale, cuts), strict=True):
        found = max(found, float(np.abs(a - b).max(initial=0.0)))
    return found


def _logs(centre: float, scale: float, cuts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return logarithms of the probabilities of falling below, and above, each cut."""
    z = (cuts - centre) / scale
    near = np.log1p(-0.5 * np.exp(-np.abs(z)))
    far = -np.abs(z) - math.log(2.0)
    return np.where(z < 0, far, near), np.where(z < 0, near, far)


def too_small(
    own: NDArray[np.float64],
    shown: NDArray[np.float64],
    labels: NDArray[np.int64],
    needed: NDArray[np.float64],
    bounds: tuple[float, float],
    step: float,
) -> bool:
    """Tell whether released values are significantly nearer to the true means of classes than noise of a scale is.

    Parameters
    ----------
    own, shown
        Original and released values of the records, shape (n,).
    labels
        Their classes; classes that share a released value look like one, so large ones are left out.
    needed
        The least scale of the noise of each class.
    bounds, step
        The ends of the domain, and the resolution; 0: not rounded.
    """
    sizes = np.bincount(labels)
    low, high = bounds
    means = np.bincount(labels, np.clip(own, low, high)) / sizes
    values = shown[np.unique(labels, return_index=True)[1]]
    half = needed * math.log(2.0)
    used = (sizes < 2 * sizes.min()) & (means - low > half + step) & (high - means > half + step)
    far = np.abs(values - means)[used] + 0.5 * step >= half[used]
    return bool(0.5 * used.sum() - far.sum() > _DEVIATIONS * 0.5 * math.sqrt(max(int(used.sum()), 1)))
