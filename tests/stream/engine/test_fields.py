"""Only declared fields are released: by files, in a program, with dotted paths, and as the gate sees it."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, GuaranteeError, ParameterError, SchemaError
from shoal.privacy.stream_gate.gate import Gate
from shoal.privacy.stream_gate.read_back import CsvReader, JsonlReader
from shoal.stream import StreamAnonymizer, StreamRecipe
from shoal.stream.channels._file_journal import Journal
from shoal.stream.wire.fields import Fate, Fields
from shoal.types.stream import Leaving

RECIPE: dict[str, Any] = {"quasi": ["a"], "bounds": {"a": [0, 1000]}, "k": 3, "delay": 6, "max_rejected": 1}
SECRET = "ann@example.org"


def tuples(count: int) -> list[dict]:
    return [{"a": i, "pay": i, "note": "x"} for i in range(count)]


def write(path: Path, records: list[Any]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Run:
    """Runs streams from file to file, and records their output."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said = folder, list[str]()

    def __call__(self, records: list[Any], *, out: str = "out.jsonl", **more: Any) -> list[dict]:
        write(self.folder / "in.jsonl", records)
        dead = self.folder / f"{out}.dead"
        self.done = shoal.run_stream(
            self.folder / "in.jsonl", self.folder / out, {**RECIPE, **more}, dead=dead, say=self.said.append
        )
        self.letters = read(dead)
        return read(self.folder / out)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_new_field_is_rejected_and_the_list_is_told_once(run: Run) -> None:
    records = tuples(300)
    for at in (40, 200):
        records[at]["email"] = SECRET
    left = run(records)
    assert {tuple(one) for one in left} == {("a", "pay", "note", "class")}
    assert SECRET not in (run.folder / "out.jsonl").read_text()
    assert [letter["position"] for letter in run.letters] == [40, 200]
    assert run.letters[0]["reason"] == (
        "the record has the field 'email', which the recipe does not declare. Name it in keep or identifier, or set "
        "unknown to remove."
    )
    assert run.said == [
        "Released unchanged, as in the first tuples: note, pay. Records with other fields are rejected. Name the "
        "fields in keep to choose them."
    ]


def test_fields_until_the_first_class_are_the_list(run: Run) -> None:
    records = tuples(60)
    records[6]["late"] = 1  # the tuple at whose coming the first class forms
    records[7]["later"] = 1
    records[20]["late"] = 2
    left = run(records)
    assert sum("late" in one for one in left) == 2
    assert [letter["position"] for letter in run.letters] == [7]


@pytest.mark.parametrize("value", [{"street": SECRET}, [SECRET], {}, []])
@pytest.mark.parametrize("at", [0, 30])
def test_objects_and_lists_are_undeclared_unless_named(run: Run, value: Any, at: int) -> None:
    records = [{**one, "home": None} for one in tuples(60)]
    records[at]["home"] = value
    left = run(records)
    assert [letter["position"] for letter in run.letters] == [at]
    assert "an object or a list in the field 'home', which the recipe does not declare" in run.letters[0]["reason"]
    assert len(left) == 59
    assert len(run(records, out="named.jsonl", keep=["home", "pay", "note"])) == 60
    removed = run(records, out="removed.jsonl", unknown="remove")
    assert (len(removed), sum("home" in one for one in removed)) == (60, 59)
    assert sum(one.get("home") == value for one in run(records, out="all.jsonl", unknown="keep")) == 1


@pytest.mark.parametrize("unknown", ["reject", "remove", "keep"])
def test_keep_and_unknown(run: Run, unknown: str) -> None:
    records = tuples(100)
    for one in records[50:]:
        one["email"] = SECRET
    left = run(records, keep=["pay", "note"], unknown=unknown)
    assert len(left) == (50 if unknown == "reject" else 100)
    assert sum("email" in one for one in left) == (50 if unknown == "keep" else 0)
    assert run.said == []
    few = run(tuples(30), out="few.jsonl", keep=["pay"], unknown="remove")
    assert {tuple(one) for one in few} == {("a", "pay", "class")}


