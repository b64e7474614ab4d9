"""Guesses of a column's role, from words in its name or its label and from the number of its values."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.schema.words import ends_as_identifier, said_by
from shoal.types import Kind, Role

#: From this share of distinct values on, a column is nearly unique for every record.
NEARLY_ALL = 0.95
#: With fewer records, all values may differ by chance.
FEW = 20
#: More categories than this are too many to be aggregated without a taxonomy.
MANY = 1000
#: Reasons for a column that identifies households.
HOUSEHOLDS = ("named like a household", "labelled like a household", "its values repeat like those of a household")
#: Reason for a column of free text.
FREE_TEXT = "free text, which can name people: long, many different, several words each"
#: Reason why amounts that all differ count as known: they may be looked up.
AMOUNTS = "amounts that all differ make every record unique"
#: Reason why whole numbers are removed.
NUMBERED = "whole numbers that all differ"
#: Ends of the reasons for texts that are removed; the second if others may know them.
DIFFER = "all values differ"
GROUP = "group them to release it"
_SEVERAL, _LONG = 3, 20  # words and characters of free text, on average of its different values
_OWN = 0.2  # share of records with a text of their own, from which on it is free text
_NUMBERS = (Kind.CONTINUOUS, Kind.INTEGER)
_OF_SOMEBODY = ("quasi", "confidential", "weight")  # a household's income is not a household


@dataclass(frozen=True, slots=True)
class Seen:
    """Counts for a column."""

    name: str
    kind: Kind
    records: int
    missing: int
    distinct: int
    smallest: int  #: number of records with the rarest value, a missing one included
    usable_weight: bool = False  #: whether all values are numbers ≥ 0, some above 0
    given_out: bool = False  #: whether integers are nearly consecutive or of equal length; whether texts have digits
    comparable: bool = True  #: whether its values can be compared at all
    label: str = ""  #: its label in the file
    words: float = 0.0  #: mean number of words of a text, of two letters or more
    length: float = 0.0  #: mean number of characters of a text
    once: int = 0  #: number of values that only one record has
    low: float = float("nan")  #: smallest number
    high: float = float("nan")  #: largest number
    whole: bool = False  #: whether all numbers are whole, though its kind may be continuous, as in SPSS files
    far: int = 0  #: records with a code that often means a missing value, far from all other values
    far_codes: tuple[str, ...] = ()  #: the cells of a text file with these codes
    shape: tuple[str, str] | None = None  #: numbers, dates or times that texts may be, and how to write them instead
    padded: Kind | None = None  #: the kind of numbers with leading zeros, which are read as codes
    valued: bool = False  #: whether texts have digits and signs like numbers, dates or times, and hardly any letters

    @property
    def apart(self) -> bool:
        """Tell whether nearly all values differ, in a table that is not tiny."""
        return self.present >= FEW and self.distinct >= NEARLY_ALL * self.present

    @property
    def present(self) -> int:
        """The number of records with a value."""
        return self.records - self.missing

    @property
    def may_number(self) -> bool:
        """Tell whether its values may number people: texts or whole numbers."""
        return self.kind in (Kind.NOMINAL, Kind.INTEGER) or self.whole

    @property
    def coded(self) -> bool:
        """Tell whether its whole numbers are codes, such as those of sexes and postcodes, whose mean says nothing."""
        numbers = self.kind is Kind.INTEGER or (self.kind is Kind.CONTINUOUS and self.whole)
        return numbers and self.like("code") is not None and self.like("quantity") is None

    @property
    def free_text(self) -> bool:
        """Tell whether its values are long texts, and many differ: often one such as "no comment" is frequent."""
        if self.kind is not Kind.NOMINAL or self.distinct < 2 or self.words < _SEVERAL or self.length < _LONG:
            return False
        own = self.once >= _OWN * self.present and self.like("quasi") is None  # occupations have long names
        return own or 2 * self.distinct > self.present

    def like(self, topic: str) -> str | None:
        """Say in words what the name suggests, or else the label; None if they suggest nothing of a topic.

        >>> Seen("v12", Kind.DATETIME, 100, 0, 90, 1, label="Date of birth of respondent").like("quasi")
        'labelled like a date of birth'
        """
        if (said := said_by(self.name, topic)) is not None:
            return f"named like {said}"
        said = said_by(self.label, topic) if self.label else None
        return None if said is None else f"labelled like {said}"


def role_of(seen: Seen, k: int) -> tuple[Role, str]:
    """Guess the role of a column, and give the reason in words.

    If the name and the values disagree, the more cautious role wins: removing a column harms no one.

    >>> role_of(Seen("dob", Kind.DATETIME, 100, 0, 90, 1), 5)
    (<Role.QUASI: 'quasi'>, 'named like a date of birth')
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
    return Role.OTHER, "neither its name nor its values suggest a role"


