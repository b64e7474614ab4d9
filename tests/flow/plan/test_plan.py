"""A plan decides everything, and refuses everything at once, before any class is formed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, ParameterError, SchemaError, raise_together
from shoal.flow.classes import form as forming
from shoal.flow.protect.anonymise import anonymise, plan_for
from shoal.flow.stages.read import schema_for
from shoal.schema import cells
from shoal.types import Table

N = 40
RNG = np.random.default_rng(8)
PEOPLE = pa.table(
    {
        "age": RNG.integers(18, 90, N),
        "pay": np.round(RNG.lognormal(9, 1, N), 2),
        "ill": ["a"] * N,
        "region": ["north"] * (N - 1) + ["south"],
        "w": [1.0] * (N - 1) + [-1.0],
    }
)


def planned(recipe: dict, data: pa.Table = PEOPLE):
    meant = shoal.Recipe.from_dict(recipe)
    table = Table(data, schema_for(data, meant, None))
    return plan_for(table, meant), table


@pytest.fixture
def no_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forming, "in_memory", lambda *_: pytest.fail("a class was formed"))


@pytest.mark.usefixtures("no_classes")
def test_all_refusals_come_together() -> None:
    recipe = {
        "quasi": ["age", "pay"],
        "confidential": ["ill"],
        "strata": ["region"],
        "k": 5,
        "require": {"p": 2},
        "effort": "default",
        "method": "mic1d",
        "weight": "w",
        "blocks": [["age"], ["pay"]],
    }
    with pytest.raises(ParameterError) as error:
        planned(recipe)
    text = str(error.value)
    assert text.count("\n- ") + 1 == len(error.value.sentences) >= 4
    for part in ("require are not possible where", "effort cannot be used", "release_weight must be", "weights must"):
        assert part in text


@pytest.mark.usefixtures("no_classes")
def test_small_strata_and_infeasible_levels_come_together() -> None:
    recipe = {"quasi": ["age"], "confidential": ["ill"], "strata": ["region"], "k": 5, "require": {"p": 2}}
    with pytest.raises(DataError) as error:
        planned(recipe)
    assert "1 of 2 hold fewer (the smallest 1)" in str(error.value)
    assert "p_sensitivity of column 'ill': p must be at most 1, got 2" in str(error.value)


def test_the_kind_of_the_error_is_what_must_be_corrected_first() -> None:
    errors = [DataError("c."), SchemaError("b."), ParameterError("a."), DataError("c.")]
    with pytest.raises(ParameterError, match=r"^- a\.\n- b\.\n- c\.$"):
        raise_together(errors)
    raise_together([])


def test_a_plan_cannot_be_changed() -> None:
    plan, _ = planned({"quasi": ["age", "pay"], "k": 4})
    assert plan.method.k == 4
    with pytest.raises(FrozenInstanceError):
        plan.certify = True  # type: ignore[misc]


def test_a_plan_has_room_for_steps_before_classes() -> None:
    """Recoding changes the table that classes are formed from, and nothing else of the run."""

    @dataclass(frozen=True)
    class Coarsen:
        def apply(self, table: Table) -> Table:
            decades = pa.chunked_array([np.asarray(table.data["age"]) // 10 * 10])
            return table.changed(table.data.set_column(0, "age", decades), {"age"})

    plan, table = planned({"quasi": ["age"], "k": 4})
    run = anonymise(replace(plan, steps=(Coarsen(),)), table)
    fine = anonymise(plan, table)
    assert run.release.data["age"].to_pylist() != fine.release.data["age"].to_pylist()
    assert max(run.release.data["age"].to_pylist()) <= 80


def test_blocks_can_run_elsewhere() -> None:
    """An engine gets the blocks and the ways to form classes, and returns partitions."""
    plan, table = planned({"quasi": ["age", "pay"], "k": 4, "blocks": [["age"], ["pay"]]})
    seen = []

    def engine(recipe, blocks, ways, rng):
        seen.append([len(block) for block in blocks])
        return forming.in_memory(recipe, blocks, ways, rng)

    elsewhere, here = forming.form(plan, table, engine), forming.form(plan, table)
    assert seen == [[N, N]]
    for one, other in zip(elsewhere.partition.blocks, here.partition.blocks, strict=True):
        assert one.labels.tolist() == other.labels.tolist()


def test_every_column_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once when it is read; of the output once by the audit, and once by the attacks."""
    data = PEOPLE.drop_columns(["w"]).append_column("w", pa.array(np.arange(1.0, N + 1)))
    shoal.write_table(data, tmp_path / "in.csv")
    real, parsed = cells.values, []

    def values(column, name, *rest):
        parsed.append(name)
        return real(column, name, *rest)

    for module in ("shoal.flow.stages.values", "shoal.flow.stages.read"):
        monkeypatch.setattr(f"{module}.values", values, raising=False)
    recipe = {"quasi": ["age", "pay"], "confidential": ["ill"], "weight": "w", "t": 0.9, "when_missing": "exclude"}
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", {**recipe, "k": 3, "kinds": {"w": "continuous"}})
    assert sorted(parsed) == sorted(["age", "pay", "w"] * 3)
