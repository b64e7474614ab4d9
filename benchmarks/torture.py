"""Kill streams with SIGKILL at random moments, run them again, and count.

    python benchmarks/torture.py --channel files --kills 200

A channel takes part with a file in `arenas/`. Streams run in forks of a process that has everything loaded, so that
kills fall into the work, and not into the start. After each kill what can be seen of the output must begin with what
could be seen before. At the end every record must be in exactly one place, and every class must be one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

K, DELAY = 5, 60
RECIPE = {
    "quasi": ["a", "b"],
    "bounds": {"a": [0, 100], "b": [0, 1]},
    "k": K,
    "delay": DELAY,
    "subject": "pid",
    "identifier": ["name"],
}


def records(count: int, rng: random.Random) -> list[bytes]:
    """Make tuples of subjects that come back, at times so often that no class can form; one in fifty is no tuple."""
    made = []
    for i in range(count):
        who = 0 if i % 1000 > 800 else rng.randrange(count)
        one: dict[str, Any] = {"n": i, "pid": who, "name": f"name {i}", "a": rng.random() * 100}
        one["b"] = "none" if i % 50 == 7 else rng.random()
        made.append(json.dumps(one).encode() if i % 100 != 57 else b"torn " + json.dumps(one).encode())
    return made


def arena_of(channel: str) -> Any:
    path = Path(__file__).parent / "arenas" / f"{channel}.py"
    spec = importlib.util.spec_from_file_location(f"arena_{channel}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Arena


def child(arena: Any, rate: float | None, result: int) -> None:
    """Run the stream in a fork; write what it says at the end."""
    import shoal

    code = 1
    try:
        done = shoal.run_stream(arena.source, arena.target, RECIPE, dead=arena.dead, rate=rate)
        os.write(result, json.dumps(done.to_dict()).encode())
        code = 0
    except BaseException as error:
        os.write(result, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
    finally:
        os._exit(code)


def life(arena: Any, seconds: float | None, rate: float | None) -> dict[str, Any] | None:
    """Let the stream live for some seconds; return what it says if it came to its end before."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        child(arena, rate, write)
    os.close(write)
    deadline = None if seconds is None else time.monotonic() + seconds
    try:
        while True:
            gone, _ = os.waitpid(pid, os.WNOHANG)
            if gone:
                text = os.read(read, 1 << 20)
                return json.loads(text) if text else None
            over = deadline is not None and time.monotonic() > deadline
            if over or (seconds is None and not arena.ends and arena.settled()):
                os.kill(pid, signal.SIGKILL if over else signal.SIGTERM)
                os.waitpid(pid, 0)
                text = os.read(read, 1 << 20)
                return json.loads(text) if text else None
            time.sleep(0.0005)
    finally:
        os.close(read)


def is_tuple(number: int) -> bool:
    """Whether the record of this number is a tuple, as `records` makes them."""
    return number % 50 != 7


def judge(given: list[bytes], arena: Any, said: dict[str, Any], undisturbed: list[bytes]) -> dict[str, Any]:
    """Determine what became of every record, from the input and the output.

    Each record is either released, rejected or dropped. Dropped records are not listed; so the output is compared with
    that of a run that was never killed, because classes depend only on the records.
    """
    subjects = {n: json.loads(line)["pid"] for n, line in enumerate(given) if is_tuple(n)}
    left = [json.loads(line) for line in arena.released()]
    dead = Counter(json.loads(line)["position"] for line in arena.letters())
    seen = Counter(one["n"] for one in left)
    classes: dict[Any, list[dict[str, Any]]] = {}
    for one in left:
        classes.setdefault(one["class"], []).append(one)
    small = sum(len({subjects.get(one["n"]) for one in members} - {None}) < K for members in classes.values())
    mixed = sum(len({(one["a"], one["b"]) for one in members}) > 1 for members in classes.values())
    latest, late = -1, 0
    for members in classes.values():  # in the order in which they left
        late += sum(latest > one["n"] + DELAY for one in members)
        latest = max(latest, *(one["n"] for one in members))
    kept = [json.loads(line) for line in undisturbed]
    dropped = sum(n not in seen for n in subjects)
    return {
        "records": len(given),
        "released": len(left),
        "dead": dead.total(),
        "dropped": dropped,
        "lost": sum(not is_tuple(n) and n not in dead for n in range(len(given))) + abs(dropped - said["dropped"]),
        "twice": sum(count - 1 for count in (*seen.values(), *dead.values())),
        "strange": sum(n not in subjects for n in seen) + sum(is_tuple(n) for n in dead),
        "miscounted": sum(said[name] != count for name, count in _counts(given, left, dead, classes).items()),
        "other_classes": sum(one != other for one, other in zip_longest(_plain(left), _plain(kept))),
        "classes": len(classes),
        "classes_below_k": small,
        "classes_mixed": mixed,
        "classes_in_parts": sum(a != b for a, b in pairwise(one["class"] for one in left)) + 1 - max(len(classes), 1),
        "over_delay": late,
        "identifiers": sum("name" in one or "pid" in one for one in left),
    }


