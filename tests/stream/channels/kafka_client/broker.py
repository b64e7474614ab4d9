"""A real Kafka broker: fetched from Maven Central once, one node without ZooKeeper, gone with whoever asked for it."""

from __future__ import annotations

import base64
import fcntl
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERSION = "3.9.1"
CACHE = Path(__file__).parents[4] / ".cache" / "kafka"
JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shoal</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{version}</version>
  </dependency></dependencies>
</project>
"""
SERVER = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{second}
listeners=PLAINTEXT://127.0.0.1:{first},CONTROLLER://127.0.0.1:{second},LOGIN://127.0.0.1:{third}
advertised.listeners=PLAINTEXT://127.0.0.1:{first},LOGIN://127.0.0.1:{third}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=\
  org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="hunter2";
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/data
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
log.cleaner.enable=false
"""
#: Starts the broker (what follows), and ends it when the process $1 is gone or the folder $2 has been taken away.
KEEPER = """
cd "$2"; owner=$1; folder=$2; shift 2
"$@" >"$folder/log" 2>&1 &
broker=$!; echo $broker >"$folder/pid"
while kill -0 $owner && [ -e "$folder/pid" ] && kill -0 $broker; do sleep 0.5; done 2>/dev/null
kill -9 $broker 2>/dev/null; rm -rf "$folder"
"""


class Missing(Exception):  # noqa: N818 - what is missing, not what went wrong
    """What the broker needs is not there."""


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Be the only process inside the block."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def jars() -> Path:
    """Return the folder of the broker's programs; fetch them if they are not there."""
    for program, name in (("java", "Java"), ("mvn", "Maven")):
        if shutil.which(program) is None:
            raise Missing(f"{name} is not installed: there is no {program}")
    folder = CACHE / VERSION
    with locked(CACHE / "lock"):
        if folder.exists():
            return folder
        work = CACHE / "fetching"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        (work / "pom.xml").write_text(POM.format(version=VERSION))
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
        options = (f"-DoutputDirectory={work}/jars", "-DincludeScope=runtime")
        done = subprocess.run(
            ["mvn", "-q", "-B", copy, *options], cwd=work, capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            raise Missing(f"Maven could not fetch Kafka {VERSION}: {done.stdout[-300:]}")
        (work / "jars").rename(folder)
        shutil.rmtree(work)
    return folder


def start(folder: Path, owner: int) -> str:
    """Start a broker in an empty folder and return its addresses; it ends when the process `owner` has ended.

    At the second address it asks for a login: ann, hunter2.
    """
    path = f"{jars()}/*"
    folder.mkdir(parents=True)
    with socket.socket() as one, socket.socket() as two, socket.socket() as three:
        for each in (one, two, three):
            each.bind(("127.0.0.1", 0))
        first, second, third = (each.getsockname()[1] for each in (one, two, three))
    settings = folder / "server.properties"
    settings.write_text(SERVER.format(first=first, second=second, third=third, folder=folder))
    name = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")  # a first "-" means an option
    form = [*JAVA, "-cp", path, "kafka.tools.StorageTool", "format", "-t", name, "-c", str(settings)]
    subprocess.run(form, check=True, capture_output=True)
    keep = ["sh", "-c", f"(sh -c '{KEEPER}' keeper \"$@\") </dev/null >/dev/null 2>&1 &", "start"]
    serve = [*JAVA, "-cp", path, "kafka.Kafka", str(settings)]
    subprocess.run([*keep, str(owner), str(folder), *serve], check=True, start_new_session=True)
    for _ in range(600):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", first)) == 0:
                return f"127.0.0.1:{first} 127.0.0.1:{third}"
        time.sleep(0.1)
    raise Missing(f"Kafka does not start: {(folder / 'log').read_text()[-300:]}")


def shared(folder: Path) -> str:
    """Return the addresses of the broker that all workers of one test run share; the first to ask starts it."""
    worker = "PYTEST_XDIST_WORKER" in os.environ
    with locked(folder / "kafka.lock"):
        known = folder / "kafka.address"
        if not known.exists():
            known.write_text(start(folder / "kafka", os.getppid() if worker else os.getpid()))
        return known.read_text()
