"""Laplace: the noise that [SD17] asks for, from the library; bounds, claims, and what is refused."""

from __future__ import annotations

import builtins
import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.release._noise_sampler import Noise, exact_means, noisy
from shoal.types import Domain

ORACLE = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "laplace.py"))
BOUNDS = {"a": [0, 100], "b": [-1, 1]}
KINDS = {"a": "integer", "b": "continuous"}
WORDS = "from the data, which is not private"


def frame(n: int = 60, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"a": rng.integers(0, 101, n), "b": rng.uniform(-1, 1, n)})


def protect(data: Any = None, **said: Any) -> Any:
    recipe = {"quasi": ["a", "b"], "k": 5, "release": "laplace", "epsilon": 1.0, "bounds": BOUNDS}
    return shoal.protect(frame() if data is None else data, {**recipe, **said})


def original(data: Any = None, **said: Any) -> Any:
    return protect(data, **{"claim": "original", "method": "insensitive", "kinds": KINDS, **said})


@pytest.mark.parametrize("method", ["mdav", "individual_ranking", "v_mdav", "insensitive"])
@pytest.mark.parametrize("split", ["even", "expression1"])
@pytest.mark.parametrize("blocks", [(), (("b",), ("a",))])
def test_scales_are_those_of_the_paper(method: str, split: str, blocks: tuple[Any, ...]) -> None:
    done = protect(method=method, blocks=blocks, set={"split": split}, epsilon=0.7)
    widths = {"a": 100.0, "b": 2.0}
    given = [(b.sizes.tolist(), [widths[name] for name in b.attributes]) for b in done.partition.blocks]
    epsilons = ORACLE["even" if split == "even" else "expression_1"](given, 0.7)
    expected = ORACLE["algorithm_2"](given, epsilons)
    assert done.ledger.total == pytest.approx(0.7, rel=1e-12)
    for number, block in enumerate(done.partition.blocks):
        for j, name in enumerate(block.attributes):
            (entry,) = [e for e in done.ledger.entries if e.attribute == name]
            assert entry.block == number
            scales = np.array(expected[number])[:, j]
            np.testing.assert_allclose(entry.scales, scales, rtol=1e-9)
            assert (entry.scales >= scales).all()
            assert entry.epsilon == pytest.approx(epsilons[number] * widths[name] / sum(given[number][1]))


def test_each_attribute_may_have_its_own_epsilon() -> None:
    done = protect(epsilon={"a": 0.25, "b": 1.5}, blocks=[["a"], ["b"]])
    assert [(e.attribute, e.epsilon) for e in done.ledger.entries] == [("a", 0.25), ("b", 1.5)]
    assert done.ledger.total == 1.75
    (found,) = [f for f in done.audit.findings if f.model == "differential_privacy"]
    assert found.required == 1.75
    assert found.holds


def test_shares_that_a_method_weighed_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.partition.individual_ranking import IndividualRanking
    from shoal.types import Partition

    plain = IndividualRanking.partition

    def weighed(self: Any, points: Any, rng: Any) -> Partition:
        blocks = plain(self, points, rng).blocks
        return Partition(tuple(replace(b, share=s) for b, s in zip(blocks, (0.9, 0.1), strict=True)))

    monkeypatch.setattr(IndividualRanking, "partition", weighed)
    for split in ("even", "least"):
        done = protect(method="individual_ranking", epsilon=2.0, set={"split": split})
        assert [e.epsilon for e in done.ledger.entries] == pytest.approx([1.8, 0.2])
        assert "the method chose how blocks share ε; the shares may depend on the data" in done.ledger.meaning


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.sampled_from(["mdav", "individual_ranking", "insensitive"]))
def test_members_share_one_draw_within_the_bounds(seed: int, k: int, method: str) -> None:
    done = protect(frame(40, seed), k=k, method=method, set={"not_private_seed": seed % 1000})
    for block in done.partition.blocks:
        for name in block.attributes:
            values = done.data[name].to_numpy()
            assert BOUNDS[name][0] <= values.min() <= values.max() <= BOUNDS[name][1]
            for label in range(len(block)):
                assert len(set(values[block.labels == label])) == 1


def test_noise_of_the_library_differs_from_run_to_run_and_has_its_scale() -> None:
    means = np.full(4000, 0.5)
    drawn, scale = Noise().laplace(means, 2.0, 0.5)
    assert scale == pytest.approx(4.0, rel=1e-9)
    assert scale >= 4.0
    assert np.abs(drawn - means).mean() == pytest.approx(4.0, rel=0.1)  # the mean of |Laplace(b)| is b; 6 deviations
    assert (Noise().laplace(means, 2.0, 0.5)[0] != drawn).any()


