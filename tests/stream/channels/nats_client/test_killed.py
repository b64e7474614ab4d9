"""Processes of ``shoal stream`` over NATS, killed at random moments: nothing lost, nothing twice, no broken class."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import signal
import time
from collections import Counter
from typing import Any

K, N = 4, 6000
OPTIONS = ["--quasi", "a,b", "--bounds", "a=0:100,b=0:1", "--k", str(K), "--delay", "60"]


def tuples(n: int) -> list[bytes]:
    rng = random.Random(7)
    made = [{"id": i, "a": round(100 * rng.random(), 3), "b": round(rng.random(), 4)} for i in range(n)]
    return [json.dumps(one).encode() for one in made]


def exactly_once(broker: Any, n: int | None) -> None:
    """Every tuple left in one class of at least k, all of whose quasi-identifiers are equal; None: some of them did."""
    classes = broker.released("OUT")
    assert all(len(members) >= K for members in classes)
    assert all(len({(one["a"], one["b"]) for one in members}) == 1 for members in classes)
    times = Counter(one["id"] for members in classes for one in members)
    assert max(times.values(), default=1) == 1
    assert n is None or len(times) == n


def test_kill_9_at_random_moments(broker: Any, shoal: Any) -> None:
    broker.make("IN", retention="workqueue")  # which deletes what is acknowledged
    broker.publish("IN", tuples(N))
    ends = [broker.at("IN") + "?until=end", "-o", broker.at("OUT"), *OPTIONS]
    rng, lives = random.Random(11), [(0, 0)]
    for life in range(11):
        before = lives[-1]
        process = shoal("stream", *ends, "--rate", "2500")
        # every third is killed while it begins, the others when something has left again
        while process.poll() is None and state(broker)[life % 3 > 0] == before[life % 3 > 0]:
            time.sleep(0.01)
        time.sleep(0.1 * rng.random())
        process.send(signal.SIGKILL)
        assert process.wait()[0] == -signal.SIGKILL
        lives.append(state(broker))
        exactly_once(broker, None)
    left = [released for _, released in lives]
    assert len(set(left)) >= 7  # kills hit a stream at work
    assert left[-1] < N
    code, out, error = shoal("stream", *ends, "--json").wait()
    assert code == 0, error
    found = json.loads(out)
    assert (found["read"], found["released"], found["dropped"]) == (N, N, 0)
    exactly_once(broker, N)


def state(broker: Any) -> tuple[int, int]:
    """Return the sequence number of the last state, and how many tuples it says to have left."""
    found = broker.api(f"STREAM.MSG.GET.{broker.name('OUT')}", last_by_subj=f"{broker.name('OUT')}.state")
    if "message" not in found:
        return 0, 0
    said = json.loads(base64.b64decode(found["message"]["data"]))
    return found["message"]["seq"], said["cursor"]["tally"]["released"]


def test_a_stream_that_is_told_to_stop_goes_on_when_it_is_run_again(broker: Any, shoal: Any) -> None:
    broker.make("IN")
    broker.publish("IN", tuples(2000))
    ends = [broker.at("IN") + "?until=end", "-o", broker.at("OUT"), *OPTIONS]
    process = shoal("stream", *ends, "--rate", "1500")
    while state(broker)[1] == 0:
        time.sleep(0.01)
    process.send(signal.SIGTERM)
    code, _, error = process.wait()
    assert code == 128 + signal.SIGTERM
    assert "Traceback" not in error
    assert 0 < state(broker)[1] < 2000
    exactly_once(broker, None)
    code, _, error = shoal("stream", *ends).wait()
    assert code == 0, error
    exactly_once(broker, 2000)


def test_bad_records_become_dead_letters_and_the_stream_goes_on(broker: Any, run: Any) -> None:
    broker.make("IN")
    good = tuples(40)
    bad = [
        b"no JSON",
        b'{"id": 1, "a": 3}',
        b'{"id": 1, "a": "much", "b": 0.5}',
        b'{"id":1,"a":NaN,"b":0.1}',
        b"\xff" * 99,
    ]
    broker.publish("IN", [*good[:20], *bad, b"[" + b"1," * 300_000 + b"1]", *good[20:]])
    dead = broker.name("OUT") + ".dead"
    ends = [broker.at("IN") + "?until=end", "-o", broker.at("OUT"), *OPTIONS, "--dead", dead]
    ran = run("stream", *ends, "--longest", "100000", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert (found["released"], found["dead"], found["finished"]) == (40, 6, True)
    letters = [json.loads(body) for _, body in broker.read("OUT", "dead")]
    assert [(one["position"], one["place"]) for one in letters] == [(i, i + 1) for i in range(20, 26)]
    assert all(set(one) == {"position", "place", "reason"} for one in letters)
    assert "much" not in str(letters)
    exactly_once(broker, 40)


def test_another_k_is_refused_and_nothing_changes(broker: Any, run: Any) -> None:
    broker.make("IN")
    broker.publish("IN", tuples(200))
    ends = [broker.at("IN") + "?until=end", "-o", broker.at("OUT"), *OPTIONS]
    assert run("stream", *ends).code == 0
    before = state(broker)
    ran = run("stream", *ends, "--k", "3")
    assert ran.code == 3
    assert ran.err == (
        f"shoal: {broker.at('OUT')}: this stream was started with another k. Continue as it was started, or name "
        "another subject with ?subject=.\n"
    )
    assert state(broker) == before


def test_fields_that_are_learnt_stay_the_same_when_it_goes_on(broker: Any, run: Any) -> None:
    broker.make("IN")
    broker.publish("IN", tuples(100))
    ends = [broker.at("IN") + "?until=end", "-o", broker.at("OUT"), *OPTIONS]
    ran = run("stream", *ends)
    assert "as in the first tuples: id. Records with other fields are rejected" in ran.err
    broker.publish("IN", [one[:-1] + b', "email": "ann"}' for one in tuples(140)[100:]] + tuples(200)[140:])
    ran = run("stream", *ends, "--json")
    found = json.loads(ran.out)
    assert (ran.code, ran.err, found["released"], found["dead"]) == (0, "", 160, 40)
    assert "the field 'email', which the recipe does not declare" in next(iter(found["reasons"]))
    assert not any("email" in one for members in broker.released("OUT") for one in members)


def test_a_recipe_that_rejects_everything_can_be_corrected(broker: Any, run: Any) -> None:
    broker.make("IN")
    broker.publish("IN", [*tuples(60), *[gzip.compress(one) for one in tuples(20)]])
    ends = [broker.at("IN") + "?until=end", "-o", broker.at("OUT")]
    ran = run("stream", *ends, *OPTIONS, "--quasi", "z", "--bounds", "z=0:1")
    assert ran.code == 3
    assert "80 of 80 records were rejected, more than max_rejected = 0.5 allows" in ran.err
    ran = run("stream", *ends, *OPTIONS, "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["released"], found["dead"]) == (0, 60, 20)
    assert "compressed with gzip" in next(iter(found["reasons"]))
    exactly_once(broker, 60)


def test_two_processes_are_fenced(broker: Any, shoal: Any) -> None:
    broker.make("IN")
    broker.publish("IN", tuples(3000))
    ends = [broker.at("IN") + "?until=end", "-o", broker.at("OUT"), *OPTIONS]
    older = shoal("stream", *ends, "--rate", "600")
    while state(broker)[1] == 0:
        time.sleep(0.01)
    code, _, error = shoal("stream", *ends).wait()
    assert code == 0, error
    code, _, error = older.wait()
    assert code == 5
    assert re.match(r"shoal: nats://[^ ]+: another instance (writes to|took over)", error.splitlines()[-1])
    exactly_once(broker, 3000)
