"""What published losses tell about one cell, for someone who knows all other cells. Prints as it goes.

    python benchmarks/losses.py [--quick]

For 40 cells of each column of random tables: all values that leave the release as it is are put into the cell, and
those that lead to another published loss are excluded. A uniform guess among the others is right about the printed
share of cells: without losses, with losses of 1, 2 and 3 significant digits, and with losses as shoal publishes them.
"""

import argparse

import numpy as np
import pyarrow as pa

import shoal
from shoal.attack.evidence import _published, _readings
from shoal.types.run import FEWEST

FORMS = ("none", "1 digit", "2 digits", "3 digits", "now")
CELLS = 40


def people(n, seed):
    rng = np.random.default_rng(seed)
    return pa.table({"age": rng.integers(18, 90, n), "children": rng.poisson(1.2, n)})


def told(losses, form, n, d):
    """Return losses as they are published in one of the forms."""
    if form == "none" or (form == "now" and n < FEWEST):
        return ()
    if form == "now":
        return tuple(_published(n, d, name, value) for name, value in losses.items())
    return tuple(f"{value:.{int(form[0]) - 1}e}" for value in losses.values())


def admitted(values, at, released):
    """Return the changes of a value, by whole numbers, that leave the rounded mean of its class as it is."""
    reach = min(len(values) - 1, 7)
    means = {change: values.mean() + change / len(values) for change in range(-reach, reach + 1)}
    return [change for change, mean in means.items() if abs(mean - released) <= 0.5 and values[at] + change >= 0]


def shares(n, seed):
    """Return for each column the share of cells that a guess is right about, in each form."""
    table = people(n, seed)
    released = shoal.protect(table, quasi=table.column_names, k=5, row_order="keep").data
    x, y = (
        np.column_stack([one[name].to_numpy() for name in table.column_names]).astype(float)
        for one in (table, released)
    )
    labels = np.unique(y, axis=0, return_inverse=True)[1].reshape(-1)
    true = _readings(x, y, labels, 0)
    found = np.zeros((x.shape[1], len(FORMS)))
    rows = np.random.default_rng(seed).permutation(n)[:CELLS]
    for j in range(x.shape[1]):
        for row in rows:
            members = np.flatnonzero(labels == labels[row])
            left = np.zeros(len(FORMS))
            for change in admitted(x[members, j], list(members).index(row), y[row, j]):
                x[row, j] += change
                losses = _readings(x, y, labels, 0)
                x[row, j] -= change
                left += [told(losses, form, n, 2) == told(true, form, n, 2) for form in FORMS]
            found[j] += 1.0 / np.maximum(left, 1.0) / len(rows)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few tables")
    count = 2 if parser.parse_args().quick else 10
    print("| Records | Column |", " | ".join(FORMS), "|")
    for n in (60, 300, 1_000, 5_000, 20_000):
        mean = np.mean([shares(n, seed) for seed in range(count)], axis=0)
        for name, row in zip(people(1, 0).column_names, mean, strict=True):
            print(f"| {n:,} | {name} |", " | ".join(f"{100 * one:.0f} %" for one in row), "|", flush=True)


if __name__ == "__main__":
    main()
