"""Sentences on what an attacker could learn from a table, with counts; the worst case comes before the average."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.errors import listing

if TYPE_CHECKING:
    from shoal.types.release import Audit, Finding

_COLUMNS = 8  # maximum number of confidential columns with a sentence
_NEAREST = "Population records belong to the nearest released combination"
_VALUES = "p_sensitivity"  # the model that counts the distinct values of each class


def sentences_of(audit: Audit, *, where: bool = True, spell: Callable[[str], str] = str) -> tuple[str, ...]:
    """Return what someone who has the table learns about a person: first who it is, then confidential values.

    `where` tells how many classes are the smallest, which external readers are not told. `spell` writes the name of a
    column, where a page cannot hold every name.

    Every sentence follows from the findings of the audit, which were counted in the table as it is written. Two tables
    that differ only in which member of a class a row belongs to have the same sentences.
    """
    shown = audit if spell is str else _spelled(audit, spell)
    person = _person(shown, where=where)
    lead = "From one record alone" if person else "Worst case"
    said = (person, _identity(shown, lead, where=where), *_in_population(shown), *_values(shown))
    return tuple(sentence for sentence in said if sentence)


def _spelled(audit: Audit, spell: Callable[[str], str]) -> Audit:
    """Return an audit whose columns have other names."""

    def of(finding: Finding) -> Finding:
        name = finding.confidential
        over = tuple(map(spell, finding.attributes))
        return replace(finding, attributes=over, confidential=None if name is None else spell(name))

    quasi, link = tuple(map(spell, audit.quasi)), None if audit.link is None else spell(audit.link)
    return replace(audit, quasi=quasi, link=link, overall=of(audit.overall), findings=tuple(map(of, audit.findings)))


def smallest_classes(audit: Audit) -> Finding | None:
    """Return the finding with the smallest classes that someone sees who knows all quasi-identifiers.

    Strata and weights released with them count, too. None: the released combinations are not those of the people.
    """
    known = set(audit.quasi)
    found = [
        f
        for f in (*audit.findings, audit.overall)
        if f.model == "k_anonymity" and known <= set(f.attributes) and f.promised and f.sizes
    ]
    return min(found, key=lambda f: (f.achieved, -f.classes), default=None)


def share(part: float, whole: float) -> str:
    """Return a share in percent, with three digits and never rounded to 0 or 100 % unless it is.

    >>> share(1, 5), share(929, 5000), share(1, 1_000_000), share(999_999, 1_000_000)
    ('20 %', '18.6 %', '0.0001 %', '99.9 %')
    """
    if not whole:
        return "0 %"
    percent = 100.0 * part / whole
    shown = f"{percent:.3g}" if percent < 99.95 or part == whole else "99.9"
    return f"{shown} %"


def _person(audit: Audit, *, where: bool) -> str:
    """Say how likely the attacker finds a person by all records at once, if the release links them; else nothing."""
    known = set(audit.quasi)
    counted = [f for f in audit.findings if f.model == "k_sets" and known <= set(f.attributes) and f.sizes]
    worst = min(counted, key=lambda f: (f.achieved, -f.classes), default=None)
    if worst is None:
        return ""
    k, smallest = worst.sizes[0]
    people = _members(worst)
    so = f"This is so for {k * smallest:,} of {people:,} people. " if where else ""
    return (
        f"Worst case: someone who knows a person's {_named(worst.attributes)} in all of the person's records, which "
        f"the release links, is left with {k:,} {'people' if k > 1 else 'person'}: a chance of 1 in {k:,} "
        f"({share(1, k)}{_ceiling(audit)}). {so}On average the chance is {share(worst.classes, people)}, 1 in "
        f"{people / worst.classes:,.3g}."
    )


def _identity(audit: Audit, lead: str, *, where: bool) -> str:
    """Say how likely the attacker finds a person's record: at worst, where, and on average."""
    if audit.link is not None:
        return (
            f"Anyone who knows a person's {_named(audit.quasi)} can find the person in the first table, where they are "
            "unchanged. The second table does not tell which row of the class is the person's."
        )
    worst = smallest_classes(audit)
    if worst is None:
        return _unpromised(audit)
    k, smallest = worst.sizes[0]
    members, (what, several) = _members(worst), _counted(audit, worst)
    rare = f"in {smallest:,} of {worst.classes:,} classes"
    some = f"{k * smallest:,} of {members:,} records"  # a subject may be in several classes, and would count in each
    knows, ceiling = f"someone who knows a person's {_named(worst.attributes)}", _ceiling(audit)
    average = f"On average the chance is {share(worst.classes, members)}, 1 in {members / worst.classes:,.3g}."
    if k == 1:
        counted = f"{some}, {rare}, are unique" if what == "record" else f"{rare} a subject is unique"
        unique = counted if where else f"some {several} are unique"
        return f"{lead}: {unique}: {knows} may find the {what} (100 %{ceiling}). {average}"
    chance = f"a chance of 1 in {k:,} ({share(1, k)}{ceiling})"
    found = (
        f"{k:,} records that match, and picks the right one with {chance}."
        if what == "record"
        else f"the records of {k:,} {several} that match: {chance} if each is equally likely."
    )
    so = f"for {some}, {rare}" if what == "record" else rare
    return f"{lead}: {knows} is left with {found} {f'This is so {so}. ' if where else ''}{average}"


