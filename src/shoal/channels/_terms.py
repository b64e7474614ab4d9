"""On what terms a stream goes on in a file, and how letters are written there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from shoal.channels._output import set_aside
from shoal.errors import DataError, ParameterError, listing
from shoal.types.stream import Journey, Letter


def make_way(file: Path, force: bool) -> None:
    """Refuse a file that is there and has no journal, or rename it."""
    if not file.is_file() or not file.stat().st_size:
        return
    if not force:
        raise ParameterError(f"{file}: exists already, and has no journal. Choose another file, or give --force.")
    set_aside(file)


def kept(journey: Journey) -> dict[str, Any]:
    """Return what must be the same when a stream goes on."""
    return {**journey.promises, "header": journey.header, "longest": journey.longest, "dead": journey.dead is not None}


def check_promises(journey: Journey, before: Mapping[str, Any]) -> None:
    """Refuse to go on with other promises than those that a stream was begun with."""
    mine = msgspec.json.decode(msgspec.json.encode(kept(journey)))
    theirs = msgspec.json.decode(msgspec.json.encode(before))
    others = [name for name in {**theirs, **mine} if mine.get(name) != theirs.get(name)]
    if others:
        raise DataError(
            f"{journey.target}: this stream was begun with another {listing(others)}. "
            "Go on as it was begun, or choose another output."
        )


def letter(given: Letter) -> bytes:
    """Return a letter as a line of JSON; a payload that is no text in base64."""
    said: dict[str, Any] = {"position": given.position, "place": given.place, "reason": given.reason}
    if given.payload is not None:
        try:
            said["payload"] = given.payload.decode()
        except UnicodeDecodeError:
            said["payload_base64"] = given.payload
    return msgspec.json.encode(said) + b"\n"
