"""Population audits equal their definitions, whatever the kinds of columns, and fail closed."""

from __future__ import annotations

import runpy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, GuaranteeError, ParameterError, SchemaError
from shoal.privacy.counting.nearest import Axis, nearest
from shoal.privacy.counting.population import belonging
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.types import Column, Kind, Release, Role, Schema, Taxonomy

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "population.py"))

ORDER = ("low", "mid", "high", "higher", "highest")
PATHS = {"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("stomach",), "colic": ("stomach",)}
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"kind": "number"},
    "grade": {"kind": "ordinal", "order": ORDER},
    "town": {"kind": "nominal"},
    "ill": {"kind": "nominal", "paths": PATHS},
}
SCHEMA = Schema(
    (
        Column("age", Role.QUASI, Kind.CONTINUOUS),
        Column("grade", Role.QUASI, Kind.ORDINAL, order=ORDER),
        Column("town", Role.QUASI, Kind.NOMINAL),
        Column("ill", Role.QUASI, Kind.NOMINAL, Taxonomy(PATHS)),
    )
)
TYPES = {"age": pa.float64(), "grade": pa.string(), "town": pa.string(), "ill": pa.string()}
#: The population has both ends of every range, which are powers of two: floats then have exact ties, too.
ENDS = [(0.0, "low", "a", "flu"), (16.0, "highest", "b", "ulcer")]


def rows(rng: np.random.Generator, count: int, *, wide: bool) -> list[tuple[Any, ...]]:
    """Return random records, some with missing values; a wide population has categories that no release has."""
    towns, ills = (["a", "b", "c"], list(PATHS)) if wide else (["a", "b"], ["flu", "asthma", "ulcer"])
    made = []
    for _ in range(count):
        age, grade = float(rng.integers(0, 17)), str(rng.choice(ORDER))
        row: list[Any] = [age, grade, str(rng.choice(towns)), str(rng.choice(ills))]
        made.append(tuple(None if rng.random() < 0.1 else cell for cell in row))
    return made


def table(records: list[tuple[Any, ...]], names: list[str]) -> pa.Table:
    places = [list(COLUMNS).index(name) for name in names]
    return pa.table({n: pa.array([row[j] for row in records], TYPES[n]) for n, j in zip(names, places, strict=True)})


@settings(max_examples=150)
@given(st.integers(0, 10**6))
def test_equal_to_the_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [name for name in COLUMNS if rng.random() < 0.6] or ["age"]
    places = [list(COLUMNS).index(name) for name in names]
    released, people = rows(rng, int(rng.integers(1, 20)), wide=False), rows(rng, int(rng.integers(1, 40)), wide=True)
    people += ENDS
    release = Release(table(released, names), SCHEMA, population=table(people, names))
    narrow = [[tuple(row[j] for j in places) for row in some] for some in (released, people)]
    wanted = oracle["belonging"]([COLUMNS[name] for name in names], *narrow)
    found = belonging(release, names)
    assert list(zip(found.released.tolist(), found.population.tolist(), strict=True)) == list(wanted.values())
    k, (low, high) = oracle["k_map"](wanted), oracle["presence"](wanted)
    assert KMap().audit(release, names).achieved == k
    assert KMap(2).audit(release, names).holds == (k >= 2)
    presence = DeltaPresence(0.5).audit(release, names)
    assert (presence.achieved, dict(presence.found)["delta_min"]) == (float(high), float(low))
    assert presence.holds == (high <= Fraction(1, 2))


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_the_search_equals_the_comparison_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaps = rng.choice([0.25, 0.5, 1.0], 9)
    axes = [Axis(16.0, missing=True), Axis(gaps=np.ones(5)), Axis(gaps=gaps), Axis(3.0)]

    def some(count: int) -> np.ndarray:
        first = rng.integers(0, 17, count).astype(float)
        first[rng.random(count) < 0.1] = np.inf
        return np.column_stack([first, rng.integers(0, 6, count), rng.integers(0, 10, count), rng.random(count)])

    asked, places = some(int(rng.integers(1, 500))), some(int(rng.integers(1, 400)))
    every = sum(axis.squared(asked[:, j, None], places[None, :, j]) for j, axis in enumerate(axes))
    best, apart = nearest(asked, places, axes)
    assert best.tolist() == every.argmin(axis=1).tolist()
    assert apart.tolist() == every.min(axis=1).tolist()
    low, high = sorted(rng.integers(0, 10, 2).tolist())
    widest = gaps[low:high].max() if high > low else 0.0
    assert axes[2].squared(np.array([float(low)]), np.array([float(high)]))[0] == widest**2


