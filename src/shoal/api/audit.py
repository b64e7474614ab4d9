"""Audit of a frame or a file, protected by shoal or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api._given import is_place, refuse_with_frame, table_of
from shoal.api._stores import reads
from shoal.flow import audit as flow
from shoal.locations import place
from shoal.types import Audit


@reads("frame", "population")
def audit(
    frame: Any,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    subject: str | None = None,
    require: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    weight: str | None = None,
    *,
    subject_exact: bool = False,
    text: Mapping[str, Any] | None = None,
    memory: str | int | None = None,
    population: Any = None,
) -> Audit:
    """Audit a table as it is.

    Quasi-identifiers of a text file are compared as they are written. Confidential cells are read as values: 1 and 1.0
    are the same number.

    Parameters
    ----------
    frame
        A frame of pandas, polars or pyarrow, the path of a file, of a folder of Parquet or CSV files with equal
        columns, or the URL of a table.
    quasi, confidential, subject
        Columns of these roles.
    require
        Levels that must hold, by model: ``{"k": 5, "l_recursive": (2, 3), "e": {"pay": 900}}``. Other models are
        reported.
    kinds, taxonomies
        Of confidential columns, where the inferred kind is wrong, or values have groups; as in a recipe.
    weight
        A column of sampling weights: ``weighted_k`` reports the weight of the smallest class, next to k.
    subject_exact
        Count every spelling of a subject as another person; otherwise Ann and ANN, and 7 and 007, are one.
    text
        Format of a text file, with the names of ``[text]`` in a recipe.
    memory
        Memory to use at most, such as ``"2GB"``. Parquet and CSV files that need more are audited in parts on disk;
        without a ceiling, those that need more than is available.
    population
        The people that the table was drawn from, everyone in it included: a frame, or the path or URL of a table. How
        many of them belong to each combination of quasi-identifiers is reported as ``k_map`` and ``delta``.

    >>> import pyarrow as pa
    >>> audit(pa.table({"age": [40, 40, 50, None]}), quasi=["age"]).to_dict()["k"]
    1
    """
    text = table_of("audit", "text", text)
    asked = flow.Asked(
        quasi,
        confidential,
        subject,
        table_of("audit", "require", require),
        table_of("audit", "kinds", kinds),
        table_of("audit", "taxonomies", taxonomies),
        weight,
        subject_exact=subject_exact,
    )
    people = place(population) if is_place(population) else population
    if is_place(frame):
        return flow.audit_file(place(frame), asked, text, memory, people)
    refuse_with_frame("audit", "Only a text file has a text format.", text=text or None)
    refuse_with_frame("audit", "A frame is in memory already.", memory=memory)
    return flow.audit_frame(frame, asked, people)


def audit_file(
    path: str | Path,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    subject: str | None = None,
    require: Mapping[str, Any] | None = None,
    text: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    weight: str | None = None,
    *,
    subject_exact: bool = False,
) -> Audit:
    """Audit a file: the older name of :func:`audit` with a path."""
    about = (confidential, subject, require, kinds, taxonomies, weight)
    return audit(place(path), quasi, *about, subject_exact=subject_exact, text=text)
