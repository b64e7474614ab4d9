"""Before and after → Readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import ParameterError, raise_all
from shoal.parameters import build, declarations, unknown
from shoal.types import Attribute, Comparison, Pair, Reading, Readings, Schema

if TYPE_CHECKING:
    import pyarrow as pa


_OF_PARTITION = ("il_sse", "sse")  # readings that are also taken of exact means


def compared(
    attributes: Sequence[Attribute],
    schema: Schema,
    before: pa.Table,
    after: pa.Table,
    besides: Sequence[str] = (),
    exact: Mapping[str, pa.ChunkedArray] | None = None,
) -> Comparison:
    """Put a table before and after on the same footing, row by row.

    Parameters
    ----------
    attributes
        The columns that are compared, as they were.
    schema
        What the columns mean.
    before, after
        The columns as values.
    besides
        Further columns that somebody asks about; they are in both tables.
    exact
        Released columns before they were rounded; None: nobody knows.
    """
    import numpy as np

    from shoal.points.compared import classes_in, in_own_terms
    from shoal.points.encoding import compare

    with np.errstate(all="ignore"):  # a masked value may lie so far off that its square is infinite
        found = compare(attributes, [after.column(a.name) for a in attributes], exact)
    terms = {
        name: in_own_terms(schema[name].kind, before.column(name), after.column(name))
        for name in dict.fromkeys((*found.attributes, *besides))
    }
    return replace(
        found,
        numbers={name: pair for name, pair in terms.items() if isinstance(pair, Pair)},
        categories={name: codes for name, codes in terms.items() if not isinstance(codes, Pair)},
        classes=classes_in([after.column(name) for name in found.attributes]),
    )


def measures(settings: Mapping[str, Any] | None = None, *, quick: bool = False, only: Sequence[str] = ()) -> list[Any]:
    """Make the measures, each with those of the settings that it declares.

    Parameters
    ----------
    settings
        Parameters by name; one that no measure has is an error.
    quick
        Only those that take no time.
    only
        Only these, by key or by their name in JSON, and what they are made of. Empty: all.
    """
    given = settings or {}
    makers = {_name(maker): maker for maker in _makers()}
    known = {declared.name for maker in makers.values() for declared in declarations(maker)}
    raise_all(
        ParameterError, [unknown("Compare", "parameter (in set)", name, known) for name in given if name not in known]
    )
    wanted = _with_their_parts(only, makers)
    return [
        build(maker, {d.name: given[d.name] for d in declarations(maker) if d.name in given})
        for name, maker in makers.items()
        if (not quick or getattr(maker, "quick", False)) and (not only or name in wanted)
    ]


def _makers() -> list[Any]:
    return [registry.load(room, key) for room in registry.ROOMS["measures"] for key in registry.keys(room)]


def _name(maker: Any) -> str:
    """Return the name of a measure in JSON."""
    return getattr(maker, "short", "") or str(maker.__module__.rpartition(".")[2])


def _with_their_parts(only: Sequence[str], makers: Mapping[str, Any]) -> set[str]:
    """Return the names of some measures, and of those that they are made of."""
    keys = {str(maker.__module__.rpartition(".")[2]): name for name, maker in makers.items()}
    known = {**{name: name for name in makers}, **keys}
    raise_all(ParameterError, [unknown("Compare", "measure", name, known) for name in only if name not in known])
    wanted, left = set(), [known[name] for name in only]
    while left:
        name = left.pop()
        wanted.add(name)
        left += [part for part in _made_of(makers[name]) if part not in wanted]
    return wanted


def read_measures(comparison: Comparison, chosen: Sequence[Any]) -> Readings:
    """Read measures of a comparison: first those that look at it, then those made of what others read."""
    import numpy as np

    found: dict[int, Reading] = {}
    with np.errstate(all="ignore"):
        for at, measure in enumerate(chosen):
            if not _made_of(measure):
                found[at] = measure.measure(comparison)
    values = {reading.name: reading.value for reading in found.values()}
    for at, measure in enumerate(chosen):
        if names := _made_of(measure):
            combined = measure.combine({name: values.get(name, np.nan) for name in names})
            found[at] = replace(combined, attributes=comparison.attributes)
    return Readings(tuple(found[at] for at in range(len(chosen))))


def of_partition(comparison: Comparison) -> tuple[Reading, ...]:
    """Read the loss of the partition: of exact means, before anything was rounded.

    It is what methods are compared by; the loss of what is released comes on top of it.
    """
    if comparison.exact is None:
        return ()
    partition = replace(comparison, masked=comparison.exact)
    partition.cache.update({name: total for name, total in comparison.cache.items() if name == "sst"})
    makers = {name: maker for maker in _makers() if (name := _name(maker)) in _OF_PARTITION}
    return tuple(replace(makers[name]().measure(partition), short=f"{name}_partition") for name in _OF_PARTITION)


def _made_of(measure: Any) -> tuple[str, ...]:
    """Return the names of the readings that a measure is made of; of most none."""
    return getattr(measure, "of", ())
