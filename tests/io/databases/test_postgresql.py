"""What PostgreSQL has and others have not: owners, rights, schemas, views, names that end at 63 bytes, passwords."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal

TABLE = pa.table({"age": pa.array(range(12), pa.int16()), "pay": pa.array([i / 4 for i in range(12)], pa.float32())})


def write(url: str, table: pa.Table = TABLE, *, force: bool = False) -> None:
    shoal.write_table(table, url, force=force)


def rights(database: Any, table: str) -> set[tuple[str, str]]:
    return set(
        database.ask(
            f"SELECT grantee, privilege_type FROM information_schema.table_privileges WHERE table_name = '{table}'"
        )
    )


def test_a_replaced_table_keeps_owner_and_rights(postgres_database: Any) -> None:
    d = postgres_database
    write(d.at("safe"))
    role, owner = (f"{name}_{d.url.rpartition('/')[2]}" for name in ("reader", "owner"))
    for statement in (
        f'CREATE ROLE "{role}"',
        f'CREATE ROLE "{owner}"',
        f'GRANT SELECT ON safe TO "{role}" WITH GRANT OPTION',
        "GRANT SELECT, UPDATE ON safe TO PUBLIC",
        f'ALTER TABLE safe OWNER TO "{owner}"',
        "ALTER DEFAULT PRIVILEGES GRANT DELETE ON TABLES TO PUBLIC",
    ):
        d.ask(statement)
    before = rights(d, "safe")
    write(d.at("safe"), TABLE.select(["age"]), force=True)
    assert rights(d, "safe") == before
    assert ("PUBLIC", "DELETE") not in before
    assert d.ask("SELECT tableowner FROM pg_tables WHERE tablename = 'safe'") == [(owner,)]
    d.ask(f'DROP OWNED BY "{owner}"')
    for name in (role, owner):
        d.ask(f'DROP OWNED BY "{name}"')
        d.ask(f'DROP ROLE "{name}"')


def test_row_level_security_is_not_lifted(postgres_database: Any) -> None:
    write(postgres_database.at("safe"))
    postgres_database.ask("ALTER TABLE safe ENABLE ROW LEVEL SECURITY")
    with pytest.raises(shoal.ParameterError, match="row-level security"):
        write(postgres_database.at("safe"), force=True)
    assert postgres_database.tables() == {"safe"}


def test_views(postgres_database: Any) -> None:
    write(postgres_database.at("safe"))
    postgres_database.ask("CREATE VIEW seen AS SELECT age FROM safe")
    with pytest.raises(shoal.EngineError, match="something depends on the table"):
        write(postgres_database.at("safe"), force=True)
    with pytest.raises(shoal.ParameterError, match="got a view"):
        write(postgres_database.at("seen"), force=True)
    assert shoal.audit_file(postgres_database.at("seen"), ["age"]).records == 12
    assert postgres_database.tables() == {"safe", "seen"}


def test_schemas_and_odd_names(postgres_database: Any) -> None:
    postgres_database.ask('CREATE SCHEMA "Census"')
    for name in ("Census.survey", 'Census."a.b"', '"UPPER and ""lower"""'):
        write(postgres_database.at(name))
        assert shoal.audit_file(postgres_database.at(name), ["age"]).records == 12
    assert postgres_database.tables() == {"survey", "a.b", 'UPPER and "lower"'}
    with pytest.raises(shoal.EngineError, match="there is no such schema"):
        write(postgres_database.at("nowhere.survey"))
    with pytest.raises(shoal.ParameterError, match="at most 63 bytes; column 1 has more"):
        write(postgres_database.at("long"), TABLE.rename_columns(["ä" * 40, "pay"]))
    with pytest.raises(shoal.ParameterError, match="the name of a table must have at most 63 bytes"):
        write(postgres_database.at("t" * 64))


def test_other_types_are_read_as_text(postgres_database: Any) -> None:
    postgres_database.ask(
        "CREATE TABLE odd AS SELECT i AS age, '{\"a\": 1}'::jsonb AS j, ARRAY[1,2] AS l, gen_random_uuid() AS u, "
        "'1.5'::numeric AS n, '10.0.0.1'::inet AS net FROM generate_series(1, 9) AS i"
    )
    done = shoal.protect_file(postgres_database.at("odd"), postgres_database.at("safe"), {"quasi": ["age"], "k": 3})
    kinds = {field.name: str(field.type) for field in done.data.schema}
    assert kinds["j"] == kinds["l"] == kinds["u"] == kinds["net"] == "string"
    assert kinds["n"] == "decimal128(2, 1)"
    assert done.data["j"][0].as_py() == '{"a": 1}'


def test_nothing_is_changed_by_a_query(postgres_database: Any) -> None:
    write(postgres_database.at("safe"))
    with pytest.raises(shoal.EngineError, match="may not be changed here"):
        shoal.audit_file(f"{postgres_database.url}?query=DELETE FROM safe RETURNING age", ["age"])
    assert postgres_database.ask("SELECT count(*) FROM safe") == [(12,)]


def test_passwords_are_never_shown(postgres_database: Any, run: Callable, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("age\n1\n2\n")
    wrong = postgres_database.at("safe").replace("hunter2", "31415926")
    for command in (
        ["audit", wrong, "--quasi", "age"],
        ["compare", wrong, wrong, "--columns", "age"],
        ["protect", table, "-o", wrong, "--quasi", "age"],
        ["protect", wrong, "-o", "out.csv", "--quasi", "age", "--delimiter", ";"],
        ["audit", wrong, "--quasi", "age", "--delimiter", ";"],
        ["audit", wrong.replace("table", "tabel"), "--quasi", "age"],
    ):
        ran = run(*command)
        assert ran.code in (2, 5)
        assert "31415926" not in ran.out + ran.err
        assert "Traceback" not in ran.err
