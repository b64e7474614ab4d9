"""What was seen of a table that nobody has described yet: guesses, counts, and a recipe to begin with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shoal.types.data.table import Kind, Role
from shoal.types.results.reading import Unchanged


@dataclass(frozen=True, slots=True)
class Guess:
    """What a column seems to be, and why."""

    name: str
    kind: Kind
    role: Role
    reason: str  #: in words; never a value
    missing: int  #: number of records without a value
    distinct: int  #: number of different values, a missing one not counted

    def to_dict(self, records: int) -> dict[str, Any]:
        """Return the guess as plain values, as in the JSON of ``shoal inspect``."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "role": self.role.value,
            "reason": self.reason,
            "missing": self.missing / records,
            "distinct": self.distinct,
        }


@dataclass(frozen=True, slots=True)
class Combination:
    """How far some columns together single records out."""

    attributes: tuple[str, ...]
    unique: int  #: number of records that share their combination of values with nobody
    k: int  #: the smallest number of records that share one
    classes: int  #: number of different combinations

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "attributes": list(self.attributes),
            "unique": self.unique,
            "k": self.k,
            "classes": self.classes,
        }


@dataclass(frozen=True)
class Inspection:
    """What was seen of a table: counts and guesses, never a value.

    Attributes
    ----------
    records
        Number of records.
    columns
        What each column seems to be.
    together
        How far all columns single records out that an intruder may know, as they are guessed; strata among them.
    combinations
        The same for each of them, each pair and each triple, the most singling first.
    left_out
        How many of these columns the pairs and triples leave out, where there are too many to look at all.
    recipe
        A recipe to begin with: TOML with comments, which runs as it is.
    unchanged
        What columns single out that the guessed roles would release unchanged.
    """

    records: int
    columns: tuple[Guess, ...]
    together: Combination
    combinations: tuple[Combination, ...]
    left_out: int
    recipe: str = field(repr=False)
    unchanged: Unchanged = field(default_factory=Unchanged)

    def named(self, role: Role) -> tuple[str, ...]:
        """Return the columns that seem to be of a role."""
        return tuple(guess.name for guess in self.columns if guess.role is role)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, as in the JSON of ``shoal inspect``."""
        return {
            "records": self.records,
            "columns": [guess.to_dict(self.records) for guess in self.columns],
            "together": self.together.to_dict(),
            "combinations": [one.to_dict() for one in self.combinations],
            "left_out": self.left_out,
            "unchanged": self.unchanged.to_dict(),
            "recipe": self.recipe,
        }
