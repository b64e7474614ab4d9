"""On what terms a stream goes on in a file, and how letters are written there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from shoal.channels._journal import sync_folder
from shoal.channels._output import writing
from shoal.errors import DataError, ParameterError, listing
from shoal.types.stream import Journey, Letter


def make_way(file: Path, force: bool) -> Callable[[], None]:
    """Refuse a file that is there and has no journal, or rename it; return what gives it its name back."""
    if not file.is_file() or not file.stat().st_size:
        return lambda: None
    if not force:
        raise ParameterError(f"{file}: exists already, and has no journal. Choose another file, or give --force.")
    real = Path(os.path.realpath(file))  # what a link leads to, not the link
    with writing(str(file)):
        aside = _set_aside(real)
        sync_folder(real.parent)

    def undo() -> None:
        if not real.exists():
            with writing(str(file)):
                os.rename(aside, real)

    return undo


def _set_aside(real: Path) -> Path:
    """Rename a file to a name that no other has: one that was set aside before stays."""
    names = (real.with_name(f"{real.name}.old{number if number > 1 else ''}") for number in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    os.rename(real, aside)
    return aside


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
    return msgspec.json.encode(given.told | given.enclosed) + b"\n"
