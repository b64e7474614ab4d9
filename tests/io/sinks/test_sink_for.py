"""The end of a file's name chooses the sink."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal import registry
from shoal.errors import ParameterError


@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "txt", "TAB", "data", "parquet", "pq", "arrow", "feather", "ipc", "sav", "zsav", "dta"]
)
def test_every_sink_has_its_source(suffix: str) -> None:
    path = Path(f"people.{suffix}")
    assert registry.for_file("io.sinks", path).__name__ == registry.for_file("io.sources", path).__name__


@pytest.mark.parametrize("name", ["people.csv.gz", "people.xls", "people"])
def test_unknown_suffix_lists_the_known(name: str) -> None:
    with pytest.raises(ParameterError, match=r"\.csv.*\.parquet"):
        registry.for_file("io.sinks", Path(name))
