"""An S3 server of the tests' own, reached over HTTP, and a bucket in it for each test."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs, parquet

from shoal.io.sinks import _folder

_numbers = itertools.count()


class Bucket:
    """A bucket, as its owner sees it without shoal."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.files, _ = fs.FileSystem.from_uri(f"s3://{name}")

    def url(self, key: str = "") -> str:
        return f"s3://{self.name}/{key}"

    def names(self, folder: str) -> list[str]:
        found = self.files.get_file_info(fs.FileSelector(f"{self.name}/{folder}", allow_not_found=True))
        return sorted(one.base_name for one in found)

    def read(self, key: str) -> bytes:
        with self.files.open_input_stream(f"{self.name}/{key}", compression=None) as source:
            return bytes(source.read())

    def write(self, key: str, content: bytes) -> None:
        with self.files.open_output_stream(f"{self.name}/{key}", compression=None) as into:
            into.write(content)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The endpoint of an S3 server."""
    pytest.importorskip("moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        else:
            pytest.fail("the S3 server did not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        running.kill()
        running.wait()


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Credentials in the environment, and a folder of its own for scratch, which must be empty in the end."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("SHOAL_SCRATCH", str(scratch))
    return scratch


@pytest.fixture
def bucket(s3_server: str, account: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An empty bucket; afterwards no scratch is left."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    name = f"bucket-{os.getpid()}-{next(_numbers)}"
    urlopen(Request(f"{s3_server}/{name}", method="PUT")).close()
    yield Bucket(name)
    assert list(account.iterdir()) == []


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of 100 records; outputs have parts of 40."""
    monkeypatch.setattr(_folder, "PART_ROWS", 40)
    rng = np.random.default_rng(0)
    columns = [rng.integers(20, 80, 100), np.round(rng.normal(2000, 300, 100), 1), [f"n{i % 4}" for i in range(100)]]
    parquet.write_table(pa.table(columns, names=["age", "pay", "note"]), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


@pytest.fixture
def protect(run: Callable[..., Any], people: Path) -> Callable[..., Any]:
    """Protect the table, or another one, into a place."""

    def protect(output: object, *more: object, source: object = None, k: int = 4) -> Any:
        given = ("--quasi", "age,pay", "--k", k, "--effort", "fast", "--row-order", "keep")
        return run("protect", source or people, "-o", output, *given, *more)

    return protect
