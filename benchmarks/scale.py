"""Figures of tables larger than memory: loss, CPU, memory and growth, on disk and in memory. Prints as it goes.

    python benchmarks/scale.py [--quick] [--mixed] [--huge] [--spark] [--kinds clustered,uniform] [--folder /somewhere]

Parquet files of 10⁶ and 10⁷ records with 6 numbers of 4 decimals, k = 10, ceiling 2 GB. Each run is a process of its
own, after one that compiles everything. CPU seconds are those of all threads and children, as /proc shows them five
times a second; peak memory is the largest sum of the resident memory of all of them that was seen, or the process's
VmHWM if that is more. All ratios are between runs of one call of this script:

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
--spark: only the disk engine and Spark with `local[2]`, at `fast`; to reach: wall and CPU ≤ 3 × the disk engine, IL
within 1 %. Starting the JVM counts.
--quick: 10⁶ records only, 10⁶ mixed ones too.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

K, CHUNK = 10, 1_000_000
NUMBERS = [f"x{j}" for j in range(6)]

# Each run in a process of its own. VmHWM, not ru_maxrss: the latter starts from what the parent process held.
CHILD = """
import json, re, resource, sys
given = json.loads(sys.argv[1])
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
    more |= {"spark_master": "local[2]"} if given["engine"] == "spark" else {}
    done = shoal.protect(
        given["source"], given["recipe"], output=given["target"], engine=given["engine"], force=True, **more
    )
    found = {"k": done.audit.overall.achieved, "il": done.readings["il_sse"], "records": done.audit.records}
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
cpu = sum(one.ru_utime + one.ru_stime for one in (own, children))
print(json.dumps({**found, "cpu": cpu, "own": peak}))
"""


def run(source, engine, recipe=None, memory=None):
    """Protect a file in a process of its own, or copy it; return its figures."""
    target = source.with_name("out" if engine == "spark" else "out.parquet")
    given = {"source": str(source), "target": str(target), "engine": engine, "recipe": recipe, "memory": memory}
    clock = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(given)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watch = Watch(process.pid)
    out, err = process.communicate()
    wall = time.perf_counter() - clock
    cpu, peak = watch.end()
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    if process.returncode:
        return {"failed": (err.strip().splitlines() or [f"exit code {process.returncode}"])[-1]}
    found = json.loads(out.splitlines()[-1])
    return {**found, "wall": wall, "cpu": max(cpu, found["cpu"]), "peak": max(peak, found["own"])}


class Watch(threading.Thread):
    """Adds up the CPU seconds and the resident memory of a process and all its descendants, while it runs."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seconds, self.peak, self.over = pid, {}, 0, threading.Event()
        self.start()

    def run(self):
        """Look five times a second."""
        while not self.over.wait(0.2):
            self.look()

    def look(self):
        """Read /proc once."""
        stats = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    stats[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
        inside, size = {self.pid}, 0
        while size < len(inside):
            size = len(inside)
            inside |= {pid for pid, stat in stats.items() if int(stat[1]) in inside}
        held = 0
        for pid in inside & stats.keys():
            self.seconds[pid] = (int(stats[pid][11]) + int(stats[pid][12])) / os.sysconf("SC_CLK_TCK")
            held += int(stats[pid][21]) * os.sysconf("SC_PAGE_SIZE")
        self.peak = max(self.peak, held)

    def end(self):
        """Return CPU seconds and peak memory."""
        self.over.set()
        self.join()
        return sum(self.seconds.values()), self.peak


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
    """Return two numeric columns and four of categories, a few of them frequent."""
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
        recipe |= {"row_order": "auto"} if engine == "spark" else {}
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
SPARK = [("disk", "auto fast"), ("spark", "auto fast")]


def main():
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("quick", "mixed", "huge", "spark"):
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
                measure(sheet, folder, kind, n, SPARK if given.spark else BOTH, "2GB")
        if given.mixed:
            for n in sizes:
                measure(sheet, folder, "mixed", n, DISK, "3GB")
        if given.huge:
            measure(sheet, folder, "clustered", 100_000_000, DISK[:1], "4GB")


if __name__ == "__main__":
    main()
