"""Staged output, read back and compared with the release: values and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal import registry
from shoal.errors import GuaranteeError, listing
from shoal.flow.stages.values import with_values
from shoal.privacy.counting.staged_file import foreign_metadata, foreign_properties, stray_categories
from shoal.types import Dialect, Release, Role, Schema
from shoal.types.released import carries_more, released


def read_back(staged: Any, release: Release, dialect: Dialect | None) -> Release:
    """Read the staged output, and check that only quasi-identifiers can have changed in writing."""
    source = registry.for_place("io.sources", staged)
    data, _ = (source() if dialect is None else source.of(dialect)).read(staged)
    if data.column_names != release.data.column_names or data.num_rows != release.data.num_rows:
        raise GuaranteeError("The staged output lacks rows or columns of the release. Nothing was written.")
    for name in data.column_names:
        if not _same(release.data.column(name), data.column(name)):
            raise GuaranteeError(f"Column {name!r} changed on its way to the disk. Nothing was written.")
    in_order = {
        name: _in_order(name, release.data.column(name), data.column(name))
        for name in release.schema.names(Role.CONFIDENTIAL)
        if _loses_order(release.data.column(name), data.column(name))
    }
    back = replace(release, data=data, dialect=dialect, read=in_order)
    return replace(back, read={**in_order, **_declared(release, back)})


def _declared(before: Release, after: Release) -> dict[str, pa.ChunkedArray]:
    """Set values that the input declares missing to missing in confidential columns, if the output cannot declare them.

    The method treated them as missing, so the audit must too.
    """
    from shoal.schema.roles import without_user_missing
    from shoal.types.statistical_files import Variable

    found = {}
    for name in before.schema.names(Role.CONFIDENTIAL):
        field = before.data.schema.field(name)
        noted = Variable.of(field)
        if noted is not None and noted.missing and Variable.of(after.data.schema.field(name)) is None:
            found[name] = without_user_missing(field, with_values(after, [name]).read[name])
    return found


def _loses_order(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    return pa.types.is_dictionary(before.type) and before.type.ordered and not pa.types.is_dictionary(after.type)


def _in_order(name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    """Restore ordered categories from text: a text file cannot store their order."""
    categories = before.unify_dictionaries().chunk(0).dictionary
    places = pc.index_in(after, value_set=categories.cast(after.type)).combine_chunks()
    if places.null_count != after.null_count:
        raise GuaranteeError(f"Column {name!r} changed on its way to the disk. Nothing was written.")
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, categories, ordered=True)])


def _same(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Tell whether a column came back unchanged; the audit checks values that became text."""
    if pa.types.is_dictionary(before.type):
        before = before.cast(before.type.value_type)
    if pa.types.is_dictionary(after.type):
        after = after.cast(after.type.value_type)
    if before.type != after.type:
        if pa.types.is_string(after.type) and not pa.types.is_large_string(before.type):
            return True
        there = before.cast(after.type, safe=False)
        if pa.types.is_floating(before.type) and not _equal(there.cast(before.type, safe=False), before):
            return False  # the values came back with fewer digits
        before = there
    return _equal(before, after)


def _equal(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(after.type):  # NaN differs from itself
        equal = pc.or_(pc.equal(before, after), pc.and_(pc.is_nan(before), pc.is_nan(after)))
        return before.null_count == after.null_count and pc.sum(equal).as_py() in (None, len(after) - after.null_count)
    return bool(before.equals(after))


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
    """Check the metadata and categories of a release, and report what happened to the input's metadata.

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
    stray = [name for data in tables for name in stray_categories(data, whole or {})]
    return judge_metadata(read, [data.schema for data in tables], stray, staged, keep=keep)


def judge_metadata(
    read: pa.Schema, written: Sequence[pa.Schema], stray: Sequence[str], staged: Sequence[Any], *, keep: bool
) -> tuple[str, ...]:
    """Refuse metadata and categories that may not be released, and report what happened to the input's metadata.

    Parameters
    ----------
    read, written
        The schema of the input, and those of the tables as they were read back.
    stray
        Columns that list categories that do not occur.
    staged
        The staged files or databases; empty: they are frames.
    keep
        Whether metadata was to be kept.

    Raises
    ------
    GuaranteeError
        As `check_metadata` does.
    """
    found = [place for schema in written for place in foreign_metadata(schema, frames=not staged)]
    found += [name for at in staged for name in _foreign_in(at)]
    if found and not keep:
        raise GuaranteeError(
            f"The staged output has metadata that may not be released, of {listing(found)}. Nothing was written."
        )
    if stray:
        named = listing([repr(name) for name in stray])
        raise GuaranteeError(f"The staged output lists categories that do not occur, in {named}. Nothing was written.")
    if keep:
        return (_KEPT,) if found else ()
    return (_DROPPED,) if carries_more(read) else ()


def _foreign_in(staged: Any) -> list[str]:
    """Return metadata in a staged file that should not be there."""
    source = registry.for_place("io.sources", staged)
    return foreign_properties(source().properties(staged))
