"""The delimiter is found by looking."""

from __future__ import annotations

import pytest

from shoal.io.sources.csv import find_delimiter


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("a;b\n1,5;2,5\n3;4\n", ";"),  # decimal commas
        ("id;income, net\n1;2,5\n", ";"),  # as many commas as semicolons
        ('a,b\n"x;y;z",2\n"p;q;r",4\n', ","),  # semicolons inside quotes
        ('a,b\n"line\nline, line",2\n', ","),  # line ends inside quotes
        ("a\tb\nsome, text\t1\nand, more\t2\n", "\t"),
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", ","),  # a ragged row does not hide it
        ("a,b,c\n1,2\n", ","),
        ("a,b\n", ","),
        ("remark\nwell, well\nno; yes\n", None),
        ("income, net\n5\n7\n", None),
        ("a\n1\n", None),
        ("\n\n", None),
        ("", None),
    ],
)
def test_found(text: str, delimiter: str | None) -> None:
    assert find_delimiter(text.encode(), '"') == delimiter


def test_the_decimal_mark_is_none() -> None:
    assert find_delimiter(b"x,y\n1,5\n", '"', decimal=",") is None


def test_the_name_speaks_for_tabs() -> None:
    text = b"a,b,c\td\n1,2,3\t4\n"
    assert find_delimiter(text, '"') == ","
    assert find_delimiter(text, '"', first="\t") == "\t"


def test_a_long_file_and_a_long_header() -> None:
    assert find_delimiter(b"a;b\n" + b"1,0;2\n" * 100_000, '"') == ";"
    assert find_delimiter(b";".join([b"name"] * 50_000), '"') == ";"
    assert find_delimiter(b"a;b\n1;" + b"x,y" * 50_000, '"') == ";"
