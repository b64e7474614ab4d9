"""The disk engine forms the same classes, releases the same table and finds the same audit as in memory."""

from __future__ import annotations

import itertools
import json
import runpy
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from shoal.flow.stages.batch_tables import BatchReader
from shoal.partition import auto

exchange = runpy.run_path(str(Path(__file__).parents[2] / "exchange.py"))

N = 480
ORDERS = {"grade": ["low", "middle", "high"]}
TREE = {"icd": {"A": ["A1", "A2", "A3"], "B": ["B1", "B2"], "C": ["C1"]}}


def table(seed: int = 0, n: int = N, gaps: float = 0.0) -> pa.Table:
    """Return a table with a column of every kind, some of whose cells are missing."""
    rng = np.random.default_rng(seed)

    def column(values: Any, kind: pa.DataType | None = None) -> pa.Array:
        cells = pa.array(values, kind)
        return pa.array(cells.to_pylist(), cells.type, mask=rng.random(n) < gaps) if gaps else cells

    sizes = pa.array(rng.integers(0, 3, n), pa.int8(), mask=rng.random(n) < gaps)
    return pa.table(
        {
            "num": column(np.round(rng.normal(40, 12, n), 2)),
            "whole": column(rng.integers(0, 500, n)),
            "digits": column(rng.normal(size=n)),
            "short": column(np.round(rng.normal(size=n), 1).astype(np.float32)),
            "exact": column([Decimal(int(v)) / 100 for v in rng.integers(0, 10**6, n)], pa.decimal128(12, 2)),
            "wide": column(rng.integers(0, 2**63, n).astype(np.uint64) * np.uint64(2)),
            "day": column(rng.integers(0, 20_000, n), pa.int32()).cast(pa.date32()),
            "second": column(rng.integers(0, 10**9, n)).cast(pa.timestamp("s")),
            "tick": column(rng.integers(0, 10**18, n)).cast(pa.timestamp("ns")),
            "zoned": column(rng.integers(0, 10**12, n)).cast(pa.timestamp("ms", "Europe/Berlin")),
            "flag": column(rng.random(n) < 0.3),
            "job": column(rng.choice(["cook", "nurse", "smith", "baker", "clerk"], n)),
            "coded": column(rng.choice(["cook", "nurse", "smith"], n)).dictionary_encode(),
            "grade": column(rng.choice(ORDERS["grade"], n)),
            "size": pa.DictionaryArray.from_arrays(sizes, ["S", "M", "L", "XL"][:3], ordered=True),
            "icd": column(rng.choice(["A1", "A2", "A3", "B1", "B2", "C1"], n)),
            "same": pa.array(np.full(n, 3.5)),
            "word": pa.array(["x"] * n),
            "region": pa.array(rng.choice(["north", "south"], n)),
            "w": pa.array(rng.uniform(0.0, 3.0, n)),
            "times": pa.array(rng.integers(1, 90, n)),
            "name": pa.array([f"person {i}" for i in range(n)]),
            "pay": pa.array(rng.integers(0, 99, n)),
            "note": pa.array([f"note {i % 7}" for i in range(n)]),
        }
    )


