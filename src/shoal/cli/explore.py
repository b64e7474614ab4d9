"""``shoal explore``: many settings tried on a file, and a recommendation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._echo import echo
from shoal.cli._stopping import leave_without_threads, stoppable_search
from shoal.cli._tables import print_json, print_table, progress_bar, summary_of
from shoal.progress import Enough
from shoal.recipe.fields import EFFORTS, OUTPUT

if TYPE_CHECKING:
    from shoal.types import Explored, Setting

SEARCH = "Search"
SUMMARY = "Try settings, and recommend one."
EXAMPLE = "shoal explore people.csv --quasi birth,income -o frontier.html"


@o.settings(
    "quasi", "confidential", "identifier", "subject", "subject_exact", "weight", "strata", "require", "attacker",
    "release", "set", "kinds", "orders", "taxonomies", "when_missing", "seed", "epsilon", "bounds", "claim",
)  # fmt: skip
def explore(
    source: Annotated[str, typer.Argument(metavar="IN", help="The file to try settings on, or the URL of a table.")],
    output: Annotated[
        Path | None, o.option("PAGE.html", "Output page with the frontier, .html.", "--output", "-o")
    ] = None,
    methods: Annotated[
        str | None,
        o.option(
            "A,B,…",
            "Methods to try. Default: those that suit the requirements.",
            group=SEARCH,
            complete=o.keys_of("partition"),
        ),
    ] = None,
    k: Annotated[str | None, o.option("A,B,…", "Class sizes to try.", "--k", usual="3,5,10,25", group=SEARCH)] = None,
    t: Annotated[
        str | None, o.option("A,B,…", "Values of t (t-closeness, 0 to 1) to try.", "--t", group=SEARCH)
    ] = None,
    effort: Annotated[
        str | None,
        o.option(
            "A,B,…",
            "Efforts to try: none, fast, default, best.",
            "--effort",
            "--refine",
            group=SEARCH,
            complete=o.one_of(("none", *EFFORTS)),
        ),
    ] = None,
    seconds: Annotated[float, o.option("", "Time limit of the whole search, in seconds.", group=SEARCH)] = 60.0,
    jobs: Annotated[int, o.option("", "Settings that run in parallel.", group=SEARCH)] = 2,
    sample: Annotated[int, o.option("", "Largest number of records; a larger file is sampled.", group=SEARCH)] = 20_000,
    loss: Annotated[
        str, o.option("il_sse|il", "Measure of loss to compare by: il_sse or il.", group=SEARCH)
    ] = "il_sse",
    risk: Annotated[
        str | None,
        o.option("MEASURE", "Measure of risk to compare by, e.g. dld, id or dr.", usual="dld", group=SEARCH),
    ] = None,
    max_loss: Annotated[
        float | None, o.option("PERCENT", "Largest loss in percent; recommends the least risk within it.", group=SEARCH)
    ] = None,
    max_risk: Annotated[
        float | None, o.option("PERCENT", "Largest risk in percent; recommends the least loss within it.", group=SEARCH)
    ] = None,
    target: Annotated[
        str | None, o.option("COLUMN", "Rank releases by models that predict this column.", "--target", group=SEARCH)
    ] = None,
    releases: Annotated[str | None, o.option("A,B,…", "Releases to rank, with --target.", group=SEARCH)] = None,
    recipe: Annotated[Path | None, o.option("R.toml", "Recipe with the fields that do not vary.")] = None,
    save_recipe: Annotated[Path | None, o.option("R.toml", "Write the recommended recipe to this file.")] = None,
    force: Annotated[bool, o.option("", "Replace the page and the recipe if they exist.", "--force")] = False,
    every: Annotated[bool, o.option("", "Also show the settings that others beat.", "--all", group=OUTPUT)] = False,
    threads: o.Threads = None,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Try methods, class sizes and values of t on a file, plot loss against risk, and recommend a setting.

    With --epsilon, noise is weighed against microaggregation loss, and the smallest sum is recommended. A signal
    (Ctrl-C) or the time limit stops the search; all settings finished by then are written. A setting has the same
    figures on every machine.
    """
    said = o.read(given)
    noise = {name: said.pop(name, None) for name in ("epsilon", "bounds", "claim")}
    if "release" in said:  # a release that was named must take them
        said |= _not_in(recipe, noise)
    made = o.recipe_from(recipe, said, "explore")
    import rich.table  # noqa: F401 - imported now, so that stopping the search does not wait for it

    import shoal

    try:
        with progress_bar(quiet=json, lines=True), stoppable_search() as stop:
            found = shoal.explore(
                source,
                made,
                output=output,
                save_recipe=save_recipe,
                force=force,
                k=o.numbers("--k", k, int),  # type: ignore[arg-type]
                t=o.numbers("--t", t, float),
                methods=None if methods is None else o.names(methods),
                effort=None if effort is None else o.names(effort),
                seconds=seconds,
                sample=sample,
                loss=loss,
                risk=risk,
                max_loss=max_loss,
                max_risk=max_risk,
                jobs=jobs,
                target=target,
                releases=None if releases is None else o.names(releases),
                **noise,
            )
    except Enough:
        echo("shoal: Stopped before any setting had finished. Nothing was written.", err=True)
        leave_without_threads(stop.code)
        raise typer.Exit(stop.code) from None
    with summary_of(str(output or save_recipe or source)):
        if json:
            print_json(found.to_dict())
        else:
            _print_found(found, output, save_recipe, every=every)
    if found.stopped:
        code = stop.code if stop.number else 0
        leave_without_threads(code)
        raise typer.Exit(code)


