"""Attacks with a control: near 1 where the release is the table, about 0 where it knows nothing of the members."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.risk.control.links import _Joint
from shoal.risk.control.nearest import nearest_records
from shoal.risk.control.predicates import once
from shoal.risk.control.rates import Attacks, Rate, excess

RISKS = ("inference", "linkability", "membership", "singling_out")
KNOWN = ["age", "height", "town", "work"]


def people(seed: int, n: int = 500) -> pa.Table:
    """Draw records of one population; the illness depends on age only."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 15, n)
    return pa.table(
        {
            "age": age,
            "height": rng.normal(170, 9, n),
            "town": rng.choice(list("abcdefghij"), n),
            "work": rng.choice(["clerk", "baker", "smith", "nurse"], n),
            "ill": np.where(age + rng.normal(0, 20, n) > 60, "yes", "no"),
        }
    )


MEMBERS, CONTROL, STRANGERS = (people(seed) for seed in range(3))


def read(released: pa.Table, control: pa.Table | None = CONTROL, **more: object) -> shoal.Readings:
    return shoal.compare(
        MEMBERS, released, KNOWN, confidential=["ill"], measures=RISKS, control=control, **more
    )  # fmt: skip


@pytest.mark.parametrize("synthetic", [True, False])
def test_the_table_itself_gives_its_members_away(synthetic: bool) -> None:
    found = read(MEMBERS, synthetic=synthetic)
    for name in ("inference", "linkability", "membership"):
        assert found[name] > 95, name
        parts = dict(found.reading(name).parts)
        low = next(value for part, value in parts.items() if part.endswith("excess, low"))
        assert low > 85, name
    assert found["singling_out"] > 50


def test_an_independent_sample_gives_nobody_away() -> None:
    found = read(STRANGERS.slice(0, 450), synthetic=True)
    for name in RISKS:
        low = [value for part, value in found.reading(name).parts if part.endswith("excess, low")]
        assert low, name
        assert min(low) == 0, (name, found.reading(name).note)


def test_figures_depend_on_the_seed_only() -> None:
    one, other, third = (
        shoal.compare(
            MEMBERS, STRANGERS, KNOWN, confidential=["ill"], control=CONTROL, synthetic=True, measures=RISKS,
            seed=seed, set={"attacks": 100},
        ).to_dict()
        for seed in (1, 1, 2)
    )  # fmt: skip
    assert one == other != third


def test_synthetic_data_may_have_any_number_of_rows_and_says_what_it_cannot_measure() -> None:
    found = shoal.compare(MEMBERS, people(3, 700), KNOWN, confidential=["ill"], control=CONTROL, synthetic=True)
    assert math.isnan(found["sse"])
    assert "rows do not correspond" in found.reading("sse").note
    assert not any(math.isnan(found[name]) for name in RISKS)
    alone = shoal.compare(MEMBERS, people(3, 700), KNOWN, confidential=["ill"], synthetic=True)
    assert math.isnan(alone["membership"])
    parts = dict(alone.reading("inference").parts)
    assert alone["inference"] == parts["ill: members"] > 0
    assert "ill: excess" not in parts


def test_numbers_far_beyond_the_members_are_attacked_like_others() -> None:
    """Squares of their distances, in standard deviations of the members, are too large for a float."""
    members, released, control = (
        pa.table({"pay": [1.5, -3.0, low, 2.0, 2.5] * 4, "town": list("abcab") * 4, "ill": list("xyxyy") * 4})
        for low in (0.0, 2e300, 2e300)
    )
    found = shoal.compare(
        members, released, ["pay", "town"], confidential=["ill"], control=control, synthetic=True, measures=RISKS
    )
    parts = dict(found.reading("inference").parts)
    assert (parts["ill: members"], parts["ill: control"]) == (100, 100)
    assert all(0 <= one.value <= 100 for one in found.readings)


def test_dates_need_no_control() -> None:
    days = pa.array(range(11_000, 11_040), pa.int32()).cast(pa.date32())
    table = pa.table({"birth": days, "pay": range(40)})
    found = shoal.compare(table, table.slice(3), ["birth", "pay"], synthetic=True).to_dict()
    assert found["linkability"] >= 0


