"""A crash at any byte: the last whole step is completed, a torn one has not happened, and nothing else is changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from shoal.errors import DataError
from shoal.stream.channels._file_journal import Journal
from shoal.stream.channels.files import Files
from shoal.types.stream import Cursor, Journey, Leaving, Letter, Outgoing

RECORDS = b"".join(b'{"a":%d}\n' % i for i in range(100))


@pytest.fixture(autouse=True)
def _no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of crashes, and none of them is the machine's."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _: None)


def journey(folder: Path) -> Journey:
    return Journey(str(folder / "in.jsonl"), str(folder / "out.jsonl"), {"k": 3}, "f", dead=str(folder / "dead.jsonl"))


def step(number: int) -> Outgoing:
    leaving = Leaving(number, [b'{"a":%d,"class":%d}' % (number, number)] * 3, [0, 1, 2])
    letter = Letter(number, 8 * number, "it is bad.", b"\xffx")
    return Outgoing("", [leaving], [letter], Cursor(10 * number + 10, 80 * number + 80, b"\x05\x01"))


def run(folder: Path, *numbers: int) -> Cursor:
    link = Files().open(journey(folder))
    try:
        begun: Cursor = link.lanes()[""]
        link.fetch(100, 0.1)
        for number in numbers:
            link.commit([step(number)])
        return begun
    finally:
        link.close()


def files(folder: Path) -> tuple[bytes, bytes, bytes]:
    (journal,) = (folder / "out.jsonl.journal").iterdir()
    return (folder / "out.jsonl").read_bytes(), (folder / "dead.jsonl").read_bytes(), journal.read_bytes()


@pytest.fixture
def states(tmp_path: Path) -> tuple[Path, list[tuple[bytes, bytes, bytes]]]:
    """The files after each of four steps."""
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "in.jsonl").write_bytes(RECORDS)
    run(folder)
    assert [path.name for path in folder.iterdir()] == ["in.jsonl"]  # of nothing nothing is left
    found = []
    for number in range(4):
        run(folder, number)
        found.append(files(folder))
    return folder, found


def at(folder: Path, out: bytes, dead: bytes, journal: bytes) -> None:
    (folder / "out.jsonl").write_bytes(out)
    (folder / "dead.jsonl").write_bytes(dead)
    (path,) = (folder / "out.jsonl.journal").iterdir()
    path.write_bytes(journal)


def test_a_journal_torn_at_any_byte_of_its_last_record(states: tuple) -> None:
    folder, found = states
    before, after, later = found[1], found[2], found[3]
    for end in range(len(before[2]), len(after[2])):
        at(folder, *before[:2], after[2][:end])
        assert run(folder) == step(1).cursor
        assert files(folder) == before
        at(folder, *before[:2], after[2][:end])
        assert run(folder, 2, 3) == step(1).cursor
        assert files(folder) == later


def test_a_journal_that_is_wrong_at_any_byte_of_its_last_record(states: tuple) -> None:
    folder, found = states
    before, after = found[1], found[2]
    for byte in range(len(before[2]), len(after[2]), 3):
        wrong = bytearray(after[2])
        wrong[byte] ^= 0x10
        at(folder, *before[:2], bytes(wrong))
        assert run(folder) == step(1).cursor
        assert files(folder) == before
        at(folder, *after[:2], bytes(wrong))  # the output knows more than the journal: nothing may be taken back
        with pytest.raises(DataError, match="does not record"):
            run(folder)
        assert files(folder)[:2] == after[:2]


def test_an_output_torn_at_any_byte_of_the_last_steps(states: tuple) -> None:
    folder, found = states
    after = found[2]
    for end in range(len(after[0]) + 1):
        at(folder, after[0][:end], after[1], after[2])
        assert run(folder) == step(2).cursor
        assert files(folder) == after
    for end in range(len(after[1]) + 1):
        at(folder, after[0], after[1][:end], after[2])
        assert run(folder) == step(2).cursor
        assert files(folder) == after


def test_another_input_is_refused(states: tuple) -> None:
    folder, _ = states
    for text in (RECORDS.replace(b"7", b"8", 1), RECORDS[:50], b""):
        (folder / "in.jsonl").write_bytes(text)
        with pytest.raises(DataError, match="is not the input"):
            run(folder)
    (folder / "in.jsonl").write_bytes(RECORDS[:400] + RECORDS)
    assert run(folder) == step(3).cursor  # what stands after the cursor may be anything


def test_a_journal_stays_small_and_may_be_left_half_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.stream.channels import files as room

    monkeypatch.setattr(room, "_ROTATE", 2000)
    (tmp_path / "in.jsonl").write_bytes(RECORDS * 10)
    copy = tmp_path / "copy"
    for number in range(0, 50, 2):
        run(tmp_path, number, number + 1)
        journals = sorted((tmp_path / "out.jsonl.journal").iterdir())
        assert len(journals) == 1
        assert journals[0].stat().st_size < 3000
        if number == 20:  # a crash before the old file was removed, and one while the new one was staged
            shutil.copytree(tmp_path / "out.jsonl.journal", copy)
        if number == 40:
            for old in copy.iterdir():
                shutil.copy(old, tmp_path / "out.jsonl.journal" / "00000000.journal")
            (tmp_path / "out.jsonl.journal" / "99999999.staged").write_bytes(b"torn")
            run(tmp_path)
            for extra in ("00000000.journal", "99999999.staged"):
                (tmp_path / "out.jsonl.journal" / extra).unlink(missing_ok=True)
    out = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert out == [line for number in range(50) for line in step(number).classes[0].tuples]


def test_a_damaged_journal_is_not_begun_anew(states: tuple) -> None:
    folder, found = states
    at(folder, b"", b"", found[2][2][:20])
    with pytest.raises(DataError, match="damaged"):
        run(folder)
    at(folder, b"", b"", b"")
    with pytest.raises(DataError, match="damaged"):
        run(folder)


def test_nothing_is_released_before_the_journal_knows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.jsonl").write_bytes(RECORDS)
    run(tmp_path, 0)
    before = files(tmp_path)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "append", stop)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, 1)
    assert files(tmp_path) == before
