"""Inspection of a table: guesses, counts, and a recipe to start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.display.card import Card, Shown
from shoal.types.run import Unchanged
from shoal.types.table import Kind, Role


@dataclass(frozen=True, slots=True)
class Guess:
    """The guess for a column, and why."""

    name: str
    kind: Kind
    role: Role
    reason: str  #: in words; never a value
    missing: int  #: number of records without a value
    distinct: int  #: number of distinct values, not counting missing ones

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
    """How far a combination of columns singles records out."""

    attributes: tuple[str, ...]
    unique: int  #: number of records with a unique combination of values
    k: int  #: the smallest number of records that share a combination
    classes: int  #: number of distinct combinations

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "attributes": list(self.attributes),
            "unique": self.unique,
            "k": self.k,
            "classes": self.classes,
        }


@dataclass(frozen=True, repr=False)
class Inspection(Shown):
    """The result of an inspection: counts and guesses, never a value.

    Attributes
    ----------
    records
        Number of records.
    columns
        The guess for each column.
    together
        How far all presumed quasi-identifiers, including strata, jointly single records out.
    combinations
        The same for each of them, each pair and each triple, in descending order.
    left_out
        Number of these columns that pairs and triples omit, if there are too many to count all.
    recipe
        A starter recipe: TOML with comments, which runs as it is.
    unchanged
        Records made unique by columns that the guessed roles would release unchanged.
    k
        The smallest number of records in a class, as in the recipe.
    text
        Settings with which the text file is read: those given, and those detected.
    notes
        How the text file is written, in sentences.
    choices
        Settings of which one must be chosen, because the cells do not tell.
    command
        The command that protects the file; empty for a frame, or without quasi-identifiers.
    """

    records: int
    columns: tuple[Guess, ...]
    together: Combination
    combinations: tuple[Combination, ...]
    left_out: int
    recipe: str = field(repr=False)
    unchanged: Unchanged = field(default_factory=Unchanged)
    k: int = 5
    text: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    choices: tuple[Mapping[str, str], ...] = ()
    command: str = ""

    def _card(self) -> Card:
        from shoal.types.cards import inspection_card

        return inspection_card(self)

    def named(self, role: Role) -> tuple[str, ...]:
        """Return the columns with a presumed role."""
        return tuple(guess.name for guess in self.columns if guess.role is role)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as in the JSON of ``shoal inspect``."""
        return {
            "records": self.records,
            "columns": [guess.to_dict(self.records) for guess in self.columns],
            "together": self.together.to_dict(),
            "combinations": [one.to_dict() for one in self.combinations],
            "left_out": self.left_out,
            "unchanged": self.unchanged.to_dict(),
            "text": dict(self.text),
            "notes": list(self.notes),
            "choices": [dict(one) for one in self.choices],
            "command": self.command,
            "recipe": self.recipe,
        }
