"""Distance linkage: the search through a tree against the matrix of all distances, in one run. Prints as it goes.

    python benchmarks/linkage.py [--quick]

All times are CPU seconds. Records are clustered or like those of "Census", in classes of 5 by MDAV, or each with noise
of its own, so that no two masked records are equal. Brute force is numpy over blocks of the matrix of all distances;
both must find the same number of nearest masked records for every record.
"""

import argparse
import sys
import time
from itertools import combinations

import numpy as np

from mdav import census_like, clustered
from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.space.nearest_own import as_near, different
from shoal.risk.distance_linkage import DistanceLinkage
from shoal.types import Comparison

NAMES = tuple("abcd")
BLOCK = 16  # rows of the matrix at a time: they fit in the cache of a core


def in_classes(X, k=5):
    labels = np.asarray(mdav(X, k)[0])
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, x) / sizes for x in X.T])[labels]


def with_noise(X):
    return X + np.random.default_rng(1).normal(size=X.shape) * 0.1


def brute_force(X, Y, columns, rows):
    """How many masked records are as near as the right one, 0 if one is nearer; from all distances."""
    out = np.empty(len(rows), np.int64)
    distance, apart = np.empty((BLOCK, len(Y))), np.empty((BLOCK, len(Y)))
    turned = np.ascontiguousarray(Y.T)
    for begin in range(0, len(rows), BLOCK):
        some = rows[begin : begin + BLOCK]
        d, a = distance[: len(some)], apart[: len(some)]
        d[:] = 0.0
        for j in columns:
            np.subtract(X[some, j, None], turned[j], out=a)
            np.multiply(a, a, out=a)
            np.add(d, a, out=d)
        own, nearest = d[np.arange(len(some)), some], d.min(axis=1)
        out[begin : begin + BLOCK] = np.where(own == nearest, (d == nearest[:, None]).sum(axis=1), 0)
    return out


def timed(work):
    begin = time.process_time()
    return work(), time.process_time() - begin


def through_tree(X, Y, sets, rows):
    masked = different(Y)
    return [as_near(X[rows], masked.of_row[rows], masked, np.array(known)) for known in sets]


def against_brute_force(name, X, Y, sets, share=1):
    """Print both times; of the matrix one row in `share` is made, and its time multiplied: rows cost the same."""
    n = len(X)
    rows = np.sort(np.random.default_rng(2).choice(n, n // share, replace=False))
    fast, seconds = timed(lambda: through_tree(X, Y, sets, np.arange(n)))
    slow, brute = timed(lambda: [brute_force(X, Y, known, rows) for known in sets])
    if not all(np.array_equal(ties[rows], other) for ties, other in zip(fast, slow, strict=True)):
        sys.exit(f"{name}: the results differ")
    linked = 100 * np.mean([np.where(ties > 0, 1 / np.maximum(ties, 1), 0).mean() for ties in fast])
    print(
        f"{name:<24} {n:>7,} records, {len(sets):>2} sets: tree {seconds:6.3f} s, all distances {share * brute:7.1f} s"
        f"{f' (from 1 row in {share})' if share > 1 else ''}, {share * brute / seconds:6,.0f} ×, equal; "
        f"linked {linked:.3f} %",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    n = 10_000 if parser.parse_args().quick else 100_000
    every = [known for size in range(1, 5) for known in combinations(range(4), size)]
    small = clustered(300, 4)
    through_tree(small, in_classes(small), every, np.arange(300))  # compile
    for make in (clustered, census_like):
        X = make(n, 4)
        for mask in (in_classes, with_noise):
            Y = mask(X)
            name = f"{make.__name__}, {mask.__name__}"
            if make is clustered and mask is in_classes:
                against_brute_force(name, X, Y, [tuple(range(4))])
            against_brute_force(name, X, Y, every, share=100)
    for mask in (in_classes, with_noise):
        X = clustered(10 * n, 4)
        Y = mask(X)
        _, whole = timed(lambda X=X, Y=Y: through_tree(X, Y, every, np.arange(len(X))))
        reading, usual = timed(lambda X=X, Y=Y: DistanceLinkage().measure(Comparison(X, Y, NAMES)))
        print(
            f"clustered, {mask.__name__:<25} {10 * n:>9,} records, 15 sets: all {whole:.1f} s; as usual {usual:.1f} s"
        )
        print(f"    {reading.value:.4f} %  {reading.note}", flush=True)


if __name__ == "__main__":
    main()
