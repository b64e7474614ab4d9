"""The end of a file's name chooses the source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shoal.sources
from shoal.errors import ParameterError
from shoal.sources import source_for


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.csv", "Csv"),
        ("a.TSV", "Csv"),
        ("a.b.Data", "Csv"),
        ("a.csv.gz", "Csv"),
        ("a.parquet", "Parquet"),
        ("a.PQ", "Parquet"),
        ("a.arrow", "Arrow"),
        ("a.feather", "Arrow"),
    ],
)
def test_suffix_chooses(name: str, source: str) -> None:
    assert source_for(Path("folder.x", name)).__name__ == source


@pytest.mark.parametrize("name", ["people.xlsx", "people", "csv"])
def test_unknown_suffix_lists_the_known(name: str) -> None:
    with pytest.raises(ParameterError, match=r"\.csv.*\.parquet"):
        source_for(Path(name))


def test_a_new_format_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new_format.py").write_text("class NewFormat:\n    suffixes = ('.new',)\n")
    monkeypatch.setattr(shoal.sources, "__path__", [*shoal.sources.__path__, str(tmp_path)])
    try:
        assert source_for(Path("a.new")).__name__ == "NewFormat"
    finally:
        sys.modules.pop("shoal.sources.new_format", None)


def test_choosing_does_not_load_arrow() -> None:
    code = (
        "import sys; from pathlib import Path; from shoal.sources import source_for; "
        "from shoal.sinks import sink_for; source_for(Path('a.csv')); sink_for(Path('a.csv')); "
        "assert not {'pyarrow', 'pandas', 'polars', 'narwhals'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
