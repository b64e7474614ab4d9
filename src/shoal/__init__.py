"""shoal makes microdata safe to share: every record swims in a shoal of at least k.

>>> import pyarrow as pa, shoal
>>> people = pa.table({"name": list("abcdef"), "age": [31, 33, 62, 60, 35, 61], "income": [20, 22, 9, 8, 21, 10]})
>>> done = shoal.protect(people, {"quasi": ["age", "income"], "identifier": ["name"], "k": 3})
>>> done.data.to_pydict()["age"]
[33, 33, 61, 61, 33, 61]
>>> done.audit.to_dict()["k"]
3
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import errors
from shoal.errors import DataError, EngineError, GuaranteeError, ParameterError, SchemaError, ShoalError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

    from shoal.flow.demo import Demonstration
    from shoal.flow.protect.protect import Protected
    from shoal.recipe.recipe import Recipe
    from shoal.stream.engine.counters import Snapshot
    from shoal.stream.recipe.recipe import StreamRecipe
    from shoal.stream.replay import Replayed
    from shoal.stream.run import Streamed
    from shoal.types import (
        Audit,
        Certificate,
        Explored,
        Inspection,
        Kind,
        Partition,
        Planned,
        Readings,
        Role,
        Schema,
        Verification,
    )

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "Certificate",
    "DataError",
    "Demonstration",
    "EngineError",
    "Explored",
    "GuaranteeError",
    "Inspection",
    "Kind",
    "ParameterError",
    "Partition",
    "Planned",
    "Protected",
    "Readings",
    "Recipe",
    "Replayed",
    "Role",
    "Schema",
    "SchemaError",
    "ShoalError",
    "StreamRecipe",
    "Streamed",
    "Verification",
    "audit",
    "audit_file",
    "compare",
    "compare_files",
    "demo",
    "errors",
    "explore",
    "explore_file",
    "inspect",
    "inspect_file",
    "lower_bound",
    "microaggregate",
    "plan",
    "protect",
    "protect_file",
    "recipe_schema",
    "replay",
    "run_stream",
    "save_recipe",
    "survey",
    "verify",
    "write_table",
]


_LATE = {
    "Demonstration": "shoal.flow.demo",
    "Protected": "shoal.flow.protect.protect",
    "Recipe": "shoal.recipe.recipe",
    "Replayed": "shoal.stream.replay",
    "StreamRecipe": "shoal.stream.recipe.recipe",
    "Streamed": "shoal.stream.run",
    **dict.fromkeys(
        (
            "Audit",
            "Certificate",
            "Explored",
            "Inspection",
            "Kind",
            "Partition",
            "Planned",
            "Readings",
            "Role",
            "Schema",
            "Verification",
        ),
        "shoal.types",
    ),
}


def __getattr__(name: str) -> Any:
    """Import what is not needed to show a help page when it is asked for."""
    if name not in _LATE:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATE[name]), name)


def protect(
    frame: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    *,
    certify: bool = False,
    keep_metadata: bool = False,
    repeat: str | Path | None = None,
) -> Protected:
    """Protect a frame of pandas, polars or pyarrow.

    Parameters
    ----------
    frame
        The table. It is not changed.
    recipe
        What to do: a recipe, a mapping with its fields, or the path of a TOML file.
    certify
        Also compute a lower bound on the SSE of any partition; may take minutes.
    keep_metadata
        Keep metadata that came with the frame: that of pyarrow tables and their columns, ``attrs`` of pandas. It may
        list categories, columns and people that the table no longer holds; ``notes`` says so.
    repeat
        The receipt of an earlier run on the same table: its swap key and its order of rows are used again.

    Returns
    -------
    Protected
        ``data`` (the same kind of frame, same row order unless the recipe says ``shuffle``), ``partition``, ``audit``,
        ``readings``, ``recipe``, ``schema``, ``certificate``, ``notes``, ``rows`` (for each released row its row in
        the input; None: the same), and with noise ``ledger``. Pickling drops what was computed record by record.

    Raises
    ------
    GuaranteeError
        If the independent audit of what would be handed over does not find what the recipe promises.
    """
    from shoal.flow.protect.protect import protect_frame

    return protect_frame(frame, _recipe(recipe), certify=certify, keep_metadata=keep_metadata, repeat=_path(repeat))


def protect_file(
    source: str | Path,
    target: str | Path,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    *,
    force: bool = False,
    save_recipe: str | Path | None = None,
    certify: bool = False,
    report: str | Path | None = None,
    edition: str = "internal",
    evidence: str | Path | None = None,
    keep_metadata: bool = False,
    receipt: str | Path | None = None,
    repeat: str | Path | None = None,
) -> Protected:
    """Protect a file: read, partition, release, stage, audit what was staged, and only then let it appear.

    Parameters
    ----------
    source, target
        Files of any known format, chosen by suffix, or URLs of tables, such as ``sqlite:///people.db?table=survey``.
    recipe
        As in :func:`protect`.
    force
        Replace the output if it exists.
    save_recipe
        Where to write the recipe as well; it appears together with the output, or neither does.
    certify
        As in :func:`protect`.
    report, edition
        Where to write a report that people read, one HTML file; ``internal``, or ``external``: without what would
        help an intruder. It appears together with the output, or neither does.
    evidence
        Where to write evidence for :func:`verify`, a JSON file; it appears together with the output, too.
    keep_metadata
        Keep metadata that came with the input: of Parquet and Arrow, labels and notes of SPSS and Stata files. It may
        list categories, columns and people that the table no longer holds; ``notes`` says so.
    receipt
        Where to write a receipt, for yourself only, a JSON file of mode 0600: it opens the commitment to the input in
        the evidence, and holds what was drawn at random. It appears together with the output, too.
    repeat
        As in :func:`protect`.
    """
    from shoal.flow.protect.protect import protect_file as run
    from shoal.flow.protect.side_files import Besides
    from shoal.locations import place

    besides = Besides(_path(save_recipe), _path(report), edition, _path(evidence), _path(receipt))
    return run(
        place(source),
        place(target),
        _recipe(recipe),
        force=force,
        besides=besides,
        certify=certify,
        keep_metadata=keep_metadata,
        repeat=_path(repeat),
    )


def plan(
    data: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    output: str | Path | None = None,
    *,
    certify: bool = False,
    force: bool = False,
    save_recipe: str | Path | None = None,
    report: str | Path | None = None,
    evidence: str | Path | None = None,
    receipt: str | Path | None = None,
) -> Planned:
    """Plan a run without starting it: what would be done, why it would be refused, how long it would take.

    Nothing is written. Refusals are in the result, all of them; they are not raised.

    Parameters
    ----------
    data
        A frame, the path of a file, or the URL of a table.
    recipe
        As in :func:`protect`.
    output
        Where the protected file would go; None: it is not checked.
    certify, force, save_recipe, report, evidence, receipt
        As in :func:`protect_file`.

    >>> import pyarrow as pa, shoal
    >>> people = pa.table({"age": [31, 33, 62, 60, 35, 61], "ill": list("abcabc")})
    >>> found = shoal.plan(people, {"quasi": ["age"], "confidential": ["ill"], "k": 7, "require": {"p": 4}})
    >>> [sentence.partition(",")[0] for sentence in found.refusals]
    ['Auto: k must be at most the number of records']
    """
    from shoal.flow.protect.dry_run import plan_file, plan_frame
    from shoal.flow.protect.side_files import Besides
    from shoal.locations import place

    if not isinstance(data, (str, Path)):
        return plan_frame(data, _recipe(recipe), certify=certify)
    besides = Besides(_path(save_recipe), _path(report), "internal", _path(evidence), _path(receipt))
    target = None if output is None else place(output)
    return plan_file(place(data), target, _recipe(recipe), force=force, besides=besides, certify=certify)


def audit(
    frame: Any,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    subject: str | None = None,
    require: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    weight: str | None = None,
    *,
    subject_exact: bool = False,
) -> Audit:
    """Audit a frame as it is, ours or not.

    Parameters
    ----------
    frame
        The table, of pandas, polars or pyarrow.
    quasi, confidential, subject
        Columns of these roles.
    require
        Levels that must hold, by model: ``{"k": 5, "l_recursive": (2, 3), "e": {"pay": 900}}``. Others are reported.
    kinds, taxonomies
        Of confidential columns, where the inferred kind is not meant, or values have groups; as in a recipe.
    weight
        A column of sampling weights: what the smallest class weighs is reported besides k, as ``weighted_k``.
    subject_exact
        Every spelling of a subject is another one; else Ann and ANN, and 7 and 007, are one.

    >>> import pyarrow as pa
    >>> audit(pa.table({"age": [40, 40, 50, None]}), quasi=["age"]).to_dict()["k"]
    1
    """
    from shoal.flow.audit import Asked, audit_frame

    about = (quasi, confidential, subject, require or {}, kinds or {}, taxonomies or {}, weight)
    return audit_frame(frame, Asked(*about, subject_exact=subject_exact))


def audit_file(
    path: str | Path,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    subject: str | None = None,
    require: Mapping[str, Any] | None = None,
    text: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    weight: str | None = None,
    *,
    subject_exact: bool = False,
) -> Audit:
    """Audit a file as it is, with arguments as in :func:`audit`.

    Quasi-identifiers of a text file are compared as they are written. Confidential cells are read as values: 1 and 1.0
    are the same number.
    """
    from shoal.flow.audit import Asked
    from shoal.flow.audit import audit_file as run
    from shoal.locations import place

    about = (quasi, confidential, subject, require or {}, kinds or {}, taxonomies or {}, weight)
    return run(place(path), Asked(*about, subject_exact=subject_exact), text or {})


def compare(
    original: Any,
    masked: Any,
    columns: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    recipe: Recipe | Mapping[str, Any] | str | Path | None = None,
    *,
    confidential: Sequence[str] = (),
    strata: Sequence[str] = (),
    key: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int = 0,
    measures: Sequence[str] = (),
    receipt: str | Path | None = None,
) -> Readings:
    """Measure what a masked frame lost against its original, and what an intruder gains, record by record.

    Parameters
    ----------
    original, masked
        Frames of pandas, polars or pyarrow, with the same rows in the same order, unless there is a key or a receipt.
    columns
        The columns to compare, of any kind. Without: the quasi-identifiers of the recipe.
    kinds, taxonomies, orders
        Where the original's own kinds are not meant, or categories have groups or an order; as in a recipe.
    recipe
        By which it was masked: says what the columns mean, and what was done about missing values.
    confidential, strata
        Columns that nobody should learn, for measures of inference; columns to look at changes within.
    key
        A column that names records in both tables, where rows are not in the same order or some did not leave.
    set
        Parameters of measures, such as ``{"formula": "income ~ age", "subsets": 100}``.
    seed
        Where randomness starts, for measures that look at a sample.
    measures
        Only these, and what they are made of; see ``shoal list measures``. Without: all.
    receipt
        The receipt of the run that protected the table: lines rows up again if they were shuffled or excluded.

    A missing value is a value, 1 away from the others. So is a category that the original has not, unless it is a
    group of its taxonomy, or ``*``, which is above all.

    >>> import pyarrow as pa
    >>> before, after = (pa.table({"sex": list(sex)}) for sex in ("fmff", "ffxf"))
    >>> round(compare(before, after, ["sex"])["sse"], 6)
    2.0
    """
    from shoal.flow.compare import Compared, compare_frames

    said = Compared(
        columns, kinds or {}, taxonomies or {}, orders or {}, confidential, strata, key, set or {}, seed, measures
    )
    said = said.with_receipt(_path(receipt))
    return compare_frames(original, masked, Compared.of(None if recipe is None else _recipe(recipe), said))


def compare_files(
    original: str | Path,
    masked: str | Path,
    columns: Sequence[str] = (),
    text: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    recipe: Recipe | Mapping[str, Any] | str | Path | None = None,
    *,
    confidential: Sequence[str] = (),
    strata: Sequence[str] = (),
    key: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int = 0,
    measures: Sequence[str] = (),
    receipt: str | Path | None = None,
) -> Readings:
    """Measure what a masked file lost, and what an intruder gains, with arguments as in :func:`compare`.

    `text` says how text files are written, with the same names as ``[text]`` in a recipe.
    """
    from shoal.flow.compare import Compared
    from shoal.flow.compare import compare_files as run
    from shoal.locations import place

    said = Compared(
        columns, kinds or {}, taxonomies or {}, orders or {}, confidential, strata, key, set or {}, seed, measures
    )
    said = said.with_receipt(_path(receipt))
    asked = Compared.of(None if recipe is None else _recipe(recipe), said)
    return run(place(original), place(masked), asked, text or {})


def explore(
    frame: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    *,
    k: Sequence[int] | None = None,
    t: Sequence[float] | None = None,
    methods: Sequence[str] | None = None,
    refine: Sequence[str] | None = None,
    seconds: float = 60.0,
    sample: int = 20_000,
    loss: str = "il_sse",
    risk: str | None = None,
    max_loss: float | None = None,
    max_risk: float | None = None,
    jobs: int = 2,
    epsilon: float | Mapping[str, float] | None = None,
    bounds: Mapping[str, Sequence[float]] | str | None = None,
    claim: str | None = None,
) -> Explored:
    """Try many settings on a frame, and say which one to take: what each loses, and what an intruder gains.

    Parameters
    ----------
    frame
        The table, of pandas, polars or pyarrow.
    recipe
        What does not change: roles, kinds, what is required, the release, the seed; as in :func:`protect`. Its k, t
        and requirements are a floor, its epsilon a ceiling: weaker settings are shown, and never recommended.
    k, t, methods, refine
        What to try, in every combination. Without: k of 3, 5, 10, 25 and the recipe's; the recipe's t; methods that
        suit the recipe; its refinement, or none and ``"fast"``. In `refine`, ``"none"`` is not to refine.
    seconds, jobs
        Time at hand, and settings that run at once. What fits is computed from counts, never from a clock: the same
        arguments give the same result on every machine.
    sample
        Records to look at, at most; of a larger table a random sample is drawn.
    loss, risk
        The two measures that settings are compared by, both in percent; the risk is ``dld`` if nobody says another.
    max_loss, max_risk
        What they may be at most. With one of them the other is made the least; with both or none, their mean is.
    epsilon, bounds, claim
        Weigh noise, as the release ``laplace`` adds it, against what microaggregation loses: settings are compared by
        the il_sse to expect, nothing is drawn, and the least is recommended. Fields of the recipe, of the same names.

    Returns
    -------
    Explored
        ``settings``, ``frontier``, ``recommended``, ``reason``, ``recipe`` (which :func:`protect` takes), ``toml``.

    >>> found = explore(survey(200), {"quasi": ["income", "rent"]}, k=[3, 10], methods=["mdav", "tour"])
    >>> found.ran, found.recommended.name
    ('4 of 4 settings fit into 60 s on 2 cores', 'tour, k = 10')
    """
    from shoal.flow.explore.explore import explore_frame
    from shoal.flow.explore.grid import Explore
    from shoal.flow.plan.release_traits import with_noise

    lists = (_tuple(k), _tuple(t), _tuple(methods), _tuple(refine))
    asked = Explore(*lists, seconds, sample, loss, risk, max_loss, max_risk, jobs)
    return explore_frame(frame, with_noise(_recipe(recipe), epsilon, bounds, claim), asked)


def explore_file(
    source: str | Path,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    target: str | Path | None = None,
    *,
    save_recipe: str | Path | None = None,
    force: bool = False,
    k: Sequence[int] | None = None,
    t: Sequence[float] | None = None,
    methods: Sequence[str] | None = None,
    refine: Sequence[str] | None = None,
    seconds: float = 60.0,
    sample: int = 20_000,
    loss: str = "il_sse",
    risk: str | None = None,
    max_loss: float | None = None,
    max_risk: float | None = None,
    jobs: int = 2,
    epsilon: float | Mapping[str, float] | None = None,
    bounds: Mapping[str, Sequence[float]] | str | None = None,
    claim: str | None = None,
) -> Explored:
    """Try many settings on a file, or a table by URL, with arguments as in :func:`explore`.

    Parameters
    ----------
    source, recipe
        As in :func:`protect_file`.
    target
        Where to write the page with the frontier, one HTML file.
    save_recipe
        Where to write the recipe of the recommended setting; there must be one then.
    force
        Replace these files if they exist.
    """
    from shoal.flow.explore.explore import explore_file as run
    from shoal.flow.explore.grid import Explore
    from shoal.flow.plan.release_traits import with_noise
    from shoal.locations import place

    lists = (_tuple(k), _tuple(t), _tuple(methods), _tuple(refine))
    asked = Explore(*lists, seconds, sample, loss, risk, max_loss, max_risk, jobs)
    page, saved = _path(target), _path(save_recipe)
    noisy = with_noise(_recipe(recipe), epsilon, bounds, claim)
    return run(place(source), noisy, asked, target=page, save_recipe=saved, force=force)


def verify(
    evidence: str | Path,
    output: Any,
    input: Any = None,
    *,
    receipt: str | Path | None = None,
    require: Mapping[str, Any] | None = None,
    strict: bool = False,
) -> Verification:
    """Check what was protected against its evidence, on its own: audit it from scratch, and compare.

    Parameters
    ----------
    evidence
        The JSON file that :func:`protect_file` wrote, or ``Protected.evidence``.
    output
        The protected file, the URL of a table, or a frame. Where two tables left: the first file, or both frames.
    input
        What was protected, if it is there: a file, a URL or a frame. Needs the receipt.
    receipt
        The JSON file that :func:`protect_file` wrote with ``receipt=``: it opens the commitment to the input.
    require
        Levels that must be promised over all quasi-identifiers together and confirmed, as in a recipe: ``{"k": 5}``.
    strict
        Whether everything about the protection of the output must be verified for ``holds`` to be true.

    Returns
    -------
    Verification
        ``holds`` (whether everything that can be checked does), ``promise`` (a sentence), ``k`` (promised over all
        quasi-identifiers together, or None), ``checks`` (claim, verdict, why), ``unverified``, ``to_dict()``.

    Raises
    ------
    DataError
        If evidence, output, input or receipt cannot be read. Claims that are not true raise nothing.
    ParameterError
        If there is an input and no receipt, or if a requirement names no model or no level that there is.
    """
    from shoal.flow.verify.recheck import verify as run

    outputs, source = _place_or_frame(output), _place_or_frame(input)
    return run(Path(evidence), outputs, source, _path(receipt), require=require, strict=strict)


def inspect(frame: Any, reviewed: Sequence[str] = ()) -> Inspection:
    """Look at a frame that nobody has described yet: what its columns seem to be, and how far they single people out.

    Parameters
    ----------
    frame
        The table, of pandas, polars or pyarrow.
    reviewed
        Columns released unchanged that you have looked at, as in a recipe.

    Returns
    -------
    Inspection
        ``columns`` (a guess each, with the reason), ``together``, ``combinations``, ``unchanged``, and ``recipe``, TOML
        to begin with.

    >>> import pyarrow as pa
    >>> seen = inspect(pa.table({"age": [40, 40, 50, 61], "sex": list("fmff"), "illness": list("abab")}))
    >>> [guess.role.value for guess in seen.columns], seen.together.unique
    (['quasi', 'quasi', 'confidential'], 4)
    """
    from shoal.flow.inspect import inspect_frame

    return inspect_frame(frame, reviewed)


def inspect_file(
    path: str | Path,
    text: Mapping[str, Any] | None = None,
    *,
    recipe: str | Path | None = None,
    force: bool = False,
    reviewed: Sequence[str] = (),
) -> Inspection:
    """Look at a file, or a table by URL, as in :func:`inspect`.

    Parameters
    ----------
    path
        A file of any known format, or the URL of a table.
    text
        How a text file is written, with the same names as ``[text]`` in a recipe.
    recipe
        Where to write the recipe to begin with, whole or not at all.
    force
        Replace the recipe if it exists.
    reviewed
        Columns released unchanged that you have looked at, as in a recipe.
    """
    from shoal.flow.inspect import inspect_file as run
    from shoal.locations import place

    return run(place(path), text or {}, recipe=_path(recipe), force=force, reviewed=reviewed)


def microaggregate(
    X: ArrayLike,
    k: int,
    method: str = "mdav",
    confidential: ArrayLike | None = None,
    seed: int = 0,
    refine: str | None = None,
    steer: Sequence[Mapping[str, Any] | tuple[ArrayLike, float]] = (),
    require: Mapping[str, Any] | None = None,
    **params: Any,
) -> Partition:
    """Partition points into classes of at least k, without scaling them.

    Parameters
    ----------
    X
        Points, shape (n, d) (or (n,) for one coordinate).
    k
        Smallest number of points in a class.
    method
        Registry key, see ``shoal list methods``.
    confidential
        One value per point, or one row of values, for the methods that need it. Numbers are ordered, text is not.
    seed
        Where randomness starts.
    refine
        Effort with which to lower the loss afterwards: ``fast``, ``default`` or ``best``. None: not at all.
    steer
        Artificial attributes, for the partition only: pairs (values, weight), or tables as in a recipe, in which a
        column is an array. Numbers are scaled to 0 … weight; records with different texts are weight apart.
    require
        What every class must hold of confidential values, by model: ``{"l_entropy": 3, "e": {"0": 500}}``; a column of
        `confidential` is called by its number.
    **params
        Parameters of the method; a name that it does not have is an error.

    >>> microaggregate([[0.0], [0.1], [5.0], [5.5], [0.2], [5.1]], k=3).labels.tolist()
    [1, 1, 0, 0, 1, 0]
    """
    from shoal.flow.classes.microaggregate import microaggregate_points

    return microaggregate_points(X, k, method, confidential, seed, refine, steer, require or {}, params)


def lower_bound(X: ArrayLike, k: int, labels: ArrayLike | None = None) -> Certificate:
    """Bound the SSE of any partition of points into classes of at least k from below, without scaling them.

    Parameters
    ----------
    X
        Points, shape (n, d) (or (n,) for one coordinate).
    k
        Smallest number of points in a class.
    labels
        A partition of the points whose SSE is to be compared with the bound.

    Returns
    -------
    Certificate
        ``bound``, ``how`` it was obtained, and with labels ``sse`` and ``gap``.

    >>> lower_bound([0.0, 0.1, 5.0, 5.5, 0.2, 5.1], k=3).how
    ('optimal cut',)
    """
    from shoal.flow.classes.microaggregate import bound_points

    return bound_points(X, k, labels)


def run_stream(
    source: str | Path,
    target: str | Path,
    recipe: StreamRecipe | Mapping[str, Any] | str | Path,
    *,
    form: str | None = None,
    delimiter: str = ",",
    quote: str = '"',
    dead: str | Path | None = None,
    dead_payload: bool = False,
    longest: int = 1 << 20,
    rate: float | None = None,
    drain_seconds: float = 10.0,
    metrics: str | None = None,
    force: bool = False,
    watch: Callable[[Snapshot], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Streamed:
    """Protect a stream of tuples until it is over, or the process is told to stop.

    Parameters
    ----------
    source, target
        Where tuples come from and go to: files, ``-``, or URLs of a broker; the source may be any table.
    recipe
        What to do: a stream recipe, a mapping with its fields, or the path of a TOML file.
    form, delimiter, quote
        ``csv`` or ``jsonl``; without, as the names of the files say. How CSV is written.
    dead, dead_payload
        Where records go that are no tuples, with position, place and reason; and whether they are kept there too.
    longest
        Bytes that a record may have.
    rate
        Records to read each second. None: as fast as can be.
    drain_seconds
        Within which the stream stops when the process gets SIGTERM, SIGINT or SIGHUP.
    metrics
        ``[HOST]:PORT`` at which to answer Prometheus; port 0 takes a free one.
    force
        Rename an output that is there and has no journal.
    watch, say
        Called several times a second with what happened so far; called with a sentence worth a line.

    Returns
    -------
    Streamed
        ``counts``, ``finished`` (whether it is over; else it goes on when it is run again), ``to_dict()``.
    """
    from shoal.stream.formats import Dialect
    from shoal.stream.run import Streaming
    from shoal.stream.run import run_stream as run

    letters = None if dead is None else str(dead)
    how = Streaming(
        form, Dialect(delimiter, quote), letters, dead_payload, longest, rate, drain_seconds, metrics, force
    )
    return run(str(source), str(target), _stream_recipe(recipe), how, watch, say)


def replay(
    table: Any, recipe: StreamRecipe | Mapping[str, Any] | str | Path, *, delays: Sequence[int] | None = None
) -> list[Replayed]:
    """Replay a table as a stream, row by row, and say what it would lose; nothing is written.

    Parameters
    ----------
    table
        A frame of pandas, polars or pyarrow, the path of a file of any known format, or the URL of a table.
    recipe
        As in :func:`run_stream`.
    delays
        Largest delays to try, each from the beginning. Without: the recipe's.

    Returns
    -------
    list of Replayed
        One for each delay: ``loss``, ``mse``, ``labels``, ``delays``, ``to_dict()``.

    >>> people = survey(300)
    >>> recipe = {"quasi": ["income"], "bounds": {"income": (0, 200_000)}, "k": 3, "delay": 10}
    >>> short, long = replay(people, recipe, delays=[10, 100])
    >>> short.loss > long.loss
    True
    """
    from shoal.stream.formats import read_table
    from shoal.stream.replay import replay_table

    if isinstance(table, (str, Path)):
        return replay_table(read_table(str(table)), _stream_recipe(recipe), delays)
    from shoal.io.sources.frame import Frame

    return replay_table(Frame().read(table)[0], _stream_recipe(recipe), delays)


def survey(records: int = 5000, seed: int = 0) -> pa.Table:
    """Return a synthetic survey of people: the same for the same arguments, and about nobody."""
    from shoal.flow.demo_survey import Survey

    return Survey(records=records, seed=seed).read()


def demo(folder: str | Path = "demo", *, force: bool = False) -> Demonstration:
    """Write the synthetic survey, its taxonomy and a recipe to a folder, and protect it there.

    Parameters
    ----------
    folder
        Where the files go; it is made if it is not there.
    force
        Replace the files of an earlier run.

    Returns
    -------
    Demonstration
        ``files``, ``done`` (as from :func:`protect_file`), ``strata`` (an audit of each region), and one household
        ``before`` and ``after``.
    """
    from shoal.flow.demo import demonstrate

    return demonstrate(Path(folder), force=force)


def write_table(table: pa.Table, target: str | Path, *, force: bool = False, keep_metadata: bool = False) -> None:
    """Write a table to a file of any known format, or to a database by URL, whole or not at all.

    As in :func:`protect_file`, metadata is dropped unless `keep_metadata`, and so are categories that do not occur.
    """
    from shoal.flow.stages.write import write_table as run
    from shoal.locations import place

    run(table, place(target), force=force, keep_metadata=keep_metadata)


def save_recipe(recipe: Recipe, target: str | Path, *, force: bool = False) -> None:
    """Write a recipe to a TOML file, whole or not at all."""
    from shoal.flow.stages.write import write_text

    write_text(recipe.to_toml(Path(target).parent), Path(target), force=force)


def recipe_schema(*, stream: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of recipes, or of stream recipes; editors complete and check TOML files by it."""
    from shoal.recipe.fields import RecipeFields
    from shoal.recipe.json_schema import json_schema
    from shoal.stream.recipe.fields import StreamFields

    return json_schema(*((StreamFields, "Recipe of shoal stream") if stream else (RecipeFields, "Recipe of shoal")))


