"""Guesses of a column's role, from words in its name and from the number of its values.

Words are in four languages. A word of up to five letters must be a separate word in the name; a longer one may be part
of a longer word. All are written without accents. Lists are searched in order: words for people come before words that
describe them.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from shoal.types import Kind, Role

#: Direct identifiers: names of persons, and contact details.
IDENTIFIER = (
    (
        "a name",
        "name names surname firstname lastname forename fullname vorname nachname nom prenom nombre apellido apellidos",
    ),
    (
        "an identifier",
        "id ids uid uuid guid key identifier kennung kennnummer ident identifiant identificador idnr recordid "
        "rowid caseid",
    ),
    (
        "an official number of a person or company",
        "ssn nin nhs nir dni nie nif cif passport reisepass passeport pasaporte licence_plate kennzeichen "
        "steuernummer steuerid versicherungsnummer iban account kontonummer cuenta siren siret vat",
    ),
    (
        "contact details",
        "email mail e_mail phone telephone telefon telefono mobile handy fax address adresse direccion street "
        "strasse calle url ip ipaddress username login",
    ),
)

#: The person that a record is about, or the household.
PERSON = (
    (
        "a person",
        "person persons personid pid pers patient patientid respondent subject member client customer persona "
        "personne paciente befragter teilnehmer kunde cliente",
    ),
)
HOUSEHOLD = (("a household", "household householdid hh hhid hid haushalt haushaltsid menage foyer hogar dwellingid"),)

WEIGHT = (
    (
        "a sampling weight",
        "weight weights wgt wt fnlwgt finalwgt perwt hhwt pwgtp wgtp wtfinl pweight weightvar gewicht gewichtung "
        "hochrechnungsfaktor poids ponderation "
        "peso ponderacion factor_expansion",
    ),
)
BODY = frozenset(["body", "kg", "kilo", "kilos", "lb", "lbs", "bmi", "birth", "korper", "corps", "corporal"])

STRATA = (
    (
        "a stratum",
        "stratum strata schicht strate estrato",
    ),
    (
        "a region",
        "region province county state district bundesland kreis canton kanton departement provincia comarca "
        "comunidad nuts",
    ),
)

#: Quasi-identifiers: attackers may know them from elsewhere.
QUASI = (
    (
        "a date of birth",
        "birth birthday birthdate dob born geburt geburtstag geburtsdatum naissance nacimiento yob",
    ),
    (
        "an age",
        "age ages alter edad",
    ),
    (
        "a sex",
        "sex sexe sexo gender geschlecht genre genero",
    ),
    (
        "a place",
        "postcode postal_code zip zipcode plz postleitzahl code_postal codigo_postal city town municipality "
        "village place stadt gemeinde wohnort ort ville commune ciudad municipio pueblo country staat pays "
        "pais region province county state district bundesland kreis canton kanton departement provincia "
        "comarca",
    ),
    (
        "an origin",
        "nationality citizenship race ethnicity ethnic nationalitat staatsangehorigkeit herkunft nationalite "
        "origine nacionalidad origen birthplace language sprache langue idioma",
    ),
    (
        "a family",
        "marital civil_status married familienstand etat_civil estado_civil household_size haushaltsgroesse "
        "children kinder enfants hijos",
    ),
    (
        "an education",
        "education degree schooling bildung abschluss diplome educacion estudios",
    ),
    (
        "an occupation",
        "occupation profession job work employer industry sector beruf arbeit branche travail metier emploi "
        "ocupacion profesion trabajo nace isco",
    ),
    (
        "an income",
        "income salary wage wages earnings pay einkommen gehalt lohn revenu salaire ingreso ingresos salario "
        "sueldo renta",
    ),
    (
        "a housing",
        "dwelling housing rooms rent tenure wohnung miete logement loyer vivienda alquiler",
    ),
    (
        "a measure of the body",
        "height groesse grosse taille estatura altura bmi",
    ),
)

#: Confidential: attackers must not learn them.
CONFIDENTIAL = (
    (
        "health",
        "health illness disease diagnosis diagnose disability disabled symptom symptoms treatment medication "
        "drug hiv icd gesundheit krankheit behinderung sante maladie handicap salud enfermedad diagnostico "
        "discapacidad",
    ),
    (
        "debts or wealth",
        "debt debts loan loans credit wealth assets schulden kredit vermogen dette dettes patrimoine deuda "
        "deudas patrimonio",
    ),
    (
        "a belief",
        "religion religious faith belief church konfession croyance creencia politics political party vote "
        "partei parti partido union gewerkschaft syndicat sindicato",
    ),
    (
        "private life",
        "orientation sexual pregnancy pregnant abuse crime conviction offence offense straftat delit delito "
        "schwangerschaft grossesse embarazo satisfaction",
    ),
)

#: Suffixes of words for persons, and words that end so by chance.
_ENDS = ("id", "name", "nummer", "number")
_BY_CHANCE = ("number", "nummer", "unpaid", "prepaid", "invalid", "hybrid")

Words = tuple[tuple[str, str], ...]
_ALONE = 5


def parts_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in lower case without accents.

    >>> parts_of("dateOfBirth_1"), parts_of("Ménage-ID")
    (('date', 'of', 'birth'), ('menage', 'id'))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return tuple(re.findall(r"[a-z]+", spaced.lower()))


def said_by(name: str, words: Words) -> str | None:
    """Return the meaning of a column's name according to a list of words, or None.

    >>> said_by("Geburtsdatum", QUASI), said_by("language_of_package", QUASI), said_by("wage_type", QUASI)
    ('a date of birth', 'an origin', 'an income')
    >>> said_by("storage", QUASI) is None
    True
    """
    parts = parts_of(name)
    joined = "_".join(parts)
    for meaning, listed in words:
        for word in listed.split():
            if word in parts or (len(word) > _ALONE and word in joined):
                return meaning
    return None


def ends_as_identifier(name: str) -> bool:
    """Tell whether a word of a column's name ends like an identifier, even without a separator before the ending.

    >>> ends_as_identifier("UTILITYID"), ends_as_identifier("utilname"), ends_as_identifier("amount_paid")
    (True, True, False)
    """
    return any(len(word) > _ALONE and word.endswith(_ENDS) and word not in _BY_CHANCE for word in parts_of(name))


#: From this share of distinct values on, a column is nearly unique for every record.
NEARLY_ALL = 0.95
#: With fewer records, all values may differ by chance.
FEW = 20
#: More categories than this are too many to be aggregated without a taxonomy.
MANY = 1000
#: Reason for a column that identifies households.
A_HOUSEHOLD = "named like a household"
#: Reason why amounts that all differ count as known: they may be looked up.
AMOUNTS = "amounts that all differ make every record unique"
_NUMBERS = (Kind.CONTINUOUS, Kind.INTEGER)
_OF_SOMEBODY = (QUASI, CONFIDENTIAL, WEIGHT)  # a household's income is not a household


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
    given_out: bool = False  #: whether integers are nearly consecutive, or all have the same number of digits
    comparable: bool = True  #: whether its values can be compared at all

    @property
    def apart(self) -> bool:
        """Tell whether nearly all values differ, in a table that is not tiny."""
        present = self.records - self.missing
        return present >= FEW and self.distinct >= NEARLY_ALL * present


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
    if seen.kind not in (Kind.NOMINAL, Kind.INTEGER) or any(said_by(seen.name, w) for w in _OF_SOMEBODY):
        return None
    present = seen.records - seen.missing
    many = seen.distinct >= max(0.05 * present, 2)
    if many and said_by(seen.name, HOUSEHOLD):
        return Role.IDENTIFIER, A_HOUSEHOLD
    if many and said_by(seen.name, PERSON):
        if seen.distinct < present:
            return Role.SUBJECT, "named like a person, and some have several records"
        return Role.IDENTIFIER, "named like a person, and all values differ"
    return None


def _identifier(seen: Seen, _: int) -> tuple[Role, str] | None:
    present = seen.records - seen.missing
    said = said_by(seen.name, IDENTIFIER)
    if said is not None and seen.kind in (Kind.NOMINAL, Kind.INTEGER) and seen.distinct > 1:
        return Role.IDENTIFIER, f"named like {said}"
    if ends_as_identifier(seen.name) and seen.kind in (Kind.NOMINAL, Kind.INTEGER) and seen.distinct >= FEW:
        return Role.IDENTIFIER, "named like an identifier"
    if seen.kind is Kind.NOMINAL and seen.apart:
        return Role.IDENTIFIER, "all values differ" if seen.distinct == present else "nearly all values differ"
    return None


def _weight(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = said_by(seen.name, WEIGHT)
    if said is None or seen.kind not in _NUMBERS:
        return None
    if BODY.intersection(parts_of(seen.name)):
        return Role.QUASI, "named like a body weight"
    if seen.usable_weight:
        return Role.WEIGHT, f"named like {said}; quasi-identifier if it is a body weight"
    return Role.QUASI, "named like a weight, but not all values can be sampling weights"


def _strata(seen: Seen, k: int) -> tuple[Role, str] | None:
    said = said_by(seen.name, STRATA)
    if said is not None and seen.distinct > 1 and seen.smallest >= max(k, seen.records // 100):
        return Role.STRATA, f"named like {said}, and each has many records"
    if said is not None and seen.distinct > 1:
        return _aggregable(seen, f"named like {said}; some are too small for strata")
    return None


def _confidential(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = said_by(seen.name, CONFIDENTIAL)
    return None if said is None else (Role.CONFIDENTIAL, f"named like {said}")


def _quasi(seen: Seen, _: int) -> tuple[Role, str] | None:
    said = said_by(seen.name, QUASI)
    return None if said is None else _aggregable(seen, f"named like {said}")


def _by_values(seen: Seen, _: int) -> tuple[Role, str] | None:
    if seen.kind is Kind.DATETIME:
        return Role.QUASI, "dates are often known from elsewhere"
    if seen.kind is Kind.INTEGER and seen.apart and seen.distinct == seen.records - seen.missing:
        return (Role.IDENTIFIER, "whole numbers that all differ") if seen.given_out else (Role.QUASI, AMOUNTS)
    return None


def _aggregable(seen: Seen, reason: str) -> tuple[Role, str]:
    """Return quasi, unless the column has too many categories, in which case it is safer to remove it."""
    if seen.kind is Kind.NOMINAL and seen.distinct > MANY:
        return Role.IDENTIFIER, f"{reason}, with too many categories: group them by a taxonomy to release it"
    return Role.QUASI, reason
