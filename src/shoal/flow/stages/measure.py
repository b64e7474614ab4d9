"""Measures of a table before and after → Readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal import registry
from shoal.errors import ParameterError, raise_all
from shoal.parameters import build, declarations, unknown
from shoal.types import (
    Attacked,
    Attribute,
    CombinedMeasure,
    Comparison,
    ControlledMeasure,
    Measure,
    Pair,
    Reading,
    Readings,
    Schema,
)

if TYPE_CHECKING:
    from shoal.points.before_and_after import Compared

AnyMeasure = Measure | CombinedMeasure
RECODING = "_recoding"  #: end of the names of readings of recoding alone
_OF_PARTITION = ("il_sse", "sse")  # readings that are also taken for exact means


def compared(
    attributes: Sequence[Attribute],
    schema: Schema,
    before: pa.Table,
    after: pa.Table,
    extra: Sequence[str] = (),
    scaled: Compared | None = None,
) -> Comparison:
    """Put a table before and after on the same scale, row by row.

    Parameters
    ----------
    attributes
        The columns to compare, from the original.
    schema
        The meaning of the columns.
    before, after
        The columns as parsed values.
    extra
        Further columns that a measure needs, present in both tables.
    scaled
        The same attributes before and after, if more is known of them, such as exact means.
    """
    from shoal.points.before_and_after import Compared, compare
    from shoal.points.codes import classes_in, in_own_terms

    with np.errstate(all="ignore"):  # the square of an extreme masked value may overflow
        found = compare(scaled or Compared(attributes, [after.column(a.name) for a in attributes]))
    terms = {
        name: in_own_terms(schema[name].kind, before.column(name), after.column(name))
        for name in dict.fromkeys((*found.attributes, *extra))
    }
    return replace(
        found,
        numbers={name: pair for name, pair in terms.items() if isinstance(pair, Pair)},
        categories={name: codes for name, codes in terms.items() if not isinstance(codes, Pair)},
        classes=classes_in([after.column(name) for name in found.attributes]),
    )


def measures(
    settings: Mapping[str, Any] | None = None, *, quick: bool = False, only: Sequence[str] = ()
) -> list[AnyMeasure]:
    """Make the measures, each with the settings that it declares.

    Parameters
    ----------
    settings
        Parameters by name; one that no measure declares is an error.
    quick
        Only the fast ones.
    only
        Only these, by key or JSON name, and their components. Empty: all.
    """
    given = settings or {}
    makers = {maker.name(): maker for maker in _makers()}
    known = {declared.name for maker in makers.values() for declared in declarations(maker)}
    raise_all(
        ParameterError, [unknown("Compare", "parameter (in set)", name, known) for name in given if name not in known]
    )
    wanted = _with_their_parts(only, makers)
    return [
        build(maker, {d.name: given[d.name] for d in declarations(maker) if d.name in given})
        for name, maker in makers.items()
        if (not quick or maker.quick) and (not only or name in wanted)
    ]


def _makers() -> list[type[AnyMeasure]]:
    return [registry.load(room, key) for room in registry.ROOMS["measures"] for key in registry.keys(room)]


def _with_their_parts(only: Sequence[str], makers: Mapping[str, type[AnyMeasure]]) -> set[str]:
    """Return the names of some measures and of their components."""
    known = {**{name: name for name in makers}, **{maker.key: name for name, maker in makers.items()}}
    raise_all(ParameterError, [unknown("Compare", "measure", name, known) for name in only if name not in known])
    wanted, left = set(), [known[name] for name in only]
    while left:
        name = left.pop()
        wanted.add(name)
        left += [part for part in makers[name].of if part not in wanted]
    return wanted


def read_measures(comparison: Comparison, chosen: Sequence[AnyMeasure]) -> Readings:
    """Compute measures of a comparison: first those of the data, then those combined from others."""
    found: dict[int, Reading] = {}
    with np.errstate(all="ignore"):
        for at, measure in enumerate(chosen):
            if not isinstance(measure, CombinedMeasure):
                found[at] = measure.measure(comparison)
    values = {reading.name: reading.value for reading in found.values()}
    for at, measure in enumerate(chosen):
        if isinstance(measure, CombinedMeasure):
            combined = measure.combine({name: values.get(name, np.nan) for name in measure.of})
            found[at] = replace(combined, attributes=comparison.attributes)
    return Readings(tuple(found[at] for at in range(len(chosen))))


def without_pairs(found: Readings, chosen: Sequence[AnyMeasure], why: str) -> Readings:
    """Return readings of a table whose rows are in an unknown order: only those for which the order does not matter."""
    kept = {one.name() for one in chosen if one.unpaired}
    return replace(
        found,
        readings=tuple(
            one if one.name in kept or np.isnan(one.value) else replace(one, value=np.nan, parts=(), note=why)
            for one in found.readings
        ),
    )


def of_sample(readings: Readings) -> Readings:
    """Return readings of a sample of the records, without those that would be wrong on a sample."""
    why = "a sample of classes shows neither the smallest class nor who is unique; shoal audit counts all records"
    return replace(
        readings,
        readings=tuple(
            replace(one, value=np.nan, parts=(), note=why) if _of_whole_table(one) else one for one in readings.readings
        ),
    )


def _of_whole_table(reading: Reading) -> bool:
    rooms = (room for room in registry.ROOMS["measures"] if reading.measure in registry.keys(room))
    return any(registry.load(room, reading.measure).whole_table for room in rooms)


NO_ROWS = "the rows do not correspond to the original's"  #: why most measures have no reading of synthetic data


def read_attacks(attacked: Attacked, chosen: Sequence[AnyMeasure]) -> Readings:
    """Compute the measures that need no rows that correspond; the others have no value and say why."""
    found = []
    with np.errstate(all="ignore"):
        for measure in chosen:
            if isinstance(measure, ControlledMeasure):
                found.append(measure.attack(attacked))
            else:
                found.append(measure.undefined(NO_ROWS))
    return Readings(tuple(found))


def with_attacks(found: Readings, attacks: Readings) -> Readings:
    """Return readings with those of attacks in place of the measures that were attacked."""
    by_name = {one.name: one for one in attacks.readings}
    return replace(found, readings=tuple(by_name.get(one.name, one) for one in found.readings))


def with_advice(found: Readings, chosen: Sequence[AnyMeasure]) -> Readings:
    """Return readings without a control, with a note on those that a control would tell more about."""
    said = {one.name(): one.without_control for one in chosen if isinstance(one, ControlledMeasure)}
    return replace(found, readings=tuple(_advised(one, said.get(one.name, "")) for one in found.readings))


def _advised(reading: Reading, advice: str) -> Reading:
    if not advice or np.isnan(reading.value):
        return reading
    return replace(reading, note=" ".join(filter(None, (reading.note, advice))))


def of_partition(comparison: Comparison) -> tuple[Reading, ...]:
    """Compute the loss of the partition, from exact means before rounding.

    Methods are compared by this figure; the loss of the release includes rounding as well.
    """
    if comparison.exact is None:
        return ()
    partition = replace(comparison, masked=comparison.exact, numbers={})  # those are of the release
    partition.cache.update({name: total for name, total in comparison.cache.items() if name == "sst"})
    return partition_readings(partition)


def partition_readings(partition: Comparison) -> tuple[Reading, ...]:
    """Read the loss of a comparison with exact means as that of the partition."""
    read = read_measures(partition, measures(only=_OF_PARTITION))
    return tuple(replace(read.reading(name), short=f"{name}_partition") for name in _OF_PARTITION)


def recoding_readings(recoded: Readings) -> tuple[Reading, ...]:
    """Return the loss of a table that was only recoded, as separate readings."""
    return tuple(replace(recoded.reading(name), short=f"{name}{RECODING}") for name in _OF_PARTITION)
