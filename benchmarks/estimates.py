"""Estimated and measured time of `protect`: is the estimate within a factor of 1.5? Prints as it goes.

    python benchmarks/estimates.py [--only TEXT] [--held-out]

Each case is estimated as `shoal.plan` does, after a first run has compiled and loaded its kernels, and is then run
again (a first run of more than half a minute counts as it is). Tables are numbers (the CASC files if SHOAL_DATA is set,
and normal, whole or correlated points) and tables with categories (drawn independently, Adult, and patients with a
taxonomy of diagnoses), with and without t, with and without a report. CPU seconds are those of all threads; they,
and not elapsed time, are estimated, because others may use the machine. The ratio is estimated to measured; the last
line gives the share within 1.5. With --held-out, other cases are run: no cost was fitted to them.
"""

import argparse
import math
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import shoal

WITHIN = 1.5
LONG = 30.0  # seconds; a longer run is not repeated
DATA = Path(os.environ["SHOAL_DATA"]) if "SHOAL_DATA" in os.environ else None
ADULT = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]


def numbers(n, d, kind="normal", seed=0):
    """Return d numbers per record, and a confidential one."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    if kind == "correlated":  # three directions hold nearly everything
        x = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.05 * x
    if kind == "whole":
        x = np.round(4 * x).astype(np.int64)
    columns = {f"x{j}": pa.array(x[:, j]) for j in range(d)}
    return pa.table(columns | {"pay": pa.array(np.round(np.exp(x[:, 0] / 2 + rng.normal(size=n)), 2))})


def mixed(n, c, seed=0):
    """Return a number, five columns of categories, and a confidential number."""
    rng = np.random.default_rng(seed)
    columns = {"number": pa.array(rng.normal(size=n))}
    for count in (2, 16, 14, 7, c):
        names = pa.array([f"v{i:04}" for i in range(count)])
        columns[f"of {count}"] = names.take(pa.array(rng.integers(0, count, n)))
    return pa.table(columns | {"pay": pa.array(rng.integers(0, 500, n))})


def patients(n, seed=0):
    """Return birth, postcode, sex, and a diagnosis of a taxonomy; the cost is confidential."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 1501)
    return pa.table(
        {
            "birth": pa.array(rng.integers(1930, 2015, n)),
            "postcode": pa.array([f"p{i:03}" for i in range(300)]).take(pa.array(rng.integers(0, 300, n))),
            "sex": pa.array(["f", "m"]).take(pa.array(rng.integers(0, 2, n))),
            "icd": pa.array(_codes()).take(pa.array(rng.choice(1500, n, p=shares / shares.sum()))),
            "pay": pa.array(np.round(np.exp(rng.normal(6, 1, n)))),
        }
    )


def _codes():
    return [f"{chr(65 + i // 75)}{i // 5 % 15:02}.{i % 5}" for i in range(1500)]


def icd():
    """Return a taxonomy of 1,500 codes in three levels."""
    found = {}
    for code in _codes():
        found.setdefault(code[0], {}).setdefault(code[:3], []).append(code)
    return found


def casc(name):
    """Return a CASC file; its last column is confidential."""
    data = pyarrow.csv.read_csv(DATA / f"{name}.csv")
    kept = [field.name for field in data.schema if pa.types.is_floating(field.type) or pa.types.is_integer(field.type)]
    data = data.select(kept)
    return data.rename_columns([*data.column_names[:-1], "pay"])


def adult():
    """Return Adult, with hours-per-week as the confidential column."""
    data = pyarrow.csv.read_csv(DATA / "adult.csv").select([*ADULT, "hours-per-week"])
    return data.rename_columns([*ADULT, "pay"])


def case(name, make, *, report=False, **fields):
    """Return a case: its name, its table, whether a report is written, and the recipe."""
    return name, make, report, {"k": 5, "identifier": [], **fields}


