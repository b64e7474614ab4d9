"""Protect a pandas frame, look at the audit, and find the largest k whose loss is small enough.

Run it with ``python examples/protect_pandas.py`` after ``pip install '.[pandas]'``.
"""

from __future__ import annotations

import pandas as pd

import shoal

MOST_LOSS = 3.0  # percent of the variation


def main() -> None:
    """Protect the synthetic survey with the largest k that keeps the loss below the limit."""
    survey: pd.DataFrame = shoal.survey(records=2000).to_pandas()
    recipe = {
        "quasi": ["birth", "income", "commute_minutes"],
        "confidential": ["health"],
        "identifier": ["person", "household"],
    }
    survey["birth"] = pd.to_datetime(survey["birth"])

    best = None
    for k in (3, 5, 7, 10, 15, 20):
        done = shoal.protect(survey, {**recipe, "k": k})
        loss = done.readings["il_sse"]
        print(f"k = {k:2d}: {len(done.partition):4d} classes, {loss:5.2f} % lost")
        if loss <= MOST_LOSS:
            best = done
    if best is None:
        raise SystemExit(f"No k keeps the loss below {MOST_LOSS} %.")

    found = shoal.audit(best.data, quasi=recipe["quasi"], require={"k": best.recipe.k})
    print(f"chosen: k = {best.recipe.k}, audited: {found.overall.achieved}, holds: {found.holds}")
    print(best.data.head(3).to_string())


if __name__ == "__main__":
    main()
