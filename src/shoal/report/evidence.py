"""Evidence: the promises, findings and publishable readings of a run; it contains no value of the table."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shoal import registry
from shoal.errors import DataError, listing
from shoal.types import Reading, Readings, Run
from shoal.types.run import FEWEST, coarse, significant

FORMAT = 2
_OLD = 1  # had a keyed digest of the input
_SEAL = "seal"
_HIGH = 1_000  # maximum number of steps from the root of a taxonomy to a leaf
_DIGITS = 300  # of an integer: more than any level, seed or size needs, and a float can still hold it

#: Required fields and their types. The full schema is ``evidence.schema.json``.
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "recipe": dict,
    "fingerprint": str,
    "seed": int,
    "versions": dict,
    "salt": str,
    "commitment": (dict, type(None)),
    "outputs": list,
    "records": int,
    "columns": dict,
    "text": (dict, type(None)),
    "link": (str, type(None)),
    "audit": dict,
    "findings": list,
    "class_sizes": dict,
    "readings": dict,
    _SEAL: str,
}
_DIGEST = {"name": str, "of": str, "bytes": (int, type(None))}
_NUMBER = (int, float, type(None))
_FINDING: dict[str, type | tuple[type, ...]] = {
    "model": str,
    "attributes": list,
    "confidential": (str, type(None)),
    "given": dict,
    "level": str,
    "required": _NUMBER,
    "achieved": _NUMBER,
    "found": dict,
    "classes": int,
    "holds": bool,
    "promised": bool,
    "short": str,
    "note": str,
}


@dataclass(frozen=True)
class Evidence:
    """The evidence of a run, for people who were not involved, as a JSON object.

    **Guarantee.** :meth:`read` reads what :meth:`render` writes. The seal is the SHA-256 of everything else and detects
    accidental changes. A forger can compute a new seal: only a signature helps against that.

    >>> text = Evidence({"format": 2, "records": 3}).render()
    >>> json.loads(text)["seal"] == seal_of(json.loads(text))
    True
    """

    values: Mapping[str, Any] = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def render(self) -> str:
        """Return JSON with its seal, one field per line where readable."""
        plain = finite(dict(self.values))
        sealed = {**plain, _SEAL: seal_of(plain)}
        return json.dumps(sealed, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    @property
    def sealed(self) -> bool:
        """Whether the seal matches the contents."""
        return bool(self.values[_SEAL] == seal_of(self.values))

    @classmethod
    def read(cls, owner: str, text: str) -> Evidence:
        """Parse evidence, and check that it is complete.

        Raises
        ------
        DataError
            If it is not a JSON object, has an unknown format, or lacks a field.
        """
        try:
            values = json.loads(text, parse_constant=_refuse, parse_int=_whole, parse_float=_number)
            json.dumps(values, ensure_ascii=False).encode()  # a lone surrogate is invalid: no file can hold it
        except (ValueError, RecursionError):  # its message may quote the text
            raise DataError(f"{owner}: must be a JSON object, but is not. Give the file of --evidence.") from None
        if not isinstance(values, dict) or "format" not in values:
            raise DataError(f"{owner}: must be evidence of shoal, but names no format. Give the file of --evidence.")
        if values["format"] == _OLD and not isinstance(values["format"], bool):
            raise DataError(
                f"{owner}: is evidence of format {_OLD}, which holds a keyed digest of the input: anyone can test "
                f"guesses of the input against it. Do not publish it; protect the table again for a new one."
            )
        if values["format"] != FORMAT or isinstance(values["format"], bool):
            raise DataError(
                f"{owner}: the format of evidence must be {FORMAT}, got another. Verify it with the version of "
                "shoal that it names, or a newer one."
            )
        _check(owner, "evidence", values, _FIELDS)
        for one in values["outputs"]:
            _check(owner, "an output", one, {**_DIGEST, "sha256": str, "records": int})
        if values["commitment"] is not None:
            _check(owner, "the commitment", values["commitment"], {"of": str, "sha256": str})
        for one in values["findings"]:
            _check(owner, "a finding", one, _FINDING)
        for one in values["columns"].values():
            _check(owner, "a column", one, {"role": str, "kind": str})
            _check_meaning(owner, one)
        _check(owner, "class_sizes", values["class_sizes"], {"over": list, "sizes": list})
        return cls(values)


def _refuse(_: str) -> Any:
    raise ValueError


def _whole(digits: str) -> int:
    """Return an integer; refuse one that is too large to compare with a float."""
    return int(digits) if len(digits) <= _DIGITS else _refuse(digits)


def _number(digits: str) -> float:
    """Return a float; refuse one so large that it would be infinite, which JSON does not allow."""
    return value if math.isfinite(value := float(digits)) else _refuse(digits)


def _check_meaning(owner: str, column: Mapping[str, Any]) -> None:
    """Refuse orders, missing-value codes or groups that are not digests of names, and invalid heights."""
    tree, heights = column.get("taxonomy", {}), column.get("heights", {})
    lists = [column.get("missing", []), *(tree.values() if isinstance(tree, dict) else [None])]
    order = column.get("order", [])
    fine = all(isinstance(one, list) and all(isinstance(name, str) for name in one) for one in lists)
    fine &= isinstance(order, list) and all(name is None or isinstance(name, str) for name in order)
    fine &= isinstance(heights, dict) and all(
        isinstance(one, list) and all(type(high) is int and 1 <= high <= _HIGH for high in one)
        for one in heights.values()
    )
    if not fine:
        raise DataError(
            f"{owner}: order, taxonomy, heights and missing of a column must hold digests of names and heights of "
            "groups, but do not. Give the file of --evidence as it was written."
        )


def _check(owner: str, what: str, values: Any, fields: Mapping[str, Any]) -> None:
    """Refuse values that lack a field, or have another type there."""
    table = values if isinstance(values, dict) else {}
    wrong = [
        name
        for name, kind in fields.items()
        if name not in table
        or not isinstance(table[name], kind)
        or (isinstance(table[name], bool) and kind is not bool)  # bool is a subtype of int
    ]
    if wrong:
        raise DataError(
            f"{owner}: {what} must have {listing(wrong)}, of the type in the schema, but does not. Give the file of "
            "--evidence as it was written."
        )


def seal_of(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything except the seal, in canonical form."""
    rest = {name: value for name, value in values.items() if name != _SEAL}
    return digest_of(rest)


