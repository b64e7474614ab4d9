"""Every method × every check, found automatically: the properties of all methods, whoever writes them."""

from __future__ import annotations

import pickle
import runpy
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal import registry
from shoal.flow.classes.improve import Improved
from shoal.flow.stages.encode import confidential_arrays
from shoal.parameters import build, declarations
from shoal.types import Coded, Points

METHODS = registry.keys("partition")
K = 3
T = 0.3
LEVELS_OF_T = (0.0, 0.1, 0.3, 1.0)  # each with every method and with every table
LEVELS = {"p_sensitivity": {"p": 2}, "kpqr": {"p": 2, "q": 0.3, "r": 0.3}}
SIZES = (K, K + 1, 2 * K - 1, 2 * K, 3 * K - 1, 3 * K, 3 * K + 1, 50)


def points(n: int, d: int = 2, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def fitting(method: str, X: np.ndarray) -> np.ndarray:
    """The points, in as many coordinates as the method takes: all, unless it says otherwise."""
    return np.ascontiguousarray(X[:, : registry.load("partition", method).dimensions])


def promises_k(method: str) -> bool:
    """Whether the method promises classes of at least k records: yes, unless it says otherwise."""
    return registry.load("partition", method).promises_k


def promises_t(method: str) -> bool:
    """Whether the method promises t-closeness itself: no, unless it says otherwise."""
    return registry.load("partition", method).promises_t


def promises(method: str) -> tuple[str, ...]:
    """The other models that the method promises itself: none, unless it says otherwise."""
    return registry.load("partition", method).promises


def levels(method: str) -> dict[str, Any]:
    """The levels that a method needs which promises more than k."""
    found = {"t": T} if promises_t(method) else {}
    return found | {name: level for model in promises(method) for name, level in LEVELS[model].items()}


def given(method: str, X: np.ndarray) -> dict[str, Any]:
    """Random confidential values and levels, for a method that needs them in addition to points and k."""
    if not levels(method):
        return {}
    order = np.lexsort(X.T)  # by place, not by row, so that rows can be shuffled
    values = np.empty(len(X))
    values[order] = np.random.default_rng(5).integers(0, max(len(X) // 2, 2), len(X))
    if promises(method):
        values[order[:2]] = 0, 1  # never less than p values
    return {"confidential": values, **levels(method)}


def made(method: str) -> Any:
    return build(registry.load("partition", method), {"k": K, **levels(method)})


def with_confidential(method: str, X: np.ndarray, names: tuple[str, ...] = ()) -> Points:
    values = given(method, X).get("confidential")
    return Points(X, names, confidential=() if values is None else confidential_arrays(values, len(X)))


TABLES = {
    **{f"n={n}": points(n) for n in SIZES},
    "one coordinate": points(40, 1),
    "many coordinates": points(40, 30),
    "every row three times": np.repeat(points(15), 3, axis=0),
    "all rows equal": np.ones((20, 3)),
    "a constant column": np.column_stack([points(30), np.full(30, 7.0)]),
    "a grid full of ties": np.random.default_rng(2).integers(0, 3, (60, 3)) / 10.0,
    "huge and tiny": points(40) * np.array([1e300, 1e-300]),
    "near the largest float": points(40) / 5 * 1.7e308,
}


@cache
def partitioned(method: str, name: str) -> shoal.Partition:
    """The classes that a method makes of a table."""
    X = fitting(method, TABLES[name])
    return shoal.microaggregate(X, K, method=method, **given(method, X))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", TABLES)
class TestOnEveryTable:
    def test_each_row_in_one_class_of_at_least_k_in_every_block(self, method: str, name: str) -> None:
        X, part = TABLES[name], partitioned(method, name)
        least = K if promises_k(method) else 1
        for found, smallest in ((part, least if len(part.blocks) == 1 else 1), *((b, least) for b in part.blocks)):
            assert found.labels.dtype == np.int64
            assert found.labels.shape == (len(X),)
            assert found.sizes.sum() == len(X)
            assert found.sizes.min() >= smallest  # no number of a class is left out either: its size would be 0
            assert len(found) == len(found.sizes)

    def test_a_promise_is_made_by_all_blocks_or_none(self, method: str, name: str) -> None:
        for block in partitioned(method, name).blocks:
            assert block.promised is promises_k(method)
            assert (block.values is None) or np.isfinite(block.values).all()

    def test_blocks_are_the_attributes_each_once(self, method: str, name: str) -> None:
        X = fitting(method, TABLES[name])
        names = [f"x{j}" for j in range(X.shape[1])]
        part = made(method).partition(with_confidential(method, X, tuple(names)), np.random.default_rng(0))
        assert sorted(name for block in part.blocks for name in block.attributes) == sorted(names)

    def test_input_is_not_changed_and_the_same_seed_gives_the_same_labels(self, method: str, name: str) -> None:
        X = fitting(method, TABLES[name])
        before = X.copy()
        first = shoal.microaggregate(X, K, method=method, seed=7, **given(method, X)).labels
        assert np.array_equal(X, before)
        assert np.array_equal(first, shoal.microaggregate(X, K, method=method, seed=7, **given(method, X)).labels)


CLOSE = [method for method in METHODS if promises_t(method)]


@pytest.mark.parametrize("method", CLOSE)
class TestEveryMethodThatPromisesT:
    @pytest.mark.parametrize("name", TABLES)
    def test_every_class_is_close_by_the_definition(self, method: str, name: str) -> None:
        X = fitting(method, TABLES[name])
        values = given(method, X)["confidential"]
        t = LEVELS_OF_T[(CLOSE.index(method) + list(TABLES).index(name)) % len(LEVELS_OF_T)]
        part = shoal.microaggregate(X, K, method=method, confidential=values, t=t)
        distance = runpy.run_path(str(Path(__file__).parent / "oracles" / "earth_mover.py"))["ordered"]
        for label in range(len(part)):
            inside = values[part.labels == label].tolist()
            assert distance(inside, values.tolist()) <= Fraction(str(t))

    def test_without_a_confidential_attribute_it_is_a_data_error(self, method: str) -> None:
        with pytest.raises(shoal.DataError, match="confidential attribute must be given"):
            shoal.microaggregate(fitting(method, points(9)), K, method=method, t=T)

    @pytest.mark.parametrize("t", [-0.1, 1.1, float("nan"), "0.2"])
    def test_t_outside_0_and_1_is_a_parameter_error(self, method: str, t: object) -> None:
        X = fitting(method, points(9))
        with pytest.raises(shoal.ParameterError, match="t must be a number ≥ 0 and ≤ 1, got"):
            shoal.microaggregate(X, K, method=method, confidential=X[:, 0], t=t)


@pytest.mark.parametrize("method", [method for method in METHODS if promises(method)])
class TestEveryMethodThatPromisesAnotherModel:
    def test_without_a_confidential_attribute_it_is_a_data_error(self, method: str) -> None:
        with pytest.raises(shoal.DataError, match="confidential attribute must be given"):
            shoal.microaggregate(fitting(method, points(9)), K, method=method, **levels(method))

    def test_p_above_k_is_a_parameter_error(self, method: str) -> None:
        X = fitting(method, points(9))
        with pytest.raises(shoal.ParameterError, match="p must be at most k, got p = 4 and k = 3"):
            shoal.microaggregate(X, K, method=method, **{**given(method, X), "p": 4})

    def test_p_above_the_number_of_values_is_a_data_error_that_says_how_many_there_are(self, method: str) -> None:
        X = fitting(method, points(9))
        with pytest.raises(shoal.DataError, match=r"p = 3 and 2 of .0. in the table\. Lower p to at most 2"):
            shoal.microaggregate(X, K, method=method, **{**given(method, X), "p": 3, "confidential": [0] * 8 + [1]})


@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_pickles(self, method: str) -> None:
        one = made(method)
        assert pickle.loads(pickle.dumps(one)) == one
        part = one.partition(with_confidential(method, fitting(method, points(20))), np.random.default_rng(0))
        assert np.array_equal(pickle.loads(pickle.dumps(part)).labels, part.labels)

    def test_k_above_n_is_a_data_error(self, method: str) -> None:
        what = "values" if method == "mic1d" else "records"  # whose k counts values
        asked = {"at_least_k": True} if method == "least_error" else {}
        with pytest.raises(shoal.DataError, match=f"at most the number of {what}, got k = 3 and 2 in the table"):
            shoal.microaggregate(X := fitting(method, points(2, 1)), K, method=method, **asked, **given(method, X))

    def test_a_promise_is_audited_and_none_is_claimed_without(self, method: str) -> None:
        import pyarrow as pa

        X = fitting(method, points(40, 3))
        frame = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
        recipe = {"quasi": frame.column_names, "k": K, "method": method}
        if levels(method):
            frame = frame.append_column("secret", pa.array(given(method, X)["confidential"]))
            recipe |= {"confidential": ["secret"], **({"t": T} if promises_t(method) else {})}
        if promises(method):
            recipe["require"] = {model: list(LEVELS[model].values()) for model in promises(method)}
        found = shoal.protect(frame, recipe).audit.to_dict()
        assert bool(found["requirements"]) is promises_k(method)
        assert ("not_promised" in found) is not promises_k(method)

    @pytest.mark.parametrize("k", [1, 0, -4, 2.5, "3", True, None])
    def test_k_below_two_or_no_integer_is_a_parameter_error(self, method: str, k: object) -> None:
        with pytest.raises(shoal.ParameterError, match="k must be an integer ≥ 2, got"):
            shoal.microaggregate(X := fitting(method, points(9)), k, method=method, **given(method, X))  # type: ignore[arg-type]

    @pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
    def test_missing_values_and_infinities_are_a_data_error_with_row_numbers(self, method: str, odd: float) -> None:
        X = fitting(method, points(9))
        more = given(method, X)
        X[4, -1] = odd
        with pytest.raises(shoal.DataError, match="1 of 9 rows hold a NaN or an infinity: data row 5"):
            shoal.microaggregate(X, K, method=method, **more)

    def test_a_misspelt_parameter_is_refused(self, method: str) -> None:
        with pytest.raises(shoal.ParameterError, match="no parameter is called 'gama'"):
            shoal.microaggregate(X := fitting(method, points(9)), K, method=method, gama=1, **given(method, X))

    def test_points_of_other_dimensions_are_a_data_error(self, method: str) -> None:
        dimensions = registry.load("partition", method).dimensions
        if dimensions is None:
            shoal.microaggregate(X := points(9, 5), K, method=method, **given(method, X))
            return
        with pytest.raises(shoal.DataError, match=f"exactly {dimensions} coordinate.*got {dimensions + 1}"):
            shoal.microaggregate(points(9, dimensions + 1), K, method=method)

    def test_every_parameter_says_what_it_is_for(self, method: str) -> None:
        declared = declarations(registry.load("partition", method))
        assert "k" in [d.name for d in declared]
        assert all(d.param.description.endswith(".") for d in declared)

    def test_row_order_of_distinct_points_changes_only_the_order(self, method: str) -> None:
        X = fitting(method, points(40, 3))
        order = np.random.default_rng(3).permutation(40)
        more = given(method, X)
        if more:  # of equal confidential values the lowest row comes first: let there be none
            more["confidential"] = np.random.default_rng(5).permutation(40)
        if promises(method):  # which start from random rows: compare those that start from the same points
            pytest.skip("starts from random rows")
        direct = shoal.microaggregate(X, K, method=method, **more).labels[order]
        if more:
            more["confidential"] = more["confidential"][order]
        shuffled = shoal.microaggregate(X[order], K, method=method, **more).labels
        assert np.array_equal(direct[:, None] == direct, shuffled[:, None] == shuffled)


@pytest.mark.parametrize("room", ["partition", "release", "privacy", "utility", "risk"])
def test_every_file_of_a_room_is_complete(room: str) -> None:
    for key in registry.keys(room):
        cls = registry.load(room, key)
        assert cls.__doc__
        assert registry.summary(room, key).endswith(".")


MEASURES = [(room, key) for room in registry.ROOMS["measures"] for key in registry.keys(room)]


def of_every_kind(n: int = 24) -> Any:
    """A table before and after in which there is everything that measures look at, some of it missing or constant."""
    from shoal.types import Codes, Comparison, Confidential, Pair

    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(2, n, 3))
    x[:, 2] = y[:, 2] = 3.25
    x[4, 0], y[5, 0] = np.nan, np.nan
    kinds, others = rng.integers(-1, 3, (2, n))
    names = ("age", "pay", "constant")
    return Comparison(
        np.column_stack((np.nan_to_num(x), kinds)),
        np.column_stack((np.nan_to_num(y), others)),
        (*names, "illness"),
        {name: Pair(a, b) for name, a, b in zip(names, x.T, y.T, strict=True)},
        {"illness": Codes(kinds, others, ("asthma", "flu", "ulcer"))},
        classes=np.arange(n) // 3,
        strata=np.arange(n) % 2,
        confidential=(Confidential("debt", rng.permutation(n), np.ones(n, np.int64)),),
        positions=rng.permutation(n),
    )


def in_another_order(one: Any) -> Any:
    """The same tables, the second with its rows in another order; the originals and what is known of them stay."""
    from shoal.types import Codes, Pair

    rows = np.random.default_rng(8).permutation(len(one.masked))
    return replace(
        one,
        masked=one.masked[rows],
        numbers={name: Pair(pair.before, pair.after[rows]) for name, pair in one.numbers.items()},
        categories={name: Codes(c.before, c.after[rows], c.names) for name, c in one.categories.items()},
        classes=one.classes[rows],
        confidential=tuple(replace(each, codes=each.codes[rows]) for each in one.confidential),
    )


@cache
def read(which: str) -> Any:
    """What all measures read."""
    import pyarrow as pa

    from shoal.flow.stages.measure import measures, read_measures

    if which == "every kind":
        return read_measures(of_every_kind(), measures({"formula": "pay ~ age + illness"}))
    if which == "in another order":
        return read_measures(in_another_order(of_every_kind()), measures({"formula": "pay ~ age + illness"}))
    frame = pa.table({"a": points(30)[:, 0], "b": points(30)[:, 1], "c": list("abc" * 10)})
    return shoal.compare(frame, frame, ["a", "b", "c"])


NEED_MORE = {"individual_risk", "membership"}  # sampling weights, and a control


@pytest.mark.parametrize(("room", "key"), MEASURES)
class TestEveryMeasure:
    def name(self, room: str, key: str) -> str:
        return registry.load(room, key).name()

    def test_has_goal_and_range_and_a_name_of_its_own(self, room: str, key: str) -> None:
        cls = registry.load(room, key)
        low, high = cls.range
        assert cls.goal in ("low", "high", "")  # nothing: neither way is better
        assert low < high
        assert [self.name(*other) for other in MEASURES].count(self.name(room, key)) == 1

    def test_is_within_its_range_and_perfect_on_the_original(self, room: str, key: str) -> None:
        cls = registry.load(room, key)
        low, high = cls.range
        found = read("the original").reading(self.name(room, key))
        if np.isnan(found.value):
            assert found.note
            return
        assert low <= found.value <= high
        if room == "utility" and cls.goal and not cls.of:
            assert found.value == (low if cls.goal == "low" else high)

    def test_what_is_missing_or_constant_is_no_trouble_and_no_value_is_told(self, room: str, key: str) -> None:
        found = read("every kind").reading(self.name(room, key))
        if key in NEED_MORE:
            assert np.isnan(found.value)
            assert found.note
            return
        assert found.range[0] <= found.value <= found.range[1]
        assert len(found.parts) <= 200
        assert all(np.isfinite(value) for _, value in found.parts)
        told = " ".join([found.note, *(name for name, _ in found.parts)])
        assert not any(value in told for value in ("asthma", "flu", "ulcer", "3.25"))

    def test_is_unpaired_only_if_the_order_of_released_rows_does_not_matter(self, room: str, key: str) -> None:
        if not registry.load(room, key).unpaired:
            pytest.skip("depends on the order")
        kept, moved = (read(which).reading(self.name(room, key)) for which in ("every kind", "in another order"))
        assert moved.value == pytest.approx(kept.value, nan_ok=True)
        assert dict(moved.parts) == pytest.approx(dict(kept.parts))

    def test_changes_nothing_and_reads_the_same_again(self, room: str, key: str) -> None:
        cls, comparison, before = registry.load(room, key), of_every_kind(), of_every_kind()
        if not hasattr(cls, "measure"):
            pytest.skip("is made from what others read")
        found = [cls().measure(comparison), cls().measure(comparison)]
        assert repr(found[0]) == repr(found[1])
        assert pickle.dumps([vars(comparison)[name] for name in vars(before)]) == pickle.dumps(
            list(vars(before).values())
        )


@pytest.mark.parametrize(("room", "key"), MEASURES)
def test_every_measure_reads_every_kind_and_says_what_it_reads(room: str, key: str) -> None:
    from dataclasses import fields

    from shoal.types import Codes, Comparison, Confidential, Pair

    measure = registry.load(room, key)
    assert all(d.param.description.endswith(".") for d in declarations(measure))
    assert {d.name for d in declarations(measure)} == {f.name for f in fields(measure)}
    made = build(measure, {})
    assert pickle.loads(pickle.dumps(made)) == made
    if measure.of:
        assert made.combine(dict.fromkeys(measure.of, 50.0)).value == 50.0
        return
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 3))
    X[:, 1:] = rng.integers(0, 2, (60, 2))
    before = np.where(rng.random(60) < 0.1, np.nan, X[:, 0])
    codes = rng.integers(-1, 2, (2, 60))
    classes = np.repeat(np.arange(20), 3)
    masked = X[classes * 3]
    ill = Confidential("ill", codes[0] + 1, np.bincount(codes[0] + 1), ordered=False)
    both = Comparison(
        X,
        masked,
        ("number", "category", "category"),
        {"number": Pair(before, masked[:, 0])},
        {"category": Codes(codes[0], codes[1], ("yes", "no"))},
        classes,
        strata=classes % 2,
        confidential=(ill,),
    )
    kept = both.original.copy(), both.masked.copy(), before.copy(), codes.copy(), classes.copy()
    with np.errstate(all="ignore"):
        reading, again = made.measure(both), made.measure(both)
    assert str(reading) == str(again)  # NaN is not itself
    assert all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(kept, (X, masked, before, codes, classes), strict=True)
    )
    assert (reading.measure, reading.goal, reading.range) == (key, measure.goal, measure.range)
    assert reading.name == measure.name() == (measure.short or key)
    assert reading.note if np.isnan(reading.value) else measure.range[0] <= reading.value <= measure.range[1]
    assert len(dict(reading.parts)) == len(reading.parts)
    assert all(isinstance(value, float) for _, value in (("", reading.value), *reading.parts))
    assert not {"yes", "no"} & set(" ".join(name for name, _ in reading.parts).split())


