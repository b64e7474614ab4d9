"""Demonstration: a synthetic survey with taxonomy and recipe, protected, with a summary of the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import EngineError, ParameterError
from shoal.flow.audit import Asked, audit_frame
from shoal.flow.protect.protect import protect_file
from shoal.flow.protect.protected import Protected
from shoal.flow.stages.write import write_table, write_text
from shoal.locations import Place
from shoal.parameters import Checked, Param
from shoal.recipe.recipe import Recipe
from shoal.types import with_columns

FILES = ("survey.csv", "occupations.csv", "recipe.toml", "protected.csv")

RECIPE = """\
version = 1

# Attributes that an attacker may know from elsewhere: released as one value per class.
quasi = [
  "birth",     # a date, of the person
  "dwelling",  # categories, of the household
  "rooms",     # whole numbers, of the household
  "rent",      # numbers, of the household; some are missing
]

# Values to keep confidential: released unchanged.
confidential = ["health", "income", "commute_minutes"]

# Removed: the direct identifier, and four columns that an attacker may know as well, but that this release does not
# need. As quasi-identifiers beside the others they would raise the loss from 14 % to 42 %.
identifier = ["person", "marital", "education", "work", "occupation"]

# k counts households. Attributes of the household get one value for all its members, those of a person do not.
together = "household"
household_level = ["dwelling", "rooms", "rent"]
k = 5

# Classes never cross regions, and means are weighted by the sampling weights.
strata = ["region"]
weight = "weight"

# A missing value is a separate category; or "exclude" the record, or "fill" it from its class.
when_missing = "category"

# Rows keep their order, so that you can compare both files line by line. They are sorted by person: remove this line
# before you publish the output, and they are shuffled.
row_order = "keep"
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
            raise ParameterError(f"{path}: already exists; give --force to replace it, or another folder.")


def _strata(whose: pa.Table, recipe: Recipe) -> tuple[Stratum, ...]:
    """Audit each region separately; the household column, known here, is not released."""
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
    counted = people["household"].value_counts()
    of_size = counted.filter(pc.equal(counted.field("counts"), size))
    return pc.equal(people["household"], of_size.field("values")[0])


_REGIONS = ("north", "east", "south", "west", "islands")
_EDUCATION = ("primary", "secondary", "bachelor", "master")
_WORK = ("employed", "self-employed", "unemployed", "student", "retired")
_HEALTH = ("very good", "good", "fair", "bad")
_MARITAL = ("single", "married", "divorced", "widowed")
_DWELLING = ("flat", "terraced", "detached", "mobile home")

#: Sectors, their groups, and the occupations of each, most frequent first.
OCCUPATIONS = {
    "professional": {
        "health": ("nurse", "doctor", "pharmacist"),
        "teaching": ("primary teacher", "secondary teacher", "lecturer"),
        "engineering": ("software developer", "civil engineer", "architect"),
    },
    "office": {
        "administration": ("secretary", "civil servant", "lawyer"),
        "finance": ("accountant", "bank clerk", "insurance agent"),
    },
    "service": {
        "sales": ("shop assistant", "sales representative", "cashier"),
        "hospitality": ("cook", "waiter", "receptionist"),
        "personal care": ("home carer", "hairdresser", "childminder"),
    },
    "manual": {
        "construction": ("electrician", "carpenter", "bricklayer"),
        "transport": ("lorry driver", "warehouse worker", "bus driver"),
        "agriculture": ("farmer", "gardener", "fisher"),
    },
}
#: The education level at which each group is most frequent, in the order of the groups above.
_SCHOOLING = (3, 3, 2.6, 2, 2, 1.2, 0.6, 0.9, 1, 0.2, 0.4)


@dataclass(frozen=True)
class Survey(Checked):
    """Every kind of attribute, missing values, sampling weights, strata and households; always identical.

    Attributes of a household (region, dwelling, rooms, rent) are the same for all its members.
    """

    records: Annotated[int, Param("Number of people.", low=1)] = 5000
    seed: Annotated[int, Param("Random seed.", low=0)] = 0

    def read(self) -> pa.Table:
        """Generate the survey."""
        n, rng = self.records, np.random.default_rng(self.seed)
        home = _homes(n, rng)
        region = rng.choice(len(_REGIONS), n, p=[0.24, 0.2, 0.27, 0.22, 0.07])[home]  # one per household
        age = np.clip(rng.gamma(9.0, 5.4, n), 16, 97)
        birth = np.datetime64("2025-06-30") - (age * 365.25).astype("timedelta64[D]")
        education = np.clip(np.rint(1.3 + rng.normal(0, 0.9, n) - (age > 65) * 0.6), 0, 3).astype(int)
        work = _work(age, rng)
        income = np.exp(9.6 + 0.28 * education + 0.45 * (work == 0) + 0.3 * (work == 1) + rng.normal(0, 0.42, n))
        minutes = np.where(work < 2, np.rint(rng.gamma(2.2, 13.0, n)), 0).astype(int)
        weight = np.array([1.8, 2.1, 1.6, 1.9, 0.7])[region] * rng.uniform(0.85, 1.2, n) * 1000
        health = np.clip(np.rint(age / 38 + rng.normal(0, 0.7, n) - 0.6), 0, 3).astype(int)
        household, place = _households(home, region, age, education)
        marital = _marital(age, household, place, rng)
        occupation = _occupation(education, work, rng)
        return pa.table(
            {
                "person": [f"P{i:06d}" for i in range(1, n + 1)],
                "household": [f"H{h + 1:06d}" for h in household],
                "region": np.array(_REGIONS)[region],
                "birth": pa.array(birth.astype("datetime64[D]"), pa.date32()),
                "marital": np.array(_MARITAL)[marital],
                "education": np.array(_EDUCATION)[education],
                "work": np.array(_WORK)[work],
                "occupation": occupation,
                "income": np.round(income, 2),
                "commute_minutes": minutes,
                "health": np.array(_HEALTH)[health],
                **_housing(household, income, rng),
                "weight": np.round(weight, 1),
            }
        )


