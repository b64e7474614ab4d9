"""Attacks on a release: how many people an attacker is right about, compared with guessing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api._given import AnyRecipe, is_place, recipe_of, refuse_with_frame, table_of
from shoal.api._stores import reads
from shoal.errors import ParameterError
from shoal.flow import attack as flow
from shoal.flow.stages.read import listed
from shoal.locations import path, path_or_none, place
from shoal.types import Attempts


@reads("original", "released", "earlier")
def attack(
    original: Any,
    released: Any,
    recipe: AnyRecipe | None = None,
    *,
    earlier: Any = None,
    evidence: str | Path | None = None,
    receipt: str | Path | None = None,
    only: Sequence[str] = (),
    text: Mapping[str, Any] | None = None,
    memory: str | int | None = None,
    **fields: Any,
) -> Attempts:
    """Attack a release, and check every guess against the original.

    Parameters
    ----------
    original
        The table that was protected: a frame of pandas, polars or pyarrow, or the path or URL of a table; a path may be
        that of a folder of files with equal columns.
    released
        The released table in the same form; where two tables were released, a list of both.
    recipe
        The recipe of the run, in any form. It declares the roles of columns.
    earlier
        An earlier release of the same people.
    evidence
        The evidence of the run. Without a recipe it declares the roles.
    receipt
        The receipt of the run: matches rows that were shuffled or excluded.
    only
        Only these attacks; see ``shoal list attacks``. Default: all.
    text
        Format of text files, with the names of ``[text]`` in a recipe.
    memory
        Memory to use at most, such as ``"2GB"``. Parquet and CSV files that need more are read in batches, and a sample
        of whole classes is attacked; ``sample`` of the result states it.
    **fields
        Fields of a recipe by name, such as ``quasi=["age"]``; they override the recipe.

    Returns
    -------
    Attempts
        One for each attack; ``succeeded`` has those that beat guessing, and ``to_dict()`` all as plain values.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": list(range(20, 60)), "ill": ["flu", "none"] * 20})
    >>> found = attack(people, people, quasi=["age"], confidential=["ill"], k=5, only=["linkage"])
    >>> found["linkage"].learnt, found["linkage"].verdict
    (40, 'succeeded')
    """
    text = table_of("attack", "text", text)
    stated = None if evidence is None else flow.read_evidence(path(evidence))
    if recipe is None and stated is not None:
        recipe = {**flow.recipe_in(stated, Path(str(evidence)).name), **fields}
        fields = {}
    if recipe is None and "quasi" not in fields:
        raise ParameterError(
            "attack: recipe, evidence or quasi must be given, got none. Name the quasi-identifiers: --quasi A,B."
        )
    tables = [*released] if isinstance(released, (list, tuple)) else [released]
    if not 1 <= len(tables) <= 2:
        raise ParameterError(f"attack: released must be one table or two, got {len(tables)}. Give one release.")
    every = [original, *tables, *(() if earlier is None else (earlier,))]
    if not any(is_place(one) for one in every):
        refuse_with_frame("attack", "Only text files have a text format.", text=text or None)
        refuse_with_frame("attack", "Frames are in memory already.", memory=memory)
    read = [place(one) if is_place(one) else one for one in every]
    return flow.attack_release(
        flow.AttackRequest(
            read[0],
            read[1 : 1 + len(tables)],
            recipe_of(recipe, fields, attack),
            None if earlier is None else read[-1],
            stated,
            path_or_none(receipt),
            listed("only", only),
            text,
            memory,
        )
    )
