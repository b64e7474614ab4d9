"""Adult, mixed kinds with ontologies: loss and CPU seconds against order-and-cut. Prints as it goes; needs SHOAL_DATA.

    python benchmarks/adult.py

Quasi-identifiers age, workclass, education, marital-status, occupation, race, sex and native-country, seven of them
with the ontologies; confidential capital-gain and prediction. The baseline is what µ-ANT does: sort records by their
distance to a zero record, cut every k, and merge until classes are within t. There are two zero records, and the one
that loses less counts: the origin of the coordinates, which is the least age and the root of every ontology; and the
record with the least value of every attribute, of categories the first by name.

All are released as centroids and measured the same way. IL is 100·SSE/SST between the original and what is released, in
coordinates scaled to range 1, in which the classes were formed; `il_sse` is the reading that shoal prints, in which age
is scaled to deviation 1. Either may be above 100 %: a category that is released is no mean.

CPU seconds are those of the whole of `protect` without reading the file, both cores together, after a small table
has had everything compiled.

Values of the file that the ontologies do not know get the names they have there.
"""

import os
import time
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv

from shoal.flow.protect.protect import protect_frame
from shoal.flow.stages.encode import confidential_columns, encode
from shoal.flow.stages.measure import compared, measures, read_measures
from shoal.flow.stages.read import schema_for
from shoal.kernels.arithmetic.sums import extent
from shoal.kernels.closeness.earth_mover import closeness, distances
from shoal.kernels.closeness.merge import merge_until_close
from shoal.points.encoding import Encoding
from shoal.recipe.recipe import Recipe
from shoal.release.centroid import Centroid
from shoal.schema.taxonomy_files import read_taxonomy
from shoal.types import CodedAttribute, Footing, Partition, Table, coded

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


def read(folder):
    """The file, with values called as in the ontologies."""
    data = pyarrow.csv.read_csv(folder / "adult.csv")
    for column, names in NAMES.items():
        values = [names.get(value, value) for value in data[column].to_pylist()]
        data = data.set_column(data.column_names.index(column), column, [values])
    return data


def nested(column, folder):
    """The ontology of a column as groups within groups."""
    paths = read_taxonomy(column, folder / f"{column}.owl").paths
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


def order_and_cut(points, zero, k):
    """Sort by distance to a zero record, cut every k; the last class takes what is left."""
    order = np.argsort(((points.coordinates - zero) ** 2).sum(axis=1), kind="stable")
    labels = np.empty(len(order), np.int64)
    labels[order] = np.minimum(np.arange(len(order)) // k, max(len(order) // k - 1, 0))
    return labels


def zero_records(points, typed):
    """The origin of the coordinates, and the record with the least value of every attribute."""
    least = np.zeros(points.coordinates.shape[1])
    for name in dict.fromkeys(points.owners):
        column = typed.data[name]
        row = pc.index(column, pc.min(column)).as_py()
        own = np.array(points.owners) == name
        least[own] = points.coordinates[row, own]
    return {"origin": np.zeros_like(least), "least values": least}


def lost(attributes, released):
    """100·SSE/SST between the original and what is released, in coordinates scaled to range 1."""
    sse = sst = 0.0
    for attribute in attributes:
        if isinstance(attribute, CodedAttribute):
            column, (other,) = attribute.beside([released[attribute.name]])
            x, y = (coded([(column._replace(codes=codes), 1.0)]).embedding() for codes in (column.codes, other))
        else:
            placed = attribute.place(lambda values: Footing(*extent(values)))
            x, y = placed.coordinates, attribute.like(released[attribute.name], placed)
        sse += ((x - y) ** 2).sum()
        sst += ((x - x.mean(axis=0)) ** 2).sum()
    return 100 * sse / sst


def readings(attributes, table, typed, released):
    """What `shoal protect` would print."""
    return read_measures(compared(attributes, table.schema, typed.data, released), measures(quick=True))


def baseline(table, recipe):
    """Order and cut from each zero record: the loss of the better one."""
    typed, attributes = encode(table, table.schema.names("quasi"), missing="category")
    points = Encoding(scale="range").encode(attributes)
    found = []
    for name, zero in zero_records(points, typed).items():
        start = time.process_time()
        labels = order_and_cut(points, zero, recipe.k)
        if recipe.t is not None:
            c = closeness(confidential_columns(table), recipe.t)
            labels = merge_until_close(points.coordinates, labels, c)
            assert distances(c, labels)[1].all()
        partition = Partition.of(labels, tuple(recipe.quasi))
        released = Centroid().release(typed, points, partition, None, np.random.default_rng(0)).data
        seconds, reading = time.process_time() - start, readings(attributes, table, typed, released)["il_sse"]
        found.append(lost(attributes, released))
        say(recipe, f"order and cut, {name}", (found[-1], reading, len(partition), seconds), None)
    return min(found)


def say(recipe, name, figures, best):
    """Print a row."""
    loss, reading, classes, seconds = figures
    what = f"k = {recipe.k}" + (f", t = {recipe.t}" if recipe.t is not None else "")
    ratio = f", {best / loss:.1f} times less" if best else ""
    row = f"{what}: {name}: IL {loss:.2f} %, il_sse {reading:.2f} %, {classes:,} classes, {seconds:.1f} s{ratio}"
    print(row, flush=True)


def main():
    folder = Path(os.environ["SHOAL_DATA"])
    data = read(folder)
    trees = {column: nested(column, folder / "ontologies") for column in QUASI if column != "age"}
    ranged = {"set": {"scale": "range"}}
    cells = [
        ({}, [("mdav", ranged), ("mdav, refined", {**ranged, "effort": "fast"})]),
        ({"t": 0.15}, [("mdav", ranged), ("auto", ranged), ("auto, standard", {"set": {"scale": "standard"}})]),
    ]
    for asked, ways in cells:
        base = {"quasi": QUASI, "confidential": ["capital-gain", "prediction"], "k": 5, "taxonomies": trees, **asked}
        recipe = Recipe.from_dict({**base, "method": "mdav"})
        table = Table(data, schema_for(data, recipe, None))
        best = baseline(table, recipe)
        attributes = encode(table, table.schema.names("quasi"), missing="category")[1]
        for name, more in ways:
            recipe = Recipe.from_dict({**base, "method": name.split(",")[0], **more})
            protect_frame(data.slice(0, 2000), recipe)
            start = time.process_time()
            done = protect_frame(data, recipe)
            seconds, reading = time.process_time() - start, done.readings["il_sse"]
            say(recipe, name, (lost(attributes, done.data), reading, len(done.partition), seconds), best)


if __name__ == "__main__":
    main()