def test_confidential_fields_need_not_be_kept(run: Run) -> None:
    left = run(tuples(40), keep=[], confidential=["pay"], unknown="remove")
    assert {tuple(one) for one in left} == {("a", "pay", "class")}


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_resumed_stream_has_the_same_list(tmp_path: Path, form: str) -> None:
    records = [{**one, "email": SECRET} if at == 700 else one for at, one in enumerate(tuples(800))]
    source, out = tmp_path / f"in.{form}", tmp_path / f"out.{form}"
    if form == "jsonl":
        write(source, records)
    else:
        with source.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["a", "pay", "note"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(records)
    calls: list[object] = []
    said: list[str] = []

    def stop(now: Any) -> None:
        calls.append(now)
        if now.tally.released:
            signal.raise_signal(signal.SIGTERM)

    assert not shoal.run_stream(source, out, RECIPE, rate=1000, watch=stop, say=said.append).finished
    base, steps = Journal(tmp_path / f"out.{form}.journal").read() or (None, [])
    assert [*steps, base][-2].cursor.memory["fields"] == ["note", "pay"]
    done = shoal.run_stream(source, out, RECIPE, say=said.append)
    assert done.counts.tally.dead == (1 if form == "jsonl" else 0)
    assert SECRET not in out.read_text()
    assert len(said) == 1


def test_a_corrected_recipe_resumes(run: Run) -> None:
    """A field that appears stops the stream; named in keep, nothing of it is lost."""
    records = tuples(3000)
    for one in records[2000:]:
        one["city"] = "x"
    more = {"bounds": {"a": [0, 3000]}, "max_rejected": 0.5}
    write(run.folder / "in.jsonl", records)
    with pytest.raises(DataError, match="has the field 'city', which the recipe does not declare"):
        shoal.run_stream(run.folder / "in.jsonl", run.folder / "out.jsonl", {**RECIPE, **more}, rate=9000)
    left = run.folder / "out.jsonl"
    before = left.read_bytes()
    assert 0 < len(read(left)) <= 2000
    recipe = {**RECIPE, **more, "keep": ["pay", "note", "city"]}
    done = shoal.run_stream(run.folder / "in.jsonl", left, recipe)
    assert (done.finished, done.counts.tally.dead) == (True, 0)
    assert left.read_bytes().startswith(before)
    assert sorted(one["pay"] for one in read(left)) == list(range(3000))
    with pytest.raises(DataError, match="started with another k"):
        shoal.run_stream(run.folder / "in.jsonl", left, {**recipe, "k": 4})


class TestCsv:
    TEXT = "name,a,email,pay\n" + "".join(f"n{i},{i},{SECRET},{i}\n" for i in range(30))

    def left(self, folder: Path, **more: Any) -> list[str]:
        (folder / "in.csv").write_text(self.TEXT)
        shoal.run_stream(folder / "in.csv", folder / "out.csv", {**RECIPE, "identifier": ["name"], **more})
        return (folder / "out.csv").read_text().splitlines()

    def test_columns_are_those_of_the_header(self, tmp_path: Path) -> None:
        assert self.left(tmp_path)[0] == "a,email,pay,class"

    def test_a_column_that_is_not_declared(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaError, match="Header: the recipe does not declare the column 'email'"):
            self.left(tmp_path, keep=["pay"])
        with pytest.raises(SchemaError, match="no column is called 'pya'"):
            self.left(tmp_path, keep=["pya"], unknown="remove")
        lines = self.left(tmp_path, keep=["pay"], unknown="remove")
        assert lines[0] == "a,pay,class"
        assert SECRET not in "".join(lines)
        assert len(lines) == 31

    def test_columns_stay(self, tmp_path: Path) -> None:
        self.left(tmp_path, keep=["pay"], unknown="remove")
        with pytest.raises(DataError, match="started with another keep"):
            self.left(tmp_path, keep=["pay", "email"], unknown="remove")


class TestPaths:
    """A name with points is a path; an exact name wins."""

    RECIPE: ClassVar[dict[str, Any]] = {
        **RECIPE, "quasi": ["user.a"], "bounds": {"user.a": [0, 100]}, "subject": "user.id",
        "identifier": ["user.x.mail"], "confidential": ["ill.name"], "keep": ["pay"], "require": {"p": 2},
    }  # fmt: skip

    @staticmethod
    def records(count: int = 40) -> list[dict]:
        return [
            {"user": {"id": i, "a": i, "x": {"mail": SECRET}}, "pay": i, "ill": {"name": f"i{i % 3}"}}
            for i in range(count)
        ]

    def check(self, left: list[dict]) -> None:
        assert len(left) == 40
        for one in left:
            assert set(one) == {"user", "pay", "ill", "class"}
            assert set(one["user"]) == {"a"}
            assert set(one["ill"]) == {"name"}
        by_class: dict[int, list[dict]] = {}
        for one in left:
            by_class.setdefault(one["class"], []).append(one)
        for members in by_class.values():
            assert {one["user"]["a"] for one in members} == {sum(one["pay"] for one in members) / len(members)}
            assert len({one["ill"]["name"] for one in members}) >= 2

    def test_files(self, run: Run) -> None:
        self.check(run(self.records(), **self.RECIPE))

    @pytest.mark.parametrize("how", ["one", "dicts", "arrow", "pandas"])
    def test_in_a_program(self, how: str) -> None:
        s = StreamAnonymizer(**self.RECIPE)
        if how == "one":
            left = [one for record in self.records() for one in s.push(record)]
        else:
            given: Any = self.records()
            given = {"dicts": list, "arrow": pa.Table.from_pylist, "pandas": pd.DataFrame}[how](given)
            many = s.push_many(given)
            left = many.to_pylist()
            table = many.to_table()
            assert table.column_names == ["user", "pay", "ill", "class"]
            assert table.to_pylist() == left
        self.check(left + s.flush())
        assert self.records() == self.records()

    def test_replay(self) -> None:
        table = pa.Table.from_pylist(self.records())
        assert shoal.replay(table, self.RECIPE)[0].tally.released == 40
        with pytest.raises(SchemaError, match=r"no column is called 'us\.a'"):
            shoal.replay(table, {**RECIPE, "quasi": ["us.a"], "bounds": {"us.a": [0, 9]}})

    def test_members_of_an_object_are_undeclared_unless_named(self, run: Run) -> None:
        records = self.records()
        records[9]["user"]["city"] = "x"
        run(records, **self.RECIPE)
        assert "the field 'user.city', which the recipe does not declare" in run.letters[0]["reason"]
        with pytest.raises(DataError, match=r"the field 'user\.city'"):
            StreamAnonymizer(**self.RECIPE).push(records[9])
        for keep in ("user.city", "user"):
            recipe = {**self.RECIPE, "keep": ["pay", keep]}
            left = run(records, out=f"{keep}.jsonl", **recipe)
            assert [one["user"]["city"] for one in left if "city" in one["user"]] == ["x"]
            assert {name for one in left for name in one["user"]} == {"a", "city"}
            s = StreamAnonymizer(**recipe)
            assert s.push_many(records).to_pylist() + s.flush() == left

    def test_an_exact_name_wins(self, run: Run) -> None:
        recipe = {**RECIPE, "quasi": ["u.a"], "bounds": {"u.a": [0, 100]}, "identifier": ["u.id"], "keep": ["u"]}
        records = [{"u.a": i, "u": {"a": SECRET, "id": SECRET, "b": 1}, "u.id": SECRET} for i in range(12)]
        left = run(records, **recipe)
        assert SECRET not in json.dumps(left)
        assert [set(one) for one in left] == [{"u.a", "u", "class"}] * 12
        assert all(one["u"] == {"b": 1} for one in left)
        s = StreamAnonymizer(**recipe)
        assert s.push_many(records).to_pylist() + s.flush() == left
        mixed = [{"u": {"a": i, "id": SECRET}} if i % 2 else one for i, one in enumerate(records)]
        left = run(mixed, out="mixed.jsonl", **recipe)
        assert len(left) == 12
        assert SECRET not in json.dumps(left)
        for one in left:
            assert isinstance(one["u.a"] if "u.a" in one else one["u"]["a"], float)

    def test_an_object_that_is_sometimes_none_does_not_slip_through(self, run: Run) -> None:
        recipe = {**RECIPE, "identifier": ["u.id"], "unknown": "keep"}
        records: list[dict] = [{"a": i, "u": {"id": SECRET, "b": 1}} for i in range(20)]
        records += [{"a": i, "u": None, "u.id": SECRET} for i in range(20, 40)]
        records += [{"a": i, "u": {"id": SECRET}, "u.id": SECRET} for i in range(40, 60)]
        left = run(records, **recipe)
        assert len(left) == 60
        assert SECRET not in json.dumps(left)

    def test_a_field_that_is_not_there(self, run: Run) -> None:
        records = self.records()
        del records[3]["user"]["x"]
        del records[4]["user"]["a"]
        records[5]["user"] = 7
        run(records, **self.RECIPE)
        assert [letter["position"] for letter in run.letters] == [3, 4, 5]

    def test_tables_of_objects(self, run: Run) -> None:
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(self.records()), run.folder / "in.parquet")
        shoal.run_stream(run.folder / "in.parquet", run.folder / "out.jsonl", self.RECIPE)
        self.check(read(run.folder / "out.jsonl"))


