"""Base class of recipes: declared fields with checks, conversion to plain values and TOML, and a fingerprint."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from shoal.errors import ParameterError, raise_all
from shoal.parameters import declarations, faults, unknown

C = TypeVar("C", bound="type[Settings]")

#: Version of the recipe format that this version of shoal writes.
VERSION = 1

#: A rule: yields a sentence, without the owner, for every conflict in a recipe.
Rule = Callable[[Any], Iterable[str]]


class RefusedError(Exception):
    """A rule reads a field that was refused; it is skipped."""


class Settings:
    """A recipe as declared; rules between fields and dependent defaults are up to the subclass."""

    schema_file: ClassVar[str]  #: name of the JSON Schema that saved recipes refer to, in their own folder
    noun: ClassVar[str] = "column"  #: what fields name
    always: ClassVar[tuple[str, ...]] = ()  #: fields that plain values include even if they equal the default
    rules: ClassVar[tuple[tuple[Rule, ...], ...]]  #: between fields, in stages: each needs the earlier ones to hold

    def __post_init__(self) -> None:
        """Refuse values outside their declarations and broken rules, all at once; convert lists, tables and integers.

        A rule that reads a refused field is skipped.
        """
        self._check_version(vars(self))
        for one in declarations(type(self)):
            for short, meant in one.param.short:
                if type(value := getattr(self, one.name)) is type(short) and value == short:
                    object.__setattr__(self, one.name, meant)
        unresolved = self._resolve()
        refused = {**faults(self), **unresolved}
        for one in declarations(type(self)):
            if one.name not in refused:
                object.__setattr__(self, one.name, normal(getattr(self, one.name)))
        found = [sentence for sentences in refused.values() for sentence in sentences]
        seen = self._readable(refused)
        for stage in self.rules:
            found += [sentence for rule in stage for sentence in _broken(rule, seen)]
            raise_all(ParameterError, list(dict.fromkeys(found)))

    def _resolve(self) -> Mapping[str, list[str]]:
        """Set fields that depend on others; return invalid ones, with sentences."""
        return {}

    def _readable(self, refused: Collection[str]) -> Self:
        """Return the recipe as rules see it: reading a refused field raises."""
        if not refused:
            return self

        def stop(_: Any) -> None:
            raise RefusedError

        kind = type(type(self).__name__, (type(self),), {name: property(stop) for name in refused})
        seen: Self = object.__new__(kind)
        vars(seen).update(vars(self))
        return seen

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def to_dict(self) -> dict[str, Any]:
        """Return fields that differ from their defaults as plain values, as in TOML."""
        found: dict[str, Any] = {}
        for declared in declarations(type(self)):
            value = getattr(self, declared.name)
            if declared.name in self.always or value not in (None, declared.default):
                found[declared.name] = plain(value)
        return found

    @classmethod
    def _check_version(cls, values: Mapping[str, Any]) -> None:
        """Refuse a version that does not exist yet, before anything else that is new in it."""
        given = values.get("version", VERSION)
        if isinstance(given, int) and given > VERSION:
            raise ParameterError(
                f"{cls.__name__}: version must be at most {VERSION}, got {given}: a newer shoal wrote this recipe. "
                "Update shoal."
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make a recipe from plain values; an unknown name is an error."""
        cls.check_names(values)
        return cls(**values)

    @classmethod
    def check_names(cls, values: Mapping[str, Any]) -> None:
        """Refuse names that no field has, with the nearest one, and missing fields that have no default."""
        cls._check_version(values)
        known = [declared.name for declared in declarations(cls)]
        found = [unknown(cls.__name__, "field", name, known) for name in values if name not in known]
        raise_all(ParameterError, found)
        found = [
            f"{cls.__name__}: {one.name} must be given, got nothing. Add {one.name} = {one.param.example}."
            for one in declarations(cls)
            if one.required and one.name not in values
        ]
        raise_all(ParameterError, found)

    @classmethod
    def from_file(cls, values: Mapping[str, Any]) -> Self:
        """Make a recipe from the values of a file, possibly merged with options."""
        return cls.from_dict(values)

    def to_toml(self, folder: Path | None = None, comment: str = "") -> str:
        """Return the recipe as TOML; for a file in a folder, with a line for editors and relative paths."""
        import tomli_w

        values = self.to_dict()
        if folder is not None and "taxonomies" in values:
            values["taxonomies"] = {n: _seen_from(folder, given) for n, given in values["taxonomies"].items()}
        head = "" if folder is None else f"#:schema ./{self.schema_file}\n"
        head += "".join(f"# {line}\n" for line in comment.splitlines())
        return head + tomli_w.dumps({"version": VERSION, **values})

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Make a recipe from TOML."""
        return cls.from_file(cls._read(text))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a recipe from a TOML file."""
        return cls.from_file(cls.values_in(path))

    @classmethod
    def values_in(cls, path: str | Path) -> dict[str, Any]:
        """Return the values of a TOML file, unchecked, with paths of taxonomies resolved.

        Options are merged into these values before defaults are resolved.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ParameterError(f"{cls.__name__}: {path} cannot be read ({reason}). Check the path.") from None
        values, folder = cls._read(text), Path(path).parent
        if isinstance(values.get("taxonomies"), dict):
            said = values["taxonomies"].items()
            values["taxonomies"] = {n: str(folder / given) if isinstance(given, str) else given for n, given in said}
        return values

    @classmethod
    def _read(cls, text: str) -> dict[str, Any]:
        import tomllib

        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ParameterError(f"{cls.__name__}: the text is not TOML: {error}. Correct that place.") from None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the recipe: equal for equal recipes, however they are written."""
        return digest(self.to_dict())


