"""Requirements by name: ``{"k": 5, "l_entropy": 3, "e": {"pay": 900}}`` → privacy models at their levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Any

from shoal import registry
from shoal.errors import ParameterError, listing, raise_all
from shoal.parameters import build, declarations, shown, unknown
from shoal.types import ConfidentialModel, TableModel

#: Models that have their own recipe fields, and these fields.
FIELDS = {"k_anonymity": ("k",), "t_closeness": ("t",), "n_t_closeness": ("n", "t")}


@dataclass(frozen=True)
class Required:
    """A privacy model at its required level, and the columns it applies to."""

    key: str
    model: TableModel | ConfidentialModel
    columns: tuple[str, ...] | None = None  #: None: every confidential one

    @property
    def levels(self) -> tuple[tuple[str, float], ...]:
        """The model's parameters by name."""
        return tuple((declared.name, getattr(self.model, declared.name)) for declared in declarations(type(self.model)))

    @property
    def is_required(self) -> bool:
        """Whether a level is set; False: the model is audited for information."""
        return any(level is not None for _, level in self.levels)


@cache
def named() -> dict[str, str]:
    """Return the key of each model by its names: the key itself, and the short name."""
    own_last = sorted(registry.keys("privacy"), key=lambda key: key in registry.built_in("privacy"))  # so they prevail
    return {name: key for key in own_last for name in (key, registry.says("privacy", key, "short") or key)}


def of_confidential(key: str) -> bool:
    """Tell whether a model is about confidential columns."""
    return bool(registry.says("privacy", key, "of_confidential"))


def of_persons(key: str) -> bool:
    """Tell whether a model is about single people's shares of a class; it can be required of any table."""
    return bool(registry.says("privacy", key, "of_persons"))


def of_population(key: str) -> bool:
    """Tell whether a model counts records of a population file; it can be required where one is given."""
    return bool(registry.says("privacy", key, "of_population"))


def by_replay(key: str) -> bool:
    """Tell whether a model is audited by repeating the run; it can be required of any table that is protected."""
    return bool(registry.says("privacy", key, "by_replay"))


def model_of(key: str) -> type[TableModel | ConfidentialModel]:
    """Return the class of a privacy model."""
    found: type[TableModel | ConfidentialModel] = registry.load("privacy", key)
    return found


def resolve(owner: str, require: Mapping[str, Any]) -> list[Required]:
    """Make the required models, each at its level; refuse invalid requirements in a sentence.

    >>> [(r.key, r.levels, r.columns) for r in resolve("Audit", {"t": {"pay": 0.2}, "k": 5})]
    [('t_closeness', (('t', 0.2),), ('pay',)), ('k_anonymity', (('k', 5),), None)]
    """
    if not require:
        return []
    if not isinstance(require, Mapping):
        raise ParameterError(
            f"{owner}: require must be a table of models and levels, got {shown(require)}. Write for example "
            "require = { k = 5 }."
        )
    names = named()
    raise_all(ParameterError, [unknown(owner, "model", name, list(names)) for name in require if name not in names])
    found: list[Required] = []
    for name, level in require.items():
        key = names[name]
        if any(one.key == key for one in found):
            raise ParameterError(f"{owner}: {key} is required twice. Require it once.")
        if isinstance(level, Mapping):
            if not of_confidential(key):
                raise ParameterError(f"{owner}: {key} does not apply to single columns, got some. Give it one level.")
            if not level:
                raise ParameterError(f"{owner}: {key} is required of no column. Name a column, or give it one level.")
            found += [Required(key, _at(owner, key, own), (str(column),)) for column, own in level.items()]
        else:
            found.append(Required(key, _at(owner, key, level)))
    return found


def refuse_without_population(owner: str, required: Sequence[Required], *, given: bool) -> None:
    """Refuse requirements that count people of a population which was not given."""
    names = [one.key for one in required if of_population(one.key)]
    if names and not given:
        raise ParameterError(
            f"{owner}: {listing(names)} can only be required with a population, got none. Give the file of the "
            f"people that the table was drawn from (--population), or leave {'it' if len(names) == 1 else 'them'} out."
        )


