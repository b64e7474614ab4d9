"""What a column seems to be for, by its name and by how many of its values differ."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.schema import name_words as words
from shoal.types import Kind, Role

#: From this share of different values on, a column tells nearly everybody apart.
NEARLY_ALL = 0.95
#: With fewer records, that all values differ may be chance.
FEW = 20
#: More categories than these are too many to be aggregated without a taxonomy.
MANY = 1000
#: Why a column tells households apart.
A_HOUSEHOLD = "named as a household"
#: Why amounts that all differ are known: they may be looked up, whatever they are.
AMOUNTS = "amounts that all differ single out everybody"
_NUMBERS = (Kind.CONTINUOUS, Kind.INTEGER)
_OF_SOMEBODY = (words.QUASI, words.CONFIDENTIAL, words.WEIGHT)  # the income of a household is no household


@dataclass(frozen=True, slots=True)
class Seen:
    """What was counted of a column."""

    name: str
    kind: Kind
    records: int
    missing: int
    distinct: int
    smallest: int  #: how many records share the rarest value, a missing one among them
    usable_weight: bool = False  #: whether all values are numbers ≥ 0, some above it
    given_out: bool = False  #: whether whole numbers are nearly consecutive, or all of as many digits
    comparable: bool = True  #: whether its values can be told apart at all

    @property
    def apart(self) -> bool:
        """Whether nearly all values differ, in a table that is not tiny."""
        present = self.records - self.missing
        return present >= FEW and self.distinct >= NEARLY_ALL * present


def role_of(seen: Seen, k: int) -> tuple[Role, str]:
    """Return the role that a column seems to have, and the reason in words.

    Where a name and the values say different things, the more cautious role wins: what does not leave harms nobody.

    >>> role_of(Seen("dob", Kind.DATETIME, 100, 0, 90, 1), 5)
    (<Role.QUASI: 'quasi'>, 'named as a date of birth')
    >>> role_of(Seen("code", Kind.NOMINAL, 100, 0, 100, 1), 5)
    (<Role.IDENTIFIER: 'identifier'>, 'all values differ')
    """
    if not seen.comparable:
        return Role.IDENTIFIER, "its values cannot be compared, so it cannot be audited"
    if seen.distinct == 0:
        return Role.OTHER, "every value is missing"
    for rule in (_person, _identifier, _weight, _strata, _confidential, _quasi, _by_values):
        if (found := rule(seen, k)) is not None:
            return found
    return Role.OTHER, "neither its name nor its values say more"


def _person(seen: Seen, _: int) -> tuple[Role, str] | None:
    """A column that tells persons or households apart; where persons come back, k must count them."""
    if seen.kind not in (Kind.NOMINAL, Kind.INTEGER) or any(words.said_by(seen.name, w) for w in _OF_SOMEBODY):
        return None
    present = seen.records - seen.missing
    many = seen.distinct >= max(0.05 * present, 2)
    if many and words.said_by(seen.name, words.HOUSEHOLD):
        return Role.IDENTIFIER, A_HOUSEHOLD
    if many and words.said_by(seen.name, words.PERSON):
        if seen.distinct < present:
            return Role.SUBJECT, "named as a person, and some have several records"
        return Role.IDENTIFIER, "named as a person, and all values differ"
    return None


def _identifier(seen: Seen, _: int) -> tuple[Role, str] | None:
    present = seen.records - seen.missing
    said = words.said_by(seen.name, words.IDENTIFIER)
    if said is not None and seen.kind in (Kind.NOMINAL, Kind.INTEGER) and seen.distinct > 1:
        return Role.IDENTIFIER, f"named as {said}"
    if words.ends_as_identifier(seen.name) and seen.kind in (Kind.NOMINAL, Kind.INTEGER) and seen.distinct >= FEW:
        return Role.IDENTIFIER, "named as an identifier"
    if seen.kind is Kind.NOMINAL and seen.apart:
        return Role.IDENTIFIER, "all values differ" if seen.distinct == present else "nearly all values differ"
    return None


def _weight(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = words.said_by(seen.name, words.WEIGHT)
    if said is None or seen.kind not in _NUMBERS:
        return None
    if words.BODY.intersection(words.parts_of(seen.name)):
        return Role.QUASI, "named as a weight of a body"
    if seen.usable_weight:
        return Role.WEIGHT, f"named as {said}; quasi if bodies were weighed"
    return Role.QUASI, "named as a weight, but not all values can be sampling weights"


def _strata(seen: Seen, k: int) -> tuple[Role, str] | None:
    said = words.said_by(seen.name, words.STRATA)
    if said is not None and seen.distinct > 1 and seen.smallest >= max(k, seen.records // 100):
        return Role.STRATA, f"named as {said}, and each has many records"
    if said is not None and seen.distinct > 1:
        return _aggregable(seen, f"named as {said}; some are too small for strata")
    return None


def _confidential(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = words.said_by(seen.name, words.CONFIDENTIAL)
    return None if said is None else (Role.CONFIDENTIAL, f"named as {said}")


def _quasi(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = words.said_by(seen.name, words.QUASI)
    return None if said is None else _aggregable(seen, f"named as {said}")


def _by_values(seen: Seen, _: int) -> tuple[Role, str] | None:
    if seen.kind is Kind.DATETIME:
        return Role.QUASI, "dates are often known from elsewhere"
    if seen.kind is Kind.INTEGER and seen.apart and seen.distinct == seen.records - seen.missing:
        return (Role.IDENTIFIER, "whole numbers that all differ") if seen.given_out else (Role.QUASI, AMOUNTS)
    return None


def _aggregable(seen: Seen, reason: str) -> tuple[Role, str]:
    """Return quasi, but for a column of too many categories, which is better left out than let out."""
    if seen.kind is Kind.NOMINAL and seen.distinct > MANY:
        return Role.IDENTIFIER, f"{reason}, with too many categories: group them by a taxonomy to let it leave"
    return Role.QUASI, reason