def test_order_of_rows_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    released, people = rows(rng, 30, wide=False), rows(rng, 90, wide=True)
    names = list(COLUMNS)
    found = [
        KMap().audit(Release(table(a, names), SCHEMA, population=table(b, names)), names)
        for a, b in ((released, people), (released[::-1], people[::-1]))
    ]
    assert (found[0].achieved, found[0].found) == (found[1].achieved, found[1].found)


def test_dates_and_integers_meet_their_means() -> None:
    schema = Schema((Column("born", Role.QUASI, Kind.DATETIME), Column("code", Role.QUASI, Kind.NOMINAL)))
    days = pa.array([0, 10, 11, 400], pa.int32()).cast(pa.date32())
    people = pa.table({"born": days, "code": ["1", "1", "1", "2"]})
    moments = pa.array([5 * 86_400, 400 * 86_400], pa.int64()).cast(pa.timestamp("s"))
    release = Release(pa.table({"born": moments, "code": pa.array([1, 2])}), schema, population=people)
    assert belonging(release, ["born", "code"]).population.tolist() == [3, 1]


def test_spellings_of_one_value_are_one_combination() -> None:
    schema = Schema((Column("age", Role.QUASI, Kind.CONTINUOUS),))
    cells = pa.table({"age": ["1", "1.0", "9"]})
    read = {"age": pa.chunked_array([[1.0, 1.0, 9.0]])}
    release = Release(cells, schema, read=read, population=pa.table({"age": [1.0, 2.0, 8.0]}))
    found = belonging(release, ["age"])
    assert (found.released.tolist(), found.population.tolist()) == ([2, 1], [2, 1])


def test_subjects_count_once() -> None:
    schema = Schema((Column("age", Role.QUASI, Kind.INTEGER),))
    people = pa.table({"age": [1, 2, 3, 4]})
    release = Release(pa.table({"age": [2, 2, 2, 2]}), schema, population=people)
    assert DeltaPresence().audit(release, ["age"]).achieved == 1.0
    named = replace(release, subjects=pa.chunked_array([["a", "a", "b", "b"]]))
    assert DeltaPresence().audit(named, ["age"]).achieved == 0.5


def test_without_a_population_nothing_holds() -> None:
    release = Release(pa.table({"age": [2, 2]}), Schema((Column("age", Role.QUASI, Kind.INTEGER),)))
    for model in (KMap(1), DeltaPresence(1.0)):
        assert not model.audit(release, ["age"]).holds
    for model in (KMap(), DeltaPresence()):
        assert model.audit(release, ["age"]).holds


def test_more_released_than_people_fails_at_any_level() -> None:
    schema = Schema((Column("age", Role.QUASI, Kind.INTEGER),))
    release = Release(pa.table({"age": [2, 2, 9, 9]}), schema, population=pa.table({"age": [2, 2, 2, 9]}))
    found = DeltaPresence(1.0).audit(release, ["age"])
    assert (found.achieved, found.holds) == (2.0, False)
    assert "1 combination has more released than population records" in found.note


#: A register of twelve people, the six of them who are in the table, their release, and figures counted by hand.
REGISTER = pa.table({"age": [20, 21, 22, 23, 40, 41, 42, 43, 60, 61, 62, 63], "town": list("aaaabbbbaabb")})
SAMPLE = pa.table({"age": [20, 22, 41, 43, 60, 61], "town": list("aabbaa")})
RELEASED = pa.table({"age": [21, 21, 42, 42, 60.5, 60.5], "town": list("aabbaa")})


def test_worked_example() -> None:
    """The register's 62 and 63 live in b: the nearest combination is (42, b), not (60.5, a)."""
    found = shoal.audit(RELEASED, ["age", "town"], population=REGISTER)
    assert found.to_dict()["population"] == {
        "delta": 1.0,  # of (60.5, a): both of 60 and 61
        "delta_min": 1 / 3,  # of (42, b): 2 of 40, 41, 42, 43, 62, 63
        "k_map": 2,
        "population": 12,
        "exact": 2,  # 21 and 42
        "average_risk": pytest.approx((2 / 4 + 2 / 6 + 2 / 2) / 6),
    }
    presence = next(f for f in found.findings if f.model == "delta_presence")
    assert presence.worst == ((2, 1.0), (0, 0.5), (1, 1 / 3))


