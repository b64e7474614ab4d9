"""What methods that promise t-closeness take and lose. Prints as it goes; losses need census.csv, through SHOAL_DATA.

    python benchmarks/closeness.py [--speed | --losses] [--quick]

Times are CPU seconds, compilation aside; targets stand beside the figures. Losses are IL in percent on standardised
coordinates, and the normalised SSE of [SC15] eq. (5), on the paper's MCD and HCD (quasi-identifiers TAXINC and POTHVAL,
confidential FEDTAX and FICA).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.csv

import shoal
from loss import loss
from mdav import clustered, standardised, uniform
from shoal import registry

THREE = ("t_close_merge", "k_first", "t_first")
SIZES = (2, 5, 10)
LEVELS = (0.01, 0.05, 0.09, 0.13, 0.17, 0.21, 0.25)


def promising():
    """Return the methods that see to t themselves, but for `auto`, which takes one of them."""
    found = [key for key in registry.keys("partition") if registry.load("partition", key).promises_t]
    return [key for key in found if key != "auto"]


def spent(x, k, **given):
    """Return a partition and the CPU seconds it took."""
    start = time.process_time()
    partition = shoal.microaggregate(x, k, **given)
    return partition, time.process_time() - start


# --- speed


def confidential(x, share, seed=2):
    """Return values, a share of whose variance the first attribute explains."""
    noise = np.random.default_rng(seed).normal(size=len(x))
    return np.sqrt(share) * x[:, 0] + np.sqrt(1.0 - share) * noise


# VmHWM, not ru_maxrss: the latter starts from what the parent process held.
CHILD = """
import re, sys
import numpy as np, shoal
table = np.load(sys.argv[1])
shoal.microaggregate(table[:, :-1], 5, method="t_first", confidential=table[:, -1], t=0.1)
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


def peak_memory(x, values):
    """Return the peak memory of a whole process in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.npy")
        np.save(path, np.column_stack((x, values)))
        out = subprocess.run([sys.executable, "-c", CHILD, path], capture_output=True, text=True, check=True).stdout
    return int(out)


def growth(small, large):
    print(f"t_first, 4 attributes, k = 5, t = 0.1, from n = {small:,} to {large:,}")
    print("(target: ≤ 20 s at 10⁶, growth ≤ 30; explained: share of the confidential variance, by one attribute)")
    print(f"{'points':>10} {'explained':>9}     small     large  growth  classes")
    spent(clustered(20_000, 4), 5, method="t_first", confidential=np.arange(20_000), t=0.1)
    spent(clustered(1_000, 4), 5, method="t_first", confidential=np.arange(1_000), t=0.1)
    for kind in (uniform, clustered):
        for share in (0.0, 0.1, 0.5):
            times, classes = [], 0
            for n in (small, large):
                x = kind(n, 4)
                part, cpu = spent(x, 5, method="t_first", confidential=confidential(x, share), t=0.1)
                times.append(cpu)
                classes = len(part)
            ratio = times[1] / times[0]
            print(
                f"{kind.__name__:>10} {share:9.0%} {times[0]:9.2f} {times[1]:9.2f} {ratio:7.1f} {classes:8,}",
                flush=True,
            )
    x = clustered(large, 4)
    print(f"peak memory of a whole process, clustered, n = {large:,} × 4: {peak_memory(x, confidential(x, 0.0))} MB")


def patients(n=23_435, seed=1):
    """Seven attributes and a charge, of the size of the Patient Discharge data in [SC15], and as loosely related.

    Age, place, day of admission, days of stay, sex, severity and type of care; whole numbers, some with few values. The
    quasi-identifiers and the charge have a multiple correlation of about 0.13, the paper's 0.129.
    """
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(rng.normal(52, 24, n)), 0, 100)
    place = rng.zipf(1.4, n) % 400
    day = rng.integers(0, 365, n)
    stay = np.round(np.exp(rng.normal(1.1, 0.8, n)))
    sex, severity, care = rng.integers(0, 2, n), rng.integers(1, 5, n), rng.integers(0, 6, n)
    quasi = standardised(np.column_stack((age, place, day, stay, sex, severity, care)).astype(float))
    charge = np.exp(10.3 + 0.9 * (0.08 * quasi[:, 3] + 0.05 * quasi[:, 0] + 0.1 * quasi[:, 5] + rng.normal(size=n)))
    return quasi, np.round(charge)


def discharge():
    print("\n23,435 × 7, k = 2, t = 0.05: of the size of the paper's Patient Discharge (target for k_first: ≤ 60 s)")
    x, charge = patients()
    for method in dict.fromkeys((*THREE, *promising())):
        if method not in promising():
            print(f"{method:>14}: there is no such method")
            continue
        spent(x[:3000], 2, method=method, confidential=charge[:3000], t=0.05)
        part, cpu = spent(x, 2, method=method, confidential=charge, t=0.05)
        print(f"{method:>14}: {cpu:8.2f} s, {len(part):6,} classes, IL {loss(x, part):7.3f} %", flush=True)


# --- losses


def tables():
    """Return MCD and HCD: coordinates, and confidential values."""
    read = pyarrow.csv.read_csv(Path(os.environ["SHOAL_DATA"]) / "census.csv")
    x = np.column_stack([read[name].to_numpy().astype(float) for name in ("TAXINC", "POTHVAL")])
    return {"MCD": (x, read["FEDTAX"].to_numpy()), "HCD": (x, read["FICA"].to_numpy())}


def normalised(x, partition):
    """Return the normalised SSE of [SC15] eq. (5): the mean of squared errors in units of each attribute's range."""
    scaled = x / np.ptp(x, axis=0)
    sums = np.zeros((len(partition), x.shape[1]))
    np.add.at(sums, partition.labels, scaled)
    return ((scaled - (sums / partition.sizes[:, None])[partition.labels]) ** 2).mean()


