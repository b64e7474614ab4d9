"""Streams: in process, against a plain transcription; from file to file; CASTLE's speed. Prints as it goes.

    python benchmarks/stream.py [--quick]

Four attributes, k = 10, one other field; tuples come in columns, 65,536 at a time, and are released in columns.
On one core. The transcription is that of the tests, in plain Python, on fewer tuples; classes must be equal, tuple by
tuple. Then ``stream_files.py`` and the speeds of ``stream_methods.py``.
"""

import argparse
import resource
import runpy
import sys
import time
from pathlib import Path

import numpy as np

import stream_files
import stream_methods
from shoal.stream import StreamAnonymizer
from shoal.types.stream import Tally

ORACLE = Path(__file__).parents[1] / "tests" / "oracles" / "stream_nearest.py"
transcription = runpy.run_path(str(ORACLE))["stream_nearest"]
NAMES, K, CHUNK = list("abcd"), 10, 65_536
PLAIN = {100: 20_000, 1_000: 6_000, 10_000: 11_500}  # tuples for the transcription, by delay


def tuples(n: int, subjects: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {name: rng.random(n) for name in NAMES} | {"other": rng.integers(0, 9, n)}
    return found | ({"who": rng.integers(0, subjects, n)} if subjects else {})


def made(delay: int, weight: float | str = 0.0, subject: str | None = None) -> StreamAnonymizer:
    bounds = dict.fromkeys(NAMES, (0, 1))
    return StreamAnonymizer(quasi=NAMES, bounds=bounds, k=K, delay=delay, order_weight=weight, subject=subject)


def through(s: StreamAnonymizer, columns: dict[str, np.ndarray]) -> tuple[list[np.ndarray], float, float]:
    """Positions as they leave, and the seconds that it took: on the clock, and of the processor."""
    n, left = len(columns["a"]), []
    clock, cpu = time.perf_counter(), time.process_time()
    for begin in range(0, n, CHUNK):
        part = s.push_many({name: column[begin : begin + CHUNK] for name, column in columns.items()})
        part.to_table()
        left.append(part.positions)
    return left, time.perf_counter() - clock, time.process_time() - cpu


def against_the_transcription(delay: int, weight: float | str) -> float:
    """The transcription's tuples a second; both must form the same classes."""
    columns = tuples(PLAIN[delay])
    s = made(delay, weight)
    left, _, _ = through(s, columns)
    omega = s._core.domain.order_weight
    points = np.column_stack([columns[name] for name in NAMES]).tolist()
    begin = time.process_time()
    every = list(range(len(points)))
    classes, *_ = transcription(points, every, every, K, delay, omega, flush=False)
    seconds = time.process_time() - begin
    if [position for members in classes for position in members] != np.concatenate(left).tolist():
        sys.exit(f"delay {delay}, weight {weight}: the classes differ")
    return sum(map(len, classes)) / seconds  # of those that left: the others only wait


def lost(tally: Tally) -> str:
    return f"loss {100 * tally.lost / (tally.spread or 1.0):.2f} %"


def line(name: str, n: int, clock: float, cpu: float, more: str) -> None:
    print(f"{name:<34} {n / clock:>10,.0f}/s, {n / cpu:>10,.0f}/s of processor, CPU {cpu:5.2f} s; {more}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tuples")
    n = 100_000 if parser.parse_args().quick else 1_000_000
    for subject in (None, "who"):
        through(made(20, 0.01, subject), tuples(500, 30 if subject else 0))  # compile
    for delay in PLAIN:
        for weight in (0.0, 0.01, "keep"):
            s = made(delay, weight)
            _, clock, cpu = through(s, tuples(n))
            plain = against_the_transcription(delay, weight)
            ratio = (s.tally.released / cpu) / plain
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            more = f"{ratio:,.0f} × the transcription, equal; {lost(s.tally)}; peak {peak:,.0f} MiB"
            line(f"δ {delay:>6,}, ω {weight}", n, clock, cpu, more)
    for delay in (100, 10_000):
        s = made(delay, subject="who")
        _, clock, cpu = through(s, tuples(n // 10, 1_000))
        line(f"δ {delay:>6,}, 1,000 subjects", n // 10, clock, cpu, lost(s.tally))
    rows = [dict(zip(NAMES, row, strict=True)) for row in np.random.default_rng(1).random((n // 20, 4)).tolist()]
    s = made(100)
    clock, cpu = time.perf_counter(), time.process_time()
    for row in rows:
        s.push(row)
    line("δ    100, one by one", len(rows), time.perf_counter() - clock, time.process_time() - cpu, lost(s.tally))
    print("\nFrom file to file")
    stream_files.main(n * 3 // 10)
    print("\nMethods")
    stream_methods.speed()


if __name__ == "__main__":
    main()
