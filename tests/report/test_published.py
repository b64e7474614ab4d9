"""Published readings: what a measure declares is true of it, and nothing undeclared is published."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.flow.stages.measure import measures, read_measures
from shoal.report.evidence import printed, published
from shoal.types import Comparison, Reading, Readings

MEASURES = [(room, key) for room in registry.ROOMS["measures"] for key in registry.keys(room)]
DECLARED = {key for room, key in MEASURES if registry.says(room, key, "exchangeable") is True}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    rng = np.random.default_rng(3)
    frame = pa.table(
        {
            "age": rng.normal(size=60),
            "pay": rng.lognormal(size=60),
            "town": rng.choice(list("abc"), 60),
            "ill": rng.choice(list("xyz"), 60),
            "sex": rng.choice(list("fm"), 60),
        }
    )
    recipe = {"quasi": ["age", "pay", "town"], "confidential": ["ill"], "strata": ["sex"], "k": 3}
    found = shoal.protect(frame, recipe).comparison
    assert found is not None
    return found


def turned(found: Comparison, seed: int) -> Comparison:
    """Return the same pairs in another order within each stratum, as in atoms; confidential values keep their rows."""
    assert found.classes is not None
    assert found.strata is not None
    order = np.empty(len(found), np.int64)
    order[np.argsort(found.strata, kind="stable")] = np.lexsort(
        (np.random.default_rng(seed).permutation(len(found)), found.strata)
    )
    return replace(
        found,
        original=found.original[order],
        masked=found.masked[order],
        numbers={n: p._replace(before=p.before[order], after=p.after[order]) for n, p in found.numbers.items()},
        categories={n: c._replace(before=c.before[order], after=c.after[order]) for n, c in found.categories.items()},
        classes=found.classes[order],
    )


def test_values_of_declared_measures_depend_on_pairs_only(comparison: Comparison) -> None:
    one, other = (read_measures(found, measures()) for found in (comparison, turned(comparison, 1)))
    read = {reading.measure: reading for reading in one.readings}
    assert set(read) >= DECLARED
    for reading in other.readings:
        if reading.measure in DECLARED:
            assert reading.value == pytest.approx(read[reading.measure].value, rel=1e-9, abs=1e-12), reading.name
    changed = {r.measure for r in other.readings if r.value != pytest.approx(read[r.measure].value, nan_ok=True)}
    assert changed <= {"earth_mover", "inference"}
    assert changed  # so that the test can tell them


def test_measures_that_look_elsewhere_are_not_declared() -> None:
    assert {key for _, key in MEASURES} - DECLARED == {
        "earth_mover",
        "individual_risk",
        "inference",
        "membership",
        "position",
        "regression",
        "suda",
        "totals",
    }


def test_only_declared_ones_are_published_with_three_digits(comparison: Comparison) -> None:
    read = read_measures(comparison, measures())
    for found in (published(read, "medoid", 10**6), printed(read, "medoid")):
        assert {reading.measure for reading in found.readings} == DECLARED
        for reading in found.readings:
            assert (reading.parts, reading.note) == ((), "")
            assert np.isnan(reading.value) or reading.value == float(f"{reading.value:.3g}")
    assert not published(read, "medoid", 999).readings


@pytest.mark.parametrize(
    ("reading", "at"),
    [
        (Reading("il_sse", 5.66, "low", (0.0, math.inf), unit="%"), (10.0, 6.0, 5.7, 5.66)),
        (Reading("il_sse", 0.0, "low", (0.0, math.inf), unit="%"), (10.0, 1.0, 0.1, 0.01)),
        (Reading("mae", 0.1234, "low", (0.0, math.inf)), (0.2, 0.13, 0.124, 0.124)),
        (Reading("sse", 123.4, "low", (0.0, math.inf), ("age", "pay")), (200.0, 200.0, 200.0, 200.0)),
        (Reading("score", 25.67, "low", (0.0, math.inf)), (30.0, 26.0, 25.7, 25.7)),
        (Reading("propensity", 0.1234, "low", (0.0, 0.25)), (0.125, 0.125, 0.124, 0.124)),
        (Reading("distance_linkage", 7.654, "low", (0.0, 100.0), unit="%"), (10.0, 8.0, 7.7, 7.66)),
    ],
)
def test_published_ones_are_rounded_up_to_the_share_of_a_hundred_records(
    reading: Reading, at: tuple[float, ...]
) -> None:
    found = [published(Readings((reading,)), "centroid", 10**m).readings[0].value for m in (3, 4, 5, 6)]
    assert found == pytest.approx(at)


def test_a_reading_under_another_name_is_published_by_its_measure() -> None:
    some = (
        Reading("il_sse", 1.23456, "low", (0.0, 9.0), short="il_sse_partition"),
        Reading("no_measure", 1.0, "low", (0.0, 9.0)),
    )
    assert printed(Readings(some), "centroid").to_dict() == {"il_sse_partition": 1.23}
    assert printed(Readings(some), "swap").to_dict() == published(Readings(some), "swap", 10**6).to_dict() == {}
