"""Anatomy: two tables that are joined by the class only, both or neither, and an audit of their own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.flow.plan.plan import Plan
from shoal.flow.protect import protect as flow
from shoal.flow.protect.anonymise import plan_for
from shoal.flow.stages.read import schema_for
from shoal.locations import beside, place
from shoal.privacy.anatomy_k import AnatomyK
from shoal.release.anatomy import Anatomy
from shoal.types import Column, Kind, Partition, Points, Release, Role, Run, Schema, Table
from shoal.types.statistical_files import Variable

RNG = np.random.default_rng(8)
N = 60
FRAME = pa.table(
    {
        "id": [f"p{i}" for i in range(N)],
        "x": RNG.normal(size=N),
        "ill": pa.array(RNG.choice(["flu", "none", "ulcer"], N).tolist()),
        "y": RNG.integers(0, 90, N),
        "pay": pa.array([None if i % 9 == 0 else float(p) for i, p in enumerate(RNG.integers(1, 9, N))]),
        "note": [f"n{i}" for i in range(N)],
    }
)
RECIPE = {"quasi": ["x", "y"], "confidential": ["ill", "pay"], "identifier": ["id"], "k": 5, "release": "anatomy"}


def rows(table: pa.Table, names: list[str]) -> list[tuple]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def by_class(classes: list[int], cells: list[tuple]) -> dict[int, Counter]:
    return {one: Counter(c for c, its in zip(cells, classes, strict=True) if its == one) for one in set(classes)}


class TestTheTables:
    def test_all_but_the_confidential_columns_leave_as_they_were(self) -> None:
        done = shoal.protect(FRAME, RECIPE)
        assert done.data.column_names == ["x", "y", "note", "class"]
        assert done.data.select(["x", "y", "note"]).equals(FRAME.select(["x", "y", "note"]))
        assert all(value == 0 for value in done.readings.to_dict().values())

    def test_every_class_has_the_whole_rows_that_it_had(self) -> None:
        done = shoal.protect(FRAME, RECIPE)
        assert done.confidential.column_names == ["class", "ill", "pay"]
        before = by_class(done.data["class"].to_pylist(), rows(FRAME, ["ill", "pay"]))
        assert by_class(done.confidential["class"].to_pylist(), rows(done.confidential, ["ill", "pay"])) == before
        assert min(sum(rows.values()) for rows in before.values()) >= 5

    def test_classes_are_those_of_the_partition_numbered_by_their_first_records(self) -> None:
        done = shoal.protect(FRAME, RECIPE)
        numbers = done.data["class"].to_numpy()
        assert list(dict.fromkeys(numbers.tolist())) == list(range(len(done.partition)))
        assert np.array_equal(numbers[:, None] == numbers, done.partition.labels[:, None] == done.partition.labels)

    @settings(max_examples=60, deadline=None)
    @given(st.permutations(range(8)), st.lists(st.sampled_from([None, 0.0, -0.0, 1.0]), min_size=8, max_size=8))
    def test_the_second_table_does_not_depend_on_who_has_which_row_of_a_class(self, order: list, pay: list) -> None:
        labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
        inside = [*(i for i in order if i < 4), *(i for i in order if i >= 4)]
        schema = Schema((Column("x", Role.QUASI, Kind.CONTINUOUS), Column("pay", Role.CONFIDENTIAL, Kind.CONTINUOUS)))
        tables = []
        for cells in (pay, [pay[i] for i in inside]):
            data = pa.table({"x": np.arange(8.0), "pay": pa.array(cells, pa.float64())})
            points, part = Points(np.zeros((8, 1)), ("x",)), Partition.of(labels, ["x"])
            done = Anatomy().release(Table(data, schema), points, part, None, np.random.default_rng(0))
            tables.append(repr(done.apart.data.to_pydict()))  # which tells −0 from 0
        assert tables[0] == tables[1]

    @pytest.mark.parametrize(
        "frame", [pl.DataFrame(FRAME), FRAME.to_pandas(), FRAME.to_pandas(types_mapper=pd.ArrowDtype)]
    )
    def test_frames_of_every_kind_come_back(self, frame: object) -> None:
        done = shoal.protect(frame, RECIPE)
        assert type(done.data) is type(frame) is type(done.confidential)
        assert list(done.confidential.columns) == ["class", "ill", "pay"]
        as_arrow = pl.DataFrame(done.confidential) if isinstance(frame, pd.DataFrame) else done.confidential
        plain = shoal.protect(FRAME, RECIPE).confidential
        assert [tuple(row) for row in as_arrow.select("class", "ill").rows()] == rows(plain, ["class", "ill"])

    def test_an_index_does_not_leave(self) -> None:
        frame = FRAME.to_pandas().set_index("id", drop=False)
        done = shoal.protect(frame, RECIPE)
        assert done.confidential.index.tolist() == done.data.index.tolist() == list(range(N))

    def test_records_that_are_excluded_are_in_neither(self) -> None:
        x = [None if i % 10 == 0 else v for i, v in enumerate(FRAME["x"].to_pylist())]
        done = shoal.protect(FRAME.set_column(1, "x", pa.array(x)), {**RECIPE, "when_missing": "exclude"})
        assert done.left_out == 6
        assert done.data.num_rows == done.confidential.num_rows == 54


class TestTheAudit:
    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.integers(0, 3), min_size=1, max_size=9),
        st.lists(
            st.tuples(st.sampled_from([None, "", "a"]), st.sampled_from([None, 0.0, 2.5])), min_size=9, max_size=9
        ),
    )
    def test_of_whatever_is_released_it_finds_the_smallest_class(self, labels: list, cells: list) -> None:
        n = len(labels)
        columns = (("x", Role.QUASI), ("ill", Role.CONFIDENTIAL), ("pay", Role.CONFIDENTIAL))
        schema = Schema(tuple(Column(name, role, Kind.NOMINAL) for name, role in columns))
        ill, pay = pa.array([c[0] for c in cells[:n]], pa.string()), pa.array([c[1] for c in cells[:n]], pa.float64())
        table = Table(pa.table({"x": np.arange(n), "ill": ill, "pay": pay}), schema)
        part, points = Partition.of(np.array(labels), ["x"]), Points(np.zeros((n, 1)), ("x",))
        found = AnatomyK().audit(Anatomy().release(table, points, part, None, np.random.default_rng(0)), ["class"])
        assert found.achieved == min(labels.count(label) for label in set(labels))

    def test_the_guarantee_is_another_and_grouping_is_only_reported(self) -> None:
        found = shoal.protect(FRAME, RECIPE).audit
        assert found.findings[0].model == "anatomy_k"
        assert (found.findings[0].required, found.findings[0].attributes) == (5, ("class",))
        assert (found.overall.model, found.overall.promised, found.overall.achieved) == ("k_anonymity", False, 1)
        assert set(found.to_dict()["confidential"]["ill"]) >= {"alpha", "t", "p"}

    def test_what_is_required_of_confidential_columns_is_audited_in_the_second_table(self) -> None:
        done = shoal.protect(FRAME, {**RECIPE, "t": 0.3, "require": {"l_distinct": 3}})
        required = done.audit.to_dict()["requirements"]
        assert [one["model"] for one in required] == [
            "anatomy_k", *["t_closeness"] * 2, *["distinct_l_diversity"] * 2,
        ]  # fmt: skip
        assert all(one["holds"] and one["attributes"] == ["class"] for one in required)
        seen = shoal.audit(done.confidential, ["class"], ["ill", "pay"], require={"k": 5, "t": 0.3, "l_distinct": 3})
        assert seen.holds

    def test_classes_do_not_cross_strata_and_k_counts_subjects(self) -> None:
        more = {"s": pa.array(["a", "b"] * 30), "who": pa.array([i // 2 for i in range(N)]), "w": RNG.uniform(1, 3, N)}
        frame = FRAME
        for name, column in more.items():
            frame = frame.append_column(name, [column])
        done = shoal.protect(frame, {**RECIPE, "strata": ["s"], "subject": "who", "weight": "w"})
        assert done.data.column_names == ["x", "y", "note", "s", "w", "class"]
        assert len(set(rows(done.data, ["class", "s"]))) == len(done.partition)
        assert "counted in subjects" in done.audit.findings[0].note
        assert done.audit.overall.found[0][0] == "weighted_k"

    def test_households_stay_together(self) -> None:
        frame = FRAME.append_column("home", [pa.array([i // 3 for i in range(N)])])
        done = shoal.protect(frame, {**RECIPE, "together": "home", "k": 3})
        assert "home" not in [*done.data.column_names, *done.confidential.column_names]
        assert len({(i // 3, c) for i, c in enumerate(done.data["class"].to_pylist())}) == N // 3

    def test_rows_in_the_order_of_a_confidential_column_are_refused(self) -> None:
        frame = FRAME.sort_by("pay")
        with pytest.raises(shoal.GuaranteeError, match="within classes, rows are sorted by 'pay'"):
            shoal.protect(frame, RECIPE)


def _with(release: Release, name: str, change: object, *, second: bool) -> Release:
    table = release.apart.data if second else release.data
    values = table[name].to_pylist()
    change(values)
    data = table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))
    return replace(release, apart=replace(release.apart, data=data)) if second else replace(release, data=data)


def _shift(values: list) -> None:
    values[17] = (values[17] + 1) % (max(values) + 1)


def _exchange(values: list) -> None:
    other = next(i for i, value in enumerate(values) if i >= N // 2 and value != values[0])
    values[0], values[other] = values[other], values[0]


def _drop(release: Release) -> Release:
    return replace(release, apart=replace(release.apart, data=release.apart.data.slice(1)))


def _small_class(release: Release) -> Release:
    """Move a record into a class of its own, in both tables."""
    cells, n = rows(release.apart.original, ["ill", "pay"]), len(set(release.data["class"].to_pylist()))
    one = release.data["class"][0].as_py()
    where = next(
        i for i, row in enumerate(rows(release.apart.data, ["class", "ill", "pay"])) if row == (one, *cells[0])
    )
    release = _with(release, "class", lambda values: values.__setitem__(0, n), second=False)
    return _with(release, "class", lambda values: values.__setitem__(where, n), second=True)


def _leaking(release: Release) -> Release:
    return replace(release, data=release.data.append_column("pay", release.apart.original["pay"]))


def _named(release: Release) -> Release:
    return replace(release, data=release.data.append_column("id", FRAME["id"]))


CHANGES = {
    "a class number of the first table": lambda r: _with(r, "class", _shift, second=False),
    "a class number of the second table": lambda r: _with(r, "class", _shift, second=True),
    "two cells of different classes": lambda r: _with(r, "ill", _exchange, second=True),
    "a row is missing": _drop,
    "a small class": _small_class,
    "a confidential column in the first table": _leaking,
    "an identifier": _named,
    "no second table": lambda r: replace(r, apart=None),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out.xlsx"])
def test_what_is_not_as_promised_does_not_leave(
    what: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = flow.anonymise

    def anonymise(*args: object, **more: object) -> Run:
        made = real(*args, **more)
        return replace(made, release=CHANGES[what](made.release))

    pq.write_table(FRAME, tmp_path / "in.parquet")
    monkeypatch.setattr(flow, "anonymise", anonymise)
    with pytest.raises(shoal.GuaranteeError, match="Nothing was written"):
        shoal.protect_file(tmp_path / "in.parquet", tmp_path / target, RECIPE)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_classes_that_cross_strata_do_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = FRAME.append_column("s", [pa.array(["a", "b"] * 30)])
    made = flow.anonymise(*_prepared(frame))
    monkeypatch.setattr(flow, "anonymise", lambda *args, **more: made)
    with pytest.raises(shoal.GuaranteeError, match="Classes cross the strata of s"):
        shoal.protect(frame, {**RECIPE, "strata": ["s"]})


def _prepared(frame: pa.Table) -> tuple[Plan, Table]:
    recipe = shoal.Recipe.from_dict(RECIPE)
    table = Table(frame, schema_for(frame, recipe, None))
    return plan_for(table, recipe), table


class TestFiles:
    @pytest.mark.parametrize(
        "target", ["out.csv", "out.tsv", "out.parquet", "out.arrow", "out.sav", "out.dta", "out.xlsx"]
    )
    @pytest.mark.parametrize("source", ["in.csv", "in.parquet"])
    def test_two_files_appear_that_can_be_read_and_joined(self, source: str, target: str, tmp_path: Path) -> None:
        shoal.write_table(FRAME, tmp_path / source)
        done = shoal.protect_file(tmp_path / source, tmp_path / target, RECIPE)
        second = tmp_path / target.replace("out.", "out.confidential.")
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source, target, second.name])
        assert done.beside == str(second)
        assert shoal.audit_file(second, ["class"], ["ill", "pay"], require={"k": 5}).holds

    def test_cells_of_text_leave_as_they_were_written(self, tmp_path: Path) -> None:
        lines = [f"{i:+04d}; {i}.50;{i * 7 % 11 % 3},0{i % 2};" for i in range(30)]
        (tmp_path / "in.csv").write_text("x;y;pay;z\n" + "\n".join(lines) + "\n")
        recipe = {"quasi": ["x"], "confidential": ["pay"], "k": 3, "release": "anatomy", "text": {"decimal": ","}}
        recipe |= {"row_order": "keep"}
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe)
        first, second = ((tmp_path / name).read_text().splitlines() for name in ("out.csv", "out.confidential.csv"))
        assert first[0] == "x;y;z;class"
        assert [line.rpartition(";")[0] for line in first[1:]] == [
            ";".join((*line.split(";")[:2], "")) for line in lines
        ]
        assert Counter(line.partition(";")[2] for line in second[1:]) == Counter(line.split(";")[2] for line in lines)

    @pytest.mark.parametrize("target", ["out.sav", "out.dta"])
    def test_an_empty_text_is_a_missing_one_where_the_format_has_no_other_word(
        self, target: str, tmp_path: Path
    ) -> None:
        texts = [("", "a", "b", None)[int(i)] for i in RNG.integers(0, 4, N)]
        shoal.write_table(FRAME.append_column("s", [texts]), tmp_path / "in.parquet")
        recipe = {**RECIPE, "confidential": ["s", "ill", "pay"]}
        assert shoal.protect_file(tmp_path / "in.parquet", tmp_path / target, recipe).audit.holds

    @pytest.mark.parametrize("target", ["out.sav", "out.dta", "out.csv", "out.parquet", "out.xlsx"])
    def test_codes_that_a_file_declares_to_be_missing_leave_as_cells(self, target: str, tmp_path: Path) -> None:
        pay = Variable("spss", missing=((-9.0, -9.0),), label="pay").onto(pa.field("pay", pa.float64()))
        values = [-9.0 if i % 4 == 0 else float(p) for i, p in enumerate(RNG.integers(0, 50, N))]
        schema = pa.schema([pa.field("x", pa.float64()), pay])
        shoal.write_table(pa.table([FRAME["x"], pa.array(values)], schema=schema), tmp_path / "in.sav")
        recipe = {"quasi": ["x"], "confidential": ["pay"], "k": 3, "release": "anatomy", "t": 0.5}
        done = shoal.protect_file(tmp_path / "in.sav", tmp_path / target, recipe)
        assert done.audit.holds
        if target != "out.dta":  # where such codes are letters
            assert sorted(done.confidential["pay"].to_pylist()) == sorted(values)

    def test_labels_are_in_both_files(self, tmp_path: Path) -> None:
        kinds = {"x": pa.float64(), "ill": pa.string()}
        x, ill = (Variable("spss", label=f"what {n} is").onto(pa.field(n, kind)) for n, kind in kinds.items())
        shoal.write_table(pa.table([FRAME["x"], FRAME["ill"]], schema=pa.schema([x, ill])), tmp_path / "in.sav")
        recipe = {"quasi": ["x"], "confidential": ["ill"], "k": 3, "release": "anatomy"}
        done = shoal.protect_file(tmp_path / "in.sav", tmp_path / "out.sav", recipe)
        for table, name in ((done.data, "x"), (done.confidential, "ill")):
            assert Variable.of(table.schema.field(name)).label == f"what {name} is"

    @pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out.xlsx"])
    def test_cells_with_a_decimal_comma_and_words_for_no_value(self, target: str, tmp_path: Path) -> None:
        cells = ["NA" if i % 6 == 0 else f"{i * 7 % 30},5" for i in range(30)]
        (tmp_path / "in.csv").write_text("x;y\n" + "".join(f"{i};{cell}\n" for i, cell in enumerate(cells)))
        text = {"decimal": ",", "delimiter": ";", "missing": ["NA"]}
        recipe = {"quasi": ["x"], "confidential": ["y"], "k": 3, "release": "anatomy", "text": text, "t": 0.5}
        done = shoal.protect_file(tmp_path / "in.csv", tmp_path / target, recipe)
        assert done.audit.holds
        assert done.confidential.num_rows == 30

    @pytest.mark.parametrize("there", ["out.csv", "out.confidential.csv"])
    def test_neither_is_replaced_without_force_and_both_with_it(self, there: str, tmp_path: Path) -> None:
        shoal.write_table(FRAME, tmp_path / "in.csv")
        (tmp_path / there).write_text("mine")
        with pytest.raises(shoal.ParameterError, match=f"{there}: already exists"):
            shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in.csv", there])
        assert (tmp_path / there).read_text() == "mine"
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE, force=True)
        assert (tmp_path / there).read_text() != "mine"

    def test_the_second_must_be_neither_the_input_nor_the_recipe(self, tmp_path: Path) -> None:
        shoal.write_table(FRAME, tmp_path / "out.confidential.csv")
        with pytest.raises(shoal.ParameterError, match="the output must not be the input"):
            shoal.protect_file(tmp_path / "out.confidential.csv", tmp_path / "out.csv", RECIPE, force=True)
        shoal.write_table(FRAME, tmp_path / "in.csv")
        second = tmp_path / "out.confidential.csv"
        with pytest.raises(shoal.ParameterError, match="the recipe must not replace"):
            shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE, force=True, save_recipe=second)

    def test_names_beside(self) -> None:
        found = {
            given: str(beside(place(given)))
            for given in ("a/b.sav", "sqlite:///p.db?table=main.s", 'postgresql://u:pw@h/d?table="a.b"&sslmode=require')
        }
        assert list(found.values()) == [
            "a/b.confidential.sav",
            "sqlite:///p.db?table=main.s_confidential",
            'postgresql://u:***@h/d?table="a.b_confidential"',
        ]


def test_the_command_prints_both_paths_and_what_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable
) -> None:
    monkeypatch.chdir(tmp_path)
    shoal.write_table(FRAME, tmp_path / "in.csv")
    command = ("protect", "in.csv", "--quasi", "x,y", "--confidential", "ill,pay", "--identifier", "id", "--release")
    ran = run(*command, "anatomy", "-o", "out.csv", "--require", "l_distinct=2")
    assert (ran.code, ran.err) == (0, "")
    for words in (
        "in the second table",
        "Nothing is lost in the quasi-identifiers",
        "out.csv and out.confidential.csv",
    ):
        assert words in ran.out
    found = json.loads(run(*command, "anatomy", "-o", "again.parquet", "--json").out)
    assert (found["output"], found["confidential"]) == ("again.parquet", "again.confidential.parquet")
    assert "confidential" not in json.loads(run(*command, "swap", "-o", "other.csv", "--json").out)


class TestRefused:
    @pytest.mark.parametrize(
        ("more", "match"),
        [
            ({"confidential": []}, "there must be at least one confidential column, got none"),
            ({"set": {"class_name": "Note"}}, "a column is already called 'Note'"),
            ({"set": {"class_name": " "}}, "class_name must be the name of a column"),
            ({"blocks": [["x"], ["y"]]}, "there must be one block of quasi-identifiers, got 2"),
            ({"method": "mic1d"}, "the method must form classes of at least k records; mic1d does not"),
            ({"method": "individual_ranking"}, "one"),
            ({"when_missing": "fill"}, "when_missing must be 'category' or 'exclude', got 'fill'"),
            ({"t": 0.3, "n": 20}, "n is not possible"),
            ({"strata": ["note"], "small_strata": "merge"}, "small_strata must be 'refuse'"),
        ],
    )
    def test_what_makes_no_sense(self, more: dict, match: str) -> None:
        with pytest.raises(shoal.ParameterError, match=match):
            shoal.protect(FRAME, {**RECIPE, **more})

    def test_a_column_that_is_called_class_needs_another_name(self) -> None:
        frame = FRAME.append_column("class", FRAME["y"])
        with pytest.raises(shoal.ParameterError, match="--set class_name=…"):
            shoal.protect(frame, RECIPE)
        done = shoal.protect(frame, {**RECIPE, "set": {"class_name": "group"}})
        assert done.data.column_names[-2:] == ["class", "group"]
        assert done.confidential.column_names[0] == "group"

    def test_columns_that_cannot_be_sorted(self) -> None:
        frame = FRAME.append_column("many", [pa.array([[1, 2]] * N)])
        with pytest.raises(shoal.ShoalError, match="many"):
            shoal.protect(frame, {**RECIPE, "confidential": ["many"]})
