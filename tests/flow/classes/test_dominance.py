"""Dominance through the façade: reported of every release, enforced if required, refused if it cannot be met."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.types import Finding

ORACLE = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "dominance.py"))["dominance"]
RNG = np.random.default_rng(16)
N = 240
HEAVY = np.minimum(RNG.exponential(15, N).astype(int), 59)  # a few people have many records
FRAME = pa.table(
    {
        "a": np.round(RNG.normal(size=N) + HEAVY / 12, 2),
        "b": np.round(RNG.normal(size=N), 2),
        "pay": RNG.integers(1, 9, N),
        "w": np.round(np.exp(RNG.normal(size=N)), 3),
        "pid": [f"p{i}" for i in HEAVY],
        "home": [f"h{i // 4}" for i in range(N)],
        "s": np.repeat(["x", "y"], N // 2),
    }
)
BASE: dict[str, Any] = {"quasi": ["a", "b"], "k": 5, "method": "mdav", "confidential": ["pay"], "attacker": "table"}
WHO = [{}, {"subject": "pid"}, {"weight": "w"}, {"subject": "pid", "weight": "w"}]
IDS = ["records", "subjects", "weights", "both"]


def protect(frame: pa.Table = FRAME, **more: Any) -> shoal.Protected:
    recipe = {**BASE, **more}
    used = {recipe.get("subject"), recipe.get("together")}
    gone = [name for name in ("pid", "home") if name not in used]
    return shoal.protect(frame, {**recipe, "identifier": gone})


def recounted(done: shoal.Protected, who: dict[str, Any], frame: pa.Table = FRAME) -> float:
    """Return the largest share by counting once more: classes are those of the partition."""
    labels = done.partition.blocks[0].labels
    persons = frame.column(who["subject"]).to_pylist() if "subject" in who else None
    weights = frame.column(who["weight"]).to_pylist() if "weight" in who else None
    return float(ORACLE(labels.tolist(), persons, weights))


def dominance(done: shoal.Protected) -> list[Finding]:
    return [f for f in done.audit.findings if f.model == "dominance"]


def test_k_subjects_in_every_class_and_still_one_of_them_has_more_than_half() -> None:
    rng = np.random.default_rng(0)
    n = 900
    person = np.where(rng.random(n) < 0.5, rng.integers(0, 20, n), rng.integers(20, 400, n))
    x = person / 40 + rng.normal(size=n) * 0.02
    frame = pa.table({"x": x, "y": rng.normal(size=n) * 0.01 + x, "pid": person})
    recipe = {"quasi": ["x", "y"], "k": 5, "subject": "pid", "method": "mdav"}
    done = shoal.protect(frame, recipe)
    assert done.audit.holds
    assert done.audit.to_dict()["k"] >= 5
    assert done.audit.to_dict()["dominance"] > 0.5  # without a requirement it was not reported
    better = shoal.protect(frame, {**recipe, "require": {"dominance": 0.5}})
    assert recounted(better, {"subject": "pid"}, frame) <= 0.5
    assert better.audit.to_dict()["k"] >= 5
    assert len(better.partition) > 50  # repaired, not merged into a few


@pytest.mark.parametrize("who", WHO, ids=IDS)
def test_it_is_reported_with_three_digits_where_it_depends_on_what_is_not_released(who: dict[str, Any]) -> None:
    done = protect(**who)
    (found,) = dominance(done)
    exact = recounted(done, who)
    assert found.required is None
    assert found.achieved == pytest.approx(exact, rel=5e-3)
    assert found.achieved >= exact * (1 - 1e-12)
    if who:
        assert float(f"{found.achieved:.3g}") == found.achieved
    assert done.audit.to_dict()["dominance"] == found.achieved


@pytest.mark.parametrize("who", WHO, ids=IDS)
@pytest.mark.parametrize(
    ("bound", "more"),
    [
        (0.4, {}),
        (0.15, {"effort": "fast"}),
        (0.15, {"strata": ["s"]}),
        (0.4, {"require": {"l_distinct": 3}}),
        (0.15, {"t": 0.3}),
    ],
)
def test_what_is_required_holds_with_k_and_with_all_else(
    who: dict[str, Any], bound: float, more: dict[str, Any]
) -> None:
    require = {"dominance": bound, **more.get("require", {})}
    done = protect(**who, **{**more, "require": require})
    assert done.audit.holds
    assert recounted(done, who) <= bound * (1 + 1e-12)
    assert {f.required for f in dominance(done)} == {bound}
    assert len(dominance(done)) == (2 if "strata" in more else 1)
    assert len(done.partition) > 3
    labels, strata = done.partition.blocks[0].labels, np.array(FRAME["s"])
    for label in range(labels.max() + 1):
        inside = labels == label
        assert len(np.unique(HEAVY[inside] if "subject" in who else np.flatnonzero(inside))) >= 5
        assert len(set(strata[inside])) == 1 or "strata" not in more


def test_without_subject_and_weight_classes_are_as_large_as_the_bound_takes() -> None:
    done = protect(require={"dominance": 0.1})
    assert done.partition.sizes.min() >= 10
    assert done.partition.sizes.max() < 20  # formed at that size, not merged


def test_households_are_the_persons_where_records_stay_together() -> None:
    plain = protect(together="home", weight="w", k=2)
    done = protect(together="home", weight="w", k=2, require={"dominance": 0.45})
    assert dominance(plain)[0].achieved > 0.45
    assert recounted(done, {"subject": "home", "weight": "w"}) <= 0.45
    assert done.audit.holds
    with pytest.raises(shoal.ParameterError, match="only dominance may be required"):
        protect(together="home", require={"dominance": 0.5, "p": 2})


def test_household_level_is_bounded_in_both_blocks_and_over_all() -> None:
    home = np.arange(N) // 4
    frame = FRAME.set_column(0, "a", pa.array(RNG.normal(size=N)[home]))
    done = protect(frame, together="home", household_level=["a"], weight="w", k=2, require={"dominance": 0.4})
    assert {f.attributes for f in dominance(done)} == {("a",), ("b",), ("a", "b")}
    assert done.audit.holds


def test_blocks_are_bounded_one_by_one() -> None:
    done = protect(blocks=[["a"], ["b"]], subject="pid", require={"dominance": 0.3})
    assert {f.attributes for f in dominance(done)} == {("a",), ("b",)}
    assert done.audit.holds
    ranked = protect(method="individual_ranking", weight="w", release_weight="record", require={"dominance": 0.3})
    assert len(dominance(ranked)) == 2


@pytest.mark.parametrize("release", ["medoid", "swap", "anatomy"])
def test_other_releases_are_bounded_too(release: str) -> None:
    done = protect(release=release, subject="pid", weight="w", require={"dominance": 0.4})
    assert recounted(done, {"subject": "pid", "weight": "w"}) <= 0.4
    assert [f.required for f in dominance(done)] == [0.4]


def test_weights_that_are_released_per_record_do_not_count() -> None:
    done = protect(weight="w", release_weight="record")
    assert dominance(done)[0].achieved == 0.2


@pytest.mark.parametrize("claim", ["original", "microaggregated"])
def test_where_noise_is_added_it_is_said_only_if_it_is_required(claim: str) -> None:
    frame = FRAME.select(["a", "b"])
    recipe = {"quasi": ["a", "b"], "k": 5, "method": "insensitive", "release": "laplace", "epsilon": 1.0,
              "bounds": {"a": [-5, 20], "b": [-5, 5]}, "claim": claim,
              "kinds": {"a": "continuous", "b": "continuous"}}  # fmt: skip
    done = shoal.protect(frame, recipe)
    assert not dominance(done)
    assert "dominance" not in done.audit.to_dict()
    if claim == "microaggregated":
        noisy = shoal.protect(frame, {**recipe, "method": "mdav", "require": {"dominance": 0.1}})
        assert [f.required for f in dominance(noisy)] == [0.1]


@pytest.mark.parametrize(
    ("who", "more", "message"),
    [
        ({}, {"require": {"dominance": 0.004}}, r"dominance: share must be at least 0\.0041666.*got 0\.004"),
        ({"subject": "pid"}, {"require": {"dominance": 0.05}}, r"share must be at least 0\.\d+, got 0\.05.*by subject"),
        ({}, {"require": {"dominance": 0.005}, "strata": ["s"]}, r"a stratum of 's' has.*or leave out strata"),
    ],
)
def test_a_bound_that_the_table_cannot_meet_is_refused_with_what_it_can(
    who: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(shoal.DataError, match=message):
        protect(**who, **more)


@pytest.mark.parametrize("bound", [-0.1, 1.5, "half", [0.5, 0.5]])
def test_no_share_is_refused(bound: Any) -> None:
    with pytest.raises(shoal.ParameterError, match="ominance"):
        protect(require={"dominance": bound})


@given(st.integers(0, 10_000), st.sampled_from([0.3, 0.5]), st.booleans())
@settings(max_examples=15)
def test_any_table(seed: int, bound: float, refined: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    whose = rng.integers(0, 12, n)
    weights = np.where(rng.random(n) < 0.2, 0.0, rng.random(n))
    frame = pa.table({"x": rng.integers(0, 9, n), "w": weights, "pid": whose, "s": rng.integers(0, 2, n)})
    recipe = {"quasi": ["x"], "k": 3, "subject": "pid", "weight": "w", "strata": ["s"], "method": "mdav"}
    if ORACLE(frame["s"].to_pylist(), whose.tolist(), weights.tolist()) > bound:
        with pytest.raises(shoal.DataError, match="dominance"):
            shoal.protect(frame, {**recipe, "require": {"dominance": bound}})
        return
    effort = "fast" if refined else None
    done = shoal.protect(frame, {**recipe, "require": {"dominance": bound}, "refine": effort})
    assert recounted(done, {"subject": "pid", "weight": "w"}, frame) <= bound * (1 + 1e-12)
    labels = done.partition.blocks[0].labels
    for label in range(labels.max() + 1):
        assert len(set(whose[labels == label].tolist())) >= 3
        assert len(set(np.array(frame["s"])[labels == label].tolist())) == 1


def test_exchanging_members_of_a_class_with_subject_and_weight_does_not_change_the_figure() -> None:
    rng = np.random.default_rng(3)
    frame = FRAME.set_column(3, "w", pa.array(rng.random(N)))  # 16 digits
    done = protect(frame, subject="pid", weight="w")
    rows, labels = np.arange(N), done.partition.blocks[0].labels
    for label in range(labels.max() + 1):
        inside = np.flatnonzero(labels == label)
        rows[inside] = rng.permutation(inside)
    moved = {name: frame.column(name).take(rows) for name in ("a", "b", "w", "pid")}
    again = protect(pa.table({name: moved.get(name, frame.column(name)) for name in frame.column_names}),
                    subject="pid", weight="w")  # fmt: skip
    assert again.audit.to_dict() == done.audit.to_dict()


def test_evidence_says_it_and_a_verifier_says_what_cannot_be_seen(tmp_path: Path) -> None:
    cases = {"seen": {}, "unseen": {"subject": "pid", "weight": "w"}}
    for name, who in cases.items():
        done = protect(**who, require={"dominance": 0.4})
        done.evidence(tmp_path / f"{name}.json")
        found = shoal.verify(tmp_path / f"{name}.json", done.data)
        assert found.holds
        (check,) = [c for c in found.checks if c.claim.startswith("dominance")]
        assert (check.verdict.value == "holds") is (name == "seen")
        said = json.loads((tmp_path / f"{name}.json").read_text())
        (claim,) = [f for f in said["findings"] if f["model"] == "dominance"]
        assert float(f"{claim['achieved']:.3g}") == claim["achieved"]
        said["findings"].remove(claim)
        (tmp_path / "less.json").write_text(json.dumps(said))
        assert not shoal.verify(tmp_path / "less.json", done.data).holds


def test_the_report_marks_a_class_that_one_person_dominates(tmp_path: Path) -> None:
    whose = [*([0] * 16), *range(1, 5), *([5] * 2), *range(6, 24)]
    x = [*([1.0] * 20), *(np.arange(20) + 50.0)]
    frame = pa.table({"x": x, "pid": whose})
    recipe = {"quasi": ["x"], "k": 5, "subject": "pid", "method": "mdav"}
    plain = shoal.protect(frame, recipe)
    plain.report(tmp_path / "plain.html")
    text = (tmp_path / "plain.html").read_text()
    assert plain.audit.to_dict()["dominance"] == 0.8
    assert '<td class="warn" data-head="Verdict">reported</td>' in text
    assert "a single person holds 0.8 of the weight" in text
    bounded = shoal.protect(frame, {**recipe, "require": {"dominance": 0.5}})
    bounded.report(tmp_path / "bounded.html", edition="external")
    text = (tmp_path / "bounded.html").read_text()
    assert "at most 0.5 was allowed" in text
    assert "the audit found k = " in text
    assert 'class="warn"' not in text


def test_the_command_line_requires_reports_and_refuses_it(tmp_path: Path) -> None:
    import pyarrow.csv as csv
    from typer.testing import CliRunner

    from shoal.cli import _commands, app

    if not app.registered_commands:
        _commands()
    csv.write_csv(FRAME, tmp_path / "in.csv")
    run = CliRunner().invoke
    roles = [
        "--quasi",
        "a,b",
        "--subject",
        "pid",
        "--identifier",
        "home",
        "--weight",
        "w",
        "--method",
        "mdav",
        "--json",
    ]
    asked = ["protect", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), *roles, "--method", "mdav"]
    done = run(app, [*asked, "--require", "dominance=0.4"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["audit"]
    assert found["dominance"] <= 0.4
    assert found["requirements"][-1]["model"] == "dominance"
    refused = run(app, [*asked, "--force", "--require", "dominance=0.01"])
    assert isinstance(refused.exception, shoal.DataError)
    roles = ["--quasi", "s", "--subject", "pid", "--weight", "w"]
    audited = run(app, ["audit", str(tmp_path / "in.csv"), *roles, "--require", "dominance=0.01"])
    assert audited.exit_code != 0
    assert "dominance" in audited.output
