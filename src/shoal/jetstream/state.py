"""What a lane must know to go on, as one message of the output stream: the cursor, and where its records are."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from shoal.errors import DataError
from shoal.types.stream import Cursor, Tally

_FORM = 1  # of the message; a reader that does not know it refuses
_LARGE = 4096  # from so many bytes on it is packed


@dataclass(frozen=True, slots=True)
class State:
    """What the last message of the subject of states says.

    Attributes
    ----------
    lane
        The stream and the subject that are read.
    born
        When the input stream was made: sequence numbers of another one mean other records.
    fingerprint, digests
        What was promised: a digest of all of it, and a short one of each part, to say which part is another.
    step
        Who wrote it and when: no two messages have the same.
    places
        Sequence numbers of the records from `Cursor.position` on, as far as `Cursor.done` reaches, as `Runs`.
    """

    lane: str
    born: str
    fingerprint: str
    digests: Mapping[str, str]
    step: str
    cursor: Cursor
    places: Sequence[Sequence[int]] = field(default=(), repr=False)

    def written(self) -> bytes:
        """Return it as the body of a message.

        >>> State.read(State("VISITS", "", "f", {}, "s", Cursor(3, 7, b"\\x02"), [[7, 1], [9, 2]]).written()).places
        [[7, 1], [9, 2]]
        """
        cursor = asdict(self.cursor) | {"done": base64.b64encode(self.cursor.done).decode()}
        body = {
            "shoal": _FORM,
            "lane": self.lane,
            "born": self.born,
            "fingerprint": self.fingerprint,
            "digests": dict(self.digests),
            "step": self.step,
            "cursor": cursor,
            "places": list(self.places),
        }
        text = json.dumps(body, separators=(",", ":")).encode()
        return zlib.compress(text, 1) if len(text) > _LARGE else text

    @classmethod
    def read(cls, body: bytes) -> State:
        """Read the body of a message.

        Raises
        ------
        DataError
            If it is not one that `written` returned; the message says nothing of its content.
        """
        try:
            found = json.loads(body if body[:1] == b"{" else zlib.decompress(body))
            if found["shoal"] != _FORM:
                raise ValueError
            cursor = found["cursor"]
            cursor |= {"done": base64.b64decode(cursor["done"]), "tally": Tally(**cursor["tally"])}
            return cls(
                **{name: found[name] for name in ("lane", "born", "fingerprint", "digests", "step")},
                cursor=Cursor(**cursor),
                places=[[int(first), int(count)] for first, count in found["places"]],
            )
        except (ValueError, KeyError, TypeError, zlib.error):
            raise DataError("State: must be a message that this version of shoal wrote, got another.") from None


def digests(promises: Mapping[str, Any]) -> dict[str, str]:
    """Return a short digest of each promise: enough to say which one is another, too little to be read."""
    return {
        name: hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]
        for name, value in promises.items()
    }
