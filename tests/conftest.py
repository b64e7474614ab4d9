"""What all tests share: the reference data, and a way to run commands."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from shoal.cli import main

_QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
_FIXED = "SHOAL_CI" in os.environ  # CI repeats the same examples: a failure belongs to the change
settings.register_profile("shoal", deadline=None, suppress_health_check=_QUIET, max_examples=25, derandomize=_FIXED)
settings.register_profile("long", deadline=None, suppress_health_check=_QUIET, max_examples=200, derandomize=_FIXED)
settings.load_profile("shoal")

# A job in the background ignores SIGINT, and one under nohup SIGHUP. The tests still ignore them, but the processes
# that they start do not: a handler is not inherited.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of the CASC and UCI data sets."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA does not name the folder of the reference data (CASC, UCI)")
    return Path(folder)


@pytest.fixture(scope="session")
def share_kernels() -> Callable[[Path], None]:
    """Give a copy of the package the kernels that are compiled already, so that it does not compile them again."""

    def share_kernels(package: Path) -> None:
        import shoal
        from shoal.kernels.runtime.jit import folder_name

        kernels = Path(shoal.__file__).parent / "kernels"
        for path in kernels.rglob("*.py"):  # numba compares times
            if (copy := package / "kernels" / path.relative_to(kernels)).exists():
                os.utime(copy, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        for path in kernels.rglob(f"{folder_name()}/*.nb[ci]"):
            target = package / "kernels" / path.relative_to(kernels)
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # another worker replaced it
                shutil.copy2(path, target)

    return share_kernels


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server of its own, without options; it asks for a password and is gone afterwards."""
    pytest.importorskip("psycopg")
    found = [path for path in sorted(Path("/usr/lib/postgresql").glob("*/bin")) if (path / "initdb").exists()]
    programs = Path(which).resolve().parent if (which := shutil.which("initdb")) else found[-1] if found else None
    if programs is None:
        (pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip)("PostgreSQL is not installed: there is no initdb")
    import pwd

    names = {one.pw_name for one in pwd.getpwall()}  # it does not run as root
    user = {"user": "postgres" if "postgres" in names else "nobody"} if os.geteuid() == 0 else {}
    folder = tempfile.mkdtemp(prefix="pg")
    if user:
        shutil.chown(folder, user["user"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def call(name: str, *arguments: str) -> None:
        command = [str(programs / name), "-D", f"{folder}/data", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)

    try:
        Path(folder, "password").write_text("hunter2\n")
        call("initdb", "-U", "ann", "-A", "scram-sha-256", f"--pwfile={folder}/password", "--no-sync", "-E", "UTF8")
        options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
        call("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql://ann:hunter2@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    """The URL of a MariaDB server of its own, without options; it asks for a password and is gone afterwards."""
    pymysql = pytest.importorskip("pymysql")
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    server, install = shutil.which("mariadbd", path=path), shutil.which("mariadb-install-db", path=path)
    if server is None or install is None:
        (pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip)("MariaDB is not installed: there is no mariadbd")
    import pwd

    names = {one.pw_name for one in pwd.getpwall()}  # it does not run as root
    user = {"user": "mysql" if "mysql" in names else "nobody"} if os.geteuid() == 0 else {}
    folder = tempfile.mkdtemp(prefix="my")
    if user:
        shutil.chown(folder, user["user"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
    first = Path(folder, "first.sql")
    first.write_text(
        "CREATE USER ann@'127.0.0.1' IDENTIFIED BY 'hunter2';\nGRANT ALL ON *.* TO ann@'127.0.0.1' WITH GRANT OPTION;\n"
    )
    first.chmod(0o644)
    place = ["--no-defaults", f"--datadir={folder}/data"]
    try:
        subprocess.run([install, *place, "--auth-root-authentication-method=normal"], check=True, **quiet)
        options = [f"--port={port}", f"--socket={folder}/s", f"--pid-file={folder}/pid", f"--init-file={first}"]
        small = ["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"]
        running = subprocess.Popen([server, *place, *options, *small, "--innodb-buffer-pool-size=16M"], **quiet)
        try:
            for _ in range(600):
                with contextlib.suppress(pymysql.Error):
                    pymysql.connect(host="127.0.0.1", port=port, user="ann", password="hunter2").close()
                    break
                assert running.poll() is None, "MariaDB does not start"
                time.sleep(0.1)
            else:
                pytest.fail("MariaDB accepts no connection")
            yield f"mysql://ann:hunter2@127.0.0.1:{port}/test"
        finally:
            running.kill()
            running.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def account_of() -> Callable[..., Any]:
    """Protect a table and give the account of it, with all measures or those that take no time."""

    def account_of(table: Any, *, full: bool = False, certified: bool = False, **recipe: Any) -> Any:
        from dataclasses import replace

        import numpy as np

        import shoal
        from shoal.flow.gate.gate import gate
        from shoal.flow.plan.promise import promise_of
        from shoal.flow.protect.anonymise import anonymise, plan_for
        from shoal.flow.stages.measure import measures, read_measures
        from shoal.flow.stages.read import schema_for
        from shoal.types import Table

        meant = shoal.Recipe(**recipe)
        typed = Table(table, schema_for(table, meant, None, ()))
        made = anonymise(plan_for(typed, meant, certify=certified), typed)
        return replace(
            made,
            toml=meant.to_toml(),
            checked=gate(made.release, promise_of(meant, made.partition)),
            readings=read_measures(made.comparison, measures()) if full else made.readings,
            versions={"shoal": shoal.__version__, "numpy": np.__version__},
            source="people.csv",
            target="safe.csv",
        )

    return account_of


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Let shoal find the packages in a folder as if they were installed, for one test."""
    from shoal import registry
    from shoal.recipe import requirements

    before = set(sys.modules)

    def forget() -> None:
        for known in (*vars(registry).values(), requirements.named):
            getattr(known, "cache_clear", lambda: None)()
        for name in set(sys.modules) - before:
            if name.startswith("plug_"):
                del sys.modules[name]

    def plug_in(folder: Path) -> None:
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        forget()

    yield plug_in
    forget()


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process, as the console script does."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ran(int(stop.value.code or 0), out, err)

    return run
