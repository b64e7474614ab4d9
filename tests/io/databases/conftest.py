"""Databases to read from and write to: SQLite, DuckDB, PostgreSQL and MariaDB, each empty."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Database:
    """One database: its URL without options, and a way past shoal to look into it."""

    scheme: str
    url: str
    ask: Callable[[str], list[tuple[Any, ...]]]

    def at(self, table: str) -> str:
        """The URL of a table."""
        return f"{self.url}?table={table}"

    def tables(self) -> set[str]:
        """The names of all tables there are, whoever made them."""
        if self.scheme == "sqlite":
            return {row[0] for row in self.ask("SELECT name FROM sqlite_master")}
        if self.scheme == "mariadb":
            return {row[0] for row in self.ask("SHOW TABLES")}
        where = "table_schema NOT IN ('pg_catalog', 'information_schema')"
        return {row[0] for row in self.ask(f"SELECT table_name FROM information_schema.tables WHERE {where}")}


@pytest.fixture(params=["sqlite", "duckdb", "postgresql", "mariadb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """An empty database of each kind."""
    if request.param in ("postgresql", "mariadb"):
        return request.getfixturevalue({"postgresql": "postgres_database"}.get(request.param, "mariadb_database"))
    file = tmp_path / f"a.{request.param}"
    ask = {"sqlite": _sqlite, "duckdb": _duckdb}[request.param](file)
    return Database(request.param, f"{request.param}:///{file}", ask)


def _sqlite(file: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    import sqlite3
    from contextlib import closing

    def ask(statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(file)) as connection, connection:
            return connection.execute(statement).fetchall()

    return ask


def _duckdb(file: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    duckdb = pytest.importorskip("duckdb")

    def ask(statement: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(file)) as connection:
            return connection.execute(statement).fetchall()

    return ask


@pytest.fixture
def postgres_database(postgres: str) -> Iterator[Database]:
    """An empty database of PostgreSQL."""
    import psycopg

    server = postgres
    name = f"d{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = server.rpartition("/")[0] + f"/{name}"

    def ask(statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(url, autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    yield Database("postgresql", url, ask)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def mariadb_database(mariadb: str) -> Iterator[Database]:
    """An empty database of MariaDB, whose text comparison ignores case."""
    import pymysql
    from sqlalchemy import make_url

    server = make_url(mariadb)
    name = f"d{uuid.uuid4().hex}"
    login = {"host": server.host, "port": server.port, "user": server.username, "password": server.password}

    def ask(statement: str, database: str | None = name) -> list[tuple[Any, ...]]:
        with pymysql.connect(**login, database=database, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    ask(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", None)
    yield Database("mariadb", mariadb.rpartition("/")[0] + f"/{name}", ask)
    ask(f"DROP DATABASE {name}", None)
