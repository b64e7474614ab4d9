"""Audit any table, ours or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import ParameterError, raise_all
from shoal.flow.reading import listed, open_source
from shoal.parameters import build, declarations, unknown
from shoal.recipe import Recipe
from shoal.types import Audit, Kind, Release

if TYPE_CHECKING:
    import pyarrow as pa


def audit_frame(
    frame: Any,
    quasi: Sequence[str],
    confidential: Sequence[str],
    subject: str | None,
    require: Mapping[str, float],
) -> Audit:
    """Audit a frame as it is."""
    from shoal.sources.frame import Frame

    data, unread = Frame().read(frame)
    return _audit(data, unread, quasi, confidential, subject, require)


def audit_file(
    path: Path,
    quasi: Sequence[str],
    confidential: Sequence[str],
    subject: str | None,
    require: Mapping[str, float],
    text: Mapping[str, Any],
) -> Audit:
    """Audit a file as it is: cells of text are compared as they are written."""
    data, _ = open_source(path, text).read(path)
    return _audit(data, (), quasi, confidential, subject, require)


def _audit(
    data: pa.Table,
    unread: tuple[str, ...],
    quasi: Sequence[str],
    confidential: Sequence[str],
    subject: str | None,
    require: Mapping[str, float],
) -> Audit:
    from shoal.schema.roles import schema_of

    roles = Recipe(quasi=listed("quasi", quasi), confidential=listed("confidential", confidential), subject=subject)
    kinds = dict.fromkeys(roles.roles, Kind.NOMINAL)  # values are only told apart
    schema = schema_of(data, roles.roles, kinds, None, unread)
    release = Release(data, schema, None, data.column(subject) if subject else None)
    findings = tuple(model.audit(release, roles.quasi) for model in _models(require))
    overall = next(finding for finding in findings if finding.model == "k_anonymity")
    return Audit(data.num_rows, roles.quasi, roles.confidential, overall, findings)


def _models(require: Mapping[str, float]) -> list[Any]:
    """Make the models to audit: those required at their levels, and k-anonymity always."""
    found = {key: registry.load("privacy", key) for key in registry.keys("privacy")}
    names = {name: key for key, model in found.items() for name in (key, model.short)}
    raise_all(ParameterError, [unknown("Audit", "model", n, list(names)) for n in require if n not in names])
    levels: dict[str, float | None] = {}
    for name, level in require.items():
        if names[name] in levels:
            raise ParameterError(f"Audit: {names[name]} is required twice. Require it once.")
        levels[names[name]] = level
    levels.setdefault("k_anonymity", None)
    return [build(found[key], {declarations(found[key])[0].name: level}) for key, level in levels.items()]
