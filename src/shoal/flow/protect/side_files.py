"""Files written along with the output: recipe, report, evidence, receipt. All of them appear with it, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import ParameterError
from shoal.flow.evidence.build import Proof, evidence_of
from shoal.recipe.recipe import Recipe
from shoal.types import Run

EDITIONS = ("internal", "external")


@dataclass(frozen=True)
class Besides:
    """Where it goes; None: nowhere."""

    recipe: Path | None = None
    report: Path | None = None
    edition: str = "internal"
    evidence: Path | None = None
    receipt: Path | None = None

    def __post_init__(self) -> None:
        if self.edition not in EDITIONS:
            raise ParameterError(
                f"Report: edition must be {' or '.join(EDITIONS)}, got {self.edition!r}. Take one of these."
            )
        if self.report is not None and self.report.suffix.lower() not in (".html", ".htm"):
            raise ParameterError(f"{self.report}: the name of a report must end in .html. Rename it.")
        for what, path in (("evidence", self.evidence), ("a receipt", self.receipt)):
            if path is not None and path.suffix.lower() != ".json":
                raise ParameterError(f"{path}: the name of {what} must end in .json. Rename it.")

    @property
    def paths(self) -> dict[str, Path]:
        """What goes where."""
        named = {"recipe": self.recipe, "report": self.report, "evidence": self.evidence, "receipt": self.receipt}
        return {what: path for what, path in named.items() if path is not None}

    @contextmanager
    def staged(self, *, force: bool) -> Iterator[dict[str, Path]]:
        """Give a hidden file for each; on leaving the block they get their names. Only its owner reads a receipt."""
        from shoal.io.sinks._atomic import atomic

        with ExitStack() as stack:
            yield {
                what: stack.enter_context(atomic(path, force=force, private=what == "receipt"))
                for what, path in self.paths.items()
            }

    def write_recipe(self, hidden: dict[str, Path], recipe: Recipe) -> None:
        """Write the recipe, if it is wanted."""
        if self.recipe is not None:
            hidden["recipe"].write_text(recipe.to_toml(self.recipe.parent), encoding="utf-8")

    def write_report(self, hidden: dict[str, Path], run: Run) -> None:
        """Write the report."""
        hidden["report"].write_text(rendered(run, self.edition), encoding="utf-8")

    def write_proof(self, hidden: dict[str, Path], run: Run, proof: Proof) -> None:
        """Write the evidence and the receipt, whichever is wanted; with both, the evidence commits to the input."""
        receipt = None if self.receipt is None else proof.receipt()
        if receipt is not None:
            hidden["receipt"].write_text(receipt.render(), encoding="utf-8")
        if self.evidence is not None:
            made = evidence_of(run, proof, None if receipt is None else receipt.commitment)
            hidden["evidence"].write_text(made.render(), encoding="utf-8")


NOTHING = Besides()


def path_or_none(path: str | Path | None) -> Path | None:
    """Return a path; None where nothing is to be written."""
    return None if path is None else Path(path)


def rendered(run: Run, edition: str) -> str:
    """Return the report of a run."""
    from shoal.parameters import build
    from shoal.report.html import Html

    return build(Html, {"edition": edition}).render(run)
