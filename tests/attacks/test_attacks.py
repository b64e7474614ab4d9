"""Every attack succeeds on a release that was weakened on purpose, and fails on ours."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.attack import row_order
from shoal.types import Attempt, Attempts

N = 400
QUICK = ("metadata", "row_order", "unique_columns", "weights")


def people(seed: int = 0) -> pa.Table:
    """Ages and incomes of whole numbers, distinct names, weights of five digits."""
    rng = np.random.default_rng(seed)
    income = rng.permutation(np.round(np.exp(rng.normal(8, 0.6, N)))).astype(int)
    return pa.table(
        {
            "name": [f"Smith-{i:04}" for i in range(N)],
            "age": rng.integers(18, 90, N),
            "income": income,
            "ill": rng.choice(["flu", "asthma", "ulcer", "none"], N),
            "town": rng.choice(["Oslo", "Rome", "Kyiv"], N),
            "weight": rng.integers(10_000, 99_999, N),
        }
    )


FIELDS = {
    "quasi": ["age", "income"],
    "confidential": ["ill"],
    "identifier": ["name"],
    "weight": "weight",
    "k": 3,
    "row_order": "keep",
}


def released(table: pa.Table, **fields: object) -> pa.Table:
    return shoal.protect(table, **{**FIELDS, **fields}).data


def replaced(table: pa.Table, name: str, values: object) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def attack(table: pa.Table, *tables: pa.Table, only: str, **fields: object) -> Attempt:
    found = shoal.attack(table, list(tables), only=[only], **{**FIELDS, **fields})
    assert isinstance(found, Attempts)
    return found[only]


def with_weights_of_records(table: pa.Table) -> pa.Table:
    """What shoal never makes: weights of single records next to weighted means."""
    made = released(table, release_weight="record")
    labels = np.unique(made["age"].to_numpy() * 10**7 + made["income"].to_numpy(), return_inverse=True)[1]
    weight = table["weight"].to_numpy().astype(float)
    for name in ("age", "income"):
        sums = np.bincount(labels, weight * table[name].to_numpy()) / np.bincount(labels, weight)
        made = replaced(made, name, sums[labels])
    return made


def sorted_by_income(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    table = table.sort_by("income")
    return table, released(table)


def unshuffled_metadata(table: pa.Table) -> pa.Table:
    return released(table).replace_schema_metadata({"note": "first seen: Smith-0007 of the register"})


def one_value_in_a_class(table: pa.Table) -> pa.Table:
    made = released(table)
    code = np.unique(made["income"].to_numpy(), return_inverse=True)[1]
    return replaced(made, "ill", [("flu", "none")[one % 2] for one in code])


def barely_masked(table: pa.Table) -> pa.Table:
    return replaced(released(table), "income", table["income"].to_numpy() + 1)


WEAKENED: dict[str, Callable[[pa.Table], tuple[pa.Table, pa.Table]]] = {
    "weights": lambda table: (table, with_weights_of_records(table)),
    "row_order": sorted_by_income,
    "metadata": lambda table: (table, unshuffled_metadata(table)),
    "unique_columns": lambda table: (table, released(table).append_column("job", pa.array(np.arange(N)))),
    "homogeneity": lambda table: (table, one_value_in_a_class(table)),
    "linkage": lambda table: (table, barely_masked(table)),
}


@pytest.mark.parametrize("key", WEAKENED)
def test_it_succeeds_on_a_weakened_release(key: str) -> None:
    original, weak = WEAKENED[key](people())
    if key == "unique_columns":
        original = original.append_column("job", pa.array(np.arange(N)))
    found = attack(original, weak, only=key)
    assert found.succeeded, found
    assert found.learnt >= found.baseline + 1
    assert f"{found.learnt:,} of {found.records:,}" in found.sentence
    assert found.sentence.endswith(registry.load("attack", key).advice)


@pytest.mark.parametrize("key", WEAKENED)
def test_it_fails_on_ours(key: str) -> None:
    table = people()
    fields = {"reviewed": ["ill", "town"]} if key == "unique_columns" else {}
    found = attack(table, released(table), only=key, **fields)
    assert not found.succeeded, found


def test_every_attack_says_what_to_do() -> None:
    assert len(registry.keys("attack")) == 10
    assert all(registry.says("attack", key, "advice").endswith(".") for key in registry.keys("attack"))


def test_all_attempts_have_the_same_fields_in_json() -> None:
    table = people()
    found = shoal.attack(table, released(table), only=["linkage", "two_releases"], **FIELDS).to_dict()["attacks"]
    fields = ["attack", "records", "learnt", "baseline", "verdict"]
    assert [list(one) for one in found] == [[*fields, "sentence"], [*fields, "reason"]]


def test_weights_of_records_are_fine_if_means_do_not_use_them() -> None:
    table = people()
    found = attack(table, released(table, release_weight="record"), only="weights", release_weight="record")
    assert found.verdict == "withstood"
    assert found.records == N  # every class was attacked


def test_a_weakened_release_gives_away_most_values() -> None:
    table = people()
    found = attack(table, with_weights_of_records(table), only="weights")
    assert found.learnt > 0.9 * found.records


def test_metadata_counts_the_records_that_are_named() -> None:
    table = people()
    assert attack(table, unshuffled_metadata(table), only="metadata").learnt == 1


@pytest.mark.parametrize("note", ["town is Oslo", "age and income of ill people", "name", ""])
def test_metadata_may_name_released_cells_and_the_recipe(note: str) -> None:
    table = people()
    weak = released(table).replace_schema_metadata({"note": note} if note else None)
    assert attack(table, weak, only="metadata").learnt == 0


def test_a_removed_category_in_a_dictionary_is_metadata() -> None:
    table = replaced(people(), "town", ["Atlantis", *(["Rome"] * (N - 1))])
    made = released(table, quasi=["age", "income", "town"])
    rome = pa.DictionaryArray.from_arrays(pa.array(np.zeros(N, np.int8)), pa.array(["Rome", "Atlantis"]))
    found = attack(table, replaced(made, "town", rome), only="metadata", quasi=["age", "income", "town"])
    assert found.learnt == 1
    assert "Atlantis" not in found.sentence


def test_sorted_the_other_way_round() -> None:
    table = people().sort_by([("income", "descending")])
    assert attack(table, released(table), only="row_order").succeeded


def test_of_a_large_table_some_rows_show_that_it_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_order, "_MOST", N // 3)
    table = people()
    for known, succeeds in ((table.sort_by("income"), True), (table, False)):
        found = attack(known, released(known), only="row_order")
        assert found.succeeded is succeeds
        assert found.records == -(-N // 3)
        assert "One of every 3 rows was attacked." in found.sentence


@pytest.mark.parametrize("direction", ["ascending", "descending"])
def test_sorted_by_town_and_income(direction: str) -> None:
    """Short runs, so that the file as a whole is not sorted by income."""
    street = [f"street {i % 50}" for i in range(N)]
    table = people().append_column("street", pa.array(street)).sort_by([("street", "ascending"), ("income", direction)])
    found = attack(table, released(table, k=20), only="row_order", k=20)
    assert found.succeeded, found.sentence
    assert "'street'" in found.sentence
    mixed = table.take(np.random.default_rng(0).permutation(N))
    assert not attack(mixed, released(mixed, k=20), only="row_order", k=20).succeeded


def test_reviewed_columns_do_not_count() -> None:
    table = people().append_column("job", pa.array(np.arange(N)))
    assert attack(table, released(table), only="unique_columns").learnt == N
    assert not attack(table, released(table), only="unique_columns", reviewed=["job", "ill", "town"]).succeeded


def test_mean_weights_of_classes_that_look_like_one_are_not_unchanged_columns() -> None:
    table = people()
    constant = replaced(replaced(table, "age", [40] * N), "income", [2_000] * N)
    means = replaced(constant, "weight", np.repeat(np.arange(N // 4) + 50_000.5, 4)).drop_columns("name")
    assert "2 columns" in attack(table, means, only="unique_columns").sentence
    assert "3 columns" in attack(table, means, only="unique_columns", k=5).sentence
    few = replaced(table, "weight", np.arange(N) % 4)
    own = replaced(constant, "weight", few["weight"]).drop_columns("name")
    assert "3 columns" in attack(few, own, only="unique_columns").sentence


class TestRows:
    def test_shuffled_rows_need_the_receipt(self, tmp_path: Path) -> None:
        table = people()
        shoal.write_table(table, tmp_path / "in.csv")
        fields = {**FIELDS, "row_order": "shuffle"}
        shoal.protect(tmp_path / "in.csv", output=tmp_path / "out.csv", receipt=tmp_path / "r.json", **fields)
        files = tmp_path / "in.csv", tmp_path / "out.csv"
        without = shoal.attack(*files, **fields)
        assert {one.attack for one in without if "shuffled" in one.sentence} >= {"linkage", "row_order", "weights"}
        with_it = shoal.attack(*files, receipt=tmp_path / "r.json", **fields)
        assert not {"linkage", "row_order", "weights"} & {o.attack for o in with_it if o.verdict == "not_run"}
        assert not {"linkage", "row_order", "weights"} & {one.attack for one in with_it.succeeded}

    def test_the_receipt_of_another_release_is_refused(self, tmp_path: Path) -> None:
        table = people()
        done = [shoal.protect(table, **{**FIELDS, "row_order": "shuffle"}) for _ in range(2)]
        done[0].evidence(tmp_path / "e.json", receipt=tmp_path / "r.json")
        shoal.attack(table, done[0].data, receipt=tmp_path / "r.json", only=["linkage"], **FIELDS)
        with pytest.raises(shoal.DataError, match="must be that of the released table"):
            shoal.attack(table, done[1].data, receipt=tmp_path / "r.json", only=["linkage"], **FIELDS)

    def test_a_constant_column_does_not_show_that_rows_stayed(self) -> None:
        table = replaced(people(), "town", ["Rome"] * N)
        moved = released(table).take(np.random.default_rng(0).permutation(N))
        assert "shuffled" in attack(table, moved, only="linkage").sentence
        masked = [table.select(["age", "income", "town"]), moved.select(["age", "income", "town"])]
        fields = {"quasi": ["age", "income"], "k": 3, "only": ["linkage"]}
        assert "shuffled" in shoal.attack(*masked, row_order="shuffle", **fields)["linkage"].sentence
        assert shoal.attack(*masked, **fields)["linkage"].verdict == "withstood"  # nothing shows it

    def test_a_release_of_another_table_is_refused(self) -> None:
        with pytest.raises(shoal.DataError, match=r"\(age, income\), got none"):
            attack(people(), pa.table({"colour": ["red"]}), only="metadata")

    def test_other_numbers_of_rows(self) -> None:
        table = people()
        found = attack(table, released(table).slice(1), only="linkage")
        assert found.verdict == "not_run"
        assert "400 rows and the release 399" in found.sentence


class TestRoles:
    def test_from_evidence(self, tmp_path: Path) -> None:
        table = people()
        done = shoal.protect(table, **FIELDS)
        done.evidence(tmp_path / "e.json")
        by_evidence = shoal.attack(table, done.data, evidence=tmp_path / "e.json", only=["linkage", "weights"])
        by_fields = shoal.attack(table, done.data, only=["linkage", "weights"], **FIELDS)
        assert by_evidence == by_fields

    def test_evidence_has_the_settings_that_a_replay_needs(self, tmp_path: Path) -> None:
        table = people()
        done = shoal.protect(table, **{**FIELDS, "attribute_weights": {"age": 5.0}})
        done.evidence(tmp_path / "e.json")
        found = shoal.attack(table, done.data, evidence=tmp_path / "e.json", only=["algorithm"])["algorithm"]
        assert found.verdict == "withstood", found.sentence

    def test_from_a_recipe(self) -> None:
        table = people()
        found = shoal.attack(table, released(table), shoal.Recipe(**FIELDS), only=["linkage"])
        assert found["linkage"].records == N


class TestGate:
    """The gate stops what shoal never makes; so the release is weakened on its way there."""

    @pytest.mark.parametrize("key", ["weights", "metadata"])
    def test_it_stops_a_release(self, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        table = people()
        shoal.write_table(table, tmp_path / "in.parquet")
        successful = Attempt.of(key, N, N, 0.0, "everything")
        monkeypatch.setattr(registry.load("attack", key), "run", lambda self, case: successful)
        with pytest.raises(shoal.GuaranteeError, match=f"attack '{key}' on the output must fail"):
            shoal.protect(tmp_path / "in.parquet", output=tmp_path / "out.parquet", **FIELDS)
        assert not (tmp_path / "out.parquet").exists()

    def test_it_finds_a_name_in_the_staged_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from shoal.flow.protect import protect as flow

        shoal.write_table(people(), tmp_path / "in.parquet")
        monkeypatch.setattr(flow, "notes_in", lambda staged: ["Smith-0007"])
        with pytest.raises(shoal.GuaranteeError, match="attack 'metadata'"):
            shoal.protect(tmp_path / "in.parquet", output=tmp_path / "out.parquet", **FIELDS)
        shoal.protect(tmp_path / "in.parquet", output=tmp_path / "out.parquet", keep_metadata=True, **FIELDS)

    def test_others_are_reported(self, tmp_path: Path) -> None:
        income = people()["income"].to_numpy()
        nearly = np.argsort(income + np.random.default_rng(0).normal(0, 40, N))  # not sorted enough to be shuffled
        done = shoal.protect(people().take(nearly), **{**FIELDS, "row_order": "auto"})
        assert done.run is not None
        verdicts = {one.attack: one.verdict for one in done.run.attempts}
        assert set(verdicts) == set(QUICK)
        assert verdicts["row_order"] == "succeeded"
        assert any("The order of rows tells more" in note for note in done.notes)
        assert not shoal.protect(people().take(nearly), **FIELDS).notes  # kept by hand
        for edition, shown in (("internal", True), ("external", False)):
            done.report(tmp_path / f"{edition}.html", edition=edition)
            assert ("row_order: succeeded" in (tmp_path / f"{edition}.html").read_text()) is shown


RELEASES = ("centroid", "medoid", "swap", "anatomy")
FORMATS = (".csv", ".parquet", ".arrow", ".xlsx", ".sav")
METHODS = ("mdav", "v_mdav", "pcp", "tour")
#: Every pair of a release and a format, of a release and a method, and of a format and a method.
PAIRS = [
    (release, format_, METHODS[(i + j) % len(METHODS)])
    for (i, release), (j, format_) in product(enumerate(RELEASES), enumerate(FORMATS))
]


def withstands(release: str, format_: str, method: str, folder: Path) -> None:
    table = people(1)
    source, target = folder / f"in{format_}", folder / f"out{format_}"
    shoal.write_table(table, source)
    fields = {**FIELDS, "release": release, "method": method, "reviewed": ["ill", "town"]}
    fields |= {"weight": None} if release == "swap" else {}
    done = shoal.protect(source, output=target, receipt=folder / "r.json", **fields)
    tables = [target] if not done.beside else [target, done.beside]
    found = shoal.attack(source, tables, receipt=folder / "r.json", **fields)
    names = ("weights", "row_order", "metadata", "linkage", "homogeneity")
    assert not {one.attack for one in found.succeeded} & set(names), found
    assert found["metadata"].verdict == "withstood"
    assert found["linkage"].verdict == ("not_run" if release == "anatomy" else "withstood")
    assert found["weights"].verdict == ("not_run" if release in ("swap", "anatomy") else "withstood")


@pytest.mark.parametrize(("release", "format_", "method"), PAIRS)
def test_ours_withstands(release: str, format_: str, method: str, tmp_path: Path) -> None:
    withstands(release, format_, method, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("release", RELEASES)
def test_ours_withstands_everywhere(release: str, format_: str, method: str, tmp_path: Path) -> None:
    withstands(release, format_, method, tmp_path)