def test_the_library_itself_says_epsilon() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    for reach, epsilon in ((1 / 3, 0.1), (1e-9, 2.0), (12345.678, 0.7)):
        scale = Noise().laplace(np.zeros(1), reach, epsilon)[1]
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
        assert dp.m.make_laplace(*space, scale=scale).map(reach) <= epsilon


def test_the_same_seed_for_tests_gives_the_same_noise_and_says_so_everywhere() -> None:
    one, two = (protect(set={"not_private_seed": 3}) for _ in range(2))
    assert one.data.equals(two.data)
    (found,) = [f for f in one.audit.findings if f.model == "differential_privacy"]
    assert not found.promised
    assert found.required is None
    assert found.achieved == np.inf
    assert found.note.startswith("NOT PRIVATE: the noise came from a seed")
    said = one.ledger.to_dict()
    assert said["private"] is False
    assert said["seeded"] is True
    assert "NOT PRIVATE" in said["noise"]
    assert [f["model"] for f in one.audit.to_dict()["not_promised"]] == ["differential_privacy"]


def test_bounds_come_from_the_data_only_in_as_many_words() -> None:
    with pytest.raises(shoal.ParameterError, match=f"to use them nevertheless, set bounds = '{WORDS}'"):
        protect(bounds="data")
    done = protect(bounds=WORDS)
    (found,) = [f for f in done.audit.findings if f.model == "differential_privacy"]
    assert not found.promised
    assert f"NOT PRIVATE: bounds were taken {WORDS}" in found.note
    assert done.ledger.to_dict()["bounds_from_the_data"] is True
    assert done.ledger.to_dict()["bounds"] == {}
    assert done.ledger.domains["a"].high == frame()["a"].to_numpy().max()


def test_values_beyond_the_bounds_are_clamped_counted_and_said() -> None:
    data = frame()
    low = pa.table({"a": np.where(np.arange(60) < 7, 5000, data["a"]), "b": data["b"]})
    done = protect(low)
    assert dict(done.ledger.clamped) == {"a": 7}
    (found,) = [f for f in done.audit.findings if f.model == "differential_privacy"]
    assert done.ledger.beyond == ("7 values of 'a' were outside the bounds and were moved to them",)
    assert "beyond" not in found.note  # the note is published, the count is of the original table
    assert "beyond" not in str(done.ledger.to_dict())
    assert "clamped" not in done.ledger.to_dict()
    assert found.holds
    assert "5000" not in found.note


def test_other_columns_leave_as_they_are_and_are_said_not_to_be_covered() -> None:
    data = frame().append_column("illness", pa.array(["flu", "none"] * 30))
    done = protect(data, confidential=["illness"])
    assert done.data["illness"].equals(data["illness"])
    assert done.ledger.uncovered == ("illness",)
    assert "ε does not cover: illness" in done.ledger.meaning


def test_k_holds_by_grouping_and_is_audited() -> None:
    found = protect(k=6).audit
    assert found.overall.model == "k_anonymity"
    assert found.overall.achieved >= 6


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_of_original_records_rows_are_released_in_random_order(kind: str) -> None:
    data = frame()
    given_ = (
        data
        if kind == "pyarrow"
        else data.to_pandas()
        if kind == "pandas"
        else pytest.importorskip("polars").from_arrow(data)
    )
    if kind == "pandas":
        given_.index = [f"person {i}" for i in range(60)]
    done = original(given_, set={"not_private_seed": 1})
    left = pa.Table.from_pandas(done.data, preserve_index=False) if kind == "pandas" else pa.table(done.data)
    assert left.column_names == ["a", "b"]
    assert kind != "pandas" or list(done.data.index) == list(range(60))
    values = np.column_stack([left[name].to_numpy() for name in ("a", "b")])
    for label in range(12):
        assert len(np.unique(values[done.partition.labels == label], axis=0)) == 1
    assert (np.diff(done.partition.labels) < 0).sum() > 10  # not class after class
    again = original(data, set={"not_private_seed": 1}).data
    assert sorted(again["a"].to_pylist()) == sorted(left["a"].to_pylist())
    assert again["a"].to_pylist() != left["a"].to_pylist()  # drawn again


def test_of_original_records_measures_compare_each_record_with_its_own() -> None:
    quiet = original(epsilon=1e9, k=2)
    loud = quiet.readings["il_sse"]
    plain = shoal.protect(frame(), {"quasi": ["a", "b"], "k": 2, "method": "insensitive"}).readings["il_sse"]
    assert loud < 2 * plain + 1  # were rows mixed up, it would be near 200


