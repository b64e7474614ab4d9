"""A class of a stream that misses its demands is mended: tuples come in, or change places with members.

Symbols: m tuples wait, the first of them expires; `far` are squared distances from it.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.jit import part
from shoal.kernels.stream_excess import excess


@part
def mend(d, room, values, waits, m, order, s, k):
    """Change a class until it holds all demands; return its size, or 0 if all that wait are no such class.

    `order` are the places in `waits`, nearest first. One change at a time: the one that costs least distance for what
    it mends. When none mends, others come in, one after the other, whoever leaves least missing: then a class may come
    to hold on the way through some that miss more. The tuple that expires, place 0, stays; k different subjects stay.
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
    """Return who comes in, whose place it takes (s: a new one), and what is missing then; −1: no change mends."""
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
    """Take whoever leaves least missing, the nearest of several, until all demands hold; return the size, or 0."""
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
    """Tell whether k subjects are left when one changes places with another."""
    leaves, enters = room.subjects[waits[goes]], room.subjects[waits[comes]]
    if leaves == enters:
        return True
    return different - (room.held[leaves] == 1) + (room.held[enters] == 0) >= k
