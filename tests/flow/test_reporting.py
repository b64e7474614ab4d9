"""A report is written whole, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal.errors import ParameterError
from shoal.flow.reporting import rendered, write_report


@pytest.fixture(scope="module")
def account(account_of: Callable[..., Any]) -> Any:
    return account_of(pa.table({"age": [*range(20, 50)]}), quasi=["age"], k=3)


def test_it_is_written_once(account: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    write_report(account, path)
    assert path.read_text(encoding="utf-8") == rendered(account)
    with pytest.raises(ParameterError, match="force"):
        write_report(account, path, edition="external")
    assert path.read_text(encoding="utf-8") == rendered(account)
    write_report(account, path, edition="external", force=True)
    assert path.read_text(encoding="utf-8") == rendered(account, "external")


def test_an_unknown_edition_writes_nothing(account: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="edition"):
        write_report(account, tmp_path / "r.html", edition="public")
    assert not list(tmp_path.iterdir())
