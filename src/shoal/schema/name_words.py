"""Words in the names of columns, in four languages, and what they say of a column.

A word of up to five letters must stand alone in the name; a longer one may be part of a longer word. All are written
without accents. Lists are looked through in their order: what names somebody comes before what describes them.
"""

from __future__ import annotations

import re
import unicodedata

#: Names somebody: persons, and how to reach them.
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
        "a number of a person or company",
        "ssn nin nhs nir dni nie nif cif passport reisepass passeport pasaporte licence_plate kennzeichen "
        "steuernummer steuerid versicherungsnummer iban account kontonummer cuenta siren siret vat",
    ),
    (
        "an address or number to reach somebody",
        "email mail e_mail phone telephone telefon telefono mobile handy fax address adresse direccion street "
        "strasse calle url ip ipaddress username login",
    ),
)

#: Whom a record is about, or who lives together.
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

#: Known from elsewhere.
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

#: Must not be learnt.
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

#: Ends of longer words that name somebody, and words that end so by chance.
_ENDS = ("id", "name", "nummer", "number")
_BY_CHANCE = ("number", "nummer", "unpaid", "prepaid", "invalid", "hybrid")

Words = tuple[tuple[str, str], ...]
_ALONE = 5


def parts_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in small letters without accents.

    >>> parts_of("dateOfBirth_1"), parts_of("Ménage-ID")
    (('date', 'of', 'birth'), ('menage', 'id'))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return tuple(re.findall(r"[a-z]+", spaced.lower()))


def said_by(name: str, words: Words) -> str | None:
    """Return what a list of words says of a column's name; None if it says nothing.

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
    """Tell whether a word of a column's name ends as identifiers do, though nothing parts the end from the rest.

    >>> ends_as_identifier("UTILITYID"), ends_as_identifier("utilname"), ends_as_identifier("amount_paid")
    (True, True, False)
    """
    return any(len(word) > _ALONE and word.endswith(_ENDS) and word not in _BY_CHANCE for word in parts_of(name))
