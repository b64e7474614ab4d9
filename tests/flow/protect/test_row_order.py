"""The order of released rows does not give away what they are sorted by."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal import secret
from shoal.flow.evidence.receipt import Commitment, Digest, Receipt
from shoal.flow.protect import row_order
from shoal.flow.stages import sorted_rows
from shoal.flow.stages.read import schema_for
from shoal.locations import Place
from shoal.recipe.recipe import Recipe
from shoal.types import Table

N = 60
RNG = np.random.default_rng(7)
AGES = np.round(RNG.uniform(20, 80, N), 4).tolist()  # no ties, which rows would break
PAYS = RNG.integers(1000, 9000, N).tolist()
RECIPE: dict[str, Any] = {"quasi": ["age"], "confidential": ["pay"], "k": 3}


def people(**columns: Any) -> pa.Table:
    return pa.table({"age": AGES, "pay": PAYS, **columns})


def receipt(rows: Any) -> Receipt:
    return Receipt(Commitment.to(Digest("bytes", "ab" * 32, 7)), rows=rows)


def sorted_by(data: pa.Table, **fields: Any) -> str | None:
    recipe = Recipe.from_dict({**RECIPE, **fields})
    return row_order.sorted_by(Table(data, schema_for(data, recipe, None)), recipe)


def test_random_rows_are_not_sorted() -> None:
    assert sorted_by(people()) is None


@pytest.mark.parametrize("values", [range(N), range(N, 0, -1), [f"P{i:03}" for i in range(N)]])
@pytest.mark.parametrize("role", ["identifier", "subject", "together", "weight"])
def test_what_is_removed_or_masked_counts(values: Any, role: str) -> None:
    if role == "weight" and isinstance(values, list):
        pytest.skip("a weight is a number")
    named = ["id"] if role == "identifier" else "id"
    assert sorted_by(people(id=list(values)), **{role: named}) == "id"


def test_what_is_released_as_it_is_does_not_count() -> None:
    data = people(id=list(range(1, N + 1)))
    assert sorted_by(data) is None
    assert sorted_by(data, weight="id", release_weight="record") is None
    assert sorted_by(data, weight="id", release_weight="none") == "id"


@pytest.mark.parametrize(("wrong", "found"), [(0, "id"), (5, "id"), (6, None), (50, None), (94, None), (95, "id")])
def test_ninety_five_percent_decide(wrong: int, found: str | None) -> None:
    steps = [-1] * wrong + [1] * (100 - wrong)
    values = np.cumsum([100, *steps]).tolist()
    data = pa.table({"age": np.resize(AGES, 101), "pay": np.resize(PAYS, 101), "id": values})
    assert sorted_by(data, identifier=["id"]) == found


@pytest.mark.parametrize(("pairs", "found"), [(19, None), (20, "id")])
def test_twenty_pairs_must_differ(pairs: int, found: str | None) -> None:
    values = [0] * (N - pairs) + list(range(1, pairs + 1))
    assert sorted_by(people(id=values), identifier=["id"]) == found


def test_missing_values_are_skipped() -> None:
    values = [i if i % 3 else None for i in range(N)]
    assert sorted_by(people(id=values), identifier=["id"]) == "id"
    assert sorted_by(people(id=[float("nan") if v is None else v for v in values]), identifier=["id"]) == "id"
    assert sorted_by(people(id=pa.nulls(N)), identifier=["id"]) is None


def test_mostly_zeros_are_not_sorted() -> None:
    gains = np.zeros(2000, np.int64)
    gains[::25] = RNG.integers(1, 99_999, 80)
    data = pa.table({"age": np.resize(AGES, 2000), "pay": np.resize(PAYS, 2000), "gain": gains})
    assert sorted_by(data, quasi=["age", "gain"]) is None


def test_values_are_compared_as_what_they_are(tmp_path: Path) -> None:
    levels = ["low", "middle", "high"]
    ranks = [levels[min(i // 20, 2)] for i in range(N)]
    alternating = [name for i in range(30) for name in (levels[i % 3], levels[(i + 1) % 3])]
    ordered = pa.DictionaryArray.from_arrays([min(i // 2, 29) for i in range(N)], [f"{-i}" for i in range(30)])
    assert sorted_by(people(id=ranks), identifier=["id"]) is None  # two pairs
    assert sorted_by(people(id=alternating), identifier=["id"]) is None
    assert sorted_by(people(id=ordered), identifier=["id"]) is None  # "0", "-1", "-10": no order of text
    names = [f"v{i:02}" for i in range(30)]
    assert sorted_by(people(size=[names[i // 2] for i in range(N)]), quasi=["size"]) == "size"
    order = {"size": list(RNG.permutation(names))}
    assert sorted_by(people(size=[names[i // 2] for i in range(N)]), quasi=["size"], orders=order) is None
    assert sorted_by(people(size=[order["size"][i // 2] for i in range(N)]), quasi=["size"], orders=order) == "size"
    assert sorted_by(people(day=pa.array(range(N), pa.date32())), identifier=["day"]) == "day"
    text = tmp_path / "in.csv"
    text.write_text("age,pay,day\n" + "".join(f"{a},{p},{d}\n" for a, p, d in zip(AGES, PAYS, range(N), strict=True)))
    done = shoal.protect_file(text, tmp_path / "out.csv", {**RECIPE, "identifier": ["day"]})
    assert done.rows is not None  # 9 < 10 though "9" > "10"


def test_what_has_no_order_is_not_sorted() -> None:
    assert sorted_by(people(id=[[i] for i in range(N)]), identifier=["id"]) is None


def test_many_rows_are_decided_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_rows, "_SHORTEST_SLICE", 1)
    rng = np.random.default_rng(1)
    for n in (21, 22, 40, 101):
        for noise in (0.0, 1.0, 3.0, 30.0):
            values = np.round(np.arange(n) + rng.normal(0, noise, n))
            steps = np.diff(values)
            up, down = (steps > 0).sum(), (steps < 0).sum()
            expected = up + down >= 20 and max(up, down) >= 0.95 * (up + down)
            data = pa.table({"age": np.resize(AGES, n), "pay": np.resize(PAYS, n), "id": values})
            assert (sorted_by(data, identifier=["id"]) == "id") is bool(expected)


def test_adult_is_not_sorted(adult: Path) -> None:
    recipe = Recipe(quasi=["age", "capital-gain", "capital-loss"], confidential=["hours-per-week"], k=5)
    from shoal.flow.stages.read import read_table

    assert row_order.sorted_by(read_table(Place(adult), recipe, textual=True), recipe) is None


@pytest.fixture
def adult() -> Path:
    import os

    path = Path(os.environ.get("SHOAL_DATA", ""), "adult.csv")
    if not path.exists():
        pytest.skip("needs adult.csv")
    return path


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are different each time, and the same in every run of the tests."""
    count = itertools.count()
    monkeypatch.setattr(secret, "fresh", lambda size=32: next(count).to_bytes(size))


