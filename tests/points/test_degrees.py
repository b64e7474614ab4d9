"""Latitude and longitude have one scale, count as one attribute, and are treated as one by rules and engines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.points.encoding import Encoding
from shoal.points.nominal import Nominal
from shoal.points.numeric import Numeric
from shoal.types import Column, Kind, Role

RNG = np.random.default_rng(2)
N = 80
NORTH, EAST = RNG.normal(60, 1, N), RNG.normal(10, 3, N)
PAIR = (("lat", "lon"),)


def numbers(name: str, values: Any) -> Numeric:
    return Numeric.encode(name, pa.chunked_array([values]))


@pytest.mark.parametrize("scale", ["standard", "range", "none"])
def test_a_degree_of_longitude_is_as_long_as_it_is_on_the_ground(scale: str) -> None:
    attributes = [numbers("lat", NORTH), numbers("lon", EAST), numbers("age", RNG.uniform(0, 90, N))]
    points = Encoding(scale=scale).encode(attributes, None, PAIR)
    slopes = [np.polyfit(values, points.x[:, j], 1)[0] for j, values in enumerate((NORTH, EAST))]
    assert slopes[1] / slopes[0] == pytest.approx(np.cos(np.radians(NORTH.mean())))
    spread = points.x[:, :2]
    if scale == "standard":
        assert spread.var(axis=0).sum() == pytest.approx(1) == points.x[:, 2].var()
    elif scale == "range":
        assert np.hypot(*np.ptp(spread, axis=0)) == pytest.approx(1) == np.ptp(points.x[:, 2])
    else:
        assert slopes[0] == pytest.approx(1)


def test_the_scale_does_not_depend_on_the_order_of_records() -> None:
    order = RNG.permutation(N)
    one = Encoding().encode([numbers("lat", NORTH), numbers("lon", EAST)], None, PAIR)
    other = Encoding().encode([numbers("lat", NORTH[order]), numbers("lon", EAST[order])], None, PAIR)
    assert (one.x[order] == other.x).all()


def test_missing_places_and_weights_are_possible() -> None:
    lat = Numeric.of(
        Column("lat", Role.QUASI, Kind.CONTINUOUS), pa.chunked_array([[None, *NORTH[1:].tolist()]]), "category"
    )
    points = Encoding().encode([lat, numbers("lon", EAST)], {"lat": 4.0, "lon": 4.0}, PAIR)
    assert points.x.shape == (N, 3)
    assert points.x[1:, 0].var() + points.x[:, 2].var() == pytest.approx(4, rel=0.1)


def test_what_is_no_degree_is_refused() -> None:
    with pytest.raises(shoal.errors.DataError, match="'lat': a latitude must be from −90 to 90 degrees, 1 of 2"):
        Encoding().encode([numbers("lat", [91.0, 5.0]), numbers("lon", [1.0, 2.0])], None, PAIR)
    words = Nominal.of(Column("lat", Role.QUASI, Kind.NOMINAL), pa.chunked_array([["a", "b"]]), "category")
    with pytest.raises(shoal.errors.SchemaError, match="'lat': a latitude must be a number in degrees"):
        Encoding().encode([words, numbers("lon", [1.0, 2.0])], None, PAIR)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"coordinates": [["lat"]]}, "pairs of a latitude and a longitude"),
        ({"coordinates": [["lat", "lon"], ["lat", "age"]]}, "each column once"),
        ({"coordinates": [["lat", "x"]]}, "x is not one"),
        ({"resolution": {"lat": 0.1}}, "resolution must be the same for both"),
        ({"attribute_weights": {"lat": 2, "lon": 3}}, "attribute_weights must be the same for both"),
        ({"attribute_blocks": [["lat"], ["lon", "age"]]}, "must be in the same block"),
        ({"attribute_blocks": "correlated"}, "List the blocks"),
        ({"method": "individual_ranking"}, "List the blocks"),
        ({"release": "laplace", "epsilon": 1.0, "bounds": {"lat": [0, 90]}}, "cannot be used with epsilon"),
    ],
)
def test_recipes_that_take_a_place_apart_are_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(shoal.errors.ParameterError, match=said):
        shoal.Recipe(**{"quasi": ["lat", "lon", "age"], "coordinates": PAIR, **fields})


def test_losses_are_measured_column_by_column(tmp_path: Path) -> None:
    table = pa.table({"lat": NORTH.round(3), "lon": EAST.round(3)})
    done = shoal.protect(table, quasi=["lat", "lon"], coordinates=PAIR, k=5, row_order="keep")
    done.report(tmp_path / "r.html")
    said = "lat and lon: latitude and longitude as one attribute."
    assert said in re.sub("<[^>]+>", "", (tmp_path / "r.html").read_text(encoding="utf-8"))
    again = shoal.compare(table, done.data, columns=["lat", "lon"]).to_dict()
    assert done.readings["il_sse"] == pytest.approx(again["il_sse"], rel=0.01)
