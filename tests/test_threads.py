"""The number of threads: where it comes from, and that no result depends on it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.errors import ParameterError
from shoal.kernels.mdav import steps as brute_force
from shoal.kernels.refine import refine as refining
from shoal.kernels.space import nearest_own, neighbours
from shoal.threads import available_cores, cgroup_cores, thread_count, using_threads


def machine(root: Path, groups: str, files: Mapping[str, str]) -> Path:
    """Write the files in which Linux shows a process its control groups."""
    for name, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": files[name] for name in files}}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


V1 = "9:memory:/a\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/a\n"
GROUPS = {
    "no limit": ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n"}, None),
    "two cores": ("0::/a/b\n", {"a/b/cpu.max": "200000 100000\n"}, 2),
    "one and a half": ("0::/a/b\n", {"a/b/cpu.max": "150000 100000\n"}, 2),
    "a tenth": ("0::/\n", {"cpu.max": "10000 100000\n"}, 1),
    "a limit further up": ("0::/a/b\n", {"a/b/cpu.max": "800000 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
    "the host's path": ("0::/host/docker/abc\n", {"cpu.max": "500000 100000\n"}, 5),
    "version 1": (
        V1,
        {"cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "400000\n", "cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n"},
        4,
    ),
    "version 1 without a limit": (V1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
    "version 1 in a container": (V1, {"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "50000\n"}, 5),
    "damaged": ("0::/a\n", {"a/cpu.max": "lots\n", "cpu.max": "1 0\n"}, None),
    "no controller": ("0::/a\n", {}, None),
}


@pytest.mark.parametrize("case", GROUPS)
def test_the_quota_of_the_control_group(case: str, tmp_path: Path) -> None:
    groups, files, expected = GROUPS[case]
    assert cgroup_cores(machine(tmp_path, groups, files)) == expected


def test_no_control_groups_at_all(tmp_path: Path) -> None:
    assert cgroup_cores(tmp_path) is None


def test_the_lower_of_quota_and_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(6)), raising=False)
    for quota, expected in ((None, 6), (4, 4), (64, 6)):
        monkeypatch.setattr("shoal.threads.cgroup_cores", lambda quota=quota: quota)
        assert available_cores() == thread_count() == expected


def test_the_variable_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_THREADS", "7")
    assert thread_count() == 7
    with using_threads(3):
        assert thread_count() == 3
    assert thread_count() == 7
    monkeypatch.delenv("SHOAL_THREADS")
    with using_threads(5):
        assert thread_count() == 5
    assert "SHOAL_THREADS" not in os.environ


@pytest.mark.parametrize("said", ["", "0", "-1", "two", "1.5", "1025", "٣", " 2"])
def test_other_values_are_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_THREADS", said)
    with pytest.raises(ParameterError, match="SHOAL_THREADS: must be an integer from 1 to 1024"):
        thread_count()


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split work as if the tables were large."""
    monkeypatch.setattr(brute_force, "_WORTH_A_THREAD", 64)
    monkeypatch.setattr(neighbours, "_POINTS_PER_CALL", 64)
    monkeypatch.setattr(nearest_own, "_RECORDS_PER_CALL", 64)
    monkeypatch.setattr(refining, "WHOLE", 200)
    monkeypatch.setattr(refining, "_BLOCK", 90)


def with_each(monkeypatch: pytest.MonkeyPatch, compute: Callable[[], Any]) -> list[Any]:
    """Compute with 1, 2 and 7 threads."""
    found = []
    for threads in (1, 2, 7):
        monkeypatch.setenv("SHOAL_THREADS", str(threads))
        found.append(compute())
    return found


EXTRA: dict[str, dict[str, Any]] = {
    "anneal": {"effort": "fast"},
    "blocks": {"size": 60},
    "k_first": {"t": 0.3},
    "kpqr": {"p": 2, "q": 0.1, "r": 0.3},
    "p_sensitive": {"p": 2},
    "steered": {"t": 0.3},
    "t_close_anneal": {"t": 0.3, "effort": "fast"},
    "t_close_merge": {"t": 0.3},
    "t_first": {"t": 0.3},
}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("method", registry.keys("partition"))
def test_classes_do_not_depend_on_it(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(0, 30, (500, 1 if method == "optimal_univariate" else 3)) * 0.1
    given = dict(EXTRA.get(method, {}))
    if {"t", "p"} & set(given):
        given["confidential"] = rng.integers(0, 4, 500).astype(float)
    one, two, seven = with_each(monkeypatch, lambda: shoal.microaggregate(points, 4, method, **given).labels)
    assert np.array_equal(one, two)
    assert np.array_equal(one, seven)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("size", [150, 500])
def test_refined_classes_do_not_depend_on_it(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(size, 3))
    for given in ({}, {"confidential": points[:, 0] + rng.normal(size=size), "t": 0.3}):
        method = "t_first" if given else "mdav"
        one, two, seven = with_each(
            monkeypatch,
            lambda given=given, method=method: (
                shoal.microaggregate(points, 4, method, effort="fast", seed=3, **given).labels
            ),
        )
        assert np.array_equal(one, two)
        assert np.array_equal(one, seven)


@pytest.mark.usefixtures("small_parts")
def test_neither_linkage_nor_the_rest_of_a_comparison_depends_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    original = pa.table({"a": rng.normal(size=400), "b": rng.normal(size=400), "c": rng.normal(size=400)})
    masked = shoal.protect(original, quasi=["a", "b", "c"], k=3).data
    readings = with_each(monkeypatch, lambda: shoal.compare(original, masked, ["a", "b", "c"]).to_dict())
    assert readings[0] == readings[1] == readings[2]
    assert readings[0]


@pytest.mark.usefixtures("small_parts")
def test_an_option_of_the_command_line(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_THREADS", "3")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    rows = "".join(f"{a},{b},{c}\n" for a, b, c in rng.integers(0, 99, (300, 3)))
    (tmp_path / "in.csv").write_text("a,b,c\n" + rows)
    used: list[int] = []
    plain = refining.together

    def together(*given: Any) -> Any:
        used.append(thread_count())
        return plain(*given)

    monkeypatch.setattr(refining, "together", together)
    before, found = pa.cpu_count(), []
    for threads in (1, 2, 7):
        options = ["--quasi", "a,b", "--effort", "fast", "--row-order", "keep", "--json", "--threads", threads]
        ran = run("protect", "in.csv", "-o", f"{threads}.csv", *options)
        assert ran.code == 0, ran.err
        told = json.loads(ran.out)
        assert told.pop("output") == f"{threads}.csv"
        assert "threads" not in ran.out
        found.append((told, (tmp_path / f"{threads}.csv").read_bytes()))
    assert found[0] == found[1] == found[2]
    assert used == sorted(used)
    assert set(used) == {1, 2, 7}
    assert (thread_count(), pa.cpu_count()) == (3, before)  # as before the command


def test_every_command_that_computes_has_the_option(run: Callable) -> None:
    for command in ("audit", "compare", "explore", "inspect", "protect", "verify"):
        assert "--threads N" in run(command, "--help").out, command
