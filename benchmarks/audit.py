"""CPU seconds of all audits against a plain grouping of the same columns, and pycanon beside them. Prints as it goes.

    python benchmarks/audit.py [records]

Classes of five over five quasi-identifiers, two confidential columns, 10⁶ records unless told otherwise. pycanon is
run where the environment variable PYCANON_PYTHON names an interpreter that has it; it is no dependency.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import shoal
from shoal.privacy.n_t_closeness import NTCloseness
from shoal.types import Column, Kind, Release, Role, Schema

QUASI = [f"q{j}" for j in range(5)]
CONFIDENTIAL = ["c0", "c1"]
RARE = {"kpqr": (4, 0.2, 0.5)}  #: in addition to the models that are always reported


def cpu(run, times=3):
    """The least of a few runs, since the machine may have other things to do; and what the last one gave."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        found = run()
        seconds.append(time.process_time() - start)
    return min(seconds), found


def table(n, values, told=0.0, seed=0):
    """Classes of five at random places; the larger the share, the more q0 reveals of the confidential values."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) // 5)
    places = rng.normal(size=(labels.max() + 1, len(QUASI)))
    columns = {name: places[labels, j] for j, name in enumerate(QUASI)}
    for name in CONFIDENTIAL:
        ranks = np.argsort(np.argsort(told * places[labels, 0] + rng.normal(size=n)))
        columns[name] = ranks.astype(float) if values is None else ranks * values // n
    return pa.table(columns)


def all_models(n):
    """All models together, as a ratio of groupings: over the quasi-identifiers, and with each confidential column."""
    print("| Confidential | Models | All | group_by quasi | Ratio | group_by quasi and values | Ratio |")
    print("|---|---|---|---|---|---|---|")
    for what, values, kind in (
        ("all different", None, "continuous"),
        ("100 integers", 100, "integer"),
        ("20 categories", 20, "nominal"),
    ):
        data = table(n, values)
        found, took = in_turn(data, dict.fromkeys(CONFIDENTIAL, kind))
        least = took.min(axis=0)
        plain, counted = (
            f"{least[j]:.2f} s | {least[2] / least[j]:.1f} (median {_ratio(took, j):.1f})" for j in (0, 1)
        )
        print(f"| {what} | {len({f.model for f in found})} | {least[2]:.2f} s | {plain} | {counted} |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak memory for {n:,} records, the whole process: {peak:,.0f} MB", flush=True)


def in_turn(data, kinds):
    """Seven times the groupings and the audit, one after the other: all meet the same machine."""
    runs = (
        lambda: data.group_by(QUASI).aggregate([(c, "count") for c in CONFIDENTIAL]),
        lambda: [data.group_by([*QUASI, c]).aggregate([([], "count_all")]) for c in CONFIDENTIAL],
        lambda: shoal.audit(data, QUASI, CONFIDENTIAL, require=RARE, kinds=kinds).findings,
    )
    took = np.array([[cpu(run, 1)[0] for run in runs] for _ in range(7)])
    return runs[-1](), took


def _ratio(took, j):
    return np.median(took[:, 2] / took[:, j])


def supersets(n):
    """(n,t)-closeness, which looks for the neighbours of classes, on a line of its own."""
    confidential = Column("c0", Role.CONFIDENTIAL, Kind.CONTINUOUS)
    schema = Schema((*(Column(q, Role.QUASI, Kind.CONTINUOUS) for q in QUASI), confidential))
    print(f"\n| (1000,t)-closeness: q0 explains | {n // 10:,} | {n:,} | Growth | t |\n|---|---|---|---|---|")
    for told, much in ((0, "nothing"), (1, "50 %"), (10, "99 %")):
        seconds = []
        for records in (n // 10, n):
            release = Release(table(records, None, told), schema)
            took, found = cpu(lambda: NTCloseness(n=1000, t=0.2).audit(release, QUASI, ["c0"]), times=1)  # noqa: B023
            seconds.append(took)
        growth = seconds[1] / seconds[0]
        print(
            f"| {much} | {seconds[0]:.1f} s | {seconds[1]:.1f} s | {growth:.0f} | {found[0].achieved:.3f} |", flush=True
        )


def ours(data, quasi):
    """What shoal finds in one confidential column."""
    took, audit = cpu(lambda: shoal.audit(data, quasi, ["c0"]))
    found = audit.to_dict()
    return took, {"k": found["k"], **found["confidential"]["c0"]}


def theirs(python, data, quasi, order="as-it-is"):
    """What pycanon finds in the same column, and the CPU seconds of each model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        pyarrow.csv.write_csv(data, path)
        script = Path(__file__).with_name("audit_pycanon.py")
        words = [python, script, path, ",".join(quasi), "c0", order]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return {name: took for name, (_, took) in found.items()}, {name: value for name, (value, _) in found.items()}


def peer(python):
    """Beside pycanon: time, and where the two differ."""
    print(
        "\n| Records | Values | Model | shoal | pycanon | pycanon CPU | / all of shoal |\n|---|---|---|---|---|---|---|"
    )
    for n, values in ((1000, 20), (2000, 20), (500, None), (1000, None)):
        data = table(n, values, told=1)
        took, mine = ours(data, QUASI)
        seconds, other = theirs(python, data, QUASI)
        for name, value in other.items():
            print(
                f"| {n:,} | {values or 'all different'} | {name} | {_shown(mine[name])} | {_shown(value)} "
                f"| {seconds[name]:.2f} s | {seconds[name] / took:,.0f} |",
                flush=True,
            )
    differences(python)


def differences(python):
    """The same table with its rows in another order, and with one cell missing, over one quasi-identifier."""
    data, one = table(1000, 20, told=1), QUASI[:1]
    there = pa.array(np.arange(1000) != 7)
    holed = data.set_column(0, "q0", pc.if_else(there, data["q0"], pa.scalar(None, pa.float64())))
    shuffled = data.take(np.random.default_rng(0).permutation(1000))
    print("\n| Table | | k | l_distinct | l_entropy | l_recursive | alpha | t |\n|---|---|---|---|---|---|---|---|")
    for what, mine, other in (
        ("as it is", ours(data, one), theirs(python, data, one)),
        ("rows in another order", ours(shuffled, one), theirs(python, data, one, "shuffle")),
        ("one q0 missing", ours(holed, one), theirs(python, holed, one)),
    ):
        for who, found in (("shoal", mine[1]), ("pycanon", other[1])):
            print(f"| {what} | {who} | {' | '.join(_shown(found[name]) for name in other[1])} |", flush=True)


def _shown(value):
    if isinstance(value, list):
        value = dict(zip("cl", value, strict=True))
    if isinstance(value, dict):
        return ", ".join(f"{name} = {part:g}" for name, part in value.items())
    return f"{value:.4g}"


def main(n):
    all_models(n)
    supersets(n)
    python = os.environ.get("PYCANON_PYTHON")
    if python is None:
        print("pycanon is not compared: PYCANON_PYTHON must name an interpreter that has it. Make one with")
        print("  python -m venv peer; peer/bin/pip install pycanon")
        print("and set PYCANON_PYTHON=peer/bin/python.")
    else:
        peer(python)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6)
