"""Tables of databases come back with their types, and leave whole or not at all."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.flow.stages.write import open_sink
from shoal.locations import place
from shoal.parameters import build

N = 24
FILES = ("sqlite", "duckdb")
PEOPLE = pa.table(
    {
        "id": [f"p{i}" for i in range(N)],
        "age": pa.array([20 + i for i in range(N)], pa.int64()),
        "pay": pa.array([Decimal(i) * 100 + Decimal("0.25") for i in range(N)], pa.decimal128(12, 2)),
        "exact": pa.array([Decimal("12345678901234567890.5") + i for i in range(N)], pa.decimal128(30, 1)),
        "height": pa.array([1.5 + i / 7 for i in range(N)]),
        "born": pa.array([date(1890 + i, 1 + i % 12, 1) for i in range(N)]),
        "seen": pa.array([datetime(2024, 1, 1, i, 0, 0, i) for i in range(N)], pa.timestamp("us")),
        "zoned": pa.array([datetime(2024, 1, 1, i, tzinfo=UTC) for i in range(N)]),
        "at": pa.array([clock(8, i) for i in range(N)]),
        "sick": pa.array([None if i % 5 == 0 else bool(i % 2) for i in range(N)]),
        "code": pa.array([None if i % 7 == 0 else f"0{i % 4}" for i in range(N)]),
        "Ünïcode name": pa.array(["", " ", "'; DROP TABLE x --", "%s"] * 6),
        "never": pa.nulls(N, pa.string()),
    }
)
RECIPE = {"quasi": ["age", "pay", "zoned"], "identifier": ["id"], "confidential": ["sick"], "k": 4}
RECIPE |= {"row_order": "keep"}


def read(url: str) -> pa.Table:
    where = place(url)
    table, dialect = build(registry.for_place("io.sources", where.at), where.options).read(where.at)
    assert dialect is None
    return table


def test_types_survive(database: Any) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    back = read(database.at("people"))
    assert back.column_names == PEOPLE.column_names
    for field in PEOPLE.schema:
        came = back.schema.field(field.name).type
        assert came == field.type or pa.types.is_timestamp(came) == pa.types.is_timestamp(field.type) == True  # noqa: E712
        assert back[field.name].cast(field.type).equals(PEOPLE[field.name]), field.name
    assert back.schema.field("zoned").type.tz in ("UTC", "Etc/UTC")


def test_names_with_signs(database: Any) -> None:
    odd = pa.table({"50%": ["a"], "%s": ["b"], 'a"b': ["c"], "a`b": ["d"], "a:b]": ["e"], "a.b\\": ["f"]})
    for force in (False, True):
        shoal.write_table(odd, database.at('"1%25 of: `x` ""y"""'), force=force)
        assert read(database.at('"1%25 of: `x` ""y"""')).equals(odd)
    assert database.tables() == {'1% of: `x` "y"'}


def test_a_table_is_protected_and_audited(database: Any, run: Callable) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    done = shoal.protect_file(database.at("people"), database.at("safe"), RECIPE)
    safe = read(database.at("safe"))
    assert safe.column_names == PEOPLE.column_names[1:]
    assert safe["code"].equals(PEOPLE["code"])
    assert safe.schema.field("pay").type == PEOPLE.schema.field("pay").type
    assert done.audit.overall.achieved >= 4
    assert database.tables() == {"people", "safe"}
    ran = run("audit", database.at("safe"), "--quasi", "age,pay,zoned", "--require", "k=4")
    assert (ran.code, ran.err) == (0, "")
    ran = run("compare", database.at("people"), database.at("safe"), "--columns", "age,pay")
    assert (ran.code, ran.err) == (0, "")


def test_the_same_values_as_from_a_file(database: Any, tmp_path: Path) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    shoal.write_table(PEOPLE, tmp_path / "people.parquet")
    a = shoal.protect_file(tmp_path / "people.parquet", database.at("safe"), RECIPE)
    b = shoal.protect_file(database.at("people"), tmp_path / "safe.parquet", RECIPE)
    assert a.partition.labels.tolist() == b.partition.labels.tolist()
    assert a.data["pay"].equals(b.data["pay"])


def test_a_query(database: Any) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    found = read(
        f"{database.url}?query=SELECT age, pay, born FROM people WHERE age < 30 AND code LIKE '0%25' ORDER BY age"
    )
    assert found.column_names == ["age", "pay", "born"]
    assert found["age"].to_pylist() == [21, 22, 23, 24, 25, 26, 28, 29]
    with pytest.raises(shoal.ShoalError, match=r"\?query=…: "):
        read(f"{database.url}?query=DROP TABLE people")
    with pytest.raises(shoal.ShoalError) as refused:
        read(f"{database.url}?query=SELECT 'p7' + FROM nowhere")
    assert "p7" not in str(refused.value)
    assert database.tables() == {"people"}


