"""Claims about noise: how attributes share ε, and columns that noise cannot protect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from shoal.errors import DataError, ParameterError, SchemaError, listing, raise_all
from shoal.release._noise_sampler import Grid, step_of
from shoal.types import Column, Domain, Kind, Partition, Role, Schema, Table

if TYPE_CHECKING:
    from shoal.release.laplace import Laplace


K = TypeVar("K")


def shares(release: Laplace, partition: Partition, limits: Mapping[str, Domain]) -> dict[str, float]:
    """Return the ε of each attribute; they add up to that of the release.

    With classes held fixed, blocks share ε by `split`, and the attributes of a block in proportion to their widths: the
    scale ΔD_j/(|C|·ε_j) is then ΔD/(|C|·ε) for all of them, which is [SD17] Algorithm 1. For original records, the
    attributes themselves share it by `split`; with even shares, each has noise by its own width. Categories take an
    even share. If the method weighed the noise of its blocks, its shares are used.
    """
    if isinstance(release.epsilon, Mapping):
        return {name: float(release.epsilon[name]) for block in partition.blocks for name in block.attributes}
    if release.claim == "original":
        (block,) = partition.blocks
        moved = zip(block.attributes, block.moves or (), strict=True)
        reach = {name: own * (limits[name].width if name in limits else 1.0) for name, own in moved}
        return _parted(float(release.epsilon), reach, even=release.split == "even")
    found: dict[str, float] = {}
    inside = [{name: limits[name].width for name in b.attributes if name in limits} for b in partition.blocks]
    widths = {number: sum(own.values()) for number, own in enumerate(inside)}
    said = {number: block.share for number, block in enumerate(partition.blocks) if block.share is not None}
    if len(said) == len(partition.blocks):  # the method weighed the noise with these
        of_blocks = _parted(float(release.epsilon), said, even=False)
    elif release.split == "least":
        raise ParameterError(
            "Laplace: split = least needs a method that takes the noise into account; this one does not. Choose "
            "another method, or split = even."
        )
    else:
        of_blocks = _parted(float(release.epsilon), widths, even=release.split == "even")
    for number, block in enumerate(partition.blocks):
        share = of_blocks[number] / len(block.attributes)  # categories, which have no width, take an even share
        found |= {name: share for name in block.attributes if name not in limits}
        found |= _parted(share * len(inside[number]), inside[number], even=False)
    return found


def _parted(epsilon: float, widths: Mapping[K, float], *, even: bool) -> dict[K, float]:
    """Divide ε evenly or in proportion to widths; evenly if there are no widths."""
    total = sum(widths.values())
    if even or total == 0.0:
        return {name: epsilon / len(widths) for name in widths}
    return {name: epsilon * (width / total) for name, width in widths.items()}  # [SD17] Expression (1)


_NUMERIC = (Kind.CONTINUOUS, Kind.INTEGER)


def refuse_table(release: Laplace, schema: Schema) -> None:
    """Refuse columns whose kinds or roles the claim does not cover, and missing bounds."""
    quasi = schema.names(Role.QUASI)
    numeric = [name for name in quasi if schema[name].kind in _NUMERIC]
    faults = [
        f"Column {name!r}: noise needs numbers, or categories with a taxonomy; this column is {schema[name].kind}. "
        "Give it a taxonomy or another role, or choose another release."
        for name in quasi
        if name not in numeric and not _in_taxonomy(schema[name])
    ]
    raise_all(SchemaError, faults)
    _refuse_bounds(release, numeric)
    _refuse_digits(release, schema, numeric)
    others = [name for name in quasi if name not in numeric]
    if others and release.split == "expression1":
        raise ParameterError(
            f"Laplace: split = expression1 is for numbers; {listing(others)} holds categories, which have no width. "
            "Use split = even, or give it another role."
        )
    if release.claim == "original" and release.split == "least":
        raise ParameterError(
            "Laplace: with claim = original split must be 'even' or 'expression1', got 'least'. Choose one of the two."
        )
    _refuse_roles(release, schema)


def _in_taxonomy(column: Column) -> bool:
    return column.kind is Kind.NOMINAL and column.taxonomy is not None


def _refuse_bounds(release: Laplace, numeric: list[str]) -> None:
    if isinstance(release.bounds, str):
        return
    if lacking := [name for name in numeric if name not in release.bounds]:
        raise ParameterError(
            f"Laplace: bounds must name every numeric quasi-identifier; {listing(lacking)} is missing. Give the ends "
            "of its domain as known without the data: bounds = {age = [0, 120]}."
        )
    if extra := [name for name in release.bounds if name not in numeric]:
        raise ParameterError(
            f"Laplace: bounds are for numbers; {listing(extra)} holds categories, whose domain is the taxonomy. "
            "Remove it."
        )


def _refuse_digits(release: Laplace, schema: Schema, numeric: list[str]) -> None:
    """Refuse resolutions that no noisy value can have."""
    faults = []
    for name, step in release.resolution.items():
        if name not in numeric:
            faults.append(f"Laplace: resolution is for numbers, {name!r} has categories. Remove it from resolution.")
        elif isinstance(step, str):
            faults.append(f"Laplace: the resolution of {name!r} must be a number, got {step!r}, which is for dates.")
        elif schema[name].kind is Kind.INTEGER and not float(step).is_integer():
            faults.append(
                f"Laplace: the resolution of {name!r} must be a whole number, got {step:g}: the column holds integers. "
                f"Change it, or declare the kind continuous."
            )
    raise_all(ParameterError, faults)
    if isinstance(release.bounds, str) or release.exact_means:
        return
    for name in numeric:
        if (step := step_of(schema[name].kind, release.resolution.get(name))) is not None:
            Grid.of(name, step, Domain(*release.bounds[name]), whole=schema[name].kind is Kind.INTEGER)


def _refuse_roles(release: Laplace, schema: Schema) -> None:
    for role in (Role.WEIGHT, Role.SUBJECT):
        if schema.names(role):
            raise ParameterError(
                f"Laplace: there must be no column of role {role}, got one: ε is for single records, all of the same "
                "weight. Leave it out, or make it an identifier, which is removed."
            )
    stays = [c.name for c in schema.columns if c.role.leaves and c.role is not Role.QUASI]
    if release.claim == "original" and stays:
        raise ParameterError(
            f"Laplace: with claim = original only columns with noise may be released, but {listing(stays)} would be "
            "released unchanged. Make them identifiers, which are removed, or quasi-identifiers."
        )


def refuse_missing(table: Table) -> None:
    """Refuse missing values, because ε would not cover whether a value is missing."""
    odd = [name for name in table.schema.names(Role.QUASI) if table.data.column(name).null_count]
    if odd:
        raise DataError(
            f"Laplace: columns with noise must have no missing values; {listing(odd)} has some. Exclude these "
            "records (when_missing), or fill them first."
        )


def refuse_unknown(release: Laplace, partition: Partition) -> None:
    """Refuse classes for which the effect of one record is unknown."""
    known = len(partition.blocks) == 1 and partition.blocks[0].moves is not None
    if release.claim == "original" and not known:
        raise ParameterError(
            "Laplace: with claim = original the classes must come from an order that does not depend on the data, "
            "but these depend on it. Use the method insensitive, with one block."
        )
