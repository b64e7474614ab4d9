"""What someone learns who knows the algorithm. Prints as it goes; Census needs census.csv, through SHOAL_DATA.

    python benchmarks/attackers.py [--small | --census | --posteriors] [--quick]

Small tables: exact probabilities of all links, by replaying every assignment of values to people. Census: proven links,
by constraint propagation. Posteriors: how far the distribution of a person's value is from the table, in exchangeable
releases, for someone who replays every assignment.
"""

import argparse
import itertools
import math
import os
import sys
import time

import numpy as np

import shoal
from closeness import tables
from mdav import standardised
from shoal.attack._propagation import Classes, Colouring, Matching, proven, remaining_orders
from shoal.attack._worlds import link_probabilities, number_of_worlds

MOST = 2_000  # worlds of a table at most
METHODS = {
    "mdav": {},
    "t_close_merge": {"t": 0.25},
    "t_close_anneal": {"t": 0.25, "effort": "fast"},
    "t_first": {"t": 0.25},
    "k_first": {"t": 0.25},
    "steered": {"t": 0.25},
    "p_sensitive": {"p": 2},
    "kpqr": {"p": 2, "q": 0.3, "r": 0.3},
    "auto": {"t": 0.25},
}
VALUES = {"p_sensitive": 4, "kpqr": 6}  # different values, so that there is something to enforce


def small(n, seed, several=None, related=1.0):
    """Return the coordinates and values of a small table; `related`: how much values follow a coordinate."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    values = np.argsort(np.argsort(related * x[:, 0] + rng.normal(size=n)))
    return x, values if several is None else values * several // n


def formed(x, k, method, values, more):
    """Return the classes of a method, numbered by first rows."""
    given = {} if method == "mdav" else {"confidential": values}
    labels = shoal.microaggregate(x, k, method=method, **given, **more).labels
    _, first, own = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[own]


def links(n, k, method, count):
    """Return the probability of every person's true link in some tables, and how many had too many worlds."""
    found, skipped = [], 0
    for seed in range(count):
        x, values = small(n, seed, VALUES.get(method))
        labels = formed(x, k, method, values, METHODS[method])
        if number_of_worlds(labels, values) > MOST:
            skipped += 1
            continue
        probabilities = link_probabilities(
            labels,
            values,
            lambda world, x=x, labels=labels: bool(
                (formed(x, k, method, world.copy(), METHODS[method]) == labels).all()
            ),
        )
        found.append((np.diag(probabilities), probabilities.max(axis=1)))
    return found, skipped


