"""Intake of tuples from a program: wanted fields, and fields released with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, SchemaError, listing
from shoal.stream.engine.bodies import UNFIT, Bodies, as_arrow
from shoal.stream.points._cells import listed
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.stream.wire.fields import TO_DECLARE, Fate, Fields, Leaf, leaves, undeclared

_MEMORY = "fields"


def fields_of(recipe: StreamRecipe, memory: Mapping[str, Any] | None = None) -> Fields:
    """Return the fields of a lane; `memory` is that of its cursor.

    >>> recipe = StreamRecipe(quasi=["a"], bounds={"a": (0, 1)}, k=2, delay=9)
    >>> fields_of(recipe).open, sorted(fields_of(recipe, {"fields": ["b"]}).learnt)
    (True, ['b'])
    """
    learns = recipe.keep is None and recipe.unknown != "keep"
    known = (memory or {}).get(_MEMORY)
    if known is not None and not (isinstance(known, list) and all(isinstance(name, str) for name in known)):
        raise DataError(
            "Stream: the cursor must remember the fields that are released as a list of names, got something else. "
            "Name them in keep."
        )
    return Fields(
        frozenset(recipe.quasi),
        frozenset(recipe.removed),
        frozenset(recipe.named),
        recipe.unknown,
        learns,
        frozenset(known or ()) if learns else frozenset(),
        known is not None,
    )


def remembered(fields: Fields) -> dict[str, Any]:
    """Return what a cursor must remember of the fields: nothing unless they were learnt."""
    return {_MEMORY: sorted(fields.learnt)} if fields.learns and fields.fixed else {}


_PLAIN = frozenset((str, int, float, bool, type(None)))
_SEVERAL = (Mapping, list, tuple, set, frozenset)


class _Plan(NamedTuple):
    """The treatment of tuples that have the same fields."""

    blank: dict[Any, None]  #: the released fields, in order
    along: tuple[Any, ...]  #: those among them that are released unchanged
    scalars: tuple[Any, ...]  #: those of `along` that must not hold an object or a list
    others: frozenset[Any]  #: those of `along` that the recipe does not name


class Rows(NamedTuple):
    """Tuples that are ready to be accepted."""

    columns: dict[str, list[Any]]  #: the wanted fields
    rest: list[dict[str, Any]]  #: the fields released with them; quasi-identifiers are blank
    fields: Fields  #: the fields released once the tuples are accepted
    plans: dict[Any, _Plan]


class Intake:
    """Splits tuples into fields, and learns from the first ones which fields are released.

    Nothing is learnt from tuples until they are accepted.
    """

    def __init__(self, recipe: StreamRecipe) -> None:
        self._recipe = recipe
        self.fields = fields_of(recipe)
        self._plans: dict[Any, _Plan] = {}  # by the names of a tuple's fields
        self._needed = (*recipe.wanted, *recipe.identifier)

    def accept(self, found: Rows) -> None:
        """Learn from accepted tuples."""
        self.fields, self._plans = found.fields, found.plans

    def settle(self) -> None:
        """Stop learning: a class is released."""
        if self.fields.open:
            self.fields, self._plans = self.fields.settled(), {}

    def rows(self, tuples: Sequence[Any], until: int) -> Rows:
        """Split tuples given as mappings; the first class may form when the one of index `until` − 1 arrives."""
        fields, plans = self.fields, self._plans
        learnt: set[Any] = set()
        rest: list[dict[str, Any]] = []
        cells: list[Any] = []
        open_, looks = fields.open, bool(fields.parents)
        for at, row in enumerate(tuples):
            if type(row) is not dict and not isinstance(row, Mapping):
                kind = type(row).__name__
                raise DataError(
                    f"StreamAnonymizer: a tuple must be a table of names and values, got a {kind}. Push a dict."
                )
            if open_ and at == until:
                fields, plans, open_ = fields.seen(learnt).settled(), {}, False
            if looks:
                own, body, others = self._nested(row, fields)
                cells.append(own)
            else:
                plan = plans.get(key := tuple(row))
                if plan is None:
                    plan = plans[key] = self._plan(row, fields, ())
                for name in plan.scalars:
                    if type(row[name]) not in _PLAIN and _is_several(row[name]):
                        plan = self._plan(row, fields, [n for n in plan.scalars if _is_several(row[n])])
                        break
                body, others = plan.blank.copy(), plan.others
                for name in plan.along:
                    body[name] = row[name]
            if open_:
                learnt |= others
            rest.append(body)
        taken = cells if looks else tuples
        columns = {name: [own[name] for own in taken] for name in self._recipe.wanted}
        return Rows(columns, rest, fields.seen(learnt) if open_ else fields, plans)

    def _plan(self, row: Mapping[Any, Any], fields: Fields, nested: Collection[Any]) -> _Plan:
        """Return the treatment of a tuple; `nested` are its fields that must not hold an object or a list but do."""
        self._check(row)
        fates = {name: _fate(fields, name, nested=name in nested) for name in row}
        blank = {name: None for name, fate in fates.items() if fate in (Fate.RELEASED, Fate.KEPT)}
        along = tuple(name for name, fate in fates.items() if fate is Fate.KEPT)
        scalars = tuple(name for name in along if fields.scalar(str(name)))
        return _Plan(blank, along, scalars, frozenset(name for name in along if name not in fields.declared))

    def _nested(self, row: Mapping[Any, Any], fields: Fields) -> tuple[Any, dict[str, Any], frozenset[str]]:
        """Split a tuple whose declared fields may be inside objects."""
        found = sorted(leaves(row, fields.parents), key=lambda leaf: len(leaf.path))
        first: dict[str, Leaf] = {}
        for leaf in found:
            first.setdefault(leaf.name, leaf)  # an exact name wins
        self._check(first)
        body, others = dict[str, Any](), set[str]()
        for leaf in leaves(row, fields.parents):
            inner, nested = len(leaf.path) > 1, _is_several(leaf.value)
            fate = _fate(fields, leaf.name, nested=nested, inner=inner)
            if fate is Fate.KEPT or (fate is Fate.RELEASED and first[leaf.name].path == leaf.path):
                into = body
                for part in leaf.path[:-1]:
                    into = into.setdefault(part, {})
                into[leaf.path[-1]] = None if fate is Fate.RELEASED else leaf.value
            if fate is Fate.KEPT and not inner and leaf.name not in fields.declared:
                others.add(leaf.name)
        return {name: leaf.value for name, leaf in first.items()}, body, frozenset(others)

    def looks_into(self, columns: Mapping[str, Any]) -> bool:
        """Tell whether declared fields may be inside objects of columns, which are then split row by row."""
        return any(name in columns for name in self.fields.parents)

    def columns(self, columns: Mapping[str, Any], first: int) -> tuple[dict[str, Any], Bodies, Fields]:
        """Split columns; `first` is the number of the first tuple. Also return the fields released on acceptance."""
        recipe, fields = self._recipe, self.fields
        self._check(columns)
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1:
            raise DataError("StreamAnonymizer: columns must have the same number of tuples, but do not. Correct them.")
        others = [name for name in columns if name not in recipe.quasi and name not in recipe.removed]
        try:
            rest = {name: as_arrow(columns[name]) for name in others}
            fates = {name: _fate(fields, name, nested=pa.types.is_nested(rest[name].type)) for name in others}
            table = pa.table({name: rest[name] for name in others if fates[name] is Fate.KEPT})
        except UNFIT:  # its message may contain a cell
            raise SchemaError(
                "StreamAnonymizer: a column mixes types that no column can hold. Push tuples as dicts."
            ) from None
        names = tuple(name for name in columns if name in recipe.quasi or fates.get(name) is Fate.KEPT)
        who = columns[recipe.subject] if recipe.subject is not None else None
        who = np.array(who) if isinstance(who, np.ndarray) else None if who is None else list(listed(who))
        n = lengths.pop()
        bodies = Bodies(np.arange(first, first + n), names, table, who, np.zeros(n, np.bool_))
        learnt = [name for name in table.column_names if name not in fields.declared]
        return {name: columns[name] for name in recipe.wanted}, bodies, fields.seen(learnt)

    def _check(self, names: Collection[Any]) -> None:
        """Refuse a tuple that lacks a field, or already has the class field."""
        lacking = [name for name in self._needed if name not in names]
        if lacking:
            raise DataError(
                f"StreamAnonymizer: a tuple must have {listing(lacking)}, but one does not. Correct the "
                "tuple, or the name."
            )
        if self._recipe.class_field in names:
            raise DataError(
                f"StreamAnonymizer: a tuple must not have the field {self._recipe.class_field!r}, reserved for its "
                "class, but one does. Give class_field another name."
            )


def _fate(fields: Fields, name: Any, *, nested: bool, inner: bool = False) -> Fate:
    """Return the treatment of a field; an undeclared one may be refused."""
    fate = fields.fate(name, nested=nested, inner=inner)
    if fate is Fate.UNKNOWN and fields.unknown == "reject":
        raise DataError(f"StreamAnonymizer: a tuple has {undeclared(str(name), nested=nested)}. {TO_DECLARE}")
    return fate


def _is_several(value: Any) -> bool:
    return isinstance(value, _SEVERAL) or getattr(value, "ndim", 0) > 0