def misplaced(owner: str, required: Sequence[Required], confidential: Sequence[str], how: str = "") -> list[str]:
    """Return the faults in requirements on columns that are not confidential; `how` says how to name them.

    Without an owner, sentences do not begin with one.
    """
    faults, head = [], f"{owner}: " if owner else ""
    for one in required:
        if of_confidential(one.key) and not confidential:
            faults.append(
                f"{head}{one.key} needs at least one confidential column, got none. Name the columns to keep "
                f"confidential{how}, or leave out {one.key}."
            )
        elif of_confidential(one.key):
            faults += [
                f"{head}{one.key} is required of {column!r}, which is not confidential. Add it to confidential."
                for column in one.columns or ()
                if column not in confidential
            ]
    return faults


def _at(owner: str, key: str, level: Any) -> TableModel | ConfidentialModel:
    """Make a model at its level: one number, or several; optional parameters follow."""
    cls = model_of(key)
    names = [declared.name for declared in declarations(cls)]
    numbers = sum(any(declared.accepts(number) for number in (0.5, 1, 10)) for declared in declarations(cls))
    values = list(level) if isinstance(level, (tuple, list)) else [level]
    if not numbers <= len(values) <= len(names) or not all(isinstance(value, Real) for value in values[:numbers]):
        names = names[:numbers]
        got = f"{len(values)} values" if len(values) > 1 else shown(values[0]) if values else "nothing"
        raise ParameterError(
            f"{owner}: {key} must be {':'.join(names)}, got {got}. Write for example {cls.short}={cls.example}."
        )
    return build(cls, dict(zip(names, values, strict=False)))


def into_fields(require: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split requirements into those with their own recipe fields, and the rest; return the rest and the fields.

    `given` holds the fields that were set. A setting stated twice at different levels is refused.

    >>> into_fields({"k": 5, "p": 2}, {"k": 5})
    ({'p': 2}, {'k': 5})
    """
    rest, fields, keys = dict(require), dict[str, Any](), set[str]()
    faults = []
    for name, level in require.items():
        key = named().get(name, "")
        if key not in FIELDS or isinstance(level, Mapping):
            continue
        values = list(level) if isinstance(level, (tuple, list)) else [level]
        if len(values) != len(FIELDS[key]):
            _at("Recipe", key, level)  # refuses an invalid level
        for field, value in zip(FIELDS[key], values, strict=True):
            if fields.get(field, value) != value:
                faults.append(
                    f"Recipe: {field} is required at {shown(fields[field])} and at {shown(value)}. Require it once."
                )
            elif given.get(field, value) != value:
                faults.append(
                    f"Recipe: {field} is set to {shown(given[field])} and required at {shown(value)}. Set it once: "
                    f"give the {field} that you want, and leave it out of require."
                )
            fields[field] = value
        keys.add(key)
        del rest[name]
    raise_all(ParameterError, faults)
    plain_t = "t_closeness" in keys or ("t" in given and "n" not in given)
    if plain_t and {**given, **fields}.get("n") is not None:
        raise ParameterError(
            "Recipe: t-closeness and (n,t)-closeness, which promises less, are both required. Set t and n, or "
            "require n_t alone."
        )
    return rest, fields


def overridden(base: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the requirements of a recipe file with those of the command line, which override it model by model.

    Requirements of single columns are merged column by column, so that none is lost.

    >>> overridden({"p": 3, "e": {"pay": 900}}, {"p_sensitivity": 2, "e": {"age": 5}})
    {'p_sensitivity': 2, 'e': {'pay': 900, 'age': 5}}
    """
    names = named()
    merged = dict(base)
    for name, level in options.items():
        same = next((other for other in base if names.get(other, other) == names.get(name, name)), name)
        before = merged.pop(same, level)
        if isinstance(before, Mapping) != isinstance(level, Mapping):
            raise ParameterError(
                f"--require: {name} is given for all columns in one place and for single columns in the other "
                "(recipe file and option). Write it the same way in both, or change the file."
            )
        merged[name] = {**before, **level} if isinstance(level, Mapping) else level
    return merged
