"""What is written besides the output: the recipe, a report, evidence. All of it appears with the output, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import ParameterError
from shoal.flow.evidence import Proof, evidence_of
from shoal.recipe import Recipe
from shoal.types import Account

EDITIONS = ("internal", "external")


@dataclass(frozen=True)
class Besides:
    """Where it goes; None: nowhere."""

    recipe: Path | None = None
    report: Path | None = None
    edition: str = "internal"
    evidence: Path | None = None

    def __post_init__(self) -> None:
        if self.edition not in EDITIONS:
            raise ParameterError(
                f"Report: edition must be {' or '.join(EDITIONS)}, got {self.edition!r}. Take one of these."
            )
        if self.report is not None and self.report.suffix.lower() not in (".html", ".htm"):
            raise ParameterError(f"{self.report}: the name of a report must end in .html. Rename it.")
        if self.evidence is not None and self.evidence.suffix.lower() != ".json":
            raise ParameterError(f"{self.evidence}: the name of evidence must end in .json. Rename it.")

    @property
    def paths(self) -> dict[str, Path]:
        """What goes where."""
        named = {"recipe": self.recipe, "report": self.report, "evidence": self.evidence}
        return {what: path for what, path in named.items() if path is not None}

    @contextmanager
    def staged(self, *, force: bool) -> Iterator[dict[str, Path]]:
        """Give a hidden file for each; on leaving the block they get their names."""
        from shoal.sinks.atomic import atomic

        with ExitStack() as stack:
            yield {what: stack.enter_context(atomic(path, force=force)) for what, path in self.paths.items()}

    def write_recipe(self, hidden: dict[str, Path], recipe: Recipe) -> None:
        """Write the recipe, if it is wanted."""
        if self.recipe is not None:
            hidden["recipe"].write_text(recipe.to_toml(self.recipe.parent), encoding="utf-8")

    def write_report(self, hidden: dict[str, Path], account: Account) -> None:
        """Write the report."""
        hidden["report"].write_text(rendered(account, self.edition), encoding="utf-8")

    def write_evidence(self, hidden: dict[str, Path], account: Account, proof: Proof) -> None:
        """Write the evidence."""
        hidden["evidence"].write_text(evidence_of(account, proof).render(), encoding="utf-8")


NOTHING = Besides()


def rendered(account: Account, edition: str) -> str:
    """Return the report of a run."""
    from shoal.parameters import build
    from shoal.report.html import Html

    return build(Html, {"edition": edition}).render(account)