def test_an_existing_table_is_replaced_only_with_force(database: Any, run: Callable) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    shoal.write_table(PEOPLE.select(["age"]), database.at("safe"))
    command = ("protect", database.at("people"), "-o", database.at("safe"), "--quasi", "age", "--k", "3")
    ran = run(*command)
    assert ran.code == 2
    assert "already exists; give --force to replace it, or another name." in ran.err
    assert "hunter2" not in ran.err
    assert read(database.at("safe")).column_names == ["age"]
    ran = run(*command, "--force", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert "hunter2" not in ran.out
    assert read(database.at("safe")).num_columns == PEOPLE.num_columns
    assert database.tables() == {"people", "safe"}


def test_the_output_is_not_the_input(database: Any, run: Callable) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    ran = run("protect", database.at("people"), "-o", database.at("people"), "--quasi", "age", "--force")
    assert ran.code == 2
    assert "the output must not be the input" in ran.err
    query = f"{database.url}?query=SELECT * FROM people"
    assert run("protect", query, "-o", database.at("people"), "--quasi", "age", "--force").code == 2


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("new", [False, True])
def test_any_exception_leaves_things_as_they_were(
    database: Any, error: Any, force: bool, new: bool, tmp_path: Path
) -> None:
    if not new:
        shoal.write_table(PEOPLE.select(["age"]), database.at("safe" if force else "other"))
    before = sorted(tmp_path.iterdir())
    there, target = None if new and database.scheme in FILES else database.tables(), place(database.at("safe"))
    if there is None:
        before = []
    sink = open_sink(target)

    def fail() -> None:
        with sink.staged(target.at, force=force) as hidden:
            sink.write(PEOPLE, hidden, None)
            raise error

    with pytest.raises(error):
        fail()
    assert sorted(tmp_path.iterdir()) == before
    assert there is None or database.tables() == there
    if force and not new:
        assert read(database.at("safe")).column_names == ["age"]


def test_nothing_is_written_if_the_audit_fails(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shoal.write_table(PEOPLE, database.at("people"))

    def fails(*_: object) -> None:
        raise shoal.GuaranteeError("no")

    monkeypatch.setattr("shoal.flow.protect.protect.gate", fails)
    with pytest.raises(shoal.GuaranteeError):
        shoal.protect_file(database.at("people"), database.at("safe"), RECIPE)
    assert database.tables() == {"people"}


def test_what_changes_on_the_way_is_noticed(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    sink = type(open_sink(place(database.at("safe"))))
    write = sink.write
    monkeypatch.setattr(sink, "write", lambda self, table, at, dialect: write(self, table.slice(1), at, dialect))
    with pytest.raises(shoal.GuaranteeError, match="lacks rows"):
        shoal.protect_file(database.at("people"), database.at("safe"), RECIPE)
    assert database.tables() == {"people"}


def test_killed_between_write_and_rename(database: Any, tmp_path: Path) -> None:
    shoal.write_table(PEOPLE, database.at("people"))
    mark = tmp_path / "written"
    script = (
        "import sys, time, pathlib, pyarrow as pa\n"
        "from shoal.flow.stages.write import open_sink\nfrom shoal.locations import place\n"
        "target = place(sys.argv[1]); sink = open_sink(target)\n"
        "with sink.staged(target.at, force=True) as hidden:\n"
        "    sink.write(pa.table({'a': list(range(5000))}), hidden, None)\n"
        "    pathlib.Path(sys.argv[2]).touch(); time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script, database.at("people"), str(mark)])
    for _ in range(600):
        if mark.exists() or child.poll() is not None:
            break
        time.sleep(0.05)
    assert mark.exists()
    child.kill()
    child.wait()
    left = database.tables() - {"people"}
    if database.scheme == "mariadb":  # where no transaction undoes the making of a table
        (name,) = left
        assert name.startswith("shoal_")
        assert database.ask(f"SELECT count(*) FROM {name}") == [(0,)]
    else:
        assert left == set()
    assert read(database.at("people")).num_rows == N


def write_meanwhile(url: str, *, late: bool) -> None:
    """Write a table while another program writes one of the same name, before or after ours is staged."""
    target = place(url)
    sink = open_sink(target)
    with sink.staged(target.at, force=False) as hidden:
        if late:
            sink.write(PEOPLE, hidden, None)
        shoal.write_table(PEOPLE.select(["age"]), url)
        if not late:
            sink.write(PEOPLE, hidden, None)


@pytest.mark.parametrize("late", [False, True])
def test_two_writers(database: Any, late: bool) -> None:
    """The second writer gets an error, and leaves nothing behind."""
    shoal.write_table(PEOPLE.select(["id"]), database.at("other"))
    if late and database.scheme in FILES:  # the others let in one writer at a time
        with pytest.raises(shoal.EngineError, match="is in use by another program"):
            write_meanwhile(database.at("safe"), late=True)
        assert database.tables() == {"other"}
        return
    with pytest.raises(shoal.ParameterError, match="already exists"):
        write_meanwhile(database.at("safe"), late=late)
    assert read(database.at("safe")).column_names == ["age"]
    assert database.tables() == {"other", "safe"}