def digest_of(value: Any) -> str:
    """Return the SHA-256 of a plain value: as JSON, names sorted, no blanks, in UTF-8.

    >>> digest_of({"b": 1, "a": [2.5]})[:8]
    '11cf7051'
    """
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def finite(value: Any) -> Any:
    """Return plain values that JSON can hold: non-finite numbers become null, tuples lists."""
    if isinstance(value, Mapping):
        return {str(name): finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    plain = value.item() if hasattr(value, "item") else value  # a numpy number
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def publishes(release: str) -> bool:
    """Tell whether figures about the originals may accompany a release; its class must declare it.

    >>> publishes("centroid"), publishes("swap")
    (True, False)
    """
    return registry.says("release", release, "publishes_readings") is True


def published(readings: Readings, release: str, records: int) -> Readings:
    """Return the readings that may accompany a release of a table: bare values, rounded to the share of 100 records.

    About a table of fewer than 1,000 records nothing is published: one cell would show in any figure.

    >>> read = (Reading("mae", 0.12, "low", (0.0, math.inf)), Reading("il_sse", 7.5, "low", (0.0, 100.0), unit="%"))
    >>> published(Readings(read), "centroid", 10_000).to_dict(), published(Readings(read), "centroid", 999).to_dict()
    ({'mae': 0.12, 'il_sse': 8.0}, {})
    """
    if records < FEWEST:
        return Readings(())
    kept = [one for one in printed(readings, release).readings if not one.name.endswith("_recoding")]
    exact = {reading.name: reading.value for reading in readings.readings}
    return Readings(
        tuple(replace(one, value=coarse(exact[one.name], records, _scale(one, records), one.goal)) for one in kept)
    )


def _scale(reading: Reading, records: int) -> float:
    """Return the value of a reading that stands for the whole table."""
    if _declares(reading, "adds_up"):
        return float(records * max(len(reading.attributes), 1))
    if reading.unit == "%" or _says(reading, "of"):  # combinations are of percentages
        return 100.0
    low, high = reading.range
    return high - low if math.isfinite(high - low) else 1.0


def printed(readings: Readings, release: str) -> Readings:
    """Return the readings that ``shoal protect`` prints for the publisher: bare values with 3 significant digits.

    A measure declares ``exchangeable = True`` if its value depends only on which original vectors of quasi-identifiers
    were released as which, however often each pair occurs, and neither on confidential columns nor on the order of
    rows. The release declares ``publishes_readings = True``. Without a declaration nothing is published.

    >>> read = (Reading("mae", 0.123456, "low", (0.0, 9.0)), Reading("inference", 7.5, "low", (0.0, 100.0)))
    >>> printed(Readings(read), "centroid").to_dict(), printed(Readings(read), "swap").to_dict()
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
    found = published(account.readings, str(account.recipe.get("release", "centroid")), account.audit.records)
    if account.blocks > 1:
        found = Readings(tuple(one for one in found.readings if _declares(one, "by_attribute")))
    return replace(account, readings=found, certificate=None)


def comparable(account: Run) -> bool:
    """Tell whether the external edition may compare originals and release: correlations, changes of attributes."""
    enough = account.audit.records >= FEWEST
    return enough and account.blocks == 1 and publishes(str(account.recipe.get("release", "centroid")))


def _exchangeable(reading: Reading) -> bool:
    return _declares(reading, "exchangeable")


def _declares(reading: Reading, what: str) -> bool:
    return _says(reading, what) is True


def _says(reading: Reading, what: str) -> Any:
    """Return what the measure of a reading declares; None if there is no such measure."""
    rooms = [room for room in registry.ROOMS["measures"] if reading.measure in registry.keys(room)]
    return registry.says(rooms[0], reading.measure, what) if rooms else None
