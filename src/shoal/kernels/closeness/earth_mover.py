"""Earth mover's distance between classes and the table: exact, from prefix sums, or bounded, from bins.

Values are the leaves of a tree whose edges have lengths; the distance between two values is the length of the path
between them. Then

    EMD(C, T) = Σ over edges: length · |share of C below − share of T below|.

Ordered values are a path of m − 1 edges of length 1 / (m − 1); unordered values a star of edges of length ½; a taxonomy
is itself the tree, with edge lengths such that the distance of two leaves is the height of their lowest common
ancestor.

Every share is a count over s = |C| or n = |T| and every length an integer over a common scale. The *work*
n · s · scale · EMD is therefore an integer, and is stored as one.

Large merged classes keep bins instead: runs of neighbouring values. For each bin, a class stores how many of its codes
are in the bin and, summed over these codes, how many values of the bin are at or above the code. Both together give the
sum of n · records of C − s · records of T over the values of the bin; unless the sign may change inside, that is its
work.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.types import Confidential

_FINEST = 10**9  # t is rounded down to a multiple of the inverse
_MARGIN = 1e-9  # extra closeness required of a class too large for exact work


class Closeness(NamedTuple):
    """Reference for every class: the distribution of each confidential attribute in the table.

    Values and, in a tree, the nodes above them are numbered attribute by attribute; `first` gives the first number of
    each attribute. The values of a tree are ordered so that those below a node are neighbours.
    """

    codes: np.ndarray  #: (attributes, records) int32, the value of each record, from 0
    first: np.ndarray  #: (attributes + 1,) int64
    line: np.ndarray  #: (attributes,) bool: ordered values
    below: np.ndarray  #: (nodes,) int64: line: records with this value or a lower one; tree: records below the node
    area: np.ndarray  #: (nodes,) int64: line: sum of `below` over lower values
    rank: np.ndarray  #: (attributes, n) int32: line: the value of the record of that rank
    parent: np.ndarray  #: (nodes,) int64: tree: the node above, counted from `first`; −1: none that matters
    low: np.ndarray  #: (nodes,) int64: tree: the first value below the node
    high: np.ndarray  #: (nodes,) int64: tree: the value after the last
    length: np.ndarray  #: (nodes,) int64: tree: length of the edge upwards
    whole: np.ndarray  #: (attributes,) int64: tree: Σ length · below
    scale: np.ndarray  #: (attributes,) int64
    exact: np.ndarray  #: (attributes,) int64: the largest class whose work is certain not to exceed 2⁶²
    n: int  #: records of the table
    quota: np.ndarray  #: (attributes,) int64: whole part of t · n · scale …
    rest: np.ndarray  #: (attributes,) int64: … and its fractional part, in units of 1 / finest
    finest: int
    t: float


def closeness(attributes: Sequence[Confidential], t: float) -> Closeness:
    """Lay out the reference that classes must be within t of in each attribute.

    Complexity: O(n + m) for each attribute.
    """
    trees = [_line(a) if a.ordered else _tree(a) for a in attributes]
    n = int(attributes[0].counts.sum())
    first = np.concatenate(([0], np.cumsum([len(tree["below"]) for tree in trees]))).astype(np.int64)
    scale = [int(tree["scale"]) for tree in trees]
    wanted = Fraction(str(float(t)))
    fine = wanted.numerator * _FINEST // wanted.denominator  # rounded down: stricter than requested, never weaker
    joined = {
        name: np.concatenate([tree[name] for tree in trees]).astype(np.int64)
        for name in ("below", "area", "parent", "low", "high", "length")
    }
    rank = np.zeros((len(trees), n), np.int32)
    for at, a in enumerate(attributes):
        if a.ordered:
            rank[at] = np.repeat(np.arange(len(a.counts), dtype=np.int32), a.counts)
    return Closeness(
        codes=np.ascontiguousarray([a.codes for a in attributes], dtype=np.int32),
        first=first,
        line=np.array([a.ordered for a in attributes]),
        rank=rank,
        whole=np.array([int((tree["length"] * tree["below"]).sum()) for tree in trees], np.int64),
        scale=np.array(scale, np.int64),
        exact=np.array([2**62 // (n * s) for s in scale], np.int64),
        n=n,
        quota=np.array([fine * n * s // _FINEST for s in scale], np.int64),
        rest=np.array([fine * n * s % _FINEST for s in scale], np.int64),
        finest=_FINEST,
        t=fine / _FINEST,
        **joined,
    )


def _line(a: Confidential) -> dict[str, np.ndarray]:
    below = np.cumsum(a.counts)
    nothing = np.zeros(len(below), np.int64)
    area = np.concatenate(([0], np.cumsum(below)[:-1]))
    scale = np.array(max(len(below) - 1, 1))
    return dict.fromkeys(("parent", "low", "high", "length"), nothing) | {"below": below, "area": area, "scale": scale}


def _tree(a: Confidential) -> dict[str, np.ndarray]:
    values = len(a.counts)
    if a.parents is None:
        nothing, one, own = np.zeros(values, np.int64), np.ones(values, np.int64), np.arange(values)
        star = {"parent": -one, "low": own, "high": own + 1, "length": one, "below": a.counts}
        return star | {"area": nothing, "scale": np.array(2)}
    parent = np.asarray(a.parents)
    nodes = len(parent)
    low, high, below, height = (np.zeros(nodes, np.int64) for _ in range(4))
    low[:], low[:values], high[:values] = values, np.arange(values), np.arange(values) + 1
    below[:values] = a.counts
    for node in range(nodes):  # parents come after their children
        if (up := parent[node]) >= 0:
            low[up], high[up] = min(low[up], low[node]), max(high[up], high[node])
            below[up] += below[node]
            height[up] = max(height[up], height[node] + 1)
    top = int(height.max()) + 1
    length = np.where(parent >= 0, height[parent], top) - height
    found = {"parent": parent, "low": low, "high": high, "length": length, "below": below}
    return found | {"area": np.zeros(nodes, np.int64), "scale": np.array(2 * top)}


@part
def _line_work(c, at, codes, s, n, size):
    """Sum |n · records of C up to a value − s · records of T up to it| over all values but the last.

    `n` and `size` are n and s, as integers, or as floats where integers would overflow.
    """
    begin, values = c.first[at], c.first[at + 1] - c.first[at]
    total = n * 0
    v = 0  # values below this are done
    for j in range(s + 1):
        end = codes[j] if j < s else values - 1
        if end <= v:
            continue
        need = (c.n * j + s - 1) // s  # the first value at or below which at least n · j / s records of T lie
        x = min(max(c.rank[at, need - 1] if need > 0 else v, v), end)
        total += n * j * (x - v) - size * (c.area[begin + x] - c.area[begin + v])
        last = c.area[begin + end]
        total += size * (last - c.area[begin + x]) - n * j * (end - x)
        v = end
    return total


@part
def _tree_work(c, at, codes, s, n, size):
    """Sum length · |n · records of C below a node − s · records of T below it|, from differences to an empty C."""
    begin = c.first[at]
    total = size * c.whole[at]
    for p in range(s):
        node = np.int64(codes[p])
        if p > 0 and codes[p] == codes[p - 1]:
            continue
        while node >= 0 and (p == 0 or c.low[begin + node] > codes[p - 1]):  # otherwise it was visited before
            count = p + 1
            while count < s and codes[count] < c.high[begin + node]:
                count += 1
            there = size * c.below[begin + node]
            total += c.length[begin + node] * (abs(n * (count - p) - there) - there)
            node = c.parent[begin + node]
    return total


@part
def work(c, at, codes, s):
    """Return n · s · scale · EMD of a class of s records with these codes, ascending, for one attribute.

    Exact if s ≤ c.exact[at]. O(s) steps, for a tree O(s · its height), and more where values repeat.
    """
    n, size = np.int64(c.n), np.int64(s)
    if c.line[at]:
        return _line_work(c, at, codes, s, n, size)
    return _tree_work(c, at, codes, s, n, size)


@part
def distance(c, at, codes, s):
    """Return the EMD of a class of s records with these codes, ascending, for one attribute."""
    if s <= c.exact[at]:
        return work(c, at, codes, s) / (float(c.n) * s * c.scale[at])
    n, size = float(c.n), float(s)
    rough = _line_work(c, at, codes, s, n, size) if c.line[at] else _tree_work(c, at, codes, s, n, size)
    return rough / (n * size * c.scale[at])


@part
def most_work(c, at, s):
    """Return the largest work with which a class of s records is still close enough."""
    return c.quota[at] * s + c.rest[at] * s // c.finest


@part
def is_close(c, at, codes, s):
    """Tell whether a class of s records with these codes, ascending, is within t of the table in one attribute."""
    if s <= c.exact[at]:
        return work(c, at, codes, s) <= most_work(c, at, s)
    return distance(c, at, codes, s) <= c.t - _MARGIN


@part
def over(c, at, codes, s):
    """Return s · (EMD − t) of a class of s records with these codes, ascending; 0 if and only if it is close enough."""
    if s > c.exact[at]:
        return max(distance(c, at, codes, s) - c.t + _MARGIN, 0.0) * s
    more = work(c, at, codes, s) - most_work(c, at, s)
    return more / (float(c.n) * c.scale[at]) if more > 0 else 0.0


@kernel
def _distances(c, codes, bounds, at, out, close):
    for q in range(bounds.shape[0] - 1):
        begin, end = bounds[q], bounds[q + 1]
        out[q] = distance(c, at, codes[begin:end], end - begin)
        close[q] = is_close(c, at, codes[begin:end], end - begin)


def distances(c: Closeness, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the EMD of every class in every attribute, and whether it is close enough.

    Returns
    -------
    distances : (attributes, classes) float64
    close : (attributes, classes) bool

    >>> ranks = Confidential("pay", np.arange(6), np.ones(6, np.int64))
    >>> distances(closeness([ranks], 0.25), np.array([0, 1, 0, 1, 1, 0]))
    (array([[0.1, 0.1]]), array([[ True,  True]]))
    """
    bounds = np.concatenate(([0], np.cumsum(np.bincount(labels))))
    shape = (len(c.line), len(bounds) - 1)
    found, close = np.empty(shape), np.empty(shape, np.bool_)
    for at in range(len(c.line)):
        order = np.lexsort((c.codes[at], labels))
        _distances(c, c.codes[at][order], bounds, at, found[at], close[at])
    return found, close


