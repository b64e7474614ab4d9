"""Classes of least expected error in fractions, by trying every cut or every last class. Obviously right, and slow."""

from fractions import Fraction


def error(values, squared_scale):
    """The exact expected error of one class: its SSE, and the noise that its members share.

    The variance of Laplace noise of scale b is 2b², here b = Δ/(mε), and m members have it: `squared_scale` is 2(Δ/ε)².
    """
    mean = sum(values, Fraction(0)) / len(values)
    return sum((value - mean) ** 2 for value in values) + squared_scale / len(values)


def cuts(n, k):
    """Every way to cut n records in a row into runs of at least k: the sizes, from the first to the last."""
    if n == 0:
        yield []
    for last in range(k, n + 1):
        for before in cuts(n - last, k):
            yield [*before, last]


def cost(ordered, scale, sizes):
    """The exact expected error of a cut; the scale is √2·Δ/ε."""
    values, total, begin = [Fraction(x) for x in ordered], Fraction(0), 0
    for size in sizes:
        total += error(values[begin : begin + size], Fraction(scale) ** 2)
        begin += size
    return total


def least_by_trying(ordered, scale, k):
    """The least expected error of all cuts."""
    return min(cost(ordered, scale, sizes) for sizes in cuts(len(ordered), k))


def least(ordered, scale, k):
    """The same, record by record: the best cut of the first j is the best of the first i and a class of the others."""
    values, squared = [Fraction(x) for x in ordered], Fraction(scale) ** 2
    best = [Fraction(0)]
    for j in range(1, len(values) + 1):
        ways = [best[i] + error(values[i:j], squared) for i in range(j - k + 1) if best[i] is not None]
        best.append(min(ways) if ways else None)
    return best[-1]


def least_partition(values, scale):
    """The least expected error of all partitions, in order or not."""

    def partitions(rest):
        if not rest:
            yield []
            return
        for smaller in partitions(rest[1:]):
            yield [[rest[0]], *smaller]
            for at, members in enumerate(smaller):
                yield [*smaller[:at], [rest[0], *members], *smaller[at + 1 :]]

    exact = [Fraction(x) for x in values]
    return min(sum(error(members, Fraction(scale) ** 2) for members in parts) for parts in partitions(exact))