def mixed(n: int = 24) -> dict[str, list[Any]]:
    """Columns of every kind, each with some missing values."""
    from datetime import date, timedelta

    rng = np.random.default_rng(4)
    columns: dict[str, list[Any]] = {
        "numbers": rng.normal(size=n).tolist(),
        "ordinal": rng.choice(["low", "middle", "high"], n).tolist(),
        "nominal": rng.choice(["a", "b", "c"], n).tolist(),
        "taxonomy": rng.choice(["flu", "asthma", "ulcer"], n).tolist(),
        "dates": [date(1990, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 9_000, n)],
    }
    for values in columns.values():
        for row in rng.choice(n, 3, replace=False):
            values[row] = None
    return {**columns, "secret": rng.permutation(n).tolist()}


MIXED = {
    "orders": {"ordinal": ["low", "middle", "high"]},
    "taxonomies": {"taxonomy": {"lungs": ["flu", "asthma"], "belly": ["ulcer"]}},
}
KINDS = {kind: [kind] for kind in ("numbers", "ordinal", "nominal", "taxonomy", "dates")} | {"mixed": list(mixed())[:5]}


def reading_only(partition: Any) -> Any:
    """Wrap a method's `partition` in a check that it leaves the points as they are."""

    def checked(self: Any, points: Points, rng: np.random.Generator) -> shoal.Partition:
        before = cells_of(points)
        found = partition(self, points, rng)
        assert cells_of(points) == before
        return found

    def cells_of(points: Points) -> list[bytes]:
        x = points.x
        return [one.tobytes() for one in ((x.numbers, x.codes) if isinstance(x, Coded) else (x,))]

    return checked


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
class TestOnEveryKind:
    @pytest.mark.parametrize("policy", ["category", "exclude", "fill"])
    def test_k_is_kept_and_the_input_too_whatever_is_missing(
        self, method: str, kind: str, policy: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import pyarrow as pa

        for cls in (registry.load("partition", method), Improved):
            monkeypatch.setattr(cls, "partition", reading_only(cls.partition))
        frame, before = pa.table(mixed()), pa.table(mixed())
        quasi = KINDS[kind]
        recipe = {"quasi": quasi, "k": K, "method": method, "when_missing": policy}
        recipe |= {name: {c: v for c, v in given.items() if c in quasi} for name, given in MIXED.items()}
        if levels(method):
            recipe |= {"confidential": ["secret"], **({"t": T} if promises_t(method) else {})}
        if promises(method):
            recipe["require"] = {model: list(LEVELS[model].values()) for model in promises(method)}
        if method == "individual_ranking":  # whose optimal cut is of one coordinate
            recipe["set"] = {"by": "mdav"}
        if refused := self.refusal(method, kind, policy):
            with pytest.raises(shoal.ShoalError, match=refused):
                shoal.protect(frame, recipe)
            return
        done = shoal.protect(frame, recipe)
        assert frame.equals(before)
        whole = [all(v is not None for v in row) for row in zip(*(mixed()[c] for c in quasi), strict=True)]
        assert done.data.num_rows == (sum(whole) if policy == "exclude" else len(whole))
        for names in [block.attributes for block in done.partition.blocks] if promises_k(method) else []:
            assert shoal.audit(done.data, quasi=names).overall.achieved >= K
        for column in quasi:
            assert done.data[column].type == frame[column].type
            assert policy != "exclude" or done.data[column].null_count == 0
            if policy == "fill":  # nothing is left but what a class has nothing for
                labels = next(block.labels for block in done.partition.blocks if column in block.attributes)
                for row in np.flatnonzero(done.data[column].is_null()):
                    assert (
                        frame[column].filter(pa.array(labels == labels[row])).null_count
                        == (labels == labels[row]).sum()
                    )

    def refusal(self, method: str, kind: str, policy: str) -> str | None:
        """What a method says that cannot serve a kind: it takes one coordinate only, or makes the values itself."""
        one = kind in ("numbers", "ordinal", "dates")
        if registry.load("partition", method).dimensions == 1:
            return None if one and policy != "category" else "exactly 1 coordinate"
        if method == "least_error":
            return None if one and policy != "category" else "1 coordinate for each attribute"
        if not promises_k(method):
            return None if one and policy == "exclude" else "only for numbers, dates and ranks without missing values"
        return None
