"""Figures of tables larger than memory: loss, CPU, memory and growth, on disk and in memory. Prints as it goes.

    python benchmarks/scale.py [--quick] [--mixed] [--huge] [--kinds clustered,uniform] [--folder /somewhere]

Parquet files of 10⁶ and 10⁷ records with 6 numbers of 4 decimals, k = 10, ceiling 2 GB. Each run is a process of its
own, after one that compiles everything. CPU seconds are those of all threads and children, peak memory is the sum of
the process's VmHWM and that of its largest child. All ratios are between runs of one call of this script:

- `× unit`: CPU over that of reading the file and writing it again with pyarrow, batch by batch;
- `IL/mdav`, `IL/blocks`: loss over that of in-memory `mdav`, and over that of in-memory `auto` with effort default,
  which partitions in blocks;
- `growth`: CPU over that of the same run on a tenth of the records.

Targets at 10⁷: peak below the ceiling; `fast` ≤ 45 s of CPU, ≤ 12 × unit, IL ≤ 1.02 × mdav; `default` IL < mdav and
≤ 1.01 × blocks; growth ≤ 12; in memory not slower than on disk.

--mixed: also 10⁷ records of 2 numbers and categories of 2, 16, 100 and 4,000 values, on disk; to reach: under 3 GB.
Their IL is in units of deviations, but classes are formed in units of ranges: it does not tell which effort is better.
--huge: also 10⁸ × 6 at `fast` with a ceiling of 4 GB; to reach: under 15 minutes, growth ≤ 12. Takes 6 GB of disk for
the input and up to four times that for scratch and output.
--quick: 10⁶ records only, 10⁶ mixed ones too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

K, CHUNK = 10, 1_000_000
NUMBERS = [f"x{j}" for j in range(6)]

# Each run in a process of its own. VmHWM, not ru_maxrss: the latter starts from what the parent process held.
CHILD = """
import json, re, resource, sys, time
given = json.loads(sys.argv[1])
clock = time.perf_counter()
if given["engine"] is None:
    from pyarrow import parquet
    file = parquet.ParquetFile(given["source"])
    with parquet.ParquetWriter(given["target"], file.schema_arrow) as writer:
        for batch in file.iter_batches(1 << 19):
            writer.write_batch(batch)
    found = {"k": 0, "il": float("nan"), "records": file.metadata.num_rows}
else:
    import shoal
    more = {"memory": given["memory"]} if given["memory"] else {}
    done = shoal.protect(
        given["source"], given["recipe"], output=given["target"], engine=given["engine"], force=True, **more
    )
    found = {"k": done.audit.overall.achieved, "il": done.readings["il_sse"], "records": done.audit.records}