class TestInAProgram:
    def test_a_new_field_is_refused_and_changes_nothing(self) -> None:
        s = StreamAnonymizer(**RECIPE)
        assert s.released_unchanged is None
        left = [one for record in tuples(20) for one in s.push(record)]
        assert s.released_unchanged == ("note", "pay")
        said = "StreamAnonymizer: a tuple has the field 'email', which the recipe does not declare"
        waiting = s.waiting
        for push in (s.push, lambda one: s.push_many([one]), lambda one: s.push_many({n: [v] for n, v in one.items()})):
            with pytest.raises(DataError, match=said):
                push({"a": 1, "pay": 1, "note": "x", "email": SECRET})
            with pytest.raises(DataError, match="an object or a list in the field 'note'"):
                push({"a": 1, "pay": 1, "note": [SECRET]})
        assert s.waiting == waiting
        left += s.push({"a": 1, "pay": 1}) + s.flush()
        assert len(left) == 21

    def test_before_the_first_class_fields_are_learnt(self) -> None:
        records = tuples(60)
        records[6]["late"] = 1
        records[20]["late"] = 2
        one, many = StreamAnonymizer(**RECIPE), StreamAnonymizer(**RECIPE)
        left = [found for record in records for found in one.push(record)] + one.flush()
        assert many.push_many(records).to_pylist() + many.flush() == left
        assert one.released_unchanged == many.released_unchanged == ("late", "note", "pay")
        records[7]["later"] = 1
        s = StreamAnonymizer(**RECIPE)
        with pytest.raises(DataError, match="'later'"):
            s.push_many(records)
        assert (s.waiting, s.released_unchanged) == (0, None)
        s.push_many(records[:5])
        assert len(s.push_many(records[5:7])) > 0
        with pytest.raises(DataError, match="'later'"):
            s.push(records[7])

    @pytest.mark.parametrize("how", ["one", "dicts", "columns"])
    @pytest.mark.parametrize("unknown", ["reject", "remove", "keep"])
    def test_keep_and_unknown(self, how: str, unknown: str) -> None:
        s = StreamAnonymizer(**RECIPE, keep=["pay"], unknown=unknown)

        def pushed(records: list[dict]) -> list[dict]:
            if how == "one":
                return [one for record in records for one in s.push(record)]
            given: Any = records if how == "dicts" else pa.Table.from_pylist(records)
            return s.push_many(given).to_pylist()

        records = [{**one, "deep": {"x": 1}} for one in tuples(20)]
        if unknown == "reject":
            with pytest.raises(DataError, match="which the recipe does not declare"):
                pushed(records)
            return
        names = ("a", "pay", "class") if unknown == "remove" else ("a", "pay", "note", "deep", "class")
        assert {tuple(one) for one in pushed(records) + s.flush()} == {names}

    def test_tick_and_flush_end_the_learning(self) -> None:
        s = StreamAnonymizer(**{**RECIPE, "delay": 50, "delay_seconds": 1.0})
        for one in tuples(5):
            s.push(one, now=0.0)
        assert len(s.tick(2.0)) == 5
        with pytest.raises(DataError, match="'email'"):
            s.push({"a": 1, "email": SECRET}, now=3.0)


