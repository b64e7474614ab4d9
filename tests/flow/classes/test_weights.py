"""Sampling weights: what the smallest class weighs is reported, and weighted totals are kept."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import registry
from shoal.kernels.arithmetic.class_statistics import class_means

N = 60
RNG = np.random.default_rng(8)
FRAME = pa.table(
    {
        "age": RNG.integers(0, 90, N),
        "income": RNG.lognormal(9, 1, N),
        "region": ["n", "s", "w"] * (N // 3),
        "w": RNG.uniform(0.5, 9, N),
    }
)
# Releases that keep means: a new one that says so is tested as well.
BY_MEANS = [key for key in registry.keys("release") if key == "centroid"]


def lightest(frame: pa.Table, names: list[str]) -> float:
    """Return the smallest sum of weights of a class, in the plainest way."""
    found = defaultdict(list)
    for row in frame.to_pylist():
        found[tuple(row[name] for name in names)].append(row["w"] or 0.0)
    return min(map(math.fsum, found.values()))


@given(
    rows=st.lists(
        st.tuples(st.sampled_from([1, 2, None]), st.one_of(st.none(), st.floats(0, 1e6))), min_size=1, max_size=30
    )
)
def test_the_audit_weighs_the_lightest_class(rows: list[tuple]) -> None:
    frame = pa.table(
        {"age": pa.array([r[0] for r in rows], pa.int64()), "w": pa.array([r[1] for r in rows], pa.float64())}
    )
    found = shoal.audit(frame, quasi=["age"], weight="w")
    assert found.to_dict()["weighted_k"] == pytest.approx(lightest(frame, ["age"]), abs=1e-9)
    assert found.to_dict()["k"] == shoal.audit(frame, quasi=["age"]).to_dict()["k"]
    assert "weighted_k" not in shoal.audit(frame, quasi=["age"]).to_dict()


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_protect_reports_it_of_frames_and_files_alike(tmp_path: Path, end: str) -> None:
    recipe = {"quasi": ["age", "income"], "weight": "w", "strata": ["region"], "k": 4}
    done = shoal.protect(FRAME, recipe)
    expected = lightest(done.data, ["age", "income"])
    assert done.audit.to_dict()["weighted_k"] == pytest.approx(expected, rel=1e-12)
    assert all(dict(f.found)["weighted_k"] > 0 for f in done.audit.findings if f.model == "k_anonymity")
    assert done.audit.to_dict()["requirements"][0]["found"]["weighted_k"] == pytest.approx(expected)
    shoal.write_table(FRAME, tmp_path / f"in.{end}")
    again = shoal.protect_file(tmp_path / f"in.{end}", tmp_path / f"out.{end}", recipe)
    assert again.audit.to_dict()["weighted_k"] == pytest.approx(expected, rel=1e-12)


def test_weights_must_be_numbers() -> None:
    with pytest.raises(shoal.SchemaError, match="Column 'region': a weight must be a number, this one is nominal"):
        shoal.audit(FRAME, quasi=["age"], weight="region")


@pytest.mark.parametrize("release", BY_MEANS)
@given(data=st.data(), k=st.integers(2, 5), strata=st.booleans(), n=st.integers(10, 40))
@settings(max_examples=25, deadline=None)
def test_weighted_totals_are_kept(release: str, data: st.DataObject, k: int, strata: bool, n: int) -> None:
    number = st.floats(-1e6, 1e6, allow_nan=False)
    x = np.array(data.draw(st.lists(number, min_size=n, max_size=n)))
    w = np.array(data.draw(st.lists(st.floats(0.001, 1e4), min_size=n, max_size=n)))
    region = np.arange(n) % 2
    frame = pa.table({"x": x, "whole": np.arange(n) ** 2, "region": region, "w": w})
    recipe = {"quasi": ["x", "whole"], "weight": "w", "k": k, "release": release, "exact_means": True}
    done = shoal.protect(frame, {**recipe, "strata": ["region"]} if strata else recipe)
    left = np.asarray(done.data["w"].to_numpy())
    assert math.fsum(left) == pytest.approx(math.fsum(w), rel=1e-12)
    for where in (region == 0, region == 1) if strata else (np.ones(n, bool),):
        for name in ("x", "whole"):
            before, after = (np.asarray(f[name].to_numpy(), float)[where] for f in (frame, done.data))
            size = math.fsum(abs(before * w[where])) or 1.0
            assert math.fsum(after * left[where]) == pytest.approx(math.fsum(before * w[where]), abs=1e-12 * size)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from([0.0, 1.0, -3.5, 1e-3, 7e5]), st.sampled_from([0.0, 1e-9, 2.5, 1e9])
        ),
        min_size=1,
        max_size=30,
    )
)
def test_totals_are_kept_however_unequal_weights_are(records: list[tuple[int, float, float]]) -> None:
    labels, values, weights = (np.array(column) for column in zip(*records, strict=True))
    labels = np.unique(labels, return_inverse=True)[1]
    means = class_means(values, labels, weights)
    for label in range(labels.max() + 1):
        mine = labels == label
        share = weights[mine] if weights[mine].any() else np.ones(mine.sum())
        lost = abs((share * values[mine]).sum() - share.sum() * means[label])
        assert lost <= 1e-13 * (share * np.abs(values[mine])).sum()


PEOPLE = pa.table(
    {
        "age": RNG.integers(18, 90, N),
        "gain": np.where(RNG.random(N) < 0.9, 0, RNG.integers(1, 9, N) * 1000),
        "pay": RNG.integers(1, 99, N),
        "w": RNG.integers(20_000, 400_000, N),
    }
)


def solutions(weights: list[int], mean: float, values: range) -> int:
    """Return how many ways there are to give values to a class so that its weighted mean is the released one."""
    total = {0: 1}
    for weight in weights:
        reached: dict[int, int] = defaultdict(int)
        for so_far, ways in total.items():
            for value in values:
                reached[so_far + weight * value] += ways
        total = reached
    mass = sum(weights)
    return sum(ways for so_far, ways in total.items() if abs(so_far - mass * mean) < 1e-6 * mass)


class TestReleasedWeights:
    """The weight and the means next to it: an equation in whole numbers must not have one solution."""

    RECIPE: ClassVar[dict] = {"quasi": ["age", "gain"], "confidential": ["pay"], "weight": "w", "k": 3}

    def test_with_the_weights_of_records_exact_means_had_one_solution(self) -> None:
        # as weighted means used to be released
        done = shoal.protect(PEOPLE, {**self.RECIPE, "method": "mdav", "exact_means": True})
        rows = np.flatnonzero(done.partition.labels == 0)
        weights = [PEOPLE["w"][int(row)].as_py() for row in rows]
        mean = done.data["age"][int(rows[0])].as_py()
        assert solutions(weights, mean, range(18, 90)) == 1  # whoever has the weights has the ages
        released = [round(done.data["w"][int(row)].as_py() * len(rows)) for row in rows]
        assert solutions(released, np.mean(PEOPLE["age"].to_numpy()[rows]), range(18, 90)) > 1_000

    def test_each_record_has_the_mean_weight_of_its_class(self) -> None:
        done = shoal.protect(PEOPLE, self.RECIPE)
        before, after = PEOPLE["w"].to_numpy(), done.data["w"].to_numpy()
        assert done.data["w"].type == pa.float64()
        for label in range(len(done.partition)):
            rows = done.partition.labels == label
            assert len(set(after[rows].tolist())) == 1
            assert after[rows][0] == pytest.approx(before[rows].mean(), rel=1e-14)
        over = [f.attributes for f in done.audit.findings if f.model == "k_anonymity" and f.required == 3]
        assert ("age", "gain", "w") in over

    def test_per_record_nothing_depends_on_them(self) -> None:
        done = shoal.protect(PEOPLE, {**self.RECIPE, "release_weight": "record"})
        plain = shoal.protect(PEOPLE, {**self.RECIPE, "weight": None})
        assert done.data.equals(plain.data)
        assert done.partition.labels.tolist() == plain.partition.labels.tolist()
        assert done.readings.to_dict() == plain.readings.to_dict()

    @pytest.mark.parametrize("release", ["centroid", "medoid", "swap", "anatomy"])
    def test_they_can_be_removed(self, release: str, tmp_path: Path) -> None:
        recipe = {**self.RECIPE, "release_weight": "none", "release": release}
        done = shoal.protect(PEOPLE, recipe)
        assert "w" not in done.data.column_names
        if release == "centroid":
            weighted = shoal.protect(PEOPLE, self.RECIPE)
            assert done.data.equals(weighted.data.drop_columns(["w"]))
        shoal.write_table(PEOPLE, tmp_path / "in.csv")
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe)
        assert "w" not in (tmp_path / "out.csv").read_text().splitlines()[0].split(",")

    def test_anatomy_keeps_them_with_their_person(self) -> None:
        done = shoal.protect(PEOPLE, {**self.RECIPE, "release": "anatomy"})
        assert done.data["w"].to_pylist() == PEOPLE["w"].to_pylist()

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".sav", ".dta", ".xlsx"])
    def test_files_have_them_as_frames_do(self, tmp_path: Path, suffix: str) -> None:
        shoal.write_table(PEOPLE, tmp_path / f"in{suffix}")
        done = shoal.protect_file(tmp_path / f"in{suffix}", tmp_path / f"out{suffix}", self.RECIPE)
        shoal.protect_file(tmp_path / f"in{suffix}", tmp_path / "out.csv", self.RECIPE, force=True)
        again = shoal.audit_file(tmp_path / f"out{suffix}", quasi=["age", "gain", "w"], require={"k": 3})
        assert again.holds
        total = sum(float(line.split(",")[3]) for line in (tmp_path / "out.csv").read_text().splitlines()[1:])
        assert total == pytest.approx(PEOPLE["w"].to_numpy().sum(), rel=1e-12)
        assert done.audit.holds

    def test_true_and_false_are_short_for_record_and_none(self) -> None:
        assert shoal.Recipe(quasi=["a"], release_weight=True).release_weight == "record"
        assert shoal.Recipe(quasi=["a"], release_weight=False).release_weight == "none"

    @pytest.mark.parametrize("more", [{"blocks": [["age"], ["gain"]]}, {"method": "individual_ranking"}])
    def test_several_blocks_take_only_weights_of_records(self, more: dict) -> None:
        with pytest.raises(shoal.ParameterError, match="release_weight must be 'record' where quasi-identifiers"):
            shoal.protect(PEOPLE, {**self.RECIPE, **more})
        assert shoal.protect(PEOPLE, {**self.RECIPE, **more, "release_weight": "record"}).audit.holds

    def test_the_gate_counts_k_over_the_weight_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import shoal.flow.protect.anonymise as run

        monkeypatch.setattr(run, "with_released_weights", lambda release, *rest: release)
        with pytest.raises(shoal.GuaranteeError, match="k_anonymity over age, gain, w requires 3 and achieves 1"):
            shoal.protect(PEOPLE, self.RECIPE)

    def test_the_report_says_how_far_totals_moved(self, account_of) -> None:
        table = PEOPLE.append_column("region", pa.array(["n", "s"] * (N // 2)))
        found = account_of(table, full=True, **self.RECIPE, strata=["region"]).readings.reading("totals")
        parts = dict(found.parts)
        assert set(parts) >= {"age", "gain", "pay (confidential)", "age, largest in any stratum"}
        assert 0 < abs(parts["age"]) < 1
        exact = account_of(table, full=True, **self.RECIPE, exact_means=True).readings["totals"]
        assert exact < 1e-9
        moved = account_of(table, full=True, **self.RECIPE, release_weight="record", exact_means=True).readings
        assert moved["totals"] > 1e-3


def test_the_mean_weight_of_a_class_does_not_depend_on_the_order_of_its_members() -> None:
    found = set()
    for weights in ([1e16, 1.0, 1.0], [1.0, 1.0, 1e16]):  # a sum from left to right would lose the ones, or not
        frame = pa.table({"age": [30, 30, 30], "w": weights})
        done = shoal.protect(frame, {"quasi": ["age"], "k": 3, "weight": "w"})
        found |= set(done.data["w"].to_pylist())
    assert len(found) == 1