def _tuple(given: Any) -> Any:
    """Return things to try as a tuple; one thing alone is a list of one."""
    return given if given is None else (given,) if isinstance(given, (str, int, float)) else tuple(given)


def _place_or_frame(given: Any) -> Any:
    from shoal.locations import Place, place

    return place(given) if isinstance(given, (str, Path, Place)) else given


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


def _recipe(given: Recipe | Mapping[str, Any] | str | Path) -> Recipe:
    from shoal.recipe.recipe import Recipe

    if isinstance(given, Recipe):
        return given
    if isinstance(given, Mapping):
        return Recipe.from_dict(given)
    if isinstance(given, (str, Path)):
        return Recipe.load(given)
    raise ParameterError(f"protect: recipe must be a Recipe, a mapping or a path, got a {type(given).__name__}.")


def _stream_recipe(given: StreamRecipe | Mapping[str, Any] | str | Path) -> StreamRecipe:
    from shoal.stream.recipe.recipe import StreamRecipe

    if isinstance(given, StreamRecipe):
        return given
    if isinstance(given, Mapping):
        return StreamRecipe.from_dict(given)
    if isinstance(given, (str, Path)):
        return StreamRecipe.load(given)
    raise ParameterError(f"stream: recipe must be a StreamRecipe, a mapping or a path, got a {type(given).__name__}.")