def _person(seen: Seen, _: int) -> tuple[Role, str] | None:
    """Recognise a column that identifies persons or households; if persons recur, k must count them."""
    if not seen.may_number or any(map(seen.like, _OF_SOMEBODY)):
        return None
    if (said := seen.like("household")) and _many(seen, said):
        return Role.IDENTIFIER, said
    if (said := seen.like("person")) and _many(seen, said):
        if seen.distinct < seen.present:
            return Role.SUBJECT, f"{said}, and some have several records"
        return Role.IDENTIFIER, f"{said}, and all values differ"
    return None


def _many(seen: Seen, said: str) -> bool:
    """Tell whether a column has as many values as a key; a label often mentions people that it does not number."""
    return seen.distinct >= max((0.05 if said.startswith("named") else 0.15) * seen.present, 2)


def _identifier(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = seen.like("identifier")
    numbered = seen.may_number and seen.distinct > 1
    if said is not None and numbered and (said.startswith("named") or _many(seen, said)):
        return Role.IDENTIFIER, said
    if ends_as_identifier(seen.name) and numbered and seen.distinct >= FEW:
        return Role.IDENTIFIER, "named like an identifier"
    if seen.free_text:
        return Role.IDENTIFIER, FREE_TEXT
    if seen.kind is Kind.NOMINAL and seen.apart:
        differ = DIFFER if seen.distinct == seen.present else f"nearly {DIFFER}"
        known = seen.like("quasi") or seen.like("confidential")
        return Role.IDENTIFIER, f"{known}, but {differ}: {GROUP}" if known else differ
    return None


def _weight(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = seen.like("weight")
    if said is None or seen.kind not in _NUMBERS:
        return None
    if (body := seen.like("body")) is not None:
        return Role.QUASI, body
    if seen.usable_weight:
        return Role.WEIGHT, f"{said}; quasi-identifier if it is a body weight"
    return Role.QUASI, "named like a weight, but not all values can be sampling weights"


def _strata(seen: Seen, k: int) -> tuple[Role, str] | None:
    said = seen.like("strata")
    if said is not None and seen.distinct > 1 and seen.smallest >= max(k, seen.records // 100):
        return Role.STRATA, f"{said}, and each has many records"
    if said is not None and seen.distinct > 1:
        return _aggregable(seen, f"{said}; some are too small for strata")
    return None


def _confidential(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = seen.like("confidential")
    return None if said is None else (Role.CONFIDENTIAL, said)


def _quasi(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = seen.like("quasi")
    return None if said is None else _aggregable(seen, said)


def _by_values(seen: Seen, _: int) -> tuple[Role, str] | None:
    if seen.kind is Kind.DATETIME:
        return Role.QUASI, "dates are often known from elsewhere"
    if seen.kind is Kind.INTEGER and seen.apart and seen.distinct == seen.present:
        return (Role.IDENTIFIER, NUMBERED) if seen.given_out else (Role.QUASI, AMOUNTS)
    return None


def _aggregable(seen: Seen, reason: str) -> tuple[Role, str]:
    """Return quasi, unless the column has too many categories, in which case it is safer to remove it."""
    if seen.kind is Kind.NOMINAL and seen.distinct > MANY:
        return Role.IDENTIFIER, f"{reason}, with too many categories: group them by a taxonomy to release it"
    return Role.QUASI, reason
