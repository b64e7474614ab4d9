"""Contracts of privacy models: audits of a table, and audits of its confidential columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from shoal.types.results.release import Finding, Release


class PrivacyModel(Protocol):
    """Common part of both contracts: the declarations of a model, and its findings.

    A model is a frozen dataclass in ``privacy/`` that inherits :class:`TableModel` or :class:`ConfidentialModel`. Its
    parameters are the levels that can be required; with the defaults it audits for information.
    """

    key: ClassVar[str] = ""  #: registry key: the name of the module, unless it is declared
    short: ClassVar[str]  #: short name, as in ``--require``
    level: ClassVar[str]  #: parameter that is required and achieved; others are fixed, or further conditions
    example: ClassVar[str]  #: value for ``--require``
    reported: ClassVar[bool] = False  #: audited for information where it is not required
    of_confidential: ClassVar[bool] = False  #: audits confidential columns
    of_persons: ClassVar[bool] = False  #: audits single people's shares of a class; can be required of any table

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.key = cls.__dict__.get("key") or cls.__module__.rpartition(".")[2]

    def finding(
        self,
        attributes: tuple[str, ...],
        achieved: float,
        required: float | None,
        classes: int,
        worst: tuple[tuple[int, float], ...] = (),
        *,
        holds: bool | None = None,
        note: str = "",
        confidential: str | None = None,
        given: tuple[tuple[str, float], ...] = (),
        found: tuple[tuple[str, float], ...] = (),
        uniform: tuple[int, int] = (0, 0),
        promised: bool = True,
    ) -> Finding:
        """Return a finding of this model; see :class:`~shoal.types.Finding` for its parts.

        `holds` can be left out where `achieved` is a count: it holds if it is at least what is required.
        """
        return Finding(
            self.key,
            attributes,
            achieved,
            required,
            required is None or achieved >= required if holds is None else holds,
            classes,
            worst,
            note,
            promised,
            confidential,
            self.short,
            given,
            self.level,
            found,
            uniform,
        )


class TableModel(PrivacyModel, Protocol):
    """A model about the classes of a table."""

    @abstractmethod
    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the level that holds over some columns; every row counts."""


@runtime_checkable
class ConfidentialModel(PrivacyModel, Protocol):
    """A model about the values of a confidential column in each class."""

    of_confidential: ClassVar[bool] = True

    def audit(self, release: Release, attributes: Sequence[str], confidential: Sequence[str]) -> tuple[Finding, ...]:
        """Find the level that holds over some columns, for each confidential column separately."""
        return tuple(self.audit_column(release, tuple(attributes), name) for name in confidential)

    @abstractmethod
    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the level that holds for one confidential column; every row counts."""
