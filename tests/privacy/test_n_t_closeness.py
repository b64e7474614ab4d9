"""The audit of (n,t)-closeness equals its definition, and is t-closeness where n is the number of records."""

from __future__ import annotations

import importlib.util
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy.counting import neighbourhoods as _neighbours
from shoal.privacy.counting import neighbourhoods as _supersets
from shoal.types import Finding


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"oracle_{name}", Path(__file__).parents[1] / "oracles" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle = load("n_t_closeness")


def ordered(values: list[int]):  # type: ignore[no-untyped-def]
    """The ordered distance, whose bins are the values of the whole table."""
    bins = sorted(set(values))

    def distance(inside: list[int], around: list[int]) -> Fraction:
        p, q, total, running = Counter(inside), Counter(around), Fraction(0), Fraction(0)
        for value in bins:
            running += Fraction(p[value], len(inside)) - Fraction(q[value], len(around))
            total += abs(running)
        return total / max(len(bins) - 1, 1)

    return distance


def equal(inside: list[int], around: list[int]) -> Fraction:
    p, q = Counter(inside), Counter(around)
    return sum((abs(Fraction(p[v], len(inside)) - Fraction(q[v], len(around))) for v in {*p, *q}), Fraction(0)) / 2


def finding(frame: pa.Table, n: int, t: float, quasi: tuple[str, ...] = ("x", "y"), **more: object) -> Finding:
    audit = shoal.audit(frame, quasi=quasi, confidential=["c"], require={"n_t": (n, t)}, **more)
    return next(f for f in audit.findings if f.model == "n_t_closeness")


def standardised(values: list[int]) -> np.ndarray:
    array = np.array(values, float)
    return (array - array.mean()) / array.std() if array.std() > 0 else array * 0


#: Powers of two, so that standardised distances have no ties that rounding could break.
ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1, 4, 16, 64]), st.sampled_from([0, 2, 32]), st.integers(0, 5)),
    min_size=1,
    max_size=40,
)


@given(rows=ROWS, n=st.integers(1, 30), t=st.sampled_from([0, 0.1, 0.2, 0.3, 0.5, 1]), nominal=st.booleans())
def test_equal_to_the_definition(rows: list[tuple], n: int, t: float, nominal: bool) -> None:
    x, y, c = ([row[j] for row in rows] for j in range(3))
    places = list(zip(standardised(x).tolist(), standardised(y).tolist(), strict=True))
    numbers = {pair: at for at, pair in enumerate(dict.fromkeys(zip(x, y, strict=True)))}
    labels = [numbers[pair] for pair in zip(x, y, strict=True)]
    want = oracle.achieved(places, labels, c, n, equal if nominal else ordered(c))
    found = finding(pa.table({"x": x, "y": y, "c": c}), n, t, kinds={"c": "nominal"} if nominal else {})
    assert found.achieved == float(want)
    assert found.holds == (want <= Fraction(str(float(t))))
    assert found.given == (("n", n),)


@given(rows=ROWS, t=st.sampled_from([0, 0.1, 0.25, 0.5]), more=st.integers(0, 3))
def test_with_n_records_it_is_t_closeness_and_less_is_implied(rows: list[tuple], t: float, more: int) -> None:
    frame = pa.table({name: [row[j] for row in rows] for j, name in enumerate("xyc")})
    audit = shoal.audit(frame, ["x", "y"], ["c"], require={"n_t": (len(rows) + more, t), "t": t})
    plain, weak = (next(f for f in audit.findings if f.model == m) for m in ("t_closeness", "n_t_closeness"))
    assert (plain.achieved, plain.holds) == (weak.achieved, weak.holds)
    assert finding(frame, 3, t).achieved <= plain.achieved


@given(rows=ROWS, n=st.integers(1, 30), seed=st.integers(0, 99))
def test_row_order_changes_nothing(rows: list[tuple], n: int, seed: int) -> None:
    frame = pa.table({name: [row[j] / 7 for row in rows] for j, name in enumerate("xyc")})
    shuffled = frame.take(np.random.default_rng(seed).permutation(len(rows)))
    assert finding(frame, n, 0.2).to_dict() == finding(shuffled, n, 0.2).to_dict()


def test_many_classes_are_looked_at_only_as_far_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_neighbours, "_LEAF", 5)  # many boxes
    rng = np.random.default_rng(0)
    x = np.repeat(rng.integers(0, 10**6, 60), 4).tolist()
    c = rng.integers(0, 50, 240).tolist()
    places = [(float(v),) for v in standardised(x)]
    labels = np.unique(x, return_inverse=True)[1].tolist()
    found = finding(pa.table({"x": x, "c": c}), 20, 0.2, ("x",))
    assert found.achieved == float(oracle.achieved(places, labels, c, 20, ordered(c)))
    assert [level for _, level in found.worst] == sorted((level for _, level in found.worst), reverse=True)


