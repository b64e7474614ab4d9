"""The documentation is complete: keys, dependencies, references, navigation, figures."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from shoal.recipe.recipe import Recipe
from shoal.types import Kind, Role

HOME = Path(__file__).resolve().parents[2]
DOCS = HOME / "docs"
_spec = importlib.util.spec_from_file_location("docs_pages", DOCS / "pages.py")
assert _spec is not None
assert _spec.loader is not None
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def navigation() -> list[dict[str, Any]]:
    """The navigation as it is built: with the pages of components below their overviews."""
    config = SimpleNamespace(**yaml.safe_load((HOME / "mkdocs.yml").read_text(encoding="utf-8")))
    assert config.hooks == ["docs/pages.py"]
    found: list[dict[str, Any]] = pages.on_config(config).nav
    return found


def leaves(level: list[dict[str, Any]]) -> Iterator[str]:
    for value in (value for entry in level for value in entry.values()):
        yield from leaves(value) if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", pages.OVERVIEWS)
def test_every_page_of_a_component_has_its_key(name: str) -> None:
    known = {path for path, _, _ in pages.components(name)}
    for path in (path for folder in pages.OVERVIEWS[name] for path in (DOCS / folder).glob("*.md")):
        assert path.relative_to(DOCS).as_posix() in known
        assert path.read_text(encoding="utf-8").startswith(f"# {path.stem}\n")


def test_every_page_is_in_the_navigation() -> None:
    listed = list(leaves(navigation()))
    assert len(listed) == len(set(listed))
    assert set(listed) == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | set(pages.generated())


@pytest.mark.parametrize("name", pages.OVERVIEWS)
def test_an_overview_lists_every_component_once(name: str) -> None:
    text = pages.overview(name, page(f"{name}.md"))
    listed = re.findall(r"^\| \[(\w+)\]\((\w+/\w+\.md)\) \|", text, re.MULTILINE)
    assert sorted(listed) == sorted((key, path) for path, _, key in pages.components(name))


def test_every_dependency_has_a_row() -> None:
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    asked = [*project["dependencies"], *(text for extra in extras for text in extra)]
    names = {re.split(r"[\[<>=!~; ]", text)[0] for text in asked} - {project["name"]}
    rows = set(re.findall(r"^\| `([\w-]+)` \|", page("dependencies.md"), re.MULTILINE))
    assert rows == names


def test_references_are_in_step() -> None:
    listed = set(re.findall(r"^\| \[(\w+)\] \|", page("references.md"), re.MULTILINE))
    kept = set(re.findall(r"^@\w+\{(\w+),", page("references.bib"), re.MULTILINE))
    assert listed == kept
    sources = [*DOCS.rglob("*.md"), *(HOME / "src").rglob("*.py")]
    cited = {key for path in sources for key in re.findall(r"\[([A-Z]+\d\d)\]", path.read_text(encoding="utf-8"))}
    assert cited <= kept


def test_recipe_roles_and_kinds_are_all_described() -> None:
    fields = set(re.findall(r"^\| `(\w+)` \|", page("recipe.md").partition("In `set`:")[0], re.MULTILINE))
    assert fields == set(Recipe.__dataclass_fields__)
    rows = set(re.findall(r"^\| (\w+) \|", page("schema.md"), re.MULTILINE)) - {"Role", "Kind"}
    assert rows == {*(role.value for role in Role), *(kind.value for kind in Kind)}


def test_every_option_is_described() -> None:
    import typer.main

    from shoal.cli import _commands, app

    if not app.registered_commands:
        _commands()
    root = typer.main.get_command(app)
    sections = dict(re.findall(r"^## shoal (\w+)\n(.*?)(?=^## |\Z)", page("cli.md"), re.MULTILINE | re.DOTALL))
    assert set(sections) == set(root.commands)
    for name, command in root.commands.items():
        options = {option for p in command.params for option in p.opts if option.startswith("--")} - {"--help"}
        told = set(re.findall(r"`[^`]*?(--[\w-]+)", sections[name]))
        assert not options - told, f"docs/cli.md, {name}: {sorted(options - told)}"


def test_glossary_is_sorted_and_says_each_word_once() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", page("glossary.md"), re.MULTILINE)
    assert words == sorted(set(words), key=str.lower)


def test_figures_exist_for_light_and_dark_pages() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in (HOME / "README.md", *DOCS.rglob("*.md")))
    used = set(re.findall(r"images/([\w-]+)\.png", texts))
    there = {path.stem for path in (DOCS / "images").glob("*.png")}
    assert used == there
    assert {name.removesuffix("-dark") for name in there if name.endswith("-dark")} == {
        name.removesuffix("-light") for name in there if name.endswith("-light")
    }


def test_links_of_the_files_at_the_top_lead_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (HOME / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text):
            assert "://" in target or (HOME / target).exists(), f"{name}: {target}"


def test_no_level_of_the_navigation_has_more_than_twelve_entries() -> None:
    def sizes(level: list[dict[str, Any]]) -> Iterator[int]:
        yield len(level)
        for value in (value for entry in level for value in entry.values() if isinstance(value, list)):
            yield from sizes(value)

    assert max(sizes(navigation())) <= 12


def test_links_lead_to_files_so_that_pages_can_be_read_in_the_repository() -> None:
    for path in (*HOME.glob("*.md"), *DOCS.rglob("*.md")):
        text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        links = {link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link}
        assert not {link for link in links if not (path.parent / link).exists()}, path