TAXONOMY = {"taxonomies": {"icd": icd()}}
CASES = [
    case("10,000 x 4 mdav", lambda: numbers(10_000, 4), method="mdav", k=3),
    case("100,000 x 4 mdav", lambda: numbers(100_000, 4), method="mdav", k=3),
    case("1,000,000 x 2 mdav", lambda: numbers(1_000_000, 2), method="mdav"),
    case("300,000 x 6 mdav", lambda: numbers(300_000, 6), method="mdav", k=10),
    case("30,000 x 13 mdav", lambda: numbers(30_000, 13), method="mdav"),
    case("100,000 x 13 correlated mdav", lambda: numbers(100_000, 13, "correlated"), method="mdav"),
    case("200,000 x 3 whole numbers mdav", lambda: numbers(200_000, 3, "whole"), method="mdav"),
    case("50,000 x 8 mdav, report", lambda: numbers(50_000, 8), method="mdav", report=True),
    case("10,000 x 5 mdav, report", lambda: numbers(10_000, 5), method="mdav", report=True),
    case("10,000 x 4 v_mdav", lambda: numbers(10_000, 4), method="v_mdav"),
    case("20,000 x 8 v_mdav", lambda: numbers(20_000, 8), method="v_mdav", k=10),
    case("20,000 x 4 mdav fast", lambda: numbers(20_000, 4), method="mdav", effort="fast"),
    case("100,000 x 4 mdav fast", lambda: numbers(100_000, 4), method="mdav", effort="fast"),
    case("100,000 x 4 anneal fast", lambda: numbers(100_000, 4), method="anneal", effort="fast"),
    case("5,000 x 6 anneal default", lambda: numbers(5_000, 6), method="anneal"),
    case("1,000,000 x 4 blocks", lambda: numbers(1_000_000, 4), method="blocks"),
    case("20,000 x 3 t_first", lambda: numbers(20_000, 3), method="t_first", t=0.1),
    case("100,000 x 4 t_first", lambda: numbers(100_000, 4), method="t_first", t=0.15),
    case("5,000 x 3 k_first", lambda: numbers(5_000, 3), method="k_first", t=0.15),
    case("10,000 x 3 k_first", lambda: numbers(10_000, 3), method="k_first", t=0.1),
    case("50,000 x 4 t_close_merge", lambda: numbers(50_000, 4), method="t_close_merge", t=0.15),
    case("5,000 x 4 t_close_anneal", lambda: numbers(5_000, 4), method="t_close_anneal", t=0.15),
    case("50,000 x 4 t_close_anneal fast", lambda: numbers(50_000, 4), method="t_close_anneal", t=0.2, effort="fast"),
    case("2,000 x 4 auto", lambda: numbers(2_000, 4), method="auto"),
    case("20,000 x 4 auto", lambda: numbers(20_000, 4), method="auto"),
    case("5,000 x 3 auto, t", lambda: numbers(5_000, 3), method="auto", t=0.15),
    case("10,000 mixed 40 mdav", lambda: mixed(10_000, 40), method="mdav"),
    case("100,000 mixed 400 mdav", lambda: mixed(100_000, 400), method="mdav"),
    case("10,000 mixed 40 mdav fast", lambda: mixed(10_000, 40), method="mdav", effort="fast"),
    case("10,000 mixed 40 mdav, report", lambda: mixed(10_000, 40), method="mdav", report=True),
    case("20,000 mixed 40 t_close_merge", lambda: mixed(20_000, 40), method="t_close_merge", t=0.2),
    case("10,000 mixed 40 t_first", lambda: mixed(10_000, 40), method="t_first", t=0.15),
    case("20,000 patients mdav", lambda: patients(20_000), method="mdav", **TAXONOMY),
    case("20,000 patients mdav, t", lambda: patients(20_000), method="mdav", t=0.2, **TAXONOMY),
    case("20,000 patients auto", lambda: patients(20_000), method="auto", **TAXONOMY),
]
if DATA is not None:
    CASES += [
        case("census mdav, report", lambda: casc("census"), method="mdav", report=True),
        case("census anneal default", lambda: casc("census"), method="anneal", k=3),
        case("census mdav fast", lambda: casc("census"), method="mdav", effort="fast"),
        case("census t_close_anneal", lambda: casc("census"), method="t_close_anneal", t=0.15),
        case("tarragona mdav default", lambda: casc("tarragona"), method="mdav", effort="default"),
        case("tarragona v_mdav, report", lambda: casc("tarragona"), method="v_mdav", report=True),
        case("eia anneal default", lambda: casc("eia"), method="anneal"),
        case("eia auto", lambda: casc("eia"), method="auto"),
        case("adult mdav", adult, method="mdav"),
        case("adult mdav, report", adult, method="mdav", report=True),
        case("adult mdav fast", adult, method="mdav", effort="fast"),
        case("adult v_mdav", adult, method="v_mdav", k=10),
        case("adult auto", adult, method="auto"),
        case("adult auto, t", adult, method="auto", t=0.2),
    ]


