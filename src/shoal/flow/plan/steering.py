"""Steering of a recipe: which artificial attributes it asks for, and which methods they can steer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from shoal import registry
from shoal.errors import ParameterError
from shoal.parameters import build, shown, unknown

_HEAVIEST = 1e300  # so that no coordinate overflows


def steering_makers(tables: Sequence[Mapping[str, Any]], method: type) -> tuple[tuple[Any, float], ...]:
    """Return what makes each artificial attribute, and its weight; refuses methods that cannot be steered."""
    if tables:
        _steerable(method)
    return tuple(_maker(table) for table in tables)


def _maker(table: Mapping[str, Any]) -> tuple[Any, float]:
    """Return what makes an artificial attribute, and its weight."""
    by, weight = table.get("by"), table.get("weight", 1.0)
    if by not in registry.keys("steer"):
        raise ParameterError(unknown("steer", "steering (by)", by, registry.keys("steer")))
    if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 <= float(weight) <= _HEAVIEST:
        raise ParameterError(f"steer: weight must be a number ≥ 0 and ≤ {_HEAVIEST:g}, got {shown(weight)}.")
    rest = {name: value for name, value in table.items() if name not in ("by", "weight")}
    return build(registry.load("steer", str(by)), rest), float(weight)


def _steerable(method: type) -> None:
    """Refuse methods that artificial coordinates would not steer, or that have their own."""
    why = ""
    if not getattr(method, "promises_k", True):
        why = "for this method forms no classes of at least k records"
    elif getattr(method, "dimensions", None) is not None:
        why = f"for this method takes exactly {method.dimensions} coordinate"  # type: ignore[attr-defined]
    elif getattr(method, "steers", False):
        why = "for this method has an artificial attribute of its own, and scales all others"
    if why:
        raise ParameterError(f"{method.__name__}: steer must be left out, {why}. Take another method.")
