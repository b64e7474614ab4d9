"""Input, output and recipe must not be one and the same place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from shoal.errors import ParameterError
from shoal.locations import Place, Url


def keep_apart(source: Place, target: Place, besides: Mapping[str, Path]) -> None:
    """Raise if the output would replace the input, or what is written besides one of them, or each other."""
    if _same(source, target):
        raise ParameterError(f"{target}: the output must not be the input. Give the output another name.")
    for what, path in besides.items():
        if any(_same(Place(path), other) for other in (source, target)):
            raise ParameterError(f"{path}: the {what} must not replace the input or the output. Name another file.")
    for (what, path), (other, its) in combinations(besides.items(), 2):
        if _same(Place(path), Place(its)):
            raise ParameterError(f"{path}: must not be both the {what} and the {other}. Name another file.")


def keep_receipt(receipt: Path | None, target: Place, besides: Mapping[str, Path]) -> None:
    """Raise if the receipt of the run that is repeated would be replaced, unless by the receipt of this one."""
    paths = [Place(path) for what, path in besides.items() if what != "receipt"]
    if receipt is not None and any(_same(Place(receipt), other) for other in (target, *paths)):
        raise ParameterError(f"{receipt}: must stay, for it is the receipt of --repeat. Name another file.")


def _same(one: Place, other: Place) -> bool:
    """Tell whether two places are one, be it through links or under another name of this machine."""
    from shoal.io.sinks._atomic import same_file

    if isinstance(one.at, Path) and isinstance(other.at, Path):
        return same_file(one.at, other.at)
    if isinstance(one.at, Url) and isinstance(other.at, Url):
        return one.at.database == other.at.database and _reads(one, other.options.get("table", ""))
    file, url = (one, other) if isinstance(one.at, Path) else (other, one)
    if not isinstance(file.at, Path) or not isinstance(url.at, Url) or url.at.database[0] != "":
        return False
    return same_file(file.at, Path(url.at.database[1]))


def _reads(source: Place, table: str) -> bool:
    """Tell whether a source is a table, or a query that names it."""
    if "table" in source.options:
        (schema, name), (its, same) = (t.lower().rpartition(".")[::2] for t in (table, source.options["table"]))
        return name.strip('"') == same.strip('"') and (not schema or not its or schema == its)
    name = re.escape(table.rpartition(".")[2].strip('"'))
    return re.search(rf"(?<!\w){name}(?!\w)", source.options.get("query", ""), re.IGNORECASE) is not None
