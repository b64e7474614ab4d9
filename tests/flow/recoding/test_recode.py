"""Recoding: equal to its oracle, the same for every format and release, measured against originals, or refused."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.flow.gate.recoded import check_recoded
from shoal.flow.recoding import numbers as recoded_numbers
from shoal.flow.recoding.recode import recoded
from shoal.flow.stages.read import schema_for
from shoal.recipe.recodes import recode_of
from shoal.report.evidence import published
from shoal.types import Column, Kind, Release, Role, Table

oracle = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "recode.py"))["recode"]
HOW: dict[str, dict[str, Any]] = {
    "limits": {"top": 40, "bottom": -3},
    "replaced limits": {"top": 40, "top_as": 47, "bottom": 0, "bottom_as": -9},
    "interval": {"interval": 10},
    "odd interval": {"interval": 7, "top": 33, "bottom": 4},
    "limits at ends": {"interval": 10, "top": 40, "bottom": -10},
    "breaks": {"breaks": [-10, 0, 25, 60]},
}
WORK = {"care": {"ward": ["nurse", "orderly"], "practice": ["doctor"]}, "food": {"kitchen": ["cook", "baker"]}}


def recode(columns: dict[str, Any], how: dict[str, Any], **more: Any) -> pa.Table:
    data = pa.table(columns)
    recipe = shoal.Recipe(quasi=list(columns)[:1], recode=how, **more)
    return recoded(Table(data, schema_for(data, recipe, None)), recipe).data


@pytest.mark.parametrize("how", HOW.values(), ids=list(HOW))
@pytest.mark.parametrize("kind", ["int", "float", "decimal", "float32", "uint8"])
def test_numbers_equal_the_oracle_and_keep_their_type(how: dict[str, Any], kind: str) -> None:
    rng = np.random.default_rng(1)
    whole = rng.integers(0 if kind == "uint8" else -30, 90, 200)
    if kind == "uint8" and "bottom_as" in how:
        pytest.skip("no negative values")
    values = {
        "int": lambda: pa.array(whole),
        "uint8": lambda: pa.array(whole, pa.uint8()),
        "float": lambda: pa.array(np.round(rng.normal(20, 30, 200), 1)),
        "float32": lambda: pa.array(np.round(rng.normal(20, 30, 200), 1), pa.float32()),
        "decimal": lambda: pa.array([Decimal(int(one)) for one in whole], pa.decimal128(9, 0)),
    }[kind]()
    found = recode({"x": values}, {"x": how})["x"]
    assert found.type == values.type
    before = values.cast(pa.string()).to_pylist()
    exact = [Decimal(one) for one in before]
    expected = [float(oracle(one, whole=not kind.startswith("float"), **how)) for one in exact]
    assert [float(one) for one in found.to_pylist()] == pytest.approx(expected, rel=1e-6)


def test_a_tenth_is_a_tenth_and_missing_and_odd_values_stay() -> None:
    found = recode({"x": [0.3, 0.7, 0.1, None, float("nan")]}, {"x": {"interval": 0.1}})["x"].to_pylist()
    assert found[:4] == [0.35, 0.75, 0.15, None]
    assert np.isnan(found[4])


def test_dates_and_times_become_the_middle_of_their_period() -> None:
    days = [date(1931, 5, 5), date(1980, 2, 29), date(2020, 12, 31), None]
    found = recode({"x": days}, {"x": {"interval": "year", "bottom": "1940-01-01"}})["x"]
    assert found.to_pylist() == [date(1940, 1, 1), date(1980, 7, 1), date(2020, 7, 1), None]
    found = recode({"x": days}, {"x": {"interval": "month"}})["x"]
    assert found.to_pylist() == [date(1931, 5, 16), date(1980, 2, 15), date(2020, 12, 16), None]
    breaks = {"x": {"breaks": ["1930-01-01", "1950-01-01", "1999-12-31"]}}
    assert recode({"x": days}, breaks)["x"].to_pylist() == [
        date(1940, 1, 1),
        date(1974, 12, 31),
        date(1999, 12, 31),
        None,
    ]
    moments = pa.array([datetime(2020, 5, 5, 13, 59), datetime(2024, 1, 1)], pa.timestamp("ms", "UTC"))
    found = recode({"x": moments}, {"x": {"interval": "hour", "top": "2023-06-01T02:00:00+02:00"}})["x"]
    assert found.to_pylist() == [datetime(2020, 5, 5, 13, 29, 59, 999000, UTC), datetime(2023, 6, 1, tzinfo=UTC)]


NS: dict[str, list[datetime]] = {"x": [datetime(1700 + 40 * i, 3, 5) for i in range(12)]}


def test_limits_beyond_a_type_of_times_leave_its_values_alone() -> None:
    column = pa.array(NS["x"], pa.timestamp("ns"))
    for how in ({"top": "2500-01-01"}, {"bottom": "1500-01-01"}):
        assert recode({"x": column}, {"x": how})["x"].to_pylist() == column.to_pylist()
    found = recode({"x": column}, {"x": {"breaks": ["1690-01-01", "2200-01-01"]}})["x"]  # 510 years: over 63 bits
    assert {one.to_pydatetime() for one in found.to_pylist()} == {datetime(1945, 1, 1, 12)}


@pytest.mark.parametrize(
    "how",
    [
        {"top": "1995-01-01", "top_as": "9999-12-31"},
        {"bottom": "1995-01-01", "bottom_as": "1500-01-01"},
        {"breaks": ["1500-01-01", "1995-01-01", "2500-01-01"]},
    ],
    ids=str,
)
def test_dates_that_do_not_fit_into_a_type_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(shoal.SchemaError, match="a date of its recode does not fit into its type timestamp"):
        recode({"x": pa.array(NS["x"], pa.timestamp("ns"))}, {"x": how})


def test_a_last_year_that_does_not_fit_into_a_type_and_parts_of_days_are_refused() -> None:
    last = pa.array([2**63 - 1, 0]).cast(pa.timestamp("ns"))
    with pytest.raises(shoal.SchemaError, match="a year of its recode does not fit into its type timestamp"):
        recode({"x": last}, {"x": {"interval": "year"}})
    broken = pa.array([86_400_007, 0]).cast(pa.date64())
    with pytest.raises(shoal.DataError, match="must hold whole days") as refused:
        recode({"y": [1, 2], "x": broken}, {"x": {"interval": "year"}})
    assert "7" not in str(refused.value)


def test_categories_become_groups_and_their_taxonomy_is_cut() -> None:
    column = ["nurse", "cook", None, "doctor"]
    data = pa.table({"work": column})
    for level, expected in ((1, ["ward", "kitchen", None, "practice"]), (2, ["care", "food", None, "care"])):
        recipe = shoal.Recipe(quasi=["work"], taxonomies={"work": WORK}, recode={"work": {"level": level}})
        found = recoded(Table(data, schema_for(data, recipe, None)), recipe)
        assert found.data["work"].to_pylist() == expected
        assert found.before is not None
        assert found.before.data["work"].to_pylist() == column
        tree = found.schema["work"].taxonomy
        assert tree is not None
        assert tree.height == 3 - level
    ragged = {"a": ["x"], "b": {"c": ["y"]}}
    found = recode({"w": ["x", "y"]}, {"w": {"level": 1}}, taxonomies={"w": ragged})
    assert found["w"].to_pylist() == ["a", "c"]


SCHOOL = ["none", "primary", "secondary", "vocational", "college", "phd"]
GROUPS = {"groups": {"primary": ["none", "primary"], "college": ["vocational", "college", "phd"]}}
ENDS = {"top": "college", "bottom": "primary"}


@pytest.mark.parametrize("form", ["arrow", "pandas", "ordered", ".csv"])
@pytest.mark.parametrize("release", ["centroid", "medoid"])
def test_ordered_categories_become_others_of_their_order(release: str, form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"age": rng.integers(0, 80, 90), "school": SCHOOL * 15, "degree": rng.permutation(SCHOOL * 15)}
    )
    recipe = {"quasi": ["age", "school"], "k": 3, "row_order": "keep", "recode": {"school": GROUPS, "degree": ENDS}}
    recipe |= {"release": release} | ({} if form == "ordered" else {"orders": {"school": SCHOOL, "degree": SCHOOL}})
    if form == "ordered":
        made = shoal.protect(
            frame.assign(**{n: pd.Categorical(frame[n], SCHOOL, ordered=True) for n in ("school", "degree")}), recipe
        )
        assert list(made.data["degree"].cat.categories) == SCHOOL[1:5]
    elif form == ".csv":
        frame.assign(degree=frame["degree"].where(frame.index != 7, " NA ")).to_csv(tmp_path / "in.csv", index=False)
        made = shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "out.csv", text={"missing": ["NA"]})
        after = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
        assert after["degree"][7] == " NA "
    else:
        made = shoal.protect(pa.Table.from_pandas(frame) if form == "arrow" else frame, recipe)
    if form != ".csv":
        after = made.data.to_pandas() if form == "arrow" else made.data
    ends = {"none": "primary", "phd": "college"}
    assert [one for i, one in enumerate(after["degree"]) if i != 7] == [
        ends.get(one, one) for i, one in enumerate(frame["degree"]) if i != 7
    ]
    assert set(after["school"]) == {"primary", "secondary", "college"}
    read = made.readings.to_dict()
    assert 0 < read["il_sse_recoding"] < read["il_sse"]


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"groups": {"none": ["none", "secondary"]}}, "must hold neighbours in its order"),
        ({"groups": {"none": ["none", "primry"]}}, "must name categories of its order, got 'primry'"),
        ({"groups": {"low": ["none", "primary"]}}, "named after one of them"),
        ({"groups": {"none": ["none", "primary"], "phd": ["primary", "phd"]}}, "must name each category once"),
        ({"groups": {"none": ["none", "primary"]}, "top": "phd"}, "without other names"),
        ({"top": "none", "bottom": "phd"}, "bottom of its recode must come before top"),
        ({"top": "phd", "interval": 2}, "ordered categories take top, bottom or groups"),
        ({"top": "doctorate"}, "must name categories of its order"),
    ],
)
def test_orders_that_do_not_fit_are_refused(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(shoal.ShoalError, match=sentence):
        recode({"school": SCHOOL}, {"school": how}, orders={"school": SCHOOL})


def people(n: int = 60) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "age": rng.integers(0, 110, n),
            "pay": np.round(rng.lognormal(7, 1, n), 2),
            "work": rng.choice(["nurse", "orderly", "doctor", "cook", "baker"], n),
            "sick": rng.integers(0, 40, n),
            "visits": rng.integers(0, 40, n),
            "job": rng.choice(["nurse", "orderly", "doctor", "cook", "baker"], n),
        }
    )


RECIPE: dict[str, Any] = {
    "quasi": ["age", "pay", "work"],
    "confidential": ["sick"],
    "k": 4,
    "row_order": "keep",
    "taxonomies": {"work": WORK, "job": WORK},
    "recode": {
        "age": {"top": 90, "bottom": 15},
        "pay": {"interval": 500},
        "work": {"level": 1},
        "sick": {"top": 20},
        "visits": {"breaks": [0, 10, 20]},
        "job": {"level": 2},
    },
}
RELEASES = [key for key in registry.keys("release") if key != "laplace"]


@pytest.mark.parametrize("form", ["arrow", "pandas", ".csv", ".parquet"])
@pytest.mark.parametrize("release", RELEASES)
def test_no_release_shows_a_value_that_was_not_recoded(release: str, form: str, tmp_path: Path) -> None:
    given = {**RECIPE, "release": release}
    if form.startswith("."):
        frame = people().to_pandas()
        frame.to_csv(tmp_path / "in.csv", index=False)
        source, target = tmp_path / "in.csv", tmp_path / f"out{form}"
        shoal.protect(source, given, output=target)
        read = pd.read_csv if form == ".csv" else pd.read_parquet
        tables = [read(one) for one in tmp_path.glob(f"out*{form}")]
    else:
        done = shoal.protect(people() if form == "arrow" else people().to_pandas(), given)
        tables = [
            one if isinstance(one, pd.DataFrame) else one.to_pandas()
            for one in (done.data, done.confidential)
            if one is not None
        ]
    columns = {name: table[name] for table in tables for name in table.columns}
    assert columns["age"].between(15, 90).all()
    assert columns["sick"].max() == 20
    assert set(columns["visits"]) == {4, 15, 20}
    assert set(columns["job"]) == {"care", "food"}
    assert set(columns["work"]) <= {"ward", "practice", "kitchen"}
    if registry.load("release", release).as_written:
        assert set(columns["pay"] % 500) == {250}


def test_the_loss_is_against_originals_and_the_share_of_recoding_is_read(tmp_path: Path) -> None:
    people().to_pandas().to_csv(tmp_path / "in.csv", index=False)
    done = shoal.protect(tmp_path / "in.csv", RECIPE, output=tmp_path / "out.csv")
    read = done.readings.to_dict()
    compared = shoal.compare(tmp_path / "in.csv", tmp_path / "out.csv", recipe=RECIPE).to_dict()
    assert read["il_sse"] == pytest.approx(compared["il_sse"], rel=1e-9)
    alone = recode(
        {name: people()[name] for name in people().column_names}, RECIPE["recode"], taxonomies=RECIPE["taxonomies"]
    )
    only = shoal.compare(people(), alone, columns=RECIPE["quasi"], recipe={**RECIPE, "recode": {}}).to_dict()
    assert read["il_sse_recoding"] == pytest.approx(only["il_sse"], rel=1e-9)
    assert 0 < read["il_sse_recoding"] < read["il_sse"]
    without = shoal.protect(people(), {**RECIPE, "recode": {"visits": {"top": 9}}}).readings.to_dict()
    assert "il_sse_recoding" not in without
    assert "il_sse_recoding" in done.printed.to_dict()
    public = published(done.readings, "centroid", 10_000).to_dict()
    assert "il_sse" in public
    assert "il_sse_recoding" not in public


def test_t_is_audited_of_what_is_released() -> None:
    done = shoal.protect(people(), {**RECIPE, "t": 0.3})
    assert done.audit.holds
    said = shoal.audit(done.data, quasi=RECIPE["quasi"], confidential=["sick"]).to_dict()
    assert done.audit.to_dict()["confidential"]["sick"]["t"] == pytest.approx(said["confidential"]["sick"]["t"])
    coarse = shoal.protect(people(), {**RECIPE, "recode": {**RECIPE["recode"], "sick": {"top": 1}}})
    assert coarse.audit.to_dict()["confidential"]["sick"]["l_distinct"] <= 2


def test_rows_sorted_by_a_recoded_column_are_shuffled(tmp_path: Path) -> None:
    frame = people().to_pandas().sort_values("visits")
    frame.to_csv(tmp_path / "in.csv", index=False)
    given = {**RECIPE, "row_order": "auto"}
    done = shoal.protect(tmp_path / "in.csv", given, output=tmp_path / "out.csv")
    assert any("sorted by 'visits'" in note for note in done.notes)
    done = shoal.protect(tmp_path / "in.csv", {**given, "recode": {}}, output=tmp_path / "plain.csv")
    assert not any("sorted" in note for note in done.notes)


def test_commands_report_evidence_attacks_and_verification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    people(80).to_pandas().drop(columns=["work", "job"]).to_csv("in.csv", index=False)
    typed = "protect in.csv -o out.csv --quasi age,pay --confidential sick --k 4 --row-order keep --report r.html "
    typed += "--evidence e.json --receipt r.json --recode age=top:90,bottom:15 --recode visits=breaks:0:10:20"
    done = run(*typed.split())
    assert done.code == 0, done.err
    assert "recoded; one value per class" in done.out
    page = Path("r.html").read_text()
    assert "values below 15 become 15, values above 90 become 90" in page
    evidence = json.loads(Path("e.json").read_text())
    recipe = {"age": {"top": 90, "bottom": 15}, "visits": {"breaks": [0, 10, 20]}}
    assert evidence["recipe"]["recode"] == recipe
    verified = run(*["verify", "e.json", "out.csv", "--receipt", "r.json", "--input", "in.csv"])
    assert verified.code == 0, verified.err
    attacks = shoal.attack("in.csv", "out.csv", {**evidence["recipe"]}).to_dict()["attacks"]
    verdicts = {one["attack"]: one["verdict"] for one in attacks}
    assert verdicts["algorithm"] == verdicts["linkage"] == "withstood"
    values = json.loads(run("schema").out)
    assert "top" in values["properties"]["recode"]["additionalProperties"]["properties"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"recode": {"agee": {"top": 1}}}, "no column is called 'agee'"),
        ({"recode": {"work": {"top": 1}}}, "limits and intervals are for numbers and dates"),
        ({"recode": {"age": {"level": 1}}}, "needs a taxonomy, which is missing"),
        ({"recode": {"age": {"groups": {"1": [1, 2]}}}}, "groups are for ordered categories"),
        ({"recode": {"work": {"level": 3}}}, "must be below 3"),
        ({"recode": {"age": {"top": 90.5}}}, "not a multiple of 1"),
        ({"recode": {"age": {"top": "1990-01-01"}}}, "its recode must have numbers"),
        ({"recode": {"visits": {"top": 9}}, "identifier": ["visits"]}, "cannot be recoded: it is removed"),
        ({"recode": {"visits": {"top": 9}}, "weight": "visits"}, "cannot be recoded: it is a weight"),
        ({"recode": {"age": {"topp": 9}}}, "Did you mean 'top'"),
        (
            {
                "epsilon": 1.0,
                "bounds": {"age": [0, 120]},
                "claim": "original",
                "release": "laplace",
                "method": "insensitive",
            },
            "recode is not possible where claim = original",
        ),
    ],
)
def test_what_cannot_be_recoded_is_refused_in_a_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(shoal.ShoalError, match=sentence):
        shoal.protect(people(), {**RECIPE, **change})


def test_spark_refuses() -> None:
    from shoal.flow.engines.spark.plan import refuse_on_spark

    with pytest.raises(shoal.ParameterError, match="Spark engine: recode is not supported"):
        refuse_on_spark(shoal.Recipe(**RECIPE))


def test_the_gate_refuses_cells_that_were_not_recoded() -> None:
    recipe = shoal.Recipe(**RECIPE)
    table = recoded(Table(people(), schema_for(people(), recipe, None)), recipe)
    check_recoded(Release(table.data, table.schema, None), recipe.recode, table, as_written=True)
    for name in ("age", "work", "sick", "visits", "job"):
        data = table.data.set_column(table.data.column_names.index(name), name, people()[name])
        with pytest.raises(shoal.GuaranteeError, match=f"Column '{name}' holds values that were not recoded"):
            check_recoded(Release(data, table.schema, None), recipe.recode, table, as_written=True)


def test_a_value_beyond_its_type_is_refused_without_it() -> None:
    table = pa.table({"age": list(range(12)), "x": pa.array([5] * 11 + [120], pa.int8())})
    with pytest.raises(shoal.SchemaError, match="a recoded value does not fit into its type int8") as refused:
        shoal.protect(table, quasi=["age"], k=3, recode={"x": {"interval": 100}})
    assert "149" not in str(refused.value)
    assert "120" not in str(refused.value)


@pytest.mark.parametrize("limit", ["2020-01-03", "2020-01-03T00:00:00Z"])
def test_limits_of_times_with_a_zone(limit: str) -> None:
    days = [datetime(2020, 1, 1 + day, 12, tzinfo=UTC) for day in range(12)]
    table = pa.table({"age": list(range(12)), "seen": pa.array(days, pa.timestamp("us", "Europe/Berlin"))})
    done = shoal.protect(table, quasi=["age"], k=3, recode={"seen": {"top": limit}})
    assert max(done.data.column("seen").to_pylist()) == datetime(2020, 1, 3, tzinfo=UTC)


def test_cells_that_stay_keep_their_characters_and_codes(tmp_path: Path) -> None:
    numbers = ["12345678901234567", "n/a", "1,10", "0,12345678901234567891", "+3", "1e3", "", "-9.500", "7,50", "70,5"]
    days = [
        "2020-05-05T10:00:00+02:00",
        "n/a",
        "",
        *(f"2020-05-0{i}T10:00:00Z" for i in range(1, 7)),
        "2021-01-01T00:00Z",
    ]
    work = [*["nurse", "n/a", "cook", "", "doctor"] * 2]
    lines = [f"{20 + i};{x};{day};{one}" for i, (x, day, one) in enumerate(zip(numbers, days, work, strict=True))]
    (tmp_path / "in.csv").write_text("\n".join(["age;x;day;work", *lines]) + "\n")
    how = {"x": {"top": 10**17, "bottom": 5}, "day": {"top": "2020-12-31"}, "work": {"level": 2}}
    shoal.protect(
        tmp_path / "in.csv",
        {"quasi": ["age"], "k": 3, "recode": how, "row_order": "keep", "taxonomies": {"work": WORK}},
        output=tmp_path / "out.csv",
        text={"missing": ["n/a"], "decimal": ",", "thousands": "."},
    )
    rows = [line.split(";") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    kept = [numbers[0], "n/a", "5", "5", "5", "1e3", "", "5", "7,50", "70,5"]
    assert [row[1] for row in rows] == kept
    assert [row[2] for row in rows] == ["2020-05-05T08:00:00Z", *days[1:-1], "2020-12-31T00:00:00Z"]
    assert [row[3] for row in rows] == ["care", "n/a", "food", "", "care"] * 2


def test_characters_do_not_tell_which_values_were_there_before(tmp_path: Path) -> None:
    """A limit or a middle is written in one way, whether a cell had it or became it."""
    lines = [
        f"{i},{x},{y}"
        for i, (x, y) in enumerate(zip(["50.50", "99.00", "7.10"] * 4, ["2.50", "1.00", "4.75"] * 4, strict=True))
    ]
    (tmp_path / "in.csv").write_text("\n".join(["age,x,y", *lines]) + "\n")
    recipe = {"quasi": ["age"], "k": 3, "row_order": "keep", "recode": {"x": {"top": 50.5}, "y": {"interval": 5}}}
    shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "out.csv")
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert {row[1] for row in rows} == {"50.5", "7.10"}
    assert {row[2] for row in rows} == {"2.5"}


@pytest.mark.parametrize("how", [{"groups": {"M": ["S", "M"]}}, {"bottom": "M"}], ids=str)
def test_blanks_do_not_tell_which_categories_were_there_before(how: dict[str, Any], tmp_path: Path) -> None:
    sizes = ["S", " M", "M ", "M", " S", " L", "L", "S"]
    (tmp_path / "in.csv").write_text("age,size\n" + "".join(f"{age},{size}\n" for age, size in enumerate(sizes)))
    recipe = shoal.Recipe(
        quasi=["age"], k=2, recode={"size": how}, orders={"size": ["S", "M", "L"]}, kinds={"size": "ordinal"}
    )
    done = shoal.protect(tmp_path / "in.csv", recipe.override(row_order="keep"), output=tmp_path / "out.csv")
    assert done.data["size"].to_pylist() == ["M", "M", "M", "M", "M", " L", "L", "M"]


def test_a_column_of_integers_keeps_all_digits(tmp_path: Path) -> None:
    numbers = [2**53 + 1 + i for i in range(12)]
    (tmp_path / "in.csv").write_text("age,x\n" + "".join(f"{i},{one}\n" for i, one in enumerate(numbers)))
    recipe = {"quasi": ["age"], "k": 3, "row_order": "keep", "recode": {"x": {"top": numbers[9]}}}
    shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "out.csv")
    found = [int(line.split(",")[1]) for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert found == [*numbers[:10], numbers[9], numbers[9]]


HARD: list[dict[str, Any]] = [
    {"top": 40.1},
    {"bottom": -1e-300, "top": 10**400},
    {"bottom": 0.3, "top": 90, "bottom_as": 0.1},
    {"interval": 0.1},
    {"interval": 0.3, "bottom": -7.25, "top": 41.7, "top_as": 50},
    {"interval": 1e-9, "top": 3},
    {"interval": 7, "bottom": 3},
    {"breaks": [-50, -0.3, 0, 12.5, 12.6, 99]},
]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int64(), pa.uint64(), pa.decimal128(24, 3)], ids=str)
@pytest.mark.parametrize("how", HARD, ids=str)
def test_numbers_that_are_computed_once_become_what_each_would(
    how: dict[str, Any], kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pa.types.is_floating(kind):
        how = {name: _whole(one) for name, one in how.items()}
    rng = np.random.default_rng(3)
    numbers = [*rng.normal(0, 60, 300), *(0.1 * rng.integers(-400, 400, 300)), 40.1, 12.5, -0.3, 0.0, 99.0, 41.7]
    numbers += [1e300, -1e300, 5e-324, np.nextafter(0.3, 1), -0.0] if kind == pa.float64() else []
    numbers += [2.0**62, 2.0**53 + 2] if pa.types.is_integer(kind) else []
    numbers = [abs(one) for one in numbers] if kind == pa.uint64() else numbers
    values = pa.array([Decimal(f"{one:.3f}") for one in numbers], kind) if pa.types.is_decimal(kind) else None
    values = pa.array(np.array(numbers)).cast(kind, safe=False) if values is None else values
    column = Column("x", Role.QUASI, Kind.INTEGER if pa.types.is_integer(kind) else Kind.CONTINUOUS)
    change = recoded_numbers.change_of_numbers(column, recode_of(how), kind)
    found = change(values)
    monkeypatch.setattr(recoded_numbers, "_same_result", lambda x, how: np.arange(len(x)))
    assert list(map(repr, found.to_pylist())) == list(map(repr, change(values).to_pylist()))


def _whole(given: Any) -> Any:
    return sorted({int(one) for one in given}) if isinstance(given, list) else int(given) or 1