def test_of_original_records_one_attribute_needs_little_noise() -> None:
    one = original(frame().select(["a"]), quasi=["a"], bounds={"a": [0, 100]}, kinds={"a": "integer"})
    (entry,) = one.ledger.entries
    assert entry.scales.max() == pytest.approx(100 / 5, rel=1e-9)  # Δ/(kε): it telescopes
    two = original(set={"strips": 1})
    assert two.ledger.entries[0].sensitivities[0] == pytest.approx(12 * 100 / 5, rel=1e-9)  # 12 classes
    assert two.ledger.entries[1].sensitivities[0] == pytest.approx(2 / 5, rel=1e-9)
    assert two.ledger.total == 1.0


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"epsilon": 0}, "epsilon must be a number > 0, got 0. Raise epsilon."),
        ({"epsilon": -1.5}, "epsilon must be a number > 0, got -1.5. Raise epsilon."),
        ({"epsilon": float("nan")}, "epsilon must be a number > 0, got nan."),
        ({"epsilon": float("inf")}, "epsilon must be a number > 0, got inf."),
        ({"epsilon": "1"}, "epsilon must be a number > 0, got '1'."),
        ({"epsilon": True}, "epsilon must be a number > 0, got True."),
        ({"epsilon": None}, "the release laplace needs epsilon, a number > 0, got none"),
        ({"epsilon": {"a": 1}}, "epsilon must name every quasi-identifier; b is missing. Add it."),
        ({"epsilon": {"a": 1, "b": 0}}, "epsilon of 'b' must be a number > 0, got 0."),
        ({"epsilon": {"a": 1, "b": 1, "c": 1}}, "epsilon must name quasi-identifiers only; c is not one."),
        ({"bounds": {}}, "bounds must name every numeric quasi-identifier; a, b is missing"),
        ({"bounds": {"a": [0, 100]}}, "bounds must name every numeric quasi-identifier; b is missing"),
        ({"bounds": {**BOUNDS, "a": [100, 0]}}, "the bounds of 'a' must be the lower end and then the upper end"),
        ({"bounds": {**BOUNDS, "a": [1, 1]}}, "the bounds of 'a' must be the lower end and then the upper end"),
        ({"bounds": {**BOUNDS, "a": [0, float("inf")]}}, "the bounds of 'a' must be two finite numbers"),
        ({"bounds": {**BOUNDS, "a": [-1.7e308, 1.7e308]}}, "a finite width apart"),
        ({"bounds": {**BOUNDS, "a": [0]}}, "the bounds of 'a' must be two finite numbers"),
        ({"bounds": {**BOUNDS, "c": [0, 1]}}, "bounds must name quasi-identifiers only; c is not one"),
        ({"claim": "mine"}, "no claim is called 'mine'; there are microaggregated, original"),
        ({"release": "centroid", "bounds": {}}, "epsilon is for a release that adds noise; centroid does not"),
        ({"release": "centroid", "epsilon": None}, "bounds is for a release that adds noise; centroid does not"),
        ({"claim": "original"}, "Auto: with claim = original the classes must come from an order"),
        ({"claim": "original", "method": "individual_ranking"}, "Use method = insensitive, or claim"),
        ({"claim": "original", "method": "insensitive", "effort": "fast"}, "effort cannot be used"),
        ({"claim": "original", "method": "insensitive", "blocks": [["a"], ["b"]]}, "blocks are not possible"),
        (
            {"claim": "original", "method": "insensitive", "attribute_weights": {"a": 2}},
            "attribute_weights cannot be used",
        ),
        ({"claim": "original", "method": "insensitive", "set": {"scale": "range"}}, "scale cannot be used"),
        ({"claim": "original", "method": "insensitive", "when_missing": "exclude"}, "must not be 'exclude'"),
        ({"set": {"epsilon": 3}}, "no parameter (in set) is called 'epsilon'"),
        ({"set": {"split": "odd"}}, "split must be one of 'even', 'expression1', 'least', got 'odd'"),
        ({"bounds": {**BOUNDS, "b": [-8e307, 8e307]}, "epsilon": 1e-3}, "the noise must have a finite scale"),
        ({"set": {"split": "least"}}, "split = least needs a method that takes the noise into account"),
        (
            {"claim": "original", "method": "insensitive", "kinds": KINDS, "set": {"split": "least"}},
            "must be 'even' or 'expression1'",
        ),
        ({"method": "mic1d"}, "Laplace: the release computes the values"),
    ],
)  # fmt: skip
def test_what_is_refused(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(shoal.ParameterError) as refused:
        protect(**said)
    assert sentence in str(refused.value)


def test_k_above_n_is_refused() -> None:
    with pytest.raises(shoal.DataError, match="k must be at most the number of records"):
        protect(k=61)


@pytest.mark.parametrize("role", ["confidential", "strata"])
def test_of_original_records_no_other_column_may_leave(role: str) -> None:
    data = frame().append_column("c", pa.array(["x", "y"] * 30))
    with pytest.raises(shoal.ParameterError, match="only quasi-identifiers are released, got 'c' as"):
        original(data, **{role: ["c"]})
    for said in ({}, {"identifier": ["c"]}):  # a column that the recipe does not name is removed
        assert original(data, **said).data.column_names == ["a", "b"]


@pytest.mark.parametrize("role", ["weight", "subject"])
def test_weights_and_subjects_are_refused(role: str) -> None:
    data = frame().append_column("c", pa.array(range(1, 61)))
    with pytest.raises(shoal.ParameterError, match=f"no column of role {role}, got one: ε is for single records"):
        protect(data, **{role: "c"})


def test_households_are_refused() -> None:
    data = frame().append_column("c", pa.array(list(range(30)) * 2))
    with pytest.raises(shoal.ParameterError):
        protect(data, together="c")


def test_what_is_no_number_is_refused() -> None:
    data = frame().append_column("c", pa.array(["x", "y"] * 30))
    with pytest.raises(shoal.SchemaError, match="Column 'c': noise needs numbers, or categories with a taxonomy"):
        protect(data, quasi=["a", "b", "c"])


def test_missing_values_are_refused_and_may_be_excluded() -> None:
    data = pa.table({"a": [None, *range(59)], "b": frame()["b"]})
    with pytest.raises(shoal.DataError, match="must have no missing values; a has some"):
        protect(data)
    assert protect(data, when_missing="exclude").left_out == 1


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def lacking(name: str, *more: Any) -> Any:
        if name.partition(".")[0] == "opendp":
            raise ModuleNotFoundError(f"No module named {name!r}", name="opendp")
        return real(name, *more)

    monkeypatch.setattr("importlib.import_module", lambda name, package=None: lacking(name))
    with pytest.raises(shoal.ParameterError, match=r"Laplace: needs the package opendp\. .*pip install 'shoal\[dp\]'"):
        Noise().laplace(np.zeros(1), 1.0, 1.0)


@pytest.mark.parametrize("claim", ["microaggregated", "original"])
@pytest.mark.parametrize("said", [{}, {"set": {"round_integers": True}}])
def test_integers_are_whole_numbers_within_the_bounds(claim: str, said: dict[str, Any]) -> None:
    more = {"claim": claim, "method": "insensitive", "kinds": KINDS, **said}
    done = protect(bounds={"a": [0.5, 99.5], "b": [-1, 1]}, epsilon=0.01, **more)
    assert done.data["a"].type == pa.int64()
    assert done.data["b"].type == pa.float64()
    assert {1, 99} <= set(done.data["a"].to_pylist()) <= set(range(1, 100))
    assert len(set(map(str, done.data["b"].to_pylist()))) > 1
    assert done.ledger.to_dict()["resolution"] == {"a": 1.0}


@pytest.mark.parametrize("claim", ["microaggregated", "original"])
def test_numbers_are_multiples_of_the_resolution_that_the_recipe_declares(claim: str) -> None:
    more = {"claim": claim, "method": "insensitive", "kinds": KINDS, "resolution": {"a": 20, "b": 0.1}}
    done = protect(bounds={"a": [5, 99], "b": [-0.55, 0.95]}, epsilon=0.5, **more)
    assert set(done.data["a"].to_pylist()) <= {20, 40, 60, 80}
    tenths = {round(i / 10, 1) for i in range(-5, 10)}
    assert set(done.data["b"].to_pylist()) <= tenths  # 0.3, not 0.30000000000000004
    assert {-0.5, 0.9} & set(done.data["b"].to_pylist())


def test_what_leaves_does_not_get_its_digits_from_the_data() -> None:
    coarse = pa.table({"a": [10, 20, 30, 40] * 5, "b": [0.5, -0.5] * 10})
    done = protect(coarse, set={"not_private_seed": 1}, epsilon=20.0)
    assert any(value % 10 for value in done.data["a"].to_pylist())
    assert any((value * 2) % 1 for value in done.data["b"].to_pylist())


def test_rounding_is_all_that_happens_to_noisy_values() -> None:
    exact = protect(set={"not_private_seed": 7}, exact_means=True)
    done = protect(set={"not_private_seed": 7})
    assert exact.data["a"].type == pa.float64()
    assert exact.ledger.steps == {}
    assert done.data["a"].to_pylist() == np.rint(exact.data["a"].to_numpy()).astype(int).tolist()
    assert done.data["b"].equals(exact.data["b"])


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"set": {"round_integers": False}}, "set exact_means = true in the recipe (--exact-means)"),
        ({"resolution": {"a": 1000}, "bounds": {**BOUNDS, "a": [1, 99]}}, "must contain a multiple of its resolution"),
        ({"resolution": {"a": 0.5}}, "the resolution of 'a' must be a whole number, got 0.5"),
        ({"resolution": {"a": "month"}}, "the resolution of 'a' must be a number, got 'month', which is for dates"),
        ({"set": {"resolution": {"a": 1}}}, "no parameter (in set) is called 'resolution'"),
    ],
)  # fmt: skip
def test_digits_that_are_refused(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(shoal.ParameterError) as refused:
        protect(**said)
    assert sentence in str(refused.value)


def test_the_audit_fails_where_values_have_more_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.release._noise_sampler import Grid

    monkeypatch.setattr(Grid, "rounded", lambda self, values: pa.array(values))
    with pytest.raises(shoal.GuaranteeError, match="values of 'a' have more digits than its resolution"):
        protect()


def test_a_recipe_survives_toml() -> None:
    from shoal.recipe.recipe import Recipe

    for said in ({"bounds": BOUNDS, "epsilon": {"a": 1, "b": 0.5}}, {"bounds": WORDS, "epsilon": 2}):
        recipe = Recipe(quasi=("a", "b"), release="laplace", claim="original", **said)  # type: ignore[arg-type]
        assert Recipe.from_toml(recipe.to_toml()) == recipe


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.cli import main

    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b\n" + "".join(f"{i},{(i % 7) / 7}\n" for i in range(40)))
    said = ["protect", str(source), "-o", str(target), "--quasi", "a,b", "--release", "laplace", "--force"]
    said += ["--bounds", "a=0:100,b=-1:1", "--epsilon", "a=0.5,b=1"]
    assert _run(main, said) == 0
    shown = capsys.readouterr().out
    assert "Budget: ε = 1.5, claimed for microaggregated records" in shown
    assert "so it is not ε-differential privacy of the original records" in " ".join(shown.split())
    assert "Noise from OpenDP" in shown
    assert _run(main, [*said, "--json", "--set", "not_private_seed=1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ledger"]["private"] is False
    assert found["audit"]["not_promised"][0]["achieved"] is None
    assert _run(main, [*said, "--bounds", WORDS]) == 0
    shown = capsys.readouterr().out
    assert "Budget: NOT PRIVATE, ε would be 1.5" in shown
    assert "claimed for" not in shown
    assert _run(main, [*said, "--epsilon", "0"]) == 2


def _run(main: Any, said: list[str]) -> int:
    with pytest.raises(SystemExit) as left:
        main(said)
    return int(left.value.code or 0)


@pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out.arrow", "out.xlsx", "out.sav", "out.dta"])
@pytest.mark.parametrize("claim", ["microaggregated", "original"])
def test_files_of_every_kind_are_written_and_audited(target: str, claim: str, tmp_path: Path) -> None:
    shoal.write_table(frame(), tmp_path / "in.csv")
    recipe = {"quasi": ["a", "b"], "release": "laplace", "epsilon": 1, "bounds": BOUNDS, "method": "insensitive"}
    done = shoal.protect_file(tmp_path / "in.csv", tmp_path / target, {**recipe, "claim": claim, "kinds": KINDS})
    assert done.audit.holds
    assert [f.model for f in done.audit.findings] == ["k_anonymity", "differential_privacy"]


def test_means_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    values, labels = rng.random(300) * 1e9, rng.integers(0, 7, 300)
    order = rng.permutation(300)
    assert exact_means(values, labels).tolist() == exact_means(values[order], labels[order]).tolist()


def test_a_domain_without_width_needs_no_noise() -> None:
    values, scales = noisy(np.full(4, 3.0), np.zeros(4, np.int64), Domain(3.0, 3.0), (np.zeros(1), 0.0), Noise())
    assert values.tolist() == [3.0]
    assert scales.tolist() == [0.0]
