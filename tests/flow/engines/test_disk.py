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
    loss = {one.name: one.value for one in done.readings.readings if one.name.startswith(("il_sse", "sse"))}
    found = {
        "labels": numbered(done.partition.labels),
        "note": done.partition.note,
        "audit": done.audit.to_dict(),
        "loss": pytest.approx({name: one for name, one in loss.items() if "partition" not in name}, rel=1e-12),
        "left_out": done.left_out,
        "rows": None if done.rows is None else done.rows.tolist(),
        "notes": done.notes,
        "metadata": (parquet.read_schema(target).metadata or {}).keys(),
        **cells(parquet.read_table(target)),
    }
    return found if engine == "disk" else {**found, "loss": {n: one for n, one in loss.items() if "partition" not in n}}


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


@pytest.mark.parametrize(
    ("seed", "effort", "knows"),
    [(1, "default", "algorithm"), (12, "best", "algorithm"), (13, "default", "table"), (1, "best", "table")],
)
def test_the_engines_state_the_same_attacker(seed: int, effort: str, knows: str, tmp_path: Path) -> None:
    """With `blocks`, a round may part equal records, and a later one unite them or leave them in different blocks."""
    x = np.random.default_rng(seed).normal(size=(600, 2))
    x[:6] = x[6:12]
    recipe = {"version": 1, "quasi": ["a", "b"], "k": 3, "method": "blocks", "effort": effort, "set": {"size": 60}}
    found = agree(pa.table({"a": x[:, 0], "b": x[:, 1]}), {**recipe, "row_order": "keep"}, tmp_path)
    assert found["audit"]["attacker"]["knows"] == knows


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


ODD: dict[str, dict[str, Any]] = {
    "strata": {"strata": ["odd"]},
    "nominal": {"quasi": ["num", "odd"], "kinds": {"odd": "nominal"}},
    "ordinal": {"quasi": ["num", "odd"], "kinds": {"odd": "ordinal"}},
    "confidential": {"confidential": ["odd"], "kinds": {"odd": "nominal"}},
}


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
@pytest.mark.parametrize("role", ODD)
def test_the_engines_agree_on_odd_numbers(
    role: str, kind: pa.DataType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = np.array([0.0, -0.0, np.nan, 1.5])[np.random.default_rng(3).integers(0, 4, N)]
    data = table(3).append_column("odd", pa.array(odd, from_pandas=False).cast(kind))
    monkeypatch.setattr(BatchReader.read, "__defaults__", (None, 50))
    found = agree(data, {**recipe_of("one", "", "blocks"), **ODD[role]}, tmp_path)
    assert "refused" not in found
    assert ("-0.0" in found["odd"][1]) == (role in ("strata", "confidential"))  # which are released unchanged


@pytest.mark.parametrize("role", ["quasi", "confidential", "subject", "strata"])
def test_columns_of_lists_are_refused(role: str, tmp_path: Path) -> None:
    data = table(3).append_column("odd", pa.array([[i] for i in range(N)]))
    recipe = {**recipe_of("numbers", "", "auto"), role: "odd" if role == "subject" else ["odd"]}
    assert "Error: Column 'odd': " in agree_on_refusal(data, recipe, tmp_path)


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("ms"), pa.timestamp("us", "Europe/Berlin")])
@pytest.mark.parametrize("meant", ["datetime", "nominal"])
def test_dates_beyond_the_year_9999_are_refused(meant: str, kind: pa.DataType, engine: str, tmp_path: Path) -> None:
    days = pa.array([3_000_000 if i == 7 else i for i in range(N)], pa.int32())
    ticks = {"ms": 86_400_000, "us": 86_400_000_000}.get(getattr(kind, "unit", ""), 0)
    far = days.cast(kind) if not ticks else pa.array([day * ticks for day in days.to_pylist()]).cast(kind)
    parquet.write_table(table().append_column("far", far), tmp_path / "in.parquet")
    recipe = {**recipe_of("one", "", "blocks"), "quasi": ["num", "far"], "kinds": {"far": meant}}
    with pytest.raises(shoal.DataError, match="Column 'far': dates must be in the years 1 to 9999, some are not"):
        shoal.protect(tmp_path / "in.parquet", recipe, output=tmp_path / "out.parquet", engine=engine)


def agree_on_refusal(data: pa.Table, recipe: dict[str, Any], folder: Path) -> str:
    """Require that both engines refuse a table; return the sentence of the disk engine."""
    parquet.write_table(data, folder / "in.parquet")
    memory, disk = (outcome(folder / "in.parquet", folder / "out.parquet", recipe, e) for e in ("memory", "disk"))
    assert memory["refused"]
    return str(disk["refused"])


