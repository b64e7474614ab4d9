"""Histograms of confidential values in each class, and exact comparison of their entropies.

With counts nᵢ that add up to s, exp(entropy) ≥ l means s^s ≥ l^s · Π nᵢ^nᵢ. Floats decide where the two sides are far
apart. Otherwise both sides are products of powers of integers: common factors show whether they are equal, and if they
are not, logarithms with increasing precision show which one is larger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counting.classes import Classes, classes_of
from shoal.privacy.counting.numbers import worst
from shoal.privacy.counting.values import Values, values_of, values_within
from shoal.types import ConfidentialModel, Finding, Release


class Uneven(NamedTuple):
    """Classes in which some values occur more often than others."""

    at: NDArray[np.int64]  #: positions of these classes among all
    counts: NDArray[np.int64]  #: counts of its values, grouped by class and descending
    begins: NDArray[np.int64]  #: position of the first count of each class in `counts`
    distinct: NDArray[np.int64]  #: number of distinct values of each class
    sizes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histograms:
    """Values of each class and their counts: runs of equal codes in sorted order.

    Attributes
    ----------
    values, classes
        The values and classes that the histograms belong to.
    codes
        Codes of the records' values, grouped by class and ascending within each.
    runs
        Position of each run of equal codes in `codes`. A run does not cross classes.
    begins
        The first run of each class.
    """

    values: Values
    classes: Classes
    codes: NDArray[np.int64] = field(repr=False)
    runs: NDArray[np.int64] = field(repr=False)
    begins: NDArray[np.int64] = field(repr=False)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of records of each run."""
        if len(self.runs) == len(self.codes):
            return np.ones(len(self.runs), np.int64)
        return gaps(self.runs, len(self.codes))

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        """Return the number of distinct values of each class."""
        return gaps(self.begins, len(self.runs))

    @cached_property
    def commonest(self) -> NDArray[np.int64]:
        """Return the count of the most common value of each class."""
        if len(self.runs) == len(self.codes):
            return np.ones(len(self.begins), np.int64)
        return np.asarray(np.maximum.reduceat(self.counts, self.begins))

    @cached_property
    def even(self) -> NDArray[np.bool_]:
        """Tell for each class whether all its values occur equally often."""
        return np.asarray(self.commonest * self.distinct == self.classes.sizes)

    @cached_property
    def uneven(self) -> Uneven:
        """Return the other classes, with their counts sorted."""
        at = np.flatnonzero(~self.even)
        if not len(at):
            return Uneven(at, at, at, at, at)
        distinct = self.distinct[at]
        begins = np.cumsum(distinct) - distinct
        counts = self.counts if len(at) == len(self.even) else self.counts[np.repeat(~self.even, self.distinct)]
        after = np.repeat(np.arange(len(at)) * (int(counts.max(initial=0)) + 1), distinct)
        keys = after - counts
        keys.sort(kind="stable")  # classes keep their positions: merging runs is much faster here
        return Uneven(at, after - keys, begins, distinct, self.classes.sizes[at])

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """Return the count of each value in the whole table."""
        if self.values.table is not None:
            return self.values.table
        return np.bincount(self.values.codes, minlength=self.values.count)

    @cached_property
    def base(self) -> NDArray[np.int64]:
        """Return the codes of the values of all records, ascending."""
        if self.values.base is not None:
            return self.values.base
        if int(self.table.max()) == 1 and int(self.table.min()) == 1:
            return np.arange(len(self.table))
        return np.repeat(np.arange(len(self.table)), self.table)


def gaps(begins: NDArray[np.int64], end: int) -> NDArray[np.int64]:
    """Return the distance from each start to the next, and from the last to the end."""
    found = np.empty(len(begins), np.int64)
    np.subtract(begins[1:], begins[:-1], out=found[:-1])
    found[-1:] = end - begins[-1:]
    return found


def histograms_of(release: Release, names: Sequence[str], confidential: str, *, as_counted: bool = False) -> Histograms:
    """Count the values of a confidential column in each class over some columns; computed once per release.

    A missing value is a value. NaN is missing, and −0 is 0. With `as_counted`, values that differ only in capitals,
    surrounding blanks or invisible characters are one value; 01 and 1 are two. Classes are those of the audit of
    k-anonymity. Nothing is dropped, so the order of rows does not matter.

    >>> import pyarrow as pa
    >>> from shoal.types import Column, Kind, Role, Schema
    >>> schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)))
    >>> release = Release(pa.table({"age": [3, 3, 5, 3], "pay": [9, 8, 9, 9]}), schema)
    >>> found = histograms_of(release, ["age"], "pay")
    >>> found.counts.tolist(), found.distinct.tolist()
    ([1, 2, 1], [2, 1])
    """
    values = seen(release, confidential)
    key = ("histograms", tuple(names), confidential, as_counted and values.merged is not None)
    if key not in release.cache:
        values = values.as_counted() if as_counted else values
        release.cache[key] = _counted(values, classes_of(release, names))
    found: Histograms = release.cache[key]
    return found


