"""Methods form the same classes from codes as from the exact embedding, where no tie depends on rounding."""

import numpy as np
import pyarrow as pa
import pytest

from shoal import registry
from shoal.kernels.closeness.t_first import t_first
from shoal.parameters import build
from shoal.points.codes import confidential_of
from shoal.points.encoding import Encoding
from shoal.points.nominal import Nominal
from shoal.points.numeric import Numeric
from shoal.types import Coded, Column, Kind, Points, Role, Taxonomy

PLACES = {f"p{i}": (f"district {i % 9}", f"region {i % 3}")[::-1] for i in range(60)}


def points_of(n, seed=0):
    """Encode a number, three columns of categories and one with a taxonomy, next to a confidential number."""
    rng = np.random.default_rng(seed)
    attributes = [Numeric.encode("income", pa.chunked_array([pa.array(rng.normal(size=n))]))]
    for name, count in (("sex", 2), ("job", 14), ("code", 200)):
        column = Column(name, Role.QUASI, Kind.NOMINAL)
        cells = pa.chunked_array([pa.array([f"{name}{i}" for i in rng.integers(0, count, n)])])
        attributes.append(Nominal.of(column, cells, "category"))
    column = Column("place", Role.QUASI, Kind.NOMINAL, taxonomy=Taxonomy(PLACES))
    places = pa.chunked_array([pa.array([f"p{i}" for i in rng.integers(0, 60, n)])])
    attributes.append(Nominal.of(column, places, "category"))
    points = Encoding().encode(attributes)
    wealth = Column("wealth", Role.CONFIDENTIAL, Kind.INTEGER)
    confidential = confidential_of(wealth, pa.chunked_array([pa.array(rng.integers(0, 150, n))]))
    return Points(points.x, points.owners, confidential=(confidential,))


METHODS = {
    "mdav": {},
    "v_mdav": {"gamma": 0.5},
    "k_first": {"t": 0.15},
    "t_first": {"t": 0.1},
    "p_sensitive": {"p": 4},
    "kpqr": {"p": 3, "q": 0.01, "r": 0.4},
}


@pytest.mark.parametrize("method", METHODS)
def test_codes_and_coordinates_give_the_same_classes(method):
    points = points_of(603)
    assert isinstance(points.x, Coded)
    embedded = Points(points.x.embedding(), points.owners, confidential=points.confidential)
    partitioner = build(registry.load("partition", method), {"k": 5, **METHODS[method]})
    ours, theirs = (partitioner.partition(one, np.random.default_rng(0)) for one in (points, embedded))
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    assert "coordinates" not in vars(points), "the embedding was computed"


@pytest.mark.parametrize("path", ["brute", "index"])
def test_t_first_through_an_index_of_codes(path):
    points = points_of(3000)
    values = np.random.default_rng(1).permutation(3000)
    ours, trace = t_first(points.x, values, 5, 0.05, path=path)
    np.testing.assert_array_equal(ours, t_first(points.x.embedding(), values, 5, 0.05)[0])
    assert trace.path == path
