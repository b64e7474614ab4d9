"""Stream classes around expiring tuples that meet all demands.

Symbols: δ is `delay`, ω `weight`. m tuples are pending, the first of them expires; `far` are squared distances from it.
`pairs` is the sum of squared distances of all pairs in a class of s, so that pairs / s is its SSE; `sums` are each
candidate's squared distances from all members.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.stream.excess import Demanded, counted, excess, with_room
from shoal.kernels.stream.nearest import next_of, sink
from shoal.types.stream import Waiting


@part
def meet_demands(d, room, values, waits, m, order, s, k):
    """Change a class until it meets all demands; return its size, or 0 if even all pending tuples do not meet them.

    `order` are the positions in `waits`, nearest first. Each change is the one with the least distance per unit of
    excess removed. If no single change helps, tuples are added one by one, always the one that leaves the least excess:
    the class may then pass through states of larger excess before it meets all demands. The expiring tuple, position 0,
    stays, and so do k different subjects.
    """
    members, inside, held, subjects = room.members, room.inside, room.held, room.subjects
    for a in range(m):
        inside[a] = False
        held[subjects[waits[a]]] = 0
    different = 0
    for a in range(s):
        inside[members[a]] = True
        different += held[subjects[waits[members[a]]]] == 0
        held[subjects[waits[members[a]]]] += 1
    missing = excess(d, values, waits, members, s)
    while missing > 0.0:
        y, x, left = _change(d, room, values, waits, m, order, s, missing, different, k)
        if y < 0:
            return _grown(d, room, values, waits, m, order, s)
        who = subjects[waits[y]]
        different += held[who] == 0
        held[who] += 1
        inside[y] = True
        if x == s:
            s += 1
        else:
            inside[members[x]] = False
            who = subjects[waits[members[x]]]
            held[who] -= 1
            different -= held[who] == 0
        members[x], missing = y, left
    return s


@part
def _change(d, room, values, waits, m, order, s, missing, different, k):
    """Return the tuple to add, the one it replaces (s: none), and the excess after that; −1: no change helps."""
    members, far = room.members, room.far
    best, y, x, left = np.inf, -1, -1, missing
    for b in range(m):
        comes = order[b]
        if room.inside[comes]:
            continue
        for a in range(s, 0, -1):  # members[0] expires and stays
            if a < s and not _enough(room, waits, members[a], comes, different, k):
                continue
            goes = members[a]
            members[a] = comes
            size = s + 1 if a == s else s
            then = excess(d, values, waits, members, size)
            members[a] = goes
            if then < missing:
                cost = far[comes] if a == s else far[comes] - far[goes]
                price = cost / (missing - then) if cost > 0.0 else cost * (missing - then)
                if price < best:
                    best, y, x, left = price, comes, a, then
    return y, x, left


@part
def _grown(d, room, values, waits, m, order, s):
    """Add tuples that leave the least excess, ties to the nearest, until all demands hold; return the size, or 0."""
    members, inside = room.members, room.inside
    while s < m:
        y, left = -1, np.inf
        for b in range(m):
            if not inside[order[b]]:
                members[s] = order[b]
                then = excess(d, values, waits, members, s + 1)
                if then < left:
                    y, left = order[b], then
        members[s], inside[y] = y, True
        s += 1
        if left == 0.0:
            return s
    return 0


@part
def _enough(room, waits, goes, comes, different, k):
    """Tell whether k subjects remain when one tuple replaces another."""
    leaves, enters = room.subjects[waits[goes]], room.subjects[waits[comes]]
    if leaves == enters:
        return True
    return different - (room.held[leaves] == 1) + (room.held[enters] == 0) >= k


_EXCHANGES = 20


@part
def squared(given, weight, a, b):
    """Return the squared distance of two rows, with the position times ω as one more coordinate."""
    total, x, steps = 0.0, given.x, given.steps
    p = x.shape[1] - steps.shape[0]
    for j in range(p):
        off = x[a, j] - x[b, j]
        total += off * off
    for j in range(steps.shape[0]):
        total += 0.0 if x[a, p + j] == x[b, p + j] else steps[j]
    off = weight * (given.positions[a] - given.positions[b])
    return total + off * off


@part
def look_ahead(given, room, rule, waits, m, order, count, now):
    """Choose a class among the first `count` positions of `order`, all of different subjects; return its size.

    The first is the expiring tuple. Every other tuple has a price, roughly its loss in another class. The class adds
    the tuple with the least cost above its price until it has k; then exchanges members; then adds more where that
    pays.
    """
    k, members, inside, price, sums, between = rule.k, room.members, room.inside, room.price, room.sums, room.between
    for a in range(count):
        for b in range(a + 1, count):
            between[a, b] = squared(given, rule.weight, waits[order[a]], waits[order[b]])
            between[b, a] = between[a, b]
        between[a, a] = 0.0
        price[a] = _price(given, room, rule, waits, m, order[a], now) if a else 0.0
        inside[a], sums[a] = a == 0, between[a, 0]
    members[0] = 0
    s, pairs = 1, 0.0
    while s < 2 * k - 1:
        if s == k:
            pairs = _exchange(room, s, count, pairs)
        y = _next(room, s, count, pairs, 1.0 if s < k else rule.more, s >= k)
        if y < 0:
            break
        pairs += sums[y]
        members[s], inside[y] = y, True
        s += 1
        for z in range(count):
            sums[z] += between[z, y]
    for a in range(s):
        members[a] = order[members[a]]
    return s


@part
def _price(given, room, rule, waits, m, place, now):
    """Return the expected loss of a tuple in another class: part of its mean squared distance from the 2k − 1 nearest.

    The longer it has been pending, the fewer nearer tuples can still arrive, and the larger that part.
    """
    near, row = room.near, waits[place]
    most, found = min(2 * rule.k - 1, m - 2), 0
    for a in range(1, m):  # without the expiring one
        if a == place:
            continue
        far = squared(given, rule.weight, row, waits[a])
        if found < most or (most > 0 and far < near[most - 1]):
            at = min(found, most - 1)
            while at > 0 and near[at - 1] > far:
                near[at] = near[at - 1]
                at -= 1
            near[at] = far
            found = min(found + 1, most)
    total = 0.0
    for a in range(found):
        total += near[a]
    age = min((now - given.positions[row]) / rule.delay, 1.0)
    return total / (found + 1) * (rule.young + (rule.old - rule.young) * age)


@part
def _next(room, s, count, pairs, part_of, pays):
    """Return the candidate with the least cost above its price; −1 if none pays."""
    best, y = np.inf, -1
    for z in range(1, count):
        if not room.inside[z]:
            over = (pairs + room.sums[z]) / (s + 1) - pairs / s - part_of * room.price[z]
            if over < best and (over < 0.0 or not pays):
                best, y = over, z
    return y


@part
def _exchange(room, s, count, pairs):
    """Exchange members for others, the best pair first, while that lowers the SSE minus the prices."""
    members, inside, price, sums, between = room.members, room.inside, room.price, room.sums, room.between
    for _ in range(_EXCHANGES):
        best, x, y = 0.0, -1, -1
        for a in range(1, s):
            goes = members[a]
            for z in range(1, count):
                if not inside[z]:
                    over = (sums[z] - sums[goes] - between[goes, z]) / s - price[z] + price[goes]
                    if over < best:
                        best, x, y = over, a, z
        if x < 0:
            break
        goes = members[x]
        pairs += sums[y] - sums[goes] - between[goes, y]
        members[x], inside[y], inside[goes] = y, True, False
        for z in range(count):
            sums[z] += between[z, y] - between[z, goes]
    return pairs


_DROPPED = -2


class Rule(NamedTuple):
    """How classes form; `reach` · k candidates are considered; with 1, the nearest are taken."""

    k: int
    delay: int
    weight: float
    reach: int
    young: float = 0.0  #: part of its price that counts when a tuple arrives
    old: float = 0.0  #: and when it expires
    more: float = 0.0  #: part of that for tuples beyond k


class _Given(NamedTuple):
    x: np.ndarray  #: numbers, then codes
    steps: np.ndarray  #: squared distance of tuples that differ in a code
    positions: np.ndarray
    values: np.ndarray
    labels: np.ndarray
    moments: np.ndarray


class _Room(NamedTuple):
    subjects: np.ndarray  #: subject of each row, numbered from 0
    held: np.ndarray  #: scratch for each subject
    waits: np.ndarray  #: pending rows, oldest first
    far: np.ndarray  #: squared distance of each from the expiring tuple
    order: np.ndarray  #: positions in `waits`, nearest first as far as they were sorted
    members: np.ndarray  #: positions in `waits`; while candidates are compared, positions in `order`
    inside: np.ndarray
    price: np.ndarray
    sums: np.ndarray
    near: np.ndarray
    between: np.ndarray


def steps(waiting: Waiting, rule: Rule, demanded: Demanded, due: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each tuple (−1: pending, −2: rejected) and the position at which each class formed."""
    n = len(waiting.positions)
    labels, moments = np.full(n, -1, np.int64), np.empty(n // rule.k + 1, np.int64)
    if not n:
        return labels, moments[:0]
    subjects = np.unique(waiting.subjects, return_inverse=True)[1].astype(np.int64)
    most = min(rule.reach * rule.k, n)
    few = most if rule.reach > 1 else 1
    room = _Room(
        subjects, np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64),
        np.empty(n + 1, np.int64), np.empty(n, np.bool_), np.empty(few), np.empty(few), np.empty(2 * rule.k),
        np.empty((few, few)),
    )  # fmt: skip
    x, values = np.ascontiguousarray(waiting.x), np.ascontiguousarray(waiting.values)
    given = _Given(x, np.array(waiting.steps, np.float64), waiting.positions, values, labels, moments)
    announce(_steps)
    classes = _steps(given, room, rule, with_room(demanded, n), waiting.old, due)
    return labels, moments[: int(classes)]


