"""The page for users of other tools: what it recommends is run on the same page."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "coming_from.md"


def test_every_option_and_command_of_the_tables_is_run_below_them() -> None:
    text = PAGE.read_text(encoding="utf-8")
    run = "\n".join(re.findall(r"^```(?:console|python|toml)[^\n]*\n(.*?)^```$", text, re.M | re.S))
    ours = [row.split(" | ")[-1] for row in re.findall(r"^\| .* \|$", text.partition("## What shoal")[0], re.M)]
    spans = [span for cell in ours for span in re.findall(r"`([^`]+)`", cell)]
    typed = [span for span in spans if span.startswith(("--", "shoal "))]
    assert len(typed) > 20
    assert [span for span in typed if not all(part in run for part in _parts(span))] == []


def _parts(span: str) -> list[str]:
    """Return what must be run: a whole command, or each option with its value."""
    return [span] if span.startswith("shoal ") else re.findall(r"--\S+(?: [^-\s]\S*)?", span)