def reader(form: str, names: str = "a,pay,class", came: str = "a,pay,email") -> Any:
    if form == "jsonl":
        return JsonlReader(["a"], ["email"], "class", ["pay"])
    return CsvReader(came.encode(), names.encode(), ["a"], [], "class", ",", '"', ["pay"])


class TestTheGate:
    """It fails closed: what it does not know to be declared is not released."""

    @pytest.mark.parametrize(
        ("line", "learnt", "odd"),
        [
            (b'{"a":1,"pay":{"x":[1]},"class":0}', (), None),
            (b'{"a":1,"note":1.5,"class":0}', ("note",), None),
            (b'{"a":1,"note":1e999,"class":0}', ("note",), None),
            (b'{"a":1,"note":{"x":1},"class":0}', ("note",), "note"),
            (b'{"a":1,"note":[],"class":0}', ("note",), "note"),
            (b'{"a":1,"note":1,"class":0}', (), "note"),
            (b'{"a":1,"note":1,"class":0}', None, "note"),
            (b'{"a":1,"\\u006eote":1,"class":0}', (), "note"),
            (b'{"a":1,"class":0,"pay.x":1}', (), None),
            (b'{"a":1,"class":0,"x.pay":1}', (), "x.pay"),
        ],
    )
    def test_json(self, line: bytes, learnt: Any, odd: str | None) -> None:
        gate = Gate(reader("jsonl"), 2)
        if odd is None:
            gate.check(Leaving(0, [line, line], [0, 1]), 0, learnt=learnt)
            return
        with pytest.raises(GuaranteeError, match=f"holds the field '{odd}', which was not declared"):
            gate.check(Leaving(0, [line, line], [0, 1]), 0, learnt=learnt)

    def test_csv(self) -> None:
        Gate(reader("csv"), 2).check(Leaving(0, [b"1,2,0"] * 2, [0, 1]), 0)
        with pytest.raises(GuaranteeError, match="holds the field 'email', which was not declared"):
            Gate(reader("csv", "a,pay,email,class"), 2).check(Leaving(0, [b"1,2,3,0"] * 2, [0, 1]), 0)

    @pytest.mark.parametrize("line", [b'{"u":{"a":1,"id":2},"class":0}', b'{"u":{"a":1,"b":2},"class":0}'])
    def test_objects(self, line: bytes) -> None:
        gate = Gate(JsonlReader(["u.a"], ["u.id"], "class", []), 2)
        gate.check(Leaving(0, [b'{"u":{"a":1},"class":0}'] * 2, [0, 1]), 0, learnt=["u"])
        with pytest.raises(GuaranteeError):
            gate.check(Leaving(1, [line.replace(b'"class":0', b'"class":1')] * 2, [2, 3]), 1, learnt=["u", "u.b"])

    @pytest.mark.parametrize("text", [b'{"u":{"a":1,"a":1},"class":0}', b'{"u":{"a":1},"u":{"a":1},"class":0}',
                                      b'{"u.a":1,"u":{"a":1},"class":0}'])  # fmt: skip
    def test_fields_that_are_there_twice(self, text: bytes) -> None:
        with pytest.raises(GuaranteeError):
            Gate(JsonlReader(["u.a"], [], "class", ["u"]), 2).check(Leaving(0, [text] * 2, [0, 1]), 0)

    def test_a_wire_that_lets_a_field_through_is_stopped(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        real = Fields.fate

        def broken(self: Fields, name: str, **more: Any) -> Fate:
            return Fate.KEPT if name == "email" else real(self, name, **more)

        records = tuples(40)
        records[30]["email"] = SECRET
        monkeypatch.setattr(Fields, "fate", broken)
        with pytest.raises(GuaranteeError, match="holds the field 'email', which was not declared"):
            run(records)
        assert not (run.folder / "out.jsonl").exists()
        s = StreamAnonymizer(**RECIPE)
        s.push_many(records[:30])
        with pytest.raises(GuaranteeError, match="holds the field 'email', which was not declared"):
            s.push_many(records[30:])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"keep": "pay"}, "keep must be a list of field names, got 'pay'"),
        ({"keep": ["pay", ""]}, "keep must hold field names, got an empty one"),
        ({"keep": ["a"]}, "keep names 'a', which is quasi and cannot be released unchanged"),
        ({"keep": ["who"], "subject": "who"}, "keep names 'who', which is subject"),
        ({"keep": ["class"]}, "keep names 'class', which is class_field"),
        ({"keep": ["pay", "pay"]}, "field 'pay' is named twice in keep"),
        ({"unknown": "drop"}, "unknown must be one of reject, remove, keep, got 'drop'"),
    ],
)
def test_recipes_that_are_refused(more: dict, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        StreamRecipe(**{**RECIPE, **more})


def test_a_recipe_comes_back_from_toml() -> None:
    recipe = StreamRecipe(**RECIPE, keep=["b"], unknown="remove")
    assert StreamRecipe.from_toml(recipe.to_toml()) == recipe
    assert StreamRecipe.from_toml(StreamRecipe(**RECIPE, keep=[]).to_toml()).keep == ()
    assert recipe.fingerprint == StreamRecipe(**RECIPE).fingerprint
