"""Pseudonyms in the output: classes of whole people, k over sets of combinations, and what is refused."""

from __future__ import annotations

import html
import re
import runpy
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import shoal
from shoal.flow.classes.profiles import partition_profiles
from shoal.flow.gate.gate import gate
from shoal.flow.plan.promise import promise_of
from shoal.privacy.k_sets import KSets
from shoal.types import Block, Partition, Points, Release, Schema

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "pseudonyms.py"))
made = runpy.run_path(str(Path(__file__).parents[1] / "exchange.py"))
ASKED: dict[str, Any] = {"quasi": ["age", "work"], "confidential": ["ill"], "subject": "pid", "k": 3}
PSEUDONYMS = {**ASKED, "subject_out": "pseudonym"}


def table_of(sizes: tuple[int, ...] = (3,) * 12 + (1,) * 8, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    whose = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(whose)
    return pa.table(
        {
            "pid": pa.array([f"id{one:03d}" for one in whose]),
            "age": pa.array(rng.integers(20, 80, n)),
            "work": pa.array(rng.choice(["cook", "nurse", "smith"], n)),
            "ill": pa.array(rng.integers(0, 9, n)),
        }
    )


def sets_in(data: pa.Table, names: tuple[str, ...] = ("age", "work")) -> int:
    cells = list(zip(*(data.column(name).to_pylist() for name in names), strict=True))
    return int(oracle["k_of_sets"](data.column("pid").to_pylist(), cells))


def test_k_people_share_each_set_of_combinations() -> None:
    table = table_of()
    done = shoal.protect(table, PSEUDONYMS)
    assert sets_in(done.data) >= 3
    found = [one for one in done.audit.findings if one.model == "k_sets"]
    assert [(one.attributes, one.required, one.achieved) for one in found] == [(("age", "work"), 3, sets_in(done.data))]
    assert done.audit.attacker is not None
    assert done.audit.attacker.counted == "pseudonym"
    assert done.audit.attacker.to_dict()["at_most"] == pytest.approx(1 / 3)
    assert any("Pseudonyms show" in note for note in done.notes)


def test_without_pseudonyms_sets_of_combinations_single_people_out() -> None:
    done = shoal.protect(table_of(), {**ASKED, "row_order": "keep"})
    with_people = done.data.append_column("pid", table_of().column("pid"))
    assert sets_in(with_people) == 1


def test_pseudonyms_show_the_people_and_do_not_name_them() -> None:
    table = table_of()
    one, other = (shoal.protect(table, {**PSEUDONYMS, "row_order": "keep"}) for _ in range(2))
    given, names = table.column("pid").to_pylist(), one.data.column("pid").to_pylist()
    assert len(set(zip(given, names, strict=True))) == len(set(given)) == len(set(names))
    assert all(re.fullmatch("p[0-9a-f]{16}", name) for name in names)
    assert not set(names) & set(other.data.column("pid").to_pylist())
    assert one.data.column_names == table.column_names
    order = sorted(set(given))
    ranks = [sorted(set(names)).index(dict(zip(given, names, strict=True))[one]) for one in order]
    assert ranks != list(range(len(order)))


@pytest.mark.parametrize("more", [{}, {"weight": "w"}, {"weight": "w", "release_weight": "record"}], ids=str)
@pytest.mark.parametrize("strata", [(), ("region",)], ids=str)
def test_weights_and_strata_are_part_of_the_combinations(more: dict[str, Any], strata: tuple[str, ...]) -> None:
    rng, table = np.random.default_rng(5), table_of((2,) * 40)
    table = table.append_column("w", pa.array(rng.integers(1, 9, 80)))
    rows = defaultdict(list)
    for row, person in enumerate(table.column("pid").to_pylist()):
        rows[person].append(row)
    where = np.empty(80, object)
    for person in rows.values():
        where[person] = ["north", "north"] if rng.random() < 0.5 else ["north", "south"]
    table = table.append_column("region", pa.array(where.tolist()))
    done = shoal.protect(table, {**PSEUDONYMS, **more, "strata": strata})
    weight = ("w",) if more == {"weight": "w"} else ()
    assert sets_in(done.data, ("age", "work", *strata, *weight)) >= 3


def test_records_of_a_person_are_classed_as_by_the_definition() -> None:
    rng = np.random.default_rng(2)
    people = rng.permutation(np.repeat(np.arange(9), 3))
    x = rng.integers(0, 3, (27, 2)).astype(float)
    classes = {person: person // 3 for person in range(9)}

    class Thirds:
        k, promises_k = 3, True

        def partition(self, points: Points, rng: np.random.Generator) -> Partition:
            return Partition((Block(("a",), np.arange(9) // 3, by_value=True),))

    found = partition_profiles(Points(x, ("a", "a")), Thirds(), people, None, rng)  # type: ignore[arg-type]
    expected = oracle["record_classes"](people.tolist(), [tuple(row) for row in x.tolist()], classes)
    pairs = set(zip(found.labels.tolist(), expected, strict=True))
    assert len(pairs) == len(set(expected)) == len(found)
    assert len(found) < 9  # some places are united


def people_exchanged(table: pa.Table, done: Any, names: list[str], rng: np.random.Generator) -> pa.Table | None:
    """Exchange two whole people who share all their classes, record by record; None if there are no such people."""
    rows: dict[Any, list[int]] = defaultdict(list)
    for row, person in enumerate(table.column("person").to_pylist()):
        rows[person].append(row)
    labels = done.partition.labels.tolist()
    groups = defaultdict(list)
    for person, own in rows.items():
        groups[tuple(sorted(labels[row] for row in own))].append(person)
    group = list(groups.values())[int(rng.integers(len(groups)))]
    one, other = rng.choice(group, 2, replace=False).tolist()
    places = np.arange(table.num_rows)
    for label in {labels[row] for row in rows[one]}:
        here, there = (rng.permutation([row for row in rows[who] if labels[row] == label]) for who in (one, other))
        places[here], places[there] = there, here
    for name in names:
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), table.column(name).take(pa.array(places)))
    return table


@pytest.mark.parametrize("flavour", made["FLAVOURS"])
def test_exchanging_whole_people_changes_nothing_that_is_published(flavour: str, tmp_path: Path) -> None:
    compared, at = 0, made["FLAVOURS"].index(flavour)
    for i, extra in enumerate(("", "weights", "weights of records", "no weights", "strata")):
        more = {"subject": "person", "subject_out": "pseudonym", **({"row_order": "shuffle"} if i == 4 else {})}
        case = made["Case"]("auto", "centroid", flavour, extra, k=2 + i % 2, n=36, seed=20 * at + i, more=more)
        rng, table = np.random.default_rng(i), made["table_of"](case)
        table = table.append_column("person", pa.array(rng.permutation(np.repeat(np.arange(18), 2))))
        if extra == "strata":
            table = table.set_column(table.schema.get_field_index("region"), "region", pa.array(["x"] * 36))
        weight = ["w"] if extra in ("weights", "no weights") else []
        done, before = published(case, table, tmp_path)
        assert done.audit.attacker.knows == "algorithm"
        for _ in range(2):
            rows = done.rows if done.rows is not None else np.arange(36)
            labels = np.empty(36, np.int64)
            labels[rows] = done.partition.labels
            seen = replace(done, run=replace(done.run, partition=Partition.of(labels)))
            other = people_exchanged(table, seen, ["a", "b", "c", "name", "person", *weight], rng)
            again, after = published(case, other, tmp_path)
            assert made["same_classes"](done, again), case
            assert [name for name in before if before[name] != after[name]] == [], case
            compared += 1
    assert compared == 10


def published(case: Any, table: pa.Table, folder: Path) -> tuple[Any, dict[str, bytes]]:
    with made["fixed_randomness"]():
        done = shoal.protect(table, case.recipe)
        done.evidence(folder / "evidence.json", force=True)
    return done, {"data": made["as_bytes"](done.data), "evidence": (folder / "evidence.json").read_bytes()}


def test_an_attacker_who_knows_all_records_of_all_people_links_at_most_one_in_k() -> None:
    """Whoever knows everybody's original records, and the classes, finds k people for each pseudonym."""
    table, k = table_of((2,) * 15, seed=3), 3
    done = shoal.protect(table, {**PSEUDONYMS, "row_order": "keep", "k": k})
    labels, people = done.partition.labels.tolist(), table.column("pid").to_pylist()
    of, shown = defaultdict(Counter), defaultdict(Counter)
    for row, person in enumerate(people):
        of[person][labels[row]] += 1  # what the attacker computes for each person, given the algorithm
        shown[done.data.column("pid")[row].as_py()][labels[row]] += 1
    assert all(sum(own == records for own in of.values()) >= k for records in shown.values())


def test_risks_are_those_of_someone_who_groups_records_by_pseudonym(tmp_path: Path) -> None:
    """Few ages: many people share each of them, and few share all ages of a person."""
    rng = np.random.default_rng(0)
    table = pa.table({"pid": np.repeat(np.arange(60), 3), "age": rng.integers(0, 3, 180)})
    csv.write_csv(table, tmp_path / "in.csv")
    recipe = shoal.Recipe(quasi=["age"], subject="pid", subject_out="pseudonym", k=3, row_order="keep", effort="fast")
    done = shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "out.csv", report=tmp_path / "r.html")
    released = csv.read_csv(tmp_path / "out.csv")
    read = shoal.compare(tmp_path / "in.csv", tmp_path / "out.csv", recipe=recipe)
    parts = {one.measure: dict(one.parts) for one in read.readings}
    for data, prefix in ((released, ""), (table, "original, ")):
        of: dict[Any, Counter[int]] = defaultdict(Counter)
        for person, age in zip(data.column("pid").to_pylist(), data.column("age").to_pylist(), strict=True):
            of[person][age] += 1
        sharing = Counter(frozenset(own.items()) for own in of.values())
        risks = [100 / sharing[frozenset(own.items())] for own in of.values()]
        for measure in ("prosecutor_risk", "journalist_risk"):
            assert parts[measure][f"{prefix}highest"] == pytest.approx(max(risks))
            assert parts[measure][f"{prefix}average"] == pytest.approx(sum(risks) / 60)
        if data is released:
            assert read.to_dict()["marketer_risk"] == pytest.approx(sum(risks) / 60)
            few = f"is left with {min(sharing.values())} people: a chance of 1 in {min(sharing.values())}"
            page = html.unescape((tmp_path / "r.html").read_text())
            for said in (" ".join(done.audit.sentences), page, done.impact):
                assert "Worst case: someone who knows a person's age in all of the person's records" in said
                assert few in said
                assert "From one record alone: someone who knows a person's age is left with the records of" in said
    without = shoal.protect(tmp_path / "in.csv", recipe.override(subject_out="removed"), output=tmp_path / "b.csv")
    assert "From one record" not in " ".join(without.audit.sentences)
    found = shoal.compare(tmp_path / "in.csv", tmp_path / "b.csv", recipe=without.recipe).to_dict()
    assert found["prosecutor_risk"] < 5


def test_files_evidence_and_audit(tmp_path: Path) -> None:
    csv.write_csv(table_of(), tmp_path / "in.csv")
    out, proof = tmp_path / "out.csv", tmp_path / "e.json"
    shoal.protect(tmp_path / "in.csv", PSEUDONYMS, output=out, evidence=proof)
    checked = shoal.verify(proof, out)
    assert checked.holds
    assert any("k_sets" in check.claim and check.verdict == "holds" for check in checked.checks)
    found = shoal.audit(out, quasi=["age", "work"], subject="pid", require={"k_sets": 3})
    assert found.holds
    lines = out.read_text().splitlines()
    names = [line.split(",")[0] for line in lines[1:]]
    worse = [lines[0], *(line.replace(names[0], names[-1]) for line in lines[1:])]
    (tmp_path / "worse.csv").write_text("\n".join(worse) + "\n")
    assert not shoal.audit(tmp_path / "worse.csv", quasi=["age", "work"], subject="pid", require={"k_sets": 3}).holds


def test_an_audit_counts_sets_unasked_where_the_table_links_records() -> None:
    linked = pa.table({"age": [30, 40, 30, 30, 40, 40], "who": list("aabbcd")})
    found = shoal.audit(linked, quasi=["age"], subject="who")
    assert found.overall.achieved == 2
    assert [one.achieved for one in found.findings if one.model == "k_sets"] == [1]
    assert "Worst case: someone who knows a person's age in all of the person's records" in found.sentences[0]
    single = shoal.audit(pa.table({"age": [30, 40, 30, 40], "who": list("abcd")}), quasi=["age"], subject="who")
    assert all(one.model != "k_sets" for one in single.findings)


def test_the_gate_refuses_pseudonyms_that_are_not_the_people() -> None:
    done = shoal.protect(table_of(), {**PSEUDONYMS, "row_order": "keep"})
    assert done.run is not None
    release, promise = done.run.release, promise_of(done.recipe, done.partition)
    assert gate(release, promise).holds
    names = release.data.column("pid").to_pylist()

    def changed(cells: list[Any]) -> Release:
        return replace(release, data=release.data.set_column(0, "pid", pa.array(cells)))

    cases = {
        "are not in the output": replace(release, data=release.data.drop_columns(["pid"])),
        "no pseudonym": changed([None, *names[1:]]),
        "one for each person": changed(["p0", *names[1:]]),
        "identifier of a person": changed(table_of().column("pid").to_pylist()),
        "not random names": changed([f"0{one}" for one in table_of().column("pid").to_pylist()]),
    }
    for said, wrong in cases.items():
        with pytest.raises(shoal.GuaranteeError, match=said):
            gate(wrong, promise)
    mixed = replace(release, data=release.data.set_column(1, "age", table_of().column("age")))
    with pytest.raises(shoal.GuaranteeError, match="k_sets"):
        gate(mixed, promise)


def test_k_sets_fails_closed() -> None:
    data = pa.table({"age": [1, 1]})
    with pytest.raises(shoal.DataError, match="must be named"):
        KSets(k=2).audit(Release(data, Schema(())), ["age"])
    with pytest.raises(shoal.DataError, match="1 of 2 do not"):
        KSets(k=2).audit(Release(data, Schema(()), subjects=pa.chunked_array([["a", None]])), ["age"])


REFUSED: dict[str, dict[str, Any]] = {
    "needs subject": {"subject": None},
    "t and require": {"t": 0.3},
    "release must be centroid": {"release": "medoid"},
    "must form one block": {"attribute_blocks": [["age"], ["work"]]},
    "steer is not possible": {"steer": [{"by": "position", "weight": 1}]},
    "small_strata must be refuse": {"strata": ["ill"], "confidential": [], "small_strata": "merge"},
    "IndividualRanking: subject_out": {"method": "individual_ranking"},
    "OptimalUnivariate: subject_out": {"method": "optimal_univariate"},
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_not_supported_is_refused(said: str) -> None:
    with pytest.raises((shoal.ParameterError, shoal.DataError), match=re.escape(said)):
        shoal.protect(table_of(), {**PSEUDONYMS, **REFUSED[said]})


def test_rare_numbers_of_records_are_refused_or_suppressed() -> None:
    table = table_of((3,) * 30 + (7, 5))
    with pytest.raises(shoal.DataError, match="for 2 of 32 there are fewer"):
        shoal.protect(table, PSEUDONYMS)
    done = shoal.protect(table, {**PSEUDONYMS, "suppress": 0.2})
    assert set(Counter(done.data.column("pid").to_pylist()).values()) == {3}
    gaps = table.set_column(0, "pid", pa.array([None, *table.column("pid").to_pylist()[1:]]))
    with pytest.raises(shoal.DataError, match="every record must name its person"):
        shoal.protect(gaps, PSEUDONYMS)


def test_a_run_is_not_repeated_and_other_engines_refuse(tmp_path: Path) -> None:
    csv.write_csv(table_of(), tmp_path / "in.csv")
    with pytest.raises(shoal.ParameterError, match="cannot be repeated"):
        shoal.protect(tmp_path / "in.csv", PSEUDONYMS, output=tmp_path / "o.csv", repeat=tmp_path / "r.json")
    with pytest.raises(shoal.ParameterError, match="whole people must be in one block"):
        shoal.protect(tmp_path / "in.csv", PSEUDONYMS, output=tmp_path / "o.csv", engine="disk")


def test_frames_keep_nothing_of_the_identifiers() -> None:
    table = table_of().to_pandas()
    table["pid"] = table["pid"].astype("category")
    done = shoal.protect(table, PSEUDONYMS)
    assert not set(map(str, getattr(done.data["pid"].dtype, "categories", ()))) & set(table["pid"])
    assert done.audit.unchanged.people == 20
    numbers = table_of().set_column(0, "pid", pa.array([int(one[2:]) for one in table_of().column("pid").to_pylist()]))
    assert shoal.protect(numbers, PSEUDONYMS).data.column("pid").type == pa.string()


def test_equal_records_of_a_person_take_no_place_by_their_row(tmp_path: Path) -> None:
    """Many people have equal records; an exchange puts these into rows of another order."""
    for seed in range(8):
        rng, n = np.random.default_rng(seed), 60
        table = pa.table(
            {
                "person": pa.array(rng.permutation(np.repeat(np.arange(20), 3))),
                "a": pa.array(rng.choice([0, 1, 5], n)),
                "secret": pa.array(rng.integers(0, 9, n)),
            }
        )
        asked = {"quasi": ["a"], "confidential": ["secret"], "k": 2, "row_order": "keep", "effort": "fast"}
        case = SimpleNamespace(recipe={**asked, "subject": "person", "subject_out": "pseudonym"})
        done, before = published(case, table, tmp_path)
        for _ in range(4):
            other = people_exchanged(table, done, ["a", "person"], rng)
            assert published(case, other, tmp_path)[1] == before
