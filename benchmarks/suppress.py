"""Suppression: loss and risk with and without the costliest 1 % of the records, k = 5. Needs SHOAL_DATA.

    python benchmarks/suppress.py

Each table is protected as it is, and with ``suppress = 0.01``. `SSE` is the squared error of the records that are
released, in percent of the SST of the *whole* table, so that both rows can be compared; `il_sse` is what shoal prints:
in percent of the SST of what is released, which is smaller without outliers. `dld` is distance linkage, in percent.
`largest` is the largest error of a value, in standard deviations of the whole table.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd

import shoal

SHARE = 0.01
TABLES = {
    "Census": ("census.csv", None),
    "EIA": ("eia.csv", "RESREVENUE,RESSALES,COMREVENUE,COMSALES,INDREVENUE,INDSALES,OTHREVENUE,OTHRSALES,TOTREVENUE,"
            "TOTSALES"),
    "Adult": ("adult.csv", "age,education-num,hours-per-week,capital-gain"),
}  # fmt: skip


def main() -> None:
    """Print the table."""
    print("| Table | suppress | Released | SSE | il_sse | dld | largest |\n|---|---|---|---|---|---|---|")
    for name, (file, names) in TABLES.items():
        table = pd.read_csv(Path(os.environ["SHOAL_DATA"]) / file)
        quasi = list(table.columns) if names is None else names.split(",")
        whole = table[quasi].to_numpy(float)
        for share in (0.0, SHARE):
            done = shoal.protect(table, quasi=quasi, k=5, suppress=share, row_order="keep")
            rows = np.arange(len(table)) if done.rows is None else done.rows
            errors = (whole[rows] - done.data[quasi].to_numpy(float)) / whole.std(axis=0)
            recipe = shoal.Recipe(quasi=quasi, k=5, suppress=share)
            found = shoal.compare(table, done.data, recipe=recipe, measures=["il_sse", "distance_linkage"]).to_dict()
            print(
                f"| {name} | {share:g} | {len(rows):,} | {100 * (errors**2).sum() / whole.size:.3g} % "
                f"| {found['il_sse']:.3g} % | {found['dld']:.3g} % | {abs(errors).max():.3g} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
