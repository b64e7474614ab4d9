"""A Spark session on this machine, started once for the tests that need one."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

collect_ignore = ["job.py"]  # a program of its own


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a session with two workers in the JVM of this process."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("warehouse")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.log.level", "ERROR").config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.sql.warehouse.dir", str(folder)).config("spark.driver.memory", "2g")
        builder = builder.config("spark.sql.shuffle.partitions", "4")
        found = builder.config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}").getOrCreate()
        yield found
        found.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder."""
    return tmp_path
