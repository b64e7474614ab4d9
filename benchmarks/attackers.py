"""What someone learns who knows the algorithm. Prints as it goes; Census needs census.csv, through SHOAL_DATA.

    python benchmarks/attackers.py [--small | --census | --posteriors] [--quick] [--only NAME]

Small tables: exact probabilities of all links, by replaying every assignment of values to people; methods, and whole
runs with requirements against either attacker. Census: proven links, by constraint propagation. Posteriors: how far the
distribution of a person's value is from the table, in exchangeable releases, for someone who replays every assignment;
with one partition, and with a secret choice among the best 20 where the method offers it.
"""

import argparse
import itertools
import math
import os
import sys
import time
from functools import cache

import numpy as np
import pyarrow as pa

import shoal
from closeness import tables
from mdav import standardised
from shoal.attack._propagation import Classes, Colouring, Matching, proven, remaining_orders
from shoal.attack._worlds import link_probabilities, number_of_worlds
from shoal.flow.classes.form import form
from shoal.flow.protect.anonymise import plan_for
from shoal.flow.stages.encode import confidential_arrays
from shoal.flow.stages.read import schema_for
from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.models.demands import demands_of
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.repair.unite import alternatives, effort_for
from shoal.types import Points, Table

MOST, MOST_OF_RUNS = 2_000, 15_000  # worlds of a table at most; whole runs are not repeated for the same atoms
METHODS = {
    "mdav": {},
    "t_close_merge": {"t": 0.25},
    "t_close_anneal": {"t": 0.25, "effort": "fast"},
    "t_first": {"t": 0.25},
    "k_first": {"t": 0.25},
    "steered": {"t": 0.25},
    "p_sensitive": {"p": 2},
    "kpqr": {"p": 2, "q": 0.3, "r": 0.3},
}
RUNS = {
    "require p": {"method": "mdav", "require": {"p": 2}},
    "require l_entropy": {"method": "mdav", "require": {"l_entropy": 1.5}},
    "require alpha": {"method": "mdav", "require": {"alpha": 0.6}},
    "auto with t": {"method": "auto", "t": 0.25, "effort": "fast"},
}
VALUES = {
    "p_sensitive": 4,
    "kpqr": 6,
    "require p": 4,
    "require l_entropy": 4,
    "require alpha": 4,
}  # different values, so that there is something to enforce


def small(n, seed, several=None, related=1.0):
    """Return the coordinates and values of a small table; `related`: how much values follow a coordinate."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    values = np.argsort(np.argsort(related * x[:, 0] + rng.normal(size=n)))
    return x, values if several is None else values * several // n


def run(x, k, method, values):
    """Return the classes and the atoms of a whole run, "name, attacker"."""
    name, _, attacker = method.partition(", ")
    recipe = shoal.Recipe(quasi=["a", "b"], confidential=["secret"], k=k, attacker=attacker, **RUNS[name])
    data = pa.table({"a": x[:, 0], "b": x[:, 1], "secret": values})
    table = Table(data, schema_for(data, recipe, None), None)
    (block,) = form(plan_for(table, recipe), table).partition.blocks
    return numbered(block.labels), block.atom_labels


def formed(x, k, method, values, more=None):
    """Return the classes of a method."""
    given = {} if method == "mdav" else {"confidential": values}
    return numbered(
        shoal.microaggregate(x, k, method=method, **given, **(METHODS[method] if more is None else more)).labels
    )


def classes_of(x, k, method, values):
    """Return a function from values to classes; runs on atoms with the same values are not repeated."""
    if method in METHODS:
        return lambda world: formed(x, k, method, world.copy())
    atoms = run(x, k, method, values)[1] if method.endswith("algorithm") else np.arange(len(x))

    @cache
    def of_atoms(inside):
        world = np.empty(len(x), np.int64)
        world[np.argsort(atoms, kind="stable")] = inside
        return run(x, k, method, world)[0]

    return lambda world: of_atoms(tuple(world[np.lexsort((world, atoms))].tolist()))


def links(n, k, method, count):
    """Return the probability of every person's true link in some tables, and how many had too many worlds."""
    found, skipped = [], 0
    for seed in range(count):
        x, values = small(n, seed, VALUES.get(method.partition(", ")[0]))
        classes = classes_of(x, k, method, values)
        labels = classes(values)
        if number_of_worlds(labels, values) > (MOST if method in METHODS else MOST_OF_RUNS):
            skipped += 1
            continue

        def same(world, classes=classes, labels=labels):
            return bool((classes(world) == labels).all())

        probabilities = link_probabilities(labels, values, same)
        found.append((np.diag(probabilities), probabilities.max(axis=1)))
    return found, skipped