@kernel
def _steps(given, room, rule, demanded, old, due):
    positions, waits = given.positions, room.waits
    n, m, classes = len(positions), 0, 0
    for i in range(n + 1):
        last = due - 1
        if i < n:
            waits[m] = i
            m += 1
            last = np.int64(-1)
            if i >= old:
                counted(demanded, given.values, i)
                last = positions[i] - rule.delay
        while m > 0 and positions[waits[0]] <= last:
            now = positions[min(i, n - 1)]
            s = _class(given, room, rule, demanded, m, now)
            if s == 0:
                given.labels[waits[0]] = _DROPPED
            else:
                for a in range(s):
                    given.labels[waits[room.members[a]]] = classes
                given.moments[classes] = now
                classes += 1
            left = 0
            for a in range(m):
                if given.labels[waits[a]] == -1:
                    waits[left] = waits[a]
                    left += 1
            m = left
    return classes


@part
def _class(given, room, rule, demanded, m, now):
    """Choose a class for the oldest tuple; return its size, or 0 if no class is possible."""
    waits, far, order, members = room.waits, room.far, room.order, room.members
    for a in range(m):
        far[a] = squared(given, rule.weight, waits[0], waits[a])
        order[a] = a
        room.held[room.subjects[waits[a]]] = 0
    far[0] = -1.0
    for a in range(m // 2 - 1, -1, -1):
        sink(far, order, a, m)
    whole, size, different = m, 0, 0  # the heap is order[:whole]; entries taken from it are kept in members
    while whole > 0 and different < rule.reach * rule.k:
        place = next_of(far, order, whole)
        whole -= 1
        who = room.subjects[waits[place]]
        if room.held[who] == 0 or rule.reach == 1:
            members[size] = place
            size += 1
        different += room.held[who] == 0
        room.held[who] = 1
    if different < rule.k:
        return 0
    if rule.reach > 1:
        for a in range(size):
            order[a] = members[a]
        size = look_ahead(given, room, rule, waits, m, order, size, now)
    if len(demanded.kind) > 0 and excess(demanded, given.values, waits, members, size) > 0.0:
        _sort(order, far, m)
        far[0] = 0.0
        size = meet_demands(demanded, room, given.values, waits, m, order, size, rule.k)
    return size


@part
def _sort(order, far, m):
    """Sort all positions, nearest first."""
    for a in range(m):
        order[a] = a
    for a in range(m // 2 - 1, -1, -1):
        sink(far, order, a, m)
    for whole in range(m, 0, -1):
        next_of(far, order, whole)
    for a in range(m // 2):  # the nearest was put last
        order[a], order[m - 1 - a] = order[m - 1 - a], order[a]
