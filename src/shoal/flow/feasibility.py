"""What no partition can reach is refused before anything is done, with what can be reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from shoal.errors import DataError, listing, raise_all
from shoal.flow.requiring import findings_of
from shoal.requirements import Required
from shoal.types import Finding, Release


def refuse_infeasible(
    release: Release, strata: Sequence[str], required: Sequence[Required], confidential: Sequence[str]
) -> None:
    """Refuse requirements that do not hold even if classes are as large as they can be.

    A class can be no more than all records, or all of a stratum. Of what does not hold of these it is said what would:
    the level that they achieve.

    Parameters
    ----------
    release
        The table before anything was done to it, its confidential columns read.
    strata
        Columns whose values classes never cross.
    required
        The models at their levels.
    confidential
        The confidential columns.
    """
    found = findings_of(release, tuple(strata), required, confidential)
    raise_all(DataError, [_sentence(finding, strata) for finding in found if not finding.holds])


def _sentence(finding: Finding, strata: Sequence[str]) -> str:
    where = f" of column {finding.confidential!r}" if finding.confidential is not None else ""
    counted = f" ({finding.note})" if finding.confidential is None and finding.note else ""
    who = f"a stratum of {listing([repr(name) for name in strata])} holds" if strata else "all records together hold"
    name, required, achieved = _lacking(finding)
    more = required > achieved
    given = "".join(f" with {of} = {value:g}" for of, value in finding.given if of != name)
    if more and achieved <= 0:
        allowed = "cannot be had at all"
    else:
        allowed = f"must be {'at most' if more else 'at least'} {_towards(achieved, down=more)}"
    return (
        f"{finding.model}{where}: {name} {allowed}{given}, got {required:g}: {who} no "
        f"{'more' if more else 'less'}{counted}. {'Lower' if more else 'Raise'} {name}"
        f"{', or leave out strata' if strata else ''}."
    )


def _lacking(finding: Finding) -> tuple[str, float, float]:
    """Return what is required and not achieved: (name, required, achieved), a further number of the model first."""
    given = dict(finding.given)
    for name, achieved in finding.found:
        if name in given and achieved < given[name]:
            return name, given[name], achieved
    assert finding.required is not None  # for it does not hold
    return finding.level, finding.required, finding.achieved


def _towards(value: float, *, down: bool) -> str:
    """Return a number with few digits, rounded to the side that can be had.

    >>> _towards(2.99999999, down=True), _towards(0.123456789, down=False), _towards(4, down=True)
    ('2.99999', '0.123457', '4')
    """
    if value == 0 or float(value).is_integer():
        return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    digits = 5 - math.floor(math.log10(abs(value)))
    scaled = Fraction(repr(float(value))) * Fraction(10) ** digits
    whole = math.floor(scaled) if down else math.ceil(scaled)
    return f"{float(Fraction(whole) / Fraction(10) ** digits):g}"
