"""The manifest of an output folder lists its files, and a folder without one of them is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from shoal.flow.evidence.receipt import of_folder
from shoal.io.manifest import MANIFEST
from shoal.io.sinks import _folder

COLUMNS = ["age", "pay", "note"]


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Protect a table into a folder of several files."""
    monkeypatch.setattr(_folder, "PART_ROWS", 40)
    rng = np.random.default_rng(0)
    columns = [rng.integers(20, 80, 100), np.round(rng.normal(2000, 300, 100), 1), [f"n{i % 4}" for i in range(100)]]
    parquet.write_table(pa.table([*columns, list(range(100))], names=[*COLUMNS, "id"]), tmp_path / "in.parquet")
    given = {"quasi": ["age", "pay"], "identifier": ["id"], "k": 4, "engine": "disk"}
    shoal.protect(tmp_path / "in.parquet", output=f"{tmp_path}/out/", evidence=tmp_path / "e.json", **given)
    return tmp_path / "out"


def test_it_lists_the_parts_and_nothing_about_the_input(released: Path) -> None:
    said = json.loads((released / MANIFEST).read_text())
    assert said.keys() == {"format", "columns", "files"}
    assert said["columns"] == COLUMNS
    assert [one["records"] for one in said["files"]] == [40, 40, 20]
    for one in said["files"]:
        content = (released / one["name"]).read_bytes()
        assert one == {
            "name": one["name"],
            "records": one["records"],
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    assert sorted(path.name for path in released.iterdir()) == [MANIFEST, *(one["name"] for one in said["files"])]


def test_a_digest_of_the_folder_ignores_it(released: Path) -> None:
    before = of_folder(released)
    (released / MANIFEST).unlink()
    assert of_folder(released) == before


def _lost(folder: Path) -> None:
    (folder / "part-00001.parquet").unlink()


def _unlinked(folder: Path) -> None:
    _lost(folder)
    (folder / "part-00001.parquet").symlink_to(folder / "nowhere")


def _added(folder: Path) -> None:
    (folder / "part-00003.parquet").write_bytes((folder / "part-00002.parquet").read_bytes())


def _changed(folder: Path) -> None:
    parquet.write_table(parquet.read_table(folder / "part-00002.parquet").slice(1), folder / "part-00002.parquet")


def _cut(folder: Path) -> None:
    (folder / MANIFEST).write_text((folder / MANIFEST).read_text()[:50])


def _newer(folder: Path) -> None:
    (folder / MANIFEST).write_text((folder / MANIFEST).read_text().replace('"format": 1', '"format": 2'))


def _foreign(folder: Path) -> None:
    (folder / MANIFEST).write_text("[]")


FAULTS: dict[Callable[[Path], None], str] = {
    _lost: "missing: 'part-00001.parquet'",
    _unlinked: "missing: 'part-00001.parquet'",
    _added: "not listed: 'part-00003.parquet'",
    _changed: "of another size: 'part-00002.parquet'",
    _cut: "got another or a part of it",
    _newer: "in format 1, got another",
    _foreign: "rename the file if it is from another program",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_an_incomplete_copy_is_refused(fault: Callable[[Path], None], released: Path, run: Callable[..., Any]) -> None:
    arguments: dict[str, list[Any]] = {
        "audit": [released, "--quasi", "age,pay"],
        "verify": [released.with_name("e.json"), released],
        "protect": [released, "--quasi", "age,pay", "-o", released.with_name("again")],
    }
    assert all(run(command, *given).code == 0 for command, given in arguments.items() if command != "protect")
    fault(released)
    for command, given in arguments.items():
        ran = run(command, *given)
        assert ran.code == 3, (command, ran.err)
        assert FAULTS[fault] in " ".join(ran.err.split()), (command, ran.err)
    assert not released.with_name("again").exists()


def test_audit_refuses_a_part_with_other_bytes(released: Path, run: Callable[..., Any]) -> None:
    part = released / "part-00001.parquet"
    content = bytearray(part.read_bytes())
    content[10] ^= 1
    part.write_bytes(content)
    audited = run("audit", released, "--quasi", "age,pay")
    assert (audited.code, "got others for 'part-00001.parquet'" in " ".join(audited.err.split())) == (3, True)


def test_verify_reports_a_manifest_of_other_bytes(released: Path, run: Callable[..., Any]) -> None:
    said = json.loads((released / MANIFEST).read_text())
    said["files"][1]["sha256"] = "0" * 64
    (released / MANIFEST).write_text(json.dumps(said))
    checked = run("verify", released.with_name("e.json"), released, "--json")
    assert checked.code == 4
    (check,) = [one for one in json.loads(checked.out)["checks"] if MANIFEST in one["claim"]]
    assert (check["verdict"], check["why"]) == ("does not hold", "some have another SHA-256: part-00001.parquet")
