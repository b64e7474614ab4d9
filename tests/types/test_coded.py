"""Codes: distances, means and releases equal those of the coordinates of the embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.errors import DataError
from shoal.flow.classes.households import means_of
from shoal.flow.classes.strata import merge_small
from shoal.partition.individual_ranking import IndividualRanking
from shoal.partition.pcp import Pcp
from shoal.release.medoid import medoids
from shoal.risk.distance_linkage import DistanceLinkage
from shoal.risk.linkability import Linkability
from shoal.types import Coded, CodedColumn, Comparison, Points, coded
from shoal.utility.il_sse import IlSse
from shoal.utility.mae import Mae
from shoal.utility.mse import Mse
from shoal.utility.sae import Sae
from shoal.utility.sse import Sse


def column(codes: np.ndarray, fan: int = 0) -> CodedColumn:
    """A column of codes without groups, or with groups of `fan`."""
    each = np.arange(int(codes.max()) + 1, dtype=np.int32)
    lows = [each, each // fan * fan] if fan else [each]
    highs = [each + 1, np.minimum(lows[-1] + fan, len(each))] if fan else [each + 1]
    times = np.arange(1, 1 + len(lows))
    return CodedColumn(codes.astype(np.int32), np.array(lows, np.int32), np.array(highs, np.int32), times)


def table(n: int, seed: int) -> Coded:
    rng = np.random.default_rng(seed)
    flat, grouped = (column(rng.integers(0, c, n), fan) for c, fan in ((5, 0), (30, 6)))
    return coded([(flat, 1.0), rng.normal(size=(n, 2)), (grouped, 3.0)])


def owned(x: Coded) -> Points:
    edges = [x.column(a).edges for a in range(2)]
    return Points(x, ("flat",) * edges[0] + ("number",) * 2 + ("grouped",) * edges[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_distances_and_means_are_those_of_the_embedding(weighted: bool) -> None:
    x, rng = table(120, 1), np.random.default_rng(2)
    e, labels = x.embedding(), rng.integers(0, 9, 120)
    weights = rng.integers(0, 3, 120).astype(float) if weighted else None
    found = np.add.reduce([x.from_means(a, labels, weights) for a in range(2)])
    share = np.ones(120) if weights is None else weights
    means = np.array([np.average(e[labels == c], axis=0, weights=share[labels == c]) for c in range(9)])
    numbers = slice(5, 7)
    apart = (e - means[labels]) ** 2
    np.testing.assert_allclose(found, apart.sum(axis=1) - apart[:, numbers].sum(axis=1), atol=1e-12)
    order = rng.permutation(120)
    np.testing.assert_allclose(x.distances(x[order]).sum(axis=1), ((e - e[order]) ** 2).sum(axis=1), atol=1e-12)
    if not weighted:
        np.testing.assert_allclose(means_of(owned(x), labels).x, means, atol=1e-12)
        chosen = medoids(x, labels, None)
        assert np.allclose(apart.sum(axis=1)[chosen], [apart.sum(axis=1)[labels == c].min() for c in range(9)])


def test_small_strata_are_merged_as_in_the_embedding() -> None:
    x = table(90, 3)
    strata = np.random.default_rng(4).integers(0, 25, 90)
    strata = np.unique(strata, return_inverse=True)[1]
    assert (
        merge_small(owned(x), strata, 5, None).tolist() == merge_small(Points(x.embedding()), strata, 5, None).tolist()
    )


def test_methods_that_need_coordinates_refuse_many_categories() -> None:
    rng = np.random.default_rng(5)
    many = column(np.arange(300))
    points = Points(coded([(many, 1.0), rng.normal(size=(300, 1))]), ("town",) * 300 + ("age",))
    with pytest.raises(DataError, match=r"Pcp: a nominal column may have at most 256 .*'town' has 300"):
        Pcp(k=3).partition(points, rng)
    found: Any = IndividualRanking(k=3, by="mdav").partition(points, rng)
    assert [block.sizes.min() >= 3 for block in found.blocks] == [True, True]


@pytest.mark.parametrize("measure", [IlSse(), Sse(), Mse(), Sae(), Mae(), DistanceLinkage(), Linkability()], ids=repr)
def test_measures_are_those_of_the_embedding(measure: Any) -> None:
    x, rng = table(150, 6), np.random.default_rng(7)
    y = x[rng.permutation(150)[np.arange(150) // 3]]
    names = ("flat", "number", "number", "grouped")
    owners = owned(x).owners
    found = measure.measure(Comparison(x, y, names))
    expected = measure.measure(Comparison(x.embedding(), y.embedding(), owners))
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert dict(found.parts) == pytest.approx(dict(expected.parts), rel=1e-12)