BINS = 2048
LARGE = 2048  # records; smaller classes are measured just as fast
_SLACK = 1e-12  # relative slack of a distance, more than any rounding error


class Coarse(NamedTuple):
    """Bins of the ordered attributes, and the contents of large classes by bin."""

    edge: np.ndarray  # (attributes, BINS + 1) the first value of each bin
    place: np.ndarray  # (values of all attributes,) bin of each value, -1 for the last value
    inside: np.ndarray  # (attributes, rooms, BINS) number of codes of a class
    reach: np.ndarray  # (attributes, rooms, BINS) sum over these codes of the values of the bin at or above them
    room: np.ndarray  # (pieces,) room that holds the bins of a class, -1: none
    free: np.ndarray  # stack of rooms that no class uses
    spare: np.ndarray  # (1,) how many


def coarse(c: Closeness, pieces: int, large: int = LARGE) -> Coarse:
    """Allocate rooms for the largest possible number of classes of at least `large` records at a time."""
    rooms = c.codes.shape[1] // large + 1
    edge = np.zeros((len(c.line), BINS + 1), np.int64)
    of_value = np.full(len(c.below), -1)
    for at in np.flatnonzero(c.line):
        begin, end = c.first[at], c.first[at + 1]
        edge[at] = (end - begin - 1) * np.arange(BINS + 1) // BINS
        of_value[begin : end - 1] = np.searchsorted(edge[at], np.arange(end - begin - 1), "right") - 1
    shape = (len(c.line), rooms, BINS)
    free = np.arange(rooms)
    return Coarse(
        edge, of_value, np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(pieces, -1), free, free[-1:] + 1
    )