def test_protect_writes_nothing_that_the_population_refutes(tmp_path: Path) -> None:
    import pyarrow.csv as csv

    csv.write_csv(SAMPLE, tmp_path / "in.csv")
    csv.write_csv(REGISTER, tmp_path / "register.csv")
    given: dict[str, Any] = {"quasi": ["age", "town"], "k": 2, "method": "mdav"}
    files: dict[str, Any] = {"output": tmp_path / "out.csv", "population": tmp_path / "register.csv"}
    with pytest.raises(GuaranteeError, match="k_map over age, town requires 3 and achieves 2"):
        shoal.protect(tmp_path / "in.csv", require={"k_map": 3}, **given, **files)
    assert not (tmp_path / "out.csv").exists()
    done = shoal.protect(tmp_path / "in.csv", require={"k_map": 2}, evidence=tmp_path / "e.json", **given, **files)
    assert done.audit.population["k_map"] == 2
    checks = {check.claim: check for check in shoal.verify(tmp_path / "e.json", tmp_path / "out.csv").checks}
    assert checks["k_map over age, town"].why == "the population file would be needed"
    assert checks["All promises of the recipe were audited"].verdict.value == "holds"


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"population": SAMPLE.slice(0, 5)}, DataError, "Population: must contain everyone in the table, got 5 records"),
    ({"population": REGISTER.drop(["town"])}, SchemaError, "every quasi-identifier and stratum, 'town' is missing"),
    ({"require": {"k_map": 2}}, ParameterError, "k_map can only be required with a population, got none"),
    ({"require": {"delta": 0.5}}, ParameterError, "delta_presence can only be required with a population"),
]