def seen(release: Release, confidential: str) -> Values:
    """Return the values of a confidential column, numbered once per release."""
    key = ("values", confidential)
    if key not in release.cache:
        reference, column = release.references.get(confidential), release.schema[confidential]
        release.cache[key] = (
            values_of(column, release.values(confidential))
            if reference is None
            else values_within(column, release.data.column(confidential), reference)
        )
    found: Values = release.cache[key]
    return found


def _counted(values: Values, classes: Classes) -> Histograms:
    codes = classes.codes(values.codes, values.count)
    new = np.empty(len(codes), np.bool_)
    np.not_equal(codes[1:], codes[:-1], out=new[1:])
    new[classes.begins] = True
    runs = np.flatnonzero(new)
    begins = classes.begins if len(runs) == len(codes) else np.searchsorted(runs, classes.begins)
    return Histograms(values, classes, codes, runs, begins)


def fewest_values(
    model: ConfidentialModel, required: int | None, release: Release, names: tuple[str, ...], confidential: str
) -> Finding:
    """Find the fewest values of a confidential column in any class over some columns."""
    found = histograms_of(release, names, confidential, as_counted=True)
    single = found.distinct == 1
    return model.finding(
        names,
        int(found.distinct.min()),
        required,
        len(found.distinct),
        worst(found.distinct, found.classes),
        confidential=confidential,
        uniform=(int(single.sum()), int(found.classes.sizes[single].sum())),
    )


_DIGITS = 40
Counts = tuple[int, ...]  #: counts of the values of a class, descending


def entropies(some: Uneven) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the entropy of each class in floats, and an error bound."""
    few = int(some.counts.max(initial=0)) + 1
    if few <= len(some.counts):  # few distinct counts: one logarithm for each
        terms = np.arange(few) * np.log(np.maximum(np.arange(few), 1))
        terms = terms[some.counts]
    else:
        terms = some.counts * np.log(some.counts)
    logs = np.log(some.sizes)
    means = np.add.reduceat(terms, some.begins) / some.sizes
    # a sum of m terms has at most m rounding errors of its size; logarithms have a few of theirs
    return logs - means, (some.distinct + 8) * 2.3e-16 * (logs + means)


def kinds(some: Uneven, which: NDArray[np.int64]) -> set[Counts]:
    """Return the distinct histograms of some classes."""
    found: set[Counts] = set()
    for m in np.unique(some.distinct[which]).tolist():
        begins = some.begins[which[some.distinct[which] == m]]
        base = int(some.counts[begins].max()) + 1
        if m * base.bit_length() <= 62:  # then the counts of a class are the digits of one number
            keys = np.zeros(len(begins), np.int64)
            for j in range(m):
                keys = keys * base + some.counts[begins + j]
            begins = begins[np.unique(keys, return_index=True)[1]]
        found.update(tuple(some.counts[b : b + m].tolist()) for b in begins.tolist())
    return found


def effective(counts: Counts) -> Decimal:
    """Return exp(entropy) of a class to forty digits.

    >>> effective((1, 1, 1))
    Decimal('3.000000000000000000000000000000000000000')
    """
    context = Context(prec=_DIGITS + 20)
    found = context.exp(context.divide(_logarithm(_powers(counts), context), Decimal(sum(counts))))
    return Context(prec=_DIGITS).plus(found)


def at_least(counts: Counts, l: Fraction) -> bool:  # noqa: E741
    """Tell whether exp(entropy) of a class is at least l, exactly.

    >>> at_least((2, 1), Fraction(2)), at_least((2, 2), Fraction(2))
    (False, True)
    """
    powers, s = _powers(counts), sum(counts)
    powers.update({l.denominator: s})
    powers.subtract({l.numerator: s})
    if _is_one(powers):
        return True
    digits = _DIGITS
    while True:  # terminates: the product is not 1
        context = Context(prec=digits)
        found = _logarithm(powers, context)
        scale = sum((abs(power) * context.ln(Decimal(base)) for base, power in powers.items()), Decimal(0))
        if abs(found) > scale.scaleb(3 - digits + len(str(len(powers)))):
            return found > 0
        digits *= 2


def _powers(counts: Counts) -> Counter[int]:
    """Return s^s / Π nᵢ^nᵢ as powers of integers."""
    powers = Counter({sum(counts): sum(counts)})
    for count, classes in Counter(counts).items():
        powers[count] -= count * classes
    return powers


def _logarithm(powers: Counter[int], context: Context) -> Decimal:
    total = Decimal(0)
    for base, power in powers.items():
        total = context.add(total, context.multiply(Decimal(power), context.ln(Decimal(base))))
    return total


def _is_one(powers: Counter[int]) -> bool:
    """Tell whether a product of powers of integers is 1: if bases share no factor, all powers must be 0."""
    prime_to_each_other: dict[int, int] = {}
    todo = [(base, power) for base, power in powers.items() if base > 1 and power]
    while todo:
        base, power = todo.pop()
        if base == 1:
            continue
        other = next((known for known in prime_to_each_other if gcd(known, base) > 1), None)
        if other is None:
            prime_to_each_other[base] = power
        elif other == base:
            prime_to_each_other[base] += power
        else:
            common, known = gcd(other, base), prime_to_each_other.pop(other)
            todo += [(common, power), (base // common, power), (common, known), (other // common, known)]
    return not any(prime_to_each_other.values())
