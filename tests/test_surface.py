"""The outward face: what can be imported, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import shoal

HEAVY = (
    "numba",
    "highspy",
    "jinja2",
    "llvmlite",
    "pyarrow",
    "pandas",
    "polars",
    "narwhals",
    "matplotlib",
    "sqlalchemy",
    "duckdb",
    "openpyxl",
    "pyreadstat",
    "rdflib",
)


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split()) if ran.stdout.strip() else set()


def test_public_names() -> None:
    assert sorted(shoal.__all__) == [
        "Attempts",
        "Audit",
        "Certificate",
        "DataError",
        "Demonstration",
        "EngineError",
        "Explored",
        "GuaranteeError",
        "Inspection",
        "Kind",
        "ParameterError",
        "Partition",
        "Planned",
        "Protected",
        "Readings",
        "Recipe",
        "Replayed",
        "Role",
        "Schema",
        "SchemaError",
        "ShoalError",
        "StreamRecipe",
        "Streamed",
        "Verification",
        "attack",
        "audit",
        "audit_file",
        "compare",
        "compare_files",
        "demo",
        "errors",
        "explore",
        "explore_file",
        "inspect",
        "inspect_file",
        "lower_bound",
        "microaggregate",
        "plan",
        "protect",
        "protect_file",
        "recipe_schema",
        "replay",
        "run_stream",
        "save_recipe",
        "survey",
        "verify",
        "warm",
        "write_table",
    ]
    assert all(hasattr(shoal, name) for name in shoal.__all__)


def test_import_is_light() -> None:
    assert loaded_after("import shoal") == set()


def test_help_loads_nothing_heavy() -> None:
    code = "from shoal.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    assert loaded_after(code) == set()


def test_help_of_a_command_and_list_load_nothing_heavy() -> None:
    for arguments in (["protect", "--help"], ["list"]):
        code = f"from shoal.cli import main\ntry: main({arguments})\nexcept SystemExit: pass"
        assert loaded_after(code) == set()


def test_auditing_does_not_load_numba() -> None:
    code = "import pyarrow as pa, shoal\nshoal.audit(pa.table({'x': [1, 1]}), quasi=['x'])"
    assert "numba" not in loaded_after(code)


def test_the_module_runs() -> None:
    ran = subprocess.run([sys.executable, "-m", "shoal", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"shoal {shoal.__version__}\n"


def test_the_package_of_attacks_does_not_replace_the_verb() -> None:
    for before in ("", "shoal.attack\n", "import shoal.attack.linkage\n"):
        script = f"import shoal\n{before}import shoal.attack.weights\nassert callable(shoal.attack), shoal.attack"
        subprocess.run([sys.executable, "-c", script], check=True)
