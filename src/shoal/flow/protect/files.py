"""Files of a run: its input, and the recipe, report, evidence, receipt and holdout that appear with the output."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from shoal import registry
from shoal.errors import DataError, ParameterError
from shoal.flow.evidence.build import Proof, evidence_of
from shoal.flow.evidence.receipt import Digest, Receipt
from shoal.flow.plan.declared_output import declared_table
from shoal.flow.plan.release_traits import chooses_by_key, covers_originals, deals_by_key, refuse_noise
from shoal.flow.recoding.recode import recoded
from shoal.flow.stages.read import is_textual, open_source, read_table, schema_for
from shoal.locations import Place, Url
from shoal.parameters import build
from shoal.recipe.recipe import Recipe
from shoal.types import Partition, Run, Table


def keep_apart(source: Place, target: Place, side_files: Mapping[str, Path]) -> None:
    """Refuse outputs and side files that would replace the input or each other, or join the files of its folder."""
    if _same(source, target):
        raise ParameterError(f"{target}: the output must not be the input. Give the output another name.")
    for what, path in {"output": target.at, **side_files}.items():
        if isinstance(path, Path) and _is_in_folder(path, source):
            raise ParameterError(
                f"{path}: the {what} must not be in the input folder, which would then contain it. Name another folder."
            )
    for what, path in side_files.items():
        if any(_same(Place(path), other) for other in (source, target)):
            raise ParameterError(f"{path}: the {what} must not replace the input or the output. Name another file.")
    for (what, path), (other, its) in combinations(side_files.items(), 2):
        if _same(Place(path), Place(its)):
            raise ParameterError(f"{path}: must not be both the {what} and the {other}. Name another file.")


def _is_in_folder(path: Path, source: Place) -> bool:
    """Tell whether a path is below a source that is a folder, even through links."""
    if not isinstance(source.at, Path) or not source.at.is_dir():
        return False
    return Path(os.path.realpath(source.at)) in Path(os.path.realpath(path)).parents


def keep_receipt(receipt: Path | None, target: Place, side_files: Mapping[str, Path]) -> None:
    """Refuse to replace the receipt of the repeated run, unless by the receipt of this run."""
    paths = [Place(path) for what, path in side_files.items() if what != "receipt"]
    if receipt is not None and any(_same(Place(receipt), other) for other in (target, *paths)):
        raise ParameterError(
            f"{receipt}: must not be replaced, because it is the receipt of --repeat. Name another file."
        )


def _same(one: Place, other: Place) -> bool:
    """Tell whether two places are the same, even through links or another name of this machine."""
    from shoal.io.sinks._atomic import same_file

    if one.stored is not None and other.stored is not None:
        return _overlap(one.stored, other.stored)
    if isinstance(one.at, Path) and isinstance(other.at, Path):
        return same_file(one.at, other.at)
    if isinstance(one.at, Url) and isinstance(other.at, Url):
        return one.at.database == other.at.database and _reads(one, other.options.get("table", ""))
    file, url = (one, other) if isinstance(one.at, Path) else (other, one)
    if not isinstance(file.at, Path) or not isinstance(url.at, Url) or url.at.database[0] != "":
        return False
    return same_file(file.at, Path(url.at.database[1]))


def _overlap(one: Url, other: Url) -> bool:
    """Tell whether two places in object stores are the same, or one is inside the other; endpoints do not count."""
    paths = [f"{unquote(url.shown).partition('://')[2].strip('/')}/" for url in (one, other)]
    return paths[0].startswith(paths[1]) or paths[1].startswith(paths[0])


def _reads(source: Place, table: str) -> bool:
    """Tell whether a source is a table, or a query that names it."""
    if "table" in source.options:
        (schema, name), (its, same) = (t.lower().rpartition(".")[::2] for t in (table, source.options["table"]))
        return name.strip('"') == same.strip('"') and (not schema or not its or schema == its)
    name = re.escape(table.rpartition(".")[2].strip('"'))
    return re.search(rf"(?<!\w){name}(?!\w)", source.options.get("query", ""), re.IGNORECASE) is not None


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # one slash: a path holds no two

EDITIONS = ("internal", "external")
_PRIVATE = ("receipt", "holdout")  # side files that only their owner may read


@dataclass(frozen=True)
class SideFiles:
    """Paths of the side files; None: not written."""

    recipe: Path | None = None
    report: Path | None = None
    edition: str = "internal"
    evidence: Path | None = None
    receipt: Path | None = None
    holdout: Path | None = None

    def __post_init__(self) -> None:
        if self.edition not in EDITIONS:
            raise ParameterError(
                f"Report: edition must be {' or '.join(EDITIONS)}, got {self.edition!r}. Choose one of these."
            )
        if self.report is not None and self.report.suffix.lower() not in (".html", ".htm"):
            raise ParameterError(f"{self.report}: the name of a report must end in .html. Rename it.")
        for owner, local in self.paths.items():
            if _URL.match(str(local)):
                raise ParameterError(
                    f"{owner.capitalize()}: must be a local file, got a URL. Name a file, and copy it afterwards."
                )
        for what, path in (("evidence", self.evidence), ("a receipt", self.receipt)):
            if path is not None and path.suffix.lower() != ".json":
                raise ParameterError(f"{path}: the name of {what} must end in .json. Rename it.")

    @property
    def paths(self) -> dict[str, Path]:
        """The side files by kind."""
        named = {
            "recipe": self.recipe,
            "report": self.report,
            "evidence": self.evidence,
            "receipt": self.receipt,
            "holdout": self.holdout,
        }
        return {what: path for what, path in named.items() if path is not None}

    @contextmanager
    def staged(self, *, force: bool) -> Iterator[dict[str, Path]]:
        """Yield a hidden file for each; they get their names when the block ends. Private ones have mode 0600."""
        from shoal.io.sinks._atomic import atomic

        with ExitStack() as stack:
            yield {
                what: stack.enter_context(atomic(path, force=force, private=what in _PRIVATE))
                for what, path in self.paths.items()
            }

    def write_recipe(self, hidden: dict[str, Path], recipe: Recipe, partition: Partition) -> None:
        """Write the recipe, if requested, with a comment on what its method chose."""
        if self.recipe is not None:
            chosen = f"{partition.note}." if partition.note else ""
            hidden["recipe"].write_text(recipe.to_toml(self.recipe.parent, chosen), encoding="utf-8")

    def write_report(self, hidden: dict[str, Path], run: Run) -> None:
        """Write the report."""
        hidden["report"].write_text(rendered(run, self.edition), encoding="utf-8")

    def write_proof(self, hidden: dict[str, Path], run: Run, proof: Proof) -> None:
        """Write the evidence and the receipt, as requested; with both, the evidence commits to the input."""
        receipt = None if self.receipt is None else proof.receipt()
        if receipt is not None:
            hidden["receipt"].write_text(receipt.render(), encoding="utf-8")
        if self.evidence is not None:
            made = evidence_of(run, proof, None if receipt is None else receipt.commitment)
            hidden["evidence"].write_text(made.render(), encoding="utf-8")


NOTHING = SideFiles()


def rendered(run: Run, edition: str) -> str:
    """Render the report of a run."""
    from shoal.parameters import build
    from shoal.report.html import Html

    return build(Html, {"edition": edition}).render(run)


def read_receipt(path: Path, recipe: Recipe) -> Receipt:
    """Read the receipt of a run that a recipe repeats."""
    if recipe.pseudonym is not None:
        raise ParameterError(
            "Recipe: a run with subject_out = pseudonym cannot be repeated by its receipt, because pseudonyms are "
            "different in every run. Leave out repeat, or leave out subject_out."
        )
    receipt = Receipt.read(path)
    _refuse_nothing_to_repeat(receipt, recipe)
    return receipt


def refuse_other_input(receipt: Receipt, source: Digest) -> None:
    """Refuse to repeat a run on an input that its receipt does not match."""
    if not receipt.commitment.opens(source):
        raise DataError(
            "Repeat: the receipt must be of this input, but its commitment does not match the input. Give the input of "
            "that run as it was, or leave out --repeat."
        )


def _refuse_nothing_to_repeat(receipt: Receipt, recipe: Recipe) -> None:
    """Refuse a receipt that lacks what the recipe draws at random."""
    if recipe.set.get("not_private_seed") is not None:
        raise ParameterError(
            "Repeat: not_private_seed and the receipt cannot both be given, because each determines the random "
            "draws. Leave out one of them."
        )
    if deals_by_key(recipe) and receipt.swap_key is None:
        raise DataError(
            f"Repeat: the receipt must hold the key of a swap for release = {recipe.release}; it holds no key. Give "
            "the receipt of a run with this release."
        )
    if chooses_by_key(recipe) and receipt.choice_key is None:
        raise DataError(
            f"Repeat: the receipt must hold the key of a choice for choices = {recipe.set['choices']}; it holds no "
            "key. Give the receipt of a run with choices."
        )
    if not deals_by_key(recipe) and not chooses_by_key(recipe) and receipt.rows is None:
        raise ParameterError(
            f"Repeat: the receipt holds no order of rows, and release = {recipe.release} draws nothing by a key: there "
            f"is nothing to repeat. Leave out --repeat."
        )


def read_file(place: Place, recipe: Recipe, *, textual: bool) -> Table:
    """Read the table to protect, recoded, for a text or other output; as declared if the claim needs that.

    In that case a text output follows the recipe, whatever the input looks like.
    """
    from shoal.io.sources.csv import Csv

    if not covers_originals(recipe):
        return recoded(read_table(place, recipe, textual=textual), recipe)
    refuse_noise(recipe, registry.load("partition", recipe.method))
    settings = recipe.text if is_textual(place) or not textual else {}
    data, dialect = open_source(place, settings).read(place.at, names=recipe.quasi)
    table = declared_table(data, recipe, dialect)
    return replace(table, dialect=build(Csv, recipe.text).dialect()) if textual else table


def read_frame(frame: Any, recipe: Recipe) -> tuple[Table, pa.Table]:
    """Return a frame as a recoded table (as declared, if the claim needs that), and its columns in Arrow."""
    import narwhals as nw

    from shoal.io.sources.frame import Frame

    if not covers_originals(recipe):
        data, unread = Frame().read(frame)
        return recoded(Table(data, schema_for(data, recipe, None, unread)), recipe), data
    refuse_noise(recipe, registry.load("partition", recipe.method))
    data, unread = Frame().read(frame)
    native: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    return declared_table(data, recipe, None, {name: native[name].to_list() for name in unread}), data