def copies(seed: int) -> pa.Table:
    """Return a table in which most quasi-identifiers are copies of others; nothing else is."""
    rows = np.random.default_rng(seed).integers(0, N // 12, N)
    once, again = table(seed), table(seed).take(pa.array(rows))
    for name in ("w", "times", "name", "pay", "note", "region"):
        again = again.set_column(again.schema.get_field_index(name), name, once.column(name))
    return again


TABLES: dict[str, Callable[[int], pa.Table]] = {
    "full": table,
    "gaps": lambda seed: table(seed, gaps=0.15),
    "copies": copies,
    "nan": lambda seed: with_nan(table(seed)),
}
QUASI: dict[str, dict[str, Any]] = {  # in another order than in the table here and there
    "numbers": {"quasi": ["whole", "num"]},
    "digits": {"quasi": ["num", "digits", "short"]},
    "wide": {"quasi": ["exact", "wide"]},
    "moments": {"quasi": ["second", "day"]},
    "ticks": {"quasi": ["zoned", "tick", "num"]},
    "nominal": {"quasi": ["job", "num", "flag"]},
    "dictionary": {"quasi": ["num", "coded"]},
    "ordinal": {"quasi": ["grade", "num", "size"], "orders": ORDERS},
    "taxonomy": {"quasi": ["num", "icd"], "taxonomies": TREE},
    "constant": {"quasi": ["num", "same", "word", "digits"]},
    "one": {"quasi": ["num"]},
    "as categories": {"quasi": ["num", "pay"], "kinds": {"pay": "nominal"}},
    "mixed": {"quasi": ["num", "whole", "day", "job", "grade", "icd"], "orders": ORDERS, "taxonomies": TREE},
}
MORE: dict[str, dict[str, Any]] = {
    "": {},
    "strata": {"strata": ["region"]},
    "weights": {"weight": "w"},
    "weights of records": {"weight": "times", "release_weight": "record"},
    "no weights": {"weight": "times", "release_weight": "none"},
    "roles": {"identifier": ["name"], "confidential": ["note"]},
    "exclude": {"when_missing": "exclude"},
    "weighted attribute": {"attribute_weights": {"num": 3.0}},
    "resolution": {"resolution": {"num": 0.5}},
    "exact": {"exact_means": True},
    "range": {"set": {"scale": "range"}},
    "table": {"attacker": "table"},
    "strata and weights": {"strata": ["region"], "weight": "times", "when_missing": "exclude"},
}
METHODS: dict[str, dict[str, Any]] = {
    "blocks": {"method": "blocks", "set": {"size": 90}},
    "fast": {"method": "blocks", "effort": "fast", "set": {"size": 60}},
    "best": {"method": "blocks", "effort": "best", "set": {"size": 120}},
    "auto": {"effort": "fast"},
}


def with_nan(data: pa.Table) -> pa.Table:
    values = data.column("num").to_numpy().copy()
    values[::9] = np.nan
    return data.set_column(data.schema.get_field_index("num"), "num", pa.array(values))


def _cases() -> list[tuple[str, ...]]:
    """Return combinations that hold every pair of a quasi-identifier with the rest, and most other pairs."""
    found = []
    for q, quasi in enumerate(QUASI):
        for turn in range(3):
            at = 3 * q + turn
            more = list(MORE)[(at + q) % len(MORE)]
            if "num" not in QUASI[quasi]["quasi"] and more in ("weighted attribute", "resolution"):
                more = "strata"
            found.append((quasi, more, list(METHODS)[(at + at // 4) % 4], list(TABLES)[(at + at // 8) % 4]))
    return found


def recipe_of(quasi: str, more: str, method: str) -> dict[str, Any]:
    parts = [QUASI[quasi], MORE[more], METHODS[method]]
    settings = {key: value for part in parts for key, value in part.get("set", {}).items()}
    fields = {key: value for part in parts for key, value in part.items()}
    return {"version": 1, "k": 4, "row_order": "keep", **fields, "set": settings}


def numbered(labels: np.ndarray) -> list[int]:
    met: dict[int, int] = {}
    return [met.setdefault(label, len(met)) for label in labels.tolist()]


def cells(data: pa.Table) -> dict[str, Any]:
    """Return all that a table shows: its types, cells and lists of categories."""
    found = {}
    for name in data.column_names:
        column = data.column(name)
        if pa.types.is_dictionary(column.type):
            found[f"categories of {name}"] = column.unify_dictionaries().chunk(0).dictionary.to_pylist()
        found[name] = str(column.type), list(map(repr, column.to_pylist()))
    return found


def outcome(source: Path, target: Path, recipe: dict[str, Any], engine: str, **given: Any) -> dict[str, Any]:
    """Protect a file, and return all that the engines must agree on; the sentence if it is refused."""
    try:
        done = shoal.protect(source, recipe, output=target, engine=engine, memory="500MB", force=True, **given)
    except shoal.ShoalError as error:
        assert not target.exists()
        return {"refused": f"{type(error).__name__}: {error}"}
    found = {
        "labels": numbered(done.partition.labels),
        "note": done.partition.note,
        "audit": done.audit.to_dict(),
        "loss": pytest.approx(done.readings["il_sse"], rel=1e-12),
        "left_out": done.left_out,
        "rows": None if done.rows is None else done.rows.tolist(),
        "notes": done.notes,
        "metadata": (parquet.read_schema(target).metadata or {}).keys(),
        **cells(parquet.read_table(target)),
    }
    return found if engine == "disk" else {**found, "loss": done.readings["il_sse"]}


def agree(data: pa.Table, recipe: dict[str, Any], folder: Path, **given: Any) -> dict[str, Any]:
    """Protect a table with both engines, and require the same outcome."""
    source = folder / "in.parquet"
    parquet.write_table(data, source, row_group_size=max(len(data) // 3, 1))
    memory, disk = (outcome(source, folder / f"{e}.parquet", recipe, e, **given) for e in ("memory", "disk"))
    assert disk.keys() == memory.keys(), (memory.get("refused"), disk.get("refused"))
    assert [name for name in memory if disk[name] != memory[name]] == []
    return disk


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a table of more than 100 records for a large one."""
    monkeypatch.setattr(auto, "LARGE", 100)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("quasi", "more", "method", "kind"), _cases())
def test_the_engines_agree(quasi: str, more: str, method: str, kind: str, tmp_path: Path) -> None:
    found = agree(TABLES[kind](len(quasi)), recipe_of(quasi, more, method), tmp_path)
    assert "refused" not in found
    assert found["audit"]["k"] >= 4


@pytest.mark.parametrize("quasi", ["one", "digits", "mixed"])
def test_the_engines_agree_on_a_table_that_is_not_large(quasi: str, tmp_path: Path) -> None:
    assert "refused" not in agree(table(gaps=0.1), recipe_of(quasi, "strata", "auto"), tmp_path)


@pytest.mark.parametrize(
    ("kind", "fine"),
    [
        (pa.decimal128(12, 3), 40),  # most values have one decimal, too many have three
        (pa.decimal128(12, 3), 4),  # below 1 %: they do not count
        (pa.decimal128(38, 20), 40),  # more decimals than floats have
        (pa.decimal256(60, 25), 40),
        (pa.decimal128(9, 0), 0),
        (pa.decimal128(12, 3), N),
    ],
)
def test_the_engines_agree_on_decimals(
    kind: pa.DataType, fine: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    coarse = [Decimal(int(v)).scaleb(-min(1, kind.scale)) for v in rng.integers(0, 10**4, N)]
    last = Decimal(1).scaleb(-kind.scale)
    values = [value + last if at >= N - fine else value for at, value in enumerate(coarse)]
    cells = pa.array(values, kind, mask=rng.random(N) < 0.1)
    monkeypatch.setattr(BatchReader.read, "__defaults__", (None, 50))
    recipe = {**recipe_of("one", "", "blocks"), "quasi": ["num", "decimal"]}
    found = agree(table(2).append_column("decimal", cells), recipe, tmp_path)
    assert found["decimal"][0] == str(kind)


def test_categories_of_excluded_records_have_no_rank(tmp_path: Path) -> None:
    codes = pa.array(np.arange(N) % 4).cast(pa.int8())
    data = table().append_column("step", pa.DictionaryArray.from_arrays(codes, ["a", "b", "c", "d"], ordered=True))
    gone = [None if code.as_py() == 1 else value.as_py() for code, value in zip(codes, data["num"], strict=True)]
    data = _replaced(data, num=pa.array(gone, pa.float64()))
    recipe = {**recipe_of("one", "exclude", "blocks"), "quasi": ["step", "num"]}
    found = agree(data, recipe, tmp_path)
    assert found["categories of step"] == ["a", "c", "d"]


@pytest.mark.parametrize("categories", ["node", "ancestor"])
def test_the_engines_agree_on_groups_of_a_taxonomy(categories: str, tmp_path: Path) -> None:
    recipe = recipe_of("taxonomy", "", "blocks")
    found = agree(table(gaps=0.1), {**recipe, "set": {"size": 90, "categories": categories}}, tmp_path)
    assert {"'A'", "'B'"} & set(found["icd"][1])


def test_names_of_scratch_columns_are_free(tmp_path: Path) -> None:
    names = {"num": "row", "whole": "weight", "day": "stratum", "digits": "subject"}
    data = table().rename_columns([names.get(name, name) for name in table().column_names])
    recipe = {**recipe_of("one", "strata and weights", "blocks"), "quasi": list(names.values())}
    assert "refused" not in agree(data, recipe, tmp_path)


def _replaced(data: pa.Table, **columns: Any) -> pa.Table:
    for name, values in columns.items():
        data = data.set_column(data.schema.get_field_index(name), name, pa.array(values))
    return data


EDGES: dict[str, tuple[pa.Table, dict[str, Any], str]] = {
    "n = k": (table().slice(0, 4), {}, ""),
    "all records equal": (table().take(pa.array([0] * N)), {}, ""),
    "huge numbers": (_replaced(table(), num=np.random.default_rng(1).normal(size=N) * 1e300), {}, ""),
    "tiny numbers": (_replaced(table(), num=np.random.default_rng(1).normal(size=N) * 1e-300), {}, ""),
    "zeros of both signs": (_replaced(table(), num=np.where(np.arange(N) % 2, -0.0, 0.0)), {}, ""),
    "weights of zero": (_replaced(table(), w=np.where(np.arange(N) % 3, 0.0, 2.5)), {"weight": "w"}, ""),
    "k > n": (table().slice(0, 3), {}, "DataError"),
    "one row": (table().slice(0, 1), {}, "DataError"),
    "no rows": (table().slice(0, 0), {}, "DataError"),
    "infinity": (_replaced(table(), num=[np.inf, *[1.0] * (N - 1)]), {}, "DataError"),
    "nothing but missing values": (_replaced(table(), num=pa.nulls(N, pa.float64())), {}, "DataError"),
    "a missing weight": (_replaced(table(), w=[None, *[1.0] * (N - 1)]), {"weight": "w"}, "DataError"),
    "a negative weight": (_replaced(table(), w=[*[1.0] * (N - 1), -1.0]), {"weight": "w"}, "DataError"),
    "no weight at all": (_replaced(table(), w=np.zeros(N)), {"weight": "w"}, "DataError"),
    "strata below k": (table(), {"strata": ["name"]}, "DataError"),
    "no such column": (table(), {"quasi": ["nowhere"]}, "SchemaError"),
    "none complete": (table(gaps=1.0), {"when_missing": "exclude"}, "DataError"),
}


@pytest.mark.parametrize("edge", EDGES)
def test_the_engines_agree_at_the_edges(edge: str, tmp_path: Path) -> None:
    data, more, refused = EDGES[edge]
    recipe = {**recipe_of("numbers", "", "blocks"), **more}
    if edge == "none complete":  # the memory engine knows how many they are
        parquet.write_table(data, tmp_path / "in.parquet")
        with pytest.raises(shoal.DataError, match="when_missing must leave records"):
            shoal.protect(tmp_path / "in.parquet", recipe, output=tmp_path / "out.parquet", engine="disk")
        assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
        return
    found = agree(data, recipe, tmp_path)
    assert found.get("refused", "").partition(":")[0] == refused
    assert {path.name for path in tmp_path.iterdir()} <= {"in.parquet", "memory.parquet", "disk.parquet"}


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("method", "more"), [("auto", "strata and weights"), ("best", "exclude"), ("blocks", "")])
def test_batches_and_threads_change_nothing(
    method: str, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet.write_table(table(5, gaps=0.1), tmp_path / "in.parquet", row_group_size=100)
    recipe = recipe_of("mixed", more, method)
    first = outcome(tmp_path / "in.parquet", tmp_path / "a.parquet", recipe, "memory")
    for rows, threads in ((7, 1), (131, 2), (N, 5)):
        monkeypatch.setattr(BatchReader.read, "__defaults__", (None, rows))
        monkeypatch.setenv("SHOAL_THREADS", str(threads))
        found = outcome(tmp_path / "in.parquet", tmp_path / "b.parquet", recipe, "disk")
        assert [name for name in first if found[name] != first[name]] == [], (rows, threads)


def test_ordered_categories_are_listed_in_full_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    data, lists = table(6).drop_columns(["size"]), (["S", "M", "L", "XL"], ["S", "M", "L", "XL", "XXL"])
    for part, names in enumerate(lists):
        sizes = pa.array(np.where(np.arange(200) % 2, 2, 3 + part)).cast(pa.int8())
        cats = pa.DictionaryArray.from_arrays(sizes, names, ordered=True)
        parquet.write_table(
            data.slice(200 * part, 200).append_column("size", cats), tmp_path / "in" / f"{part}.parquet"
        )
    for order in ("keep", "shuffle"):
        for quasi in (["num", "whole"], ["num", "size"]):
            recipe = {**recipe_of("one", "", "blocks"), "quasi": quasi, "row_order": order}
            shoal.protect(tmp_path / "in", recipe, output=tmp_path / "out.parquet", engine="disk", force=True)
            size = parquet.read_table(tmp_path / "out.parquet").column("size")
            assert size.type.ordered
            assert {*size.to_pylist()} == {*size.unify_dictionaries().chunk(0).dictionary.to_pylist()}
            assert size.unify_dictionaries().chunk(0).dictionary.to_pylist() == ["L", "XL", "XXL"]


def test_a_folder_is_protected_like_one_file(tmp_path: Path) -> None:
    data, recipe = table(6), recipe_of("mixed", "weights", "blocks")
    parquet.write_table(data, tmp_path / "in.parquet")
    (tmp_path / "in").mkdir()
    for part, begin in enumerate(range(0, N, 130)):
        parquet.write_table(data.slice(begin, 130), tmp_path / "in" / f"part-{part}.parquet")
    one = outcome(tmp_path / "in.parquet", tmp_path / "one.parquet", recipe, "disk")
    done = shoal.protect(tmp_path / "in", recipe, output=tmp_path / "out", memory="500MB")
    assert numbered(done.partition.labels) == one["labels"]
    assert cells(parquet.read_table(tmp_path / "out")) == cells(parquet.read_table(tmp_path / "one.parquet"))
    assert done.data.count_rows() == N


@pytest.mark.parametrize(("delimiter", "decimal"), [(",", "."), (";", ",")])
@pytest.mark.parametrize("folder", [False, True])
def test_text_is_protected_like_in_memory(delimiter: str, decimal: str, folder: bool, tmp_path: Path) -> None:
    names = ["num", "whole", "day", "job", "pay"]
    lines = [[*map(_cell, row.values())] for row in table(3, gaps=0.1).select(names).to_pylist()]
    text = [delimiter.join(cell.replace(".", decimal) for cell in line) for line in [names, *lines]]
    (tmp_path / "in.csv").write_text("\n".join(text) + "\n")
    (tmp_path / "in").mkdir()
    for part, begin in enumerate((1, 200)):
        some = [text[0], *text[begin : 200 if part == 0 else None]]
        (tmp_path / "in" / f"{part}.csv").write_text("\n".join(some) + "\n")
    recipe = {**recipe_of("numbers", "", "blocks"), "quasi": ["num", "day", "job"], "text": {"decimal": decimal}}
    memory = shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "memory.csv", engine="memory")
    source, target = (tmp_path / "in", tmp_path / "out") if folder else (tmp_path / "in.csv", tmp_path / "out.csv")
    disk = shoal.protect(source, recipe, output=target, engine="disk")
    assert numbered(disk.partition.labels) == numbered(memory.partition.labels)
    assert disk.audit.to_dict() == memory.audit.to_dict()
    assert disk.data.count_rows() == N
    parts = sorted(target.glob("part-*")) if folder else [target]
    lines_of = [part.read_text().splitlines() for part in parts]
    assert [lines_of[0][0], *(line for one in lines_of for line in one[1:])] == (
        (tmp_path / "memory.csv").read_text().splitlines()
    )


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


# --- row order


@pytest.mark.parametrize("more", ["weights", "exclude"])
def test_shuffled_rows_are_the_same_rows(more: str, tmp_path: Path) -> None:
    data = table(7, gaps=0.1)
    parquet.write_table(data, tmp_path / "in.parquet")
    recipe = {**recipe_of("mixed", more, "blocks"), "identifier": []}
    kept = outcome(tmp_path / "in.parquet", tmp_path / "keep.parquet", recipe, "disk")
    done = shoal.protect(
        tmp_path / "in.parquet", {**recipe, "row_order": "shuffle"}, output=tmp_path / "out.parquet", engine="disk"
    )
    before, after = (parquet.read_table(tmp_path / name) for name in ("keep.parquet", "out.parquet"))
    origin = np.arange(N) if kept["rows"] is None else np.array(kept["rows"])
    assert done.rows is not None
    assert sorted(done.rows) == sorted(origin)
    assert not np.array_equal(done.rows, origin)
    place = {row: at for at, row in enumerate(origin.tolist())}
    same = before.take(pa.array([place[row] for row in done.rows.tolist()]))
    assert cells(same) == cells(after)


@pytest.mark.parametrize("by", ["name", "digits", None])
def test_rows_in_an_order_that_reveals_something_are_shuffled(by: str | None, tmp_path: Path) -> None:
    data = table(8).take(pa.array(np.random.default_rng(0).permutation(N)))
    data = data if by is None else data.sort_by(by)
    parquet.write_table(data, tmp_path / "in.parquet")
    recipe = {**recipe_of("digits", "roles", "blocks"), "row_order": "auto"}
    found = [
        shoal.protect(tmp_path / "in.parquet", recipe, output=tmp_path / f"{engine}.parquet", engine=engine)
        for engine in ("memory", "disk")
    ]
    assert found[0].notes == found[1].notes
    assert [one.rows is None for one in found] == [by is None] * 2


# --- the exchange rule


def published(data: pa.Table, recipe: dict[str, Any], folder: Path, run: Callable[..., Any]) -> dict[str, bytes]:
    """Protect a table by command, and return every byte that may be published."""
    parquet.write_table(data, folder / "in.parquet")
    (folder / "recipe.toml").write_text(shoal.Recipe(**recipe).to_toml())
    names = ("out.parquet", "evidence.json", "report.html")
    options = [f"--{name}" for name in ("evidence", "report")]
    arguments = ["protect", folder / "in.parquet", "--recipe", folder / "recipe.toml", "--engine", "disk", "--json"]
    arguments += ["-o", folder / names[0], options[0], folder / names[1], options[1], folder / names[2]]
    with exchange["fixed_randomness"]():
        ran = run(*arguments, "--edition", "external", "--force")
    assert ran.code == 0, ran.err
    found = {name: (folder / name).read_bytes() for name in names}
    evidence = json.loads(found["evidence.json"])
    for name in ("commitment", "seal", "seconds", "written"):
        evidence.pop(name, None)
    return {**found, "evidence.json": json.dumps(evidence).encode(), "json": ran.out.encode()}


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("quasi", "more"), [("digits", "weights"), ("mixed", "strata"), ("ticks", "no weights")])
def test_an_exchange_within_a_class_changes_nothing_that_is_published(
    quasi: str, more: str, tmp_path: Path, run: Callable[..., Any]
) -> None:
    data, recipe = table(9, gaps=0.05), {**recipe_of(quasi, more, "auto"), "identifier": ["name"]}
    recipe["confidential"] = ["pay"]
    before = published(data, recipe, tmp_path, run)
    done = shoal.protect(tmp_path / "in.parquet", recipe, output=tmp_path / "a.parquet", engine="disk")
    moved = [*recipe["quasi"], "name", *([recipe["weight"]] if "weight" in recipe else [])]
    for _, i, j in itertools.islice(exchange["pairs"](data, done, np.random.default_rng(0)), 3):
        after = published(exchange["exchanged"](data, moved, i, j), recipe, tmp_path, run)
        assert [name for name in before if before[name] != after[name]] == []


# --- refusals and faults

REFUSED: dict[str, dict[str, Any]] = {
    "method": {"method": "mdav"},
    "release": {"release": "medoid"},
    "fill": {"when_missing": "fill"},
    "blocks": {"blocks": [["num"], ["whole"]]},
    "steer": {"steer": [{"by": "position", "weight": 2}]},
    "deadline": {"method": "auto", "deadline": 60},
    "small strata": {"strata": ["region"], "small_strata": "merge"},
    "together": {"method": "auto", "together": "name"},
}


@pytest.mark.parametrize("field", REFUSED)
def test_a_request_that_needs_all_records_in_memory_is_refused(
    field: str, tmp_path: Path, run: Callable[..., Any]
) -> None:
    parquet.write_table(table(), tmp_path / "in.parquet")
    recipe = {**recipe_of("numbers", "", "blocks"), "set": {}, **REFUSED[field]}
    (tmp_path / "recipe.toml").write_text(shoal.Recipe(**recipe).to_toml())
    there = {path.name for path in tmp_path.iterdir()}
    ran = run("protect", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet", "--recipe", tmp_path / "recipe.toml",
              "--engine", "disk")  # fmt: skip
    assert ran.code == 2
    assert "Disk engine: " in ran.err
    assert {path.name for path in tmp_path.iterdir()} == there


@pytest.mark.parametrize("option", ["--certify", "--repeat"])
def test_an_option_that_needs_all_records_in_memory_is_refused(
    option: str, tmp_path: Path, run: Callable[..., Any]
) -> None:
    parquet.write_table(table(), tmp_path / "in.parquet")
    (tmp_path / "receipt.json").write_text("{}")
    arguments = ["protect", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet", "--quasi", "num,whole", option]
    ran = run(*arguments, *([tmp_path / "receipt.json"] if option == "--repeat" else []), "--engine", "disk")
    assert ran.code == 2
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(("name", "code"), [("nowhere.parquet", 3), ("empty", 3), ("text.xlsx", 2)])
def test_an_input_that_cannot_be_read_in_batches_is_refused(
    name: str, code: int, tmp_path: Path, run: Callable[..., Any]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.xlsx").write_bytes(b"")
    ran = run("protect", tmp_path / name, "-o", tmp_path / "out.parquet", "--quasi", "num", "--engine", "disk")
    assert ran.code == code, ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "text.xlsx"]


def _one_value_changed(path: Path) -> None:
    data = parquet.read_table(path)
    values = data.column("num").to_numpy().copy()
    values[0] += 1_000.0
    parquet.write_table(data.set_column(data.schema.get_field_index("num"), "num", pa.array(values)), path)


def _one_row_lost(path: Path) -> None:
    data = parquet.read_table(path)
    parquet.write_table(data.slice(0, len(data) - 1), path)


def _an_identifier_added(path: Path) -> None:
    data = parquet.read_table(path)
    parquet.write_table(data.append_column("name", pa.array([f"person {i}" for i in range(len(data))])), path)


def _cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize("damage", [_one_value_changed, _one_row_lost, _an_identifier_added, _cut_short])
def test_a_file_that_changes_before_its_audit_is_not_published(
    damage: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    from shoal.flow.engines.disk import protect

    plain = protect.audit_files

    def damaged(written: Any, *given: Any, **more: Any) -> Any:
        damage(written.paths[0])
        return plain(written, *given, **more)

    monkeypatch.setattr(protect, "audit_files", damaged)
    parquet.write_table(table(), tmp_path / "in.parquet")
    arguments = ["protect", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet", "--quasi", "num,whole", "--k", 4]
    arguments += ["--identifier", "name", "--evidence", tmp_path / "e.json", "--report", tmp_path / "r.html"]
    ran = run(*arguments, "--engine", "disk")
    assert ran.code == 4, ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
