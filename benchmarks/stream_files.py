"""Measure streams from file to file: tuples a second, and what the gate and the journal cost.

    python benchmarks/stream_files.py [TUPLES]

Four quasi-identifiers and two other fields in JSON Lines, k = 10, δ = 100. Times are those of the processor, of one
core; the best of five. What parsing and writing alone takes is measured in three ways: "bare" decodes and encodes lines
by msgspec, without looking at them; "standard" does so by the standard library; "wire" reads records with their places,
parses and checks their fields, and writes every ten with the values of the first, as a stream does.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import msgspec

import shoal
from shoal.privacy.stream_gate.gate import Gate
from shoal.stream.channels._file_input import Lines
from shoal.stream.channels._file_journal import Journal
from shoal.stream.wire.jsonl import Jsonl

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


class Meter:
    """Seconds that a method takes, over all calls; of the clock, for a disk makes one wait."""

    def __init__(self, owner: type, name: str) -> None:
        self.total = 0.0
        real = getattr(owner, name)

        def timed(*arguments: object) -> object:
            began = time.perf_counter()
            try:
                return real(*arguments)
            finally:
                self.total += time.perf_counter() - began

        self.patch = mock.patch.object(owner, name, new=timed)


def alone(source: Path, target: Path) -> None:
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    with source.open("rb") as given, target.open("wb") as out:
        while lines := given.readlines(1 << 18):
            out.write(b"\n".join([encode(decode(line)) for line in lines]) + b"\n")


def by_json(source: Path, target: Path) -> None:
    with source.open("rb") as given, target.open("w") as out:
        while lines := given.readlines(1 << 18):
            out.write("\n".join([json.dumps(json.loads(line)) for line in lines]) + "\n")


def through_the_wire(source: Path, target: Path) -> None:
    wire = Jsonl(RECIPE["quasi"], (), "class")
    number = 0
    with source.open("rb") as given, target.open("wb") as out:
        lines = Lines(0, 1 << 20)
        while piece := given.read(1 << 18):
            records, _places = lines.take(piece)
            _, columns, bodies, _ = wire.parse(records)
            left = []
            for at in range(0, len(bodies), RECIPE["k"]):
                values = {name: column[at] for name, column in columns.items()}
                left += wire.render(bodies[at : at + RECIPE["k"]], values, number)
                number += 1
            out.write(b"\n".join(left) + b"\n")


def seconds(runs: list[Callable[[Path], object]], folder: Path) -> dict[str, float]:
    """Return the least time of each; they take turns, so that what else the machine does hits all of them."""
    best = {run.__name__: float("inf") for run in runs}
    for turn in range(5):
        for run in runs:
            began = time.process_time()
            run(folder / f"{run.__name__}{turn}.jsonl")
            best[run.__name__] = min(best[run.__name__], time.process_time() - began)
    return best


def main(count: int = 300_000) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "in.jsonl"
        write_input(source, 1000)
        shoal.run_stream(source, folder / "warm.jsonl", RECIPE)  # compiles
        write_input(source, count)

        def bare(target: Path) -> None:
            alone(source, target)

        def standard(target: Path) -> None:
            by_json(source, target)

        def wire(target: Path) -> None:
            through_the_wire(source, target)

        def whole(target: Path) -> None:
            shoal.run_stream(source, target, RECIPE)

        found = seconds([bare, standard, wire, whole], folder)
        gate, journal = Meter(Gate, "check"), Meter(Journal, "_write")
        with gate.patch, journal.patch:
            began = time.perf_counter()
            whole(folder / "metered.jsonl")
            took = time.perf_counter() - began
    for run, best in found.items():
        print(f"{run:<10}{best / count * 1e6:7.2f} µs a tuple {count / best:12,.0f} tuples/s")
    for alone_by in ("bare", "standard", "wire"):
        print(f"whole / {alone_by:<10}{found['whole'] / found[alone_by]:.2f}")
    print(f"gate {100 * gate.total / took:.1f} % of the time, journal {100 * journal.total / took:.1f} %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
