"""Exploration for a target: methods and releases ranked by what a model keeps, next to their risks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import DataError, ParameterError, rows_kept
from shoal.flow.explore.grid import Candidate, Explore, Way, candidates, efforts_of
from shoal.flow.explore.model import Scores, Task, as_numbers, as_text
from shoal.flow.explore.run_setting import KEY, Bench, Result, Strategy, of_records, weaker
from shoal.flow.gate.gate import gate
from shoal.flow.plan.promise import promise_of
from shoal.flow.protect.anonymise import anonymise, plan_for
from shoal.flow.stages.values import as_values, only_rows, subjects_of
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import resolve
from shoal.risk.control.copies import copied
from shoal.risk.control.membership import Outliers, membership, outliers
from shoal.risk.control.predicates import singled_out
from shoal.risk.control.tables import Tables, finite
from shoal.types import Explored, Kind, Release, Role, Setting, Table

RELEASES = ("centroid", "medoid", "swap", "anatomy")
PUBLIC = "centroid"  #: the release that is recommended if the recipe names none
_NUMBERS = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)
_FEW = 10  # different numbers are classes
_MANY = 20  # classes at most
_LEAST = 20  # records of each class
_FIT = 2e-4  # seconds per record to train and test two models and to attack the release
_UNSEEN = (Role.IDENTIFIER, Role.SUBJECT, Role.WEIGHT)


def checked_target(table: Table, name: str) -> pa.Array | None:
    """Return the classes of the target, None if it is a number; refuse a column that cannot be one."""
    names = table.schema.names()
    if name not in names:
        raise ParameterError(unknown("Explore", "column for the target", name, names))
    role = table.schema[name].role
    if role is Role.QUASI:
        raise ParameterError(
            f"Explore: target must not be a quasi-identifier, got {name!r}: the release changes its values, so a "
            "model would be taught wrong answers. Make it confidential, or choose another column."
        )
    if role in _UNSEEN:
        raise ParameterError(
            f"Explore: target must be a column that is released as it is, got {name!r}, which is a column of role "
            f"{role.value}. Choose another column."
        )
    values = as_values(name, table)
    text = as_text(values).drop_null()
    counted = pc.value_counts(text)
    classes, counts = counted.field("values"), counted.field("counts").to_numpy()
    if len(classes) < 2:
        raise DataError(
            f"Explore: target must have at least 2 different values; {name!r} has {len(classes)}. Choose another "
            "column."
        )
    if table.schema[name].kind in _NUMBERS and len(classes) > _FEW:
        return None
    if len(classes) > _MANY:
        raise DataError(
            f"Explore: target must have at most {_MANY} classes; {name!r} has {len(classes):,}. Choose another column, "
            "or group its values first."
        )
    if counts.min() < _LEAST:
        raise DataError(
            f"Explore: target must have at least {_LEAST} records of each class; {name!r} has {counts.min():,} of one. "
            "Group its values first, or use a larger sample."
        )
    return classes.sort()


def halves(table: Table, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide records into two random halves, to be protected and to be set aside; all records of a subject together."""
    units = subjects_of(table)
    units = np.arange(len(table)) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(units)
    order = np.random.default_rng(seed).permutation(len(sizes))
    first = np.zeros(len(sizes), np.bool_)
    first[order] = np.cumsum(sizes[order]) <= len(table) / 2
    inside = first[units]
    return np.flatnonzero(inside), np.flatnonzero(~inside)


