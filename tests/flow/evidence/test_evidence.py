"""Evidence and receipt: written with the output or not at all, and no value of the table is in the evidence."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.report import evidence as report
from shoal.report.evidence import seal_of

SCHEMA = Path(report.__file__).with_name("evidence.schema.json")


def table(words: list[str], n: int = 24) -> pa.Table:
    """A table whose cells are all unusual: made of words, and of numbers that nothing else would be."""
    return pa.table(
        {
            "who": [f"{words[0]}§{i}" for i in range(n)],
            "age": [7_310_000 + 37 * i for i in range(n)],
            "town": [f"{words[i % 2]}¶{i % 2}" for i in range(n)],
            "ill": [f"{words[i % 3]}‡{i % 3}" for i in range(n)],
            "w": [5.0625 + 0.03125 * i for i in range(n)],
            "pay": [914_237.5 + 11.25 * (i * i % 101) for i in range(n)],
        }
    )


def cells(data: pa.Table) -> set[str]:
    return {str(value) for name in data.column_names for value in data.column(name).to_pylist()}


WORDS = st.lists(st.text(st.characters(categories=["L", "Nd", "So"]), min_size=3, max_size=8), min_size=3, max_size=3)


@given(words=WORDS)
@settings(max_examples=15)
@pytest.mark.parametrize("how", ["plain", "names", "swap", "anatomy"])
def test_no_cell_is_in_it(how: str, words: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("e")
    data = table(words)
    ills = [f"{words[i]}‡{i}" for i in range(3)]
    towns = [f"{words[i]}¶{i}" for i in range(2)]
    recipe: dict[str, Any] = {"quasi": ["age", "town"], "confidential": ["ill", "pay"], "identifier": ["who"], "k": 4}
    recipe |= {"weight": "w"}
    if how == "names":
        recipe |= {
            "orders": {"ill": ills},
            "taxonomies": {"town": {"north": towns[:1], "south": towns[1:]}},
            "set": {"categories": "node"},
        }
    elif how != "plain":
        recipe["release"] = how
    done = shoal.protect(data, recipe)
    done.evidence(folder / "e.json")
    text = (folder / "e.json").read_text()
    left = [done.data, *([] if done.confidential is None else [done.confidential.drop_columns(["class"])])]
    for one in (data, *(table for table in left)):
        released = one.drop_columns([name for name in one.column_names if name == "class"])
        assert not [cell for cell in cells(released) if cell in text]
    assert not re.search(r"\b(north|south)\b", text)


def test_what_it_says(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    shoal.write_table(table(["one", "two", "three"]), source)
    recipe = shoal.Recipe(quasi=("age", "town"), confidential=("pay",), identifier=("who",), k=4, seed=3)
    papers = {"evidence": tmp_path / "e.json", "receipt": tmp_path / "r.json"}
    done = shoal.protect_file(source, target, recipe, **papers)
    said = json.loads((tmp_path / "e.json").read_text())
    assert said["outputs"] == [
        {
            "name": "out.csv",
            "of": "bytes",
            "bytes": target.stat().st_size,
            "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
            "records": 24,
        }
    ]
    kept = json.loads((tmp_path / "r.json").read_text())
    nonce = bytes.fromhex(kept["commitment"]["nonce"])
    committed = hashlib.sha256(nonce + hashlib.sha256(source.read_bytes()).digest()).hexdigest()
    assert said["commitment"] == {"of": "bytes", "sha256": committed}
    assert kept["commitment"] == {**said["commitment"], "nonce": nonce.hex()}
    assert nonce.hex() not in (tmp_path / "e.json").read_text()
    assert "in.csv" not in (tmp_path / "e.json").read_text()
    assert (said["fingerprint"], said["seed"]) == (recipe.fingerprint, 3)
    assert said["recipe"] == recipe.to_dict()
    assert said["audit"] == done.audit.to_dict()
    assert len(said["findings"]) == len(done.audit.findings)
    assert sum(size * count for size, count in said["class_sizes"]["sizes"]) == 24
    assert said["class_sizes"]["sizes"][0][0] == done.audit.to_dict()["k"]
    assert {"Python", "shoal", "numpy", "pyarrow", "numba"} <= set(said["versions"])
    names = {"il_sse", "mae", "mse", "sse", "il_sse_partition", "sse_partition"}
    assert said["readings"] == done.published.to_dict() == {}  # about 24 records nothing is published
    assert set(done.printed.to_dict()) == names
    for name, value in done.printed.to_dict().items():
        assert value == float(f"{done.readings[name]:.3g}") != done.readings[name]


@pytest.mark.parametrize("release", ["swap", "anatomy", "laplace"])
def test_no_reading_accompanies_releases_that_it_would_help_to_undo(release: str, tmp_path: Path) -> None:
    noise = {"epsilon": 1.0, "bounds": {"age": [0, 9_000_000]}} if release == "laplace" else {}
    recipe = {"quasi": ["age"], "confidential": ["pay"], "k": 4, "release": release, **noise}
    done = shoal.protect(table(["one", "two", "three"]), recipe, certify=True)
    done.evidence(tmp_path / "e.json")
    said = json.loads((tmp_path / "e.json").read_text())
    assert (said["readings"], done.published.readings, "certificate" in said) == ({}, (), False)
    assert done.readings["sse"] >= 0  # who has the original may read all


def test_a_certificate_is_printed_with_three_digits_and_published_coarsely(tmp_path: Path) -> None:
    done = shoal.protect(table(["one", "two", "three"]), {"quasi": ["age", "pay"], "k": 4}, certify=True)
    done.evidence(tmp_path / "e.json")
    full = done.certificate
    assert full is not None
    assert "certificate" not in json.loads((tmp_path / "e.json").read_text())  # about 24 records
    said, coarse = full.printed, full.coarse(1000, 2)
    for name in ("sse", "sse_bound", "il", "il_bound"):
        assert said[name] == float(f"{full.to_dict()[name]:.3g}") != full.to_dict()[name]
    assert said["gap"] == pytest.approx(full.gap, abs=0.05)
    assert coarse["il"] >= full.to_dict()["il"] >= full.il_bound >= coarse["il_bound"]
    assert {coarse[name] % 10.0 for name in ("il", "il_bound")} == {coarse["sse"] % 200.0} == {0.0}


def test_evidence_with_losses_of_three_digits_is_still_verified(tmp_path: Path) -> None:
    done = shoal.protect(table(["one", "two", "three"]), {"quasi": ["age"], "k": 4})
    done.evidence(tmp_path / "e.json")
    earlier = {**json.loads((tmp_path / "e.json").read_text()), "readings": done.printed.to_dict()}
    assert earlier["readings"]
    (tmp_path / "earlier.json").write_text(json.dumps({**earlier, "seal": seal_of(earlier)}))
    for name in ("e.json", "earlier.json"):
        assert shoal.verify(tmp_path / name, done.data).holds


def test_salt_and_nonce_are_new_every_time(tmp_path: Path) -> None:
    done = shoal.protect(table(["one", "two", "three"]), {"quasi": ["age"], "k": 4})
    for name in ("a.json", "b.json"):
        done.evidence(tmp_path / name, receipt=tmp_path / f"receipt_{name}")
    one, other = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert one["salt"] != other["salt"]
    assert one["commitment"] != other["commitment"]
    assert one["outputs"] == other["outputs"]


def test_nobody_can_test_guesses_of_the_input(tmp_path: Path) -> None:
    """Without a receipt nothing in the evidence depends on the input beyond the release; with one, only the nonce."""
    done = shoal.protect(table(["one", "two", "three"]), {"quasi": ["age"], "k": 4})
    done.evidence(tmp_path / "e.json", receipt=tmp_path / "r.json")
    said = (tmp_path / "e.json").read_text()
    plain = done.proof().receipt().commitment
    assert len(plain.nonce) == 32
    assert json.loads(said)["salt"] != json.loads((tmp_path / "r.json").read_text())["commitment"]["nonce"]


class TestReceipt:
    RECIPE = {"quasi": ["age"], "k": 4}  # noqa: RUF012

    def write(self, folder: Path) -> Path:
        shoal.write_table(table(["one", "two", "three"]), folder / "in.csv")
        return folder / "in.csv"

    def test_only_its_owner_reads_it(self, tmp_path: Path) -> None:
        source, receipt = self.write(tmp_path), tmp_path / "r.json"
        receipt.write_text("mine")
        receipt.chmod(0o644)
        with pytest.raises(shoal.ParameterError, match="already exists"):
            shoal.protect_file(source, tmp_path / "out.csv", self.RECIPE, receipt=receipt)
        assert (receipt.read_text(), (tmp_path / "out.csv").exists()) == ("mine", False)
        shoal.protect_file(source, tmp_path / "out.csv", self.RECIPE, receipt=receipt, force=True)
        assert stat.S_IMODE(receipt.stat().st_mode) == 0o600
        shoal.protect_file(source, tmp_path / "b.csv", self.RECIPE, receipt=tmp_path / "new.json")
        assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o600
        assert not (tmp_path / "e.json").exists()

    def test_with_the_output_or_not_at_all(self, tmp_path: Path) -> None:
        source = self.write(tmp_path)
        recipe = {"quasi": ["age"], "confidential": ["ill"], "k": 4, "require": {"p": 4}}
        with pytest.raises(shoal.ShoalError):
            shoal.protect_file(source, tmp_path / "out.csv", recipe, receipt=tmp_path / "r.json")
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]

    def test_of_a_file_it_must_be_asked_for_in_time(self, tmp_path: Path) -> None:
        done = shoal.protect_file(self.write(tmp_path), tmp_path / "out.csv", self.RECIPE)
        with pytest.raises(shoal.ParameterError, match=r"Receipt: .* Write protect_file\(…, receipt=…\)"):
            done.receipt(tmp_path / "r.json")

    def test_the_name_must_end_in_json(self, tmp_path: Path) -> None:
        with pytest.raises(shoal.ParameterError, match=r"a receipt must end in \.json"):
            shoal.protect_file(self.write(tmp_path), tmp_path / "o.csv", self.RECIPE, receipt=tmp_path / "r.txt")

    @pytest.mark.parametrize("column", ["subject", "together"])
    def test_classes_as_keyed_digests_of_subjects(self, column: str, tmp_path: Path) -> None:
        from shoal.flow.evidence.receipt import of_name

        absent = None if column == "subject" else "gus"
        people = pa.table({"who": ["ann", "ann ", absent, "bob", "cid", "dan", "eve", "fay"], "age": range(8)})
        done = shoal.protect(people, {"quasi": ["age"], "k": 2, column: "who"})
        done.receipt(tmp_path / "r.json")
        kept = json.loads((tmp_path / "r.json").read_text())["classes"]
        key, labels = bytes.fromhex(kept["key"]), done.partition.labels
        names = [(name or "").strip() for name in people["who"].to_pylist()]
        assert kept["members"] == [
            sorted({of_name(key, names[i]) for i in np.flatnonzero(labels == one)})
            for one in range(len(done.partition))
        ]
        assert "ann" not in (tmp_path / "r.json").read_text()

    def test_without_a_subject_there_are_no_classes_in_it(self, tmp_path: Path) -> None:
        shoal.protect(table(["one", "two", "three"]), self.RECIPE).receipt(tmp_path / "r.json")
        kept = json.loads((tmp_path / "r.json").read_text())
        assert (kept["format"], kept["classes"], kept["swap_key"], kept["permutation"]) == (1, None, None, None)


def exchanged(data: pa.Table, one: int, other: int) -> pa.Table:
    """Exchange all that belongs to the person: quasi-identifiers, and who it is."""
    order = np.arange(data.num_rows)
    order[[one, other]] = order[[other, one]]
    for name in ("who", "age", "town"):
        data = data.set_column(data.column_names.index(name), name, data[name].take(pa.array(order)))
    return data


@pytest.mark.parametrize("release", ["centroid", "medoid"])
def test_an_exchange_of_two_members_changes_the_commitment_only(
    release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    place = rng.permutation(36)  # twelve classes that lie far apart, so that no tie decides
    data = pa.table(
        {
            "who": [f"p{i}" for i in range(36)],
            "age": place // 3 * 64 + place % 3 * 8,
            "town": (place // 3) ** 2 * 16 + rng.integers(0, 8, 36),
            "pay": rng.integers(0, 900, 36),
        }
    )
    recipe = {
        "quasi": ["age", "town"],
        "confidential": ["pay"],
        "identifier": ["who"],
        "k": 3,
        "release": release,
        "orders": {"pay": [str(i) for i in range(1000)]},
    }
    monkeypatch.setattr("shoal.secret.fresh", lambda size=32: bytes(size))

    def papers(data: pa.Table, name: str) -> tuple[dict[str, Any], str, np.ndarray]:
        done = shoal.protect(data, recipe)
        done.evidence(tmp_path / f"{name}.json", receipt=tmp_path / f"receipt_{name}.json")
        done.report(tmp_path / f"{name}.html", edition="external")
        said = json.loads((tmp_path / f"{name}.json").read_text())
        return said, (tmp_path / f"{name}.html").read_text(), done.partition.labels

    said, page, labels = papers(data, "first")
    for number in range(6):
        one, other = np.flatnonzero(labels == number)[:2].tolist()
        again, other_page, _ = papers(exchanged(data, one, other), f"other{number}")
        assert [name for name in said if said[name] != again[name]] == ["commitment", "seal"]
        assert other_page == page


class TestBothOrNeither:
    def test_nothing_where_the_guarantee_is_not_met(self, tmp_path: Path) -> None:
        shoal.write_table(table(["one", "two", "three"]), tmp_path / "in.csv")
        recipe = {"quasi": ["age"], "confidential": ["ill"], "k": 4, "require": {"p": 4}}
        with pytest.raises(shoal.ShoalError):
            shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe, evidence=tmp_path / "e.json")
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]

    def test_nothing_where_the_evidence_cannot_be_made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise shoal.EngineError("no")

        shoal.write_table(table(["one", "two", "three"]), tmp_path / "in.csv")
        monkeypatch.setattr("shoal.flow.protect.files.evidence_of", broken)
        with pytest.raises(shoal.EngineError):
            shoal.protect_file(
                tmp_path / "in.csv", tmp_path / "out.csv", {"quasi": ["age"]}, evidence=tmp_path / "e.json"
            )
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]

    def test_an_evidence_that_is_there_is_not_replaced(self, tmp_path: Path) -> None:
        shoal.write_table(table(["one", "two", "three"]), tmp_path / "in.csv")
        (tmp_path / "e.json").write_text("mine")
        with pytest.raises(shoal.ParameterError, match="already exists"):
            shoal.protect_file(
                tmp_path / "in.csv", tmp_path / "out.csv", {"quasi": ["age"]}, evidence=tmp_path / "e.json"
            )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["e.json", "in.csv"]

    def test_the_name_must_end_in_json(self, tmp_path: Path) -> None:
        shoal.write_table(table(["one", "two", "three"]), tmp_path / "in.csv")
        with pytest.raises(shoal.ParameterError, match=r"must end in \.json"):
            shoal.protect_file(tmp_path / "in.csv", tmp_path / "o.csv", {"quasi": ["age"]}, evidence=tmp_path / "e.txt")


@pytest.mark.parametrize("release", ["centroid", "swap", "anatomy"])
def test_it_fits_the_json_schema(release: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    recipe = {"quasi": ["age"], "confidential": ["ill", "pay"], "k": 4, "release": release}
    done = shoal.protect(table(["one", "two", "three"]), recipe, certify=release == "centroid")
    done.evidence(tmp_path / "e.json")
    said = json.loads((tmp_path / "e.json").read_text())
    jsonschema.validate(said, schema)
    for name in schema["required"]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value for key, value in said.items() if key != name}, schema)
    assert set(schema["required"]) == {"format", *report._FIELDS}
