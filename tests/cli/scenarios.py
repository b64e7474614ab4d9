"""What people get wrong, one scenario each: how it comes about, and the command they typed.

A scenario arranges files in an empty folder and returns the arguments of the command. ``SECRET`` is planted
wherever a value could be: it must never be printed.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SECRET = "31415926"
PEOPLE = "name,age,income,region\n" + "".join(f"{SECRET}{i},{20 + i},{SECRET}.{i},{'ns'[i % 2]}\n" for i in range(12))
RECIPE = {"quasi": ["age", "income"], "identifier": ["name"], "k": 3}

Arrange = Callable[[Path], list[str]]
SCENARIOS: dict[str, tuple[int, Arrange]] = {}
VARIABLES: dict[str, dict[str, str]] = {}  # of the environment, where a scenario sets any


def scenario(title: str, code: int, **variables: str) -> Callable[[Arrange], Arrange]:
    def add(arrange: Arrange) -> Arrange:
        SCENARIOS[title] = (code, arrange)
        VARIABLES[title] = variables
        return arrange

    return add


def command(folder: Path, *more: str, text: str | bytes = PEOPLE, quasi: str = "age,income") -> list[str]:
    source = folder / "people.csv"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    return ["protect", "people.csv", "-o", "out.csv", "--quasi", quasi, "--k", "3", *more]


@scenario("Missing file", 3)
def _(folder: Path) -> list[str]:
    return ["protect", "people.csv", "-o", "out.csv", "--quasi", "age"]


@scenario("A folder in place of a file", 3)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").mkdir()
    return ["protect", "people.csv", "-o", "out.csv", "--quasi", "age"]


@scenario("Unknown format", 2)
def _(folder: Path) -> list[str]:
    (folder / "people.doc").write_text(PEOPLE)
    return ["protect", "people.doc", "-o", "out.csv", "--quasi", "age"]


@scenario("Empty file", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="")


@scenario("Header only", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="name,age,income,region\n")


@scenario("Ragged rows", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text=PEOPLE + f"{SECRET},1\n" + PEOPLE.split("\n")[1] + f"\n{SECRET},1,2,3,4\n")


@scenario("Unclosed quote", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text=PEOPLE + f'"{SECRET},1,2,3\n')


@scenario("Duplicate column names", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text=PEOPLE.replace("region", "age", 1))


@scenario("A first line that names the delimiter", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text=f"sep=,\n{PEOPLE}")


@scenario("Unnamed column", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text=PEOPLE.replace("region", "", 1))


@scenario("Not UTF-8", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text=PEOPLE.encode() + f"Jos\xe9{SECRET},50,1,n\n".encode("latin-1"))


@scenario("Unknown encoding", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--encoding", "klingon")


@scenario("A delimiter of two characters", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--delimiter", "||")


@scenario("A damaged Parquet file", 3)
def _(folder: Path) -> list[str]:
    pq.write_table(pa.table({"age": [1, 2, 3]}), folder / "people.parquet")
    (folder / "people.parquet").write_bytes((folder / "people.parquet").read_bytes()[:-9])
    return ["protect", "people.parquet", "-o", "out.csv", "--quasi", "age"]


@scenario("A damaged SPSS file", 3)
def _(folder: Path) -> list[str]:
    (folder / "people.sav").write_text(PEOPLE)
    return ["protect", "people.sav", "-o", "out.csv", "--quasi", "age"]


@scenario("A name that Stata does not allow", 3)
def _(folder: Path) -> list[str]:
    arguments = command(folder, text=PEOPLE.replace("region", "the region", 1))
    return ["out.dta" if argument == "out.csv" else argument for argument in arguments]


@scenario("Text that SPSS does not keep", 3)
def _(folder: Path) -> list[str]:
    arguments = command(folder, text=PEOPLE.replace(",n\n", ",n \n"))
    return ["out.sav" if argument == "out.csv" else argument for argument in arguments]


@scenario("Unknown column", 3)
def _(folder: Path) -> list[str]:
    return command(folder, quasi="age,incme")


@scenario("A column with two roles", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "age")


@scenario("A recipe with a misspelt quasi", 2)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "r.toml").write_text('quazi = ["age"]\n')
    return ["protect", "people.csv", "-o", "out.csv", "--recipe", "r.toml"]


@scenario("No quasi-identifier", 2)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    return ["protect", "people.csv", "-o", "out.csv"]


@scenario("Text in a numeric column", 3)
def _(folder: Path) -> list[str]:
    rows = PEOPLE.split("\n")
    rows[4] = f"x,{SECRET}x,1,n"
    rows[9] = f"x,?{SECRET},1,n"
    return command(folder, text="\n".join(rows))


@scenario("NaN and infinities as text", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text=PEOPLE + "x,nan,5,n\ny,40,inf,n\n")


@scenario("NaN and infinities as numbers", 3)
def _(folder: Path) -> list[str]:
    pq.write_table(pa.table({"age": [1.0, np.inf, 3.0, np.nan, 5.0, 6.0]}), folder / "people.parquet")
    return ["protect", "people.parquet", "-o", "out.parquet", "--quasi", "age", "--k", "3"]


@scenario("A quasi-identifier without any value", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="age,region\n" + "".join(f"{20 + i},\n" for i in range(9)), quasi="age,region")


@scenario("Every record excluded", 3)
def _(folder: Path) -> list[str]:
    text = "age,income\n" + "1,\n,2\n" * 6
    return command(folder, "--when-missing", "exclude", text=text)


@scenario("Unknown treatment of missing values", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--when-missing", "drop")


@scenario("A category that is not in the order", 3)
def _(folder: Path) -> list[str]:
    text = "age,pay\n" + "".join(f"{20 + i},{('low', 'high', SECRET)[i % 3]}\n" for i in range(9))
    return command(folder, "--order", "pay=low,high", text=text, quasi="age,pay")


@scenario("A category that is not in the taxonomy", 3)
def _(folder: Path) -> list[str]:
    (folder / "regions.csv").write_text("n;north;*\n")
    return command(folder, "--taxonomy", "region=regions.csv", quasi="age,region")


@scenario("A taxonomy file that is not a tree", 3)
def _(folder: Path) -> list[str]:
    (folder / "regions.csv").write_text("n;coast;north;*\ns;coast;south;*\n")
    return command(folder, "--taxonomy", "region=regions.csv", quasi="age,region")


@scenario("A damaged taxonomy file", 3)
def _(folder: Path) -> list[str]:
    (folder / "regions.json").write_text('{"north": ["n"')
    return command(folder, "--taxonomy", "region=regions.json", quasi="age,region")


@scenario("The weight of an attribute below 0", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--attribute-weight", "age=-1")


@scenario("Nonexistent date", 3)
def _(folder: Path) -> list[str]:
    rows = "".join(f"2020-01-{i:02d}\n" for i in range(1, 9))
    return command(folder, text="born\n" + rows + "2021-02-31\n", quasi="born")


@scenario("k below 2", 2)
def _(folder: Path) -> list[str]:
    return [*command(folder)[:-1], "1"]


@scenario("k above the number of records", 3)
def _(folder: Path) -> list[str]:
    return [*command(folder)[:-1], "13"]


@scenario("One row", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="\n".join(PEOPLE.split("\n")[:2]) + "\n")


@scenario("A stratum below k", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--strata", "region", text=PEOPLE + f"{SECRET},44,5,island\n")


@scenario("Negative weights", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--weight", "w", text="age,income,w\n" + "".join(f"{i},{i},{i - 3}\n" for i in range(9)))


@scenario("Unknown method", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--method", "mdva")


@scenario("Unknown release", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--release", "centre")


@scenario("Two tables without a confidential column", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--release", "anatomy")


@scenario("Two tables with rows in the order of a confidential column", 4)
def _(folder: Path) -> list[str]:
    rows = "".join(f"{i * 7 % 30},{i % 5},{i}\n" for i in range(30))
    return command(
        folder, "--release", "anatomy", "--confidential", "pay", "--row-order", "keep", text=f"age,income,pay\n{rows}"
    )


@scenario("Unknown parameter", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--set", "round=true")


@scenario("A parameter out of its range", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--set", "scale=big")


@scenario("A parameter without a value", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--set", "scale")


@scenario("Threads that are not a number", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--threads", "many")


@scenario("No thread at all, by a variable", 2, SHOAL_THREADS="0")
def _(folder: Path) -> list[str]:
    return command(folder)


@scenario("A folder for kernels that others may write to", 2)
def _(folder: Path) -> list[str]:
    (folder / "kernels").mkdir()
    (folder / "kernels").chmod(0o777)
    return ["warm", "--cache", "kernels"]


@scenario("A file in place of a folder for kernels", 5)
def _(folder: Path) -> list[str]:
    (folder / "kernels").write_text("")
    return ["warm", "--cache", "kernels", "--only", "method mdav"]


@scenario("Kernels for an unknown processor", 2)
def _(folder: Path) -> list[str]:
    return ["warm", "--cpu", "z80"]


@scenario("Kernels of an unknown feature", 2)
def _(folder: Path) -> list[str]:
    return ["warm", "--only", "mdav"]


@scenario("Unknown kind", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--kind", "age=numeric")


@scenario("Blocks that overlap", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--block", "age,income", "--block", "age")


@scenario("Missing recipe file", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--recipe", "r.toml")


@scenario("A recipe that is not TOML", 2)
def _(folder: Path) -> list[str]:
    (folder / "r.toml").write_text("k = five\n")
    return command(folder, "--recipe", "r.toml")


@scenario("A recipe with an unknown field", 2)
def _(folder: Path) -> list[str]:
    (folder / "r.toml").write_text('quasi = ["age"]\nkk = 5\n')
    return command(folder, "--recipe", "r.toml")


@scenario("A recipe of a newer version", 2)
def _(folder: Path) -> list[str]:
    (folder / "r.toml").write_text('version = 2\nquasi = ["age"]\nfuture = "unknown"\n')
    return command(folder, "--recipe", "r.toml")


@scenario("Output equal to input", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["protect", "people.csv", "-o", "./people.csv", "--quasi", "age", "--force"]


@scenario("Output that exists", 2)
def _(folder: Path) -> list[str]:
    (folder / "out.csv").write_text("precious")
    return command(folder)


@scenario("Output that is a folder", 2)
def _(folder: Path) -> list[str]:
    (folder / "out.csv").mkdir()
    return command(folder, "--force")


@scenario("Output of an unknown format", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["protect", "people.csv", "-o", "out.xyz", "--quasi", "age"]


@scenario("Output in a missing folder", 5)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["protect", "people.csv", "-o", "new/out.csv", "--quasi", "age"]


@scenario("A subject with many records", 3)
def _(folder: Path) -> list[str]:
    rows = "".join(f"{SECRET},{20 + i},{i}\n" for i in range(9))
    return command(folder, "--subject", "person", text="person,age,income\n" + rows)


@scenario("One person in several spellings", 3)
def _(folder: Path) -> list[str]:
    rows = "".join(f"{name},{20 + i},{i}\n" for i, name in enumerate(["Ann", "ANN", "ann", "Bo", "BO", "bo"]))
    return command(folder, "--subject", "person", text="person,age,income\n" + rows)


@scenario("A household in two spellings whose rent differs", 3)
def _(folder: Path) -> list[str]:
    rows = "".join(f"{name},{20 + i},{i}\n" for i, name in enumerate(["a", "A", "b", "c", "d", "e"]))
    more = ("--together", "home", "--household-level", "income")
    return command(folder, *more, text="home,age,income\n" + rows)


@scenario("Exact spellings without a subject", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--subject-exact")


@scenario("A taxonomy with two spellings of a value", 3)
def _(folder: Path) -> list[str]:
    (folder / "regions.toml").write_text('north = ["n", "N"]\nsouth = ["s"]\n')
    return command(folder, "--taxonomy", "region=regions.toml", quasi="age,region")


@scenario("Audit: a requirement that does not hold", 4)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", "k=2"]


@scenario("Audit: a model without its second word", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", "l=2"]


@scenario("Audit: unknown model", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", "kk=2"]


@scenario("Audit: a level that is not a number", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", "k=five"]


@scenario("Audit: a count of people without a population", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", "k_map=2"]


@scenario("A population without a quasi-identifier", 3)
def _(folder: Path) -> list[str]:
    (folder / "register.csv").write_text("age\n" + "".join(f"{age}\n" for age in range(20, 50)))
    return command(folder, "--population", "register.csv")


@scenario("A population that lacks people of the table", 3)
def _(folder: Path) -> list[str]:
    (folder / "register.csv").write_text("age\n20\n21\n")
    return command(folder, "--population", "register.csv", quasi="age")


@scenario("Too few people of the population in a combination", 4)
def _(folder: Path) -> list[str]:
    (folder / "register.csv").write_text("age\n" + "".join(f"{20 + i}\n" for i in range(12)))
    return command(folder, "--population", "register.csv", "--require", "k_map=9", quasi="age")


def _receipt(folder: Path, permutation: list[int]) -> list[str]:
    commitment = {"of": "bytes", "nonce": "00" * 32, "sha256": "00" * 32}
    values = {"format": 1, "commitment": commitment, "swap_key": None, "permutation": permutation, "classes": None}
    (folder / "r.json").write_text(json.dumps(values))
    (folder / "masked.csv").write_text(PEOPLE)
    command(folder)
    return ["compare", "people.csv", "masked.csv", "--columns", "age", "--receipt", "r.json"]


@scenario("Compare: the receipt of other tables", 3)
def _(folder: Path) -> list[str]:
    return _receipt(folder, list(range(13)))


@scenario("Compare: a key and a receipt", 2)
def _(folder: Path) -> list[str]:
    return [*_receipt(folder, list(range(12))), "--key", "name"]


@scenario("Compare: different numbers of rows", 3)
def _(folder: Path) -> list[str]:
    command(folder)
    (folder / "other.csv").write_text(PEOPLE + "x,1,1,n\n")
    return ["compare", "people.csv", "other.csv", "--columns", "age"]


@scenario("List: an unknown list", 2)
def _(folder: Path) -> list[str]:
    return ["list", "method"]


@scenario("Audit: an empty requirement", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", ","]


@scenario("A model required twice", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", "k=9,k_anonymity=2"]


@scenario("Compare: no columns", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["compare", "people.csv", "people.csv", "--columns", ""]


@scenario("Compare: neither columns nor a recipe", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["compare", "people.csv", "people.csv"]


@scenario("A subject without a name, as from an unset variable of the shell", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--subject", "")


@scenario("An unknown attacker", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--attacker", "spy")


@scenario("A run that fails its replays", 4)
def _(folder: Path) -> list[str]:
    more = ("--confidential", "income", "--identifier", "name", "--t", "0.3", "--method", "t_first")
    return command(folder, *more, "--require", "exchangeability=9", quasi="age")


@scenario("A deadline that is not a time", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--deadline", "soon")


@scenario("A deadline of a run that is repeated", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--deadline", "60s", "--require", "exchangeability=2")


@scenario("Two efforts", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--effort", "fast", "--refine", "best")


@scenario("Exchangeability of several blocks", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--block", "age", "--block", "income", "--require", "exchangeability=2")


@scenario("Explore: only methods that look at single records' values", 4)
def _(folder: Path) -> list[str]:
    command(folder)
    tried = ("--confidential", "income", "--t", "0.4", "--methods", "t_first", "--k", "3")
    return ["explore", "people.csv", "--quasi", "age", *tried, "--save-recipe", "best.toml"]


def _attack(folder: Path, *more: str) -> list[str]:
    command(folder)
    return ["attack", "people.csv", "people.csv", *more]


@scenario("Attack: no roles of columns", 2)
def _(folder: Path) -> list[str]:
    return _attack(folder)


@scenario("Attack: three released files", 2)
def _(folder: Path) -> list[str]:
    return _attack(folder, "people.csv", "people.csv", "--quasi", "age")


@scenario("Attack: an unknown attack", 2)
def _(folder: Path) -> list[str]:
    return _attack(folder, "--quasi", "age", "--only", "link")


@scenario("Attack: a release of another table", 3)
def _(folder: Path) -> list[str]:
    (folder / "other.csv").write_text("colour\nred\n")
    command(folder)
    return ["attack", "people.csv", "other.csv", "--quasi", "age"]


@scenario("Attack: a receipt of another release", 3)
def _(folder: Path) -> list[str]:
    (folder / "two.csv").write_text("age,job\n30,a\n31,b\n")
    commitment = {"of": "bytes", "sha256": "0" * 64, "nonce": "0" * 64}
    receipt = {"format": 1, "commitment": commitment, "swap_key": None, "permutation": [1, 0], "classes": None}
    (folder / "r.json").write_text(json.dumps(receipt))
    return ["attack", "two.csv", "two.csv", "--quasi", "age", "--receipt", "r.json"]


@scenario("Attack: evidence that is not JSON", 3)
def _(folder: Path) -> list[str]:
    (folder / "e.json").write_text(SECRET + "x")
    return _attack(folder, "--evidence", "e.json")


@scenario("Attack: evidence without a recipe", 3)
def _(folder: Path) -> list[str]:
    (folder / "e.json").write_text("{}")
    return _attack(folder, "--evidence", "e.json")


@scenario("Attack: evidence that does not exist", 3)
def _(folder: Path) -> list[str]:
    return _attack(folder, "--evidence", "e.json")


@scenario("Explore: neither quasi-identifiers nor a recipe", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["explore", "people.csv"]


@scenario("Explore: class sizes that are not numbers", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["explore", "people.csv", "--quasi", "age,income", "--k", "3,many"]


@scenario("Explore: a measure that is not a percentage", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["explore", "people.csv", "--quasi", "age,income", "--loss", "mae"]


@scenario("Explore: no setting can be run", 3)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["explore", "people.csv", "--quasi", "age,income", "--k", "20,30", "-o", "page.html"]


@scenario("Explore: a limit that no setting keeps", 4)
def _(folder: Path) -> list[str]:
    command(folder)
    limits = ["--methods", "mdav", "--k", "3", "--max-risk", "0", "--save-recipe", "best.toml", "-o", "page.html"]
    return ["explore", "people.csv", "--quasi", "age,income", *limits]


@scenario("Explore: all settings are weaker than the recipe", 4)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "r.toml").write_text('quasi = ["age", "income"]\nk = 5\n')
    tried = ["--k", "2,3", "--methods", "mdav"]
    return ["explore", "people.csv", "--recipe", "r.toml", *tried, "-o", "page.html", "--save-recipe", "best.toml"]


@scenario("Explore: a page that would replace the input", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["explore", "people.csv", "--quasi", "age,income", "-o", "people.csv", "--force"]


def targeted(folder: Path, target: str, *more: str, text: str = PEOPLE) -> list[str]:
    """Return the command that ranks releases by models of a column."""
    (folder / "people.csv").write_text(text)
    return ["explore", "people.csv", "--quasi", "age,income", "--target", target, *more, "-o", "page.html"]


@scenario("Explore: a target that is not a column", 2)
def _(folder: Path) -> list[str]:
    return targeted(folder, "regoin")


@scenario("Explore: a target that is a quasi-identifier", 2)
def _(folder: Path) -> list[str]:
    return targeted(folder, "income")


@scenario("Explore: a target that is removed", 2)
def _(folder: Path) -> list[str]:
    return targeted(folder, "name", "--identifier", "name")


@scenario("Explore: a target with one value", 3)
def _(folder: Path) -> list[str]:
    rows = "".join(f"{i},{i * 7 % 50},north\n" for i in range(50))
    return targeted(folder, "region", text="age,income,region\n" + rows)


@scenario("Explore: a target with too many classes", 3)
def _(folder: Path) -> list[str]:
    rows = "".join(f"{i},{i * 7 % 50},c{i}\n" for i in range(50))
    return targeted(folder, "region", text="age,income,region\n" + rows)


@scenario("Explore: a target with a rare class", 3)
def _(folder: Path) -> list[str]:
    rows = "".join(f"{i},{i * 7 % 50},{SECRET}{i > 46}\n" for i in range(50))
    return targeted(folder, "region", text="age,income,region\n" + rows)


@scenario("Explore: releases without a target", 2)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    return ["explore", "people.csv", "--quasi", "age,income", "--releases", "swap"]


@scenario("Explore: ε and a target", 2)
def _(folder: Path) -> list[str]:
    return targeted(folder, "region", "--epsilon", "1", "--bounds", "age=0:120,income=0:100000")


@scenario("An impossible date format", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--datetime", "%s")


@scenario("Text options for a file that is not text", 2)
def _(folder: Path) -> list[str]:
    pq.write_table(pa.table({"age": [1, 2, 3]}), folder / "people.parquet")
    return ["protect", "people.parquet", "-o", "out.parquet", "--quasi", "age", "--k", "3", "--delimiter", ";"]


@scenario("A recipe that would replace the input", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--save-recipe", "people.csv", "--force")


@scenario("A demonstration that would replace files", 2)
def _(folder: Path) -> list[str]:
    (folder / "survey.csv").write_text(SECRET)
    return ["demo", "."]


@scenario("An undeclared decimal comma", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="age;income\n" + "".join(f"{20 + i};{SECRET},{i}\n" for i in range(9)))


@scenario("An undeclared thousands separator", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="age;income\n" + "".join(f"{20 + i};31.415.926,{i}\n" for i in range(9)))


@scenario("Separators that do not group thousands", 3)
def _(folder: Path) -> list[str]:
    text = "age;income\n" + "".join(f"{20 + i};{'31.41.5926' if i == 4 else '3.141'},{i}\n" for i in range(9))
    return command(folder, "--decimal", ",", "--thousands", ".", text=text)


@scenario("A decimal point that also separates thousands", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--thousands", ".")


@scenario("Undeclared dates", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="age;income\n" + "".join(f"{20 + i}.01.2024;{i}\n" for i in range(9)))


@scenario("Dates with an ambiguous order of day and month", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="age;income\n" + "".join(f"0{1 + i}/01/2024;{i}\n" for i in range(9)))


@scenario("Names that differ in blanks only", 3)
def _(folder: Path) -> list[str]:
    return command(folder, text="age;age ;income\n1;2;3\n")


@scenario("Unknown steering", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--steer", "county:column=region")


@scenario("A steering without its column", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--steer", "region:weight=2")


@scenario("A method that cannot be steered", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--method", "optimal_univariate", "--steer", "position", quasi="age")


@scenario("Steered by a column of text", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--steer", "column:column=region")


@scenario("t outside 0 … 1", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "income", "--t", "1.5", quasi="age")


@scenario("t without a confidential column", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--t", "0.2")


@scenario("n without t", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "income", "--n", "6", quasi="age")


@scenario("A confidential column that is ordinal and has no order", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--kind", "region=ordinal", "--t", "0.2", "--method", "mdav")


@scenario("A confidential column of lists", 3)
def _(folder: Path) -> list[str]:
    notes = pa.array([[SECRET] * (i % 3) for i in range(12)])
    pq.write_table(pa.table({"age": range(12), "notes": notes}), folder / "people.parquet")
    return ["protect", "people.parquet", "-o", "out.parquet", "--quasi", "age", "--k", "3", "--confidential", "notes"]


@scenario("A confidential column of bytes declared as a number", 3)
def _(folder: Path) -> list[str]:
    code = pa.array([SECRET.encode()] * 12)
    pq.write_table(pa.table({"age": range(12), "code": code}), folder / "people.parquet")
    given = ["--quasi", "age", "--k", "3", "--confidential", "code", "--kind", "code=integer"]
    return ["protect", "people.parquet", "-o", "out.parquet", *given]


@scenario("A confidential column that does not match its kind", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--kind", "region=integer")


@scenario("A reviewed column that is not in the table", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--reviewed", "regoin")


@scenario("A reviewed column that is not released unchanged", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--reviewed", "age")


@scenario("A reviewed column named twice", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--reviewed", "region,region")


@scenario("Inspect: a reviewed column that is not released unchanged", 2)
def _(folder: Path) -> list[str]:
    return ["inspect", *command(folder)[1:2], "--reviewed", "age"]


@scenario("A value that is not in the taxonomy", 3)
def _(folder: Path) -> list[str]:
    (folder / "r.toml").write_text(
        'quasi = ["age"]\nt = 0.2\nconfidential = ["region"]\n[taxonomies.region]\ncold = ["n"]\n'
    )
    return command(folder, "--recipe", "r.toml", "--method", "mdav")


@scenario("A taxonomy that is not a tree", 2)
def _(folder: Path) -> list[str]:
    (folder / "r.toml").write_text('quasi = ["age"]\nconfidential = ["region"]\n[taxonomies]\nregion = ["n", "s"]\n')
    return command(folder, "--recipe", "r.toml")


@scenario("t made impossible by strata", 3)
def _(folder: Path) -> list[str]:
    return command(
        folder, "--confidential", "income", "--t", "0", "--strata", "region", "--method", "mdav", quasi="age"
    )


@scenario("Audit: t without a confidential column", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", "t=0.2"]


@scenario("Audit: (n,t) without both numbers", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--confidential", "income", "--require", "n_t=0.1"]


@scenario("Audit: t that does not hold", 4)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--confidential", "income", "--require", "t=0.2"]


@scenario("More distinct values than the column has", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--require", "p=3")


@scenario("A share that is too small", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--require", "alpha=0.4")


@scenario("A share of one person below the possible minimum", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--require", "dominance=0.01")


@scenario("A range required of categories", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--require", "e=5")


@scenario("Many categories for a method that needs coordinates", 3)
def _(folder: Path) -> list[str]:
    text = "town,age\n" + "".join(f"{SECRET}t{i},{i % 70}\n" for i in range(300))
    return command(folder, "--method", "pcp", text=text, quasi="town,age")


@scenario("Too many categories for mean points of households", 3)
def _(folder: Path) -> list[str]:
    text = "town,household\n" + "".join(f"{SECRET}t{i},h{i}\n" for i in range(12_000))
    return command(folder, "--together", "household", text=text, quasi="town")


@scenario("More distinct values than records in a class", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--require", "p=4")


@scenario("A requirement without a confidential column", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--require", "l_entropy=2")


@scenario("A requirement with too few numbers", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--require", "l_recursive=2")


@scenario("A requirement of a column that is not confidential", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--require", "l_entropy:name=2")


@scenario("k given twice", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--require", "k=4")


@scenario("k in the recipe file, and another one required", 2)
def _(folder: Path) -> list[str]:
    (folder / "r.toml").write_text('quasi = ["age", "income"]\nk = 5\n')
    (folder / "people.csv").write_text(PEOPLE)
    return ["protect", "people.csv", "-o", "out.csv", "--recipe", "r.toml", "--require", "k=3"]


@scenario("t required twice", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--require", "t=0.2,n_t=4:0.3")


@scenario("t-closeness and (n,t)-closeness", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--t", "0.2", "--require", "n_t=4:0.2")


@scenario("A model required of all columns in the recipe file, and of one by an option", 2)
def _(folder: Path) -> list[str]:
    (folder / "r.toml").write_text('quasi = ["age", "income"]\nconfidential = ["region"]\nrequire = {p = 2}\n')
    (folder / "people.csv").write_text(PEOPLE)
    return ["protect", "people.csv", "-o", "out.csv", "--recipe", "r.toml", "--require", "p:region=2"]


@scenario("A method whose model is not required", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--confidential", "region", "--method", "p_sensitive")


def database(folder: Path, *rows: str) -> None:
    with sqlite3.connect(folder / "people.db") as connection:
        connection.execute("CREATE TABLE survey (age INTEGER, income REAL)")
        for row in rows:
            connection.execute(f"INSERT INTO survey VALUES ({row})")
    connection.close()


def book(folder: Path, *rows: list[object], sheets: tuple[str, ...] = ("Data",), formula: bool = False) -> list[str]:
    from openpyxl import Workbook

    made = Workbook()
    made.active.title = sheets[0]
    for row in [["age", "income"], *rows]:
        made.active.append(row)
    if formula:
        made.active["B2"] = "=A2*2"
    for name in sheets[1:]:
        made.create_sheet(name)
    made.save(folder / "people.xlsx")
    return ["protect", "people.xlsx", "-o", "out.csv", "--quasi", "age", "--k", "3"]


@scenario("Unknown URL scheme", 2)
def _(folder: Path) -> list[str]:
    return ["audit", f"ftp://ann:{SECRET}@host/people?table=survey", "--quasi", "age"]


@scenario("Missing database", 3)
def _(folder: Path) -> list[str]:
    return ["audit", "sqlite:///people.db?table=survey", "--quasi", "age"]


@scenario("A database with too few slashes", 2)
def _(folder: Path) -> list[str]:
    return ["audit", "sqlite://people.db?table=survey", "--quasi", "age"]


@scenario("A database without a table", 2)
def _(folder: Path) -> list[str]:
    database(folder, f"1, {SECRET}")
    return ["audit", "sqlite:///people.db", "--quasi", "age"]


@scenario("Missing table", 3)
def _(folder: Path) -> list[str]:
    database(folder, f"1, {SECRET}")
    return ["audit", "sqlite:///people.db?table=surveys", "--quasi", "age"]


@scenario("A query that cannot be run", 5)
def _(folder: Path) -> list[str]:
    database(folder, f"1, {SECRET}")
    return ["audit", f"sqlite:///people.db?query=SELECT age FROM survey WHERE {SECRET} ORDER", "--quasi", "age"]


@scenario("A query that would change the database", 5)
def _(folder: Path) -> list[str]:
    database(folder, f"1, {SECRET}")
    return ["audit", f"sqlite:///people.db?query=DELETE FROM survey WHERE income = {SECRET}", "--quasi", "age"]


@scenario("Unreachable database server", 5)
def _(folder: Path) -> list[str]:
    return ["audit", f"postgresql://ann:{SECRET}@127.0.0.1:1/people?table=survey", "--quasi", "age"]


def to_store(folder: Path, output: str, *more: str) -> list[str]:
    """A run with an output in an object store, which is refused before the store is contacted."""
    run = command(folder, *more)
    return [*run[:3], output, *run[4:]]


@scenario("Object store: a file as output", 2)
def _(folder: Path) -> list[str]:
    return to_store(folder, f"s3://ann:{SECRET}@bucket/safe.csv")


@scenario("Object store: an unknown option", 2)
def _(folder: Path) -> list[str]:
    return to_store(folder, f"s3://bucket/safe/?colour={SECRET}")


@scenario("Object store: evidence by URL", 2)
def _(folder: Path) -> list[str]:
    return to_store(folder, "s3://bucket/safe/", "--evidence", "s3://bucket/e.json")


@scenario("Object store: engine = memory", 2)
def _(folder: Path) -> list[str]:
    return to_store(folder, "s3://bucket/safe/", "--engine", "memory")


def over_nats(source: str = "", target: str = "", *more: str) -> list[str]:
    """A stream over NATS, to a server that is not there."""
    ends = [f"nats://ann:{SECRET}@127.0.0.1:1/VISITS{source}", "-o", target or f"nats://ann:{SECRET}@127.0.0.1:1/SAFE"]
    return ["stream", *ends, "--quasi", "age", "--bounds", "age=0:120", "--k", "3", "--delay", "10", *more]


@scenario("NATS: unreachable server", 5)
def _(folder: Path) -> list[str]:
    return over_nats("?patience=0.2")


@scenario("NATS: an invalid URL", 2)
def _(folder: Path) -> list[str]:
    return over_nats("/too/many")


@scenario("NATS: an unknown option", 2)
def _(folder: Path) -> list[str]:
    return over_nats(f"?consumr={SECRET}")


@scenario("NATS: two invalid options", 2)
def _(folder: Path) -> list[str]:
    return over_nats(f"?until={SECRET}&creds={SECRET}.creds")


@scenario("NATS: a pattern in place of an output subject", 2)
def _(folder: Path) -> list[str]:
    return over_nats("", f"nats://ann:{SECRET}@127.0.0.1:1/SAFE?subject=a.*")


@scenario("NATS: the input is the output", 2)
def _(folder: Path) -> list[str]:
    return over_nats("", f"nats://ann:{SECRET}@127.0.0.1:1/VISITS")


@scenario("NATS: CSV", 2)
def _(folder: Path) -> list[str]:
    return over_nats("", "", "--format", "csv")


@scenario("NATS: --force", 2)
def _(folder: Path) -> list[str]:
    return over_nats("", "", "--force")


@scenario("NATS: rejected records to a file", 2)
def _(folder: Path) -> list[str]:
    return over_nats("", "", "--dead", "letters/dead.jsonl")


@scenario("A column of a database with several kinds of values", 3)
def _(folder: Path) -> list[str]:
    database(folder, f"1, {SECRET}", f"'{SECRET}x', 2", "3, 4")
    return ["audit", "sqlite:///people.db?table=survey", "--quasi", "age"]


@scenario("A table that exists", 2)
def _(folder: Path) -> list[str]:
    database(folder, *(f"{i}, {SECRET}" for i in range(9)))
    command(folder)
    return ["protect", "people.csv", "-o", "sqlite:///people.db?table=survey", "--quasi", "age"]


@scenario("A table that is input and output", 2)
def _(folder: Path) -> list[str]:
    database(folder, *(f"{i}, {SECRET}" for i in range(9)))
    url = "sqlite:///people.db?table=survey"
    return ["protect", url, "-o", url, "--quasi", "age", "--force"]


@scenario("Unnamed sheet", 2)
def _(folder: Path) -> list[str]:
    return book(folder, [1, SECRET], sheets=("Data", "Notes"))


@scenario("A column of a sheet with several kinds of cells", 3)
def _(folder: Path) -> list[str]:
    return book(folder, [1, 2], [3, 4], [f"{SECRET}x", 5])


@scenario("Formulas that were never computed", 3)
def _(folder: Path) -> list[str]:
    return book(folder, [1, 2], [3, 4], formula=True)


@scenario("A sheet with an error", 3)
def _(folder: Path) -> list[str]:
    return book(folder, [1, 2], [3, "#N/A"], [5, 6])


@scenario("Values that Excel cannot hold", 3)
def _(folder: Path) -> list[str]:
    born = "".join(f"{1890 + i}-01-01\n" for i in range(12))
    command(folder, text="born\n" + born)
    return ["protect", "people.csv", "-o", "out.xlsx", "--quasi", "born", "--k", "6"]


NOISE = ("--release", "laplace", "--epsilon", "1", "--bounds", "age=0:120,income=0:1e9")
KINDS = ("--kind", "age=integer", "--kind", "income=integer")


def original(folder: Path, *more: str, text: str = PEOPLE) -> list[str]:
    """Return the command that adds noise for original records."""
    return command(folder, *NOISE, "--claim", "original", "--method", "insensitive", *more, text=text)


def streamed(source: str, target: str, *more: str) -> list[str]:
    recipe = ["--quasi", "age", "--bounds", "age=0:100", "--k", "3", "--delay", "10"]
    return ["stream", source, "-o", target, *recipe, *more]


@scenario("Kafka: no consumer group", 2)
def _(folder: Path) -> list[str]:
    return streamed("kafka://localhost:9092/visits", "kafka://localhost:9092/safe")


@scenario("Kafka: a password in the URL", 2)
def _(folder: Path) -> list[str]:
    return streamed(f"kafka://ann:{SECRET}@localhost:9092/visits?group=g", "kafka://localhost:9092/safe")


@scenario("Kafka: a property that shoal sets itself", 2)
def _(folder: Path) -> list[str]:
    (folder / "client.properties").write_text(f"sasl.password={SECRET}\nisolation.level=read_uncommitted\n")
    source = "kafka://localhost:9092/visits?group=g&config=client.properties"
    return streamed(source, "kafka://localhost:9092/safe")


@scenario("Kafka: another cluster", 2)
def _(folder: Path) -> list[str]:
    return streamed("kafka://localhost:9092/visits?group=g", "kafka://elsewhere:9092/safe")


@scenario("Kafka: CSV", 2)
def _(folder: Path) -> list[str]:
    return streamed("kafka://localhost:9092/visits?group=g", "kafka://localhost:9092/safe", "--format", "csv")


@scenario("Kafka: rejected records to a file", 2)
def _(folder: Path) -> list[str]:
    more = ("--dead", "dead.jsonl")
    return streamed("kafka://localhost:9092/visits?group=g", "kafka://localhost:9092/safe", *more)


@scenario("ε that is not above 0", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--epsilon", "0")


@scenario("Noise without ε", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--release", "laplace", "--bounds", "age=0:120,income=0:1e9")


@scenario("Noise without bounds", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--bounds", "age=0:120")


@scenario("Bounds in the wrong order", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--bounds", "age=120:0,income=0:1e9")


@scenario("Bounds that are not finite", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--bounds", "age=0:inf,income=0:1e9")


@scenario("Bounds from the data, without saying that this is not private", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--bounds", "data")


@scenario("ε of original records by classes that depend on the data", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--claim", "original", *KINDS)


@scenario("ε of original records, and a confidential column", 2)
def _(folder: Path) -> list[str]:
    return original(folder, *KINDS, "--confidential", "region")


@scenario("ε of original records, and kinds that the recipe does not declare", 2)
def _(folder: Path) -> list[str]:
    return original(folder)


@scenario("ε of original records, and a kind without noise", 2)
def _(folder: Path) -> list[str]:
    return original(folder, "--kind", "age=integer", "--kind", "income=datetime")


@scenario("ε of original records, and a missing value", 3)
def _(folder: Path) -> list[str]:
    return original(folder, *KINDS, text=PEOPLE + f"{SECRET},,{SECRET},n\n")


@scenario("ε of original records, certified", 2)
def _(folder: Path) -> list[str]:
    return original(folder, *KINDS, "--certify")


@scenario("Many categories, certified", 3)
def _(folder: Path) -> list[str]:
    rows = "".join(f"{SECRET},{i},{i % 7},p{i % 300}\n" for i in range(600))
    return command(folder, "--certify", text="name,age,income,region\n" + rows, quasi="age,region")


@scenario("Noise with unrounded integers", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--set", "round_integers=false")


@scenario("Noise with bounds that contain no multiple of the resolution", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--bounds", "age=1:120,income=0:1e9", "--resolution", "age=500")


@scenario("Noise on categories without a taxonomy", 3)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--bounds", "age=0:120", quasi="age,region")


def grouped(folder: Path, *more: str, text: str = PEOPLE, bounds: str = "age=0:120") -> list[str]:
    """Return the command that adds noise to age and region, for original records, with a taxonomy of regions."""
    (folder / "regions.csv").write_text("n;cold;*\ns;warm;*\n")
    said = ("--claim", "original", "--method", "insensitive", "--kind", "age=integer", "--bounds", bounds)
    return command(folder, *NOISE, *said, "--taxonomy", "region=regions.csv", *more, text=text, quasi="age,region")


@scenario("ε that is text", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--epsilon", "much")


@scenario("ε that is not a number", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--epsilon", "nan")


@scenario("Infinite ε", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--epsilon", "inf")


@scenario("ε below 0", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--epsilon", "-1")


@scenario("ε for only some columns", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--epsilon", "age=1")


@scenario("ε so small that noise is infinite", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--epsilon", "1e-300")


@scenario("Bounds of a missing column", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--bounds", "age=0:120,income=0:1e9,height=0:3")


@scenario("Bounds with one end", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--bounds", "age=120,income=0:1e9")


@scenario("Bounds of categories", 2)
def _(folder: Path) -> list[str]:
    return grouped(folder, bounds="age=0:120,region=0:1")


@scenario("Noise with k above the number of records", 3)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--k", "13")


@scenario("Noise with a missing value", 3)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, text=PEOPLE + f"{SECRET},,{SECRET},n\n")


@scenario("Unknown representative for noise", 2)
def _(folder: Path) -> list[str]:
    return command(folder, *NOISE, "--set", "representative=median")


@scenario("A representative without noise", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--set", "representative=medoid")


@scenario("Noise shared by widths, with a category", 2)
def _(folder: Path) -> list[str]:
    return grouped(folder, "--set", "split=expression1")


@scenario("ε of original records, and a category that is not in the taxonomy", 3)
def _(folder: Path) -> list[str]:
    return grouped(folder, text=PEOPLE + f"x,40,50,{SECRET}x\n")


@scenario("ε of original records, in several blocks", 2)
def _(folder: Path) -> list[str]:
    (folder / "r.toml").write_text('quasi = ["age", "region"]\nblocks = [["age"], ["region"]]\n')
    return grouped(folder, "--recipe", "r.toml")


@scenario("ε of original records, and records with missing values excluded", 2)
def _(folder: Path) -> list[str]:
    return grouped(folder, "--when-missing", "exclude")


@scenario("ε of original records, and rows in the order of the input", 2)
def _(folder: Path) -> list[str]:
    return grouped(folder, "--row-order", "keep")


@scenario("ε of original records, refined", 2)
def _(folder: Path) -> list[str]:
    return grouped(folder, "--effort", "fast")


@scenario("Audit: ε of a table by itself", 2)
def _(folder: Path) -> list[str]:
    command(folder)
    return ["audit", "people.csv", "--quasi", "age", "--require", "epsilon=1"]


def weaker_noise(folder: Path, epsilon: str = "1") -> list[str]:
    """Return the command that explores with the noise of a recipe."""
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "r.toml").write_text(
        f'quasi = ["age", "income"]\nrelease = "laplace"\nepsilon = {epsilon}\nclaim = "original"\n'
        f'method = "insensitive"\nbounds = {{age = [0, 120], income = [0, 1e9]}}\n'
        f'kinds = {{age = "integer", income = "continuous"}}\n'
    )
    return ["explore", "people.csv", "--recipe", "r.toml", "-o", "page.html"]


def exploring(folder: Path, *more: str, epsilon: str = "1", bounds: str = "age=0:120,income=0:1e9") -> list[str]:
    """Return the command that explores with noise."""
    command(folder)
    noise = [*(["--epsilon", epsilon] if epsilon else []), *(["--bounds", bounds] if bounds else [])]
    return ["explore", "people.csv", "--quasi", "age,income", *noise, *more, "-o", "page.html"]


@scenario("Explore: bounds without ε", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, epsilon="")


@scenario("Explore: a claim without ε", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, "--claim", "original", epsilon="", bounds="")


@scenario("Explore: ε above the recipe's", 2)
def _(folder: Path) -> list[str]:
    return [*weaker_noise(folder), "--epsilon", "5"]


@scenario("Explore: ε of a column above the recipe's", 2)
def _(folder: Path) -> list[str]:
    return [*weaker_noise(folder, "{age = 0.5, income = 0.5}"), "--epsilon", "age=0.4,income=0.6"]


@scenario("Explore: a claim that is weaker than the recipe's", 2)
def _(folder: Path) -> list[str]:
    return [*weaker_noise(folder), "--claim", "microaggregated"]


@scenario("Explore: ε that is not above 0", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, epsilon="-1")


@scenario("Explore: ε without bounds", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, bounds="age=0:120")


@scenario("Explore: bounds in the wrong order", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, bounds="age=120:0,income=0:1e9")


@scenario("Explore: ε and a closeness", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, "--t", "0.2", "--confidential", "region")


@scenario("Explore: ε and a measure of risk", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, "--risk", "dld")


@scenario("Explore: ε and another measure of loss", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, "--loss", "il")


@scenario("Explore: ε and a release without noise", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, "--release", "centroid")


@scenario("Explore: ε of original records, and bounds from the data", 2)
def _(folder: Path) -> list[str]:
    words = "from the data, which is not private"
    return exploring(folder, "--claim", "original", "--identifier", "name,region", bounds=words)


@scenario("Explore: ε of original records by classes that depend on the data", 2)
def _(folder: Path) -> list[str]:
    return exploring(folder, "--claim", "original", "--identifier", "name,region", "--methods", "pcp")


@scenario("Explore: a limit that no setting with noise keeps", 4)
def _(folder: Path) -> list[str]:
    return exploring(folder, "--methods", "mdav", "--k", "3", "--max-loss", "1", "--save-recipe", "best.toml")


@scenario("Explore: ε on categories", 3)
def _(folder: Path) -> list[str]:
    (folder / "regions.csv").write_text("region,land\nn,x\ns,x\n")
    command(folder)
    noise = ["--epsilon", "1", "--bounds", "age=0:120", "--taxonomy", "region=regions.csv"]
    return ["explore", "people.csv", "--quasi", "age,region", *noise, "--methods", "mdav", "--k", "3"]


def into_duckdb(folder: Path, stays: pa.Array) -> list[str]:
    """Write records with durations, and return the command that protects them into a database."""
    pq.write_table(pa.table({"age": range(len(stays)), "stay": stays}), folder / "stays.parquet")
    return ["protect", "stays.parquet", "-o", "duckdb:///out.duckdb?table=safe", "--quasi", "age", "--k", "3"]


@scenario("Durations finer than DuckDB keeps them", 3)
def _(folder: Path) -> list[str]:
    return into_duckdb(folder, pa.array([int(SECRET)] * 6, pa.duration("ns")))


@scenario("Durations inside lists, to DuckDB", 3)
def _(folder: Path) -> list[str]:
    return into_duckdb(folder, pa.array([[int(SECRET)]] * 6, pa.list_(pa.duration("us"))))


@scenario("Intervals of months as a quasi-identifier", 3)
def _(folder: Path) -> list[str]:
    import duckdb

    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT to_months({SECRET} + i::INTEGER) AS stay FROM range(6) r(i)")
    return ["protect", "duckdb:///people.duckdb?table=t", "-o", "out.csv", "--quasi", "stay", "--k", "3"]


def verifying(folder: Path, change: Callable[[str], str] = str, output: str = "out.csv") -> list[str]:
    """Protect the people with evidence, change it, and return the command that verifies it."""
    import shoal

    (folder / "people.csv").write_text(PEOPLE)
    shoal.protect_file(folder / "people.csv", folder / "out.csv", RECIPE, evidence=folder / "e.json")
    (folder / "e.json").write_text(change((folder / "e.json").read_text()))
    return ["verify", "e.json", output]


@scenario("Evidence with another ending", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--evidence", "e.txt")


@scenario("Verify: no evidence", 3)
def _(folder: Path) -> list[str]:
    (folder / "out.csv").write_text(PEOPLE)
    return ["verify", "e.json", "out.csv"]


@scenario("Verify: evidence that is not JSON", 3)
def _(folder: Path) -> list[str]:
    return verifying(folder, lambda _: PEOPLE)


@scenario("Verify: evidence of another program", 3)
def _(folder: Path) -> list[str]:
    return verifying(folder, lambda _: f'{{"secret": "{SECRET}"}}')


@scenario("Verify: evidence of another format", 3)
def _(folder: Path) -> list[str]:
    return verifying(folder, lambda text: text.replace('"format": 2', f'"format": {SECRET}'))


@scenario("Verify: evidence of format 1", 3)
def _(folder: Path) -> list[str]:
    return verifying(folder, lambda text: text.replace('"format": 2', '"format": 1'))


@scenario("Verify: an input without the receipt", 2)
def _(folder: Path) -> list[str]:
    return [*verifying(folder), "--input", "people.csv"]


@scenario("Verify: a requirement of an unknown model", 2)
def _(folder: Path) -> list[str]:
    return [*verifying(folder), "--require", "kk=5"]


@scenario("Verify: a file that is not a receipt", 3)
def _(folder: Path) -> list[str]:
    return [*verifying(folder), "--receipt", "e.json"]


@scenario("Receipt with another ending", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--receipt", "r.txt")


def repeating(folder: Path, *more: str, release: str = "swap") -> list[str]:
    """Protect the people with a receipt, and return a command that repeats it."""
    import shoal

    (folder / "people.csv").write_text(PEOPLE)
    shoal.protect_file(
        folder / "people.csv", folder / "out.csv", {**RECIPE, "release": release}, receipt=folder / "r.json"
    )
    return command(folder, "--repeat", "r.json", "--force", *more)


@scenario("Repeat: no receipt", 3)
def _(folder: Path) -> list[str]:
    return command(folder, "--repeat", "r.json")


@scenario("Repeat: another input", 3)
def _(folder: Path) -> list[str]:
    made = repeating(folder, "--release", "swap")
    (folder / "people.csv").write_text(f"{PEOPLE}\n")
    return made


@scenario("Repeat: a receipt without a swap key", 3)
def _(folder: Path) -> list[str]:
    return repeating(folder, "--release", "swap", release="medoid")


@scenario("Repeat: a receipt without a choice key", 3)
def _(folder: Path) -> list[str]:
    return repeating(
        folder,
        "--confidential",
        "ill",
        "--method",
        "t_close_anneal",
        "--t",
        "0.4",
        "--set",
        "choices=5",
        release="swap",
    )


@scenario("Auto: choices without anything to protect", 2)
def _(folder: Path) -> list[str]:
    return command(folder, "--method", "auto", "--set", "choices=5")


@scenario("Repeat: nothing to repeat", 2)
def _(folder: Path) -> list[str]:
    return repeating(folder)


@scenario("Repeat: a seed as well", 2)
def _(folder: Path) -> list[str]:
    return repeating(folder, "--release", "swap", "--set", "not_private_seed=1")


@scenario("Repeat: the receipt would be replaced", 2)
def _(folder: Path) -> list[str]:
    return repeating(folder, "--release", "swap", "--evidence", "r.json")


@scenario("Verify: incomplete evidence", 3)
def _(folder: Path) -> list[str]:
    return verifying(folder, lambda text: text.replace('"findings"', '"losings"').replace('"salt"', '"sugar"'))


@scenario("Verify: an incomplete finding", 3)
def _(folder: Path) -> list[str]:
    return verifying(folder, lambda text: text.replace('"holds": true', f'"holds": "{SECRET}"'))


@scenario("Verify: no output", 3)
def _(folder: Path) -> list[str]:
    return verifying(folder, output="gone.csv")


@scenario("Verify: an output of an unknown format", 2)
def _(folder: Path) -> list[str]:
    return verifying(folder, output="out.doc")


@scenario("Verify: an unreadable output", 3)
def _(folder: Path) -> list[str]:
    (folder / "out.parquet").write_text(PEOPLE)
    return verifying(folder, output="out.parquet")


@scenario("Verify: the second table is missing", 3)
def _(folder: Path) -> list[str]:
    import shoal

    (folder / "people.csv").write_text(PEOPLE)
    recipe = {**RECIPE, "quasi": ["age"], "confidential": ["region"], "release": "anatomy"}
    shoal.protect_file(folder / "people.csv", folder / "out.csv", recipe, evidence=folder / "e.json")
    (folder / "out.confidential.csv").unlink()
    return ["verify", "e.json", "out.csv"]


STREAM = [
    "--quasi",
    "age,income",
    "--bounds",
    "age=0:120,income=0:99999999",
    "--k",
    "3",
    "--delay",
    "6",
    "--identifier",
    "name",
]


def streaming(folder: Path, *more: str, source: str = "people.csv", output: str = "out.csv") -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    return ["stream", source, "-o", output, *STREAM, *more]


def ran_before(folder: Path) -> None:
    """A stream that ran before."""
    import shoal

    (folder / "people.csv").write_text(PEOPLE)
    recipe = {"quasi": ["age", "income"], "bounds": {"age": [0, 120], "income": [0, 99999999]}, "k": 3, "delay": 6}
    shoal.run_stream(folder / "people.csv", folder / "out.csv", {**recipe, "identifier": ["name"]})


@scenario("Stream: no largest delay", 2)
def _(folder: Path) -> list[str]:
    return ["stream", "people.csv", "-o", "out.csv", "--quasi", "age", "--bounds", "age=0:120", "--k", "3"]


@scenario("Stream: missing file", 3)
def _(folder: Path) -> list[str]:
    return streaming(folder, source="persons.csv")


@scenario("Stream: a column that the header does not name", 3)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--subject", "pid")


@scenario("Stream: an output that exists", 2)
def _(folder: Path) -> list[str]:
    (folder / "out.csv").write_text(f"{SECRET}\n")
    return streaming(folder)


@scenario("Stream: an output in a missing folder", 5)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    return ["stream", "people.csv", "-o", "new/out.csv", *STREAM]


@scenario("Stream: an output with a name that is too long", 5)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    return ["stream", "people.csv", "-o", f"{'name' * 62}.csv", *STREAM]


@scenario("Stream: input and output are one file", 2)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "out.csv").hardlink_to(folder / "people.csv")
    return ["stream", "people.csv", "-o", "out.csv", *STREAM]


@scenario("Stream: an infinite time to stop", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--drain-seconds", "inf")


@scenario("Stream: an invalid length of records", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--longest", "99999999999999999999")


@scenario("Stream: rejected records to the output", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--dead", "./out.csv")


@scenario("Stream: names that imply two formats", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, output="out.jsonl")


@scenario("Stream: unknown format", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--format", "xml")


@scenario("Stream: input and output of two kinds", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, output="kafka://localhost:9092/safe")


@scenario("Stream: another k than it was started with", 3)
def _(folder: Path) -> list[str]:
    ran_before(folder)
    return streaming(folder, "--k", "4")


@scenario("Stream: an output that was truncated", 3)
def _(folder: Path) -> list[str]:
    ran_before(folder)
    (folder / "out.csv").write_bytes((folder / "out.csv").read_bytes()[:-5])
    return streaming(folder)


@scenario("Stream: an output that was extended", 3)
def _(folder: Path) -> list[str]:
    ran_before(folder)
    with (folder / "out.csv").open("a") as file:
        file.write(f"{SECRET}\n")
    return streaming(folder)


@scenario("Stream: an invalid port for metrics", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--metrics", "9100")


@scenario("Stream: an invalid weight of the order", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--order-weight", "much")


@scenario("Stream: tuples and JSON to standard output", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--json", output="-")


@scenario("Stream: t of a field without a domain", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--confidential", "region", "--t", "0.2")


@scenario("Stream: a requirement without a confidential field", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--require", "p=2")


@scenario("Stream: a model that streams do not support", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--confidential", "region", "--require", "alpha=0.5")


@scenario("Stream: a requirement with a method that promises only k", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--confidential", "region", "--require", "p=2", "--method", "castle")


@scenario("Stream: another requirement than it was started with", 3)
def _(folder: Path) -> list[str]:
    ran_before(folder)
    return streaming(folder, "--confidential", "region", "--require", "p=2")


@scenario("Stream: a rate of 0", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--rate", "0")


@scenario("Stream: an infinite time to stop", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--drain-seconds", "inf")


@scenario("Stream: an invalid length of records", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--longest", "99999999999999999999")


@scenario("Stream: rejected records to standard output", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--dead", "-")


@scenario("Stream: a column that differs from an identifier only in case", 3)
def _(folder: Path) -> list[str]:
    (folder / "names.csv").write_text("name,Name,age\nann,Ann,31\n")
    names = ["stream", "names.csv", "-o", "out.csv", "--identifier", "name"]
    return [*names, "--quasi", "age", "--bounds", "age=0:120", "--k", "2", "--delay", "3"]


def from_recipe(folder: Path, more: str) -> list[str]:
    """A stream of a recipe that is written so."""
    (folder / "people.csv").write_text(PEOPLE)
    said = 'quasi = ["age"]\nidentifier = ["name"]\nconfidential = ["region"]\nk = 3\ndelay = 6\n'
    (folder / "r.toml").write_text(said + more)
    return ["stream", "people.csv", "-o", "out.csv", "--recipe", "r.toml"]


@scenario("Stream: a bound too large for a number", 2)
def _(folder: Path) -> list[str]:
    return from_recipe(folder, f"[bounds]\nage = [0, 1{'0' * 400}]\n")


@scenario("Stream: integers too large for floats", 2)
def _(folder: Path) -> list[str]:
    return from_recipe(folder, '[bounds]\nage = [0, 9223372036854775807]\n[kinds]\nage = "integer"\n')


@scenario("Stream: an unnamed category", 2)
def _(folder: Path) -> list[str]:
    return from_recipe(folder, 't = 0.2\n[bounds]\nage = [0, 120]\n[categories]\nregion = ["n", " "]\n')


@scenario("Stream: a reference with an unknown category", 2)
def _(folder: Path) -> list[str]:
    tree = '[taxonomies.region]\nall = ["n", "s"]\n[reference.region]\nn = 1\nw = 1\n'
    return from_recipe(folder, "t = 0.2\n[bounds]\nage = [0, 120]\n" + tree)


@scenario("Stream: more values than pending tuples", 2)
def _(folder: Path) -> list[str]:
    return from_recipe(folder, "[bounds]\nage = [0, 120]\n[require]\np = 8\n")


@scenario("Stream: a requirement of no column", 2)
def _(folder: Path) -> list[str]:
    return from_recipe(folder, "[bounds]\nage = [0, 120]\n[require.p]\n")


@scenario("Stream: records that are all rejected", 3)
def _(folder: Path) -> list[str]:
    (folder / "people.jsonl").write_text(f'{{"name": 1, "age": "x{SECRET}", "income": 1}}\n' * 5)
    return ["stream", "people.jsonl", "-o", "out.jsonl", *STREAM, "--dead", "dead.jsonl"]


@scenario("Stream: an input that grew after the stream finished", 3)
def _(folder: Path) -> list[str]:
    ran_before(folder)
    with (folder / "people.csv").open("a") as file:
        file.write(f"{SECRET},40,{SECRET},n\n")
    return ["stream", "people.csv", "-o", "out.csv", *STREAM]


@scenario("Stream: an input that was replaced after the stream finished", 3)
def _(folder: Path) -> list[str]:
    ran_before(folder)
    (folder / "people.csv").write_text(PEOPLE.replace(",20,", ",21,"))
    return ["stream", "people.csv", "-o", "out.csv", *STREAM]


@scenario("Stream: a compressed input", 3)
def _(folder: Path) -> list[str]:
    (folder / "people.jsonl.gz").write_bytes(gzip.compress(b'{"age": 3}\n'))
    return ["stream", "people.jsonl.gz", "-o", "out.jsonl", *STREAM]


@scenario("Stream: an undeclared column", 3)
def _(folder: Path) -> list[str]:
    (folder / "few.csv").write_text(PEOPLE)
    few = ["--quasi", "age", "--bounds", "age=0:120", "--k", "3", "--delay", "6", "--keep", "region"]
    return ["stream", "few.csv", "-o", "out.csv", *few, "--identifier", "name"]


@scenario("Stream: a quasi-identifier that is kept", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--keep", "age,region")


@scenario("Stream: a field kept twice", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--keep", "region,region")


@scenario("Stream: fields to keep that are not a list", 2)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "r.toml").write_text('quasi = ["age"]\nk = 3\ndelay = 6\nkeep = "region"\n[bounds]\nage = [0, 120]\n')
    return ["stream", "people.csv", "-o", "out.csv", "--recipe", "r.toml"]


@scenario("Stream: an unnamed field to keep", 2)
def _(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "r.toml").write_text('quasi = ["age"]\nk = 3\ndelay = 6\nkeep = [""]\n[bounds]\nage = [0, 120]\n')
    return ["stream", "people.csv", "-o", "out.csv", "--recipe", "r.toml"]


@scenario("Stream: an unknown rule for unknown fields", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--unknown", "drop")


@scenario("Stream: a share of rejected records above 1", 2)
def _(folder: Path) -> list[str]:
    return streaming(folder, "--max-rejected", "50")


@scenario("Stream: objects written to CSV", 3)
def _(folder: Path) -> list[str]:
    pq.write_table(
        pa.table({"name": ["x", "y"], "age": [3, 4], "income": [1, 2], "home": [{"city": SECRET}] * 2}),
        folder / "people.parquet",
    )
    return ["stream", "people.parquet", "-o", "out.csv", *STREAM]


def package(folder: Path, name: str, family: str, key: str, program: str = "", **files: str) -> None:
    """Install a package of one component below ``site``, as pip would; the component is the whole program."""
    home, metadata = folder / "site" / f"plug_{name}", folder / "site" / f"plug_{name}-1.dist-info"
    for path, text in {
        home / "__init__.py": "",
        home / f"{key}.py": program,
        **{home / file.replace("_json", ".json"): text for file, text in files.items()},
        metadata / "METADATA": f"Metadata-Version: 2.1\nName: plug-{name}\nVersion: 1\n",
        metadata / "entry_points.txt": f"[shoal.{family}]\n{key} = plug_{name}.{key}\n",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@scenario("A package with a method of shoal's name", 2)
def _(folder: Path) -> list[str]:
    package(folder, "a", "partition", "mdav")
    return command(folder, "--method", "mdav")


@scenario("Two packages with the same method", 2)
def _(folder: Path) -> list[str]:
    package(folder, "a", "partition", "runs")
    package(folder, "b", "partition", "runs")
    return command(folder, "--method", "runs")


@scenario("A package that cannot be imported", 2)
def _(folder: Path) -> list[str]:
    package(folder, "a", "partition", "runs", "import no_such_package")
    return command(folder, "--method", "runs")


@scenario("A package whose method inherits no contract", 2)
def _(folder: Path) -> list[str]:
    package(folder, "a", "partition", "runs", '"""Runs."""\nclass Runs:\n    promises_k = True\n')
    return command(folder, "--method", "runs")


@scenario("A package whose index is out of date", 2)
def _(folder: Path) -> list[str]:
    said = '{"partition": {"runs": {"summary": "Runs.", "promises_k": true}}}'
    program = (
        '"""Runs."""\nfrom shoal.types.protocols import Partitioner\nclass Runs(Partitioner):\n    promises_k = False\n'
    )
    package(folder, "a", "partition", "runs", program, shoal_json=said)
    return command(folder, "--method", "runs")


@scenario("A package with a model of shoal's short name", 2)
def _(folder: Path) -> list[str]:
    program = 'from shoal.types.protocols import TableModel\nclass Mine(TableModel):\n    short = "k"\n'
    package(folder, "a", "privacy", "mine", program)
    return command(folder, "--require", "mine=3")


@scenario("Two packages for files of the same kind", 2)
def _(folder: Path) -> list[str]:
    for name in "ab":
        program = (
            f'from shoal.types.protocols import Source\nclass Mine{name.upper()}(Source):\n    suffixes = (".mine",)\n'
        )
        package(folder, name, "io.sources", f"mine_{name}", program)
    (folder / "people.mine").write_text(PEOPLE)
    return ["protect", "people.mine", "-o", "out.csv", "--quasi", "age"]
