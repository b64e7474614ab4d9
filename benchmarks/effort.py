"""Loss and CPU seconds of the efforts, next to MDAV. Prints as it goes; needs SHOAL_DATA.

    python benchmarks/effort.py [--best] [--only adult,patients]

Loss is that of the classes: the mean over quasi-identifiers of 100·SSE/SST, each in its own distance (categories: equal
or not), so that all attributes count the same. CPU seconds are those of all threads for the whole of `protect` without
reading the file, after a run that compiled everything; the ratio is to `mdav` in the same run. Adult is 70 % of the
file, at random. The patients have a birth date, 300 postcodes, a sex and 1,500 ICD codes in a taxonomy of three levels.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import shoal
from adult import QUASI, nested, read

FOLDER = Path(os.environ["SHOAL_DATA"])
EIA = ["UTILITYID", "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE"]
EIA += ["OTHRSALES", "TOTREVENUE", "TOTSALES"]


def numbers(name, quasi=None):
    """A file of numbers, and the recipe fields that describe it."""
    data = pyarrow.csv.read_csv(FOLDER / f"{name}.csv")
    return data, {"quasi": quasi or data.column_names}


def adult():
    """70 % of Adult, without ontologies."""
    data = pyarrow.csv.read_csv(FOLDER / "adult.csv")
    some = np.random.default_rng(0).permutation(data.num_rows)[: int(0.7 * data.num_rows)]
    return data.take(np.sort(some)), {"quasi": QUASI}


def adult_close(**fields):
    """Adult with ontologies and t."""
    folder = FOLDER / "ontologies"
    trees = {name: nested(name, folder) for name in QUASI if (folder / f"{name}.owl").exists()}
    return read(FOLDER), {
        "quasi": QUASI,
        "taxonomies": trees,
        "confidential": ["capital-gain", "prediction"],
        "t": 0.15,
        **fields,
    }


def few():
    """400 records with t."""
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, 400)
    pay = np.round(rng.lognormal(10, 0.5, 400) + 300 * age)
    data = pa.table({"age": age, "place": rng.integers(1000, 1100, 400), "pay": pay})
    return data, {"quasi": ["age", "place"], "confidential": ["pay"], "t": 0.1}


def patients(n=20_000):
    """Patients with t."""
    rng = np.random.default_rng(2)
    tree = {c: {f"{c}{b:02d}": [f"{c}{b:02d}.{s}" for s in range(10)] for b in range(10)} for c in "ABCDEFGHIJKLMNO"}
    codes = np.array([code for groups in tree.values() for group in groups.values() for code in group])

    def drawn(count, power):
        shares = 1.0 / np.arange(1, count + 1) ** power
        return rng.choice(count, n, p=shares / shares.sum())

    birth = np.datetime64("1930-01-01") + rng.integers(0, 30_000, n).astype("timedelta64[D]")
    data = pa.table(
        {
            "birth": pa.array(birth),
            "postcode": [f"P{place:03d}" for place in drawn(300, 0.6)],
            "sex": rng.choice(["f", "m"], n),
            "icd": codes[rng.permutation(1_500)[drawn(1_500, 0.8)]],
            "cost": np.round(rng.lognormal(8, 1, n)),
        }
    )
    return data, {
        "quasi": ["birth", "postcode", "sex", "icd"],
        "confidential": ["cost"],
        "t": 0.2,
        "taxonomies": {"icd": tree},
    }


TABLES = {
    "census": (lambda: numbers("census"), (3, 5, 10)),
    "tarragona": (lambda: numbers("tarragona"), (3, 5, 10)),
    "eia": (lambda: numbers("eia", EIA), (3, 5, 10)),
    "adult": (adult, (5, 20)),
    "400 records, t = 0.1": (few, (5,)),
    "adult with ontologies, t = 0.15": (adult_close, (5,)),
    "the same, attacker = table": (lambda: adult_close(attacker="table"), (5,)),
    "patients, t = 0.2": (patients, (5,)),
}


def loss(data, quasi, labels):
    """The mean over attributes of 100·SSE/SST, of classes with exact means."""
    sizes, shares = np.bincount(labels), []
    for name in quasi:
        column = data[name]
        if pa.types.is_string(column.type):
            codes = np.unique(column.to_pylist(), return_inverse=True)[1]
            pairs, counts = np.unique(labels * (codes.max() + 1) + codes, return_counts=True)
            inside = len(codes) - (counts**2 / sizes[pairs // (codes.max() + 1)]).sum()
            shares.append(inside / (len(codes) - (np.bincount(codes) ** 2).sum() / len(codes)))
        else:
            column = column.cast(pa.int32()) if pa.types.is_date(column.type) else column
            x = column.to_numpy().astype(float)
            means = np.bincount(labels, weights=x) / sizes
            shares.append(((x - means[labels]) ** 2).sum() / ((x - x.mean()) ** 2).sum() if x.std() > 0 else 0.0)
    return 100 * float(np.mean(shares))


def main():
    """Print a line for each table, k and effort."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    efforts = ("fast", "default", *(("best",) if given.best else ()))
    print(f"{'table':34} {'k':>3} {'effort':>8} {'loss %':>8} {'CPU s':>7} {'ratio':>6}")
    for name, (made, sizes) in TABLES.items():
        if given.only and not any(name.startswith(one) for one in given.only.split(",")):
            continue
        data, fields = made()
        for k in sizes:
            first = 0.0
            for effort in ("mdav", *efforts):
                own = {"method": "mdav"} if effort == "mdav" else {"effort": effort}
                if effort == "mdav" and "t" in fields:
                    continue
                if k == sizes[0] and effort != "best":
                    shoal.protect(data, k=k, row_order="keep", **fields, **own)
                began = time.process_time()
                done = shoal.protect(data, k=k, row_order="keep", **fields, **own)
                spent = time.process_time() - began
                first = first or spent
                lost = loss(data, fields["quasi"], done.partition.labels)
                print(f"{name:34} {k:3} {effort:>8} {lost:8.3f} {spent:7.2f} {spent / first:6.2f}", flush=True)


if __name__ == "__main__":
    main()
