"""Fields of a stream recipe, each declared once: type, range, default, group, help and example.

Nothing heavy is imported, because every ``--help`` reads this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from shoal.parameters import Param
from shoal.recipe import contents
from shoal.recipe.fields import (
    COLUMNS,
    METHOD,
    OUTPUT,
    PRIVACY,
    Exact,
    Names,
    Table,
    Version,
    keys_of,
    name_of,
    names_of,
)  # fmt: skip
from shoal.recipe.settings import VERSION, Settings

_ONCE = 2**31
_fields = partial(names_of, "field", check=contents.not_empty)


def _no_effect(name: str, value: bool | None) -> Iterator[str]:
    if value is False:
        yield (
            f"{name} must be true, got False: integers stay integers. For their means with all digits, set "
            "exact_means = true."
        )


# fmt: off
@dataclass(frozen=True, kw_only=True)
class StreamFields(Settings):
    """Declared fields of :class:`shoal.StreamRecipe`."""

    __hash__ = Settings.__hash__

    version: Version = VERSION
    quasi: Annotated[Names, _fields("Quasi-identifiers: fields that an attacker may know", '["age"]')]
    bounds: Annotated[Mapping[str, tuple[Any, Any]], Param(
        "Lower and upper limit of each numeric or datetime field", check=contents.two_values, group=COLUMNS,
        example="{ age = [0, 120] }", metavar="A=LOW:HIGH,…", more="Values outside are moved to the nearest end.",
    )] = field(default_factory=dict)
    k: Annotated[int, Param("Smallest number of people in a class", low=2, below=_ONCE, group=PRIVACY, example="10")]
    delay: Annotated[int, Param(
        "Largest delay: number of tuples until one must be released", low=1, below=_ONCE, group=METHOD, example="100",
        more="It is at least k − 1.",
    )]
    delay_seconds: Annotated[float | None, Param(
        "Seconds until a tuple is released even if no other arrives", words="a number > 0", above=0, below=1e9,
        group=METHOD, example="60.0", metavar="S",
    )] = None
    order_weight: Annotated[float | str, Param(
        "Weight of the position; keep: nothing is reordered", words="a number ≥ 0 and ≤ 1e6, or 'keep'", low=0,
        high=1e6, choices=("keep",), group=METHOD, example='"keep"', metavar="W|keep",
    )] = 0.0
    subject: Annotated[str | None, name_of(
        "field", "Field that identifies the person; k counts people, not tuples", '"person"', check=contents.not_empty,
        more="It is removed from the output.",
    )] = None
    subject_exact: Exact = False
    identifier: Annotated[Names, _fields("Direct identifiers; removed from the output", '["name"]')] = ()
    confidential: Annotated[Names, _fields("Confidential fields, e.g. health; released unchanged", '["health"]')] = ()
    kinds: Annotated[Table, Param(
        "Kind of a field, if not clear from its domain", check=partial(contents.kinds, "field"), group=COLUMNS,
        example='{ age = "integer" }', option="--kind", metavar="FIELD=KIND",
        more="A field with bounds is continuous (or datetime), with an order ordinal, with categories nominal.",
    )] = field(default_factory=dict)
    orders: Annotated[Mapping[str, Sequence[Any]], Param(
        "All categories of a field from lowest to highest", check=contents.categories, group=COLUMNS,
        example='{ school = ["primary", "secondary"] }', option="--order", metavar="FIELD=A,B,…",
    )] = field(default_factory=dict)
    categories: Annotated[Mapping[str, Sequence[Any]], Param(
        "All categories of a nominal field", check=contents.categories, group=COLUMNS,
        example='{ sex = ["f", "m"] }', metavar="FIELD=A,B,…",
    )] = field(default_factory=dict)
    taxonomies: Annotated[Mapping[str, Mapping[str, Any] | str], Param(
        "File of a field's groups of categories: CSV, TOML, JSON, OWL", group=COLUMNS,
        example='{ work = "work.csv" }', option="--taxonomy", metavar="FIELD=FILE",
        see="[Taxonomies](recipe.md#taxonomies)",
    )] = field(default_factory=dict)
    attribute_weights: Annotated[Mapping[str, float], Param(
        "Factor of squared distances in a quasi-identifier", check=contents.weights, group=METHOD,
        example="{ age = 2 }", option="--attribute-weight", metavar="FIELD=NUMBER", usual="1 each",
        more="Numbers ≥ 0 and ≤ 1e6.",
    )] = field(default_factory=dict)
    resolution: Annotated[Mapping[str, float | str], Param(
        "Step of released values, e.g. income=100,birth=month", group=OUTPUT, example="{ age = 5 }",
        metavar="A=STEP,…",
        more="Without it integers stay integers, dates are as fine as their bounds, and other numbers have all "
        "digits of their means.",
    )] = field(default_factory=dict)
    exact_means: Annotated[bool, Param(
        "Release means of integers with all digits; they reveal sums", group=OUTPUT, example="true",
    )] = False
    round_integers: Annotated[bool | None, Param(
        "No effect: integers stay integers", check=_no_effect, example="true", option="--round-integers",
    )] = None
    method: Annotated[str, Param(
        "How classes are formed", choices=keys_of("stream.partition"), group=METHOD, example='"nearest"',
    )] = "nearest"
    set: Annotated[Table, Param(
        "Parameter of the method", group=METHOD, example="{ beta = 20 }", metavar="NAME=VALUE",
    )] = field(default_factory=dict)
    require: Annotated[Table, Param(
        "Privacy models that every class must hold, e.g. l_distinct=3", group=PRIVACY, example="{ l_distinct = 3 }",
        metavar="MODEL=LEVEL,…",
    )] = field(default_factory=dict)
    t: Annotated[float | None, Param(
        "t-closeness: largest distance (0–1) of a class from the stream", low=0, high=1, group=PRIVACY, example="0.2",
        more="The distance is to all confidential values so far, or to `reference`.",
    )] = None
    reference: Annotated[Table, Param(
        "With t: shares that classes must be close to, by field", example="{ ill = { yes = 0.1, no = 0.9 } }",
        see="[Demands](stream_demands.md)",
    )] = field(default_factory=dict)
    class_field: Annotated[str, Param(
        "Field that holds the number of the class", words="a field name", check=contents.not_empty, group=OUTPUT,
        example='"class"', metavar="NAME",
    )] = "class"
    when_missing: Annotated[str, Param(
        "Tuples without a quasi-identifier are refused", choices=("refuse",), example='"refuse"',
    )] = "refuse"
    keep: Annotated[Names | None, _fields(
        "Fields released unchanged; default: those of the first tuples", '["city"]',
        more="Confidential fields need not be named. In JSON, `user.id` is the field `id` of the object `user`, "
        "unless a field has exactly this name.",
    )] = None
    unknown: Annotated[str, Param(
        "Undeclared fields: reject the record, remove or keep the field", words="one of reject, remove, keep",
        choices=("reject", "remove", "keep"), group=COLUMNS, example='"remove"', metavar="reject|remove|keep",
        more="Objects and lists are unknown unless named.",
    )] = "reject"
    max_rejected: Annotated[float, Param(
        "Largest share of rejected records; above it the stream stops", low=0, high=1, group=OUTPUT, example="0.1",
        metavar="SHARE", more="It holds for every 1,000 records and at the end.",
    )] = 0.5
# fmt: on