def _counted(audit: Audit, worst: Finding) -> tuple[str, str]:
    """Return what a class counts, one of them and several; of a table without a recipe only that it has subjects."""
    if "subjects" not in worst.note:
        return "record", "records"
    if audit.attacker is None:
        return "subject", "subjects"
    return ("group", "groups") if audit.attacker.counted == "group" else ("person", "people")


def in_population(audit: Audit) -> tuple[Finding, float] | None:
    """Return the finding of people in the population, and the average risk there; None: no population was given."""
    found = next((f for f in audit.findings if f.model == "k_map" and f.classes), None)
    return None if found is None else (found, dict(found.found)["average_risk"])


def _in_population(audit: Audit) -> list[str]:
    """Say how likely someone finds the person of a record in the population, and learns who of it is in the table."""
    people = in_population(audit)
    if people is None or audit.link is not None or smallest_classes(audit) is None:
        return []
    found, average = people
    fewest, everyone = int(found.achieved), int(dict(found.found)["population"])
    ceiling = "" if found.required is None else f"; the ceiling 1/k is {share(1, max(found.required, 1))}"
    looks = f"In the population of {everyone:,}, someone who does not know who is in the table and looks for the person"
    match = (
        f"is left with {fewest:,} people at worst, a chance of 1 in {fewest:,} ({share(1, fewest)}{ceiling})"
        if fewest > 1
        else f"is left with {'one person' if fewest else 'no one else'} at worst (100 %{ceiling})"
    )
    said = [f"{looks} of a record {match}. On average the chance is {share(average, 1)}. {_NEAREST}."]
    presence = next((f for f in audit.findings if f.model == "delta_presence" and f.classes), None)
    if presence is not None:
        allowed = "" if presence.required is None else f" ({share(presence.required, 1)} was allowed)"
        said.append(
            f"At worst {share(min(presence.achieved, 1), 1)} of the people of a combination are in the table{allowed}: "
            f"that is the chance that someone who knows a person's {_named(presence.attributes)} is right in saying "
            "that the person is in it."
        )
    return said


def _unpromised(audit: Audit) -> str:
    """Say how many records share a combination where no class size is promised, and what that does not show."""
    found = audit.overall
    if not found.sizes:
        return ""
    fewest, many = found.sizes[0]
    return (
        f"No class size is promised over {_named(audit.quasi)}: in the output {many:,} of {found.classes:,} "
        f"combinations have {fewest:,} record{'s' * (fewest != 1)}, the fewest. This does not show how "
        "often a match is the person someone looks for: shoal compare measures it as distance_linkage."
    )


def _members(finding: Finding) -> int:
    """Return the number of records, or subjects, of all classes."""
    return sum(size * count for size, count in finding.sizes)


def _ceiling(audit: Audit) -> str:
    """Return the largest chance that was allowed: 1/k of the smallest k that was required of these columns."""
    known = set(audit.quasi)
    asked = [
        f.required
        for f in audit.findings
        if f.model == "k_anonymity" and f.required is not None and known <= set(f.attributes)
    ]
    return f"; the ceiling 1/k is {share(1, min(asked))}" if asked else ""


