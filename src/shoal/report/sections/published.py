"""Publishable readings: those that do not change when two members of a class are exchanged."""

from __future__ import annotations

from dataclasses import replace

from shoal import registry
from shoal.types import Reading, Readings, Run
from shoal.types.results.reading import significant


def publishes(release: str) -> bool:
    """Tell whether figures about the originals may accompany a release; its class must declare it.

    >>> publishes("centroid"), publishes("swap")
    (True, False)
    """
    return registry.says("release", release, "publishes_readings") is True


def published(readings: Readings, release: str) -> Readings:
    """Return the readings that may accompany a release: bare values with 3 significant digits.

    A measure declares ``exchangeable = True`` if its value depends only on which original vectors of quasi-identifiers
    were released as which, however often each pair occurs, and neither on confidential columns nor on the order of
    rows. The release declares ``publishes_readings = True``. Without a declaration nothing is published.

    >>> read = (Reading("mae", 0.123456, "low", (0.0, 9.0)), Reading("inference", 7.5, "low", (0.0, 100.0)))
    >>> published(Readings(read), "centroid").to_dict(), published(Readings(read), "swap").to_dict()
    ({'mae': 0.123}, {})
    """
    if not publishes(release):
        return Readings(())
    kept = [reading for reading in readings.readings if _exchangeable(reading)]
    return Readings(tuple(replace(one, value=significant(one.value), parts=(), note="") for one in kept))


def outward(account: Run) -> Run:
    """Return the part of a run for the external edition: published readings, and no certificate.

    Counts of records that unchanged columns make unique stay, and so do warnings: they depend on the output and on the
    sets of rows that form classes, and both stay the same when two members of a class are exchanged.

    With several blocks, values of one block may be exchanged while those of another stay. Then only readings that treat
    each attribute separately are unchanged, which a measure declares by ``by_attribute = True``.
    """
    found = published(account.readings, str(account.recipe.get("release", "centroid")))
    if account.blocks > 1:
        found = Readings(tuple(one for one in found.readings if _declares(one, "by_attribute")))
    return replace(account, readings=found, certificate=None)


def comparable(account: Run) -> bool:
    """Tell whether the external edition may compare originals and release: correlations, changes of attributes."""
    return account.blocks == 1 and publishes(str(account.recipe.get("release", "centroid")))


def _exchangeable(reading: Reading) -> bool:
    return _declares(reading, "exchangeable")


def _declares(reading: Reading, what: str) -> bool:
    return any(
        registry.says(room, reading.measure, what) is True
        for room in registry.ROOMS["measures"]
        if reading.measure in registry.keys(room)
    )
