"""Pages and navigation of methods, privacy models, releases and measures: a hook of MkDocs.

A component needs no page of its own and no entry in a list:

- The page of a component is ``methods/<key>.md``, or in the folder of its family; a page without a file is generated
  from the docstring and the declarations of the parameters.
- An overview such as ``methods.md`` groups components in tables; those that it does not name get a table at the end.
- The navigation below an overview has the groups and the order of its tables.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shoal import registry
from shoal.parameters import Declared, declarations

HERE = Path(__file__).resolve().parent

#: Overviews, and the folders and families of the components that they list.
OVERVIEWS: dict[str, dict[str, tuple[str, ...]]] = {
    "methods": {"methods": ("partition",), "stream_methods": ("stream.partition",)},
    "models": {"models": ("privacy",)},
    "releases": {"releases": ("release",)},
    "measures": {"measures": ("utility", "risk")},
}
MORE = "More"

_HEADING = re.compile(r"^## (.+)$|^\| \[(\w+)\]\((\w+/\w+\.md)\) \|", re.MULTILINE)
_DOCTEST = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def components(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the page, family and key of every component that an overview lists."""
    for folder, families in OVERVIEWS[name].items():
        for family in families:
            for key in sorted(registry.built_in(family)):
                yield f"{folder}/{key}.md", family, key


def overview(name: str, text: str) -> str:
    """Return the text of an overview with a table of the components that it does not name."""
    rows = [
        f"| [{key}]({page}) | {registry.summary(family, key)} |"
        for page, family, key in components(name)
        if f"]({page}) |" not in text
    ]
    return (
        "\n".join([text.rstrip(), "", f"## {MORE}", "", "| Name | What it is |", "|---|---|", *rows, ""])
        if rows
        else text
    )


def navigation(name: str) -> list[dict[str, Any]]:
    """Return the navigation of an overview: its groups in their order, each with its pages."""
    text = overview(name, (HERE / f"{name}.md").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = [{"Overview": f"{name}.md"}]
    level = found
    for heading, key, page in _HEADING.findall(text):
        if heading:
            level = []
            found.append({heading: level})
        else:
            level.append({key: page})
    return found


def generated() -> dict[str, str]:
    """Return the pages of components without a file of their own, by path."""
    pages = [one for name in OVERVIEWS for one in components(name)]
    return {page: page_of(family, key) for page, family, key in pages if not (HERE / page).exists()}


def page_of(family: str, key: str) -> str:
    """Return the page of a component: its summary, its docstring and its parameters."""
    cls = registry.load(family, key)
    text = inspect.getdoc(cls) or ""
    example = _DOCTEST.search(text)
    parts = [f"# {key}", registry.summary(family, key), (text[: example.start()] if example else text).strip()]
    if example:
        parts += ["## Example", f"```pycon\n{example[0].rstrip()}\n```"]
    if rows := [_row(one) for one in declarations(cls)]:
        head = ["| Name | Allowed | Default | Meaning |", "|---|---|---|---|"]
        parts += ["## Parameters", "\n".join([*head, *rows])]
    return "\n\n".join(parts) + "\n"


def _row(one: Declared) -> str:
    default = "" if one.required or one.default is None else f"`{one.default}`"
    return f"| `{one.name}` | {one.allowed} | {default} | {one.param.description} |"


def on_config(config: Any) -> Any:
    """Put the pages of components below their overviews."""

    def with_pages(level: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{title: below(value) for title, value in entry.items()} for entry in level]

    def below(value: Any) -> Any:
        if isinstance(value, list):
            return with_pages(value)
        name = value.removesuffix(".md")
        return navigation(name) if name in OVERVIEWS else value

    config.nav = with_pages(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for page, text in generated().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Complete the tables of an overview."""
    name = page.file.src_uri.removesuffix(".md")
    return overview(name, markdown) if name in OVERVIEWS else markdown
