"""Measure streams from file to file: tuples a second, and what the gate and the journal cost.

    python benchmarks/stream_files.py [TUPLES]

Four quasi-identifiers and two other fields in JSON Lines, k = 10, δ = 100. Times are those of the processor, of one
core; the best of three. "bare" only reads lines, decodes and encodes them, and writes them.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import msgspec

import shoal
from shoal.privacy._leaving import Gate

RECIPE = {
    "quasi": ["a", "b", "c", "d"],
    "bounds": {"a": [0, 100], "b": [0, 100], "c": [0, 1], "d": [0, 1000]},
    "k": 10,
    "delay": 100,
}


def write_input(path: Path, count: int) -> None:
    rng = random.Random(0)
    with path.open("w") as file:
        for i in range(count):
            one = {
                "a": round(rng.random() * 100, 3),
                "b": rng.randint(0, 100),
                "c": rng.random(),
                "d": rng.randint(0, 1000),
            }
            file.write(json.dumps({**one, "pay": rng.randint(0, 10**6), "note": f"note {i}"}) + "\n")


def alone(source: Path, target: Path) -> None:
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    with source.open("rb") as given, target.open("wb") as out:
        while lines := given.readlines(1 << 18):
            out.write(b"\n".join([encode(decode(line)) for line in lines]) + b"\n")


def seconds(run: Callable[[Path], object], folder: Path) -> float:
    best = float("inf")
    for turn in range(3):
        began = time.process_time()
        run(folder / f"{run.__name__}{turn}.jsonl")
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "in.jsonl"
        write_input(source, 1000)
        shoal.run_stream(source, folder / "warm.jsonl", RECIPE)  # compiles
        write_input(source, count)

        def bare(target: Path) -> None:
            alone(source, target)

        def whole(target: Path) -> None:
            shoal.run_stream(source, target, RECIPE)

        def unjournalled(_: Path) -> None:
            shoal.run_stream(source, os.devnull, RECIPE)

        def ungated(target: Path) -> None:
            with mock.patch.object(Gate, "check", return_value=None):
                shoal.run_stream(source, target, RECIPE)

        found = {run.__name__: seconds(run, folder) for run in (bare, whole, unjournalled, ungated)}
    for run, took in found.items():
        print(f"{run:<14}{took / count * 1e6:7.2f} µs a tuple {count / took:12,.0f} tuples/s")
    print(f"whole / bare   {found['whole'] / found['bare']:7.2f}")
    print(f"journal        {100 * (1 - found['unjournalled'] / found['whole']):7.1f} % of the time, with the output")
    print(f"gate           {100 * (1 - found['ungated'] / found['whole']):7.1f} % of the time")


if __name__ == "__main__":
    main()