# --- places

PLACES: dict[str, dict[str, Any]] = {
    "places": {"quasi": ["lat", "lon"]},
    "beside numbers": {"quasi": ["num", "lat", "lon"]},
    "beside categories": {"quasi": ["lat", "job", "lon"]},
    "range": {"quasi": ["lat", "lon", "num"], "set": {"scale": "range"}},
    "own unit": {"quasi": ["lat", "lon", "num"], "set": {"scale": "none"}},
    "weighted": {"quasi": ["lat", "lon", "num"], "attribute_weights": {"lat": 2, "lon": 2}},
    "longitude first": {"quasi": ["lon", "lat", "num"], "strata": ["region"], "weight": "w"},
    "recoded": {"quasi": ["lat", "lon"], "recode": {"lat": {"interval": 0.5}, "lon": {"top": 12}}},
}


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("case", PLACES)
def test_the_engines_agree_on_places(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at, rng = list(PLACES).index(case), np.random.default_rng(11)
    data = table(at)
    for name, middle in (("lat", 52.0), ("lon", 10.0)):
        gaps = rng.random(N) < 0.1 * (at % 2)
        data = data.append_column(name, pa.array(np.round(rng.normal(middle, 2, N), 3), mask=gaps))
    own = PLACES[case]
    recipe = {**recipe_of("one", "", list(METHODS)[at % 4]), "coordinates": [["lat", "lon"]], **own}
    recipe["set"] = {**METHODS[list(METHODS)[at % 4]].get("set", {}), **own.get("set", {})}
    monkeypatch.setattr(BatchReader.read, "__defaults__", (None, 70))
    found = agree(data, recipe, tmp_path)
    assert "refused" not in found
    alone = agree(data, {**recipe, "coordinates": []}, tmp_path) if "recode" not in own else {"labels": []}
    assert alone["labels"] != found["labels"]  # the common scale matters


@pytest.mark.parametrize("pair", [["whole", "num"], ["num", "whole"], ["job", "num"]])
def test_the_engines_refuse_the_same_places(pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchReader.read, "__defaults__", (None, 70))
    recipe = {**recipe_of("one", "", "blocks"), "quasi": pair, "coordinates": [pair]}
    assert "degrees" in agree(table(gaps=0.1), recipe, tmp_path)["refused"]


# --- recoding

NUMBERS: dict[str, dict[str, Any]] = {
    "top": {"top": 45},
    "bottom": {"bottom": 30, "bottom_as": 25},
    "interval": {"interval": 10, "top": 60, "bottom": 20},
    "breaks": {"breaks": [0, 25, 40, 60], "top_as": 70},
}
MOMENTS: dict[str, dict[str, Any]] = {
    "top": {"top": "2001-05-04"},
    "bottom": {"bottom": "1985-01-01", "bottom_as": "1980-06-01"},
    "interval": {"interval": "month", "top": "2001-05-04T12:00:00"},
    "breaks": {"breaks": ["1970-01-01", "1990-01-01", "2000-01-01"]},
}
RECODED: dict[str, tuple[str, str, dict[str, Any]]] = {  # quasi-identifiers, another field, and what is recoded
    **{f"numbers, {how}": ("digits", "", {"num": one, "digits": {"top": 1}}) for how, one in NUMBERS.items()},
    "integers": ("numbers", "weights", {"whole": {"interval": 50, "top": 410}, "num": {"top": 50}}),
    "short": ("digits", "exclude", {"short": {"interval": 0.4}, "num": {"top": 45}}),
    "decimals": ("wide", "", {"exact": {"top": 7000}, "wide": {"top": 2**63 + 11}}),
    "days": ("moments", "", {"day": MOMENTS["interval"], "second": MOMENTS["top"]}),
    "times": ("moments", "exclude", {"day": MOMENTS["bottom"], "second": MOMENTS["breaks"]}),
    "zones": ("ticks", "strata", {"zoned": {"top": "1995-01-01"}, "tick": MOMENTS["interval"]}),
    "stored order": ("ordinal", "", {"size": {"groups": {"M": ["S", "M"]}}}),
    "top of a stored order": ("ordinal", "exclude", {"size": {"top": "M"}}),
    "declared order": ("ordinal", "", {"grade": {"groups": {"middle": ["low", "middle"]}}}),
    "both orders": ("ordinal", "strata", {"grade": {"bottom": "middle"}, "size": {"bottom": "M"}}),
    "groups": ("taxonomy", "", {"icd": {"level": 1}}),
    "groups and numbers": ("taxonomy", "exclude", {"icd": {"level": 1}, "num": {"interval": 5}}),
    "mixed": ("mixed", "resolution", {"num": NUMBERS["interval"], "day": MOMENTS["interval"], "icd": {"level": 1}}),
    "exact": ("digits", "exact", {"num": {"top": 45}}),
    "confidential": ("numbers", "roles", {"pay": {"top": 80}, "second": {"interval": "year"}}),
    "others": ("numbers", "", {"size": {"top": "M"}, "zoned": {"interval": "day"}, "exact": {"interval": 100}}),
    "strata": ("numbers", "strata", {"digits": {"bottom": -1}, "tick": {"interval": "hour"}, "num": {"top": 50}}),
}


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("case", RECODED)
def test_the_engines_agree_on_recoded_columns(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = list(RECODED).index(case)
    quasi, more, recode = RECODED[case]
    recipe = {**recipe_of(quasi, more, list(METHODS)[at % 4]), "recode": recode}
    if case == "confidential":
        recipe |= {"confidential": ["pay", "second"]}
    monkeypatch.setattr(BatchReader.read, "__defaults__", (None, (50, N)[at % 2]))
    found = agree(table(at, gaps=0.1 * (at % 3 > 0)), recipe, tmp_path)
    assert "refused" not in found
    recoded_quasi = [name for name in recode if name in recipe["quasi"]]
    assert ("il_sse_recoding" in found["loss"].expected) == bool(recoded_quasi)


@pytest.mark.parametrize("categories", ["node", "ancestor"])
def test_the_engines_agree_on_recoded_groups_of_a_taxonomy(categories: str, tmp_path: Path) -> None:
    tree = {"icd": {"AB": {"A": ["A1", "A2", "A3"], "B": ["B1", "B2"]}, "CD": {"C": ["C1"]}}}
    recipe = {**recipe_of("taxonomy", "", "blocks"), "taxonomies": tree, "recode": {"icd": {"level": 1}}}
    found = agree(table(gaps=0.1), {**recipe, "set": {"size": 90, "categories": categories}}, tmp_path)
    assert {"'AB'", "'A'"} & set(found["icd"][1])


def test_a_stored_order_that_differs_from_file_to_file_is_recoded_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for part, names in enumerate((["S", "M", "L"], ["S", "M", "L", "XL"])):
        sizes = pa.array(np.arange(200) % len(names), pa.int8())
        cats = pa.DictionaryArray.from_arrays(sizes, names, ordered=True)
        data = table(6, 200).drop_columns(["size"]).append_column("size", cats)
        parquet.write_table(data, tmp_path / "in" / f"{part}.parquet")
    for quasi in (["num"], ["num", "size"]):
        recipe = {**recipe_of("one", "", "blocks"), "quasi": quasi, "recode": {"size": {"groups": {"L": ["L", "XL"]}}}}
        shoal.protect(tmp_path / "in", recipe, output=tmp_path / "out.parquet", engine="disk", force=True)
        size = parquet.read_table(tmp_path / "out.parquet").column("size")
        assert size.unify_dictionaries().chunk(0).dictionary.to_pylist() == ["S", "M", "L"]


TEXT: dict[str, tuple[list[str], dict[str, Any]]] = {
    "numbers": (["num", "day"], {"num": NUMBERS["interval"], "whole": {"top": 400}}),
    "dates": (["num", "day"], {"day": MOMENTS["interval"], "pay": {"interval": 10}}),
    "times": (["num", "second"], {"second": {"top": "1999-12-31T12:00:00"}, "day": {"interval": "year"}}),
    "other times": (["num", "whole"], {"second": {"interval": "day"}, "num": {"top": 45.5}}),
    "confidential times": (["num", "whole"], {"mix": {"top": "1999-12-31"}, "second": {"interval": "hour"}}),
    "mixed times": (["num", "mix"], {"mix": {"interval": "month"}}),
    "groups": (["num", "icd"], {"icd": {"level": 1}}),
    "other groups": (["num", "job"], {"icd": {"level": 1}}),
    "orders": (["num", "grade"], {"grade": {"bottom": "middle"}}),
    "ordinal numbers": (["num", "rank"], {"rank": {"top": 7}}),
    "other ordinal numbers": (["num", "job"], {"rank": {"interval": 2, "top": 7}}),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("case", TEXT)
def test_recoded_text_is_protected_like_in_memory(
    case: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["num", "whole", "day", "second", "job", "icd", "grade", "pay"]
    data = table(3, gaps=0.1).select(names)
    day, second = data["day"].to_pylist(), data["second"].to_pylist()
    late = [None if i < 300 else one for i, one in enumerate(second)]  # the first batches hold days only
    data = data.append_column("mix", pa.array([_cell(a if b is None else b) for a, b in zip(day, late, strict=True)]))
    data = data.append_column("rank", pa.array(["2.5" if i == 470 else str(i % 9) for i in range(N)]))
    lines = [",".join(map(_cell, row.values())) for row in data.to_pylist()]
    (tmp_path / "in.csv").write_text("\n".join([",".join(data.column_names), *lines]) + "\n")
    quasi, recode = TEXT[case]
    recipe = {**recipe_of("taxonomy", "", "blocks"), "quasi": quasi, "recode": recode, "orders": ORDERS}
    recipe |= {"kinds": {"rank": "ordinal"}, "confidential": ["mix"] if "confidential" in case else []}
    monkeypatch.setattr(BatchReader.read, "__defaults__", (None, 70))
    done, written = {}, {}
    for engine in ("memory", "disk"):
        target = tmp_path / f"{engine}{suffix}"
        done[engine] = shoal.protect(tmp_path / "in.csv", recipe, output=target, engine=engine)
        written[engine] = target.read_text() if suffix == ".csv" else cells(parquet.read_table(target))
    memory, disk = done["memory"], done["disk"]
    assert numbered(disk.partition.labels) == numbered(memory.partition.labels)
    assert disk.audit.to_dict() == memory.audit.to_dict()
    assert disk.notes == memory.notes
    assert written["disk"] == written["memory"]
    for one in disk.readings.readings:
        assert one.value == pytest.approx(memory.readings[one.name], rel=1e-12)


@pytest.mark.parametrize(
    ("recode", "more"),
    [
        ({"nowhere": {"top": 3}}, {}),
        ({"job": {"top": 3}}, {}),
        ({"num": {"top": "2001-01-01"}, "job": {"level": 1}}, {}),
        ({"grade": {"top": "high"}}, {"orders": {"grade": ["low", "high"]}}),
        ({"size": {"top": "XXL"}}, {}),
        ({"icd": {"level": 1}}, {"taxonomies": {"icd": {"A": ["A1", "A2"], "B": ["B1"]}}}),
        ({"icd": {"level": 2}}, {"taxonomies": TREE}),
    ],
    ids=str,
)
def test_the_engines_refuse_the_same_recoding(recode: Any, more: Any, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchReader.read, "__defaults__", (None, 90))
        assert "refused" in agree(table(2), {**recipe_of("numbers", "", "blocks"), "recode": recode, **more}, tmp_path)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("more", [{"t": 0.4}, {"require": {"p": 2}}, {"subject": "name"}], ids=str)
def test_the_engines_agree_on_demands_after_recoding(more: dict[str, Any], tmp_path: Path) -> None:
    recode = {"pay": {"breaks": [0, 20, 50, 80]}, "num": {"interval": 10}}
    recipe = {**recipe_of("digits", "", "auto"), "confidential": ["pay"], "recode": recode, **more}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchReader.read, "__defaults__", (None, 90))
        assert "refused" not in agree(table(5), recipe, tmp_path)


def test_rows_that_are_sorted_by_a_value_before_recoding_are_shuffled(tmp_path: Path) -> None:
    recipe = {**recipe_of("numbers", "", "blocks"), "row_order": "auto", "recode": {"num": {"top": 0}}}
    parquet.write_table(table(8).sort_by("num"), tmp_path / "in.parquet")
    found = [
        shoal.protect(tmp_path / "in.parquet", recipe, output=tmp_path / f"{engine}.parquet", engine=engine)
        for engine in ("memory", "disk")
    ]
    assert found[0].notes == found[1].notes
    assert found[1].rows is not None


@pytest.mark.parametrize("name", ["num", "pay", "icd"])
def test_a_value_that_was_not_recoded_stops_the_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.flow.engines.disk import gate

    plain = gate.open_files

    def changed(paths: Any, text: Any) -> Any:
        files = plain(paths, text)
        data = parquet.read_table(paths[0])
        odd = {"num": 99.5, "pay": 98, "icd": "A1"}[name]
        column = pa.chunked_array([pa.array([odd] * 4, data[name].type), *data[name].slice(4).chunks])
        parquet.write_table(data.set_column(data.schema.get_field_index(name), name, column), paths[0])
        return files

    monkeypatch.setattr(gate, "open_files", changed)
    monkeypatch.setattr(gate.ColumnDigests, "different", lambda *_: [])
    parquet.write_table(table(4), tmp_path / "in.parquet")
    recode = {"num": {"top": 50}, "pay": {"interval": 10}, "icd": {"level": 1}}
    recipe = {**recipe_of("taxonomy", "", "blocks"), "recode": recode}
    with pytest.raises(shoal.GuaranteeError, match=f"Column '{name}' holds values that were not recoded"):
        shoal.protect(tmp_path / "in.parquet", recipe, output=tmp_path / "out.parquet", engine="disk")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


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
    assert numbered(done.partition.labels) == numbered(np.array(kept["labels"])[[place[row] for row in done.rows]])


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
@pytest.mark.parametrize(
    ("quasi", "more", "recode"),
    [
        ("digits", "weights", {}),
        ("mixed", "strata", {}),
        ("ticks", "no weights", {}),
        ("mixed", "", {"num": NUMBERS["interval"], "pay": {"top": 80}, "icd": {"level": 1}}),
    ],
)
def test_an_exchange_within_a_class_changes_nothing_that_is_published(
    quasi: str, more: str, recode: dict[str, Any], tmp_path: Path, run: Callable[..., Any]
) -> None:
    data = table(9, gaps=0.05)
    recipe = {**recipe_of(quasi, more, "auto"), "identifier": ["name"], "recode": recode}
    recipe["confidential"] = ["pay"]
    before = published(data, recipe, tmp_path, run)
    done = shoal.protect(tmp_path / "in.parquet", recipe, output=tmp_path / "a.parquet", engine="disk")
    moved = [*recipe["quasi"], "name", *([recipe["weight"]] if "weight" in recipe else [])]
    for _, i, j in itertools.islice(exchange["pairs"](data, done, np.random.default_rng(0)), 3):
        after = published(exchange["exchanged"](data, moved, i, j), recipe, tmp_path, run)
        assert [name for name in before if before[name] != after[name]] == []


def test_people_in_bytes_are_the_same_in_every_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a name is text does not depend on other cells of its batch."""
    names = [[b"Ann", b" ann", b"\xff", b"BOB"][at % (2 if at < 100 else 4)] for at in range(N)]
    data = table(3).append_column("who", pa.array(names))
    monkeypatch.setattr(BatchReader.read, "__defaults__", (None, 50))
    recipe = {**recipe_of("numbers", "", "auto"), "subject": "who"}
    assert "k must be at most 3, got 4" in agree_on_refusal(data, recipe, tmp_path)
    parquet.write_table(data, tmp_path / "in.parquet")
    found = [
        outcome(tmp_path / "in.parquet", tmp_path / "o.parquet", {**recipe, "k": 3}, e) for e in ("memory", "disk")
    ]
    assert found[0]["labels"] == found[1]["labels"]
    assert [one["audit"]["k"] for one in found] == [3, 3]


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


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("rows", "said"), [(N, "there must be two quasi-identifiers or more, got one"), (60, "100 records or more, got 60")]
)
def test_requirements_on_classes_of_one_block_are_refused(rows: int, said: str, tmp_path: Path) -> None:
    parquet.write_table(table().slice(0, rows), tmp_path / "in.parquet")
    recipe = {**recipe_of("one" if rows == N else "numbers", "", "auto"), "confidential": ["pay"], "t": 0.4}
    with pytest.raises(shoal.ParameterError, match=f"Disk engine: with t or require, .*{said}"):
        shoal.protect(tmp_path / "in.parquet", recipe, output=tmp_path / "out.parquet", engine="disk")


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


@pytest.mark.parametrize("given", [{"output": "in/out.parquet"}, {"output": "link/out"}, {"evidence": "in/e.json"}])
def test_nothing_is_written_into_the_input_folder(given: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    parquet.write_table(table(), tmp_path / "in" / "part.parquet")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    paths = {name: tmp_path / path for name, path in {"output": "out", **given}.items()}
    with pytest.raises(shoal.ParameterError, match="must not be in the input folder"):
        shoal.protect(tmp_path / "in", recipe_of("numbers", "", "blocks"), **paths)
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["part.parquet"]


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