@pytest.mark.usefixtures("keys")
def test_every_permutation_is_equally_likely() -> None:
    counts = Counter(tuple(row_order.permutation(4).tolist()) for _ in range(9600))
    assert len(counts) == 24
    chi2 = sum((count - 400) ** 2 / 400 for count in counts.values())
    assert chi2 < 67  # 23 degrees of freedom: p < 10^-5


@pytest.mark.usefixtures("keys")
def test_whole_households_move() -> None:
    households = np.array([0, 0, 1, 2, 2, 2])
    seen = set()
    for _ in range(1000):
        order = row_order.permutation(6, households)
        assert sorted(order.tolist()) == list(range(6))
        assert len([group for group, _ in itertools.groupby(households[order])]) == 3
        seen.add(tuple(order.tolist()))
    assert len(seen) == 72  # 3! orders of households, 2!·1!·3! of members


@pytest.mark.usefixtures("keys")
def test_scattered_households_do_not_become_neighbours() -> None:
    households = np.array([0, 1, 0, 1, 0, 1])
    apart = [row_order.permutation(6, households) for _ in range(50)]
    assert any(len(list(itertools.groupby(households[order]))) > 2 for order in apart)


def write(folder: Path, data: pa.Table) -> Path:
    path = folder / "in.csv"
    shoal.write_table(data, path, force=True)
    return path