wall = time.perf_counter() - clock
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
cpu = sum(one.ru_utime + one.ru_stime for one in (own, children))
print(json.dumps({**found, "cpu": cpu, "wall": wall, "peak": peak + children.ru_maxrss * 1024}))
"""


def run(source, engine, recipe=None, memory=None):
    """Protect a file in a process of its own, or copy it; return its figures."""
    target = source.with_name("out.parquet")
    given = {"source": str(source), "target": str(target), "engine": engine, "recipe": recipe, "memory": memory}
    done = subprocess.run([sys.executable, "-c", CHILD, json.dumps(given)], check=False, capture_output=True, text=True)
    target.unlink(missing_ok=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    return json.loads(done.stdout)


def clustered(rng, n):
    """A mixture of 100 Gaussian clusters, the same in every chunk, as in mdav.py."""
    fixed = np.random.default_rng(1)
    centres, spread = 3.0 * fixed.normal(size=(100, 6)), np.exp(0.6 * fixed.normal(size=100) - 0.7)
    which = rng.choice(100, size=n, p=fixed.dirichlet(np.ones(100)))
    return dict(
        zip(NUMBERS, np.round(centres[which] + rng.normal(size=(n, 6)) * spread[which, None], 4).T, strict=True)
    )


def uniform(rng, n):
    """Uniform in a cube."""
    return dict(zip(NUMBERS, np.round(rng.random((n, 6)), 4).T, strict=True))


def mixed(rng, n):
    """Two numbers, and categories of which a few are frequent."""
    found = {"x0": np.round(rng.lognormal(3.0, 0.6, n), 2), "x1": rng.integers(0, 36_500, n)}
    for count in (2, 16, 100, 4_000):
        shares = 1.0 / np.arange(1, count + 1) ** 0.8
        names = pa.array([f"c{value:04d}" for value in range(count)])
        found[f"c{count}"] = names.take(pa.array(rng.choice(count, n, p=shares / shares.sum())))
    return found


KINDS = {"clustered": clustered, "uniform": uniform, "mixed": mixed}


def write(kind, n, path):
    """Write n records, chunk by chunk."""
    writer = None
    for begin in range(0, n, CHUNK):
        size = min(CHUNK, n - begin)
        table = pa.table(KINDS[kind](np.random.default_rng((begin // CHUNK, 1)), size))
        table = table.append_column("value", pa.array(np.random.default_rng((begin // CHUNK, 2)).integers(0, 99, size)))
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


class Sheet:
    """Prints a line for each run, with ratios to the runs before."""

    def __init__(self):
        self.seen = {}
        head = f"{'table':>10} {'records':>11} {'engine':>7} {'method':>13} {'IL %':>9} {'IL/mdav':>8} {'IL/blocks':>9}"
        print(f"{head} {'CPU s':>8} {'× unit':>7} {'wall s':>8} {'peak GB':>8} {'growth':>7}", flush=True)

    def line(self, kind, n, engine, method, found):
        """Print a line."""
        label = f"{kind:>10} {n:11,d} {engine or 'pyarrow':>7} {method:>13}"
        if "failed" in found:
            print(f"{label} failed: {found['failed']}", flush=True)
            return
        assert engine is None or found["k"] >= K
        assert found["records"] == n
        self.seen[kind, n, engine, method] = found
        ratios = [
            self._over(found, (kind, n, "memory", "mdav"), "il"),
            self._over(found, (kind, n, "memory", "auto default"), "il"),
            self._over(found, (kind, n, None, "read and write"), "cpu"),
            self._over(found, (kind, n // 10, engine, method), "cpu"),
        ]
        print(
            f"{label} {found['il']:9.5f} {ratios[0]:>8} {ratios[1]:>9} {found['cpu']:8.1f} {ratios[2]:>7} "
            f"{found['wall']:8.1f} {found['peak'] / 1e9:8.2f} {ratios[3]:>7}",
            flush=True,
        )

    def _over(self, found, base, figure):
        other = self.seen.get(base)
        if other is None or np.isnan(found[figure]):  # NaN: a copy has no loss
            return ""
        return f"{found[figure] / other[figure]:.{3 if figure == 'il' else 1}f}"


def measure(sheet, folder, kind, n, cases, memory):
    """Write a table, and run all cases on it."""
    source = folder / "in.parquet"
    write(kind, n, source)
    names = [name for name in parquet.read_schema(source).names if name != "value"]
    sheet.line(kind, n, None, "read and write", run(source, None))
    for engine, method in cases:
        key, _, effort = method.partition(" ")
        recipe = {"quasi": names, "confidential": ["value"], "k": K, "method": key, "row_order": "keep", "version": 1}
        recipe |= {"effort": effort} if effort else {}
        sheet.line(kind, n, engine, method, run(source, engine, recipe, memory if engine == "disk" else None))
    source.unlink()


BOTH = [
    ("memory", "mdav"),
    ("memory", "auto default"),
    ("memory", "auto fast"),
    ("disk", "auto fast"),
    ("disk", "auto default"),
]
DISK = [("disk", "auto fast"), ("disk", "auto default")]


def main():
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("quick", "mixed", "huge"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--kinds", default="clustered,uniform")
    parser.add_argument("--folder", type=Path, help="where the files go; by default the system's temporary folder")
    given = parser.parse_args()
    sizes = (1_000_000,) if given.quick else (1_000_000, 10_000_000)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder, warm = Path(name), Path(name, "in.parquet")
        for kind in (*given.kinds.split(","), *(("mixed",) if given.mixed else ())):  # compile everything first
            write(kind, 300_000, warm)
            names = [one for one in parquet.read_schema(warm).names if one != "value"]
            for more in ({"method": "mdav"}, {"method": "blocks", "effort": "default"}):
                run(warm, "memory" if more["method"] == "mdav" else "disk", {"quasi": names, "k": K, **more}, "2GB")
        sheet = Sheet()
        for kind in given.kinds.split(","):
            for n in sizes:
                measure(sheet, folder, kind, n, BOTH, "2GB")
        if given.mixed:
            for n in sizes:
                measure(sheet, folder, "mixed", n, DISK, "3GB")
        if given.huge:
            measure(sheet, folder, "clustered", 100_000_000, DISK[:1], "4GB")


if __name__ == "__main__":
    main()