HELD_OUT = [
    case("7,000 x 5 mdav", lambda: numbers(7_000, 5, seed=7), method="mdav", k=4),
    case("60,000 x 3 mdav", lambda: numbers(60_000, 3, seed=7), method="mdav", k=7),
    case("400,000 x 3 mdav", lambda: numbers(400_000, 3, seed=7), method="mdav"),
    case("60,000 x 5 whole numbers mdav", lambda: numbers(60_000, 5, "whole", 7), method="mdav"),
    case("50,000 x 3 whole numbers auto", lambda: numbers(50_000, 3, "whole", 7), method="auto"),
    case("20,000 x 6 mdav, report", lambda: numbers(20_000, 6, seed=7), method="mdav", report=True),
    case("15,000 x 5 v_mdav", lambda: numbers(15_000, 5, seed=7), method="v_mdav"),
    case("8,000 x 3 auto", lambda: numbers(8_000, 3, seed=7), method="auto", k=10),
    case("60,000 x 5 auto", lambda: numbers(60_000, 5, seed=7), method="auto"),
    case("15,000 x 6 correlated auto", lambda: numbers(15_000, 6, "correlated", 7), method="auto"),
    case("3,000 x 4 auto, t", lambda: numbers(3_000, 4, seed=7), method="auto", t=0.1),
    case("30,000 x 3 auto, t", lambda: numbers(30_000, 3, seed=7), method="auto", t=0.2),
    case("40,000 x 3 t_first", lambda: numbers(40_000, 3, seed=7), method="t_first", t=0.1),
    case("7,000 x 4 k_first", lambda: numbers(7_000, 4, seed=7), method="k_first", t=0.1),
    case("20,000 x 3 t_close_merge", lambda: numbers(20_000, 3, seed=7), method="t_close_merge", t=0.1),
    case("20,000 x 3 t_close_anneal", lambda: numbers(20_000, 3, seed=7), method="t_close_anneal", t=0.15),
    case("30,000 mixed 100 mdav", lambda: mixed(30_000, 100, 7), method="mdav"),
    case("5,000 mixed 20 auto", lambda: mixed(5_000, 20, 7), method="auto"),
    case("30,000 mixed 100 auto", lambda: mixed(30_000, 100, 7), method="auto"),
    case("20,000 mixed 20 auto, t", lambda: mixed(20_000, 20, 7), method="auto", t=0.15),
    case("20,000 mixed 20 mdav, report", lambda: mixed(20_000, 20, 7), method="mdav", report=True),
    case("10,000 mixed 100 t_close_merge", lambda: mixed(10_000, 100, 7), method="t_close_merge", t=0.15),
    case("10,000 patients auto", lambda: patients(10_000, 7), method="auto", **TAXONOMY),
    case("40,000 patients mdav, t", lambda: patients(40_000, 7), method="mdav", t=0.15, **TAXONOMY),
]
if DATA is not None:
    HELD_OUT += [
        case("census auto, report", lambda: casc("census"), method="auto", k=10, report=True),
        case("tarragona auto, t", lambda: casc("tarragona"), method="auto", t=0.2),
        case("eia mdav, report", lambda: casc("eia"), method="mdav", k=10, report=True),
        case("half of adult auto", lambda: adult().slice(0, 15_000), method="auto", k=10),
        case("half of adult mdav, report", lambda: adult().slice(0, 15_000), method="mdav", k=3, report=True),
        case("adult auto, t = 0.1", adult, method="auto", k=10, t=0.1),
    ]


def recipe_of(table, fields):
    """Return the recipe of a case."""
    quasi = [name for name in table.column_names if name != "pay"]
    return shoal.Recipe(quasi=quasi, confidential=["pay"], **fields)


def protect(table, recipe, folder, *, report):
    """Protect a table, and write a report if asked."""
    done = shoal.protect(table, recipe)
    if report:
        done.report(Path(folder) / "report.html", force=True)


def run(name, make, report, fields):
    """Return the estimate, and CPU and wall seconds of the run."""
    table = make()
    recipe = recipe_of(table, fields)
    with tempfile.TemporaryDirectory() as folder:
        protect(table.slice(0, 400), recipe, folder, report=report)
        for _ in range(2):
            cpu, wall = time.process_time(), time.perf_counter()
            protect(table, recipe, folder, report=report)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if cpu > LONG:
                break
        shoal.plan(table, recipe, report=report or None)
        return shoal.plan(table, recipe, report=report or None).seconds, cpu, wall


def main():
    """Run the cases one at a time, and print each with its ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--held-out", action="store_true")
    given = parser.parse_args()
    chosen = [one for one in (HELD_OUT if given.held_out else CASES) if given.only in one[0]]
    print(f"{'case':40} {'estimated':>9} {'CPU':>9} {'wall':>9} {'ratio':>6}")
    ratios = []
    for one in chosen:
        estimated, cpu, wall = run(*one)
        ratios.append(estimated / cpu)
        print(f"{one[0]:40} {estimated:9.2f} {cpu:9.2f} {wall:9.2f} {ratios[-1]:6.2f}", flush=True)
    good = sum(abs(math.log(ratio)) <= math.log(WITHIN) for ratio in ratios)
    print(f"{good} of {len(ratios)} estimates within a factor of {WITHIN}: {100 * good / len(ratios):.0f} %")


if __name__ == "__main__":
    main()
