"""Demands on every class, laid out for kernels: closeness to the table, and the rules of the other privacy models.

A model is a *rule* with its levels, exactly as written: a level is Fraction(str(level)), a number of the table
Fraction(repr(x)), and no rounding decides which values are rare or far enough apart.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.closeness.earth_mover import Closeness, closeness, over
from shoal.kernels.models.rule_tables import of_dominance, of_gain, of_reach, of_spread, persons_of, subjects_by_place
from shoal.kernels.models.rules import DISTINCT, ENTROPY, RECURSIVE, SHARE, SPREAD, Rules, rule_excess
from shoal.kernels.runtime.jit import kernel, part
from shoal.types import Confidential, Points, Requirement

_LARGEST = 2**31  # records times the finest fraction of a level must fit into 64 bits
_SUBJECTS, _PERSONS = "the subjects of records", "the persons of records"
_DOMINANCE = "dominance"
_COUNT_VALUES = (
    *("p_sensitivity", "distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity", "alpha_k"),
    "beta_likeness",
)


class Demands(NamedTuple):
    """Demands on every class in each attribute."""

    c: Closeness  #: of all attributes
    close: np.ndarray  #: (attributes,) bool: whether t applies
    rules: Rules
    least: int  #: a class with fewer records can hardly meet the rules
    scratch: int  #: size of the scratch space that the rules need
    monotone: bool  #: whether a union of classes that meet all demands meets them too


def demands(attributes: Sequence[Confidential], required: Sequence[Requirement], *, rare_only: bool = False) -> Demands:
    """Lay out the demands on classes in confidential attributes; at least one attribute is required.

    The counts of `attributes` are those of the whole table. `required` are t_closeness, with one t for all, and any of
    the models that have a rule. With `rare_only`, the variance that r of kpqr refers to is that of the records with
    rare values, as in the heuristic of [DSS08], not that of the table.

    Complexity: O(n + m) for each attribute; if a range ends in ties, a few microseconds for each value.

    >>> ill = Confidential("ill", np.array([0, 1, 0, 1, 2, 2]), np.array([2, 2, 2]), ordered=False)
    >>> two = demands([ill], [Requirement("distinct_l_diversity", "ill", (("l", 2),))])
    >>> hold(two, np.array([0, 0, 1, 1, 2, 2])).tolist()
    [True, True, False]
    """
    place = {a.name: at for at, a in enumerate(attributes)}
    attributes, counted = _with_counted(attributes)
    made: list[list[dict[str, Any]]] = [[] for _ in attributes]
    close, t = np.zeros(len(attributes), np.bool_), None
    for one in required:
        at = place.get(one.attribute, -1)
        at = counted.get(at, at) if one.model in _COUNT_VALUES else at
        if at < 0:
            raise ParameterError(f"{one.model}: {one.attribute!r} is no confidential attribute. Name one that is.")
        if one.model == "t_closeness":
            if t not in (None, one.level("t")):
                raise ParameterError(
                    f"t_closeness: t must be the same for all attributes, got {t:g} and {one.level('t'):g}. Give one t."
                )
            close[at], t = True, one.level("t")
        elif one.model in _RULES:
            made[at] += _RULES[one.model](attributes[at], one, rare_only)
        else:
            raise ParameterError(
                f"{one.model}: no rule makes classes hold this model. Take one of t_closeness, {', '.join(_RULES)}."
            )
    asked = [at for at in range(len(made)) if close[at] or made[at]] or [0]  # the others would only cost time
    made, close = [made[at] for at in asked], close[asked]
    c = closeness([attributes[at] for at in asked], 1.0 if t is None else t)
    flat = [rule for rules in made for rule in rules]
    least = max((rule["size"] for rule in flat), default=1)
    scratch = 1 + max((rule.get("least", 0) for rule in flat), default=0)
    return Demands(c, close, _laid_out(made), least, scratch, all(rule["kind"] != SPREAD for rule in flat))


def _with_counted(attributes: Sequence[Confidential]) -> tuple[list[Confidential], dict[int, int]]:
    """Return the attributes, those with several spellings of a value a second time as counted, and where these are."""
    found, counted = list(attributes), {}
    for at, a in enumerate(attributes):
        if a.merged is not None:
            counted[at] = len(found)
            found.append(a.counted)
    return found, counted


def demands_of(points: Points, k: int, t: float | None) -> Demands | None:
    """Return the demands on classes of these points in addition to k records; None if nothing else is demanded.

    These are the requirements of the points, t for every confidential attribute if given, and k subjects in every class
    if records have subjects. If every record is a person and all weigh the same, k alone bounds the share that one
    person may hold: k must then be at least the inverse of that share.
    """
    attributes = list(points.confidential)
    required = [one for one in points.required if one.model != _DOMINANCE]
    if t is not None:
        required += [Requirement("t_closeness", a.name, (("t", t),)) for a in attributes]
    if points.subjects is not None:
        codes = subjects_by_place(points)
        attributes.append(Confidential(_SUBJECTS, codes, np.bincount(codes), ordered=False))
        required.append(Requirement("p_sensitivity", _SUBJECTS, (("p", k),)))
    bounds = [one for one in points.required if one.model == _DOMINANCE]
    if bounds and (points.subjects is not None or points.weights is not None):  # otherwise k is enough
        attributes.append(persons_of(points, _PERSONS))
        required += [Requirement(_DOMINANCE, _PERSONS, one.levels) for one in bounds]
    return demands(attributes, required) if required else None


def rows_of(d: Demands, positions: np.ndarray) -> Demands:
    """Return the demands on classes of some of the records; the reference stays the whole table."""
    return d._replace(c=d.c._replace(codes=np.ascontiguousarray(d.c.codes[:, positions])))


def least_size(d: Demands, k: int) -> int:
    """Return the smallest size at which a class of well-chosen records can meet all demands.

    For t this is [SC15] eq. (3), for values without ties: max{k, n / (2(n−1)t + 1)}, rounded up. A class of that size
    with one record from each of as many equal shares of the table is close.
    """
    least = max(k, d.least)
    return max(least, math.ceil(d.c.n / (2 * (d.c.n - 1) * d.c.t + 1) - 1e-9)) if d.close.any() else least


def hold(d: Demands, labels: np.ndarray) -> np.ndarray:
    """Tell for every class, numbered from 0, whether it meets all demands: (classes,) bool."""
    return np.asarray(excesses(d, labels) == 0.0)


def excesses(d: Demands, labels: np.ndarray) -> np.ndarray:
    """Return by how much every class, numbered from 0, misses the demands: (classes,) float64."""
    bounds = np.concatenate(([0], np.cumsum(np.bincount(labels))))
    out, scratch = np.zeros(len(bounds) - 1), np.zeros(d.scratch, np.int64)
    for at in range(len(d.close)):
        if d.close[at] or d.rules.begin[at] < d.rules.begin[at + 1]:
            order = np.lexsort((d.c.codes[at], labels))
            _add_excesses(d, at, d.c.codes[at][order], bounds, scratch, out)
    return out


@part
def _excess_in(d, at, codes, s, scratch):
    """Return by how much a class with these codes, ascending, misses the demands of one attribute."""
    total = over(d.c, at, codes, s) if d.close[at] else 0.0
    for q in range(d.rules.begin[at], d.rules.begin[at + 1]):
        total += rule_excess(d.c, d.rules, q, at, codes, s, scratch)
    return total


@kernel
def _add_excesses(d, at, codes, bounds, scratch, out):
    for b in range(out.shape[0]):
        begin, end = bounds[b], bounds[b + 1]
        if end > begin:
            out[b] += _excess_in(d, at, codes[begin:end], end - begin, scratch)


def _exactly(one: Requirement, name: str) -> Fraction:
    return Fraction(str(one.level(name)))


def _fine(level: Fraction) -> Fraction:
    """Return a level that counts may be multiplied by, rounded down if necessary, which is stricter than requested."""
    if max(level.numerator, level.denominator) < _LARGEST:
        return level
    level = min(level, Fraction(_LARGEST - 1))  # with this many records, a table is as good as infinite
    finest = max((_LARGEST - 1) // (math.floor(level) + 1), 1)
    return Fraction(math.floor(level * finest), finest)


def _distinct(name: str) -> Callable[[Confidential, Requirement, bool], list[dict[str, Any]]]:
    def make(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
        least = math.ceil(_exactly(one, name))
        return [{"kind": DISTINCT, "least": least, "size": least}] if least > 1 else []

    return make


def _entropy(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
    level = _exactly(one, "l")
    return [{"kind": ENTROPY, "level": math.log(level), "size": math.ceil(level)}] if level > 1 else []


def _recursive(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
    c, least = _fine(_exactly(one, "c")), math.ceil(_exactly(one, "l"))
    size = least + math.floor(1 / c) if c > 0 else least  # this many values, each once
    return [{"kind": RECURSIVE, "least": least, "top": c.numerator, "bottom": c.denominator, "size": size}]


def _share(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
    alpha = _fine(_exactly(one, "alpha"))
    size = math.ceil(1 / alpha) if alpha > 0 else 1
    return [{"kind": SHARE, "top": alpha.numerator, "bottom": alpha.denominator, "size": size}] if alpha < 1 else []


_RULES: dict[str, Callable[[Confidential, Requirement, bool], list[dict[str, Any]]]] = {
    "p_sensitivity": _distinct("p"),
    "distinct_l_diversity": _distinct("l"),
    "entropy_l_diversity": _entropy,
    "recursive_l_diversity": _recursive,
    "alpha_k": _share,
    "beta_likeness": of_gain,
    "k_e": of_reach,
    "kpqr": of_spread,
    _DOMINANCE: of_dominance,
}


def _laid_out(made: list[list[dict[str, Any]]]) -> Rules:
    """Concatenate the rules of all attributes, and their tables of values."""
    flat = [rule for rules in made for rule in rules]
    begin = np.concatenate(([0], np.cumsum([len(rules) for rules in made]))).astype(np.int64)
    whole, level = np.zeros((len(flat), 6), np.int64), np.zeros((len(flat), 2))
    number, mark, table = [np.zeros(0)], [np.zeros(0, np.int32)], 0
    for q, rule in enumerate(flat):
        known = rule.get("number", number[0])
        row = (rule["kind"], rule.get("least", 0), rule.get("top", 0), rule.get("bottom", 1), rule.get("metric", 0))
        whole[q], level[q] = (*row, table), (rule.get("level", 0.0), rule.get("base", 0.0))
        number.append(known)
        mark.append(rule.get("mark", mark[0]).astype(np.int32))
        table += len(known)
    return Rules(begin, whole, level, np.concatenate(number), np.concatenate(mark))
