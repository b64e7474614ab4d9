"""Adult, mixed kinds with ontologies: loss and CPU seconds against order-and-cut. Prints as it goes; needs SHOAL_DATA.

    python benchmarks/adult.py

Quasi-identifiers age, workclass, education, marital-status, occupation, race, sex and native-country, seven of them
with the ontologies; confidential capital-gain and prediction. The baseline is what µ-ANT does: sort records by their
distance to a zero record, cut every k. Both are released and measured in the same way, with the same points.

Values of the file that the ontologies do not know are put where they belong: occupations have other names there.
"""

import os
import time
from pathlib import Path

import numpy as np
import pyarrow.csv

from shoal.flow.confidential import confidential_columns
from shoal.flow.encoding import encode
from shoal.flow.measuring import measure
from shoal.flow.protect import protect_frame
from shoal.flow.reading import schema_for
from shoal.kernels.earth_mover import closeness, distances
from shoal.kernels.merging import merge_until_close
from shoal.points.encoding import Encoding
from shoal.recipe import Recipe
from shoal.release.centroid import Centroid
from shoal.schema.taxonomy_files import read_taxonomy
from shoal.types import Partition, Table

QUASI = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
NAMES = {
    "occupation": {
        "specialist": "Prof-specialty",
        "craftsman": "Craft-repair",
        "executive": "Exec-managerial",
        "clerk": "Adm-clerical",
        "sales": "Sales",
        "serving": "Other-service",
        "operator": "Machine-op-inspct",
        "carrier": "Transport-moving",
        "cleaner": "Handlers-cleaners",
        "farmer": "Farming-fishing",
        "technician": "Tech-support",
        "protector": "Protective-serv",
        "housekeeper": "Priv-house-serv",
        "soldier": "Armed-Forces",
    },
    "native-country": {
        "south-africa": "South",
        "united-states": "United-States",
        "Hong-kong-kong": "Hong",
        "Hong-kong": "Hong",
        "Netherlands": "Holand-Netherlands",
    },
}


def nested(column, folder):
    """The ontology of a column as groups within groups, its values called as in the file."""
    paths = dict(read_taxonomy(column, folder / f"{column}.owl").paths)
    for name, called in NAMES.get(column, {}).items():
        paths[name] = paths[called]
    found = {}
    for leaf, path in paths.items():
        at = found
        for group in path or ("alone",):
            at = at.setdefault(group, {})
        at[leaf] = None
    return _lists(found)


def _lists(tree):
    """Groups that hold both values and groups have their values in a group of the same name."""
    inner = {name: _lists(below) for name, below in tree.items() if below is not None}
    leaves = [name for name, below in tree.items() if below is None]
    if not inner:
        return leaves
    return inner | ({"itself": leaves} if leaves else {})


def order_and_cut(points, k):
    """Sort by distance to a zero record, cut every k; the last class takes what is left."""
    order = np.argsort((points.coordinates**2).sum(axis=1), kind="stable")
    labels = np.empty(len(order), np.int64)
    labels[order] = np.minimum(np.arange(len(order)) // k, max(len(order) // k - 1, 0))
    return labels


def baseline(table, recipe):
    start = time.process_time()
    typed, attributes = encode(table, table.schema.names("quasi"), missing="category")
    points = Encoding(scale="range").encode(attributes)
    labels = order_and_cut(points, recipe.k)
    if recipe.t is not None:
        c = closeness(confidential_columns(table), recipe.t)
        labels = merge_until_close(points.coordinates, labels, c)
        assert distances(c, labels)[1].all()
    partition = Partition.of(labels, tuple(recipe.quasi))
    released = Centroid().release(typed, points, partition, None, np.random.default_rng(0))
    readings = measure(attributes, released.data)
    return readings["il_sse"], time.process_time() - start, len(partition)


def main():
    folder = Path(os.environ["SHOAL_DATA"])
    data = pyarrow.csv.read_csv(folder / "adult.csv")
    trees = {column: nested(column, folder / "ontologies") for column in QUASI if column != "age"}
    cells = [
        ("k = 5", {}, ["mdav"]),
        ("k = 5, t = 0.15", {"t": 0.15}, ["mdav", "auto"]),
    ]
    for what, asked, methods in cells:
        base = {"quasi": QUASI, "confidential": ["capital-gain", "prediction"], "k": 5, "taxonomies": trees, **asked}
        recipe = Recipe.from_dict({**base, "method": "mdav"})
        loss, seconds, classes = baseline(Table(data, schema_for(data, recipe, None)), recipe)
        print(f"{what}: order and cut: IL {loss:.2f} %, {classes:,} classes, {seconds:.1f} s", flush=True)
        for method in methods:
            for refine in (None, "fast"):
                if refine and method == "auto":
                    continue
                more = {"set": {"scale": "range"}} if method != "auto" else {"set": {"scale": "range", "seconds": 20}}
                start = time.process_time()
                done = protect_frame(data, Recipe.from_dict({**base, "method": method, "refine": refine, **more}))
                seconds, own = time.process_time() - start, done.readings["il_sse"]
                name = method + (", refined" if refine else "")
                ratio = f"{loss / own:.1f} times less"
                print(
                    f"{what}: {name}: IL {own:.2f} %, {len(done.partition):,} classes, {seconds:.1f} s, {ratio}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
