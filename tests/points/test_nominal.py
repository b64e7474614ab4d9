"""Categories as points: distances and centroids equal their definitions, whatever the taxonomy."""

from __future__ import annotations

import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, SchemaError
from shoal.points.encoding import Encoding, attribute_of
from shoal.points.nominal import Nominal
from shoal.types import Column, Kind, Points, Role, Taxonomy, coded, points

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "taxonomy_distance.py"))


def embedded(found: Nominal) -> np.ndarray:
    return coded([(found.coded(), 1.0)]).embedding()


def column(taxonomy: dict[str, tuple[str, ...]] | None = None) -> Column:
    return Column("work", Role.QUASI, Kind.NOMINAL, None if taxonomy is None else Taxonomy(taxonomy))


def encoded(cells: list[Any], taxonomy: dict[str, tuple[str, ...]] | None = None, missing: str = "category") -> Nominal:
    return Nominal.of(column(taxonomy), pa.chunked_array([pa.array(cells, pa.string())]), missing)


@st.composite
def taxonomies(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Up to eight leaves, each at the end of up to three groups, many of them shared; names of groups differ."""
    found = {}
    for leaf in range(draw(st.integers(1, 8))):
        way: tuple[str, ...] = ()
        for step in draw(st.lists(st.integers(0, 1), max_size=3)):
            way = (*way, f"{way[-1] if way else 'G'}{step}")
        found[f"v{leaf}"] = way
    return found


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, tuple[str, ...]], list[str | None], list[int], list[int]]:
    """A taxonomy, and records of its values, some missing; their classes, and their weights."""
    taxonomy = draw(taxonomies())
    value = st.one_of(st.sampled_from(sorted(taxonomy)), st.none())
    values = draw(st.lists(value, min_size=1, max_size=10).filter(lambda vs: any(v is not None for v in vs)))
    labels = draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    weights = draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    return taxonomy, values, np.unique(labels, return_inverse=True)[1].tolist(), weights


def squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)


class TestDistances:
    @settings(max_examples=40)
    @given(tables())
    def test_equal_the_definition(self, table: Any) -> None:
        taxonomy, values, _, _ = table
        x = embedded(encoded(values, taxonomy))
        expected = [[float(oracle["distance"](taxonomy, a, b)) for b in values] for a in values]
        np.testing.assert_allclose(squares(x, x), expected, atol=1e-12)

    @settings(max_examples=40)
    @given(tables())
    def test_do_not_depend_on_which_values_occur(self, table: Any) -> None:
        taxonomy, values, _, _ = table
        few = embedded(encoded(values, taxonomy))
        all_ = embedded(encoded([*values, *taxonomy], taxonomy))[: len(values)]
        np.testing.assert_allclose(squares(few, few), squares(all_, all_), atol=1e-12)

    @given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=8).filter(any))
    def test_without_a_taxonomy_are_1(self, values: list[str | None]) -> None:
        x = embedded(encoded(values))
        np.testing.assert_allclose(squares(x, x), [[float(a != b) for b in values] for a in values], atol=1e-12)

    @settings(max_examples=40)
    @given(tables())
    def test_to_groups_are_half_the_path(self, table: Any) -> None:
        taxonomy, values, _, _ = table
        there = [value for value in values if value is not None]
        groups = sorted({taxonomy[v][:depth] for v in there for depth in range(len(taxonomy[v]) + 1)})
        names = pa.chunked_array(
            [pa.array([*(group[-1] if group else "*" for group in groups), "v0", "outside", None])]
        )
        column, (codes,) = encoded(there, taxonomy).beside([names])
        expected = [
            [
                *(float(oracle["distance_to_group"](taxonomy, g, v)) for g in groups),
                float(oracle["distance"](taxonomy, v, "v0")) if "v0" in there else 1.0,
                1.0,
                1.0,
            ]
            for v in there
        ]
        x = coded([(column._replace(codes=np.repeat(column.codes, len(names))), 1.0)])
        y = coded([(column._replace(codes=np.tile(codes, len(there))), 1.0)])
        found = x.distances(y).reshape(len(there), len(names))
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(found.ravel(), ((x.embedding() - y.embedding()) ** 2).sum(axis=1), atol=1e-12)

    def test_a_missing_value_to_fill_is_in_the_middle(self) -> None:
        assert encoded(["b", "a", "a", None], missing="fill").coded().codes.tolist() == [1, 0, 0, 0]

    @settings(max_examples=40)
    @given(tables(), st.sampled_from(["category", "fill"]))
    def test_a_column_is_beside_itself(self, table: Any, missing: str) -> None:
        taxonomy, values, _, _ = table
        found = encoded(values, taxonomy, missing)
        column, (codes,) = found.beside([pa.chunked_array([pa.array(values, pa.string())])])
        assert codes.tolist() == column.codes.tolist() == found.coded().codes.tolist()

    @settings(max_examples=40)
    @given(tables(), st.booleans())
    def test_from_the_mean_add_up_to_the_variation(self, table: Any, groups: bool) -> None:
        taxonomy, values, _, _ = table
        names = [taxonomy[v][-1] if groups and v in taxonomy and taxonomy[v] else v for v in values]
        column, (codes,) = encoded(values, taxonomy).beside([pa.chunked_array([pa.array(names, pa.string())])])
        x = coded([(column._replace(codes=codes), 2.0)])
        e = x.embedding()
        assert x.variation(0) == pytest.approx(((e - e.mean(axis=0)) ** 2).sum(), abs=1e-12)

    @settings(max_examples=40)
    @given(tables(), st.floats(0, 100))
    def test_count_as_many_times_as_the_weight_says(self, table: Any, weight: float) -> None:
        taxonomy, values, _, _ = table
        found = encoded(values, taxonomy)
        plain, heavy = (Encoding().encode([found], {"work": w}).coordinates for w in (1.0, weight))
        np.testing.assert_allclose(squares(heavy, heavy), weight * squares(plain, plain), rtol=1e-9, atol=1e-12)


def classes_of(values: list[Any], labels: list[int], weights: list[int]) -> list[tuple[list[Any], list[int]]]:
    found = []
    for label in range(max(labels) + 1):
        rows = [row for row, of in enumerate(labels) if of == label]
        share = [weights[row] for row in rows]
        found.append(([values[row] for row in rows], share if any(share) else [1] * len(rows)))
    return found


class TestCentroids:
    @settings(max_examples=60)
    @given(tables(), st.booleans(), st.booleans())
    def test_a_leaf_is_the_category_of_least_total_distance(self, table: Any, weighted: bool, apart: bool) -> None:
        taxonomy, values, labels, weights = table
        share = np.array(weights, float) if weighted else None
        found = encoded(values, taxonomy, "category" if apart else "fill")
        leaving = found.centroid(np.array(labels), share, resolution=None).to_pylist()
        plain = weights if weighted else [1] * len(values)
        if not apart:
            plain = [0 if value is None else weight for value, weight in zip(values, plain, strict=True)]
        for label, (inside, shares) in enumerate(classes_of(values, labels, plain)):
            pairs = [(v, s) for v, s in zip(inside, shares, strict=True) if apart or v is not None]
            candidates = [*taxonomy, *([None] if apart else [])]
            expected = (
                oracle["likest_leaf"](taxonomy, *map(list, zip(*pairs, strict=True)), candidates) if pairs else None
            )
            assert {leaving[row] for row, of in enumerate(labels) if of == label} == {expected}

    @settings(max_examples=60)
    @given(tables(), st.booleans())
    def test_no_node_is_nearer_than_the_node(self, table: Any, weighted: bool) -> None:
        taxonomy, values, labels, weights = table
        found = encoded(values, taxonomy)
        share = np.array(weights, float) if weighted else None
        chosen = found.most_central(np.array(labels), share, "node")
        places = _ways(found, taxonomy)
        for label, (inside, shares) in enumerate(
            classes_of(values, labels, weights if weighted else [1] * len(values))
        ):
            node = places[chosen[label]]
            far = oracle["distance_to_group"] if isinstance(node, tuple) else oracle["distance"]
            total = sum((w * far(taxonomy, node, v) for v, w in zip(inside, shares, strict=True)), Fraction(0))
            assert total == oracle["least_total"](taxonomy, inside, shares, [*taxonomy, None])

    @settings(max_examples=40)
    @given(tables())
    def test_an_ancestor_is_the_lowest_that_all_are_in(self, table: Any) -> None:
        taxonomy, values, labels, weights = table
        found = encoded(values, taxonomy)
        chosen = found.most_central(np.array(labels), np.array(weights, float), "ancestor")
        places = _ways(found, taxonomy)
        for label, (inside, _) in enumerate(classes_of(values, labels, weights)):
            assert places[chosen[label]] == oracle["common"](taxonomy, inside)

    @pytest.mark.parametrize(
        ("categories", "expected"),
        [
            ("leaf", ["flu", "flu", "flu", "ulcer"]),
            ("node", ["lungs"] * 3 + ["ulcer"]),
            ("ancestor", ["*"] * 3 + ["ulcer"]),
        ],
    )
    def test_names_of_groups_leave(self, categories: Any, expected: list[str]) -> None:
        organs = {"flu": ("lungs",), "asthma": ("lungs",), "cough": ("lungs",), "ulcer": ("belly",)}
        values, labels = ["flu", "asthma", "cough", "ulcer", "ulcer"], np.array([0, 0, 0, 0, 1])
        found = encoded(values, organs).centroid(labels, None, resolution=None, categories=categories).to_pylist()
        assert [found[0], found[1], found[3], found[4]] == (
            ["asthma"] * 3 + ["ulcer"] if categories == "leaf" else expected
        )

    def test_groups_of_codes_leave_as_text(self) -> None:
        codes = Nominal.of(column({"1": ("low",), "2": ("low",), "3": ()}), pa.chunked_array([[1, 2, 3]]), "category")
        assert codes.centroid(np.zeros(3, int), None, resolution=None, categories="node").to_pylist() == ["low"] * 3
        assert codes.centroid(np.zeros(3, int), None, resolution=None).to_pylist() == [1, 1, 1]


def _ways(found: Nominal, taxonomy: dict[str, tuple[str, ...]]) -> dict[int, Any]:
    """For each number of a category its name, of a group the way to it; −1 is missing."""
    groups = {path[at]: path[: at + 1] for path in taxonomy.values() for at in range(len(path))} | {"*": ()}
    names = found.tree.names
    return {-1: None} | {at: name if at < found.tree.categories else groups[name] for at, name in enumerate(names)}


class TestTypes:
    @pytest.mark.parametrize(
        "cells",
        [
            pa.array(["b", "a", None, "b"]),
            pa.array(["b", "a", None, "b"], pa.large_string()),
            pa.array(["b", "a", None, "b"], pa.string_view()),
            pa.array(["b", "a", None, "b"]).dictionary_encode(),
            pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.int8()), ["a", "b"], ordered=True),
            pa.DictionaryArray.from_arrays(
                pa.array([1, 0, None, 1], pa.uint32()), pa.array(["a", "b"], pa.large_string())
            ),
            pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.int8()), pa.array([7, 9])),
            pa.array([True, False, None, True]),
            pa.array([3, 1, None, 3], pa.int16()),
            pa.array([3, 1, None, 3]).cast(pa.decimal128(21, 2)),
            pa.array([b"x", b"a", None, b"x"]),
        ],
        ids=lambda cells: str(cells.type),
    )
    def test_leave_as_they_came(self, cells: pa.Array) -> None:
        found = Nominal.of(column(), pa.chunked_array([cells]), "category")
        leaving = found.centroid(np.arange(4), None, resolution=None)
        assert leaving.type == cells.type
        assert leaving.to_pylist() == cells.to_pylist()
        for categories in ("node", "ancestor"):
            names = found.centroid(np.array([0, 0, 1, 0]), None, resolution=None, categories=categories)
            assert names[2].as_py() is None
            assert (names[0].as_py() == "*") == (categories == "ancestor")

    def test_whole_numbers_are_called_the_same_with_decimals(self) -> None:
        Nominal.of(column({"1": (), "2": ()}), pa.chunked_array([[1.0, 2.0]]), "category")

    def test_one_category_is_a_constant(self) -> None:
        assert np.ptp(embedded(encoded(["a", "a"]))) == pytest.approx(0.0)

    def test_lists_cannot_be_told_apart(self) -> None:
        with pytest.raises(SchemaError, match="cannot be compared"):
            Nominal.of(column(), pa.chunked_array([[[1], [2]]]), "category")

    @pytest.mark.parametrize("missing", ["category", "fill"])
    @pytest.mark.parametrize("kind", [pa.string(), pa.null(), pa.dictionary(pa.int8(), pa.string())])
    def test_a_column_of_nothing_is_refused(self, kind: pa.DataType, missing: str) -> None:
        with pytest.raises(DataError, match="every value is missing"):
            attribute_of(column(), pa.chunked_array([pa.nulls(3, kind)]), Nominal, missing)


class TestRefusals:
    def test_values_beyond_the_taxonomy_are_counted_and_not_named(self) -> None:
        with pytest.raises(DataError, match="2 of 3 are not, in 3 of 4 records") as caught:
            encoded(["a", "secret", "secret", "hidden"], {"a": ()})
        assert "secret" not in str(caught.value)
        assert "hidden" not in str(caught.value)

    def test_too_many_categories(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(points, "MOST", 11)
        few, many = (Encoding().encode([encoded(values)]) for values in (["a", "b", "a"], ["q", "r", "s", "s"]))
        assert few.coordinates.shape == (3, 2)
        assert isinstance(many, Points)
        with pytest.raises(DataError, match="would take 12 coordinates; all columns may take at most 11") as caught:
            _ = many.coordinates
        assert "'q'" not in str(caught.value)