@pytest.mark.parametrize(("given", "error", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_what_cannot_be_counted_is_refused(given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        shoal.audit(SAMPLE, ["age", "town"], **given)
    with pytest.raises(error, match=words):
        shoal.protect(SAMPLE, quasi=["age", "town"], k=2, **given)
    assert any(words in sentence for sentence in shoal.plan(SAMPLE, quasi=["age", "town"], k=2, **given).refusals)


def test_text_that_is_no_number_is_refused_without_its_value(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age\n" + "\n".join(map(str, range(20))) + "\n")
    (tmp_path / "register.csv").write_text("age\n" + "\n".join(map(str, range(30))) + "\nunknowable\n")
    with pytest.raises(DataError, match="Population: ") as refused:
        shoal.audit(tmp_path / "in.csv", ["age"], population=tmp_path / "register.csv")
    assert "unknowable" not in str(refused.value)


def test_noise_for_originals_is_refused_a_population() -> None:
    recipe = {"quasi": ["age"], "k": 2, "release": "laplace", "epsilon": 1.0, "bounds": {"age": [0, 100]}}
    recipe["kinds"] = {"age": "integer"}
    with pytest.raises(ParameterError, match="claim = original a population is not possible"):
        shoal.protect(SAMPLE, {**recipe, "claim": "original", "method": "insensitive"}, population=REGISTER)
    done = shoal.protect(SAMPLE, {**recipe, "claim": "microaggregated"}, population=REGISTER)
    assert "k_map" in done.audit.population


def test_recoded_quasi_identifiers_are_refused_a_population() -> None:
    with pytest.raises(ParameterError, match="a population is not possible with recode of quasi-identifiers, got age"):
        shoal.protect(SAMPLE, quasi=["age"], k=2, recode={"age": {"top": 60}}, population=REGISTER)


@pytest.mark.parametrize("engine", ["disk", "spark"])
def test_other_engines_are_refused_a_population(engine: str, tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    parquet.write_table(SAMPLE, tmp_path / "in.parquet")
    with pytest.raises(ParameterError, match="engine: a population is counted with all records in memory"):
        shoal.protect(
            tmp_path / "in.parquet",
            quasi=["age"],
            k=2,
            output=tmp_path / "out.parquet",
            engine=engine,
            population=REGISTER,
        )
    assert not (tmp_path / "out.parquet").exists()


def test_an_audit_in_parts_is_refused_a_population(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    many = pa.table({"age": np.arange(400_000) % 7})
    parquet.write_table(many, tmp_path / "in.parquet", compression="none", use_dictionary=False)
    with pytest.raises(ParameterError, match="Audit: a population can only be counted with the whole table in memory"):
        shoal.audit(tmp_path / "in.parquet", ["age"], population=many, memory="1MB")


def test_searches_are_refused() -> None:
    people = pa.table({"age": [30, 30, 40, 40]})
    with pytest.raises(shoal.ParameterError, match="k_map can only be required with a population"):
        shoal.explore(people, {"quasi": ["age"], "require": {"k_map": 2}})


#: Two regions of ten people each, and one of two that was not sampled. Ages of both regions interleave.
IN_STRATA = pa.table({"age": [*range(20, 40), 20, 21], "region": [*("A", "B") * 10, "C", "C"]})


def test_people_belong_to_combinations_of_their_own_stratum(tmp_path: Path) -> None:
    sample = IN_STRATA.take([0, 2, 17, 19])  # ages 20 and 22 of A, 37 and 39 of B
    given: dict[str, Any] = {"quasi": ["age"], "strata": ["region"], "k": 2}
    done = shoal.protect(sample, **given, population=IN_STRATA)
    found = {f.model: f for f in done.audit.findings}
    # across strata the young of B would belong to A: 9 people of each region, and 2 of C, would be nearest to 21
    assert found["k_map"].achieved == 10
    assert found["k_map"].attributes == ("age", "region")
    assert dict(found["k_map"].found) == {"population": 22, "exact": 0, "outside": 2, "average_risk": 0.1}
    assert found["delta_presence"].achieved == 0.2
    with pytest.raises(GuaranteeError, match="k_map over age, region requires 11 and achieves 10"):
        shoal.protect(sample, **given, population=IN_STRATA, require={"k_map": 11})
    with pytest.raises(SchemaError, match="every quasi-identifier and stratum, 'region' is missing"):
        shoal.protect(sample, **given, population=IN_STRATA.drop(["region"]))
    import pyarrow.csv as csv

    csv.write_csv(sample, tmp_path / "in.csv")
    csv.write_csv(IN_STRATA, tmp_path / "people.csv")
    files = {"output": tmp_path / "out.csv", "population": tmp_path / "people.csv"}
    assert shoal.protect(tmp_path / "in.csv", **given, **files).audit.population["k_map"] == 10


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_strata_equal_separate_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ["age", "grade", "ill"]
    schema = Schema((*(SCHEMA[name] for name in names), Column("s", Role.STRATA, Kind.INTEGER)))
    sides = []
    for count in (int(rng.integers(1, 20)), int(rng.integers(1, 40))):
        some = table([*rows(rng, count, wide=False), *ENDS], names)
        strata = pa.array(rng.choice([1, 2, 3], some.num_rows), pa.int64() if rng.random() < 0.5 else pa.float64())
        sides.append(some.append_column("s", strata))
    released, people = sides
    found = belonging(Release(released, schema, population=people), names)
    scale = [tuple(row[name] for name in names) for side in sides for row in side.to_pylist()]
    wanted, outside = [], people.num_rows
    for stratum in sorted(set(released["s"].to_pylist())):
        own, others = (side.filter(pa.compute.equal(side["s"], stratum)) for side in sides)
        outside -= others.num_rows
        both = [[tuple(row[n] for n in names) for row in side.to_pylist()] for side in (own, others)]
        wanted += oracle["belonging"]([COLUMNS[name] for name in names], *both, scale).values()
    assert sorted(zip(found.released.tolist(), found.population.tolist(), strict=True)) == sorted(wanted)
    assert found.outside == outside


def test_a_population_with_fewer_records_than_people_is_refused() -> None:
    sample = pa.table({"age": [20, 21, 40, 41, 60, 61], "who": [1, 1, 2, 2, 3, 3]})
    people = pa.table({"age": [20, 40]})
    words = "2 records for a table of 3 different values of 'who'"
    with pytest.raises(DataError, match=words):
        shoal.protect(sample, quasi=["age"], k=3, subject="who", population=people)
    with pytest.raises(DataError, match=words):
        shoal.audit(sample, ["age"], subject="who", population=people)
    enough = pa.table({"age": [20, 40, 60]})
    assert shoal.audit(sample, ["age"], subject="who", population=enough).population["population"] == 3
