"""Original records with categories: the release, the use of ε, and that the audit counts it again by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.release._noise_sampler import Noise

ILLNESS = {"lungs": ["asthma", "flu"], "belly": {"stomach": ["ulcer"], "gut": ["colitis", "polyp"]}}
REGION = {"north": ["a", "b"], "south": ["c"]}
LEAVES = {"asthma", "flu", "ulcer", "colitis", "polyp"}


def frame(n: int = 60, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    ill, region = rng.choice(["asthma", "flu", "ulcer"], n), rng.choice(["a", "b", "c"], n)
    return pa.table({"age": rng.integers(0, 101, n), "ill": ill, "region": region})


def protect(data: pa.Table | None = None, **said: Any) -> Any:
    recipe: dict[str, Any] = {"quasi": ["age", "ill"], "identifier": ["region"], "k": 5, "method": "insensitive"}
    recipe |= {"release": "laplace", "epsilon": 1.0, "claim": "original", "bounds": {"age": [0, 100]}}
    recipe |= {"taxonomies": {"ill": ILLNESS, **({"region": REGION} if "region" in said.get("quasi", ()) else {})}}
    recipe |= {"kinds": {"age": "integer"}}
    return shoal.protect(frame() if data is None else data, {**recipe, **said})


def finding(done: Any) -> Any:
    (found,) = [f for f in done.audit.findings if f.model == "differential_privacy"]
    return found


def test_numbers_and_categories_share_the_budget_in_sequence() -> None:
    done = protect()
    ill, age = done.ledger.entries  # categories come first: that is the order of the domain
    assert (ill.attribute, ill.mechanism, ill.epsilon) == ("ill", "exponential", 0.5)
    assert (age.attribute, age.mechanism, age.epsilon) == ("age", "laplace", 0.5)
    # the line: asthma–flu and colitis–polyp 1/3, polyp–ulcer 2/3, belly–lungs 1; five cells, each gone through once
    assert done.ledger.strips == (5, 1)
    assert ill.sensitivities.tolist() == pytest.approx([(1 / 3 + 1 / 3 + 2 / 3 + 1) / 5])
    assert age.sensitivities.tolist() == pytest.approx([5 * 100 / 5])
    assert ill.scales.tolist() == pytest.approx([2 * ill.sensitivities[0] / 0.5] * 12)
    assert finding(done).achieved == pytest.approx(1.0)
    assert finding(done).holds
    assert done.ledger.total == 1.0
    assert "covered at once; attributes and blocks by sequential composition" in done.ledger.composition
    assert done.audit.overall.achieved >= 5


@pytest.mark.parametrize("quasi", [["ill"], ["ill", "region"], ["age", "ill", "region"], ["region", "age", "ill"]])
@pytest.mark.parametrize("representative", ["mean", "medoid"])
def test_any_columns_in_any_order(quasi: list[str], representative: str) -> None:
    gone = [name for name in ("age", "ill", "region") if name not in quasi]
    bounds = {"age": [0, 100]} if "age" in quasi else {}
    done = protect(quasi=quasi, identifier=gone, bounds=bounds, set={"representative": representative})
    assert finding(done).achieved == pytest.approx(1.0)
    assert finding(done).holds
    assert done.data.column_names == quasi
    assert set(done.data["ill"].to_pylist()) <= LEAVES


def test_each_attribute_may_have_its_own_epsilon() -> None:
    done = protect(epsilon={"age": 0.25, "ill": 1.5})
    assert {e.attribute: e.epsilon for e in done.ledger.entries} == {"age": 0.25, "ill": 1.5}
    assert finding(done).required == 1.75
    assert finding(done).holds


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.sampled_from([None, 1, 2, 9]))
def test_members_of_a_class_share_one_draw(seed: int, k: int, strips: int | None) -> None:
    given_ = {"not_private_seed": seed % 1000, **({} if strips is None else {"strips": strips})}
    data = frame(40, seed)
    done = protect(data, k=k, set=given_)
    left = list(zip(done.data["age"].to_pylist(), done.data["ill"].to_pylist(), strict=True))
    for label in range(len(done.partition)):
        assert len({left[row] for row in np.flatnonzero(done.partition.labels == label)}) == 1
    assert done.partition.sizes.tolist()[:-1] == [k] * (40 // k - 1)
    turned = np.random.default_rng(seed).permutation(40)
    again = protect(data.take(turned), k=k, set=given_).data
    rows = [sorted(map(str, table.to_pylist())) for table in (again, done.data)]
    assert rows[0] == rows[1]  # the order of the input does not matter


def test_with_little_noise_classes_leave_as_they_are() -> None:
    done = protect(epsilon=1e7, k=2)
    assert sorted(set(done.data["ill"].to_pylist())) == ["asthma", "flu", "ulcer"]
    assert done.readings["il_sse"] < 10


@pytest.mark.parametrize(("verb", "level"), [("laplace", 1.5), ("choose", 1.5)])
def test_the_audit_fails_where_noise_is_too_small(verb: str, level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = getattr(Noise, verb)
    monkeypatch.setattr(Noise, verb, lambda self, v, reach, epsilon: plain(self, v, reach / 2, epsilon))
    with pytest.raises(
        shoal.GuaranteeError, match=f"differential_privacy over age, ill requires 1 and achieves {level}"
    ):
        protect()


def test_the_audit_fails_where_classes_would_count_in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each class by 1/k, as if no record could change two of them: they do, and it is caught."""
    plain = Noise.choose
    monkeypatch.setattr(Noise, "choose", lambda self, s, reach, epsilon: plain(self, s, 1 / 5, epsilon))
    with pytest.raises(shoal.GuaranteeError, match=r"achieves 1\.66"):
        protect()


def test_a_value_that_is_not_in_the_taxonomy_is_refused_without_naming_it() -> None:
    data = frame().set_column(1, "ill", pa.array(["gout"] + ["flu"] * 59))
    with pytest.raises(shoal.DataError, match="or a category of the taxonomy; some of ill do not") as refused:
        protect(data)
    assert "gout" not in str(refused.value)


def test_missing_categories_are_refused() -> None:
    data = frame().set_column(1, "ill", pa.array([None] + ["flu"] * 59))
    with pytest.raises(shoal.DataError, match="or a category of the taxonomy; some of ill do not"):
        protect(data)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            {"blocks": [["age"], ["ill"]]},
            "blocks are not possible: records of one class in one block are in several classes",
        ),
        ({"set": {"split": "least"}}, "split must be 'even' or 'expression1', got 'least'"),
        ({"method": "mdav"}, "Mdav: with claim = original the classes must come from an order"),
        ({"attribute_weights": {"ill": 2}}, "attribute_weights cannot be used"),
    ],
)
def test_what_cannot_be_promised_is_refused(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(shoal.ParameterError) as refused:
        protect(**said)
    assert sentence in str(refused.value)
