"""What work far below wants to say, said to whoever runs the stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Telling:
    """A listener that hands sentences on, such as that a broker does not answer."""

    to: Callable[[str], None]

    def stage(self, name: str) -> None:
        """Say nothing: a stream has no stages."""

    def report(self, done: int, total: int) -> None:
        """Say nothing: nobody knows how much will come."""

    def say(self, text: str) -> None:
        """Hand a sentence on."""
        self.to(text)
