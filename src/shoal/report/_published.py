"""Readings that may be published: those that an exchange of two members of a class does not change."""

from __future__ import annotations

from dataclasses import replace

from shoal import registry
from shoal.types import Account, Reading, Readings
from shoal.types.reading import significant


def publishes(release: str) -> bool:
    """Tell whether figures about the originals may accompany a release; its class must say so.

    >>> publishes("centroid"), publishes("swap")
    (True, False)
    """
    return registry.says("release", release, "publishes_readings") is True


def published(readings: Readings, release: str) -> Readings:
    """Return the readings that may accompany a release: bare values with 3 significant digits.

    A measure says ``exchangeable = True`` if its value depends only on which original vectors of quasi-identifiers were
    released as which, however often each pair occurs, and neither on confidential columns nor on the order of rows. The
    release says ``publishes_readings = True``. Whatever says nothing is not published.

    >>> read = (Reading("mae", 0.123456, "low", (0.0, 9.0)), Reading("inference", 7.5, "low", (0.0, 100.0)))
    >>> published(Readings(read), "centroid").to_dict(), published(Readings(read), "swap").to_dict()
    ({'mae': 0.123}, {})
    """
    if not publishes(release):
        return Readings(())
    kept = [reading for reading in readings.readings if _exchangeable(reading)]
    return Readings(tuple(replace(one, value=significant(one.value), parts=(), note="") for one in kept))


def outward(account: Account) -> Account:
    """Return what outsiders may read of a run: published readings, and no certificate."""
    release = str(account.recipe.get("release", "centroid"))
    return replace(account, readings=published(account.readings, release), certificate=None)


def _exchangeable(reading: Reading) -> bool:
    return any(
        registry.says(room, reading.measure, "exchangeable") is True
        for room in registry.ROOMS["measures"]
        if reading.measure in registry.keys(room)
    )