def _values(audit: Audit) -> list[str]:
    """Say in how many classes all members share a confidential value, columns with most such records first."""
    over = set(audit.quasi if audit.link is None else (audit.link,))
    counted: dict[str, Finding] = {}
    for f in audit.findings:
        if f.model == _VALUES and f.confidential is not None and over <= set(f.attributes):
            counted[f.confidential] = max(counted.get(f.confidential, f), f, key=lambda one: one.classes)
    ranked = sorted(counted.values(), key=lambda f: -f.uniform[1])
    said = [_of_column(audit, f) + _finer(audit, f) for f in ranked[:_COLUMNS]]
    if rest := ranked[_COLUMNS:]:
        most = max(f.uniform[0] for f in rest)
        said.append(
            f"{len(rest):,} more confidential columns: in at most {most:,} of {rest[0].classes:,} classes all records "
            "share one value."
        )
    return said


def _of_column(audit: Audit, found: Finding) -> str:
    classes, records = found.uniform
    name, of = found.confidential, _beyond(audit, found)
    if _constant(audit, found):
        return (
            f"All {audit.records:,} records have the same value of {name}: anyone who knows that a person is in the "
            "table learns it."
        )
    if not classes:
        none = f"In none of the {found.classes:,} classes{of} do all records share one value of {name}."
        if found.classes == 1:
            none = f"The records of the only class do not all share one value of {name}."
        return none + _most(audit, found)
    if classes == 1:
        return (
            f"In 1 of {found.classes:,} classes{of} all {records:,} records share one value of {name}: anyone who "
            "knows that a person is in this class learns it."
        )
    return (
        f"In {classes:,} of {found.classes:,} classes{of} all records share one value of {name} "
        f"({records:,} of {audit.records:,} records): anyone who knows that a person is in such a class learns it."
    )


def _beyond(audit: Audit, found: Finding) -> str:
    """Name other columns than quasi-identifiers that tell classes apart, such as strata."""
    more = [name for name in found.attributes if name not in audit.quasi]
    return "" if audit.link is not None or not more else f" of quasi-identifiers and {_named(more)}"


def _constant(audit: Audit, found: Finding) -> bool:
    """Tell whether the table holds a single value: then no class is at any distance from it."""
    near = (f for f in audit.findings if f.model == "t_closeness" and f.attributes == found.attributes)
    level = any(f.confidential == found.confidential and f.achieved == 0 for f in near)
    return level and found.uniform[0] == found.classes


def _finer(audit: Audit, found: Finding) -> str:
    """Say so if columns released with the quasi-identifiers, such as strata, tell more classes apart."""
    if audit.link is not None or _constant(audit, found):
        return ""
    known = set(found.attributes)
    sizes = [f for f in (*audit.findings, audit.overall) if f.model == "k_anonymity" and known < set(f.attributes)]
    finest = max(sizes, key=lambda f: f.classes, default=None)
    if finest is None or finest.classes <= found.classes:
        return ""
    more = _named([name for name in finest.attributes if name not in known])
    return f" Someone who also knows {more} tells {finest.classes:,} classes apart, and may learn more."


def _most(audit: Audit, found: Finding) -> str:
    """Return the largest share of one value in a class, if it was audited, with what was allowed."""
    same = [
        f
        for f in audit.findings
        if f.model == "alpha_k" and f.confidential == found.confidential and f.attributes == found.attributes
    ]
    if not same:
        return ""
    allowed = f"; {share(same[0].required, 1)} was allowed" if same[0].required is not None else ""
    return f" At worst {share(same[0].achieved, 1)} of the records of a class share one{allowed}."


def _named(columns: Sequence[str], most: int = 4) -> str:
    """Name columns in few words.

    >>> _named(["age", "sex"]), _named(list("abcdef"))
    ('age and sex', 'a, b, c, d and 2 more columns')
    """
    if len(columns) <= most:
        return listing(columns) if len(columns) < 2 else f"{', '.join(columns[:-1])} and {columns[-1]}"
    more = len(columns) - most
    return f"{', '.join(columns[:most])} and {more} more column{'s' * (more > 1)}"
