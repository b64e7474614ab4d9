"""Verification of a protected table against its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.api._given import is_place
from shoal.api._stores import reads
from shoal.flow.verify import recheck as flow
from shoal.locations import path, path_or_none, place
from shoal.types import Verification


@reads("output", "input")
def verify(
    evidence: str | Path,
    output: Any,
    input: Any = None,
    *,
    receipt: str | Path | None = None,
    require: Mapping[str, Any] | None = None,
    strict: bool = False,
    memory: str | int | None = None,
) -> Verification:
    """Check a protected table against its evidence: audit it from scratch, and compare.

    Parameters
    ----------
    evidence
        The JSON file that :func:`shoal.protect` wrote with ``evidence=``, or ``Protected.evidence``.
    output
        The protected file or folder, the URL of a table, or a frame. Where two tables were released: the first file,
        or both frames.
    input
        The table that was protected, if you have it: a file, a URL or a frame. Needs the receipt.
    receipt
        The JSON file that :func:`shoal.protect` wrote with ``receipt=``: it opens the commitment to the input.
    require
        Levels that must be promised over all quasi-identifiers together and confirmed, as in a recipe: ``{"k": 5}``.
    strict
        Whether everything about the protection of the output must be verified for ``holds`` to be true.
    memory
        Memory to use at most, such as ``"2GB"``; an output that needs more is audited in parts on disk.

    Returns
    -------
    Verification
        ``holds`` (whether everything that can be checked does), ``promise`` (a sentence), ``k`` (promised over all
        quasi-identifiers together, or None), ``checks`` (claim, verdict, why), ``unverified``, ``to_dict()``.

    Raises
    ------
    DataError
        If evidence, output, input or receipt cannot be read. Claims that are not true raise nothing.
    ParameterError
        If there is an input and no receipt, or if a requirement names an unknown model or an impossible level.
    """
    released, original = (place(one) if is_place(one) else one for one in (output, input))
    return flow.verify(
        path(evidence), released, original, path_or_none(receipt), require=require, strict=strict, memory=memory
    )
