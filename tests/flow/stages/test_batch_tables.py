"""Schemas and values of batches are those of the whole table."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.errors import DataError, SchemaError, ShoalError
from shoal.flow.stages import batch_tables
from shoal.flow.stages.batch_tables import BatchReader, schema_of_batches
from shoal.flow.stages.batches import Batches, open_batches
from shoal.flow.stages.encode import encode
from shoal.flow.stages.read import open_source, read_table, schema_for
from shoal.flow.stages.values import as_values
from shoal.io.sources import _text_chunks
from shoal.locations import place
from shoal.recipe.recipe import Recipe
from shoal.schema import kinds
from shoal.types import Kind, Role, Table
from shoal.types.statistical_files import Variable

POOLS = (
    ["1", "2", "31", "-4"],
    ["1", "2.5", "1e3", ".5"],
    ["007", "12", "120"],
    ["2024-01-31", "1999-12-01"],
    ["2024-01-31", "2024-01-31 08:15", "2024-01-31T08:15:00.123"],
    ["2024-01-31T08:15:00Z", "2024-01-31T08:15:00+01:00"],
    ["2024-01-31T08:15:00Z", "2024-01-31T08:15:00"],
    ["2024-01-31T08:15:00.123456789", "1500-01-01"],
    ["2024-02-30", "2024-01-31"],
    ["99999999999999999999", "1"],
    ["0.1234567890123456789", "1"],
    ["a", "b", "NA"],
    ["1", "a", "2024-01-31"],
    ["1,5", "2,5"],
    ["0x1F", "1", "+2"],
    ["nan", "inf", "1"],
)


@st.composite
def columns(draw: st.DrawFn, n: int) -> list[str]:
    pool = draw(st.sampled_from(POOLS))
    cells = draw(st.lists(st.sampled_from([*pool, *pool, "", " 1 ", "NA"]), min_size=n, max_size=n))
    if draw(st.booleans()):
        cells = [cell if cell in pool else pool[0] for cell in cells]
    return cells


@st.composite
def texts(draw: st.DrawFn) -> str:
    n = draw(st.integers(1, 30))
    made = [draw(columns(n)) for _ in range(3)]
    return "a;b;c\n" + "".join(";".join(row) + "\n" for row in zip(*made, strict=True))


def result(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except ShoalError as error:
        return type(error), error.sentences


def opened(path: Path, recipe: Recipe, *, textual: bool = False) -> Batches:
    return open_batches(place(path), recipe, textual=textual)


def in_batches(path: Path, recipe: Recipe, *, textual: bool, rows: int = 4) -> Table:
    """The batches as one table, with what was parsed of them."""
    batches = opened(path, recipe, textual=textual)
    reader = BatchReader(batches, schema_of_batches(batches, recipe), textual)
    tables = list(reader.read(rows=rows))
    assert len({table.data.schema for table in tables}) == 1
    whole = Table(pa.concat_tables(table.data for table in tables), tables[0].schema, tables[0].dialect)
    for key in tables[0].cache:
        assert len({table.cache[key].type for table in tables}) == 1
        whole.cache[key] = pa.chunked_array([chunk for table in tables for chunk in table.cache[key].chunks])
    return whole


def shown(table: Table) -> Any:
    return table.schema, table.data.schema, table.data.to_pydict(), table.dialect


def kinds_in_memory(path: Path, recipe: Recipe) -> Any:
    data, dialect = open_source(place(path), recipe.text).read(path)
    return schema_for(data, recipe, dialect)


RECIPES = (
    {"quasi": ["a"], "confidential": ["b"]},
    {"quasi": ["a", "b"], "confidential": ["c"], "kinds": {"a": "ordinal"}},
    {"quasi": ["a"], "weight": "b", "kinds": {"a": "datetime"}},
    {"quasi": ["b"], "kinds": {"b": "integer", "c": "ordinal"}, "confidential": ["c"]},
)
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class TestText:
    @FEW
    @given(text=texts(), given_=st.sampled_from(RECIPES), missing=st.booleans(), sample=st.sampled_from([3, 1000]))
    def test_the_schema_is_that_of_the_whole_table(
        self, tmp_path: Path, text: str, given_: dict[str, Any], missing: bool, sample: int
    ) -> None:
        path = tmp_path / "a.csv"
        path.write_text(text)
        recipe = Recipe(**given_, k=2, text={"delimiter": ";", "missing": ["NA"] if missing else []})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_text_chunks, "CHUNK", 16)
            patch.setattr(kinds, "_SAMPLE", sample)
            found = result(lambda: schema_of_batches(opened(path, recipe), recipe))
            assert found == result(lambda: kinds_in_memory(path, recipe))

    @FEW
    @given(text=texts(), given_=st.sampled_from(RECIPES), missing=st.booleans(), textual=st.booleans())
    def test_tables_are_those_in_memory(
        self, tmp_path: Path, text: str, given_: dict[str, Any], missing: bool, textual: bool
    ) -> None:
        path = tmp_path / "a.csv"
        path.write_text(text)
        recipe = Recipe(**given_, k=2, text={"delimiter": ";", "missing": ["NA"] if missing else []})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_text_chunks, "CHUNK", 16)
            found = result(lambda: in_batches(path, recipe, textual=textual))
        whole = result(lambda: read_table(place(path), recipe, textual=textual))
        if isinstance(found, Table) and isinstance(whole, Table):
            names = whole.schema.names(Role.QUASI) if textual else ()
            for name in names:
                assert result(lambda name=name: as_values(name, found, exact=True)) == result(
                    lambda name=name: as_values(name, whole, exact=True)
                )
            if textual and names:
                encoded = result(lambda: encode(whole, names)[0].dialect)
                if encoded != found.dialect:
                    assert isinstance(encoded, tuple)  # refused: decimal commas, for instance
            else:
                assert shown(found) == shown(whole)
        else:  # in memory, the first column that does not fit is named
            cells = result(lambda: read_table(place(path), recipe, textual=True))
            if isinstance(cells, tuple):  # refused: confidential numbers in another convention
                assert whole == cells
                assert isinstance(found, tuple)  # perhaps for a fault that it meets first
                return
            faults = [result(lambda name=name: as_values(name, cells, exact=True)) for name in ("a", "b")]
            sentences = {one for fault in faults if isinstance(fault, tuple) for one in fault[1]}
            assert set(found[1]) <= sentences
            assert textual or set(whole[1]) <= sentences

    def test_numbers_among_text_are_sampled_as_in_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_text_chunks, "CHUNK", 4096)
        rng = random.Random(5)
        path, recipe = tmp_path / "a.csv", Recipe(quasi=["a"], k=2)
        for share in (0.0005, 0.4, 0.5, 0.6):
            cells = [
                ("2024-01-31" if rng.random() < share else "x", "5" if rng.random() < share else "2024-01-31")
                for _ in range(3_000)
            ]
            path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in cells))
            assert schema_of_batches(opened(path, recipe), recipe) == kinds_in_memory(path, recipe)

    def test_all_rows_that_do_not_fit_are_named(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("a\n" + "".join(f"{'?' if i % 4 == 2 else i}\n" for i in range(60)))
        recipe = Recipe(quasi=["a"], k=2)
        for textual in (True, False):
            with pytest.raises(DataError, match=r"15 of 60 cannot be read as one, in data rows 3, 7, .* and 5 more"):
                in_batches(path, recipe, textual=textual)

    def test_some_columns(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("a,b,c\n1,x,2024-01-31\n2,y,2024-01-31 08:15\n")
        recipe = Recipe(quasi=["c", "a"], k=2)
        batches = opened(path, recipe)
        reader = BatchReader(batches, schema_of_batches(batches, recipe), textual=True)
        first, second = reader.read(["c", "b"], rows=1)
        assert first.schema.names() == ("c", "b")
        assert as_values("c", first, exact=True).type == as_values("c", second, exact=True).type == pa.timestamp("s")
        assert reader.dialect is not None
        assert reader.dialect.moment == " "

    def test_unknown_columns_are_refused_before_the_file_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.csv"
        path.write_text("a,b\n1,2\n")
        recipe = Recipe(quasi=["age"], k=2)
        monkeypatch.setattr(batch_tables, "kinds_of_batches", None)
        with pytest.raises(SchemaError, match="age"):
            schema_of_batches(opened(path, recipe), recipe)


class TestParquet:
    def test_types_and_labels_decide(self, tmp_path: Path) -> None:
        def noted(name: str, **notes: Any) -> pa.Field:
            return Variable("spss", **notes).onto(pa.field(name, pa.int64()))

        both, one = ((1, "no"), (2, "yes")), ((1, "no"),)
        fields = [
            noted("all", labels=both),
            noted("some", labels=one),
            noted("none", labels=both),
            noted("declared", labels=one, missing=((2, 2),)),
            noted("ordinal", measure="ordinal"),
            pa.field("text", pa.string()),
        ]
        values = [1, 1, 1, 2]
        data = pa.table([values, values, [None] * 4, values, values, list("abcd")], schema=pa.schema(fields))
        path = tmp_path / "a.parquet"
        parquet.write_table(data, path, row_group_size=1)
        recipe = Recipe(quasi=["all"], k=2)
        batches = opened(path, recipe)
        found = schema_of_batches(batches, recipe)
        assert found == kinds_in_memory(path, recipe)
        assert [column.kind for column in found.columns] == [
            Kind.NOMINAL, Kind.INTEGER, Kind.INTEGER, Kind.NOMINAL, Kind.ORDINAL, Kind.NOMINAL,
        ]  # fmt: skip
        (table,) = BatchReader(batches, found, textual=False).read()
        assert shown(table) == shown(read_table(place(path), recipe, textual=False))

    def test_text_settings_are_for_a_text_output(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        parquet.write_table(pa.table({"a": [1.5, 2.5]}), path)
        recipe = Recipe(quasi=["a"], k=2, text={"decimal": ","})
        assert shown(in_batches(path, recipe, textual=True)) == shown(read_table(place(path), recipe, textual=True))
        with pytest.raises(ShoalError, match="is not a text file"):
            opened(path, recipe)
