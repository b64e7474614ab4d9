"""A synthetic survey of people in households, about nobody: for demonstrations and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param

if TYPE_CHECKING:
    import pyarrow as pa

_REGIONS = ("north", "east", "south", "west", "islands")
_EDUCATION = ("primary", "secondary", "bachelor", "master")
_WORK = ("employed", "self-employed", "unemployed", "student", "retired")
_HEALTH = ("very good", "good", "fair", "bad")


@dataclass(frozen=True)
class Survey(Checked):
    """Numbers, an ordinal and nominal columns, a date, sampling weights and households; the same every time."""

    records: Annotated[int, Param("Number of people.", low=1)] = 5000
    seed: Annotated[int, Param("Where randomness starts.", low=0)] = 0

    def read(self) -> pa.Table:
        """Make the survey."""
        import pyarrow as pa

        n, rng = self.records, np.random.default_rng(self.seed)
        household = _households(n, rng)
        region = rng.choice(len(_REGIONS), n, p=[0.24, 0.2, 0.27, 0.22, 0.07])[household]  # one per household
        age = np.clip(rng.gamma(9.0, 5.4, n), 16, 97)
        birth = np.datetime64("2025-06-30") - (age * 365.25).astype("timedelta64[D]")
        education = np.clip(np.rint(1.3 + rng.normal(0, 0.9, n) - (age > 65) * 0.6), 0, 3).astype(int)
        work = _work(age, rng)
        income = np.exp(9.6 + 0.28 * education + 0.45 * (work == 0) + 0.3 * (work == 1) + rng.normal(0, 0.42, n))
        minutes = np.where(work < 2, np.rint(rng.gamma(2.2, 13.0, n)), 0).astype(int)
        weight = np.array([1.8, 2.1, 1.6, 1.9, 0.7])[region] * rng.uniform(0.85, 1.2, n) * 1000
        health = np.clip(np.rint(age / 38 + rng.normal(0, 0.7, n) - 0.6), 0, 3).astype(int)
        return pa.table(
            {
                "person": [f"P{i:06d}" for i in range(1, n + 1)],
                "household": [f"H{h + 1:06d}" for h in household],
                "region": np.array(_REGIONS)[region],
                "birth": pa.array(birth.astype("datetime64[D]"), pa.date32()),
                "education": np.array(_EDUCATION)[education],
                "work": np.array(_WORK)[work],
                "income": np.round(income, 2),
                "commute_minutes": minutes,
                "health": np.array(_HEALTH)[health],
                "weight": np.round(weight, 1),
            }
        )


def _households(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the household of each person: one to five people, next to each other."""
    sizes = rng.choice([1, 2, 3, 4, 5], n, p=[0.38, 0.33, 0.14, 0.11, 0.04])
    return np.repeat(np.arange(n), sizes)[:n]


def _work(age: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return what each person does: most study when young and retire when old."""
    work = rng.choice(3, len(age), p=[0.8, 0.12, 0.08])
    chance = rng.uniform(size=len(age))
    work = np.where((age < 24) & (chance < 0.7), 3, work)
    return np.asarray(np.where(age > 66 - 6 * chance, 4, work))
