"""Figures equal those of sdcMicro, ARX and anonymeter where the definitions agree; docs/definitions.md lists them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.privacy.beta_likeness import BetaLikeness
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.risk.control.predicates import singled_out
from shoal.risk.control.rates import Rate
from shoal.risk.control.tables import Tables
from shoal.risk.individual_risk import individual_risks
from shoal.risk.journalist_risk import JournalistRisk
from shoal.risk.marketer_risk import MarketerRisk
from shoal.risk.prosecutor_risk import ProsecutorRisk
from shoal.types import Column, Comparison, Kind, Release, Role, Schema

#: f records share their values and have weights that add up to F: the risks of `indivRisk` in sdcMicro 5.8.1, from its
#: own tests (tests/testthat/test_indivRisk.R): the exact ones, and those by which `measure_risk` approximates them.
SDCMICRO = [
    (1, 17.0, 0.17707583, 0.17707583),
    (1, 45.5, 0.08579129, 0.08579129),
    (1, 123.5, 0.03931625, 0.03931625),
    (2, 56.0, 0.032466112, 0.032466112),
    (2, 100.0, 0.01877883, 0.01877883),
    (3, 108.0, 0.01355297, 0.01369863),
    (3, 151.0, 0.009756889, 0.009836066),
    (4, 125.0, 0.010504889, 0.010554090),
    (5, 208.0, 0.005962551, 0.005973716),
]


@pytest.mark.parametrize(("f", "people", "exact", "approximate"), SDCMICRO)
def test_individual_risks_are_the_exact_ones_of_sdcmicro(
    f: int, people: float, exact: float, approximate: float
) -> None:
    found = individual_risks(np.zeros(f, np.int64), np.full(f, people / f))
    assert found == pytest.approx(np.full(f, exact), rel=1e-6)
    p = f / people
    if f > 2:  # what the documentation says of the approximation
        assert p / (f - (1 - p)) == pytest.approx(approximate, rel=1e-6)
    assert found[0] <= approximate * (1 + 1e-6)


def test_household_risks_are_those_of_sdcmicro_but_for_their_mean() -> None:
    table = pa.table({"key": list("abbc"), "w": [5.0, 4.0, 6.0, 9.0], "home": [1, 1, 2, 3]})
    recipe = {"quasi": ["key"], "weight": "w", "together": "home"}
    parts = dict(shoal.compare(table, table, recipe=recipe).reading("individual_risk").parts)
    risk = individual_risks(np.array([0, 1, 1, 2]), np.array([5.0, 4.0, 6.0, 9.0]))
    first = 1 - (1 - risk[0]) * (1 - risk[1])  # as measure_risk computes it: 1 − Π(1 − r)
    assert parts["highest of a group"] == pytest.approx(100 * first)
    assert parts["mean of groups"] == pytest.approx(100 * (first + risk[2] + risk[3]) / 3)
    assert parts["people found"] == pytest.approx(risk.sum())  # global_risk_ER
    by_record = 100 * (2 * first + risk[2] + risk[3]) / 4  # hier_risk_pct, where large households count more often
    assert parts["mean of groups"] < by_record


def test_risks_of_three_attackers_are_those_of_arx() -> None:
    """By hand from the formulas of RiskModelSampleSummary: classes of 1 and 4 records, and 2 and 4 people."""
    x = np.array([[1.0], [7.0], [7.0], [7.0], [7.0]])
    bare = Comparison(x, x, ("x",))
    counted = Comparison(x, x, ("x",), population=np.array([2, 4, 4, 4, 4]))
    prosecutor = dict(ProsecutorRisk().measure(bare).parts)
    assert (prosecutor["highest"], prosecutor["average"]) == (100, 40)  # 1/1, and 2 classes of 5 records
    journalist = JournalistRisk().measure(counted)
    parts = dict(journalist.parts)
    assert journalist.value == parts["highest"] == 50
    assert parts["average"] == pytest.approx(100 * (1 / 2 + 4 / 4) / 5)
    assert parts["average in the population"] == pytest.approx(100 * 2 / 6)
    success_rate = max(parts["average"], parts["average in the population"])
    assert success_rate == pytest.approx(100 / 3)
    assert MarketerRisk().measure(counted).value == pytest.approx(30)
    alone = JournalistRisk().measure(bare)  # without a population ARX takes the table
    assert (alone.value, dict(alone.parts)["average"]) == (100, 40)


def test_a_person_with_equal_values_in_two_strata_counts_in_both_populations() -> None:
    x = np.array([[1.0], [1.0], [1.0], [1.0]])
    counted = Comparison(
        x, x, ("x",), people=np.array([0, 1, 0, 1]), population=np.array([9, 9, 2, 2]),
        combinations=np.array([0, 0, 1, 1]),
    )  # fmt: skip
    risk = JournalistRisk().measure(counted)
    assert risk.value == 50.0  # in the second stratum
    assert dict(risk.parts)["average"] == pytest.approx(100 * (1 / 9 + 1 / 2) / 2)
    rows = [2, 3, 0, 1]
    turned = replace(counted, population=counted.population[rows], combinations=counted.combinations[rows])
    assert JournalistRisk().measure(turned).value == 50.0


def test_the_average_in_the_population_counts_combinations_once() -> None:
    x = np.array([[1.0], [1.0], [4.0], [4.0]])
    found = Comparison(
        x,
        x,
        ("x",),
        classes=np.array([0, 1, 2, 2]),  # two classes with equal means are one combination
        population=np.array([6, 6, 0, 0]),
        combinations=np.array([0, 0, 1, 1]),
    )
    parts = dict(JournalistRisk().measure(found).parts)
    assert parts["average in the population"] == pytest.approx(100 * 2 / 7)  # an empty combination counts as one person
    assert dict(JournalistRisk().measure(found.rows(np.array([3, 0, 2, 1]))).parts) == parts


def test_k_map_and_delta_presence_are_those_of_arx_where_values_match_exactly() -> None:
    schema = Schema((Column("town", Role.QUASI, Kind.NOMINAL),))
    people = pa.table({"town": list("aaaaabbbbcc")})
    release = Release(pa.table({"town": list("aabbbc")}), schema, population=people)
    assert KMap().audit(release, ["town"]).achieved == 2  # pcount of c; holds if it is at least k
    assert KMap(2).audit(release, ["town"]).holds
    assert not KMap(3).audit(release, ["town"]).holds
    found = DeltaPresence(0.75).audit(release, ["town"])  # count / pcount: 2/5, 3/4, 1/2; the limit itself is allowed
    assert (found.achieved, dict(found.found)["delta_min"], found.holds) == (0.75, 0.4, True)
    assert not DeltaPresence(0.74).audit(release, ["town"]).holds


def test_beta_likeness_is_that_of_arx() -> None:
    """The gain of x: (3/4 − 4/8) / (4/8) = 1/2 < ln 2; of y: (2/2 − 3/8) / (3/8) = 5/3 > −ln 3/8; of z: 3 > ln 8."""
    schema = Schema((Column("age", Role.QUASI, Kind.INTEGER), Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL)))
    table = pa.table({"age": [1, 1, 1, 1, 2, 2, 3, 3], "ill": list("xxxyyyxz")})
    release = Release(table, schema)
    found = BetaLikeness(beta=3).audit(release, ["age"], ["ill"])[0]
    gains = {"x": 1 / 2, "y": 5 / 3, "z": 3.0}
    shares = {"x": 4 / 8, "y": 3 / 8, "z": 1 / 8}
    assert found.achieved == max(gains.values())
    assert found.holds  # a gain of β is allowed
    over = [value for value in gains if gains[value] > -math.log(shares[value])]
    assert over == ["y", "z"]  # in the second and in the third class
    assert dict(found.found) == {"over_enhanced": 2}


def test_no_predicate_is_tried_twice() -> None:
    x = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    found = singled_out(Tables(x, x + 9, x, (True, False)))
    assert found.guesses <= 4  # both attributes of four records
    assert Rate(found.guesses, found.guesses).low < 0.6  # so few guesses leave a wide interval


def test_people_with_equal_values_are_not_singled_out() -> None:
    released = np.array([list(map(float, row)) for row in product(range(3), range(3))])
    twice = np.repeat(released, 2, axis=0)
    numeric = (False, False)
    assert singled_out(Tables(released, twice, released, numeric)).originals == 100
    halved = singled_out(Tables(twice, released, released, numeric))
    assert halved.originals == pytest.approx(100 * 9 / 17)  # 9 of the 18 people: one of two equal ones, not both
    assert singled_out(Tables(twice, twice, released, numeric)).originals == 0


def test_predicates_are_those_of_anonymeter() -> None:
    """Without duplicate rows, in tables of equal size, 32 and 18 of the 80 predicates of anonymeter 1.1.0 succeed."""
    rng = np.random.default_rng(4)

    def people(n: int) -> np.ndarray:
        return np.column_stack([rng.normal(size=n).round(2), rng.integers(0, 40, n).astype(float)])

    members, control = people(3_000), people(3_000)
    released = members.copy()
    others = rng.random(3_000) < 0.5
    released[others] = people(int(others.sum()))
    members, control, released = (np.unique(table, axis=0) for table in (members, control, released))
    size = min(len(members), len(control))
    members, control = (table[rng.permutation(len(table))[:size]] for table in (members, control))
    found = singled_out(Tables(members, control, released, (True, False)), 500)
    assert found.guesses == 79  # all but one, which was never drawn
    assert (found.originals, found.control) == pytest.approx((100 * 32 / 79, 100 * 18 / 79))
