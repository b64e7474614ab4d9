"""Guesses that depend on other columns: roles that one column can have, and at least one quasi-identifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.schema.guess import AMOUNTS
from shoal.types import Guess, Role

_SAFE = "no column seems to be known from elsewhere, so this one is included to be safe"
_ONCE = (Role.WEIGHT, Role.SUBJECT, Role.STRATA)
_INSTEAD = {Role.WEIGHT: Role.OTHER, Role.SUBJECT: Role.IDENTIFIER, Role.STRATA: Role.QUASI}
_SPOKEN = {Role.WEIGHT: "weights", Role.SUBJECT: "subjects", Role.STRATA: "strata"}


def settled(guesses: Sequence[Guess], k: int) -> tuple[Guess, ...]:
    """Give each unique role to one column only, and make sure that there are quasi-identifiers."""
    taken: set[Role] = set()
    found = []
    several = any(guess.role is Role.SUBJECT and guess.distinct >= k for guess in guesses)
    for guess in guesses:
        found.append(_only_once(guess, taken, several, k))
        taken.add(found[-1].role)
    if any(guess.role is Role.QUASI and guess.reason != AMOUNTS for guess in found):
        return tuple(found)
    return tuple(_cautious(guess) for guess in found)


def _only_once(guess: Guess, taken: set[Role], several: bool, k: int) -> Guess:
    """Return a guess with another role if its own is taken or not possible."""
    instead = _INSTEAD.get(guess.role, Role.OTHER)
    if guess.role is Role.SUBJECT and guess.distinct < k:
        return replace(guess, role=instead, reason="named like a person, but there are too few")
    if guess.role is Role.STRATA and several:  # each stratum would need k subjects
        return replace(guess, role=instead)
    if guess.role in _ONCE and guess.role in taken:
        return replace(guess, role=instead, reason=f"{guess.reason}; another column has the {_SPOKEN[guess.role]}")
    return guess


def _cautious(guess: Guess) -> Guess:
    """Treat columns without a clue as quasi-identifiers if there are no others."""
    if guess.role in (Role.OTHER, Role.STRATA) and guess.distinct > 0:
        return replace(guess, role=Role.QUASI, reason=_SAFE)
    return guess