def test_a_sorted_file_is_shuffled_and_says_so(tmp_path: Path) -> None:
    data = people(id=[f"P{i:03}" for i in range(N)])
    recipe = {**RECIPE, "identifier": ["id"]}
    done = shoal.protect_file(write(tmp_path, data), tmp_path / "out.csv", recipe)
    assert done.rows is not None
    assert sorted(done.rows.tolist()) == list(range(N))
    assert done.rows.tolist() != list(range(N))
    assert [PAYS[row] for row in done.rows] == [int(pay) for pay in done.data["pay"].to_pylist()]
    assert done.notes == ("The rows were shuffled, because they are sorted by 'id' in the input.",)
    assert pd.read_csv(tmp_path / "out.csv")["pay"].tolist() == [PAYS[row] for row in done.rows]
    kept = shoal.protect_file(write(tmp_path, data), tmp_path / "kept.csv", {**recipe, "row_order": "keep"})
    assert kept.rows is None
    assert kept.notes == ()
    assert pd.read_csv(tmp_path / "kept.csv")["pay"].tolist() == PAYS
    ages = pd.read_csv(tmp_path / "kept.csv")["age"].to_numpy()
    assert pd.read_csv(tmp_path / "out.csv")["age"].tolist() == ages[done.rows].tolist()


def test_the_seed_does_not_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = {**RECIPE, "row_order": "shuffle", "seed": 3}
    one, two = (shoal.protect(people(), recipe).rows.tolist() for _ in range(2))
    assert one != two
    monkeypatch.setattr(secret, "fresh", lambda size=32: bytes(size))
    one, two = (shoal.protect(people(), {**recipe, "seed": seed}).rows.tolist() for seed in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow], ids=["arrow", "pandas", "polars"]
)
def test_frames_keep_their_order_unless_told(make: Any) -> None:
    frame = make(people(id=list(range(N))))
    recipe = {**RECIPE, "identifier": ["id"]}
    done = shoal.protect(frame, recipe)
    assert done.rows is None
    assert list(map(int, done.data["pay"].to_pylist() if isinstance(frame, pa.Table) else done.data["pay"])) == PAYS
    assert len(done.notes) == 1
    assert "sorted by 'id'" in done.notes[0]
    mixed = shoal.protect(frame, {**recipe, "row_order": "shuffle"})
    found = mixed.data["pay"].to_pylist() if isinstance(frame, pa.Table) else list(mixed.data["pay"])
    assert found == [PAYS[row] for row in mixed.rows]
    assert found != PAYS
    assert mixed.notes == ()


def test_excluded_rows_are_not_in_the_order() -> None:
    ages = [None if i in (3, 17) else age for i, age in enumerate(AGES)]
    data = pa.table({"age": ages, "pay": PAYS})
    recipe = {**RECIPE, "when_missing": "exclude"}
    kept = [i for i in range(N) if i not in (3, 17)]
    assert shoal.protect(data, recipe).rows.tolist() == kept
    mixed = shoal.protect(data, {**recipe, "row_order": "shuffle"})
    assert sorted(mixed.rows.tolist()) == kept
    assert mixed.data["pay"].to_pylist() == [PAYS[row] for row in mixed.rows]
    assert mixed.left_out == 2


def test_errors_name_the_rows_of_the_input() -> None:
    weights = [-1.0 if i in (4, 40) else 1.0 for i in range(N)]
    for order in ("keep", "shuffle"):
        with pytest.raises(shoal.DataError, match="data rows 5, 41"):
            shoal.protect(people(w=weights), {**RECIPE, "weight": "w", "row_order": order})


