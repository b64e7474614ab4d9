"""Every steering × every check, and what each of them does to a partition."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import registry
from shoal.flow.classes.steering import ArrayColumns
from shoal.parameters import build, declarations
from shoal.types import Confidential, Points

STEERINGS = registry.keys("steer")
GIVEN = {
    "column": {"column": "number"},
    "region": {"column": "text"},
    "bucket": {"buckets": 3},
    "spread": {"buckets": 3},
}


def scene(n: int, seed: int = 0) -> tuple[Points, ArrayColumns]:
    rng = np.random.default_rng(seed)
    inside = (Confidential("pay", rng.permutation(n), np.ones(n, np.int64)),)
    arrays = {"number": rng.normal(size=n), "text": rng.choice(list("abc"), n)}
    return Points(rng.normal(size=(n, 2)), confidential=inside), ArrayColumns(arrays, n)


@pytest.mark.parametrize("key", STEERINGS)
class TestEverySteering:
    @pytest.mark.parametrize("n", [3, 4, 10, 50])
    def test_gives_finite_coordinates_from_0_to_1_and_changes_nothing(self, key: str, n: int) -> None:
        maker = build(registry.load("steer", key), GIVEN.get(key, {}))
        points, columns = scene(n)
        before = points.coordinates.copy()
        found = maker.coordinates(points, columns)
        assert found.dtype == np.float64
        assert found.shape[0] == n
        assert found.min() >= 0
        assert found.max() <= 1
        assert np.array_equal(found, maker.coordinates(points, columns))
        assert np.array_equal(points.coordinates, before)

    def test_says_what_it_is(self, key: str) -> None:
        assert registry.summary("steer", key).endswith(".")
        assert all(d.param.description.endswith(".") for d in declarations(registry.load("steer", key)))
        maker = build(registry.load("steer", key), GIVEN.get(key, {}))
        assert pickle.loads(pickle.dumps(maker)) == maker

    @pytest.mark.parametrize("method", ["mdav", "v_mdav", "tour", "blocks", "pcp", "anneal", "auto"])
    def test_steers_any_method_and_keeps_k(self, key: str, method: str) -> None:
        points, columns = scene(40)
        given = {name: columns.arrays.get(value, value) for name, value in GIVEN.get(key, {}).items()}
        inside = np.arange(40) if key in ("bucket", "spread") else None
        steer = [{"by": key, "weight": 3.0, **given}]
        part = shoal.microaggregate(points.coordinates, 3, method=method, steer=steer, confidential=inside)
        assert part.sizes.min() >= 3
        assert part.sizes.sum() == 40
        assert part.blocks[0].attributes == ()

    def test_weight_0_changes_nothing(self, key: str) -> None:
        survey = shoal.survey(200)
        given = {"column": {"column": "weight"}, "region": {"column": "region"}}.get(key, GIVEN.get(key, {}))
        recipe = {"quasi": ["birth", "income"], "confidential": ["commute_minutes"], "k": 4}
        plain = shoal.protect(survey, recipe)
        steered = shoal.protect(survey, {**recipe, "steer": [{"by": key, "weight": 0, **given}]})
        assert np.array_equal(plain.partition.labels, steered.partition.labels)
        assert steered.data.equals(plain.data)


class TestColumn:
    @given(seed=st.integers(0, 10**6), weight=st.sampled_from([0.0, 0.1, 1.0, 30.0]))
    def test_is_the_method_on_the_points_with_one_more_coordinate(self, seed: int, weight: float) -> None:
        rng = np.random.default_rng(seed)
        X, column = rng.normal(size=(30, 2)), rng.normal(size=30)
        low, high = column.min(), column.max()
        more = np.column_stack((X, weight * ((column / 8 - low / 8) / (high / 8 - low / 8))))
        steered = shoal.microaggregate(X, 3, steer=[(column, weight)])
        assert np.array_equal(steered.labels, shoal.microaggregate(more, 3).labels)

    def test_dates_and_numbers_of_a_table(self) -> None:
        survey = shoal.survey(300)
        recipe = {
            "quasi": ["income", "commute_minutes"],
            "k": 5,
            "steer": [{"by": "column", "column": "birth", "weight": 100}],
        }
        labels = shoal.protect(survey, recipe).partition.labels
        birth = survey["birth"].cast(pa.int32()).to_numpy().astype(float)
        spread = max(np.ptp(birth[labels == c]) for c in range(labels.max() + 1))
        assert spread < np.ptp(birth) / 4
        with pytest.raises(shoal.SchemaError, match=r"'region': a column that steers by its values must hold numbers"):
            shoal.protect(survey, {**recipe, "steer": [{"by": "column", "column": "region"}]})


class TestRegion:
    RECIPE = {"quasi": ["birth", "income"], "k": 5}  # noqa: RUF012

    def crossing(self, weight: float, **more: object) -> int:
        """How many classes hold several regions."""
        survey = shoal.survey(1000)
        steer = [{"by": "region", "column": "region", "weight": weight}]
        done = shoal.protect(survey, {**self.RECIPE, "steer": steer, **more})
        regions = survey["region"].to_numpy(zero_copy_only=False)
        return sum(len(set(regions[done.partition.labels == c])) > 1 for c in range(len(done.partition)))

    def test_the_heavier_the_fewer_classes_cross(self) -> None:
        crossing = [self.crossing(weight) for weight in (0, 0.3, 1, 100)]
        assert crossing == sorted(crossing, reverse=True)
        assert crossing[0] > 100
        assert crossing[-1] <= 5  # at most what is left over in each of five regions

    def test_refinement_respects_it(self) -> None:
        assert self.crossing(100, effort="fast") <= 5

    def test_what_leaves_and_what_was_lost_are_of_the_real_attributes(self) -> None:
        survey = shoal.survey(500)
        done = shoal.protect(survey, {**self.RECIPE, "steer": [{"by": "region", "column": "region", "weight": 5}]})
        assert done.data.column_names == survey.column_names
        assert done.data["region"].equals(survey["region"])
        assert done.partition.blocks[0].attributes == ("birth", "income")
        assert done.readings["il_sse"] == shoal.compare(survey, done.data, ["birth", "income"])["il_sse"]
        assert done.audit.to_dict()["requirements"][0]["attributes"] == ["birth", "income"]

    def test_each_of_several_blocks_is_steered(self) -> None:
        survey = shoal.survey(300)
        recipe = {**self.RECIPE, "blocks": [["birth"], ["income"]]}
        steer = [{"by": "region", "column": "region", "weight": 100}]
        done = shoal.protect(survey, {**recipe, "steer": steer})
        regions = survey["region"].to_numpy(zero_copy_only=False)
        assert [block.attributes for block in done.partition.blocks] == [("birth",), ("income",)]
        for block in done.partition.blocks:
            assert sum(len(set(regions[block.labels == c])) > 1 for c in range(len(block))) <= 5

    def test_with_strata_and_a_missing_value(self) -> None:
        table = pa.table(
            {"x": np.random.default_rng(0).normal(size=40), "s": ["p", "q"] * 20, "r": ["a", None, "b", "b"] * 10}
        )
        steer = [{"by": "region", "column": "r", "weight": 50}]
        done = shoal.protect(table, {"quasi": ["x"], "strata": ["s"], "k": 5, "steer": steer})
        assert done.partition.sizes.min() >= 5
        for c in range(len(done.partition)):
            assert len(set(np.array(table["r"].to_pylist(), object)[done.partition.labels == c])) == 1

    def test_too_many_regions(self) -> None:
        with pytest.raises(shoal.DataError, match="column 'person' must have at most 256 different values, got 300"):
            shoal.protect(shoal.survey(300), {**self.RECIPE, "steer": [{"by": "region", "column": "person"}]})


class TestPosition:
    def test_a_large_weight_keeps_the_order(self) -> None:
        X = np.random.default_rng(0).uniform(size=(30, 2))
        part = shoal.microaggregate(X, 3, steer=[{"by": "position", "every": 1, "weight": 3.0}])
        assert all(np.ptp(np.flatnonzero(part.labels == c)) == 2 for c in range(len(part)))

    def test_the_paper_position_is_i_times_the_weight(self) -> None:
        X = np.random.default_rng(0).uniform(size=(30, 2))
        steered = shoal.microaggregate(X, 3, steer=[{"by": "position", "every": 1, "weight": 0.02}])
        more = np.column_stack((X, 0.02 * np.arange(30)))
        assert np.array_equal(steered.labels, shoal.microaggregate(more, 3).labels)


class TestBucket:
    def test_steered_is_mdav_with_this_attribute(self) -> None:
        rng = np.random.default_rng(0)
        X, C = rng.uniform(size=(60, 2)), rng.permutation(60)
        X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        steer = [{"by": "bucket", "buckets": 5, "weight": 4.0}]
        direct = shoal.microaggregate(X, 5, confidential=C, steer=steer).labels
        steered = shoal.microaggregate(X, 5, method="steered", confidential=C, t=1.0, weight=4.0).labels
        assert np.array_equal(direct[:, None] == direct, steered[:, None] == steered)

    def test_with_t_it_is_closed_by_merging(self) -> None:
        survey = shoal.survey(400)
        recipe = {"quasi": ["birth", "income"], "confidential": ["commute_minutes"], "k": 5, "t": 0.2, "method": "mdav"}
        plain = shoal.protect(survey, recipe)
        steer = [{"by": "bucket", "buckets": 5, "weight": 20}, {"by": "region", "column": "region", "weight": 0.5}]
        steered = shoal.protect(survey, {**recipe, "steer": steer})
        assert len(steered.partition) > len(plain.partition)  # fewer classes had to be merged

    def test_categories_are_ranked_by_marginality(self) -> None:
        x = np.arange(9.0)[:, None] / 8
        steering = registry.load("steer", "bucket")(buckets=3)
        points = Points(x, confidential=(Confidential("ill", np.array([0] * 3 + [1] * 6), np.array([3, 6]), False),))
        number = steering.coordinates(points, None)[:, 0]
        assert sorted(number[:3].tolist()) == [0, 0.5, 1]  # flu is rarer, so it is the last bucket, not the first
        assert sorted(number[3:].tolist()) == [0, 0, 0.5, 0.5, 1, 1]
        assert number[3] == 0  # the first of the most frequent category begins the first bucket

    def test_what_is_refused(self) -> None:
        def run(**table: object) -> None:
            confidential = table.pop("confidential", ["commute_minutes"])
            recipe = {"quasi": ["birth"], "confidential": confidential, "k": 5, "steer": [{"by": "bucket", **table}]}
            shoal.protect(shoal.survey(50), recipe)

        with pytest.raises(shoal.DataError, match="Bucket: at least one confidential attribute must be given"):
            run(buckets=3, confidential=[])
        with pytest.raises(shoal.DataError, match="Bucket: buckets must be at most the number of records, got 51"):
            run(buckets=51)
        with pytest.raises(shoal.SchemaError, match="Bucket: no confidential column is called 'age'"):
            run(buckets=3, column="age")
        with pytest.raises(shoal.ParameterError, match="Bucket: buckets must be given"):
            run()


class TestRefuses:
    X = np.random.default_rng(0).normal(size=(20, 2))

    @pytest.mark.parametrize(
        ("steer", "sentence"),
        [
            ([{"by": "regions"}], r"no steering \(by\) is called 'regions'.*mean 'region'"),
            ([{"weight": 1}], r"no steering \(by\) is called None"),
            ([{"by": "position", "weight": -1}], "steer: weight must be a number ≥ 0 and ≤ 1e.300, got -1"),
            ([{"by": "position", "weight": "2"}], "steer: weight must be a number"),
            ([{"by": "position", "weight": float("nan")}], "steer: weight must be a number"),
            ([{"by": "position", "evry": 1}], "Position: no parameter is called 'evry'"),
            ([{"by": "position", "every": 0}], "Position: every must be an integer ≥ 1, got 0"),
            ([3], r"steer must hold pairs \(values, weight\) or tables; steer 1 is neither"),
            ("region", "steer must be a list of pairs or tables, got 'region'"),
        ],
    )
    def test_tables(self, steer: object, sentence: str) -> None:
        with pytest.raises(shoal.ParameterError, match=sentence):
            shoal.microaggregate(self.X, 3, steer=steer)  # type: ignore[arg-type]

    def test_weights_of_numpy_are_numbers(self) -> None:
        for weight in (np.int64(2), np.float32(2)):
            shoal.microaggregate(self.X, 3, steer=[(np.arange(20), weight)])

    @pytest.mark.parametrize("column", [np.arange(19), np.full(20, np.nan), np.eye(20)])
    def test_arrays(self, column: np.ndarray) -> None:
        with pytest.raises(shoal.DataError, match="steer 1 must"):
            shoal.microaggregate(self.X, 3, steer=[(column, 1.0)])

    @pytest.mark.parametrize(
        ("method", "sentence"),
        [
            ("mic1d", "Mic1d: steer is not possible, because this method forms no classes"),
            ("optimal_univariate", "OptimalUnivariate: steer is not possible, because this method takes exactly 1"),
            ("individual_ranking", "IndividualRanking: steer is not possible with a method that forms blocks"),
        ],
    )
    def test_methods(self, method: str, sentence: str) -> None:
        with pytest.raises(shoal.ParameterError, match=sentence):
            shoal.microaggregate(self.X, 3, method=method, steer=[{"by": "position"}])

    def test_a_method_that_steers_itself(self) -> None:
        steer = [{"by": "position"}]
        with pytest.raises(shoal.ParameterError, match=r"Steered: steer is not possible, .* of its own"):
            shoal.microaggregate(self.X, 3, method="steered", steer=steer, t=0.1, confidential=np.arange(20))

    def test_a_recipe(self) -> None:
        with pytest.raises(shoal.ParameterError, match="steer must be a list of tables"):
            shoal.Recipe(quasi=["a"], steer={"by": "region"})
        with pytest.raises(shoal.ParameterError, match=r"no steering \(by\) is called 'regin'"):
            shoal.Recipe(quasi=["a"], steer=[{"by": "regin"}])
        with pytest.raises(shoal.SchemaError, match="no column is called 'regin'"):
            shoal.protect(shoal.survey(30), {"quasi": ["birth"], "steer": [{"by": "region", "column": "regin"}]})


def test_a_recipe_round_trips() -> None:
    steer = [{"by": "region", "column": "county", "weight": 2.0}, {"by": "position"}]
    recipe = shoal.Recipe(quasi=["a"], steer=steer)
    text = 'quasi = ["a"]\n[[steer]]\nby = "region"\ncolumn = "county"\nweight = 2.0\n[[steer]]\nby = "position"\n'
    assert shoal.Recipe.from_toml("version = 1\n" + text) == recipe
    assert shoal.Recipe.from_toml(recipe.to_toml()) == recipe
    assert recipe.fingerprint != shoal.Recipe(quasi=["a"]).fingerprint
    assert "steer" not in shoal.Recipe(quasi=["a"]).to_dict()


def test_the_command_line_writes_it_into_the_recipe(tmp_path: Path, run: Callable) -> None:
    source, saved, out = tmp_path / "s.csv", tmp_path / "r.toml", tmp_path / "out.csv"
    shoal.write_table(shoal.survey(60), source)
    options = ["--quasi", "birth,income", "--k", "4", "--steer", "region:column=region,weight=2", "--steer", "position"]
    assert run("protect", source, "-o", out, *options, "--save-recipe", saved).code == 0
    assert shoal.Recipe.load(saved).steer == ({"by": "region", "column": "region", "weight": 2}, {"by": "position"})
    assert run("protect", source, "-o", tmp_path / "again.csv", "--recipe", saved).code == 0
    assert (tmp_path / "again.csv").read_bytes() == out.read_bytes()
