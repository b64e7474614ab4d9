"""Spark sessions: the user's own, or one that is started for a run; and errors of Spark as sentences."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoal.errors import EngineError, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTALL = "pip install 'shoal[spark]'"
_BATCH = "100000"  # rows that Spark hands to Python at a time
_DRIVER = "3g"
_NO_JAVA = "JAVA_GATEWAY_EXITED"


@contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """Yield the session of this process, or start one and stop it afterwards.

    Parameters
    ----------
    master
        Address of the cluster, such as ``local[4]``, ``spark://host:7077``, ``yarn``, or ``sc://host`` for Spark
        Connect. None: as Spark is configured, or else all cores of this machine.
    """
    from_user = _active()
    if from_user is not None:
        if master is not None:
            raise ParameterError("spark_master: must be left out where there is a Spark session. Leave it out.")
        yield from_user
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, message="PySpark does not yet")  # about pandas
        with spark_errors():
            made = _started(master)
        try:
            yield made
        finally:
            made.stop()


def check_installed() -> None:
    """Refuse to run without PySpark.

    Raises
    ------
    EngineError
        With the command that installs it.
    """
    try:
        import pyspark
    except ImportError:
        raise EngineError(f"engine = spark needs PySpark 4.0 or newer; it is not installed. Run: {_INSTALL}") from None
    if int(pyspark.__version__.partition(".")[0]) < 4:
        raise EngineError(f"engine = spark needs PySpark 4.0 or newer, got {pyspark.__version__}. Run: {_INSTALL}")


def _active() -> SparkSession | None:
    check_installed()
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _started(master: str | None) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers use the driver's interpreter
    builder = SparkSession.builder.appName("shoal").config("spark.sql.execution.arrow.maxRecordsPerBatch", _BATCH)
    if master is not None and master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR")
    if "spark.driver.memory" not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
        builder = builder.config("spark.driver.memory", os.environ.get("SPARK_DRIVER_MEMORY", _DRIVER))
    return (builder if master is None else builder.master(master)).getOrCreate()


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn errors of Spark inside the block into sentences, without the values that they may quote."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise _said(error.getCondition() or type(error).__name__) from None
    except Py4JError as error:
        raise _said(type(error).__name__) from None


def _said(what: str) -> EngineError:
    if what == _NO_JAVA:
        return EngineError(
            "Spark: it could not be started; it needs Java 17 or newer. Install Java, and set JAVA_HOME."
        )
    return EngineError(f"Spark: the job failed ({what}), and nothing was published. See the log of the driver for why.")