def test_households_stay_neighbours_in_a_file(tmp_path: Path) -> None:
    homes = [i // 2 for i in range(N)]
    done = shoal.protect_file(
        write(tmp_path, people(home=homes)), tmp_path / "out.csv", {"quasi": ["age"], "together": "home", "k": 3}
    )
    assert done.notes
    moved = [homes[row] for row in done.rows]
    assert len(list(itertools.groupby(moved))) == N // 2
    assert moved != homes


def test_both_tables_of_anatomy_follow_the_new_order(tmp_path: Path) -> None:
    recipe = {**RECIPE, "release": "anatomy", "row_order": "shuffle"}
    done = shoal.protect(people(), recipe)
    assert done.data["age"].to_pylist() == [AGES[row] for row in done.rows]
    link = next(name for name in done.data.column_names if name != "age")
    assert done.data[link].to_pylist()[0] == min(done.data[link].to_pylist())  # numbered by the rows as released


LAPLACE: dict[str, Any] = {
    "quasi": ["age"], "k": 10, "release": "laplace", "method": "insensitive", "epsilon": 1.0,
    "bounds": {"age": [0, 120]}, "claim": "original", "kinds": {"age": "integer"},
}  # fmt: skip


def test_noise_for_original_records_comes_in_random_order() -> None:
    data = pa.table({"age": sorted(AGES)})
    done = shoal.protect(data, LAPLACE)
    assert done.rows is not None
    assert "shuffled" in done.notes[0]
    assert len(list(itertools.groupby(done.partition.labels.tolist()))) > 12  # not class after class
    ages = np.array(sorted(AGES))[done.rows]
    means = [ages[done.partition.labels == c].mean() for c in range(6)]
    assert means == sorted(means)  # the classes are those of the records in this order
    with pytest.raises(shoal.ParameterError, match="row_order must be 'auto' or 'shuffle', got 'keep'"):
        shoal.protect(data, {**LAPLACE, "row_order": "keep"})


def test_a_receipt_repeats_the_order() -> None:
    data = people()
    recipe = Recipe.from_dict({**RECIPE, "row_order": "shuffle"})
    table = Table(data, schema_for(data, recipe, None))

    def rows(given: Any, kept: Any = None) -> Any:
        found = row_order.order_rows(table, kept, recipe, is_frame=False, repeat=receipt(given))
        assert found.rows is None or found.arranged(table).data.equals(
            data.take(np.searchsorted(kept_or_all, found.rows))
        )
        return found.rows

    kept_or_all = np.arange(N)
    first = row_order.order_rows(table, None, recipe, is_frame=False).rows
    assert rows(first).tolist() == first.tolist()
    assert rows(None) is None
    for wrong in (np.arange(N - 1), np.arange(1, N + 1), np.zeros(N, np.int64)):
        with pytest.raises(shoal.DataError, match="Receipt: its permutation"):
            rows(wrong)
    kept_or_all = np.arange(N) * 2  # every other row was excluded
    assert rows(first * 2, kept_or_all).tolist() == (first * 2).tolist()
    assert rows(kept_or_all, kept_or_all).tolist() == kept_or_all.tolist()
    for wrong in (None, first):
        with pytest.raises(shoal.DataError, match="Receipt: its permutation"):
            rows(wrong, kept_or_all)


def test_compare_lines_rows_up_again(tmp_path: Path) -> None:
    before = people()
    done = shoal.protect(before, {**RECIPE, "row_order": "shuffle"})
    kept = shoal.protect(before, {**RECIPE, "row_order": "keep"})
    path = tmp_path / "r.json"
    path.write_text(receipt(done.rows).render())
    right = shoal.compare(before, kept.data, ["age"])["sse"]
    assert shoal.compare(before, done.data, ["age"], receipt=path)["sse"] == pytest.approx(right)
    assert np.isnan(shoal.compare(before, done.data, ["age"])["sse"])
    with pytest.raises(shoal.DataError, match="Receipt: its permutation must name one of the 59 rows of the original"):
        shoal.compare(before.slice(1), done.data, ["age"], receipt=path)
    with pytest.raises(shoal.DataError, match="Receipt: its permutation"):
        shoal.compare(before, done.data.slice(1), ["age"], receipt=path)
    with pytest.raises(shoal.ParameterError, match="key and receipt must not both be given"):
        shoal.compare(before, done.data, ["age"], receipt=path, key="pay")


def test_compare_lines_excluded_rows_up(tmp_path: Path) -> None:
    lacking = pa.table({"age": [None, *AGES[1:]], "pay": PAYS})
    recipe = {**RECIPE, "when_missing": "exclude", "row_order": "shuffle"}
    done = shoal.protect(lacking, recipe)
    path = tmp_path / "r.json"
    path.write_text(receipt(done.rows).render())
    found = shoal.compare(lacking, done.data, recipe=recipe, receipt=path)["sse"]
    kept = shoal.protect(lacking, {**recipe, "row_order": "keep"})
    assert found == pytest.approx(shoal.compare(lacking, kept.data, recipe=recipe)["sse"])


def test_the_command_line(tmp_path: Path, run: Callable) -> None:
    source, out, path = write(tmp_path, people(id=list(range(N)))), tmp_path / "out.csv", tmp_path / "r.json"
    command = ["protect", source, "-o", out, "--force", "--quasi", "age", "--identifier", "id", "--k", 3]
    note = "The rows were shuffled, because they are sorted by 'id' in the input."
    said = run(*command).out.splitlines()
    assert said[said.index(note) + 1].startswith("To compare or attack the output later, also write a receipt")
    assert not any("--receipt" in line for line in run(*command, "--receipt", path).out.splitlines())
    assert json.loads(run(*command, "--json").out)["notes"] == [note]
    assert "notes" not in json.loads(run(*command, "--row-order", "keep", "--json").out)
    done = shoal.protect_file(source, out, {**RECIPE, "identifier": ["id"]}, force=True)
    path.write_text(receipt(done.rows).render())
    found = run("compare", source, out, "--columns", "age", "--receipt", path, "--measures", "sse", "--json")
    assert json.loads(found.out)["sse"] == pytest.approx(done.readings["sse"], rel=0.05)


def test_the_note_is_in_the_internal_report_only(tmp_path: Path) -> None:
    done = shoal.protect(people(id=list(range(N))), {**RECIPE, "identifier": ["id"]})
    done.report(tmp_path / "in.html")
    done.report(tmp_path / "ex.html", "external")
    assert "The rows keep their order" in (tmp_path / "in.html").read_text()
    assert "The rows keep their order" not in (tmp_path / "ex.html").read_text()


def indexed(index: Any) -> pd.DataFrame:
    return pd.DataFrame({"age": AGES, "pay": PAYS}, index=index)


NOTE = "The index of the frame was removed, because it may identify people."


def test_an_index_that_numbers_rows_needs_no_note() -> None:
    assert shoal.protect(indexed(None), RECIPE).notes == ()


@pytest.mark.parametrize(
    "index", [pd.Index([f"P{i}" for i in range(N)]), pd.MultiIndex.from_arrays([range(N), range(N)], names=["a", "b"])]
)
def test_another_index_is_removed_with_a_note(index: Any) -> None:
    done = shoal.protect(indexed(index), RECIPE)
    assert done.notes == (NOTE,)
    assert isinstance(done.data.index, pd.RangeIndex)
    assert list(done.data.columns) == ["age", "pay"]


@pytest.mark.parametrize("role", ["identifier", "subject"])
def test_an_index_can_be_named_in_the_recipe(role: str) -> None:
    names = [f"P{i // 2}" for i in RNG.permutation(N)]
    frame = indexed(pd.Index(names, name="person"))
    done = shoal.protect(frame, {**RECIPE, role: ["person"] if role == "identifier" else "person"})
    assert list(done.data.columns) == ["age", "pay"]
    assert done.schema["person"].role == role
    assert done.notes == ()
    assert frame.index.name == "person"


def test_explore_knows_the_index_too() -> None:
    frame = indexed(pd.Index([f"P{i}" for i in range(N)], name="person"))
    assert shoal.explore(frame, {**RECIPE, "identifier": ["person"]}, k=[3], methods=["mdav"]).settings


def test_levels_that_are_not_named_are_removed() -> None:
    index = pd.MultiIndex.from_arrays([[1] * N, [f"P{i}" for i in RNG.permutation(N)]], names=["wave", "person"])
    done = shoal.protect(indexed(index), {**RECIPE, "identifier": ["person"]})
    assert done.notes == (NOTE,)
    with pytest.raises(shoal.SchemaError, match="person"):
        shoal.protect(indexed(None), {**RECIPE, "identifier": ["person"]})


def test_comparing_shuffled_rows_without_a_receipt_is_pointed_out(tmp_path: Path, run: Any) -> None:
    shoal.write_table(
        people(name=[f"p{i:03d}" for i in range(N)], note=[f"n{i}" for i in range(N)]), tmp_path / "in.csv"
    )
    given = (
        "protect",
        tmp_path / "in.csv",
        "-o",
        tmp_path / "out.csv",
        "--quasi",
        "age",
        "--identifier",
        "name",
        "--k",
        3,
    )
    assert run(*given, "--receipt", tmp_path / "mine.json").code == 0
    compare = ("compare", tmp_path / "in.csv", tmp_path / "out.csv", "--columns", "age", "--measures", "il_sse,dld")
    said = run(*compare).out
    assert "il_sse, dld: were not measured, because the rows seem to be in another order" in said
    assert "│" not in said  # no figure that other people's rows would give
    assert "rows seem to be in another order" not in run(*compare, "--receipt", tmp_path / "mine.json").out
