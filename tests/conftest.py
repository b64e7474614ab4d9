"""What all tests share: the reference data, and a way to run commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from shoal.cli import main

settings.register_profile(
    "shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("shoal")


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of the CASC and UCI data sets."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA does not name the folder of the reference data (CASC, UCI)")
    return Path(folder)


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process, as the console script does."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ran(int(stop.value.code or 0), out, err)

    return run
