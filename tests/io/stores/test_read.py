"""Every command reads tables from an object store, as local copies that are removed."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shoal
from shoal.io.manifest import MANIFEST
from shoal.io.stores.names import marked_suffix
from shoal.locations import place


@pytest.mark.parametrize("key", ["in.parquet", "a folder/in.parquet", "x/ü@1.parquet"])
def test_a_file(key: str, bucket: Any, protect: Callable[..., Any], people: Path, tmp_path: Path) -> None:
    bucket.write(key, people.read_bytes())
    assert protect(tmp_path / "stored.csv", source=bucket.url(key)).code == 0
    assert protect(tmp_path / "local.csv").code == 0
    assert (tmp_path / "stored.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()


def test_every_command(bucket: Any, run: Callable[..., Any], protect: Callable[..., Any], people: Path) -> None:
    before, after = bucket.url("in.parquet"), bucket.url("safe/")
    bucket.write("in.parquet", people.read_bytes())
    assert protect(after, source=before).code == 0
    quasi = ("--quasi", "age,pay")
    for command in (
        ("inspect", before),
        ("compare", before, after, "--columns", "age,pay"),
        ("attack", before, after, *quasi, "--k", 4, "--only", "linkage"),
        ("audit", before, *quasi),
        ("protect", before, "-o", bucket.url("other/"), *quasi, "--dry-run"),
    ):
        ran = run(*command)
        assert ran.code == 0, (command, ran.err)
        assert ".scratch" not in ran.out


def test_in_python(bucket: Any, people: Path) -> None:
    bucket.write("in.parquet", people.read_bytes())
    done = shoal.protect(bucket.url("in.parquet"), quasi=["age"], k=4, effort="fast", output=str(people) + ".csv")
    assert done.data.num_rows == 100
    assert shoal.audit(bucket.url("in.parquet"), quasi=["age"]).records == 100


def test_a_folder_of_another_program(bucket: Any, run: Callable[..., Any], people: Path) -> None:
    for name in ("a.parquet", "b.parquet", "_SUCCESS"):
        bucket.write(f"foreign/{name}", people.read_bytes() if name != "_SUCCESS" else b"")
    ran = run("audit", bucket.url("foreign"), "--quasi", "age", "--json")
    assert (ran.code, json.loads(ran.out)["records"]) == (0, 200)
    bucket.write("foreign/year=2024/c.parquet", people.read_bytes())
    ran = run("audit", bucket.url("foreign"), "--quasi", "age")
    assert (ran.code, "must not hold other folders" in ran.err) == (3, True)


def _lost(bucket: Any, part: str) -> None:
    bucket.files.delete_file(f"{bucket.name}/safe/{part}")


def _added(bucket: Any, part: str) -> None:
    bucket.write("safe/extra.parquet", bucket.read(f"safe/{part}"))


def _flipped(bucket: Any, part: str) -> None:
    content = bucket.read(f"safe/{part}")
    bucket.write(f"safe/{part}", content[:10] + bytes([content[10] ^ 1]) + content[11:])


def _cut(bucket: Any, part: str) -> None:
    bucket.write(f"safe/{MANIFEST}", bucket.read(f"safe/{MANIFEST}")[:60])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (_lost, "missing: "),
        (_added, "not listed: 'extra"),
        (_flipped, "the SHA-256 of every"),
        (_cut, "got another or"),
    ],
)
def test_a_damaged_release_is_refused(
    fault: Callable[[Any, str], None], said: str, bucket: Any, protect: Callable[..., Any], run: Callable[..., Any]
) -> None:
    assert protect(bucket.url("safe/")).code == 0
    fault(bucket, bucket.names("safe")[2])
    ran = run("audit", bucket.url("safe/"), "--quasi", "age,pay")
    assert ran.code == 3
    assert said in " ".join(ran.err.split())
    assert f"shoal: {bucket.url('safe/')}: " in ran.err


def test_parts_of_another_generation_do_not_count(
    bucket: Any, protect: Callable[..., Any], run: Callable[..., Any]
) -> None:
    assert protect(bucket.url("safe/")).code == 0
    bucket.write(f"safe/part-00000{marked_suffix('0' * 16, '.parquet')}", b"half a file")
    assert run("audit", bucket.url("safe/"), "--quasi", "age,pay", "--require", "k=4").code == 0


@pytest.mark.parametrize("key", ["nothing", "nothing/", "nothing.csv"])
def test_nothing_there(key: str, bucket: Any, run: Callable[..., Any]) -> None:
    ran = run("audit", bucket.url(key), "--quasi", "age")
    assert (ran.code, "there is no such file or folder in the store" in ran.err) == (3, True)


@pytest.mark.parametrize("command", ["audit", "protect"])
def test_no_such_bucket(command: str, bucket: Any, run: Callable[..., Any], protect: Callable[..., Any]) -> None:
    url = "s3://no-such-bucket/safe/"
    ran = run("audit", url, "--quasi", "age") if command == "audit" else protect(url)
    assert ran.code == 5
    assert f"shoal: {url}: could not be used (there is no such bucket)" in ran.err


def test_a_disk_that_is_too_small(
    bucket: Any, run: Callable[..., Any], people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.write("in.parquet", people.read_bytes())
    monkeypatch.setattr(shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    ran = run("audit", bucket.url("in.parquet"), "--quasi", "age")
    assert (ran.code, "a local copy needs 1 MB" in ran.err) == (5, True)


def test_an_unreachable_endpoint(
    account: Path, protect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    ran = protect("s3://bucket/safe/", "--report", tmp_path / "r.html")
    assert ran.code == 5
    assert "s3://bucket/safe/: could not be used (the store cannot be reached)" in " ".join(ran.err.split())
    assert not (tmp_path / "r.html").exists()
    assert list(account.iterdir()) == []


class _Forbidding(BaseHTTPRequestHandler):
    """A store that accepts no credentials."""

    body: ClassVar[bytes] = b"<Error><Code>InvalidAccessKeyId</Code><Message>hunter2</Message></Error>"

    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.body)

    do_HEAD = do_PUT = do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def forbidding() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Forbidding)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("command", ["audit", "protect"])
def test_wrong_credentials(
    command: str,
    account: Path,
    forbidding: str,
    run: Callable[..., Any],
    protect: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", forbidding)
    url = "s3://bucket/safe/"
    ran = run("audit", url, "--quasi", "age") if command == "audit" else protect(url)
    assert ran.code == 5
    assert "(the credentials are not accepted)" in " ".join(ran.err.split())
    assert "hunter2" not in ran.err


def test_a_url_that_is_none(account: Path, run: Callable[..., Any]) -> None:
    for url in ("s3://", "s3://bucket/a?no_such_option=1", "s3:///a"):
        ran = run("audit", url, "--quasi", "age")
        assert (ran.code, ran.err.count("\n") < 5) == (2, True), ran.err


@pytest.mark.parametrize(
    ("given", "shown", "name"),
    [
        ("s3://bucket/a/b.csv", "s3://bucket/a/b.csv", "b.csv"),
        ("s3://key:hunter2@bucket/a/?region=eu", "s3://bucket/a/", "a"),
        ("s3://key:hun/ter2@bucket/a/", "s3://bucket/a/", "a"),
        ("s3://bucket/a@b.csv", "s3://bucket/a@b.csv", "a@b.csv"),
        ("gs://bucket/a?access_token=hunter2", "gs://bucket/a", "a"),
        ("abfss://box:hunter2@acc.dfs.core.windows.net/a", "abfss://box:***@acc.dfs.core.windows.net/a", "a"),
        ("S3://bucket/a%20b.xlsx?sheet=Data", "s3://bucket/a%20b.xlsx", "a b.xlsx"),
    ],
)
def test_no_credentials_are_shown(given: str, shown: str, name: str) -> None:
    found = place(given)
    assert (str(found), found.name) == (shown, name)
    assert "hunter2" not in repr(found)
    assert found.folder == shown.endswith("/")
    assert dict(found.options) == ({"sheet": "Data"} if "sheet" in given else {})
