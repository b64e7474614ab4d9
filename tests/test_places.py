"""A place is a file or a URL; what is shown of it holds no password and no query."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import ParameterError
from shoal.flow.protect.files import keep_apart
from shoal.locations import Place, Url, place

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (f"postgresql://ann:{SECRET}@host/db?table=t", "postgresql://ann:***@host/db?table=t"),
        (f"postgresql://ann:{SECRET}@host:5432/db?table=a.b", "postgresql://ann:***@host:5432/db?table=a.b"),
        (f"postgresql+psycopg://ann:x@{SECRET}@h/db?table=t", "postgresql+psycopg://ann:***@h/db?table=t"),
        (f"postgresql://ann:x/{SECRET}@h/db?table=t", "postgresql://ann:***@h/db?table=t"),
        (f"postgresql://ann:x?{SECRET}@h/db?table=t", "postgresql://…"),
        (f"postgresql://ann:{SECRET}/db?table=t", "postgresql://ann:***/db?table=t"),
        (f"postgresql://h/db?password={SECRET}&table=t", "postgresql://h/db?table=t"),
        (f"sqlite:///a.db?query=SELECT '{SECRET}'", "sqlite:///a.db?query=…"),
        ("postgresql://[::1]:5432/db?table=t", "postgresql://[::1]:5432/db?table=t"),
        ("postgresql://ann@host/db", "postgresql://ann@host/db"),
        ("sqlite:////srv/a@b.db?table=t", "sqlite:////srv/a@b.db?table=t"),
    ],
)
def test_no_password_is_shown(given: str, shown: str) -> None:
    found = place(given)
    assert str(found) == str(found.at) == shown
    assert SECRET not in repr(found) + str(found)


def test_what_is_for_the_database_stays_with_it() -> None:
    found = place("postgresql+psycopg://h/db?table=s.t&sslmode=require&host=%2Fsrv")
    assert isinstance(found.at, Url)
    assert (found.at.scheme, dict(found.options)) == ("postgresql", {"table": "s.t"})
    assert found.at.address == "postgresql+psycopg://h/db?sslmode=require&host=%2Fsrv"


@pytest.mark.parametrize("name", ["a.csv", "./a.csv", "what?.csv", "a?b.csv", "C:\\people.csv", "a:b.csv", "a.xlsx?"])
def test_files_are_files(name: str) -> None:
    assert place(name) == Place(Path(name)) == place(Path(name))


def test_options_of_a_file_unless_one_is_called_so(tmp_path: Path) -> None:
    odd = f"{tmp_path}/a.xlsx?sheet=Data 1"
    assert place(odd) == Place(tmp_path / "a.xlsx", {"sheet": "Data 1"})
    Path(odd).write_text("")
    assert place(odd) == Place(Path(odd))


def test_the_file_of_a_database() -> None:
    assert place("sqlite:///a.db?table=t").at.file == Path("a.db")
    assert place("sqlite:////srv/a.db").at.file == Path("/srv/a.db")
    for wrong in ("sqlite://a.db?table=t", "sqlite://", "sqlite:///"):
        with pytest.raises(ParameterError, match="three slashes"):
            place(wrong).at.file  # noqa: B018


def test_what_is_no_place() -> None:
    with pytest.raises(ParameterError, match="must be a path or a URL, got a int"):
        place(7)  # type: ignore[arg-type]


SAME = [
    ("sqlite:///a.db?table=t", "sqlite:///./a.db?table=T"),
    ("postgresql://ann:x@localhost/db?table=public.t", "postgresql+psycopg://bob@127.0.0.1/db?table=t"),
    ("sqlite:///a.db?query=SELECT a FROM t WHERE a", "sqlite:///a.db?table=t"),
    ('postgresql://h/db?query=SELECT * FROM s."t"', "postgresql://h/db?table=s.t"),
    ("a.csv", "./a.csv"),
]
APART = [
    ("sqlite:///a.db?table=t", "sqlite:///a.db?table=u"),
    ("sqlite:///a.db?table=t", "sqlite:///b.db?table=t"),
    ("postgresql://h/db?table=a.t", "postgresql://h/db?table=b.t"),
    ("postgresql://h/db?table=t", "postgresql://g/db?table=t"),
    ("postgresql://h:1/db?table=t", "postgresql://h:2/db?table=t"),
    ("sqlite:///a.db?query=SELECT a FROM tt", "sqlite:///a.db?table=t"),
    ("sqlite:///a.db?table=t", "a.csv"),
    ("a.csv", "postgresql://h/a.csv?table=t"),
]


@pytest.mark.parametrize(("source", "target"), SAME)
def test_the_output_is_not_the_input(source: str, target: str) -> None:
    with pytest.raises(ParameterError, match="the output must not be the input"):
        keep_apart(place(source), place(target), {})


@pytest.mark.parametrize(("source", "target"), APART)
def test_different_places_are_fine(source: str, target: str) -> None:
    keep_apart(place(source), place(target), {"recipe": Path("r.toml")})


def test_the_recipe_does_not_replace_a_database() -> None:
    with pytest.raises(ParameterError, match="the recipe must not replace"):
        keep_apart(place("sqlite:///a.db?table=t"), place("b.csv"), {"recipe": Path("a.db")})
