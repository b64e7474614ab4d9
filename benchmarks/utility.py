"""Adult: what a model keeps and what an attacker gains, of releases and of synthetic data. Needs SHOAL_DATA.

    python benchmarks/utility.py [--splits 5] [--only centroid swap arf cart copula] [--method mdav] [--refine fast]

Eight quasi-identifiers and the target, prediction. In each split half of the records are protected or synthesised; the
others test the models and are the control, as in `shoal explore --target`. Printed are means over the splits, after a
line for each split:

- the change of the AUC of gradient boosting and of logistic regression against models trained on the originals, in
  thousandths;
- the share of unique original combinations of quasi-identifiers that the release reproduces;
- multivariate singling-out: guesses that describe exactly one original record, and one of the control, by chance;
- membership inference for outliers, AUC in percent, 50 is guessing;
- CPU seconds of this process.

Generators are used as they install from PyPI and left out if they are not installed: adversarial random forests
(`pip install arfpy`) and a Gaussian copula (`pip install copulas`), whose values are coded as intervals as long as
their share. CART synthesis takes the columns one after another: a tree on the columns before, at least five
records in a leaf, and a value drawn from the leaf. scikit-learn (`shoal[target]`) is needed for all.
"""

import argparse
import importlib.util
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import shoal
from shoal.flow.explore.model import Task, as_numbers, as_text
from shoal.flow.stages.read import schema_for
from shoal.risk.control.copies import copied
from shoal.risk.control.membership import membership, outliers
from shoal.risk.control.predicates import singled_out
from shoal.risk.control.tables import Tables
from shoal.types import Kind

QUASI = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
TARGET = "prediction"
NAMES = [*QUASI, TARGET]
COLUMNS = ("boosting", "linear", "copied", "singled out", "control", "membership", "CPU s")


def codes_of(table):
    """Return columns as numbers, categories as codes, and the categories of each."""
    coded, names = [], []
    for name in NAMES:
        column = table.column(name)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            coded.append(as_numbers(column))
            names.append(None)
        else:
            found = as_text(column).dictionary_encode()
            order = np.argsort(found.dictionary.to_pylist())
            coded.append(np.argsort(order)[found.indices.to_numpy()].astype(float))
            names.append([found.dictionary[int(i)].as_py() for i in order])
    return np.column_stack(coded), names


def table_of(x, names):
    """Return coded columns as a table."""
    made = {}
    for j, name in enumerate(NAMES):
        if names[j] is None:
            made[name] = pa.array(np.rint(x[:, j]).astype(int))
        else:
            at = np.clip(np.rint(x[:, j]), 0, len(names[j]) - 1).astype(int)
            made[name] = pa.array([names[j][i] for i in at])
    return pa.table(made)