def _print_found(found: Explored, output: Path | None, save_recipe: Path | None, *, every: bool) -> None:
    if found.target:
        _print_kept(found)
    elif found.epsilon is None:
        _print_frontier(found, beaten=every)
    else:
        _print_expected(found)
    _print_rest(found)
    saved = save_recipe if found.recommended is not None else None
    for path, what in ((output, "The frontier" if found.epsilon is None else "The curves"), (saved, "The recipe")):
        if path is not None:
            echo(f"{what}: {path}")


def _not_in(path: Path | None, noise: dict[str, Any]) -> dict[str, Any]:
    """Return the noise options that the recipe file does not set itself: its own values limit the options."""
    from shoal.recipe.recipe import Recipe

    said = {} if path is None else Recipe.values_in(path)
    return {name: value for name, value in noise.items() if value is not None and name not in said}


def _print_frontier(found: Explored, *, beaten: bool) -> None:
    both = bool(found.attacker)
    shown = [s for s in found.settings if s.frontiers] if both else list(found.frontier)
    if beaten:
        shown = [s for s in found.settings if s.state == "ran"]
    several = len({one.asked[1] for one in shown}) > both  # where attackers take the space, one t is not repeated
    close = several and any(one.asked[1] is not None for one in shown)
    rows = []
    for one in sorted(shown, key=lambda s: (math.isnan(s.loss + s.risk), s.loss, -s.risk)):
        asked = [str(one.asked[0]), *([f"{one.asked[1]:g}"] if close else [])]
        more = one.attacker if both else f"{one.classes:,}"
        said = "recommended" if one is found.recommended else _standing(one) if beaten else ""
        rows.append([one.method, *asked, _percent(one.loss), _percent(one.risk), more, said])
    more = "Attacker" if both else "Classes"
    heads = ["Method", "k", *["t"] * close, f"Loss ({found.loss})", f"Risk ({found.risk})", more, ""]
    each = ", for each attacker" if both else ""
    title = f"Settings that no other beats in both loss and risk{each}, {found.records:,} records"
    if beaten:
        title = f"All settings that ran, {found.records:,} records"
    print_table(title, heads, rows, right=range(1, len(heads) - 1 - both))


def _standing(one: Setting) -> str:
    """Return how a setting compares with the others, in a word or two."""
    if one.frontier or one.frontiers:
        return "frontier"
    if not one.meets:
        return "weaker than the recipe"
    return "beaten" if one.comparable else "not comparable" if one.keeps else "promises less"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f} %"


def _print_kept(found: Explored) -> None:
    """Print a table for each guarantee: scores of models on the release, and its risks."""
    first = found.originals
    echo(
        f"Models that predict {found.target}, trained on {found.records // 2:,} records and tested on untouched ones. "
        f"On the originals, gradient boosting has an {found.score} of {first['boosting']:.3f}, the linear model "
        f"{first['linear']:.3f}; the change in brackets is in thousandths."
    )
    heads = (
        "Setting",
        f"Boosting\n{found.score}",
        f"Linear\n{found.score}",
        "Singled out\n(control)",
        "Membership",
        "Copied",
    )
    for guarantee, some in found.guarantees.items():
        rows = [[f"{'* ' * (one is found.recommended)}{one.method}", *one.kept] for one in some]
        weaker = "" if any(one.keeps and one.meets for one in some) else " (weaker than the recipe)"
        print_table(f"{guarantee}{weaker}", heads, rows, right=range(1, 6), whole=range(1, 6))
    for sentence in found.explanations:
        echo(sentence)


def _print_expected(found: Explored) -> None:
    """Print the expected loss by k and method, with the minimum of each method marked."""
    of = "stand-ins" if found.stand_ins else "records"
    title = (
        f"Expected loss ({found.loss}, %) at ε = {found.epsilon:g}, {found.records:,} {of}; * the least of its column"
    )
    if any(not one.meets for some in found.ways.values() for one in some):
        title += "; (in brackets) weaker than the recipe"
    ways = {way: some for way, some in found.ways.items() if some[0].sized}
    strong = {way: [s for s in some if s.meets] for way, some in ways.items()}
    least = {way: min(some, key=lambda s: s.loss, default=None) for way, some in strong.items()}
    rows = []
    for k in sorted({one.asked[0] for some in ways.values() for one in some}):
        at = {way: next((s for s in some if s.asked[0] == k), None) for way, some in ways.items()}
        rows.append([str(k), *("" if s is None else _expected(s, least=s is least[way]) for way, s in at.items())])
    if ways:
        heads = ("k", *(way.replace(" (", "\n(") for way in ways))
        print_table(title, heads, rows, right=range(len(heads)))
    for one in (one for some in found.ways.values() for one in some if not one.sized):
        echo(f"{one.name}: {_expected(one)}".rstrip())
    echo(f"ε is for: {found.meaning}.")


def _expected(one: Setting, *, least: bool = False) -> str:
    """Return the expected loss of a setting as a cell."""
    if not one.meets:
        return f"({one.figures[0]}) "
    return f"{one.figures[0]}{' *' if least else '  '}"


def _print_rest(found: Explored) -> None:
    failed = [setting for setting in found.settings if setting.state == "failed"]
    for note in dict.fromkeys(setting.note for setting in failed):
        count = sum(setting.note == note for setting in failed)
        echo(f"{count:,} setting{'s' if count > 1 else ''} could not be run: {note}")
    for note in found.notes:
        echo(note)
    if found.stopped:
        echo(f"Not finished: {'; '.join(found.unfinished)}.")
    echo(f"{found.ran}.")
    echo(f"Recommended: {found.reason}" if found.recommended is not None else found.reason)
