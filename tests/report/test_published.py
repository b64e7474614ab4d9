"""Published readings: what a measure declares is true of it, and nothing undeclared is published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import registry
from shoal.flow.stages.measure import measures, read_measures
from shoal.report.evidence import published
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
    """Return the same pairs in another order; confidential values and strata stay with their rows."""
    order = np.random.default_rng(seed).permutation(len(found))
    assert found.classes is not None
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
    assert {key for _, key in MEASURES} - DECLARED == {"earth_mover", "inference", "position", "regression", "totals"}


def test_only_declared_ones_are_published_with_three_digits(comparison: Comparison) -> None:
    found = published(read_measures(comparison, measures()), "medoid")
    assert {reading.measure for reading in found.readings} == DECLARED
    for reading in found.readings:
        assert (reading.parts, reading.note) == ((), "")
        assert np.isnan(reading.value) or reading.value == float(f"{reading.value:.3g}")


def test_a_reading_under_another_name_is_published_by_its_measure() -> None:
    some = (
        Reading("il_sse", 1.23456, "low", (0.0, 9.0), short="il_sse_partition"),
        Reading("no_measure", 1.0, "low", (0.0, 9.0)),
    )
    assert published(Readings(some), "centroid").to_dict() == {"il_sse_partition": 1.23}
    assert published(Readings(some), "swap").to_dict() == {}
