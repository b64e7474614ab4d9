"""Fields of a recipe, each declared once: type, range, default, group, help and example.

Checks, TOML, the JSON Schema, command-line options, the reference page and the docstring are derived from here.
Nothing heavy is imported, because every ``--help`` reads this file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from shoal.parameters import UNSET, Checked, Param
from shoal.recipe import contents
from shoal.recipe.recodes import Recode, recodes
from shoal.recipe.settings import VERSION, Settings

COLUMNS, PRIVACY, METHOD, TEXT, OUTPUT = "Columns", "Privacy", "Method", "Text format", "Output"
NOISE = ("epsilon", "bounds", "claim")  #: fields for releases that add noise
EFFORTS = ("fast", "default", "best")
ATTACKERS = ("algorithm", "table")
BLOCKINGS = ("correlated", "uncorrelated")  #: how blocks of quasi-identifiers are formed
LIST = "A,B,…"

Names = tuple[str, ...]
Table = Mapping[str, Any]


def keys_of(family: str) -> Callable[[], Collection[str]]:
    """Return a function that looks up the names of a family when they are needed."""

    def keys() -> Collection[str]:
        from shoal import registry

        return registry.keys(family)

    return keys


def names_of(noun: str, description: str, example: str, *, group: str = COLUMNS, **more: Any) -> Param:
    """Declare a list of columns or fields."""
    return Param(description, words=f"a list of {noun} names", group=group, example=example, metavar=LIST, **more)


def name_of(noun: str, description: str, example: str, **more: Any) -> Param:
    """Declare a single column or field."""
    return Param(description, words=f"a {noun} name", group=COLUMNS, example=example, metavar=noun.upper(), **more)


_named = partial(contents.not_empty, noun="column")
_columns, _column = partial(names_of, "column", check=_named), partial(name_of, "column", check=_named)
_text = partial(Param, group=TEXT)

# fmt: off
# Fields that recipes of tables and of streams share.
Version = Annotated[int, Param(
    "Version of the recipe format", low=1, example="1", see="[Versions](recipe.md#versions-and-editors)",
)]
Exact = Annotated[bool, Param(
    "Count every spelling as a different person; else Ann = ANN", group=COLUMNS, example="true",
    more="Otherwise Ann, ANN and ' ann' are one person (or group), like 7, 7.0 and 007.",
    see="[Spellings of one person](recipe.md#spellings-of-one-person)",
)]


@dataclass(frozen=True, kw_only=True)
class TextFormat(Checked):
    """Format of a text file, as in `text` of a recipe."""

    delimiter: Annotated[str | None, _text(
        "Delimiter of cells; detected if not given", example='";"', metavar="CHAR", usual="detected",
    )] = None
    quote: Annotated[str | None, _text("Quote character", example='"\'"', metavar="CHAR", usual='"')] = None
    encoding: Annotated[str | None, _text("Encoding", example='"cp1252"', metavar="NAME", usual="UTF-8")] = None
    decimal: Annotated[str | None, _text("Decimal sign, . or ,", example='","', metavar="CHAR", usual=".")] = None
    missing: Annotated[Names | None, _text(
        "Cells that mean a missing value, in addition to empty ones", example='["NA", "-9"]', metavar=LIST,
    )] = None
    datetime: Annotated[str | None, _text(
        "Format of dates, e.g. %d.%m.%Y", example='"%d.%m.%Y"', metavar="FORMAT", usual="ISO 8601",
    )] = None
    thousands: Annotated[str | None, _text(
        "Thousands separator: . , space or apostrophe", example='"."', metavar="CHAR", usual="none",
    )] = None


@dataclass(frozen=True, kw_only=True)
class RecipeFields(Settings):
    """Declared fields of :class:`shoal.Recipe`."""

    __hash__ = Settings.__hash__

    version: Version = VERSION
    quasi: Annotated[Names, _columns("Quasi-identifiers: columns that an attacker may know", '["age", "income"]')]
    confidential: Annotated[Names, _columns("Confidential columns, e.g. health; released unchanged", '["health"]')] = ()
    identifier: Annotated[Names, _columns("Direct identifiers; removed from the output", '["name"]')] = ()
    strata: Annotated[Names, _columns(
        "Columns whose values a class never mixes, e.g. region", '["region"]', more="They are released unchanged.",
    )] = ()
    subject: Annotated[str | None, _column(
        "Column that identifies the person; k counts people, not rows", '"person"',
        more="It is removed from the output, unless `subject_out` says otherwise.",
    )] = None
    subject_exact: Exact = False
    subject_out: Annotated[str, Param(
        "Subject in the output: removed, or a random pseudonym", choices=("removed", "pseudonym"), group=OUTPUT,
        example='"pseudonym"', see="[Pseudonyms](guarantees.md#pseudonyms)",
        more="A pseudonym shows which records belong to one person, so k counts people who share the whole set of "
        "their released combinations.",
    )] = "removed"
    weight: Annotated[str | None, _column("Column of sampling weights; means are weighted", '"weight"')] = None
    together: Annotated[str | None, _column(
        "Group column, e.g. household; never split, and k counts groups", '"household"',
        more="It replaces `subject` and is removed from the output.", see="[Households](guarantees.md#households)",
    )] = None
    household_level: Annotated[Names, _columns(
        "With together: quasi-identifiers of the group, e.g. dwelling", '["rooms"]', usual="all",
        more="Only these are kept together; the others are protected record by record, within the classes of the "
        "groups unless there are blocks.",
        see="[Attributes of households](guarantees.md#attributes-of-households)",
    )] = ()
    k: Annotated[int, Param(
        "Smallest number of records in a class", low=2, group=PRIVACY, example="5", usual="5",
    )] = UNSET
    t: Annotated[float | None, Param(
        "t-closeness: largest distance (0–1) of a class from the table", low=0, high=1, group=PRIVACY, example="0.2",
        more="It holds in each confidential column.", see="[t_closeness](models/t_closeness.md)",
    )] = None
    n: Annotated[int | None, Param(
        "With t: compare with n records around a class, (n,t)-closeness", low=1, group=PRIVACY, example="1000",
        see="[n_t_closeness](models/n_t_closeness.md)",
    )] = None
    require: Annotated[Table, Param(
        "Further privacy models, e.g. l_entropy=3,alpha=0.5,e:pay=900", group=PRIVACY, metavar="MODEL=LEVEL,…",
        example="{ l_entropy = 3, e = { pay = 900 } }", see="[Enforcement](enforcement.md)",
        more="A level holds for all confidential columns, or is given by column. `k` and `t` may be given here, too.",
    )] = field(default_factory=dict)
    attacker: Annotated[str, Param(
        "Attacker to withstand: knows the algorithm, or only the table", choices=ATTACKERS,
        group=PRIVACY, example='"table"', see="[Attackers](guarantees.md#attackers)",
        more="With `algorithm`, [auto](methods/auto.md) and repairs form classes from quasi-identifiers and then unite "
        "whole classes. With `table`, they may look at the confidential value of each record: less loss, but k is "
        "counted in the table only. A method that you name runs either way.",
    )] = "algorithm"
    method: Annotated[str, Param(
        "How classes are formed; see shoal list methods", choices=keys_of("partition"),
        short=(("", UNSET), (None, UNSET)), group=METHOD, example='"mdav"', usual="auto",
    )] = UNSET
    release: Annotated[str, Param(
        "Released value of a class; see shoal list releases", choices=keys_of("release"), group=METHOD,
        example='"centroid"',
    )] = "centroid"
    effort: Annotated[str | None, Param(
        "Time to spend on a lower loss: fast, default or best", choices=EFFORTS, short=((None, UNSET),), group=METHOD,
        example='"best"', usual="default for auto", see="[Effort](effort.md)",
        more="It sets how long methods that search, such as `auto`, keep searching. Classes of another method are "
        "refined only if it is given.",
    )] = UNSET
    deadline: Annotated[float | str | None, Param(
        "Stop searching after this time, e.g. 60s or 5min", words="a number of seconds > 0, or a time such as 60s, "
        "5min or 2h", check=contents.time, group=METHOD, example='"60s"', metavar="TIME",
        see="[Deadline](effort.md#deadline)", more="The best classes found so far are released. Such a run cannot be "
        "repeated exactly.",
    )] = None
    refine: Annotated[str | None, Param(
        "Old name of effort", choices=EFFORTS, option="--refine", example='"default"', metavar="EFFORT",
        see="[Effort](effort.md)",
    )] = None
    set: Annotated[Table, Param(
        "Parameter of method, release or scaling, e.g. scale=range", group=METHOD, example='{ scale = "range" }',
        metavar="NAME=VALUE",
    )] = field(default_factory=dict)
    kinds: Annotated[Table, Param(
        "Kind of a column, if the inferred one is wrong", check=partial(contents.kinds, "column"), group=COLUMNS,
        example='{ zip = "nominal" }', option="--kind", metavar="COLUMN=KIND", see="[Kinds](schema.md)",
    )] = field(default_factory=dict)
    taxonomies: Annotated[Mapping[str, Mapping[str, Any] | str], Param(
        "File of a column's groups of categories: CSV, TOML, JSON, OWL", group=COLUMNS,
        example='{ work = "work.csv" }', option="--taxonomy", metavar="COLUMN=FILE",
        more="In a recipe also a table: groups within groups, down to lists of values.",
        see="[Taxonomies](recipe.md#taxonomies)",
    )] = field(default_factory=dict)
    orders: Annotated[Mapping[str, Sequence[Any]], Param(
        "Categories of a column from lowest to highest; makes it ordinal", check=contents.order,
        group=COLUMNS, example='{ school = ["primary", "secondary"] }', option="--order", metavar="COLUMN=A,B,…",
        see="[Orders](recipe.md#orders)",
    )] = field(default_factory=dict)
    recode: Annotated[Mapping[str, Mapping[str, Any]], Param(
        "Recode a column first: top, bottom, interval, breaks, level, groups", check=recodes, each=Recode,
        group=COLUMNS, example="{ age = { top = 90 }, income = { interval = 500 } }", metavar="COLUMN=HOW",
        more="Numbers and dates take `top`, `bottom`, `top_as`, `bottom_as`, and `interval` or `breaks`; categories "
        "with a taxonomy take `level`, those with an order `top`, `bottom` or `groups`. "
        "Options are written as income=interval:500,top:9000; `groups` only in a recipe.",
        see="[Recoding](recode.md)",
    )] = field(default_factory=dict)
    attribute_weights: Annotated[Mapping[str, float], Param(
        "Factor of squared distances in a quasi-identifier", check=contents.weights, group=METHOD,
        example="{ work = 2 }", option="--attribute-weight", metavar="COLUMN=NUMBER", usual="1 each",
        more="Numbers ≥ 0 and ≤ 1e6.", see="[Weights of attributes](recipe.md#weights-of-attributes)",
    )] = field(default_factory=dict)
    coordinates: Annotated[tuple[Names, ...], Param(
        "Latitude and longitude: one attribute of two dimensions", words="a list of pairs of column names",
        group=METHOD, example='[["lat", "lon"]]', metavar="LATITUDE,LONGITUDE",
        more="They share a scale in which distances mean the same in both directions, and count as one attribute.",
        see="[Coordinates](recipe.md#coordinates)",
    )] = ()
    when_missing: Annotated[str, Param(
        "Missing quasi-identifiers: a category, exclude the row, or fill", choices=("category", "exclude", "fill"),
        group=METHOD, example='"exclude"', see="[Missing values](schema.md#missing-values)",
        more="`fill` takes the value of the class (for the claim `original`, the middle of the bounds or the first "
        "category of the taxonomy).",
    )] = "category"
    suppress: Annotated[float, Param(
        "Drop the costliest people, up to this share, e.g. 0.01", low=0, high=0.5, group=PRIVACY,
        example="0.01", metavar="SHARE", usual="0, no one", see="[Suppression](recipe.md#suppression)",
        more="Without `subject` or `together` every record is a person. Whole people or groups are dropped, and never "
        "more than this share of the records.",
    )] = 0.0
    small_strata: Annotated[str, Param(
        "Strata smaller than k: refuse, or merge with the nearest", choices=("refuse", "merge"), group=PRIVACY,
        example='"merge"', see="[Strata that are too small](guarantees.md#strata-that-are-too-small)",
    )] = "refuse"
    attribute_blocks: Annotated[tuple[Names, ...] | str, Param(
        "Blocks of quasi-identifiers; or correlated, or uncorrelated", choices=BLOCKINGS,
        words="a list of lists of column names, 'correlated' or 'uncorrelated'", group=METHOD,
        example='[["age"], ["income"]]', option="--block", metavar=LIST, usual="one block of all",
        more="Each block is partitioned on its own. `correlated` puts correlated quasi-identifiers into one block: "
        "less loss. `uncorrelated` puts them into different blocks: more real anonymity k′ over all.",
        see="[Blocks](blocks.md)",
    )] = ()
    block_size: Annotated[int | None, Param(
        "Largest block formed by correlation, in quasi-identifiers", low=1, group=METHOD, example="2", usual="3",
        see="[Blocks](blocks.md#blocks-by-correlation)",
    )] = None
    blocks: Annotated[tuple[Names, ...] | str, Param(
        "Old name of attribute_blocks", choices=BLOCKINGS,
        words="a list of lists of column names, 'correlated' or 'uncorrelated'", example='[["age"], ["income"]]',
        see="[Blocks](blocks.md)",
    )] = ()
    steer: Annotated[tuple[Mapping[str, Any], ...], Param(
        "Artificial attribute that steers; see shoal list steerings", words="a list of tables of names and values",
        check=contents.steerings, group=METHOD, example='[{ by = "position", weight = 2 }]', metavar="BY:NAME=VALUE,…",
        see="[Steering](steering.md)",
    )] = ()
    text: Annotated[Table, Param(
        "Format of a text file: delimiter, quote, encoding and others", inner=TextFormat,
        example='{ delimiter = ";", decimal = "," }', usual="detected", see="[Files](files.md)",
        more="The names are `delimiter`, `quote`, `encoding`, `decimal`, `missing`, `datetime` and `thousands`.",
    )] = field(default_factory=dict)
    seed: Annotated[int, Param(
        "Random seed", low=0, group=METHOD, example="1",
        more="[anneal](methods/anneal.md), [auto](methods/auto.md) and [refine](effort.md) use it.",
    )] = 0
    epsilon: Annotated[float | Mapping[str, float] | None, Param(
        "Privacy budget ε for --release laplace, or A=NUMBER,… by column", words="a number > 0", check=contents.budget,
        group=PRIVACY, example="1.0", metavar="NUMBER", see="[laplace](releases/laplace.md)",
    )] = None
    bounds: Annotated[Mapping[str, Sequence[float]] | str, Param(
        "Lower and upper limit of a column, for --release laplace", words="a table of columns and their two ends",
        check=contents.ends, group=PRIVACY, example="{ age = [0, 120] }", metavar="A=LOW:HIGH,…",
        more="They must be known without the data. The text 'from the data, which is not private' takes them from the "
        "data.",
    )] = field(default_factory=dict)
    claim: Annotated[str, Param(
        "Scope of ε: microaggregated data, or the original records", choices=("microaggregated", "original"),
        group=PRIVACY, example='"original"', see="[differential_privacy](models/differential_privacy.md)",
        more="`microaggregated` holds the classes fixed; `original` needs the kind of every quasi-identifier.",
    )] = "microaggregated"
    release_weight: Annotated[str, Param(
        "Released weight: mean of the class, of the record, or none", choices=("class", "record", "none"),
        short=((True, "record"), (False, "none")), group=OUTPUT, example='"none"', see="[Weights](recipe.md#weights)",
        more="`class` and `none` weight the means. True and False are short for `record` and `none`.",
    )] = "class"
    resolution: Annotated[Mapping[str, float | str], Param(
        "Step of released values, e.g. income=100,birth=month", check=contents.steps, group=OUTPUT,
        example='{ income = 100, birth = "month" }', metavar="A=STEP,…", usual="the column's own decimals",
        see="[Digits](recipe.md#digits)",
    )] = field(default_factory=dict)
    exact_means: Annotated[bool, Param(
        "Release means with all digits; they reveal sums over classes", group=OUTPUT, example="true",
        see="[Digits](recipe.md#digits)",
    )] = False
    row_order: Annotated[str, Param(
        "Order of rows: keep, shuffle, or auto (shuffle sorted files)", choices=("auto", "keep", "shuffle"),
        group=OUTPUT, example='"shuffle"', see="[Row order](files.md#row-order)",
        more="`auto` shuffles a file that is sorted by a column which is masked, removed or confidential.",
    )] = "auto"
    reviewed: Annotated[Names, _columns(
        "Columns released unchanged that you have reviewed", '["region"]', group=OUTPUT,
        more="Reports do not warn about records that only these make unique.",
        see="[Reviewed columns](recipe.md#reviewed-columns)",
    )] = ()
# fmt: on