@dataclass(frozen=True, eq=False)
class Trials:
    """The two halves of a table, and everything that does not depend on a setting."""

    bench: Bench
    target: str
    seed: int

    @cached_property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows to protect, and those set aside."""
        return halves(self.bench.table, self.seed)

    @cached_property
    def protected(self) -> Bench:
        """The half that is protected."""
        inside = self.rows[0]
        return Bench(
            only_rows(self.bench.table, inside), inside if self.bench.rows is None else self.bench.rows[inside]
        )

    @cached_property
    def _columns(self) -> dict[str, pa.ChunkedArray]:
        table = self.bench.table
        return {c.name: as_values(c.name, table) for c in table.schema.columns if c.role not in _UNSEEN}

    def half(self, which: int) -> dict[str, pa.ChunkedArray]:
        """Return the original columns of a half."""
        at = pa.array(self.rows[which])
        return {name: column.take(at) for name, column in self._columns.items()}

    @cached_property
    def task(self) -> Task:
        """The prediction task."""
        schema = self.bench.table.schema
        used = [c for c in schema.columns if c.role not in _UNSEEN and c.name != self.target]
        classes = checked_target(self.bench.table, self.target)
        return Task.of(used, schema[self.target], self._columns, classes)

    @cached_property
    def originals(self) -> Scores:
        """The scores of models that are trained on the original records."""
        return self.task.scores(self.half(0), self.half(1))

    def tables(self, released: Mapping[str, pa.ChunkedArray]) -> Tables:
        """Return the quasi-identifiers of the originals, the control and a release as numbers."""
        schema = self.bench.table.schema
        names = schema.names(Role.QUASI)
        numeric = [schema[name].kind in _NUMBERS for name in names]
        parts: list[list[NDArray[np.float64]]] = [[], [], []]
        for name, number in zip(names, numeric, strict=True):
            three = [self.half(0)[name], self.half(1)[name], released[name]]
            if number:
                coded = [np.nan_to_num(as_numbers(one), nan=-math.inf) for one in three]
            else:
                texts = [as_text(one) for one in three]
                known = pc.unique(pa.concat_arrays(texts).drop_null())
                coded = [
                    pc.fill_null(pc.index_in(text, value_set=known, skip_nulls=True), -1).to_numpy() for text in texts
                ]
            for part, column in zip(parts, coded, strict=True):
                part.append(np.asarray(column, np.float64))
        original, control, masked = (np.column_stack(part) for part in parts)
        original, control, masked = finite(original, control, masked)
        return Tables(original, control, masked, numeric)

    @cached_property
    def outliers(self) -> Outliers:
        """The unusual records of both halves."""
        return outliers(self.tables(self.half(0)), self.seed)


def tried(trials: Trials, recipe: Recipe) -> Result:
    """Protect one half by a setting, audit it, train models on the release, and attack it."""
    bench = trials.protected
    with rows_kept(bench.rows):
        made = anonymise(plan_for(bench.table, recipe).with_keys(KEY, KEY), bench.table)
        audit = gate(made.release, promise_of(recipe, made.partition))
    released = columns_of(made.release, trials.seed)
    scores = trials.task.scores(released, trials.half(1))
    tables = trials.tables(released)
    guessed = singled_out(tables, seed=trials.seed)
    figures = {
        "boosting": scores.boosting,
        "linear": scores.linear,
        "boosting_change": 1000 * (scores.boosting - trials.originals.boosting),
        "linear_change": 1000 * (scores.linear - trials.originals.linear),
        "singled_out": guessed.originals,
        "singled_out_control": guessed.control,
        "membership": membership(tables, trials.outliers),
        "copied": copied(tables),
    }
    return Result(
        int(audit.overall.achieved),
        audit.overall.classes,
        weaker(recipe, made.partition),
        made.readings["il_sse"],
        guessed.originals,
        attacker="" if audit.attacker is None else audit.attacker.knows,
        figures=figures,
    )


def columns_of(release: Release, seed: int) -> dict[str, pa.ChunkedArray]:
    """Return the columns of a release; two tables are joined at random within each class, as a recipient would."""
    found = {name: release.values(name) for name in release.data.column_names}
    if release.apart is None:
        return found
    assert release.link is not None
    rng = np.random.default_rng(seed)
    first, second = (_by_class(one, release.link, rng) for one in (release, release.apart))
    joined = {name: column.take(first) for name, column in found.items()}
    apart = release.apart
    joined |= {name: apart.values(name).take(second) for name in apart.data.column_names if name != release.link}
    return joined


def _by_class(release: Release, link: str, rng: np.random.Generator) -> pa.Array:
    """Return the rows of a table by class, in random order within each."""
    classes = release.data.column(link).to_numpy()
    return pa.array(np.lexsort((rng.random(len(classes)), classes)))


def by_target(recipe: Recipe, asked: Explore) -> Strategy:
    """Rank settings by the score of a model that is trained on the release, within each guarantee."""
    assert asked.target is not None
    target = asked.target
    kept: list[Trials] = []

    def settings(table: Table, _: int) -> list[Candidate]:
        checked_target(table, target)
        registry.package("sklearn", "target", "Explore: target")
        return target_candidates(recipe, asked)

    def prepared(bench: Bench) -> Trials:
        trials = Trials(bench, target, recipe.seed)
        _ = trials.task, trials.originals, trials.outliers, trials.protected
        kept.append(trials)
        return trials

    return Strategy(
        candidates=settings,
        tried=lambda bench, one: tried(kept[0], one),
        prepared=prepared,
        marked=lambda some: tuple(replace(one, guarantee=guarantee_of(one)) for one in some),
        recommended=lambda some: recommended(some, recipe, kept[0].task.score),
        notes=lambda found, complete, _: _notes(found, complete, recipe),
        risk="singled_out",
        extra=lambda n: _FIT * n,
        described=lambda: {
            "target": target,
            "score": kept[0].task.score,
            "originals": kept[0].originals._asdict(),
        },
    )


def target_candidates(recipe: Recipe, asked: Explore) -> list[Candidate]:
    """Return the settings to rank: methods × releases × k; a release that the recipe rules out is omitted."""
    ks = sorted({int(k) for k in asked.k or (recipe.k, 4 * recipe.k)})
    ts = sorted({float(t) for t in asked.t}) if asked.t else [recipe.t]
    if asked.methods is not None:
        ways = [Way(one, effort) for one in dict.fromkeys(asked.methods) for effort in efforts_of(recipe, asked, one)]
    else:
        ways = [Way("mdav", effort) for effort in dict.fromkeys((*efforts_of(recipe, asked, "mdav"), "fast"))]
        ways.append(Way("auto", efforts_of(recipe, asked, "auto")[0]))
    found: list[Candidate] = []
    for release in asked.releases or RELEASES:
        if release == "anatomy" and not recipe.confidential:
            continue
        try:
            made = recipe.override(release=release)
        except ParameterError:
            if asked.releases is not None or release == recipe.release:
                raise
            continue
        lacking = _weaker_release(recipe.release, release)
        for one in candidates(made, ways, ks, ts):
            short = "; ".join(filter(None, (one.shortfall, lacking)))
            later = (release != PUBLIC) + (one.values["k"] != recipe.k)  # the recipe's guarantee comes first
            found.append(one._replace(variant=release, shortfall=short, level=one.level + later))
    return found


def _guarantee(release: str) -> str:
    return str(registry.load("release", release).guarantee)


def _weaker_release(asked: str, release: str) -> str:
    """Return in words how the guarantee of a release is weaker than that of the recipe's; "" if it is not."""
    own, needed = _guarantee(release), _guarantee(asked)
    if own in (needed, "k_anonymity"):
        return ""
    return f"{release} does not give {needed}, which the recipe's release {asked} gives"


