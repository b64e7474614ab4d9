"""What each method loses, and how long it takes. Prints as it goes; needs the CASC files, through SHOAL_DATA.

    python benchmarks/loss.py [--quick] [--best]
    python benchmarks/loss.py --scale

Losses are IL in percent on standardised coordinates (population standard deviation). Times are CPU seconds of all
threads, compilation aside. Targets stand below the figures; with `--best`, those of the effort `best` too (stretch).
`--scale` needs no files: it refines what exact MDAV forms of 10⁶ × 4 points.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.csv

import shoal
from mdav import clustered, standardised, uniform

TARGETS = {  # losses to reach, for k = 3, 5, 10
    "census": (4.70, 7.31, 11.43),
    "tarragona": (14.50, 20.18, 30.14),
    "eia": (0.352, 0.732, 1.940),
}
STRETCH = {  # losses to reach with the effort `best`
    "census": (4.668, 7.277, 11.399),
    "tarragona": (14.467, 20.173, 30.128),
    "eia": (0.3498, 0.7302, 1.937),
}
SIZES = (3, 5, 10)
SEEDS = range(5)


def table(name):
    """Return a CASC file as standardised coordinates."""
    path = Path(os.environ["SHOAL_DATA"]) / f"{name}.csv"
    read = pyarrow.csv.read_csv(path)
    wanted = read.column_names
    if name == "eia":
        first, last = (wanted.index(column) for column in ("RESREVENUE", "TOTSALES"))
        wanted = ["UTILITYID", *wanted[first : last + 1]]
    return standardised(np.column_stack([read[column].to_numpy().astype(float) for column in wanted]))


def loss(x, partition):
    """Return the information loss in percent; coordinates have variance 1."""
    lost = 0.0
    for block in partition.blocks:  # pcp and zscores may form several
        order = np.argsort(block.labels, kind="stable")
        begins = np.searchsorted(block.labels[order], np.arange(block.labels.max() + 1))
        sums = np.add.reduceat(x[order], begins, axis=0)
        lost += (x**2).sum() - (sums**2 / np.bincount(block.labels)[:, None]).sum()
    return 100 * lost / ((x - x.mean(axis=0)) ** 2).sum()


def measure(x, k, seeds=(0,), **given):
    """Return the median loss over seeds, and CPU seconds of one run."""
    losses, spent = [], []
    for seed in seeds:
        start = time.process_time()
        partition = shoal.microaggregate(x, k, seed=seed, **given)
        spent.append(time.process_time() - start)
        losses.append(loss(x, partition))
    return float(np.median(losses)), float(np.median(spent))


def columns(quick, best):
    """Return the methods to measure: a name, the seeds, what is given."""
    one = (0,)
    found = [(name, one, {"method": name}) for name in ("zscores", "pcp", "mdav", "v_mdav", "tour")]
    found += [
        ("mdav + refine fast", SEEDS, {"method": "mdav", "effort": "fast"}),
        ("anneal fast", SEEDS, {"method": "anneal", "effort": "fast"}),
    ]
    if not quick:
        found.append(("anneal default", SEEDS, {"method": "anneal"}))
    if best:
        found.append(("anneal best", one, {"method": "anneal", "effort": "best"}))
    return found


def goals(kind, name, losses):
    print(f"{name:>10} {kind:>20}" + "".join(f"{loss:10.4f} {'':8}" for loss in losses), flush=True)


def reference_tables(quick, best):
    print("IL in percent and CPU seconds; the median of five seeds where there is chance (anneal best: one seed)")
    print(f"{'data':>10} {'method':>20}" + "".join(f"{f'k = {k}':>10} {'CPU':>8}" for k in SIZES))
    warm = standardised(np.random.default_rng(0).random((300, 13)))
    for _, _, given in columns(quick, False):
        measure(warm, 3, **given)
    for name, targets in TARGETS.items():
        x = table(name)
        for method, seeds, given in columns(quick, best):
            print(f"{name:>10} {method:>20}", end="")
            for k in SIZES:
                found, cpu = measure(x, k, seeds, **given)
                print(f"{found:10.4f} {cpu:8.2f}", end="", flush=True)
            print()
        goals("target", name, targets)
        if best:
            goals("stretch", name, STRETCH[name])


def scale(n=1_000_000, k=3):
    """Measure a fast refinement of what exact MDAV forms of many records."""
    print(f"Refine fast after exact MDAV, n = {n} × 4, k = {k} (target: −8 % or better, at most 2.5 × the CPU of MDAV)")
    print(f"{'points':>10}   IL mdav  CPU mdav   refined  CPU of both   change  both/mdav  refine/mdav")
    measure(uniform(40_000, 4), k, effort="fast")
    for kind in (uniform, clustered):
        x = kind(n, 4)
        plain, plain_cpu = measure(x, k)
        better, cpu = measure(x, k, effort="fast")
        change = 100 * (better / plain - 1)
        figures = f"{plain:9.5f} {plain_cpu:9.2f} {better:9.5f} {cpu:12.2f} {change:+7.1f}%"
        ratios = f"{cpu / plain_cpu:10.2f} {cpu / plain_cpu - 1:12.2f}"
        print(f"{kind.__name__:>10} {figures} {ratios}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out anneal with default effort")
    parser.add_argument("--best", action="store_true", help="measure anneal with most effort too; takes long")
    parser.add_argument("--scale", action="store_true", help="refine a million records instead")
    given = parser.parse_args()
    if given.scale:
        scale()
    elif "SHOAL_DATA" not in os.environ:
        sys.exit("SHOAL_DATA must name the folder of census.csv, tarragona.csv and eia.csv.")
    else:
        reference_tables(given.quick, given.best)


if __name__ == "__main__":
    main()
