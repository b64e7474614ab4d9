"""One run on a cluster of this machine, in a process of its own: ``python job.py MODE FOLDER``.

``cluster`` starts two executors and kills one of them while blocks are partitioned; ``connect`` uses Spark Connect.
Prints what it found as one line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
os.environ["PYSPARK_PYTHON"] = sys.executable
MODE, FOLDER = sys.argv[1], Path(sys.argv[2])
FIELDS: dict[str, Any] = {
    "quasi": ["a", "b", "job"],
    "confidential": ["pay"],
    "subject": "who",
    "k": 5,
    "effort": "fast",
}


def session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "4")
    if MODE == "connect":
        return builder.remote("local[2]").getOrCreate()
    builder = builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    return builder.config("spark.log.level", "ERROR").getOrCreate()


def executors() -> list[int]:
    """Return the processes of executors."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            said = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            parents = (entry / "environ").read_bytes() if b"CoarseGrainedExecutorBackend" in said else b""
        except OSError:
            continue
        if str(FOLDER).encode() in parents:
            found.append(int(entry.name))
    return found


def kill_one(done: threading.Event, killed: list[int]) -> None:
    """Kill an executor as soon as blocks are being written."""
    while not done.is_set():
        if any(FOLDER.glob("scratch/.scratch*/*/0/_temporary/0/_temporary/*")):
            for process in executors()[:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            return
        time.sleep(0.02)


def main() -> None:
    import shoal.spark

    spark, done, killed = session(), threading.Event(), list[int]()
    watch = threading.Thread(target=kill_one, args=(done, killed))
    if MODE == "cluster":
        watch.start()
    try:
        frame = spark.read.parquet(str(FOLDER / "in.parquet")).repartition(4)
        safe = str(FOLDER / "safe")
        found = shoal.spark.protect(frame, FIELDS, scratch=FOLDER / "scratch", output=safe)
    finally:
        done.set()
    audit = shoal.spark.audit(spark.read.parquet(safe), quasi=FIELDS["quasi"], confidential=["pay"])
    said = {
        "audit": found.audit.to_dict(),
        "again": audit.to_dict()["k"],
        "sse": found.readings["sse"],
        "killed": killed,
    }
    print(json.dumps(said), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
