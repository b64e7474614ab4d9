"""Small strata join the nearest, transcribed. Obviously right, and slow."""


def merged(points, strata, k, subjects=None):
    """Return the strata as sets of the strata that there were."""
    held = {frozenset([s]): [i for i, t in enumerate(strata) if t == s] for s in sorted(set(strata))}

    def size(rows):
        return len(rows) if subjects is None else len({subjects[i] for i in rows})

    def mean(rows):
        return [sum(points[i][j] for i in rows) / len(rows) for j in range(len(points[0]))]

    names = {frozenset([s]): s for s in set(strata)}  # a stratum keeps the name of the one that was joined
    while len(held) > 1 and min(size(rows) for rows in held.values()) < k:
        small = min(held, key=lambda g: (size(held[g]), names[g]))
        others = [g for g in held if g != small]
        at = mean(held[small])
        near = min(others, key=lambda g: (sum((a - b) ** 2 for a, b in zip(at, mean(held[g]), strict=True)), names[g]))
        names[small | near] = names[near]
        held[small | near] = held.pop(small) + held.pop(near)
    return set(held)
