"""Taxonomies in files: every format gives the same tree, and anything else is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from shoal.schema.taxonomy_files import taxonomy_of

PATHS = {"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly", "severe")}
NESTED = {"lungs": ["flu", "asthma"], "belly": {"severe": ["ulcer"]}}
HEAD = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xml:base="http://example.org/o">"""


def owl(**above: str) -> str:
    """Classes below classes, as RDF/XML; several are separated by blanks."""
    classes = "".join(
        f'<owl:Class rdf:about="#{name}">'
        + "".join(f'<rdfs:subClassOf rdf:resource="#{parent}"/>' for parent in parents.split())
        + "</owl:Class>"
        for name, parents in above.items()
    )
    return f"{HEAD}{classes}</rdf:RDF>"


TREE = {"flu": "lungs", "asthma": "lungs", "ulcer": "severe", "severe": "belly", "lungs": "illness", "belly": "illness"}
PREFIXES = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <http://example.org/o#> .\n"
FILES = {
    "semicolons.csv": "flu;lungs;lungs;*\nasthma;lungs;lungs;*\nulcer;severe;belly;*\n",
    "commas.csv": '"flu",lungs,lungs,*\n\nasthma, lungs ,lungs,*\nulcer,severe,belly,*\n',
    "mark.csv": "\ufeffflu;lungs;lungs;*\r\nasthma;lungs;lungs;*\r\nulcer;severe;belly;*\r\n",
    "a.toml": 'lungs = ["flu", "asthma"]\n[belly]\nsevere = ["ulcer"]\n',
    "a.json": json.dumps(NESTED),
    "a.owl": owl(**TREE),
    "a.ttl": PREFIXES + "".join(f":{child} rdfs:subClassOf :{parent} .\n" for child, parent in TREE.items()),
    "B.JSON": json.dumps(NESTED),
}


def read(folder: Path, name: str, content: str | bytes) -> dict[str, tuple[str, ...]]:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return dict(taxonomy_of("illness", str(folder / name)).paths)


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_tree(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, name, FILES[name])
    assert {leaf: found[leaf] for leaf in PATHS} == PATHS
    assert found == PATHS or name in ("a.owl", "a.ttl")  # where groups are values, too


def test_classes_are_values_within_groups_of_their_name(tmp_path: Path) -> None:
    assert read(tmp_path, "a.owl", owl(**TREE))["severe"] == ("belly", "severe")


def test_several_trees_hang_side_by_side(tmp_path: Path) -> None:
    found = read(tmp_path, "a.owl", owl(flu="lungs", ulcer="belly"))
    assert found == {"flu": ("lungs",), "ulcer": ("belly",)}


def test_restrictions_and_things_are_no_groups(tmp_path: Path) -> None:
    text = owl(flu="lungs", lungs="illness").replace(
        '<rdfs:subClassOf rdf:resource="#lungs"/>',
        '<rdfs:subClassOf rdf:resource="#lungs"/><rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/>'
        "<rdfs:subClassOf><owl:Restriction/></rdfs:subClassOf>",
    )
    assert read(tmp_path, "a.owl", text)["flu"] == ("lungs",)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "x", r"must end in .csv, .json, .owl, .rdf, .toml, .ttl, .xml, got .txt"),
        ("a.csv", "", "must hold at least one value"),
        ("a.csv", b"\xff\xfe\x00", "must be UTF-8"),
        ("a.csv", "secret;a;*\nflu;*\n", "must have the same number of cells, got 2 to 3"),
        ("a.csv", "secret;;*\nflu;a;*\n", "1 of 2 rows have"),
        ("a.csv", "secret;a;*\nsecret;b;*\n", "the leaf of row 2 occurs twice"),
        ("a.csv", "secret;a;b;*\nflu;a;c;*\n", "must be a tree, but 1 of its nodes have several parents"),
        ("a.toml", "secret = [", "is not TOML, or is damaged"),
        ("a.toml", "", "must hold at least one value"),
        ("a.toml", 'a = ["secret"]\nb = ["secret"]\n', "a value of group 'b' is also in another"),
        ("a.json", '{"secret": ', "is not JSON, or is damaged"),
        ("a.json", '{"a": ["secret"], "a": ["flu"]}', "is not JSON, or is damaged"),
        ("a.json", "[" * 100_000, "is not JSON, or is damaged"),
        ("a.json", '["secret"]', "must be groups of values"),
        ("a.json", '{"a": [null]}', "must be a list of values"),
        ("a.owl", "<secret", "is not OWL, or is damaged"),
        ("a.ttl", "secret secret", "is not OWL, or is damaged"),
        ("a.owl", owl(), "must hold at least one value"),
        ("a.owl", owl(secret="a b"), "must be a tree, but 1 of its nodes have several parents"),
        ("a.owl", owl(secret="a", a="b", b="a"), "must be a tree, but contains a cycle"),
    ],
)
def test_what_is_no_tree_is_refused_without_a_value(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    with pytest.raises(shoal.ShoalError, match=said) as caught:
        read(tmp_path, name, content)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(shoal.DataError, match="cannot be read"):
        taxonomy_of("illness", str(tmp_path / "a.csv"))
