"""Every example runs."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_runs(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert "holds: True" in capsys.readouterr().out


def test_there_is_one() -> None:
    assert EXAMPLES
    assert NOTEBOOKS


@pytest.fixture
def executed(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A notebook with the outputs of its cells; a cell that fails is an error."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    book = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    return book


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_notebook_runs(executed: Any) -> None:
    shown = [out["data"] for cell in executed.cells for out in cell.get("outputs", ()) if "data" in out]
    cards = [one for one in shown if "shoal-card" in one.get("text/html", "")]
    assert len(cards) >= 6  # inspect, explore, protect, compare, attack, verify
    assert any("badge good" in one["text/html"] for one in cards)
    assert sum("image/png" in one for one in shown) == 3
    errors = [out for cell in executed.cells for out in cell.get("outputs", ()) if out.get("name") == "stderr"]
    assert errors == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
