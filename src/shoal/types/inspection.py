"""Inspection of a table: guesses, counts, and a recipe to start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.display.card import Card, Shown
from shoal.display.words import counted
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
    label: str = ""  #: the label that the file gives it

    def to_dict(self, records: int) -> dict[str, Any]:
        """Return the guess as plain values, as in the JSON of ``shoal inspect``."""
        return {
            "name": self.name,
            "label": self.label or None,
            "kind": self.kind.value,
            "role": self.role.value,
            "reason": self.reason,
            "missing": self.missing / records,
            "distinct": self.distinct,
        }


@dataclass(frozen=True, slots=True)
class Combination:
    """Uniqueness of records on a combination of columns."""

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


@dataclass(frozen=True, slots=True)
class SpecialUniques:
    """Records that presumed quasi-identifiers make unique (sample uniques), and those that few of them do (SUDA)."""

    attributes: tuple[str, ...]
    records: int  #: number of records of the table
    searched: int  #: number of records that were searched: all, or a sample
    unique: int  #: of these, records that all attributes together make unique
    by_size: tuple[int, ...]  #: records that one attribute makes unique, further ones that two do, and so on

    @property
    def sentence(self) -> str:
        """The counts in words.

        >>> print(SpecialUniques(("age", "sex", "job"), 100, 100, 40, (5, 10)).sentence)
        40 of 100 records are sample uniques, unique on all 3 columns; 15 are special uniques (SUDA): 5 on one column, 10 more on two.
        """  # noqa: E501 it is one sentence
        first, *more = self.by_size
        words = [f"{first:,} on one column"]
        words += [f"{count:,} more on {('two', 'three')[at]}" for at, count in enumerate(more)]
        part = (
            f"In a sample of {self.searched:,} of {self.records:,} records, where more are unique than in the table: "
        )
        sample = part if self.searched < self.records else ""
        columns = "both columns" if len(self.attributes) == 2 else f"all {len(self.attributes):,} columns"
        special = sum(self.by_size)
        return (
            f"{sample}{self.unique:,} of {counted(self.searched, 'record')} {_are(self.unique, 'sample unique')}, "
            f"unique on {columns}; {special:,} {_are(special, 'special unique')} (SUDA): {', '.join(words)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "attributes": list(self.attributes),
            "records": self.records,
            "searched": self.searched,
            "sample_uniques": self.unique,
            "special_uniques": list(self.by_size),
        }


def _are(count: int, what: str) -> str:
    return f"is a {what}" if count == 1 else f"are {what}s"


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
        How the text file is written, and what free text, repeats and coordinates suggest, in sentences.
    choices
        Alternative settings; one must be chosen, because the cells do not tell which one applies.
    command
        The command that protects the file; empty for a frame, without quasi-identifiers, or for a single record.
    commands
        The same, with each of the settings to choose from; empty if there is no choice.
    refused
        Columns that the command would refuse until their cells are corrected: the notes name the rows.
    special
        Sample uniques and special uniques of the presumed quasi-identifiers; None with fewer than two.
    coordinates
        Pairs of columns that are latitude and longitude of one place.
    kinds
        Kinds to declare, because they are not those of the values: columns of codes written as numbers.
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
    commands: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    special: SpecialUniques | None = None
    coordinates: tuple[tuple[str, str], ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)

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
            "special_uniques": None if self.special is None else self.special.to_dict(),
            "coordinates": [list(pair) for pair in self.coordinates],
            "kinds": dict(self.kinds),
            "unchanged": self.unchanged.to_dict(),
            "text": dict(self.text),
            "notes": list(self.notes),
            "choices": [dict(one) for one in self.choices],
            "command": self.command,
            "commands": list(self.commands),
            "refused": list(self.refused),
            "recipe": self.recipe,
        }