def enumerated(count):
    print("Probability of the true link: mean / largest of any link / people with a link above 0.9")
    for n, k in ((12, 2), (9, 3)):
        for method in METHODS:
            tables_ = count if method not in ("auto", "t_close_anneal") else max(count // 5, 2)
            found, skipped = links(n, k, method, tables_)
            if not found:
                print(f"n = {n}, k = {k} {method:>15}: every table has more than {MOST:,} worlds", flush=True)
                continue
            true, best = (np.concatenate(one) for one in zip(*found, strict=True))
            sure = int((best > 0.9).sum())
            print(
                f"n = {n}, k = {k} {method:>15}: {true.mean():.3f} / {best.max():.3f} / {sure} of {len(true)}"
                f"   ({len(found)} tables, {skipped} skipped)",
                flush=True,
            )


def census():
    print("\nCensus, n = 1,080, k = 5, t = 0.15: proven links, without prior knowledge and with known links")
    for data, (raw, values) in tables().items():
        x = standardised(raw)
        unit = (raw - raw.min(axis=0)) / np.ptp(raw, axis=0)
        for order in ("by coordinates", "by row"):  # how equal values are ordered
            rows = np.lexsort(raw.T[::-1]) if order == "by coordinates" else np.arange(len(raw))
            labels = shoal.microaggregate(x[rows], 5, method="steered", confidential=values[rows], t=0.15).labels
            ranked = values[rows].astype(float)
            if order == "by row":  # the order of rows was kept, so that it tells equal values apart
                ranked = np.argsort(np.argsort(values[rows], kind="stable")).astype(float)
            classes = Classes.of(labels, ranked)
            start = time.process_time()
            link = proven(classes, remaining_orders(classes, Matching.of(unit[rows], classes, 5)))
            right = link == np.unique(ranked, return_inverse=True)[1]
            spent = time.process_time() - start
            print(f"{data} steered, ties {order}: {(link >= 0).sum():,} proven, {right.sum():,} true, {spent:.1f} s")
        rows = np.lexsort(raw.T[::-1])
        labels = shoal.microaggregate(x[rows], 5, method="t_first", confidential=values[rows], t=0.15).labels
        classes = Classes.of(labels, values[rows].astype(float))
        truth = np.unique(values[rows], return_inverse=True)[1]
        conditions = Colouring.of(x[rows], labels, classes, 5)
        rng = np.random.default_rng(0)
        for known in (1, 1, 1, 11):
            some = {int(row): int(truth[row]) for row in rng.choice(len(truth), known, replace=False)}
            link = proven(classes, remaining_orders(classes, conditions, some))
            others = (link >= 0).sum() - known
            wrong = (link[link >= 0] != truth[link >= 0]).sum()
            print(f"{data} t_first, {known} known: {others:,} others proven, {wrong} wrong", flush=True)


def distance(share):
    """Return the earth mover's distance between a distribution over n ranks and the uniform one."""
    n = len(share)
    return np.abs(np.cumsum(share - 1 / n))[:-1].sum() / (n - 1)


def allocations(labels, atoms, values):
    """Yield all ways to give the values of each class to its atoms; within an atom values ascend."""
    world = values.copy()

    def fill(left, todo):
        if not todo:
            yield world
            return
        rows, c = todo[0]
        for chosen in itertools.combinations(sorted(left[c]), len(rows)):
            world[rows] = chosen
            yield from fill({**left, c: left[c] - set(chosen)}, todo[1:])

    of_class = {c: set(values[labels == c].tolist()) for c in np.unique(labels)}
    yield from fill(of_class, [(np.flatnonzero(atoms == a), labels[atoms == a][0]) for a in np.unique(atoms)])


def number_of_allocations(labels, atoms):
    found = 1
    for c in np.unique(labels):
        found *= math.factorial((labels == c).sum())
        for a in np.unique(atoms[labels == c]):
            found //= math.factorial((atoms == a).sum())
    return found


def posteriors(count):
    """Compare what someone infers about a person's value with t; exchanges within atoms need no replay."""
    print("\nn = 12, k = 2, t = 0.25: EMD between the posterior of a person's value and the table")
    for method, tables_ in (("t_close_merge", count), ("t_close_anneal", max(count // 3, 2))):
        far, public, skipped = [], [], 0
        for seed in range(tables_):
            x, values = small(12, seed, related=0.0)
            atoms = formed(x, 2, "mdav", values, {})
            labels = formed(x, 2, method, values, METHODS[method])
            if number_of_allocations(labels, atoms) > MOST // 2:
                skipped += 1
                continue
            found, seen = np.zeros((12, 12)), 0
            for world in allocations(labels, atoms, values):
                if (formed(x, 2, method, world.copy(), METHODS[method]) == labels).all():
                    seen += 1
                    for a in np.unique(atoms):
                        found[np.ix_(atoms == a, world[atoms == a])] += 1 / (atoms == a).sum()
            far += [distance(row) for row in found / seen]
            public += [distance(np.bincount(values[labels == c], minlength=12) / (labels == c).sum()) for c in labels]
        if far:
            print(
                f"{method}: {np.mean(np.array(far) > 0.25 + 1e-12):.0%} of {len(far)} people farther than t, largest "
                f"{max(far):.3f}; published classes at most {max(public):.3f} ({skipped} of {tables_} tables skipped)",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="only small tables")
    parser.add_argument("--census", action="store_true", help="only Census")
    parser.add_argument("--posteriors", action="store_true", help="only the distribution of a person's value")
    parser.add_argument("--quick", action="store_true", help="a few tables")
    given = parser.parse_args()
    every = not (given.small or given.census or given.posteriors)
    if given.small or every:
        enumerated(3 if given.quick else 10)
    if given.posteriors or every:
        posteriors(4 if given.quick else 20)
    if given.census or every:
        if "SHOAL_DATA" not in os.environ:
            sys.exit("SHOAL_DATA must name the folder of census.csv.")
        census()


if __name__ == "__main__":
    main()
