"""Space cut into blocks by a weighted sample, transcribed. Obviously right, and slow.

A vector is a list of its columns. A column is ("number",) or ("code", weight, distance), where distance(a, b) is that
of two categories, from 0 to 1. A tree is None for a block, or (column, value, left, right).
"""


def cut_tree(columns, vectors, counts, wanted):
    """The tree that cuts a sample into at most `wanted` blocks; it has codes if a column is of codes."""
    if wanted == 1:
        return None
    coded = any(column[0] == "code" for column in columns)
    widths = [_width(column, [v[j] for v in vectors], counts, coded) for j, column in enumerate(columns)]
    for j in sorted(range(len(columns)), key=lambda j: (-widths[j], j)):
        values = sorted({v[j] for v in vectors})
        if len(values) == 1:
            continue
        target = sum(counts) * (wanted // 2) / wanted
        below = {at: sum(c for v, c in zip(vectors, counts, strict=True) if v[j] < at) for at in values[1:]}
        value = min(values[1:], key=lambda at: (abs(below[at] - target), at))
        sides = []
        for left, share in ((True, wanted // 2), (False, wanted - wanted // 2)):
            inside = [at for at, v in enumerate(vectors) if (v[j] < value) == left]
            part = [vectors[at] for at in inside], [counts[at] for at in inside]
            sides.append(cut_tree(columns, *part, share))
        return (j, value, *sides)
    return None


def _width(column, values, counts, coded):
    """How wide a column is: its range; next to codes, the squared distance between the halves of its records."""
    if not coded:
        return max(values) - min(values)
    records = sorted(v for v, c in zip(values, counts, strict=True) for _ in range(2 * c))  # each counts twice
    half = len(records) // 2
    lower, upper = records[:half], records[half:]
    if column[0] == "number":
        return (upper[(half + 1) // 2 - 1] - lower[(half + 1) // 2 - 1]) ** 2
    _, weight, distance = column
    share = {v: (lower.count(v) - upper.count(v)) / half for v in set(records)}
    return -0.5 * weight * sum(share[a] * share[b] * distance(a, b) for a in share for b in share)


def without_small(tree, records, least):
    """The tree without cuts below which a block holds fewer than `least` records; those of the blocks from the left."""
    records = list(records)

    def pruned(node):
        if node is None:
            return None, records.pop(0)
        left, below = pruned(node[2])
        right, above = pruned(node[3])
        small = min(below, above) < least
        return None if small else (node[0], node[1], left, right), below + above

    return pruned(tree)[0]


def blocks(tree):
    """The number of blocks."""
    return 1 if tree is None else blocks(tree[2]) + blocks(tree[3])


def block_of(tree, vector):
    """The number of a vector's block, from the left."""
    if tree is None:
        return 0
    j, value, left, right = tree
    return block_of(left, vector) if vector[j] < value else blocks(left) + block_of(right, vector)
