"""Classes of a stream by looking ahead, or of the nearest, repaired until demands hold. Obviously right, and slow."""

import numpy as np


def _squared(rows, weight, a, b):
    total = 0.0
    for x, y in zip(rows[a]["x"], rows[b]["x"], strict=True):
        total += (x - y) * (x - y)
    off = weight * (rows[a]["position"] - rows[b]["position"])
    return total + off * off


def look_ahead(waiting, k, delay, weight, demands=(), excess=None, due=0, reach=3, young=0.3, old=0.7, more=0.5):
    """Labels (−1: waits, −2: dropped) and moments. With reach 1 the k nearest, repeated subjects among them."""
    columns = (waiting.coordinates, waiting.positions, waiting.subjects, waiting.values)
    names = ("x", "position", "subject", "values")
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(column.tolist() for column in columns), strict=True)]
    bases = [list(one.base) for one in demands]
    labels, moments, waits = [-1] * len(rows), [], []

    def distance(a, b):
        return _squared(rows, weight, a, b)

    def expire(last, now):
        while waits and rows[waits[0]]["position"] <= last:
            members = _choose(rows, waits, k, delay, distance, now, reach, young, old, more)
            if members:
                members = _mend(rows, waits, members, k, distance, demands, bases, excess)
            if not members:
                labels[waits.pop(0)] = -2
                continue
            for row in members:
                labels[row] = len(moments)
                waits.remove(row)
            moments.append(now)

    for i, row in enumerate(rows):
        waits.append(i)
        if i >= waiting.old:
            for j, one in enumerate(demands):
                if one.model == "t_closeness" and one.grows:
                    bases[j][row["values"][j]] += 1
            expire(row["position"] - delay, row["position"])
    if rows:
        expire(due - 1, rows[-1]["position"])
    return np.array(labels, np.int64), np.array(moments, np.int64)


def _choose(rows, waits, k, delay, distance, now, reach, young, old, more):
    e = waits[0]
    others = sorted(waits[1:], key=lambda row: (distance(e, row), row))
    candidates, subjects = [e], {rows[e]["subject"]}
    for row in others:
        if len(subjects) == reach * k:
            break
        if reach == 1 or rows[row]["subject"] not in subjects:
            candidates.append(row)
        subjects.add(rows[row]["subject"])
    if len(subjects) < k:
        return []
    if reach == 1:
        return candidates

    def price(row):
        near = sorted(distance(row, z) for z in waits[1:] if z != row)[: 2 * k - 1]
        total = 0.0
        for x in near:
            total += x
        age = min((now - rows[row]["position"]) / delay, 1.0)
        return total / (len(near) + 1) * (young + (old - young) * age)

    prices = {row: price(row) for row in candidates[1:]}
    sums = {row: 0.0 if row == e else distance(row, e) for row in candidates}
    members, pairs = [e], 0.0

    def free():
        return [row for row in candidates if row not in members]

    while len(members) < 2 * k - 1:
        s = len(members)
        if s == k:
            pairs = _exchange(members, free, prices, sums, candidates, distance, pairs)
        part = 1.0 if s < k else more
        over = {row: (pairs + sums[row]) / (s + 1) - pairs / s - part * prices[row] for row in free()}
        if s >= k:
            over = {row: x for row, x in over.items() if x < 0.0}
        if not over:
            break
        y = min(over, key=over.get)  # the first of several
        pairs += sums[y]
        members.append(y)
        for row in candidates:
            sums[row] += distance(row, y) if row != y else 0.0
    return members


def _exchange(members, free, prices, sums, candidates, distance, pairs):
    for _ in range(20):
        best, x, y = 0.0, -1, -1
        for a, goes in enumerate(members):
            for z in free() if a else []:
                over = (sums[z] - sums[goes] - distance(goes, z)) / len(members) - prices[z] + prices[goes]
                if over < best:
                    best, x, y = over, a, z
        if x < 0:
            break
        goes = members[x]
        pairs += sums[y] - sums[goes] - distance(goes, y)
        members[x] = y
        for row in candidates:
            sums[row] += (distance(row, y) if row != y else 0.0) - (distance(row, goes) if row != goes else 0.0)
    return pairs


def _mend(rows, waits, members, k, distance, demands, bases, excess):
    members, e = list(members), waits[0]

    def missing(some):
        total = 0.0
        for j, one in enumerate(demands):
            total += excess(one, [rows[row]["values"][j] for row in some], bases[j])
        return total

    others = sorted(waits[1:], key=lambda row: (distance(e, row), row))
    lacks = missing(members)
    while lacks > 0.0:
        best, found, left = np.inf, None, lacks
        for comes in others:
            if comes in members:
                continue
            for a in range(len(members), 0, -1):
                some = [*members[:a], comes, *members[a + 1 :]]
                if a < len(members) and len({rows[row]["subject"] for row in some}) < k:
                    continue
                then = missing(some)
                if then < lacks:
                    cost = distance(e, comes) - (distance(e, members[a]) if a < len(members) else 0.0)
                    price = cost / (lacks - then) if cost > 0.0 else cost * (lacks - then)
                    if price < best:
                        best, found, left = price, some, then
        if found is None:
            return _grown(members, others, missing)
        members, lacks = found, left
    return members


def _grown(members, others, missing):
    while left := [row for row in others if row not in members]:
        then = {row: missing([*members, row]) for row in left}
        members = [*members, min(then, key=then.get)]  # the nearest of several
        if missing(members) == 0.0:
            return members
    return []
