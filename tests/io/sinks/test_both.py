"""Two files or none."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.io.sinks import _atomic as _both
from shoal.io.sinks import _atomic as atomic
from shoal.io.sinks._atomic import both


def write(folder: Path, *, force: bool = False) -> None:
    with both(folder / "a.csv", folder / "b.csv", force=force) as staged:
        for path in staged:
            path.write_text("new")


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_both_appear(tmp_path: Path) -> None:
    write(tmp_path)
    assert contents(tmp_path) == {"a.csv": "new", "b.csv": "new"}
    write(tmp_path, force=True)


@pytest.mark.parametrize("there", ["a.csv", "b.csv"])
def test_neither_appears_if_one_is_there(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("old")
    with pytest.raises(shoal.ParameterError, match="already exists"):
        write(tmp_path)
    assert contents(tmp_path) == {there: "old"}


@pytest.mark.parametrize("failing", ["a.csv", "b.csv"])
@pytest.mark.parametrize("old", [{}, {"a.csv": "old", "b.csv": "old"}, {"b.csv": "old"}])
@pytest.mark.parametrize("links", [True, False])
def test_if_one_cannot_get_its_name_all_is_as_before(
    failing: str, old: dict[str, str], links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in old.items():
        (tmp_path / name).write_text(text)
    real = atomic._publish

    def publish(path: Path, target: Path, staged: Path, *, force: bool) -> None:
        if target.name == failing:
            raise OSError(28, "full")
        real(path, target, staged, force=force)

    monkeypatch.setattr(atomic, "_publish", publish)
    if not links:
        monkeypatch.setattr(_both.os, "link", _no_links)
    with pytest.raises(shoal.EngineError, match=f"{failing}: could not be written"):
        write(tmp_path, force=True)
    assert contents(tmp_path) == old


def _no_links(*args: object) -> None:
    raise OSError(1, "no links here")


def test_somebody_elses_file_is_not_touched(tmp_path: Path) -> None:
    def meanwhile() -> None:
        with both(tmp_path / "a.csv", tmp_path / "b.csv", force=False):
            (tmp_path / "b.csv").write_text("theirs")

    with pytest.raises(shoal.ParameterError, match=r"b.csv: already exists"):
        meanwhile()
    assert contents(tmp_path) == {"b.csv": "theirs"}
