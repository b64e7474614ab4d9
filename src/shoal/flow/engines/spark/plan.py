"""What the Spark engine can do: refusals that follow from the recipe, with all reasons at once."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import ParameterError, raise_all
from shoal.flow.engines.blockwise.plan import Engine, refuse_in_blocks
from shoal.recipe.recipe import Recipe

SPARK = Engine("Spark engine", "protect the table in memory")


def refuse_on_spark(
    recipe: Recipe, *, certify: bool = False, repeat: Path | None = None, keep_metadata: bool = False
) -> None:
    """Refuse a recipe that asks for something that cannot be done, or not yet, on a cluster."""
    faults: list[str] = []
    try:
        refuse_in_blocks(recipe, SPARK, certify=certify, repeat=repeat)
    except ParameterError as error:
        faults += error.sentences or [str(error)]
    if recipe.row_order == "keep":
        faults.append("Spark engine: row_order must be auto or shuffle, got 'keep': rows have no order in Spark.")
    if recipe.attacker != "algorithm":
        faults.append(
            "Spark engine: attacker must be 'algorithm', got 'table': only their order distinguishes equal records, "
            "and rows have no order in Spark. Leave out attacker."
        )
    if keep_metadata:
        faults.append("Spark engine: metadata of columns is always dropped. Leave out --keep-metadata.")
    raise_all(ParameterError, list(dict.fromkeys(faults)))
