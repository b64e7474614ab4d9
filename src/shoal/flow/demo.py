"""Demonstration: a synthetic survey with taxonomy and recipe, protected, with a summary of the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import EngineError, ParameterError
from shoal.flow.audit import Asked, audit_frame
from shoal.flow.protect.protect import Protected, protect_file
from shoal.flow.stages.write import write_table, write_text
from shoal.locations import Place
from shoal.recipe.recipe import Recipe
from shoal.types import with_columns

if TYPE_CHECKING:
    import pyarrow as pa


FILES = ("survey.csv", "occupations.csv", "recipe.toml", "protected.csv")

RECIPE = """\
version = 1

# Attributes that an attacker may know from elsewhere: released as one value per class.
quasi = [
  "birth",       # a date
  "marital",     # categories
  "education",   # categories with an order: see [orders]
  "work",        # categories
  "occupation",  # categories with a taxonomy: see [taxonomies]; some are missing
  "dwelling",    # categories, of the household
  "rooms",       # whole numbers, of the household
  "rent",        # numbers, of the household; some are missing
]

# Values to keep confidential: released unchanged.
confidential = ["health", "income", "commute_minutes"]

# Direct identifiers: removed.
identifier = ["person"]

# Households are never split: k counts them, and all members are released with the same values.
together = "household"
k = 5

# Classes never cross regions, and means are weighted by the sampling weights.
strata = ["region"]
weight = "weight"

# A missing value is a separate category; or "exclude" the record, or "fill" it from its class.
when_missing = "category"

# Rows keep their order, so that you can compare both files line by line. They are sorted by person: remove this line
# before you publish the output, and they are shuffled.
row_order = "keep"

[orders]
education = ["primary", "secondary", "bachelor", "master"]

[taxonomies]
occupation = "occupations.csv"  # beside this file

[set]
categories = "node"  # a class is released as its most central occupation, group or sector
"""


@dataclass(frozen=True)
class Stratum:
    """The audit of one stratum: k counted in households and in people, and the smallest weight of a class."""

    name: str
    records: int
    households: int
    classes: int
    k: int
    k_people: int
    weighted_k: float


@dataclass(frozen=True)
class Demonstration:
    """The files, the result, the audit of each region, and one household before and after."""

    files: tuple[Path, ...]
    done: Protected
    strata: tuple[Stratum, ...]
    before: pa.Table = field(repr=False)
    after: pa.Table = field(repr=False)


def demonstrate(folder: Path, *, force: bool) -> Demonstration:
    """Write a survey, its taxonomy and a recipe to a folder, and protect the survey.

    Parameters
    ----------
    folder
        Where the files go; created if it does not exist.
    force
        Whether to replace the files of an earlier run.
    """
    from shoal.flow.demo_survey import Survey, taxonomy

    files = survey, occupations, recipe, protected = tuple(folder / name for name in FILES)
    _refuse(folder, files, force=force)
    people = Survey().read()
    write_table(people, Place(survey), force=True)
    write_text(taxonomy(), occupations, force=True)
    write_text(RECIPE, recipe, force=True)
    meant = Recipe.load(recipe)
    done = protect_file(Place(survey), Place(protected), meant, force=True)
    whose = with_columns(done.data, {"weight": people["weight"]}).append_column("household", people["household"])
    shown = _household(people, 3)
    quasi = list(meant.quasi)
    before, after = (table.filter(shown).select(quasi) for table in (people, whose))
    return Demonstration(files, done, _strata(whose, meant), before, after)


def _refuse(folder: Path, files: tuple[Path, ...], *, force: bool) -> None:
    """Refuse a folder that cannot be created, and existing files unless `force` is set."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"demo: {folder} cannot be made a folder ({error.strerror}). Name another.") from None
    for path in files:
        if path.exists() and not force:
            raise ParameterError(f"{path}: exists already; give --force to replace it, or another folder.")


def _strata(whose: pa.Table, recipe: Recipe) -> tuple[Stratum, ...]:
    """Audit each region separately; the household column, known here, is not released."""
    import pyarrow.compute as pc

    found = []
    for name in sorted(set(whose["region"].to_pylist())):
        inside = whose.filter(pc.equal(whose["region"], name))
        quasi, weight = recipe.quasi, recipe.weight
        households = audit_frame(inside, Asked(quasi, subject=recipe.together, weight=weight)).overall
        people = audit_frame(inside, Asked(quasi, weight=weight)).overall
        found.append(
            Stratum(
                name,
                inside.num_rows,
                len(inside["household"].unique()),
                households.classes,
                int(households.achieved),
                int(people.achieved),
                dict(people.found)["weighted_k"],
            )
        )
    return tuple(found)


def _household(people: pa.Table, size: int) -> pa.Array:
    """Return which records belong to the first household of the given size."""
    import pyarrow.compute as pc

    counted = people["household"].value_counts()
    of_size = counted.filter(pc.equal(counted.field("counts"), size))
    return pc.equal(people["household"], of_size.field("values")[0])
