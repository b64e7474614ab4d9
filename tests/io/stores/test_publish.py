"""A release is published in an object store as a whole: the manifest, written last, names the parts that count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from shoal.io.manifest import MANIFEST
from shoal.io.stores import upload
from shoal.io.stores.folder import StoreFolder
from shoal.io.stores.names import is_marker, is_of_a_generation, marker

KILLED = """
import sys
from shoal.cli import main
from shoal.io.sinks import _folder
from shoal.io.stores.folder import StoreFolder

def upload(self, file, name, really=StoreFolder.upload):
    if name.startswith("part-00001"):
        print("one part is there", flush=True)
        sys.stdin.read()
    really(self, file, name)

StoreFolder.upload, _folder.PART_ROWS = upload, 40
main()
"""


def listed(bucket: Any, folder: str = "safe") -> list[str]:
    return [one["name"] for one in json.loads(bucket.read(f"{folder}/{MANIFEST}"))["files"]]


def test_round_trip(bucket: Any, protect: Callable[..., Any], run: Callable[..., Any], tmp_path: Path) -> None:
    evidence, receipt, report = tmp_path / "e.json", tmp_path / "r.json", tmp_path / "r.html"
    ran = protect(bucket.url("safe/"), "--evidence", evidence, "--receipt", receipt, "--report", report)
    assert ran.code == 0, ran.err
    assert f"protected: {bucket.url('safe/')}" in ran.out
    parts = listed(bucket)
    assert len(parts) == 3
    assert all(map(is_of_a_generation, parts))
    assert bucket.names("safe") == [MANIFEST, *parts]
    assert report.exists()
    audited = run("audit", bucket.url("safe"), "--quasi", "age,pay", "--require", "k=4")
    assert audited.code == 0, audited.err
    given = (evidence, bucket.url("safe/"), "--input", tmp_path / "in.parquet", "--receipt", receipt)
    verified = run("verify", *given, "--require", "k=4", "--json")
    assert verified.code == 0, verified.err
    assert f"The files of safe match its {MANIFEST}" in verified.out
    assert protect(tmp_path / "local", source=bucket.url("safe/"), k=5).code == 0


def test_the_release_is_that_of_a_local_folder(bucket: Any, protect: Callable[..., Any], tmp_path: Path) -> None:
    assert protect(bucket.url("a/safe/")).code == 0
    assert protect(f"{tmp_path}/safe/", "--engine", "disk").code == 0
    stored = [bucket.read(f"a/safe/{name}") for name in listed(bucket, "a/safe")]
    assert stored == [path.read_bytes() for path in sorted((tmp_path / "safe").glob("part-*"))]


def test_the_result_reads_the_stored_parts(bucket: Any, people: Path) -> None:
    done = shoal.protect(people, quasi=["age", "pay"], k=4, effort="fast", output=bucket.url("safe/"))
    assert done.data.count_rows() == 100


def test_options_of_the_url_name_the_endpoint(
    bucket: Any, protect: Callable[..., Any], s3_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    options = f"?endpoint_override={s3_server.partition('://')[2]}&scheme=http&region=us-east-1"
    ran = protect(f"s3://key:hunter2@{bucket.name}/safe/{options}")
    assert ran.code == 0, ran.err
    assert "hunter2" not in ran.out
    assert f"protected: {bucket.url('safe/')}" in ran.out


def test_an_existing_folder_is_replaced_only_by_force(bucket: Any, protect: Callable[..., Any]) -> None:
    assert protect(bucket.url("safe/")).code == 0
    before = bucket.names("safe")
    ran = protect(bucket.url("safe/"))
    assert (ran.code, bucket.names("safe")) == (2, before)
    assert "already exists; give --force" in ran.err
    assert protect(bucket.url("safe/"), "--dry-run").code == 2
    assert protect(bucket.url("safe/"), "--force", k=5).code == 0
    assert bucket.names("safe") == [MANIFEST, *listed(bucket)]
    assert not set(before) & set(listed(bucket))


def test_a_folder_with_other_files_is_never_replaced(bucket: Any, protect: Callable[..., Any]) -> None:
    bucket.write("safe/notes.txt", b"mine")
    ran = protect(bucket.url("safe/"), "--force")
    assert (ran.code, bucket.names("safe")) == (2, ["notes.txt"])
    assert "got 'notes.txt'" in ran.err


def test_the_input_is_never_the_output(bucket: Any, protect: Callable[..., Any], people: Path) -> None:
    bucket.write("data/in.parquet", people.read_bytes())
    for output in ("data/", "data/in.parquet/"):
        ran = protect(bucket.url(output), "--force", source=bucket.url("data/in.parquet"))
        assert ran.code == 2
        assert "must not be the input" in ran.err
    assert bucket.names("data") == ["in.parquet"]


def test_only_folders_are_written_on_disk(bucket: Any, protect: Callable[..., Any], tmp_path: Path) -> None:
    file = protect(bucket.url("safe.parquet"))
    assert (file.code, "must be a folder" in file.err) == (2, True)
    memory = protect(bucket.url("safe/"), "--engine", "memory")
    assert (memory.code, "made by engine = disk" in memory.err) == (2, True)
    database = protect(bucket.url("safe/"), source=f"sqlite:///{tmp_path}/a.db?table=t")
    assert (database.code, "got a database" in database.err) == (2, True)
    paper = protect(bucket.url("safe/"), "--evidence", bucket.url("e.json"))
    assert (paper.code, "Evidence: must be a local file, got a URL" in paper.err) == (2, True)
    assert bucket.names("") == []


def _corrupted(content: bytes) -> bytes:
    return content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]


def _of_single_persons(content: bytes) -> bytes:
    table = parquet.read_table(pa.BufferReader(content))
    into = pa.BufferOutputStream()
    parquet.write_table(table.set_column(0, table.field(0), pa.array(range(len(table)), table.field(0).type)), into)
    return into.getvalue().to_pybytes()


def _changed_in_the_store(monkeypatch: pytest.MonkeyPatch, change: Callable[[bytes], bytes]) -> None:
    really = StoreFolder.download

    def download(self: StoreFolder, name: str | None, into: Path) -> None:
        if name is not None and name.startswith("part-00001"):
            self.write(name, change(self.read(name)))
        really(self, name, into)

    monkeypatch.setattr(StoreFolder, "download", download)


@pytest.mark.parametrize("force", [False, True])
def test_a_part_that_changes_in_the_store_is_refused(
    force: bool, bucket: Any, protect: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if force:
        assert protect(bucket.url("safe/")).code == 0
    before = bucket.names("safe")
    _changed_in_the_store(monkeypatch, _corrupted)
    ran = protect(bucket.url("safe/"), "--evidence", tmp_path / "e.json", *["--force"] * force)
    assert ran.code == 4, ran.err
    assert "SHA-256 of 'part-00001-" in ran.err
    assert "Nothing was published" in ran.err
    assert bucket.names("safe") == before
    assert not (tmp_path / "e.json").exists()


def test_the_copy_itself_is_audited(bucket: Any, protect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Equal(str):
        def __ne__(self, other: object) -> bool:
            return False

    _changed_in_the_store(monkeypatch, _of_single_persons)
    monkeypatch.setattr(upload, "digest_of", lambda path: Equal())
    ran = protect(bucket.url("safe/"))
    assert ran.code == 4, ran.err
    assert "k_anonymity" in ran.err
    assert bucket.names("safe") == []


@pytest.mark.parametrize("fault", [KeyboardInterrupt, SystemExit, shoal.EngineError])
def test_nothing_stays_if_a_run_ends_while_it_copies(
    fault: type[BaseException], bucket: Any, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = StoreFolder.upload

    def failing(self: StoreFolder, file: Path, name: str) -> None:
        really(self, file, name)
        if name.startswith("part-00001"):
            raise fault

    monkeypatch.setattr(StoreFolder, "upload", failing)
    with pytest.raises(fault):
        shoal.protect(
            people, quasi=["age"], k=4, effort="fast", output=bucket.url("safe/"), evidence=tmp_path / "e.json"
        )
    assert bucket.names("safe") == []
    assert not (tmp_path / "e.json").exists()


@pytest.mark.parametrize("force", [False, True])
def test_a_manifest_that_is_not_stored_well_is_taken_back(
    force: bool, bucket: Any, protect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if force:
        assert protect(bucket.url("safe/")).code == 0
    before = {name: bucket.read(f"safe/{name}") for name in bucket.names("safe")}
    really, written = StoreFolder.write, []

    def cut(self: StoreFolder, name: str, content: bytes) -> None:
        written.append(name)
        really(self, name, content[:50] if written.count(MANIFEST) == 1 and name == MANIFEST else content)

    monkeypatch.setattr(StoreFolder, "write", cut)
    assert protect(bucket.url("safe/"), *["--force"] * force).code == 4
    assert {name: bucket.read(f"safe/{name}") for name in bucket.names("safe")} == before


def test_files_that_cannot_be_deleted_are_reported(
    bucket: Any, protect: Callable[..., Any], run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert protect(bucket.url("safe/")).code == 0
    before = listed(bucket)

    def forbidden(self: StoreFolder, names: object) -> None:
        raise shoal.EngineError("no")

    monkeypatch.setattr(StoreFolder, "delete", forbidden)
    ran = protect(bucket.url("safe/"), "--force", k=5)
    assert (ran.code, "could not all be deleted" in " ".join(ran.out.split())) == (0, True)
    assert set(before) < set(bucket.names("safe"))  # two generations; the manifest names one of them
    audited = run("audit", bucket.url("safe/"), "--quasi", "age,pay", "--require", "k=5", "--json")
    assert (audited.code, json.loads(audited.out)["records"]) == (0, 100)


def test_two_runs_do_not_share_a_folder(
    bucket: Any, protect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    really, other = upload.Upload.mark, marker("0" * 16)

    def late(self: upload.Upload) -> None:
        self.folder.write(other, b"")
        really(self)

    monkeypatch.setattr(upload.Upload, "mark", late)
    ran = protect(bucket.url("safe/"))
    assert (ran.code, "another run is writing" in ran.err) == (2, True)
    assert bucket.names("safe") == [other]


@pytest.mark.parametrize("force", [False, True])
def test_a_killed_run_leaves_nothing_that_counts(
    force: bool, bucket: Any, protect: Callable[..., Any], run: Callable[..., Any], people: Path, tmp_path: Path
) -> None:
    if force:
        assert protect(bucket.url("safe/")).code == 0
    before = bucket.names("safe")
    given = ["--quasi", "age,pay", "--k", "5", "--effort", "fast", "--evidence", str(tmp_path / "e.json")]
    command = [sys.executable, "-c", KILLED, "protect", str(people), "-o", bucket.url("safe/"), *given, "--force"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "one part is there\n"
        running.send_signal(signal.SIGKILL)
    left = sorted(set(bucket.names("safe")) - set(before))
    assert [is_marker(name) for name in left] == [True, False]
    assert not (tmp_path / "e.json").exists()
    audited = run("audit", bucket.url("safe/"), "--quasi", "age,pay", "--require", "k=4")
    if force:  # the older release counts until the new one is complete
        assert audited.code == 0, audited.err
    else:
        assert (audited.code, "still writing to it or was interrupted" in audited.err) == (3, True)
        again = protect(bucket.url("safe/"))
        assert (again.code, "is working or was interrupted; give --force" in again.err) == (2, True)
    assert protect(bucket.url("safe/"), "--force").code == 0
    assert bucket.names("safe") == [MANIFEST, *listed(bucket)]