def _counts(given: list[bytes], left: list[Any], dead: Counter[int], classes: dict[Any, Any]) -> dict[str, int]:
    return {"read": len(given), "released": len(left), "dead": dead.total(), "classes": len(classes), "waiting": 0}


def _plain(left: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tuples with classes called by their number, also where the name of a lane stands before it."""
    return [{**one, "class": int(str(one["class"]).rpartition("-")[2])} for one in left]


FAULTS = (
    *("lost", "twice", "strange", "miscounted", "other_classes", "taken_back"),
    *("classes_below_k", "classes_mixed", "classes_in_parts", "over_delay", "identifiers"),
)


def calm(given: list[bytes]) -> list[bytes]:
    """Return the released tuples, from file to file, of a stream that is not killed."""
    with tempfile.TemporaryDirectory() as folder:
        arena = arena_of("files")(Path(folder), given)
        said = life(arena, None, None)
        if said is None or "error" in said:
            raise SystemExit(f"torture: a stream failed without being killed: {said}")
        found: list[bytes] = arena.released()
        return found


def torture(channel: str, kills: int, count: int, seed: int) -> dict[str, Any]:
    """Kill a stream this many times, starting new ones as they end."""
    rng = random.Random(seed)
    make = arena_of(channel)
    total: Counter[str] = Counter()
    while total["kills"] < kills:
        with tempfile.TemporaryDirectory() as folder:
            given = records(count, rng)
            arena = make(Path(folder), given)
            before: list[bytes] = []
            said = None
            wanted = min(kills - total["kills"], 10)
            for _ in range(wanted):
                said = life(arena, rng.uniform(*getattr(arena, "lives", (0.02, 0.4))), rate=count / 2)
                now = arena.released()
                total["taken_back"] += now[: len(before)] != before
                before = now
                if said is not None:
                    break
                total["kills"] += 1
            if said is None or "error" in said or not arena.ends:
                said = life(arena, None, None)
            if said is None or "error" in said:
                raise SystemExit(f"torture: the stream failed: {said}")
            total.update(judge(given, arena, said, calm(given)))
            total["streams"] += 1
            arena.close()
    return {"channel": channel, **total}


def main() -> None:
    """Torture one channel, or all there are."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--channel", action="append")
    asked.add_argument("--kills", type=int, default=200)
    asked.add_argument("--records", type=int, default=4000)
    asked.add_argument("--seed", type=int, default=0)
    options = asked.parse_args()
    everything = sorted(path.stem for path in (Path(__file__).parent / "arenas").glob("[a-z]*.py"))
    with tempfile.TemporaryDirectory() as folder:  # loads and compiles all that a fork needs
        warm = arena_of("files")(Path(folder), records(300, random.Random(0)))
        life(warm, None, None)
        import shoal

        shoal.run_stream(warm.source, f"{folder}/warm.jsonl", RECIPE, dead=f"{folder}/warm.dead")
    bad = False
    for channel in options.channel or everything:
        found = torture(channel, options.kills, options.records, options.seed)
        print(json.dumps(found), flush=True)
        bad = bad or any(found.get(name) for name in FAULTS)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
