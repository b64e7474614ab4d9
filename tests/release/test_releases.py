"""Every release × every check, found automatically: the properties of all releases, whoever writes them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal import registry
from shoal.parameters import declarations
from shoal.types.statistical_files import Variable

EVERY = registry.keys("release")
RELEASES = [key for key in EVERY if "epsilon" not in getattr(registry.load("release", key), "takes", ())]
# those that add noise need ε and bounds, take no table with missing values, and have tests of their own
IN_TWO_TABLES = [key for key in RELEASES if getattr(registry.load("release", key), "two_tables", False)]
OF_CELLS = [
    key for key in RELEASES if getattr(registry.load("release", key), "as_written", False) and key not in IN_TWO_TABLES
]  # those in two tables need a confidential column, and have tests of their own
N, K = 47, 4
RNG = np.random.default_rng(5)
QUASI = ["age", "pay", "work", "size", "born"]
TABLE = pa.table(
    {
        "id": [f"p{i}" for i in range(N)],
        "age": pa.array([None if i % 11 == 0 else int(a) for i, a in enumerate(RNG.integers(18, 90, N))]),
        "pay": RNG.lognormal(10, 1, N),
        "note": pa.array([None if i % 7 == 0 else f"n{i}" for i in range(N)]),
        "work": pa.array([None if i % 13 == 0 else ("nurse", "baker", "cook")[i % 3] for i in range(N)]),
        "size": pa.array([("low", "mid", "high")[i % 3] for i in range(N)]).dictionary_encode(),
        "born": pa.array([date(1950 + i, 1 + i % 12, 1 + i % 28) for i in range(N)]),
        "sick": pa.array([None if i % 5 == 0 else bool(i % 2) for i in range(N)]),
    }
)
RECIPE = {
    "quasi": QUASI,
    "identifier": ["id"],
    "confidential": ["sick"],
    "orders": {"size": ["low", "mid", "high"]},
    "k": K,
}


@pytest.mark.parametrize("release", RELEASES)
class TestEveryRelease:
    def test_rows_columns_and_all_but_the_quasi_identifiers_are_kept(self, release: str) -> None:
        done = shoal.protect(TABLE, {**RECIPE, "release": release})
        gone, new = (("id", "sick"), ["class"]) if release in IN_TWO_TABLES else (("id",), [])
        assert done.data.column_names == [name for name in TABLE.column_names if name not in gone] + new
        assert done.data.num_rows == N
        for name in {"note", "sick"} - {*gone}:
            assert done.data.column(name).equals(TABLE.column(name))
        assert (done.confidential is None) is (release not in IN_TWO_TABLES)
        assert done.audit.holds

    def test_the_same_seed_and_secret_give_the_same_result(self, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.secret.fresh", bytes)
        one, other = (shoal.protect(TABLE, {**RECIPE, "release": release, "seed": 7}) for _ in range(2))
        assert one.data.equals(other.data)

    def test_something_is_required_and_nothing_of_the_original_stays_in_a_repr(self, release: str) -> None:
        done = shoal.protect(TABLE, {**RECIPE, "release": release})
        assert [f["required"] for f in done.audit.to_dict()["requirements"]] == [K]
        assert "nurse" not in repr(done)

    @pytest.mark.parametrize(
        "frame", [pl.DataFrame(TABLE), TABLE.to_pandas(), TABLE.to_pandas(types_mapper=pd.ArrowDtype)]
    )
    def test_frames_of_every_kind_come_back(self, release: str, frame: object) -> None:
        done = shoal.protect(frame, {**RECIPE, "release": release})
        assert type(done.data) is type(frame)
        assert len(done.data) == N

    @pytest.mark.parametrize("source", ["csv", "parquet"])
    @pytest.mark.parametrize("target", ["csv", "parquet", "arrow"])
    def test_files_of_every_kind_are_written_and_audited(
        self, release: str, source: str, target: str, tmp_path: Path
    ) -> None:
        given, out = tmp_path / f"in.{source}", tmp_path / f"out.{target}"
        pyarrow.csv.write_csv(TABLE, given) if source == "csv" else pq.write_table(TABLE, given)
        done = shoal.protect_file(given, out, {**RECIPE, "release": release})
        assert done.audit.holds
        assert out.exists()

    def test_strata_subjects_weights_and_blocks(self, release: str) -> None:
        table = TABLE.append_column("w", pa.array(RNG.uniform(0, 3, N))).append_column(
            "s", pa.array([0, 1, 2] * 15 + [0, 1])
        )
        table = table.append_column("who", pa.array([i // 2 for i in range(N)]))
        more = {"weight": "w", "release_weight": "record", "strata": ["s"], "subject": "who", "k": 3}
        if release in IN_TWO_TABLES:
            pytest.skip("one block only; see its own tests")
        done = shoal.protect(table, {**RECIPE, **more, "release": release, "blocks": [QUASI[:2], QUASI[2:]]})
        assert done.audit.holds
        assert len([f for f in done.audit.findings if f.required == 3]) == 4  # two blocks, each without and with strata
        assert done.data.column_names == [name for name in table.column_names if name not in ("id", "who")]

    def test_a_method_that_makes_the_values_itself_is_served_or_refused(self, release: str) -> None:
        recipe = {"quasi": ["pay", "born"], "confidential": ["sick"], "k": K, "method": "mic1d", "release": release}
        if release not in (*OF_CELLS, *IN_TWO_TABLES, "median", "trimmed_mean"):
            shoal.protect(TABLE, recipe)
            return
        refused = "the release computes the values|must form classes of at least k records"
        with pytest.raises(shoal.ParameterError, match=refused):
            shoal.protect(TABLE, recipe)


@pytest.mark.parametrize("release", OF_CELLS)
class TestEveryReleaseOfCells:
    def test_cells_leave_as_they_were_written(self, release: str, tmp_path: Path) -> None:
        (tmp_path / "in.csv").write_text("x,y\n" + "".join(f"{i:+04d}, {i}.50\n" for i in range(30)))
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", {"quasi": ["x", "y"], "k": 3, "release": release})
        written = [(tmp_path / name).read_text().splitlines() for name in ("in.csv", "out.csv")]
        for column in (0, 1):
            before, after = ({line.split(",")[column] for line in lines} for lines in written)
            assert after <= before

    def test_nothing_is_filled(self, release: str) -> None:
        with pytest.raises(shoal.ParameterError, match="when_missing must be 'category' or 'exclude', got 'fill'"):
            shoal.protect(TABLE, {**RECIPE, "release": release, "when_missing": "fill"})

    def test_the_loss_is_that_of_the_values_that_leave(self, release: str, tmp_path: Path) -> None:
        frame = TABLE.select(["pay", "born"])
        done = shoal.protect(frame, {"quasi": ["pay", "born"], "k": K, "release": release})
        read = shoal.compare(frame, done.data, ["pay", "born"])
        for measure, value in done.readings.to_dict().items():
            assert value == pytest.approx(read[measure])

    @pytest.mark.parametrize("target", ["out.sav", "out.dta", "out.xlsx", "out.csv"])
    def test_formats_that_lack_types_are_audited_by_value(self, release: str, target: str, tmp_path: Path) -> None:
        pytest.importorskip({".sav": "pyreadstat", ".dta": "pyreadstat", ".xlsx": "openpyxl"}.get(target[3:], "csv"))
        pq.write_table(TABLE, tmp_path / "in.parquet")
        recipe = {"quasi": [*QUASI, "sick"], "orders": RECIPE["orders"], "k": K, "release": release}
        assert shoal.protect_file(tmp_path / "in.parquet", tmp_path / target, recipe).audit.holds

    @pytest.mark.parametrize("target", ["out.sav", "out.dta"])
    def test_an_empty_text_is_a_missing_one_where_the_format_has_no_other_word(
        self, release: str, target: str, tmp_path: Path
    ) -> None:
        pytest.importorskip("pyreadstat")
        texts = [("", "a", "b", None)[int(i)] for i in RNG.integers(0, 4, 40)]
        pq.write_table(pa.table({"x": RNG.normal(size=40), "s": texts}), tmp_path / "in.parquet")
        recipe = {"quasi": ["x", "s"], "k": 3, "release": release}
        assert shoal.protect_file(tmp_path / "in.parquet", tmp_path / target, recipe).audit.holds

    @pytest.mark.parametrize("target", ["out.sav", "out.csv", "out.parquet"])
    def test_codes_that_a_file_declares_to_be_missing_leave_as_cells(
        self, release: str, target: str, tmp_path: Path
    ) -> None:
        pytest.importorskip("pyreadstat")
        pay = Variable("spss", missing=((-9.0, -9.0),)).onto(pa.field("pay", pa.float64()))
        values = [-9.0 if i % 4 == 0 else float(i) for i in range(30)]
        shoal.write_table(pa.table([pa.array(values)], schema=pa.schema([pay])), tmp_path / "in.sav")
        done = shoal.protect_file(
            tmp_path / "in.sav", tmp_path / target, {"quasi": ["pay"], "k": 3, "release": release}
        )
        assert done.audit.holds
        assert -9.0 in done.data["pay"].to_pylist()
        assert set(done.data["pay"].to_pylist()) <= set(values)

    def test_cells_with_a_decimal_comma_and_words_for_no_value(self, release: str, tmp_path: Path) -> None:
        cells = ["NA" if i % 6 == 0 else f"{i},5" for i in range(30)]
        (tmp_path / "in.csv").write_text("x;y\n" + "".join(f"{cell};{i}\n" for i, cell in enumerate(cells)))
        text = {"decimal": ",", "delimiter": ";", "missing": ["NA"]}
        recipe = {"quasi": ["x"], "k": 3, "release": release, "text": text}
        for target in ("out.csv", "out.parquet"):
            assert shoal.protect_file(tmp_path / "in.csv", tmp_path / target, recipe).audit.holds
        lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
        assert {line.partition(";")[0] for line in lines} <= set(cells)


@pytest.mark.parametrize("release", EVERY)
def test_every_parameter_says_what_it_is_for(release: str) -> None:
    assert all(d.param.description.endswith(".") for d in declarations(registry.load("release", release)))
