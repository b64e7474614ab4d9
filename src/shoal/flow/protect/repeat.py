"""Repeating a run by its receipt: the same swap key and the same order of rows for the same input."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import DataError, ParameterError
from shoal.flow.evidence.digests import Digest
from shoal.flow.evidence.receipt import Receipt
from shoal.flow.plan.release_traits import deals_by_key
from shoal.recipe.recipe import Recipe


def read_receipt(path: Path, recipe: Recipe) -> Receipt:
    """Read the receipt of a run that is to be repeated by a recipe."""
    receipt = Receipt.read(path)
    _refuse_nothing_to_repeat(receipt, recipe)
    return receipt


def refuse_other_input(receipt: Receipt, source: Digest) -> None:
    """Refuse to repeat a run on another input than that of its receipt."""
    if not receipt.commitment.opens(source):
        raise DataError(
            "Repeat: the receipt must be of this input, but its commitment does not match the input. Give the input of "
            "that run as it was, or leave out --repeat."
        )


def _refuse_nothing_to_repeat(receipt: Receipt, recipe: Recipe) -> None:
    """Refuse a receipt that cannot say what a recipe draws at random."""
    if recipe.set.get("not_private_seed") is not None:
        raise ParameterError(
            "Repeat: not_private_seed must be left out, for it and the receipt would both say what is drawn. Leave out "
            "one of them."
        )
    if deals_by_key(recipe) and receipt.swap_key is None:
        raise DataError(
            f"Repeat: the receipt must hold the key of a swap for release = {recipe.release}, it holds none. Give the "
            f"receipt of a run with this release."
        )
    if not deals_by_key(recipe) and receipt.rows is None:
        raise ParameterError(
            f"Repeat: the receipt holds no order of rows, and release = {recipe.release} draws nothing by a key: there "
            f"is nothing to repeat. Leave out --repeat."
        )
