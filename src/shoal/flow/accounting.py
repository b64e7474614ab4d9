"""A run → an account of it, for reports and evidence."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import TYPE_CHECKING

from shoal.errors import EngineError
from shoal.flow.measuring import measures, read_measures
from shoal.types import Account

if TYPE_CHECKING:
    from shoal.flow.protect import Protected

_DEPENDS = ("shoal", "numpy", "pyarrow", "numba")


def account_of(done: Protected, source: str = "", target: str = "", *, quick: bool = False) -> Account:
    """Return all that is known of a run; every measure is read for it, those that take time, too, unless `quick`."""
    import numpy as np

    comparison = done.comparison
    if comparison is None or comparison.classes is None:
        raise EngineError("Report: what was protected is not known any more, so nothing can be written of it.")
    return Account(
        recipe=done.recipe.to_dict(),
        toml=done.recipe.to_toml(),
        fingerprint=done.recipe.fingerprint,
        schema=done.schema,
        audit=done.audit,
        readings=done.readings if quick else read_measures(comparison, measures()),
        sizes=np.bincount(comparison.classes),
        note=done.partition.note,
        left_out=done.left_out,
        comparison=comparison,
        certificate=done.certificate,
        ledger=done.ledger,
        versions=versions(),
        source=source,
        target=target,
        notes=done.notes,
    )


def versions() -> dict[str, str]:
    """Return the versions of what a run depends on.

    >>> sorted(versions())[0]
    'Python'
    """
    found = {"Python": python_version()}
    for name in _DEPENDS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from its source
            found[name] = "unknown"
    return found
