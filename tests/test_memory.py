"""The memory ceiling: sizes as text, and the memory that is left."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from shoal import memory
from shoal.errors import ParameterError
from shoal.memory import available, ceiling, parse_size

SIZES = {
    "1": 1,
    "4096": 4096,
    "4096B": 4096,
    "2GB": 2 * 10**9,
    "2 GB": 2 * 10**9,
    " 2gb ": 2 * 10**9,
    "512MB": 512 * 10**6,
    "512MiB": 512 * 2**20,
    "1.5GB": 1_500_000_000,
    "3KB": 3000,
    "1TiB": 2**40,
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str) -> None:
    assert parse_size(text) == SIZES[text]


@pytest.mark.parametrize(
    "text", ["", "0", "0.4", "-1", "2G", "2XB", "GB", "two", "1e9", "inf", "nan", "2GB!", "٣", "9" * 19]
)
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^--memory: must be a positive size .* Write it like 2GB or 512MB\.$"):
        parse_size(text, "--memory")


def machine(root: Path, free: str | None, groups: str, files: Mapping[str, str]) -> Path:
    """Write the files in which Linux shows a process its memory."""
    shown = {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": files[name] for name in files}}
    if free is not None:
        shown["proc/meminfo"] = f"MemTotal: 32000 kB\nMemAvailable: {free} kB\nHugePages_Total: 0\n"
    for name, text in shown.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


V1 = "9:memory:/a\n4:cpu,cpuacct:/docker/abc\n"
MACHINES = {
    "free memory": ("16000", "0::/a\n", {}, 16_384_000),
    "no limit": ("16000", "0::/a\n", {"a/memory.max": "max\n", "a/memory.current": "5\n"}, 16_384_000),
    "a limit": ("16000", "0::/a\n", {"a/memory.max": "1000\n", "a/memory.current": "300\n"}, 700),
    "a limit further up": (
        "16000",
        "0::/a/b\n",
        {"a/b/memory.max": "max\n", "a/memory.max": "900\n", "a/memory.current": "100\n"},
        800,
    ),
    "cached files count as free": (
        None,
        "0::/a\n",
        {
            "a/memory.max": "1000\n",
            "a/memory.current": "900\n",
            "a/memory.stat": "anon 200\nfile 700\nactive_file 300\ninactive_file 400\n",
        },
        800,
    ),
    "version 1": (
        "16000",
        V1,
        {
            "memory/a/memory.limit_in_bytes": "1000\n",
            "memory/a/memory.usage_in_bytes": "600\n",
            "memory/a/memory.stat": "active_file 7\ntotal_active_file 50\ntotal_inactive_file 50\n",
        },
        500,
    ),
    "version 1 without a limit": (
        "16000",
        V1,
        {"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "600\n"},
        16_384_000,
    ),
    "nothing left": (None, "0::/a\n", {"a/memory.max": "1000\n", "a/memory.current": "1200\n"}, 1),
    "damaged": ("many", "0::/a\n", {"a/memory.max": "1000\n", "a/memory.current": "?\n"}, None),
}


@pytest.mark.parametrize("case", MACHINES)
def test_available_memory(case: str, tmp_path: Path) -> None:
    free, groups, files, expected = MACHINES[case]
    assert available(machine(tmp_path, free, groups, files)) == expected


def test_elsewhere_it_is_not_known(tmp_path: Path) -> None:
    assert available(tmp_path) is None


def test_the_ceiling_is_the_lower_of_given_and_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 1000)
    assert [ceiling(given) for given in (None, "0.5KB", 400, "2GB")] == [1000, 500, 400, 1000]
    monkeypatch.setattr(memory, "available", lambda: None)
    assert [ceiling(given) for given in (None, "2GB")] == [sys.maxsize, 2 * 10**9]
    with pytest.raises(ParameterError, match="memory: must be a positive size"):
        ceiling(0)
