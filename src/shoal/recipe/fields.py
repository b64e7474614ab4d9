"""Fields of a recipe, each declared once: type, range, default, group, help and example.

Checks, TOML, the JSON Schema, options of the command line, the reference page and the docstring follow from here.
Nothing heavy is imported, because every ``--help`` reads this file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from shoal.parameters import UNSET, Checked, Param
from shoal.recipe.settings import VERSION, Settings

COLUMNS, PRIVACY, METHOD, TEXT, OUTPUT = "Columns", "Privacy", "Method", "Text format", "Output"
EFFORTS = ("fast", "default", "best")
_NAMES, _NAME, _LIST = "a list of column names", "a column name", "A,B,…"

Names = tuple[str, ...]
Table = Mapping[str, Any]


def _keys(family: str) -> Collection[str]:
    from shoal import registry

    return registry.keys(family)


def _methods() -> Collection[str]:
    return _keys("partition")


def _releases() -> Collection[str]:
    return _keys("release")


@dataclass(frozen=True, kw_only=True)
class TextFormat(Checked):
    """Format of a text file, as in `text` of a recipe."""

    delimiter: Annotated[
        str | None, Param("Delimiter of cells; detected if not given", group=TEXT, example='";"', usual="detected")
    ] = None
    quote: Annotated[str | None, Param("Quote character", group=TEXT, example='"\'"', usual='"')] = None
    encoding: Annotated[str | None, Param("Encoding", group=TEXT, example='"cp1252"', usual="UTF-8")] = None
    decimal: Annotated[str | None, Param("Decimal sign, . or ,", group=TEXT, example='","', usual=".")] = None
    missing: Annotated[
        Names | None,
        Param("Cells that mean a missing value, like the empty one", group=TEXT, example='["NA", "-9"]', metavar=_LIST),
    ] = None
    datetime: Annotated[
        str | None,
        Param("Format of dates, e.g. %d.%m.%Y", group=TEXT, example='"%d.%m.%Y"', metavar="FORMAT", usual="ISO 8601"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RecipeFields(Settings):
    """Declared fields of :class:`shoal.Recipe`."""

    __hash__ = Settings.__hash__

    version: Annotated[
        int, Param("Version of the recipe format", low=1, example="1", see="[Versions](#versions-and-editors)")
    ] = VERSION

    quasi: Annotated[
        Names,
        Param(
            "Quasi-identifiers: columns that an attacker may know",
            words=_NAMES, group=COLUMNS, example='["age", "income"]', metavar=_LIST,
        ),
    ]  # fmt: skip
    confidential: Annotated[
        Names,
        Param(
            "Confidential columns, e.g. health; released unchanged",
            words=_NAMES, group=COLUMNS, example='["health"]', metavar=_LIST,
        ),
    ] = ()  # fmt: skip
    identifier: Annotated[
        Names,
        Param(
            "Direct identifiers; removed from the output",
            words=_NAMES, group=COLUMNS, example='["name"]', metavar=_LIST,
        ),
    ] = ()  # fmt: skip
    strata: Annotated[
        Names,
        Param(
            "Columns whose values a class never mixes, e.g. region",
            words=_NAMES, group=COLUMNS, example='["region"]', metavar=_LIST, more="They are released unchanged.",
        ),
    ] = ()  # fmt: skip
    subject: Annotated[
        str | None,
        Param(
            "Column that identifies the person; k counts people, not rows",
            words=_NAME, group=COLUMNS, example='"person"', metavar="COLUMN", more="It is removed from the output.",
        ),
    ] = None  # fmt: skip
    subject_exact: Annotated[
        bool,
        Param(
            "Count every spelling as another person; else Ann = ANN",
            group=COLUMNS, example="true", see="[Who is one person](#who-is-one-person)",
            more="Applies to `subject` and `together`. Otherwise Ann, ANN and ' ann' are one person, like 7, 7.0 and "
            "007.",
        ),
    ] = False  # fmt: skip
    weight: Annotated[
        str | None,
        Param(
            "Column of sampling weights; means are weighted",
            words=_NAME, group=COLUMNS, example='"weight"', metavar="COLUMN",
        ),
    ] = None  # fmt: skip
    together: Annotated[
        str | None,
        Param(
            "Group column, e.g. household; never split, and k counts groups",
            words=_NAME, group=COLUMNS, example='"household"', metavar="COLUMN",
            more="It replaces `subject` and is removed from the output.", see="[Households](guarantees.md#households)",
        ),
    ] = None  # fmt: skip
    household_level: Annotated[
        Names,
        Param(
            "With together: quasi-identifiers of the group, e.g. dwelling",
            words=_NAMES, group=COLUMNS, example='["rooms"]', metavar=_LIST, usual="all",
            more="Only these are kept together; the others are protected record by record, within the classes of the "
            "groups unless there are blocks.",
            see="[Attributes of households](guarantees.md#attributes-of-households)",
        ),
    ] = ()  # fmt: skip
    k: Annotated[int, Param("Smallest number of records in a class", low=2, group=PRIVACY, example="5", usual="5")] = (
        UNSET
    )
    t: Annotated[
        float | None,
        Param(
            "t-closeness: largest distance (0–1) of a class from the table",
            low=0, high=1, group=PRIVACY, example="0.2",
            more="It holds in each confidential column.", see="[t_closeness](models/t_closeness.md)",
        ),
    ] = None  # fmt: skip
    n: Annotated[
        int | None,
        Param(
            "With t: (n,t)-closeness, to n records around a class; weaker",
            low=1, group=PRIVACY, example="1000", see="[n_t_closeness](models/n_t_closeness.md)",
        ),
    ] = None  # fmt: skip
    require: Annotated[
        Table,
        Param(
            "Further privacy models, e.g. l_entropy=3,alpha=0.5,e:pay=900",
            group=PRIVACY, example="{ l_entropy = 3, e = { pay = 900 } }", metavar="MODEL=LEVEL,…",
            more="A level holds for all confidential columns, or is given by column.", see="below",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    method: Annotated[
        str,
        Param(
            "How classes are formed; see shoal list methods",
            choices=_methods, group=METHOD, example='"mdav"', usual="mdav; with t or require auto",
        ),
    ] = UNSET  # fmt: skip
    release: Annotated[
        str,
        Param(
            "Released value of a class; see shoal list releases",
            choices=_releases, group=METHOD, example='"centroid"',
        ),
    ] = "centroid"  # fmt: skip
    refine: Annotated[
        str | None,
        Param(
            "Effort to lower the loss afterwards: fast, default or best",
            choices=EFFORTS, group=METHOD, example='"default"', metavar="EFFORT", see="[Refine](refine.md)",
        ),
    ] = None  # fmt: skip
    set: Annotated[
        Table,
        Param(
            "Parameter of method, release or scaling, e.g. scale=range",
            group=METHOD, example='{ scale = "range" }', metavar="NAME=VALUE",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    kinds: Annotated[
        Mapping[str, Any],
        Param(
            "Kind of a column, if the inferred one is wrong",
            group=COLUMNS, example='{ zip = "nominal" }', option="--kind", metavar="COLUMN=KIND",
            see="[Kinds](schema.md)",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    taxonomies: Annotated[
        Mapping[str, Mapping[str, Any] | str],
        Param(
            "File of a column's groups of categories: CSV, TOML, JSON, OWL",
            group=COLUMNS, example='{ work = "work.csv" }', option="--taxonomy", metavar="COLUMN=FILE",
            more="In a recipe also a table: groups within groups, down to lists of values.",
            see="[Taxonomies](#taxonomies)",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    orders: Annotated[
        Mapping[str, Sequence[str]],
        Param(
            "Categories of a column from lowest to highest; makes it ordinal",
            group=COLUMNS, example='{ school = ["primary", "secondary"] }', option="--order",
            metavar="COLUMN=A,B,…", see="[Orders](#orders)",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    attribute_weights: Annotated[
        Mapping[str, float],
        Param(
            "Factor of squared distances in a quasi-identifier",
            group=METHOD, example="{ work = 2 }", option="--attribute-weight", metavar="COLUMN=NUMBER", usual="1 each",
            more="Numbers ≥ 0 and ≤ 1e6.", see="[Weights of attributes](#weights-of-attributes)",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    when_missing: Annotated[
        str,
        Param(
            "Missing quasi-identifiers: a category, exclude the row, or fill",
            choices=("category", "exclude", "fill"), group=METHOD, example='"exclude"',
            more="`fill` takes the value of the class (for the claim `original`, the middle of the bounds or the first "
            "category of the taxonomy).",
            see="[Missing values](schema.md#missing-values)",
        ),
    ] = "category"  # fmt: skip
    small_strata: Annotated[
        str,
        Param(
            "Strata smaller than k: refuse, or merge with the nearest",
            choices=("refuse", "merge"), group=PRIVACY, example='"merge"',
            see="[Strata that are too small](guarantees.md#strata-that-are-too-small)",
        ),
    ] = "refuse"  # fmt: skip
    blocks: Annotated[
        tuple[tuple[str, ...], ...],
        Param(
            "Quasi-identifiers that are partitioned on their own",
            words="a list of lists of column names", group=METHOD, example='[["age"], ["income"]]', option="--block",
            metavar=_LIST, usual="one block of all", see="[Blocks](blocks.md)",
        ),
    ] = ()  # fmt: skip
    steer: Annotated[
        tuple[Mapping[str, Any], ...],
        Param(
            "Artificial attribute that steers; see shoal list steerings",
            words="a list of tables of names and values", group=METHOD, example='[{ by = "position", weight = 2 }]',
            metavar="BY:NAME=VALUE,…", see="[Steering](steering.md)",
        ),
    ] = ()  # fmt: skip
    text: Annotated[
        Table,
        Param(
            "Format of a text file: delimiter, quote, encoding and others", inner=TextFormat,
            example='{ delimiter = ";", decimal = "," }', usual="detected", see="[Files](files.md)",
            more="The names are `delimiter`, `quote`, `encoding`, `decimal`, `missing` and `datetime`.",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    seed: Annotated[
        int,
        Param(
            "Random seed", low=0, group=METHOD, example="1",
            more="[anneal](methods/anneal.md), [auto](methods/auto.md) and [refine](refine.md) use it.",
        ),
    ] = 0  # fmt: skip
    epsilon: Annotated[
        float | Mapping[str, float] | None,
        Param(
            "Privacy budget ε for --release laplace, or A=NUMBER,… by column",
            words="a number > 0", group=PRIVACY, example="1.0", metavar="NUMBER", see="[laplace](releases/laplace.md)",
        ),
    ] = None  # fmt: skip
    bounds: Annotated[
        Mapping[str, Sequence[float]] | str,
        Param(
            "Ends of each column's domain for --release laplace",
            words="a table of columns and their two ends", group=PRIVACY, example="{ age = [0, 120] }",
            metavar="A=LOW:HIGH,…",
            more="They must be known without the data. The text 'from the data, which is not private' takes them from "
            "the data.",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    claim: Annotated[
        str,
        Param(
            "Scope of ε: microaggregated data, or the original records",
            choices=("microaggregated", "original"), group=PRIVACY, example='"original"',
            more="`microaggregated` holds the classes fixed; `original` needs the kind of every quasi-identifier.",
            see="[differential_privacy](models/differential_privacy.md)",
        ),
    ] = "microaggregated"  # fmt: skip
    release_weight: Annotated[
        str,
        Param(
            "Released weight: mean of the class, of the record, or none",
            choices=("class", "record", "none"), group=OUTPUT, example='"none"',
            more="`class` and `none` weight the means. True and False are short for `record` and `none`.",
            see="[Weights](#weights)",
        ),
    ] = "class"  # fmt: skip
    resolution: Annotated[
        Mapping[str, float | str],
        Param(
            "Step of released values, e.g. income=100,birth=month",
            group=OUTPUT, example='{ income = 100, birth = "month" }', metavar="A=STEP,…",
            usual="the column's own decimals", see="[Digits](#digits)",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    exact_means: Annotated[
        bool,
        Param(
            "Release means with all digits; they reveal sums over classes",
            group=OUTPUT, example="true", see="[Digits](#digits)",
        ),
    ] = False  # fmt: skip
    row_order: Annotated[
        str,
        Param(
            "Order of rows: keep, shuffle, or auto (shuffle sorted files)",
            choices=("auto", "keep", "shuffle"), group=OUTPUT, example='"shuffle"',
            more="`auto` shuffles a file that is sorted by a column which is masked, removed or confidential.",
            see="[Row order](files.md#row-order)",
        ),
    ] = "auto"  # fmt: skip
    reviewed: Annotated[
        Names,
        Param(
            "Columns released unchanged that you have reviewed",
            words=_NAMES, group=OUTPUT, example='["region"]', metavar=_LIST,
            more="Reports do not warn of records that only these make unique.",
            see="[Reviewed columns](#reviewed-columns)",
        ),
    ] = ()  # fmt: skip
