"""First pass over a DataFrame: its facts for the plan, gathered on the workers and merged exactly."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa

from shoal import secret
from shoal.errors import DataError, Nowhere, rows_kept
from shoal.flow.engines.blockwise.facts import STRATUM, SUBJECT, Facts, cell_of, facts_of
from shoal.flow.engines.spark.checks import content_of
from shoal.flow.engines.spark.frames import (
    FACTS,
    RECORDS,
    Rows,
    batches_by_rows,
    changed,
    packed,
    quoted,
    result_of,
    tried,
)
from shoal.flow.engines.spark.input import Input
from shoal.flow.engines.spark.row_groups import packed_rows
from shoal.flow.engines.spark.scratch import Scratch
from shoal.flow.plan.promise import UNCHANGED
from shoal.flow.stages.summary import Summary, Tally, value_tallies
from shoal.types import Role

_SIZE, _ROWS = 1 << 22, 16  # bytes of packed rows, and how many such are in a file


@dataclass
class _Part:
    """Facts about a part of the table, a few people of each stratum, and the values of confidential columns."""

    facts: Facts
    people: dict[int, set[bytes]] = field(default_factory=dict)
    values: dict[str, Tally] = field(default_factory=dict)
    content: int = 0


class Surveyed(NamedTuple):
    """A DataFrame that was read once.

    Attributes
    ----------
    rows
        Its rows, packed in scratch. All later passes read them, so that each sees the same ones.
    facts, summary
        The facts of its columns, and the summary for the plan.
    content
        A digest of the cells that are released unchanged.
    """

    rows: Rows
    facts: Facts
    summary: Summary
    content: int


def survey_on_spark(rows: Rows, table: Input, scratch: Scratch) -> Surveyed:
    """Read a DataFrame once: check its cells, gather its facts, and pack its rows.

    Raises
    ------
    DataError
        If there are no records, or cells that the plan cannot use. Rows have no numbers in Spark.
    """
    recipe, key = table.recipe, secret.fresh()
    required = recipe.t is not None or bool(recipe.require)
    unchanged = [one.name for one in table.schema.columns if one.role in UNCHANGED]

    def part(data: pa.Table) -> _Part:
        found = _Part(facts_of(table.schema, recipe))
        found.facts.key, found.facts.read = key, data.num_rows
        records = table.table(data)
        if not len(records):
            return found
        found.content = content_of(records.data, unchanged)
        with rows_kept(Nowhere):
            stored = found.facts.add(records)
            if required:
                found.values = value_tallies(records)
        if SUBJECT in stored:
            found.people = _few_people(found.facts, stored, recipe.k)
        return found

    whole = _Part(facts_of(table.schema, recipe))
    whole.facts.key = key

    def pack(data: pa.Table) -> pa.Table:
        some = data.select(table.arrow.names).cast(table.arrow)
        return pa.table({RECORDS: [packed(some)], FACTS: [pickle.dumps(tried(part, some))]})

    schema = pa.schema([pa.field(RECORDS, pa.binary()), pa.field(FACTS, pa.binary())])
    with batches_by_rows(rows.frame):
        kept = scratch.written(changed(rows, pack, schema, _SIZE), _ROWS)
    for one in kept.select(quoted(FACTS)).toArrow().column(0).to_pylist():
        _merge(whole, result_of(pickle.loads(one)), recipe.k)
    facts = whole.facts
    if facts.read == 0:
        raise DataError("DataFrame: it must have rows, got none. Check that it is the right one.")
    facts.check()
    for column in facts.columns:
        column.sort_categories()
    facts.stratum_of = {key: at for at, key in enumerate(sorted(facts.stratum_of, key=repr))}
    summary = replace(facts.summary(), values=whole.values, people=_people(whole, table))
    return Surveyed(packed_rows(kept, scratch), facts, summary, whole.content)


def _few_people(facts: Facts, stored: dict[str, pa.Array], k: int) -> dict[int, set[bytes]]:
    """Return up to k people of each stratum: enough to tell whether a class of k people is possible."""
    digests = stored[SUBJECT]
    if STRATUM not in stored:
        return {0: set(digests.unique().drop_null().to_pylist()[:k])}
    strata = stored[STRATUM].to_numpy()
    return {
        number: set(digests.filter(pa.array(strata == number)).unique().drop_null().to_pylist()[:k])
        for number in set(strata.tolist())
    }


def _merge(whole: _Part, part: _Part, k: int) -> None:
    """Merge the facts about another part of the table."""
    whole.content = (whole.content + part.content) % 2**64
    keys = list(part.facts.stratum_of)
    whole.facts.merge(part.facts)
    for number, people in part.people.items():
        own = whole.facts.stratum_of[keys[number]] if keys else 0
        both = whole.people.get(own, set()) | people
        whole.people[own] = set(sorted(both)[:k])
    for name, tally in part.values.items():
        whole.values[name] = whole.values[name].merged(tally) if name in whole.values else tally


def _people(whole: _Part, table: Input) -> Tally | None:
    """Return a few people of each stratum as the plan counts them; None: k counts records."""
    if table.recipe.subject is None:
        return None
    names = table.schema.names(Role.STRATA)
    keys = list(whole.facts.stratum_of) or [()]
    pairs = [(keys[number], one) for number, people in whole.people.items() for one in sorted(people)]
    kinds = [table.arrow.field(name).type for name in names]
    columns = {
        name: pa.array([cell_of(stratum[at], kinds[at]) for stratum, _ in pairs], kinds[at], from_pandas=False)
        for at, name in enumerate(names)
    }
    return Tally.of(pa.table({**columns, table.recipe.subject: pa.array([one for _, one in pairs], pa.binary())}))
