"""Result of a run: the protected data, its classes, the audit, and the losses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.display.card import Card, Shown
from shoal.errors import ParameterError
from shoal.flow.evidence.build import Proof
from shoal.flow.protect.anonymise import measured
from shoal.flow.protect.files import SideFiles
from shoal.locations import path_or_none
from shoal.recipe.recipe import Recipe
from shoal.report.evidence import printed, published
from shoal.types import Audit, Certificate, Comparison, Ledger, Partition, Readings, Run, Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The parts of a run that pickling keeps: publishable ones, and nothing that was computed record by record.
_PICKLED = (
    "partition",
    "audit",
    "readings",
    "schema",
    "certificate",
    "left_out",
    "suppressed",
    "not_released",
    "ledger",
    "notes",
)


@dataclass(frozen=True, eq=False, repr=False)
class Protected(Shown):
    """The result of a run: the protected data, its classes, the audit, and the losses.

    Attributes
    ----------
    data
        The protected table; a frame of the same kind as the input.
    recipe
        The recipe of the run.
    run
        The record of the run; None after pickling.
    confidential, beside
        The second table, if the release makes two, and where it was written.
    proof
        Makes the data for evidence of a frame.
    rows
        For each released row the number of its row in the input, from 0; None: all rows, in the order of the input.
    holdout
        The original records of people who were left out as a control; None without a holdout. Pickling drops them.
    """

    data: Any = field(repr=False)  # a repr must never show a cell
    recipe: Recipe
    run: Run | None = field(repr=False)
    confidential: Any = field(default=None, repr=False)
    beside: str = ""
    proof: Callable[[], Proof] | None = field(default=None, repr=False)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    holdout: Any = field(default=None, repr=False)
    kept: Mapping[str, Any] = field(default_factory=dict, repr=False)  #: the parts of the run that pickling kept

    def _card(self) -> Card:
        from shoal.flow.protect.card import protected_card

        return protected_card(self)

    def _of_run(self, name: str) -> Any:
        return self.kept[name] if self.run is None else getattr(self.run, name)

    @property
    def partition(self) -> Partition:
        """The classes."""
        found: Partition = self._of_run("partition")
        return found

    @property
    def audit(self) -> Audit:
        """The findings of the independent audit."""
        found: Audit = self._of_run("audit")
        return found

    @property
    def readings(self) -> Readings:
        """Losses and risks."""
        found: Readings = self._of_run("readings")
        return found

    @property
    def schema(self) -> Schema:
        """The schema of the input's columns."""
        found: Schema = self._of_run("schema")
        return found

    @property
    def certificate(self) -> Certificate | None:
        """A lower bound on the SSE, if requested."""
        found: Certificate | None = self._of_run("certificate")
        return found

    @property
    def ledger(self) -> Ledger | None:
        """How ε was spent, if noise was added."""
        found: Ledger | None = self._of_run("ledger")
        return found

    @property
    def left_out(self) -> int:
        """Number of records excluded because a quasi-identifier is missing."""
        return int(self._of_run("left_out"))

    @property
    def suppressed(self) -> int:
        """Number of records dropped because they would cost the most."""
        return int(self._of_run("suppressed"))

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user."""
        return tuple(self._of_run("notes"))

    @property
    def impact(self) -> str:
        """A paragraph for a data protection impact assessment; it contains no value of the table."""
        from shoal.report.sections.impact import paragraph

        return paragraph(self.audit, self.recipe.to_dict(), self.schema, self.ledger, self._of_run("not_released"))

    @property
    def comparison(self) -> Comparison | None:
        """The table before and after; None after pickling."""
        return None if self.run is None else self.run.comparison

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, without the original records or anything that could reveal them."""
        kept = {name: self._of_run(name) for name in _PICKLED}
        dropped = {"run": None, "proof": None, "rows": None, "holdout": None, "kept": kept}
        return {**vars(self), **dropped}

    def __copy__(self) -> Protected:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Protected:
        """Return a result with its own copy of the data; the rest is immutable and shared."""
        return replace(self, data=copy.deepcopy(self.data, memo), confidential=copy.deepcopy(self.confidential, memo))

    def _whole_run(self, what: str) -> Run:
        if self.run is None:
            raise ParameterError(
                f"{what}: must be written before the result is pickled, because pickling drops what was computed "
                "from the original records. Protect the table again."
            )
        return self.run

    def report(self, path: str | Path, edition: str = "internal", *, force: bool = False) -> None:
        """Write a human-readable report: one self-contained HTML file.

        Parameters
        ----------
        path
            Output path, ending in .html.
        edition
            ``internal``, or ``external``: without details that would help an attacker.
        force
            Replace the file if it exists.
        """
        run = self._whole_run("Report")
        side_files = SideFiles(report=Path(path), edition=edition)
        with side_files.staged(force=force) as hidden:
            side_files.write_report(hidden, measured(run))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the protected table over to any library that reads Arrow, such as DuckDB or polars."""
        from shoal.flow.stages.arrow_stream import reader_of

        return reader_of(self.data).__arrow_c_stream__(requested_schema)

    def plot(self, columns: Sequence[str] = ()) -> Figure:
        """Draw attributes before and after, in bars of at least k records; needs matplotlib (``shoal[plot]``).

        Parameters
        ----------
        columns
            The quasi-identifiers to draw. Default: the first 12.

        Like the internal edition of a report, the figure shows how the originals are distributed: do not publish it.
        """
        from shoal.flow.protect.figure import before_after_figure

        return before_after_figure(self._whole_run("plot"), [columns] if isinstance(columns, str) else columns)

    @property
    def published(self) -> Readings:
        """The readings that may be published with the release, rounded to the share of 100 records; see evidence."""
        return published(self.readings, self.recipe.release, self.audit.records)

    @property
    def printed(self) -> Readings:
        """The readings that ``shoal protect`` prints for the publisher: bare values with 3 significant digits."""
        return printed(self.readings, self.recipe.release)

    def evidence(self, path: str | Path, *, receipt: str | Path | None = None, force: bool = False) -> None:
        """Write evidence that others can check with :func:`shoal.verify`: a JSON file without any value of the table.

        Parameters
        ----------
        path
            Output path, ending in .json.
        receipt
            Path of a receipt to write as well; see :meth:`receipt`. The evidence then holds a commitment to the
            input, which only the receipt opens.
        force
            Replace the files if they exist.
        """
        self._prove("Evidence", "evidence", SideFiles(evidence=Path(path), receipt=path_or_none(receipt)), force=force)

    def receipt(self, path: str | Path, *, force: bool = False) -> None:
        """Write a receipt, to be kept private: a JSON file of mode 0600 that makes the run repeatable.

        Parameters
        ----------
        path
            Output path, ending in .json.
        force
            Replace the file if it exists.
        """
        self._prove("Receipt", "receipt", SideFiles(receipt=Path(path)), force=force)

    def _prove(self, owner: str, what: str, side_files: SideFiles, *, force: bool) -> None:
        run = self._whole_run(owner)
        if self.proof is None:
            raise ParameterError(
                f"{owner}: for a file this must be requested when it is protected. Write protect_file(…, {what}=…)."
            )
        with side_files.staged(force=force) as hidden:
            side_files.write_proof(hidden, run, self.proof())