def enumerated(count, only):
    names = [*METHODS, *(f"{name}, {attacker}" for name in RUNS for attacker in ("table", "algorithm"))]
    print("Probability of the true link: mean / largest of any link / people with a link above 0.9")
    for n, k in ((12, 2), (9, 3)):
        for method in [name for name in names if not only or only in name]:
            tables_ = count if method in METHODS and method != "t_close_anneal" else max(count // 2, 2)
            found, skipped = links(n, k, method, tables_)
            if not found:
                print(f"n = {n}, k = {k} {method:>28}: every table has too many worlds", flush=True)
                continue
            true, best = (np.concatenate(one) for one in zip(*found, strict=True))
            sure = int((best > 0.9).sum())
            print(
                f"n = {n}, k = {k} {method:>28}: {true.mean():.3f} / {best.max():.3f} / {sure} of {len(true)}"
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


def candidates(x, k, t, values, atoms, choices, effort="fast"):
    """Return the partitions from which t_close_anneal takes one by a secret key."""
    points = Points(x, confidential=confidential_arrays(values, len(x)))
    return alternatives(x, atoms, demands_of(points, k, t), effort_for(effort, x, int(atoms.max()) + 1, 1), 0, choices)


def posteriors(count):
    """Compare what someone infers about a person's value with t; exchanges within atoms need no replay."""
    print("\nn = 12, k = 2, t = 0.25: EMD between the posterior of a person's value and the table")
    for method, choices in (("t_close_merge", 1), ("t_close_anneal", 1), ("t_close_anneal", 20)):
        far, public, skipped = [], [], 0
        for seed in range(count):
            x, values = small(12, seed, related=0.0)
            atoms = formed(x, 2, "mdav", values)

            def offered(world, x=x, atoms=atoms, method=method, choices=choices):
                if method == "t_close_merge":
                    return [formed(x, 2, method, world.copy())]
                return candidates(x, 2, 0.25, world.copy(), atoms, choices)

            made = offered(values)
            labels = made[seed % len(made)]
            if number_of_allocations(labels, atoms) > MOST // 2:
                skipped += 1
                continue
            found, seen = np.zeros((12, 12)), 0
            for world in allocations(labels, atoms, values):
                likely = np.mean([(one == labels).all() for one in offered(world)])
                seen += likely
                for a in np.unique(atoms):
                    found[np.ix_(atoms == a, world[atoms == a])] += likely / (atoms == a).sum()
            far += [distance(row) for row in found / seen]
            public += [distance(np.bincount(values[labels == c], minlength=12) / (labels == c).sum()) for c in labels]
        if far:
            print(
                f"{method}, choices = {choices}: {np.mean(np.array(far) > 0.25 + 1e-12):.0%} of {len(far)} people "
                f"farther than t, largest {max(far):.3f}; published classes at most {max(public):.3f} "
                f"({skipped} of {count} tables skipped)",
                flush=True,
            )


def price():
    """Measure what the secret choice costs on Census."""
    print("\nCensus, k = 5: information loss of one partition, and of 20 from which one is taken")
    for (name, (raw, values)), t in itertools.product(tables().items(), (0.15, 0.25)):
        x = standardised(raw)
        atoms = shoal.microaggregate(x, 5).labels
        for choices in (1, 20):
            start = time.process_time()
            made = candidates(x, 5, t, values, atoms, choices, "default")
            lost = [100 * sse(x, labels) / sse(x, np.zeros(len(x), np.int64)) for labels in made]
            spent = time.process_time() - start
            print(
                f"{name}, t = {t}: {len(made)} partitions, mean {np.mean(lost):.2f}, "
                f"{min(lost):.2f} to {max(lost):.2f}, {spent:.1f} s",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="only small tables")
    parser.add_argument("--census", action="store_true", help="only Census")
    parser.add_argument("--posteriors", action="store_true", help="only the distribution of a person's value")
    parser.add_argument("--only", default="", help="only small tables of methods whose name has this in it")
    parser.add_argument("--quick", action="store_true", help="a few tables")
    given = parser.parse_args()
    every = not (given.small or given.census or given.posteriors)
    if given.small or every:
        enumerated(3 if given.quick else 10, given.only)
    if given.posteriors or every:
        posteriors(4 if given.quick else 20)
    if given.census or every:
        if "SHOAL_DATA" not in os.environ:
            sys.exit("SHOAL_DATA must name the folder of census.csv.")
        census()
        price()


if __name__ == "__main__":
    main()
