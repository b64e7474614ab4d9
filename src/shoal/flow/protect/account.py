"""A run → an account of it, for reports and evidence."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import TYPE_CHECKING

from shoal.errors import EngineError
from shoal.flow.classes.canonical_order import in_order_of_values
from shoal.flow.stages.measure import measures, of_partition, read_measures
from shoal.types import Account, Comparison, Readings

if TYPE_CHECKING:
    from shoal.flow.protect.protect import Protected


_DEPENDS = ("shoal", "numpy", "pyarrow", "numba")


def account_of(done: Protected, source: str = "", target: str = "", *, quick: bool = False) -> Account:
    """Return all that is known of a run; every measure is read for it, those that take time, too, unless `quick`."""
    import numpy as np

    comparison = done.comparison
    if comparison is None or comparison.classes is None:
        raise EngineError("Report: what was protected is not known any more, so nothing can be written of it.")
    sizes = np.bincount(comparison.classes)
    if not quick:
        comparison = in_order_of_values(comparison)
    return Account(
        recipe=done.recipe.to_dict(),
        toml=done.recipe.to_toml(complete=True),
        fingerprint=done.recipe.fingerprint,
        schema=done.schema,
        audit=done.audit,
        readings=done.readings if quick else _all_readings(comparison),
        sizes=sizes,
        note=done.partition.note,
        left_out=done.left_out,
        comparison=comparison,
        certificate=done.certificate,
        ledger=done.ledger,
        versions=versions(),
        blocks=len(done.partition.blocks),
        source=source,
        target=target,
        notes=done.notes,
    )


def _all_readings(comparison: Comparison) -> Readings:
    return Readings((*read_measures(comparison, measures()).readings, *of_partition(comparison)))


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
