"""Fixtures for exploring."""

from __future__ import annotations

import pytest


@pytest.fixture
def timeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of the search, so that only estimates decide."""
    monkeypatch.setattr("shoal.flow.explore.search.now", lambda: 0.0)
