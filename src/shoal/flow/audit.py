"""Audit any table, ours or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import DataError, ParameterError, raise_all
from shoal.flow.confidential import with_values
from shoal.flow.reading import listed, open_source
from shoal.parameters import build, declarations, shown, unknown
from shoal.recipe import Recipe
from shoal.types import Audit, Dialect, Finding, Kind, Release

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Asked:
    """What an audit is about: roles of columns, what must hold, and what the columns do not say themselves."""

    quasi: Sequence[str]
    confidential: Sequence[str] = ()
    subject: str | None = None
    require: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def recipe(self) -> Recipe:
        """The same as a recipe, which checks names and kinds."""
        return Recipe(
            quasi=listed("quasi", self.quasi),
            confidential=listed("confidential", self.confidential),
            subject=self.subject,
            kinds=self.kinds,  # type: ignore[arg-type]
            taxonomies=self.taxonomies,
        )


def audit_frame(frame: Any, asked: Asked) -> Audit:
    """Audit a frame as it is."""
    from shoal.sources.frame import Frame

    data, unread = Frame().read(frame)
    return _audit(data, None, unread, asked)


def audit_file(path: Path, asked: Asked, text: Mapping[str, Any]) -> Audit:
    """Audit a file as it is: quasi-identifiers are compared as written, confidential cells are read."""
    data, dialect = open_source(path, text).read(path)
    return _audit(data, dialect, (), asked)


def _audit(data: pa.Table, dialect: Dialect | None, unread: tuple[str, ...], asked: Asked) -> Audit:
    from shoal.schema.roles import schema_of

    recipe = asked.recipe
    models = _models(asked.require, bool(recipe.confidential))
    placed = any(model.short == "n_t" for model in models)  # quasi-identifiers are places then
    told_apart = (name for name in recipe.roles if name not in recipe.confidential and not placed)
    kinds = {**dict.fromkeys(told_apart, Kind.NOMINAL), **recipe.kinds}
    schema = schema_of(data, recipe.roles, kinds, dialect, unread, recipe.taxonomies)
    release = Release(data, schema, dialect, data.column(asked.subject) if asked.subject else None)
    release = with_values(release, recipe.confidential)
    for name in recipe.quasi if placed else ():
        try:
            release = with_values(release, [name])
        except DataError:  # then it has no place, and the audit says so
            continue
    findings: list[Finding] = []
    for model in models:
        if getattr(model, "of_confidential", False):
            findings += model.audit(release, recipe.quasi, recipe.confidential)
        else:
            findings.append(model.audit(release, recipe.quasi))
    return Audit(data.num_rows, recipe.quasi, recipe.confidential, findings[0], tuple(findings))


def _models(require: Mapping[str, Any], confidential: bool) -> list[Any]:
    """Make the models to audit: those required at their levels; k-anonymity always, first; and t where it can be."""
    found = {key: registry.load("privacy", key) for key in registry.keys("privacy")}
    names = {name: key for key, model in found.items() for name in (key, model.short)}
    raise_all(ParameterError, [unknown("Audit", "model", n, list(names)) for n in require if n not in names])
    levels: dict[str, Any] = {"k_anonymity": None} | ({"t_closeness": None} if confidential else {})
    for name, level in require.items():
        if levels.get(names[name]) is not None:
            raise ParameterError(f"Audit: {names[name]} is required twice. Require it once.")
        if getattr(found[names[name]], "of_confidential", False) and not confidential:
            raise ParameterError(
                f"Audit: {names[name]} needs at least one confidential column, got none. Name what must not be learnt "
                f"(--confidential), or leave out {name}."
            )
        levels[names[name]] = level
    return [_model(found[key], key, level) for key, level in levels.items()]


def _model(cls: Any, key: str, level: Any) -> Any:
    """Make a model at its level: one number, or as many as it has parameters."""
    names = [declared.name for declared in declarations(cls)]
    values = list(level) if isinstance(level, (tuple, list)) else [level]
    if len(values) != len(names):
        example = ":".join({"n": "200"}.get(name, "0.1") for name in names)
        got = shown(level) if len(values) == 1 else f"{len(values)} numbers"
        raise ParameterError(
            f"Audit: {key} must be {':'.join(names)}, got {got}. Write for example {cls.short}={example}."
        )
    return build(cls, dict(zip(names, values, strict=True)))
