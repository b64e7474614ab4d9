"""Metadata of a release: rebuilt before it is written, and checked after it has been read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import GuaranteeError, listing
from shoal.privacy.counting.staged_file import foreign_metadata, foreign_properties, stray_categories
from shoal.types import Release, Role, Schema
from shoal.types.data.released import carries_more, released

if TYPE_CHECKING:
    import pyarrow as pa


_UNCHANGED = (Role.CONFIDENTIAL, Role.OTHER)
_DROPPED = (
    "Metadata of the input was dropped, such as labels and notes of the file. keep_metadata (--keep-metadata) keeps it."
)
_KEPT = (
    "Metadata of the input was kept as it is. It may list categories, columns and people that the table no longer "
    "holds: read it before you publish."
)


def unchanged_columns(schema: Schema) -> tuple[str, ...]:
    """Return the columns that a release never changes."""
    return schema.names(*_UNCHANGED)


def with_released_metadata(
    release: Release, *, keep: bool, whole: Mapping[str, Sequence[Any]] | None = None
) -> Release:
    """Return a release, of one table or two, with only the metadata that `released` allows."""
    data = released(release.data, unchanged_columns(release.schema), keep=keep, whole=whole)
    apart = release.apart and with_released_metadata(release.apart, keep=keep, whole=whole)
    return replace(release, data=data, apart=apart)


def hand_over(
    given: Any, made: Any, schema: Schema, *, keep: bool, whole: Mapping[str, Sequence[Any]] | None = None
) -> Any:
    """Make a frame from another without that one's metadata and categories."""
    from shoal.io.sinks.frame import Frame

    attrs = getattr(given, "attrs", {})
    return Frame().released(made, unchanged_columns(schema), attrs=attrs, keep=keep, whole=whole)


def check_metadata(
    read: pa.Schema,
    release: Release,
    staged: Sequence[Any] = (),
    *,
    keep: bool,
    whole: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[str, ...]:
    """Check the metadata and categories of a release, and report what became of the input's metadata.

    Parameters
    ----------
    read
        The schema of the input.
    release
        Its one or two tables as they were read back.
    staged
        Where they are staged, if in files or databases.
    keep
        Whether metadata was to be kept.
    whole
        Columns with a fixed list of categories, whether or not each occurs.

    Raises
    ------
    GuaranteeError
        If there is metadata that the audit's own list does not allow and that was not to be kept, or a category
        that no record has.
    """
    tables = [one.data for one in (release, release.apart) if one is not None]
    found = [place for data in tables for place in foreign_metadata(data.schema, frames=not staged)]
    found += [name for at in staged for name in _foreign_in(at)]
    if found and not keep:
        raise GuaranteeError(
            f"The staged output has metadata that may not be released, of {listing(found)}. Nothing was written."
        )
    if stray := [repr(name) for data in tables for name in stray_categories(data, whole or {})]:
        raise GuaranteeError(
            f"The staged output lists categories that do not occur, in {listing(stray)}. Nothing was written."
        )
    if keep:
        return (_KEPT,) if found else ()
    return (_DROPPED,) if carries_more(read) else ()


def _foreign_in(staged: Any) -> list[str]:
    """Return metadata in a staged file that should not be there."""
    source = registry.for_place("io.sources", staged)
    return foreign_properties(source().properties(staged))