def _broken(rule: Rule, recipe: Settings) -> list[str]:
    found = []
    try:
        for sentence in rule(recipe):
            found.append(f"{type(recipe).__name__}: {sentence}")  # one by one: those before a refused field count
    except RefusedError:
        pass
    except ParameterError as error:
        found += sentences(error)
    return found


def sentences(error: ParameterError) -> list[str]:
    """Return the sentences of an error that may hold several."""
    return [line.removeprefix("- ") for line in str(error).splitlines()]


def digest(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain values as canonical JSON."""
    import hashlib
    import json

    canonical = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def documented(cls: C) -> C:
    """Add the declared fields to a recipe's docstring, and let its constructor check the names that it is given."""
    lines = [cls.__doc__ or "", "    Attributes", "    ----------"]
    for declared in declarations(cls):
        lines += [f"    {declared.name}", f"        {declared.param.description}. {declared.param.more}".rstrip()]
    cls.__doc__ = "\n".join(lines)
    assign = cls.__init__

    @wraps(assign)  # keeps the signature
    def construct(self: Any, **values: Any) -> None:
        cls.check_names(values)
        assign(self, **values)

    cls.__init__ = construct  # type: ignore[method-assign]
    return cls


def normal(value: Any) -> Any:
    """Return a checked value in a recipe's own types: tuples, plain dicts, Python integers."""
    if isinstance(value, (list, tuple)):
        return tuple(normal(one) for one in value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return plain(value) if isinstance(value, Mapping) else value


def plain(value: Any) -> Any:
    """Return plain values, as TOML and JSON have them; dates and times as text."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, str):
        return str(getattr(value, "value", value))
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):
        return value.item()
    return float(value) if hasattr(value, "limit_denominator") else value  # a fraction


def _seen_from(folder: Path, given: Any) -> Any:
    """Return a path relative to the recipe's folder, as :meth:`Settings.load` takes it; tables stay."""
    if not isinstance(given, str) or Path(given).is_absolute():
        return given
    try:
        return Path(os.path.relpath(given, folder)).as_posix()
    except ValueError:  # on another drive
        return str(Path(given).absolute())
