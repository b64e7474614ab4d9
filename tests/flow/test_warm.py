"""Kernels compiled in advance: processes that use the folder compile nothing; others must not have write access."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal import registry
from shoal.flow.warm.features import features
from shoal.kernels.runtime import cache_folder

FEATURE = "method pcp"
RUN = """
import json, pyarrow as pa, shoal
from shoal.kernels.runtime.compile_times import compile_times
with compile_times() as found:
    for values in (range(12), list("uvwuvwuvwuvw")):
        shoal.protect(pa.table({"x": [*range(12)], "y": [*values]}), quasi=["x", "y"], k=3, method="pcp")
print(json.dumps(found))
"""


def compiled(folder: Path, **more: str) -> list[float]:
    """The CPU seconds of each kernel that a fresh process compiles or, at 0, loads."""
    environment = {**os.environ, "SHOAL_CACHE": str(folder), **more}
    ran = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return list(json.loads(ran.stdout).values())


def files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*.nb?")}


@pytest.fixture(scope="module")
def warmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernels of one feature, for any processor."""
    folder = tmp_path_factory.mktemp("kernels") / "made"
    done = shoal.warm(folder, cpu="generic", only=[FEATURE])
    assert [one.feature for one in done.features] == [FEATURE]
    assert done.features[0].seconds
    assert not done.features[0].refusal
    assert done.to_dict()["kernels"] == done.kernels == done.features[0].kernels
    return folder


def test_a_fresh_process_compiles_nothing(warmed: Path) -> None:
    before = files(warmed)
    found = compiled(warmed)
    assert found
    assert set(found) == {0.0}
    assert files(warmed) == before


def test_other_processors_compile_for_themselves(warmed: Path) -> None:
    """The folder says that it is generic; numba's own setting prevails, and has other kernels."""
    assert any(compiled(warmed, NUMBA_CPU_NAME="nocona", NUMBA_CPU_FEATURES=""))


def test_what_is_compiled_already_is_said(warmed: Path) -> None:
    again = shoal.warm(warmed, cpu="generic", only=[FEATURE])
    assert (again.seconds, again.features[0].seconds) == (0.0, None)


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize("inside", [".", "arithmetic/shoal-*", "*.nbi"])
def test_kernels_that_others_may_have_written_are_not_loaded(warmed: Path, inside: str) -> None:
    path = next(warmed.rglob(inside)) if "*" in inside else warmed / inside
    mode = path.stat().st_mode
    path.chmod(mode | 0o020)
    try:
        with pytest.raises(AssertionError, match="SHOAL_CACHE: must be a folder that no other user can write to"):
            compiled(warmed)
    finally:
        path.chmod(mode)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    with pytest.raises(shoal.ParameterError, match=r"--cache: .* it belongs to another user"):
        shoal.warm(tmp_path, only=[FEATURE])
    assert not [*tmp_path.iterdir()]


def test_folders_are_private_whatever_the_mask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        cache_folder.make_private(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    cache_folder.refuse_shared("test", tmp_path / "a", [tmp_path / "a" / "b"])


def test_all_components_are_features() -> None:
    known = features()
    for family, kind in (
        ("method", "partition"),
        ("release", "release"),
        ("steer", "steer"),
        ("stream", "stream.partition"),
    ):
        assert {f"{family} {key}" for key in registry.keys(kind)} <= set(known)
    known["steer bucket"]()  # a parameter without a default
    known["require k_e"]()