@part
def _count(c, k, classes, room, a):
    """Add the codes of a class to the bins of a room."""
    for at in range(c.line.shape[0]):
        if not c.line[at]:
            continue
        piece = a
        while piece >= 0:
            for i in range(classes.bounds[piece], classes.bounds[piece + 1]):
                code = classes.codes[at, i]
                b = k.place[c.first[at] + code]
                if b >= 0:
                    k.inside[at, room, b] += 1
                    k.reach[at, room, b] += k.edge[at, b + 1] - code
            piece = classes.after[piece]


@part
def note_join(c, k, classes, a, b, large):
    """Add the bins of class b to those of class a, before b is merged into a; start bins if the union is large."""
    if classes.size[a] + classes.size[b] < large:
        return
    one, two = k.room[a], k.room[b]
    if one >= 0 and two >= 0:
        for at in range(c.line.shape[0]):
            for i in range(BINS):
                k.inside[at, one, i] += k.inside[at, two, i]
                k.reach[at, one, i] += k.reach[at, two, i]
        k.free[k.spare[0]] = two
        k.spare[0] += 1
    elif one >= 0:
        _count(c, k, classes, one, b)
    elif two >= 0:
        _count(c, k, classes, two, a)
        one = two
    else:
        k.spare[0] -= 1
        one = k.free[k.spare[0]]
        k.inside[:, one, :] = 0
        k.reach[:, one, :] = 0
        _count(c, k, classes, one, a)
        _count(c, k, classes, one, b)
    k.room[a], k.room[b] = one, -1


@part
def bounds_of(c, k, room, at, size):
    """Return bounds on size · EMD of a class in an ordered attribute."""
    begin, n, s = c.first[at], float(c.n), float(size)
    low = high = before = 0.0
    for b in range(BINS):
        first, after = k.edge[at, b], k.edge[at, b + 1]
        width, inside = float(after - first), float(k.inside[at, room, b])
        if after == first:
            continue
        table = float(c.area[begin + after] - c.area[begin + first])
        total = abs(n * (before * width + k.reach[at, room, b]) - s * table)
        most = n * (before + inside) - s * c.below[begin + first]
        least = n * before - s * c.below[begin + after - 1]
        before += inside
        low += total
        if width > 1.0 and least < 0.0 < most:
            total = min(width * max(most, -least), total + 2.0 * width * min(most, -least))
        high += total
    whole = n * c.scale[at]
    return low / whole - _SLACK * s, high / whole + _SLACK * s
