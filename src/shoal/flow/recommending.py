"""Settings → the frontier, and the one to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from shoal.flow.floor import unmet
from shoal.types import Setting

_Value = Callable[[Setting], tuple[float, float]]


def on_frontier(settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """Mark the settings that no other one beats: none has less of loss or risk and no more of the other.

    Only settings that ran, keep their promise, meet the recipe's demands, and have both are compared.

    **Complexity.** O(s²) for s settings, of which there are dozens.
    """
    compared = [setting for setting in settings if setting.comparable]
    return tuple(
        replace(one, frontier=one.comparable and not any(_beats(other, one) for other in compared)) for one in settings
    )


def _beats(one: Setting, other: Setting) -> bool:
    return one.loss <= other.loss and one.risk <= other.risk and (one.loss < other.loss or one.risk < other.risk)


def recommended(
    settings: Sequence[Setting],
    max_loss: float | None = None,
    max_risk: float | None = None,
    demanded: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Setting | None, str, str]:
    """Choose the setting to take, by a rule that can be said in a sentence.

    Parameters
    ----------
    settings
        With the frontier marked.
    max_loss, max_risk
        What the loss and the risk may be at most. With one of them the other is the least; with both or none, their
        mean is.
    demanded
        The levels that the recipe demands, to say why nothing is recommended.

    Returns
    -------
    tuple
        The setting, or None if none keeps the limits; why; and the rule. Of equals the one with the lower k, then the
        one that stands first.
    """
    front = [setting for setting in settings if setting.frontier]
    kept = [s for s in front if _within(s.loss, max_loss) and _within(s.risk, max_risk)]
    limits = _limits(max_loss, max_risk)
    what, value = _goal(max_loss, max_risk)
    rule = f"of the settings that no other beats in loss and risk{limits}, the one with the least {what}"
    if not kept:
        weak = not front and any(setting.state == "ran" and not setting.meets for setting in settings)
        return None, unmet(demanded) if weak else _none_kept(front, limits), rule
    best = min(kept, key=lambda s: (value(s), s.asked[0]))
    among = f"of the {len(kept):,} settings" if len(kept) > 1 else "it is the only setting"
    those = f" that no other beats in both{limits}"
    why = f"{among}{those}, it has the least {what}" if len(kept) > 1 else f"{among}{those}"
    return best, f"{best.name}: it loses {best.loss:.2f} % and risks {best.risk:.2f} %; {why}.", rule


def _within(value: float, most: float | None) -> bool:
    return most is None or value <= most


def _limits(max_loss: float | None, max_risk: float | None) -> str:
    parts = [
        f"a {what} of at most {most:g} %" for what, most in (("loss", max_loss), ("risk", max_risk)) if most is not None
    ]
    return f" and that have {' and '.join(parts)}" if parts else ""


def _goal(max_loss: float | None, max_risk: float | None) -> tuple[str, _Value]:
    if max_loss is None and max_risk is not None:
        return "loss", lambda s: (s.loss, s.risk)
    if max_risk is None and max_loss is not None:
        return "risk", lambda s: (s.risk, s.loss)
    return "mean of loss and risk", lambda s: ((s.loss + s.risk) / 2, 0.0)


def _none_kept(front: Sequence[Setting], limits: str) -> str:
    if not front:
        return "No setting that ran promises k over all quasi-identifiers and has a loss and a risk."
    loss, risk = min(front, key=lambda s: s.loss), min(front, key=lambda s: s.risk)
    return (
        f"There are no settings{limits.replace(' and', '', 1)}. The least loss is {loss.loss:.2f} % ({loss.name}), the "
        f"least risk {risk.risk:.2f} % ({risk.name}). Raise a limit, or try other k."
    )
