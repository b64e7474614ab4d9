"""Released values of a stream: no finer than their resolution, the same in whatever order members come, and audited."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import GuaranteeError, ParameterError
from shoal.kernels.stream.means import means
from shoal.privacy.stream_gate.gate import Gate
from shoal.privacy.stream_gate.read_back import CsvReader, JsonlReader
from shoal.privacy.stream_gate.released_fields import Digits
from shoal.stream import StreamAnonymizer
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.types.stream import Leaving

ENDS: dict[str, Any] = {
    "age": (0, 120),
    "pay": (0, 90_000),
    "x": (-1, 1),
    "born": ("1930-01-15", "2020-12-20"),
    "seen": ("2024-01-01T06:30:00", "2024-12-31T23:59:59"),
}
BASE: dict[str, Any] = {"quasi": list(ENDS), "bounds": ENDS, "kinds": {"age": "integer"}, "k": 3, "delay": 9}


def tuples(n: int = 40, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    day, second = dt.date(1930, 1, 15), dt.datetime(2024, 1, 1, 6, 30)
    return [
        {
            "age": int(rng.integers(0, 120)),
            "pay": float(rng.random() * 90_000),
            "x": float(rng.random() * 2 - 1),
            "born": (day + dt.timedelta(days=int(rng.integers(0, 33_000)))).isoformat(),
            "seen": (second + dt.timedelta(seconds=int(rng.integers(0, 31_000_000)))).isoformat(),
            "note": i,
        }
        for i in range(n)
    ]


def released(rows: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    stream = StreamAnonymizer(**{**BASE, **more})
    return [one for row in rows for one in stream.push(row)] + stream.flush()


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_the_order_of_members_does_not_change_a_digit_of_a_mean(values: list[float], rng: Any) -> None:
    before = means(np.array(values), np.array([len(values)]))
    shuffled = values.copy()
    rng.shuffle(shuffled)
    assert means(np.array(shuffled), np.array([len(values)])).tobytes() == before.tobytes()


def test_means_of_sixteen_digits_are_exact_to_the_last_digit_but_one_in_any_order() -> None:
    rng = np.random.default_rng(1)
    for size in (2, 10, 600, 5000):
        values = rng.random(size) * 10.0 ** rng.integers(-3, 9)
        found = means(values, np.array([size]))[0]
        assert all(means(rng.permutation(values), np.array([size]))[0] == found for _ in range(20))
        exact = sum(map(Decimal, values.tolist())) / size
        assert abs(Decimal(float(found)) - exact) <= Decimal(float(np.ptp(values))) * Decimal(2) ** -51


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e299])
def test_means_of_tiny_and_huge_numbers(scale: float) -> None:
    found = means(np.array([1.0, 2.0, 6.0]) * scale, np.array([3]))[0]
    assert found == pytest.approx(3.0 * scale, rel=1e-9)


def test_the_digits_follow_from_the_kind() -> None:
    for one in released(tuples()):
        assert type(one["age"]) is int
        assert type(one["x"]) is float
        assert dt.date.fromisoformat(one["born"])
        assert dt.datetime.fromisoformat(one["seen"]).microsecond == 0


def test_exact_means_keep_all_digits_of_integers() -> None:
    assert any(one["age"] % 1 for one in released(tuples(), exact_means=True))


def test_a_resolution_is_kept_by_numbers_and_dates() -> None:
    steps = {"age": 5, "pay": 100, "x": 0.05, "born": "month", "seen": "hour"}
    plain, coarse = released(tuples()), released(tuples(), resolution=steps)
    assert [one["note"] for one in plain] == [one["note"] for one in coarse]  # classes are the same
    for before, after in zip(plain, coarse, strict=True):
        assert type(after["age"]) is int
        assert after["age"] % 5 == 0
        assert after["pay"] % 100 == 0
        assert Decimal(repr(after["x"])) % Decimal("0.05") == 0
        assert after["born"] == before["born"][:8] + "01"
        seen, was = (dt.datetime.fromisoformat(one["seen"]) for one in (after, before))
        assert (seen.minute, seen.second) == (0, 0)
        assert abs(seen - was) <= dt.timedelta(minutes=30, seconds=1)
        assert abs(after["x"] - before["x"]) <= 0.025 + 1e-12


@pytest.mark.parametrize("unit", ["year", "month", "day", "hour", "minute", "second"])
def test_units_of_time_stay_within_their_bounds_and_dates_stay_dates(unit: str) -> None:
    for one in released(tuples(), resolution={"seen": unit, "born": unit}):
        assert len(one["born"]) == 10
        seen = dt.datetime.fromisoformat(one["seen"])
        assert seen <= dt.datetime.fromisoformat(ENDS["seen"][1])
        below = ["year", "month", "day", "hour", "minute", "second"]
        rest = below[below.index(unit) + 1 :]
        assert all(getattr(seen, part) == (1 if part in ("month", "day") else 0) for part in rest)


def test_multiples_stay_within_the_bounds() -> None:
    rows = [{"p": value} for value in (98.0, 99.0, 99.0, 1.0, 1.0, 2.0)]
    stream = StreamAnonymizer(quasi=["p"], bounds={"p": (1, 99)}, k=3, delay=5, resolution={"p": 10})
    found = [one["p"] for row in rows for one in stream.push(row)] + [one["p"] for one in stream.flush()]
    assert sorted(set(found)) == [10.0, 90.0]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"resolution": {"height": 1}}, "resolution names 'height', which is not a quasi-identifier"),
        (
            {"resolution": {"age": 0}},
            "the resolution of 'age' must be a number > 0, because the field is integer; got 0",
        ),
        (
            {"resolution": {"age": 0.5}},
            "the resolution of 'age' must be a whole number, because the field is integer; got 0.5",
        ),
        ({"resolution": {"age": "month"}}, "the resolution of 'age' must be a number > 0"),
        ({"resolution": {"born": 7}}, "the resolution of 'born' must be one of year, month, day"),
        ({"resolution": {"born": "week"}}, "the resolution of 'born' must be one of year, month, day"),
        ({"resolution": {"x": 3}, "bounds": {**ENDS, "x": (1, 2)}}, "no multiple of it lies between the bounds"),
        ({"resolution": {"x": 1e-17}}, "it is finer than floats between the bounds"),
        ({"resolution": {"x": True}}, "must be a number > 0"),
        (
            {"resolution": {"seen": "day"}, "bounds": {**ENDS, "seen": ("2024-01-01T06:00", "2024-01-01T07:00")}},
            "no whole day lies between its bounds",
        ),
        ({"resolution": {"x": 0.5}, "exact_means": True}, "resolution and exact_means exclude each other"),
        ({"exact_means": "yes"}, "exact_means must be true or false"),
        ({"round_integers": False}, "round_integers must be true, got False.*set exact_means = true"),
    ],
)
def test_what_cannot_be_a_resolution_is_refused(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        StreamRecipe(**{**BASE, **said})


def test_a_category_has_no_resolution() -> None:
    recipe = {"quasi": ["c"], "categories": {"c": ["a", "b"]}, "k": 2, "delay": 2, "resolution": {"c": 1}}
    with pytest.raises(ParameterError, match="which is nominal: only numbers and dates have one"):
        StreamRecipe(**recipe)


def test_it_is_part_of_the_recipe_and_of_what_a_stream_was_begun_with() -> None:
    recipe = StreamRecipe(**BASE, resolution={"pay": 100, "born": "month"})
    assert StreamRecipe.from_toml(recipe.to_toml()) == recipe
    assert recipe.changed(StreamRecipe(**BASE).stored) == ("resolution",)
    assert StreamRecipe(**BASE, round_integers=True).known == StreamRecipe(**BASE).known


class TestTheGate:
    TENTHS = {"age": Digits(step=1, whole=True), "x": Digits(step=0.1)}  # noqa: RUF012

    def check(self, age: str, x: str, form: str) -> None:
        if form == "jsonl":
            reader: Any = JsonlReader(["age", "x"], [], "class")
            line = f'{{"age":{age},"x":{x},"class":0}}'.encode()
        else:
            reader = CsvReader(b"age,x", b"age,x,class", ["age", "x"], [], "class", ",", '"')
            line = f"{age},{x},0".encode()
        Gate(reader, 2, digits=self.TENTHS).check(Leaving(0, [line, line], [0, 1]), 0)

    @pytest.mark.parametrize("form", ["jsonl", "csv"])
    def test_lets_pass_what_is_no_finer(self, form: str) -> None:
        self.check("31", "0.3", form)
        self.check("-4", "2.0", form)

    @pytest.mark.parametrize("form", ["jsonl", "csv"])
    @pytest.mark.parametrize(
        ("age", "x", "name"),
        [("31.5", "0.3", "age"), ("31.0", "0.3", "age"), ("31", "0.30000000000000004", "x"), ("31", "0.25", "x")],
    )
    def test_refuses_what_is_finer(self, age: str, x: str, name: str, form: str) -> None:
        with pytest.raises(GuaranteeError, match=f"{name!r} has more digits than its resolution allows"):
            self.check(age, x, form)

    def test_a_stream_in_process_is_looked_at_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from shoal.stream.points._cells import Steps

        monkeypatch.setattr(Steps, "round", lambda self, values: values)
        with pytest.raises(GuaranteeError, match="'pay' has more digits"):
            released(tuples(), resolution={"pay": 100})

    def test_so_is_one_from_file_to_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from shoal.stream.points._cells import Steps

        source = tmp_path / "in.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in tuples()))
        recipe = StreamRecipe(**BASE, resolution={"pay": 100})
        shoal.run_stream(str(source), str(tmp_path / "out.jsonl"), recipe)
        left = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert all(one["pay"] % 100 == 0 for one in left)
        assert all(type(one["age"]) is int for one in left)
        monkeypatch.setattr(Steps, "round", lambda self, values: values + 0.5)
        with pytest.raises(GuaranteeError):
            shoal.run_stream(str(source), str(tmp_path / "again.jsonl"), recipe)


def test_the_command_line_takes_it(tmp_path: Path, run: Any) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b,note\n" + "".join(f"{i % 17},{i / 7},{i}\n" for i in range(30)))
    asked = ["stream", source, "-o", target, "--quasi", "a,b", "--bounds", "a=0:20,b=0:10", "--k", "3", "--delay", "6"]
    ran = run(*asked, "--kind", "a=integer", "--resolution", "b=0.5")
    assert ran.code == 0, ran.err
    rows = [line.split(",") for line in target.read_text().splitlines()[1:]]
    assert all(row[0].isdigit() and float(row[1]) * 2 % 1 == 0 for row in rows)