def taxonomy() -> str:
    """Return the taxonomy of occupations as text: one line per occupation, with its group, its sector and ``*``.

    >>> taxonomy().splitlines()[0]
    'nurse;health;professional;*'
    """
    return "".join(
        f"{name};{group};{sector};*\n"
        for sector, groups in OCCUPATIONS.items()
        for group, names in groups.items()
        for name in names
    )


def _homes(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return homes of one to five people: each home's number, once per member."""
    sizes = rng.choice([1, 2, 3, 4, 5], n, p=[0.38, 0.33, 0.14, 0.11, 0.04])
    return np.repeat(np.arange(n), sizes)[:n]


def _households(
    home: NDArray[np.int64], region: NDArray[np.int64], age: NDArray[np.float64], education: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each person's household and position in it: two adults of similar age and schooling, then their children.

    Members are spread over the table, so that row order does not show where a household ends.
    """
    n = len(home)
    first = np.searchsorted(home, home)
    place = np.arange(n) - first
    wished = age[first] - 27 * ((place > 1) & (age[first] > 42))
    people = _ranked(region, age, education)
    places = _ranked(region, wished, education[first])
    found = np.empty((2, n), np.int64)
    found[:, people] = home[places], place[places]
    _, rows, numbers = np.unique(found[0], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(rows))[numbers], found[1]  # numbered by their first rows


def _ranked(region: NDArray[np.int64], age: NDArray[np.float64], education: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows sorted by region, then by bands of thirty of similar age, then by education."""
    band = np.empty(len(age), np.int64)
    band[np.lexsort((age, region))] = np.arange(len(age)) // 30
    return np.lexsort((education, band, region))


def _work(age: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return each person's activity: most study when young and retire when old."""
    work = rng.choice(3, len(age), p=[0.8, 0.12, 0.08])
    chance = rng.uniform(size=len(age))
    work = np.where((age < 24) & (chance < 0.7), 3, work)
    return np.asarray(np.where(age > 66 - 6 * chance, 4, work))


def _marital(
    age: NDArray[np.float64], household: NDArray[np.int64], place: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return each person's marital status: the first two members of most larger households are married."""
    n = len(age)
    couple = (rng.uniform(size=n) < 0.75)[household] & (np.bincount(household, minlength=n)[household] > 1)
    chance = rng.uniform(size=n)
    once = np.where(chance < (age - 60) / 60, 3, np.where(chance > 1 - np.clip(age - 28, 0, 30) / 75, 2, 0))
    return np.asarray(np.where(couple & (place < 2) & (age > 20), 1, once))


def _occupation(education: NDArray[np.int64], work: NDArray[np.int64], rng: np.random.Generator) -> pa.Array:
    """Return each person's current or last occupation; missing for students and for some others."""
    names = [name for groups in OCCUPATIONS.values() for listed in groups.values() for name in listed]
    shares = np.exp(-1.8 * abs(np.subtract.outer(np.arange(len(_EDUCATION)), _SCHOOLING)))
    shares = np.einsum("eg,i->egi", shares, [0.5, 0.3, 0.2]).reshape(len(_EDUCATION), -1)
    ends = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
    drawn = (rng.uniform(size=len(work))[:, None] >= ends[education]).sum(axis=1)
    silent = rng.uniform(size=len(work)) < 0.03
    return pa.array(np.array(names)[np.minimum(drawn, len(names) - 1)], mask=(work == 3) | silent)


def _housing(
    household: NDArray[np.int64], income: NDArray[np.float64], rng: np.random.Generator
) -> dict[str, NDArray[np.generic] | pa.Array]:
    """Return the household attributes, the same for all members; some do not report their rent."""
    n = len(household)
    people = np.bincount(household, minlength=n)
    chance = rng.uniform(size=n)
    kind = np.select([chance > 0.98, chance < 0.65 - 0.09 * people, chance < 0.83 - 0.06 * people], [3, 0, 1], 2)
    rooms = 1.2 + 0.6 * people + np.array([0, 0.6, 1.1, -0.8])[kind] + rng.normal(0, 0.6, n)
    rooms = np.clip(np.rint(rooms), 1, 9).astype(int)
    rent = (220 + 95 * rooms + 0.004 * np.bincount(household, income, minlength=n)) * np.exp(rng.normal(0, 0.25, n))
    silent = rng.uniform(size=n) < 0.06
    return {
        "dwelling": np.array(_DWELLING)[kind[household]],
        "rooms": rooms[household],
        "rent": pa.array(np.round(rent, 2)[household], mask=silent[household]),
    }
