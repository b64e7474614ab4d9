"""Contracts of measures: readings of a masked table, and readings combined from others."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from shoal.types.results.reading import Reading

if TYPE_CHECKING:
    from shoal.types.space.comparison import Comparison


class Reads(Protocol):
    """Common part of both contracts: the declarations of a measure, and its readings.

    A measure is a frozen dataclass in ``utility/`` or ``risk/`` that inherits :class:`Measure` or
    :class:`CombinedMeasure`. It declares only what differs from the defaults. A default promises nothing: a measure
    that does not declare ``exchangeable`` is not published.
    """

    key: ClassVar[str] = ""  #: registry key: the name of the module, unless it is declared
    short: ClassVar[str] = ""  #: name in JSON; empty: the key
    goal: ClassVar[str] = "low"  #: which way is better: ``low`` or ``high``; empty: neither
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)  #: smallest and largest possible value
    unit: ClassVar[str] = ""  #: ``%``, or empty
    quick: ClassVar[bool] = False  #: fast enough to be read by every ``shoal protect``
    exchangeable: ClassVar[bool] = False  #: depends only on which quasi-identifiers were released for which
    by_attribute: ClassVar[bool] = False  #: also read for each attribute separately
    of: ClassVar[tuple[str, ...]] = ()  #: JSON names of the readings that are combined

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.key = cls.__dict__.get("key") or cls.__module__.rpartition(".")[2]

    @classmethod
    def name(cls) -> str:
        """Return the name in JSON."""
        return cls.short or cls.key

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the measure needs besides the compared ones."""
        return ()

    def reading(
        self,
        value: float,
        attributes: tuple[str, ...] = (),
        parts: tuple[tuple[str, float], ...] = (),
        note: str = "",
    ) -> Reading:
        """Return a reading of this measure."""
        return Reading(self.key, value, self.goal, self.range, attributes, self.unit, parts, note, self.short)

    def undefined(self, why: str) -> Reading:
        """Return the reading of a measure that has nothing to measure."""
        return self.reading(math.nan, note=why)


class Measure(Reads, Protocol):
    """A measure of a masked table: how much was lost, or how much an attacker gains."""

    @abstractmethod
    def measure(self, comparison: Comparison) -> Reading:
        """Compare a table before and after; the comparison must not be changed."""


@runtime_checkable
class CombinedMeasure(Reads, Protocol):
    """A measure computed from the readings of others."""

    @abstractmethod
    def value(self, values: Mapping[str, float]) -> float:
        """Return the value from those of `of`, by name; NaN if one of them is."""

    def combine(self, values: Mapping[str, float]) -> Reading:
        """Return the reading from the values of `of`, by name."""
        lacking = [name for name in self.of if math.isnan(values[name])]
        return self.reading(
            self.value(values),
            parts=tuple((name, values[name]) for name in self.of if name not in lacking),
            note=f"There is no reading of {' and '.join(lacking)}." if lacking else "",
        )