def guarantee_of(one: Setting) -> str:
    """Return the guarantee of a setting in words: only settings with the same guarantee are compared."""
    k, t = one.asked
    parts = [f"{_guarantee(one.recipe.get('release', PUBLIC))}, k = {k}"]
    parts += [] if t is None else [f"t = {t:g}"]
    for required in resolve("Recipe", one.recipe.get("require", {})):
        parts.append(", ".join([required.key, *(f"{name} = {level:g}" for name, level in required.levels)]))
    who = {"algorithm": "someone who knows the algorithm", "table": "someone who knows the table"}
    return ", ".join(parts) + (f"; withstands {who[one.attacker]}" if one.attacker in who else "")


def recommended(settings: Sequence[Setting], recipe: Recipe, score: str) -> tuple[Setting | None, str, str]:
    """Choose the setting whose model scores best, among those with the recipe's guarantee and a public release."""
    public = recipe.release if "release" not in recipe.unset else PUBLIC
    rule = (
        f"of the settings with release {public} and the recipe's guarantee (k, t, requirements and attacker), the one "
        f"whose gradient boosting has the largest {score}"
    )
    able = [
        one
        for one in settings
        if one.state == "ran" and one.keeps and one.meets and one.recipe.get("release", PUBLIC) == public
        and one.asked[0] >= recipe.k and (one.attacker == "algorithm" or recipe.attacker != "algorithm")
    ]  # fmt: skip
    if not able:
        return None, _NONE, rule
    k = min(one.asked[0] for one in able)
    same = [one for one in able if one.asked[0] == k]
    best = max(same, key=lambda one: one.readings["boosting"])
    change = best.readings["boosting_change"]
    against = f"{abs(change):.0f} thousandths {'less' if change < 0 else 'more'} than on the originals"
    among = f"the best of {len(same):,} settings with this guarantee" if len(same) > 1 else "the only such setting"
    reason = (
        f"{best.name}: gradient boosting on the release has an {score} of {best.readings['boosting']:.3f} on untouched "
        f"records, {against}; {among}."
    )
    return best, reason, rule


_NONE = (
    'No setting that ran has the recipe\'s guarantee. Try auto, or set attacker = "table" if k may be counted in the '
    "table only."
)


def _notes(found: Explored, complete: int, recipe: Recipe) -> Iterator[str]:
    yield from of_records(found, complete, "scores are higher there.")
    n = found.records // 2
    yield (
        f"{n:,} records were set aside before protection; models are tested on them, and they are the control of the "
        "risks. Settings are compared with settings of the same guarantee only."
    )
    if weak := sum(one.state == "ran" and not (one.keeps and one.meets) for one in found.settings):
        yield f"{weak:,} settings promise less than the recipe; they are shown, but never recommended."
    ran = [one for one in found.settings if one.state == "ran"]
    of = {name: [s.readings["copied"] for s in ran if s.recipe.get("release", PUBLIC) == name] for name in RELEASES}
    if of["swap"] and of[PUBLIC]:
        yield (
            f"swap is not recommended for public releases: it reproduces up to {max(of['swap']):.0f} % of the unique "
            f"combinations of quasi-identifiers, {PUBLIC} up to {max(of[PUBLIC]):.0f} %, and a combination that only "
            "one person has reveals that this person is in the table. Its guarantee is about links to other columns."
        )
