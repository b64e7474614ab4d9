"""Words in names and labels of columns, and what they suggest; the words are in ``role_words.toml``."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

_ALONE = 5  # words of up to this many letters must be separate words in a name
_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "Ae"})
_ENDS = ("id", "name", "nummer", "number")
_BY_CHANCE = ("number", "nummer", "unpaid", "prepaid", "invalid", "hybrid")


@cache
def _listed() -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return for each topic its meanings, and the words of each."""
    found = tomllib.loads(files("shoal.schema").joinpath("role_words.toml").read_text("utf-8"))
    return {topic: tuple((one, tuple(words.split())) for one, words in rows.items()) for topic, rows in found.items()}


@cache
def parts_of(name: str) -> tuple[str, ...]:
    """Return the words of a name or a label, in lower case without accents.

    >>> parts_of("dateOfBirth_1"), parts_of("Ménage-ID"), parts_of("Płeć")
    (('date', 'of', 'birth'), ('menage', 'id'), ('plec',))
    """
    plain = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return tuple(re.findall(r"[a-z]+", spaced.lower()))


def said_by(name: str, topic: str) -> str | None:
    """Return the meaning of a name or a label according to the words of a topic, or None.

    >>> said_by("Geburtsdatum", "quasi"), said_by("language_of_package", "quasi"), said_by("wage_type", "quasi")
    ('a date of birth', 'an origin', 'an income')
    >>> said_by("storage", "quasi") is None
    True
    """
    parts = parts_of(name)
    joined = "_".join(parts)
    for meaning, words in _listed()[topic]:
        if any(word in parts or (len(word) > _ALONE and word in joined) for word in words):
            return meaning
    return None


def without_words(name: str, topic: str) -> tuple[str, ...]:
    """Return the words of a name that do not belong to a topic.

    >>> without_words("home_lat", "latitude"), without_words("home_lon", "longitude")
    (('home',), ('home',))
    """
    return tuple(part for part in parts_of(name) if said_by(part, topic) is None)


def ends_as_identifier(name: str) -> bool:
    """Tell whether a word of a column's name ends like an identifier, even without a separator before the ending.

    >>> ends_as_identifier("UTILITYID"), ends_as_identifier("utilname"), ends_as_identifier("amount_paid")
    (True, True, False)
    """
    return any(len(word) > _ALONE and word.endswith(_ENDS) and word not in _BY_CHANCE for word in parts_of(name))