@pytest.mark.parametrize("nominal", [False, True])
@pytest.mark.parametrize(("pairs", "exact"), [(2**20, 2**61), (40, 1)])
@pytest.mark.parametrize("told", [0, 3])
def test_shares_of_any_size_and_integers_of_any_length(
    monkeypatch: pytest.MonkeyPatch, nominal: bool, pairs: int, exact: int, told: float
) -> None:
    monkeypatch.setattr(_neighbours, "_LEAF", 4)
    monkeypatch.setattr(_neighbours, "_PAIRS", pairs)  # so few that every class is looked at alone
    monkeypatch.setattr(_supersets, "_EXACT", exact)  # so small that Python's integers are needed
    rng = np.random.default_rng(int(told))
    sizes = rng.integers(1, 5, 25)
    x, y = (np.repeat(rng.normal(size=25), sizes) for _ in range(2))
    c = np.round(3 * rng.normal(size=len(x)) + told * x).astype(int).tolist()
    places = list(zip(*(standardised(v.tolist()).tolist() for v in (x, y)), strict=True))
    labels = np.repeat(np.arange(25), sizes).tolist()
    for n in (1, 10, len(x) - 1):
        want = oracle.achieved(places, labels, c, n, equal if nominal else ordered(c))
        found = finding(pa.table({"x": x, "y": y, "c": c}), n, 0.2, kinds={"c": "nominal"} if nominal else {})
        assert found.achieved == float(want)


def test_a_taxonomy_of_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_neighbours, "_LEAF", 4)
    tree = {"warm": ["red", "ochre"], "cold": {"blue": ["navy", "sky"], "green": ["moss"]}}
    groups = {"red": ("warm",), "ochre": ("warm",), "navy": ("cold", "blue"), "sky": ("cold", "blue")}
    groups["moss"] = ("cold", "green")

    def distance(inside: list[str], around: list[str]) -> Fraction:
        """Half of what is moved over each edge; the tree is 3 high, and the edge above warm is 2 long."""
        total = Fraction(0)
        for node in {"warm", "cold", "blue", "green", *groups}:
            shares = [
                Fraction(sum(node in (v, *groups[v]) for v in values), len(values)) for values in (inside, around)
            ]
            total += (2 if node == "warm" else 1) * abs(shares[0] - shares[1])
        return total / 6

    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=30), rng.integers(1, 4, 30))
    c = rng.choice(list(groups), len(x)).tolist()
    labels = np.unique(x, return_inverse=True)[1].tolist()
    places = [(v,) for v in standardised(x.tolist()).tolist()]
    found = finding(pa.table({"x": x, "c": c}), 20, 0.2, ("x",), taxonomies={"c": tree})
    assert found.achieved == float(oracle.achieved(places, labels, c, 20, distance))


def test_what_is_close_around_but_not_in_the_table() -> None:
    frame = pa.table({"x": [20, 20, 30, 30, 60, 60, 70, 70], "y": [0] * 8, "c": [1, 2, 1, 2, 3, 4, 3, 4]})
    assert finding(frame, 4, 0).holds
    assert not finding(frame, 5, 0).holds
    changed = frame.set_column(2, "c", pa.array([1, 2, 1, 1, 3, 4, 3, 4]))
    assert not finding(changed, 4, 0).holds
    moved = frame.set_column(0, "x", pa.array([20, 20, 60, 30, 60, 60, 70, 70]))
    assert not finding(moved, 4, 0).holds


@pytest.mark.parametrize("x", [["a", "a", "b", "b"], [1.0, 1.0, None, None], [1.0, 1.0, float("inf"), float("inf")]])
def test_without_places_only_the_whole_table_counts(x: list) -> None:
    frame = pa.table({"x": x, "c": [1, 2, 3, 4]})
    found = finding(frame, 2, 0, ("x",))
    assert (found.achieved, found.holds) == (1 / 3, False)
    assert "only the whole table" in found.note


def test_dates_and_cells_of_text_have_places(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text(
        "x,c\n" + "".join(f"2020-01-{d:02d},{c}\n" for d, c in zip([1, 1, 2, 2, 28, 28], [1, 2] * 3, strict=True))
    )
    found = shoal.audit_file(path, ["x"], ["c"], require={"n_t": (4, 0.0)})
    assert found.holds
    assert found.to_dict()["confidential"]["c"].items() >= {"t": 0.0, "n_t": {"n": 4, "t": 0.0}}.items()
    assert found.to_dict()["requirements"][0]["n"] == 4
    path.write_text("x,c\n" + "1.5,1\n1.5,2\n2.5,1\n2.5,2\n90,3\n90,3\noops,3\noops,3\n")
    found = shoal.audit_file(path, ["x"], ["c"], require={"n_t": (4, 0.0)})
    assert "only the whole table" in next(f for f in found.findings if f.model == "n_t_closeness").note


def test_huge_and_tiny_places() -> None:
    for size in (1.7e308, 1e-320):
        frame = pa.table({"x": [-size, -size, size / 2, size / 2, size, size], "c": [1, 2, 3, 4, 3, 4]})
        assert finding(frame, 4, 0.4, ("x",)).achieved == 1 / 3


@pytest.mark.parametrize("level", [0.1, (200,), (1, 2, 3)])
def test_both_numbers_are_needed(level: object) -> None:
    with pytest.raises(shoal.ParameterError, match=r"Audit: n_t_closeness must be n:t, got .*n_t=200:0\.1"):
        shoal.audit(pa.table({"x": [1], "c": [1]}), ["x"], ["c"], require={"n_t": level})
