"""CPU seconds of the audits against a plain grouping of the same columns. Prints as it goes.

    python benchmarks/audits.py [records]

Classes of five over five quasi-identifiers, 10⁶ records unless told otherwise.
"""

import sys
import time

import numpy as np
import pyarrow as pa

from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.t_closeness import TCloseness
from shoal.types import Column, Kind, Release, Role, Schema

QUASI = [f"q{j}" for j in range(5)]


def cpu(run, times=5):
    """The least of a few runs: the machine may have other things to do."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def measure(data, kind):
    schema = Schema((*(Column(q, Role.QUASI, Kind.CONTINUOUS) for q in QUASI), Column("c", Role.CONFIDENTIAL, kind)))
    release = Release(data, schema)
    plain = cpu(lambda: data.group_by(QUASI).aggregate([("c", "count")]))
    k = cpu(lambda: KAnonymity(5).audit(release, QUASI))
    t = cpu(lambda: TCloseness(0.2).audit(release, QUASI, ["c"]))
    return f"group_by {plain:.2f} s, k {k:.2f} s, t {t:.2f} s ({t / plain:.1f} ×)"


def main(n):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(n) // 5)
    columns = {name: rng.normal(size=labels.max() + 1)[labels] for name in QUASI}
    confidential = {
        "all different": (rng.permutation(n).astype(float), Kind.CONTINUOUS),
        "100 integers": (rng.integers(0, 100, n), Kind.INTEGER),
        "20 categories": (rng.integers(0, 20, n), Kind.NOMINAL),
    }
    for what, (values, kind) in confidential.items():
        print(f"{n:,} records, {what}: {measure(pa.table({**columns, 'c': values}), kind)}", flush=True)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6)
