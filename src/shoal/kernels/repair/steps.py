"""Single repair steps: the cheapest move that brings a class nearer to its demands.

A step concerns a failing class b and a neighbouring class c: a record of b moves to c, or one of c to b, or two records
are exchanged, or both classes are merged. It must lower the total excess of the two, and a class that meets all demands
must keep meeting them. Among these steps, the one with the smallest rise of SSE per unit of excess removed is made;
steps that lower the SSE come first.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.models.class_values import arrive, depart, excess_of, excess_of_union, transfer
from shoal.kernels.refine.class_state import apart, between, refresh, release, to_mean
from shoal.kernels.runtime.jit import kernel, part

OUT, IN, SWAP, JOIN = range(4)  #: kinds of steps
KIND, LEAVING, COMING, OTHER = range(4)  #: `Step.whole`
PRICE, OURS, THEIRS = range(3)  #: `Step.price`
LEAST = 0.05  #: excess, in records, that a step must remove, unless a class meets all demands after it
TRIALS = 1_500  #: exchanges tried for one step, those with the nearest classes


class Step(NamedTuple):
    """The best step so far."""

    whole: np.ndarray  #: (4,) int64: kind, record of b, record of c, class c; kind −1: none
    price: np.ndarray  #: (3,) float64: rise of SSE per unit of excess removed; excess of b and of c afterwards


def no_step() -> Step:
    """Return an empty step."""
    return Step(np.full(4, -1, np.int64), np.full(3, np.inf))


@part
def _priced(rise, removed):
    """Return the cost of a step per unit of excess removed; if the SSE falls, more of both is better."""
    return rise / removed if rise > 0.0 else rise * removed


@part
def _offer(r, best, kind, b, i, y, c, rise, ours, theirs):
    """Keep a step if it is allowed, and cheaper than the best so far."""
    removed = r.excess[b] + r.excess[c] - ours - theirs
    if removed <= 0.0 or (removed < LEAST and ours > 0.0) or (r.excess[c] == 0.0 and theirs > 0.0):
        return
    price = _priced(rise, removed)
    if price < best.price[PRICE]:
        best.price[PRICE], best.price[OURS], best.price[THEIRS] = price, ours, theirs
        best.whole[KIND], best.whole[LEAVING], best.whole[COMING], best.whole[OTHER] = kind, i, y, c


@part
def _worth(r, best, b, c, rise):
    """Tell whether a step with this rise can be cheaper than the best so far, whatever it removes."""
    return rise <= 0.0 or rise < best.price[PRICE] * (r.excess[b] + r.excess[c])


@part
def _offer_shift(a, r, best, b, c, x, k):
    """Offer the step that moves record x from its class, one of b and c, to the other."""
    home = a.label[x]
    to = c if home == b else b
    m, other = a.size[home], a.size[to]
    if m <= k or other >= a.member.shape[1]:
        return
    rise = to_mean(a, x, to) * other / (other + 1.0) - a.own[x] * m / (m - 1.0)
    if not _worth(r, best, b, c, rise):
        return
    without, having = excess_of(a, r, home, x, -1), excess_of(a, r, to, -1, x)
    if home == b:
        _offer(r, best, OUT, b, x, -1, c, rise, without, having)
    else:
        _offer(r, best, IN, b, -1, x, c, rise, having, without)


@part
def _alike(r, i, y):
    for at in range(r.code.shape[0]):
        if r.c.codes[at, i] != r.c.codes[at, y]:
            return False
    return True


@part
def _offer_swaps(a, r, best, b, c):
    w = 1.0 / a.size[b] + 1.0 / a.size[c]
    for q in range(a.size[c]):
        y = a.member[c, q]
        enters = to_mean(a, y, b) - a.own[y]
        for p in range(a.size[b]):
            i = a.member[b, p]
            rise = enters + to_mean(a, i, c) - a.own[i] - apart(a, i, y) * w
            if not _worth(r, best, b, c, rise) or _alike(r, i, y):
                continue
            ours = excess_of(a, r, b, i, y)
            if ours < r.excess[b] + r.excess[c]:
                _offer(r, best, SWAP, b, i, y, c, rise, ours, excess_of(a, r, c, y, i))


@part
def find_step(a, r, best, b, near, k):
    """Find the cheapest step of class b with the classes of a list, and return how many exchanges were tried.

    Negative numbers and empty classes are skipped.
    """
    best.whole[KIND], best.price[PRICE], trials = -1, np.inf, 0
    for q in range(near.shape[0]):
        c = near[q]
        if c < 0 or c == b or a.size[c] == 0:
            continue
        trials += a.size[b] * a.size[c]
        if trials > TRIALS and q > 0:
            break
        m, other = a.size[b], a.size[c]
        if m + other <= a.member.shape[1]:
            rise = between(a, b, c) * m * other / (m + other)
            if _worth(r, best, b, c, rise):
                _offer(r, best, JOIN, b, -1, -1, c, rise, excess_of_union(a, r, b, c), 0.0)
        for p in range(m):
            _offer_shift(a, r, best, b, c, a.member[b, p], k)
        for p in range(other):
            _offer_shift(a, r, best, b, c, a.member[c, p], k)
        _offer_swaps(a, r, best, b, c)
    return trials


@part
def make_step(a, r, best, b):
    """Make the step that was found."""
    kind, i, y, c = best.whole[KIND], best.whole[LEAVING], best.whole[COMING], best.whole[OTHER]
    if kind == OUT:
        transfer(a, r, i, c)
    elif kind == IN:
        transfer(a, r, y, b)
    elif kind == SWAP:
        depart(a, r, i)
        depart(a, r, y)
        arrive(a, r, i, c)
        arrive(a, r, y, b)
    else:
        for _ in range(a.size[c]):
            transfer(a, r, a.member[c, 0], b)
        release(a, c)
    r.excess[b], r.excess[c] = best.price[OURS], best.price[THEIRS]
    refresh(a, b)
    if kind != JOIN:
        refresh(a, c)


@kernel
def repair_classes(a, r, best, broken, near, k, budget):
    """Work on each class of a list, with its neighbours, until it passes, nothing helps, or the budget is spent.

    The budget is the number of exchanges to try. Returns the number of steps made.
    """
    steps = 0
    for q in range(broken.shape[0]):
        b = broken[q]
        while a.size[b] > 0 and r.excess[b] > 0.0 and budget > 0:
            budget -= find_step(a, r, best, b, near[q], k)
            if best.whole[KIND] < 0:
                break
            make_step(a, r, best, b)
            steps += 1
    return steps