def cart(table, seed):
    """Synthesise columns one after another from the leaves of trees."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    x, names = codes_of(table)
    rng, n = np.random.default_rng(seed), len(x)
    made = np.empty_like(x)
    made[:, 0] = rng.choice(x[:, 0], n)
    for j in range(1, x.shape[1]):
        kind = DecisionTreeRegressor if names[j] is None else DecisionTreeClassifier
        tree = kind(min_samples_leaf=5, random_state=seed).fit(x[:, :j], x[:, j])
        donors = {}
        for row, leaf in enumerate(tree.apply(x[:, :j])):
            donors.setdefault(leaf, []).append(row)
        made[:, j] = [x[rng.choice(donors[leaf]), j] for leaf in tree.apply(made[:, :j])]
    return table_of(made, names)


def arf(table, seed):
    """Synthesise with adversarial random forests."""
    from arfpy import arf as forests

    frame = table.to_pandas()
    for name in NAMES[1:]:
        frame[name] = frame[name].astype("category")
    np.random.seed(seed)
    made = forests.arf(x=frame, verbose=False, random_state=seed)
    made.forde()
    found = made.forge(n=len(frame))
    found["age"] = found["age"].round().astype(int)
    return pa.Table.from_pandas(found.astype(dict.fromkeys(NAMES[1:], str)), preserve_index=False).select(NAMES)


def copula(table, seed):
    """Synthesise with a Gaussian copula."""
    import pandas as pd
    from copulas.multivariate import GaussianMultivariate
    from copulas.univariate import UniformUnivariate

    x, names = codes_of(table)
    rng = np.random.default_rng(seed)
    coded, ends = {}, {}
    for j, name in enumerate(NAMES):
        counts = np.bincount(x[:, j].astype(int))
        ends[name] = np.concatenate([[0.0], np.cumsum(counts) / len(x)])
        low, high = ends[name][x[:, j].astype(int)], ends[name][x[:, j].astype(int) + 1]
        coded[name] = rng.uniform(low, high)
    model = GaussianMultivariate(distribution=UniformUnivariate, random_state=seed)
    model.fit(pd.DataFrame(coded))
    drawn = model.sample(len(x))
    made = np.column_stack([np.searchsorted(ends[name][1:-1], drawn[name].to_numpy(), "right") for name in NAMES])
    return table_of(made, names)


def release(kind, k, how):
    """Return the function that protects a table."""

    def made(table, seed):
        more = {"set": {"not_private_seed": seed}} if kind == "swap" else {}
        recipe = {"quasi": QUASI, "confidential": [TARGET], "k": k, "release": kind, "row_order": "keep", **how, **more}
        return shoal.protect(table, recipe).data

    return made


def tables_of(original, control, released, schema):
    """Return the quasi-identifiers of three tables as numbers."""
    parts, numeric = [[], [], []], []
    for name in QUASI:
        three = [table.column(name) for table in (original, control, released)]
        number = schema[name].kind in (Kind.CONTINUOUS, Kind.INTEGER)
        numeric.append(number)
        if number:
            coded = [as_numbers(one) for one in three]
        else:
            known = {}
            coded = [[known.setdefault(v, len(known)) for v in as_text(one).to_pylist()] for one in three]
        for part, column in zip(parts, coded, strict=True):
            part.append(np.asarray(column, float))
    return Tables(*(np.column_stack(part) for part in parts), numeric)


def main():
    """Print the figures."""
    options = argparse.ArgumentParser()
    options.add_argument("--splits", type=int, default=5)
    options.add_argument("--only", nargs="*", default=["centroid", "swap", "arf", "cart", "copula"])
    options.add_argument("--method", default="mdav")
    options.add_argument("--refine", default="fast")
    asked = options.parse_args()
    table = pyarrow.csv.read_csv(Path(os.environ["SHOAL_DATA"]) / "adult.csv").select(NAMES)
    how = {"method": asked.method, **({"effort": asked.refine} if asked.refine != "none" else {})}
    makers = {f"{kind} k = {k}": release(kind, k, how) for kind in ("centroid", "swap") for k in (5, 20)}
    makers |= {"arf": arf, "cart": cart, "copula": copula}
    makers = {name: make for name, make in makers.items() if name.split()[0] in asked.only}
    for name, package in (("arf", "arfpy"), ("copula", "copulas"), ("cart", "sklearn")):
        if name in makers and importlib.util.find_spec(package) is None:
            print(f"{name} is left out: the package {package} is not installed.")
            del makers[name]
    schema = schema_for(table, shoal.Recipe(quasi=QUASI, confidential=[TARGET]), None)
    values = {name: table.column(name) for name in NAMES}
    classes = pa.array(sorted(set(table.column(TARGET).to_pylist())))
    task = Task.of([schema[name] for name in QUASI], schema[TARGET], values, classes)
    found = {name: [] for name in makers}
    print("split", "release", *COLUMNS, sep="\t", flush=True)
    for split in range(asked.splits):
        order = np.random.default_rng(split).permutation(len(table))
        cut = len(table) // 2
        inside, outside = (table.take(pa.array(np.sort(rows))) for rows in (order[:cut], order[cut:]))
        test = {name: outside.column(name) for name in NAMES}
        first = task.scores({name: inside.column(name) for name in NAMES}, test)
        unusual = outliers(tables_of(inside, outside, inside, schema), split)
        for name, make in makers.items():
            since = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = make(inside, split)
            spent = time.process_time() - since
            scores = task.scores({column: made.column(column) for column in NAMES}, test)
            three = tables_of(inside, outside, made, schema)
            guessed = singled_out(three, seed=split)
            changes = (1000 * (scores.boosting - first.boosting), 1000 * (scores.linear - first.linear))
            risks = (copied(three), guessed.originals, guessed.control, membership(three, unusual))
            found[name].append((*changes, *risks, spent))
            print(split, name, *(f"{value:.1f}" for value in found[name][-1]), sep="\t", flush=True)
    print("mean over", asked.splits, "splits")
    for name, rows in found.items():
        print("", name, *(f"{value:.1f}" for value in np.mean(rows, axis=0)), sep="\t")


if __name__ == "__main__":
    main()