def test_rows_that_do_not_correspond_are_refused_unless_declared() -> None:
    with pytest.raises(shoal.DataError, match="--synthetic"):
        shoal.compare(MEMBERS, people(3, 700), KNOWN)
    with pytest.raises(shoal.ParameterError, match="key and receipt cannot be given with synthetic data"):
        shoal.compare(MEMBERS, people(3, 700), KNOWN, synthetic=True, key="age")


def test_a_control_changes_the_risks_only() -> None:
    done = shoal.protect(MEMBERS, quasi=KNOWN, confidential=["ill"], k=5)
    measured = ("sse", "real_anonymity", *RISKS)
    with_control, without = (
        shoal.compare(MEMBERS, done.data, KNOWN, confidential=["ill"], control=control, measures=measured)
        for control in (CONTROL, None)
    )
    for name in ("sse", "k_real"):
        assert with_control[name] == without[name]
    assert "anyone could infer" in without.reading("inference").note
    assert "Excess" in with_control.reading("inference").note
    assert math.isnan(without["membership"])


def test_control_records_in_the_original_are_not_members() -> None:
    whole = pa.concat_tables([MEMBERS.slice(0, 300), CONTROL.slice(0, 50), MEMBERS.slice(300)])
    done = shoal.protect(MEMBERS, quasi=KNOWN, confidential=["ill"], k=5)
    alone, found = (
        shoal.compare(
            table, done.data, KNOWN, confidential=["ill"], control=CONTROL.slice(0, 50), measures=(*RISKS, "sse")
        )
        for table in (MEMBERS, whole)
    )
    assert "not counted as members" in found.readings[0].note
    assert [one.value for one in found.readings] == [one.value for one in alone.readings]


@pytest.mark.parametrize(
    ("control", "fault"),
    [
        (CONTROL.drop_columns(["town"]), "'town'"),
        (CONTROL.drop_columns(["ill"]), "'ill'"),
        (CONTROL.slice(0, 0), "at least one row"),
    ],
)
def test_an_unfit_control_is_refused(control: pa.Table, fault: str) -> None:
    with pytest.raises(shoal.ShoalError, match=fault):
        read(MEMBERS, control)


def test_halves_are_named_by_attribute() -> None:
    one = read(MEMBERS, set={"halves": "age,town;height,work"})
    assert one["linkability"] > 95
    with pytest.raises(shoal.ParameterError, match="two lists"):
        read(MEMBERS, set={"halves": "age;age"})
    with pytest.raises(shoal.ParameterError, match="'shoes'"):
        read(MEMBERS, set={"halves": "age;shoes"})


def wilson(successes: float, n: int) -> tuple[float, float]:
    """Solve (p − p̂)² = z²·p(1 − p)/n for p."""
    z, share = 1.959963984540054, successes / n
    a, b, c = 1 + z * z / n, -(2 * share + z * z / n), share * share
    root = math.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 10), (10, 10), (1700, 2000)])
def test_intervals_of_rates_solve_the_score_equation(successes: int, n: int) -> None:
    rate = Rate(successes, n)
    assert (rate.low, rate.high) == pytest.approx(wilson(successes, n), abs=1e-12)
    assert rate.low - 1e-12 <= rate.share <= rate.high + 1e-12


@pytest.mark.parametrize(  # figures of anonymeter 1.1.0: EvaluationResults(…).risk().ci
    ("members", "control", "interval"),
    [
        (Rate(600, 1000), Rate(500, 1000), (0.12095254506437711, 0.27751675154140054)),
        (Rate(1700, 2000), Rate(1616, 2000), (0.11035205749192636, 0.3249705028087061)),
        (Rate(50, 50), Rate(0, 40), (0.9253442471761797, 1.0)),
    ],
)
def test_intervals_of_the_excess_are_those_of_anonymeter(
    members: Rate, control: Rate, interval: tuple[float, float]
) -> None:
    found = excess(members, control).bounded
    assert found[1:] == pytest.approx(interval, abs=1e-12)
    assert found.value == pytest.approx((members.share - control.share) / (1 - control.share))


def test_no_room_for_an_excess() -> None:
    assert Attacks(Rate(9, 9), Rate(9, 9), 0.0).excess.value == 0


