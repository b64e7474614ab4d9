"""Nominal confidential attributes of Adult, with their ontologies: loss at t of three methods. Needs SHOAL_DATA.

    python benchmarks/nominal.py

Quasi-identifiers are those of benchmarks/adult.py without the confidential attribute. IL is that of the partition,
100·SSE/SST in the coordinates in which classes are formed: ranges for age, the ontologies for categories. CPU seconds
are those of the whole of `protect`, after a small table has had everything compiled.
"""

import os
import time
from pathlib import Path

import numpy as np

from adult import QUASI, nested, read
from shoal.flow.protect.protect import protect_frame
from shoal.flow.stages.encode import encode
from shoal.flow.stages.read import schema_for
from shoal.kernels.arithmetic.class_statistics import sse
from shoal.points.encoding import Encoding
from shoal.recipe.recipe import Recipe
from shoal.types import Table

METHODS = ("t_close_merge", "t_first", "steered")


def main():
    folder = Path(os.environ["SHOAL_DATA"])
    data = read(folder)
    for secret in ("occupation", "education"):
        quasi = [name for name in QUASI if name != secret]
        trees = {name: nested(name, folder / "ontologies") for name in (*quasi, secret) if name != "age"}
        base = {"quasi": quasi, "confidential": [secret], "k": 5, "taxonomies": trees, "attacker": "table"}
        for t in (0.05, 0.1, 0.2, 0.3):
            for method in METHODS:
                recipe = Recipe.from_dict({**base, "t": t, "method": method})
                protect_frame(data.slice(0, 1000), recipe)
                start = time.process_time()
                done = protect_frame(data, recipe)
                print(
                    f"{secret}, t = {t}: {method}: {figures(data, recipe, done)}, {time.process_time() - start:.0f} s",
                    flush=True,
                )


def figures(data, recipe, done):
    """Loss, classes, and the t that the audit found."""
    table = Table(data, schema_for(data, recipe, None))
    x = Encoding(scale="range").encode(encode(table, table.schema.names("quasi"), missing="category")[1]).x
    il = 100 * sse(x, done.partition.labels) / sse(x, np.zeros(len(data), np.int64))
    reached = next(one.achieved for one in done.audit.findings if one.model == "t_closeness")
    return f"IL {il:.1f} %, {len(done.partition):,} classes, t {reached:.3f}"


if __name__ == "__main__":
    main()
