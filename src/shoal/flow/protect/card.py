"""Card of a protected table: the audit's verdict, the loss, and the fate of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.display.card import Card
from shoal.display.words import counted, figure, short
from shoal.flow.plan.release_traits import covers_originals
from shoal.types.cards import findings_grid, readings_grid, requirements_in_words, schema_grid, verdict_of
from shoal.types.disclosure import sentences_of

if TYPE_CHECKING:
    from shoal.flow.protect.protected import Protected

_LOSS = "il_sse"


def protected_card(done: Protected) -> Card:
    """Return the card of a result; losses are those that ``shoal protect`` prints."""
    audit, k = done.audit, done.audit.overall.achieved
    size = f"{counted(audit.records, 'record')} in {counted(audit.overall.classes, 'class', 'classes')}"
    losses = () if covers_originals(done.recipe) else done.printed.readings  # else ε would not cover them
    loss = [figure(one.value, one.unit) for one in losses if one.name == _LOSS]
    lost = f" {loss[0]} of the variation is lost." if loss else ""
    asked = tuple(one for one in audit.findings if one.required is not None or not one.promised)
    left = (f"{counted(done.left_out, 'record')} without a quasi-identifier excluded.",) if done.left_out else ()
    return Card(
        "Protected",
        f"{size}; k = {k:,g}. {requirements_in_words(audit)}{lost}".rstrip(),
        *verdict_of(audit),
        facts=(
            ("records", f"{audit.records:,}"),
            ("classes", f"{audit.overall.classes:,}"),
            ("k", f"{k:,g}"),
            *((("loss", loss[0]),) if loss else ()),
        ),
        grids=(findings_grid(asked), readings_grid(losses), schema_grid(done.schema)),
        notes=(*(() if audit.attacker is None else (audit.attacker.sentence,)), *done.notes, *left),
        warnings=audit.warnings,
        learns=sentences_of(audit, spell=short),
    )