def test_samples_with_exactly_one_record_are_counted() -> None:
    from itertools import combinations

    for n, count, size in product((5, 6), (0, 1, 2, 4, 5), (1, 3, 5)):
        drawn = [sum(one < count for one in some) == 1 for some in combinations(range(n), size)]
        assert once(count, n, size) == pytest.approx(np.mean(drawn), abs=1e-12), (n, count, size)


def test_nearest_records_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    targets, records = rng.integers(0, 4, (40, 3)).astype(float), rng.integers(0, 4, (70, 3)).astype(float)
    squares = ((targets[:, None] - records[None]) ** 2).sum(axis=2)
    found = nearest_records(targets, records)
    assert found.distances == pytest.approx(np.sqrt(squares.min(axis=1)))
    expected = [np.flatnonzero(row == row.min()).tolist() for row in squares]
    assert [near.tolist() for near in found.of(len(targets))] == expected


def test_the_chance_to_meet_is_the_share_of_common_records() -> None:
    from shoal.kernels.space.nearest_own import different

    rng = np.random.default_rng(6)
    table = rng.integers(0, 3, (30, 2)).astype(float)
    one, other = (different(table[:, [j]].copy()) for j in range(2))
    joint = _Joint(one, other)
    for some, others in product([[0], [0, 2]], [[1], [0, 1]]):
        a, b = (np.isin(side.of_row, chosen) for side, chosen in ((one, some), (other, others)))
        expected = (a & b).sum() / (a | b).sum()
        assert joint.chance(np.array(some), np.array(others)) == pytest.approx(expected)


def test_a_group_of_a_taxonomy_is_near_its_categories() -> None:
    tree = {"lungs": ["flu", "cough"], "belly": ["ulcer", "colic"]}
    rng = np.random.default_rng(7)
    ills = rng.choice(["flu", "cough", "ulcer", "colic"], 400)
    pay = np.where(np.isin(ills, ["flu", "cough"]), "low", "high")
    table = pa.table({"ill": ills, "pay": pay})
    released = pa.table({"ill": np.where(np.isin(ills, ["flu", "cough"]), "lungs", "belly"), "pay": pay})
    found = shoal.compare(
        table.slice(0, 200), released.slice(0, 200), ["ill"], confidential=["pay"], taxonomies={"ill": tree},
        control=table.slice(200), measures=["inference"], synthetic=True,
    )  # fmt: skip
    parts = dict(found.reading("inference").parts)
    assert parts["pay: members"] == parts["pay: control"] == 100


def test_missing_values_in_any_table() -> None:
    def holes(table: pa.Table, seed: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        gone = {name: pa.array(np.arange(len(table)), mask=rng.random(len(table)) < 0.1) for name in table.column_names}
        return pa.table({name: table.column(name).take(gone[name]) for name in table.column_names})

    for places in ((True, False, False), (False, True, False), (False, False, True), (True, True, True)):
        three = [holes(one, 8) if hole else one for one, hole in zip((MEMBERS, MEMBERS, CONTROL), places, strict=True)]
        found = shoal.compare(
            three[0], three[1], KNOWN, confidential=["ill"], control=three[2], measures=RISKS,
            set={"attacks": 100}, synthetic=True,
        )  # fmt: skip
        assert not any(math.isnan(found[name]) for name in RISKS), places


@pytest.mark.parametrize("ill", [pa.nulls(500, pa.string()), pa.array(["unknown"] * 500)])
def test_a_control_without_released_values_shows_no_excess(ill: pa.Array) -> None:
    """Every guess about it is wrong, so that all guesses about members would look like excess."""
    found = read(MEMBERS, CONTROL.set_column(4, "ill", ill)).reading("inference")
    assert math.isnan(found.value)
    assert "No control record has a released value of column 'ill'" in found.note


def test_a_number_that_the_control_lacks_is_no_excess() -> None:
    pay = [one.append_column("pay", one.column("age")) for one in (MEMBERS, CONTROL)]
    control = pay[1].set_column(5, "pay", pa.nulls(500, pa.float64()))
    found = shoal.compare(
        pay[0], pay[0], KNOWN, confidential=["pay", "ill"], measures=["inference"], control=control
    ).reading("inference")
    assert not any(part.startswith("pay: ") for part, _ in found.parts)
    assert found.value == dict(found.parts)["ill: excess"]