def contenders():
    """Return what is compared, by name: each method, each refined, and `auto` for an attacker who knows the table."""
    plain = {method: {"method": method} for method in promising()}
    refined = {f"{method} +": {"method": method, "effort": "fast"} for method in promising()}
    known = "auto" in registry.keys("partition") and registry.load("partition", "auto").promises_t
    if not known:
        print("auto does not see to t yet: left out")
    return plain | refined | ({"auto": {"method": "auto", "attacker": "table"}} if known else {})


def losses(sizes, levels):
    given = contenders()
    print("\nLosses: IL in percent, then the normalised SSE × 1000; + is refined with effort fast, auto with default.")
    print(f"best is the best of {', '.join(THREE)}; ours is auto if it sees to t, else the best of those refined.")
    print(f"{'':>14}" + "".join(f"{name:>17}" for name in (*given, "best", "ours", "ours / best")))
    ratios, cpu = {"MCD": [], "HCD": []}, dict.fromkeys(given, 0.0)
    for data, (raw, values) in tables().items():
        x = standardised(raw)
        for k in sizes:
            for t in levels:
                found = {}
                for name, more in given.items():
                    part, seconds = spent(x, k, confidential=values, t=t, **more)
                    found[name] = (loss(x, part), 1000 * normalised(raw, part))
                    cpu[name] += seconds
                best = min(found[name] for name in THREE if name in found)
                ours = found["auto"] if "auto" in found else min(found[name] for name in found if name.endswith("+"))
                ratios[data].append(ours[0] / best[0])
                cells = "".join(f"{il:9.3f} {sse:7.3f}" for il, sse in (*found.values(), best, ours))
                print(f"{data} k={k:2d} t={t:4.2f}{cells}{ratios[data][-1]:17.3f}", flush=True)
    print(f"{'CPU seconds':>14}" + "".join(f"{seconds:17.2f}" for seconds in cpu.values()))
    for data, several in ratios.items():
        print(
            f"{data}: ours / best on average {np.mean(several):.3f}, largest {max(several):.3f} (target: ≤ 0.85, < 1)"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", action="store_true", help="only how long it takes; needs no files")
    parser.add_argument("--losses", action="store_true", help="only what is lost")
    parser.add_argument("--quick", action="store_true", help="up to 10⁵ records; two levels of t")
    given = parser.parse_args()
    if not given.losses:
        growth(*((10_000, 100_000) if given.quick else (100_000, 1_000_000)))
        discharge()
    if given.speed:
        return
    if "SHOAL_DATA" not in os.environ:
        sys.exit("SHOAL_DATA must name the folder of census.csv; --speed needs none.")
    losses(SIZES[:1] if given.quick else SIZES, LEVELS[1::4] if given.quick else LEVELS)


if __name__ == "__main__":
    main()
