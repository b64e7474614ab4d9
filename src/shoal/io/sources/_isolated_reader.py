"""Isolated reader for files of statistical packages: columns with their metadata, through pyreadstat.

One process serves all reads of a program, since starting it takes longer than reading most files. It ends with the
program. Tables come through a pipe: nothing is written to disk.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import EngineError
from shoal.types.statistical_files import Clock, FileNotes, Variable, tag, tag_range

_READY, _TABLE, _DAMAGED, _TOO_LARGE = b"r", b"t", b"d", b"m"
_PATIENCE = 10.0  # seconds
_SERVE = "from shoal.io.sources._isolated_reader import serve; serve()"


class Damaged(Exception):  # noqa: N818 - turned into a sentence by the format's source
    """Raised if a file could not be read, because its reader refused it or crashed."""


class _Apart:
    """The process, started on first use and again after it has died."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._one = threading.Lock()

    def read(self, request: dict[str, Any]) -> pa.Table:
        """Return the table in a file; raise Damaged or MemoryError if it cannot be read."""
        with self._one:
            child = self._running()
            try:
                _pipe(child.stdin).write(json.dumps(request).encode() + b"\n")
                _pipe(child.stdin).flush()
                answer = _pipe(child.stdout).read(1)
                if answer == _TABLE:
                    return pa.ipc.open_stream(_pipe(child.stdout)).read_all()
            except (OSError, pa.ArrowException):  # it died before or during its answer
                answer = b""
            except BaseException:  # Ctrl-C: the current answer is useless now
                self.end()
                raise
            died = answer not in (_DAMAGED, _TOO_LARGE)
            if died:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(_PATIENCE)  # its exit status is known only then
                self.end()
        if answer == _TOO_LARGE or (died and child.returncode == -signal.SIGKILL):  # killed for lack of memory
            raise MemoryError
        raise Damaged

    def _running(self) -> subprocess.Popen[bytes]:
        child = self._child
        if child is not None and self._owner == os.getpid() and child.poll() is None:
            return child
        self.end()
        places = os.pathsep.join(os.path.abspath(place) for place in sys.path)
        try:
            child = subprocess.Popen(
                [sys.executable, "-P", "-c", _SERVE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": places},
                start_new_session=True,  # Ctrl-C goes to this program, which ends the other
            )
        except OSError:
            raise EngineError("The process that reads the file could not be started. Close other programs.") from None
        self._child, self._owner = child, os.getpid()
        if _pipe(child.stdout).read(1) != _READY:
            self.end()
            raise EngineError("The process that reads the file ended early. Check that pyreadstat can be imported.")
        return child

    def end(self) -> None:
        """End the process, if it belongs to this program."""
        child, self._child = self._child, None
        if child is not None and self._owner == os.getpid():
            child.kill()
            child.wait()
            with suppress(OSError):  # from unsent data
                _pipe(child.stdin).close()
            _pipe(child.stdout).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


_apart = _Apart()
atexit.register(_apart.end)


def read_apart(path: Path, package: str, reader: str, most: int) -> pa.Table:
    """Call :func:`shoal.io.sources._isolated_reader.read` in a process that may crash.

    Raises
    ------
    Damaged
        If the file cannot be read.
    MemoryError
        If there is too little memory for it.
    """
    return _apart.read({"path": str(path.absolute()), "package": package, "reader": reader, "most": most})


def serve() -> None:
    """Serve read requests; the main function of the process."""
    with os.fdopen(os.dup(1), "wb") as answers, open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # the library may print
        answers.write(_READY)
        answers.flush()
        for line in sys.stdin.buffer:
            request = json.loads(line)
            try:
                table = read(Path(request["path"]), request["package"], request["reader"], request["most"])
            except MemoryError:
                answers.write(_TOO_LARGE)
            except Exception:  # a damaged file may raise anything
                answers.write(_DAMAGED)
            else:
                answers.write(_TABLE)
                with pa.ipc.new_stream(answers, table.schema) as stream:
                    stream.write_table(table)
                del table
            answers.flush()


_LARGEST = 2.0**53  # beyond it, a double cannot hold every integer


def read(path: Path, package: str, reader: str, most: int) -> pa.Table:
    """Read a file with one of pyreadstat's readers; `most` is the largest number of values the file can hold.

    A faulty file may raise any exception, with messages that may contain a value.
    """
    import pyreadstat

    with warnings.catch_warnings(action="ignore"):
        return _table(getattr(pyreadstat, reader), path, package, most)


def _table(read: Any, path: Path, package: str, most: int) -> pa.Table:
    """Return values and their metadata; refuse a file that claims more values than it can hold."""
    options = {"output_format": "dict", "disable_datetime_conversion": True}
    if read.__name__ != "read_xport":  # its missing values have no letters that pyreadstat could report
        options["user_missing"] = True
    values, meta = read(str(path), metadataonly=True, **options)
    if (meta.number_rows or 0) * (meta.number_columns or 0) > most:
        raise ValueError("more values than bytes")
    if meta.number_rows != 0:
        values, meta = read(str(path), **options)
    columns, fields = [], []
    for name in meta.column_names:
        column, variable = _column(values[name], _variable(name, package, meta))
        columns.append(column)
        fields.append(variable.onto(pa.field(name, column.type)))
    notes = FileNotes(package, meta.file_label, meta.file_encoding, tuple(meta.notes))
    return pa.table(columns, schema=pa.schema(fields, metadata=notes.metadata()))


def _variable(name: str, package: str, meta: Any) -> Variable:
    """Return the file's metadata on a variable."""
    labels = meta.variable_value_labels.get(name, {})
    ranges = meta.missing_ranges.get(name, [])
    width = meta.variable_storage_width[name]
    if package == "stata":
        width = max(width - 1, 0)  # it counts the NUL at the end, which is not part of the text
    return Variable(
        package=package,
        label=meta.column_names_to_labels[name],
        format=meta.original_variable_types[name],
        measure=meta.variable_measure[name].replace("undetermined", "unknown"),
        storage=meta.readstat_variable_types[name],
        width=width if meta.readstat_variable_types[name] == "string" else 0,
        display=meta.variable_display_width[name],
        alignment=meta.variable_alignment[name].replace("undetermined", "unknown"),
        labels=tuple(labels.items()),
        missing=tuple((one["lo"], one["hi"]) for one in ranges),
        tagged=name in meta.missing_user_values,
    )


def _column(values: list[Any], variable: Variable) -> tuple[pa.ChunkedArray, Variable]:
    """Return the values in the type that fits: text, datetimes, integers if all are whole, or numbers."""
    if variable.storage == "string":
        text = pa.chunked_array([pa.array(values, pa.string())])
        empty = pc.equal(text, "")  # the only representation of a missing text
        return pc.if_else(empty, pa.scalar(None, pa.string()), text), variable
    whole = variable.storage.startswith("int")
    values, variable = _with_tags(values, variable, whole)
    numbers = pa.chunked_array([pa.array(values, pa.int64() if whole else pa.float64())])
    clock = Clock.of(variable.package, variable.format)
    moments = clock.moments(numbers) if clock is not None and not variable.tagged else None
    if moments is not None:
        return moments, variable
    if not whole and not variable.tagged and _counts(variable):
        numbers = _integers(numbers)
    return numbers, variable


def _with_tags(values: list[Any], variable: Variable, whole: bool) -> tuple[list[Any], Variable]:
    """Return values and labels with numbers for missing values with letters; SAS has one without a letter."""
    codes: Any = {value: _code(value, whole) for value, _ in variable.labels if isinstance(value, str)}
    variable = variable.relabelled({key: code for key, code in codes.items() if code is not None})
    if not variable.tagged:
        return values, variable
    values = [_code(value, whole) if isinstance(value, str) else value for value in values]
    return values, replace(variable, missing=(tag_range(whole=whole),))


def _code(letter: str, whole: bool) -> int | float | None:
    return tag(letter.lower(), whole=whole) if letter.isalpha() else None


def _counts(variable: Variable) -> bool:
    """Tell whether whole values are meant as integers: categories, or a format without decimals."""
    if variable.measure in ("nominal", "ordinal"):
        return True
    return (
        variable.package == "spss" and re.fullmatch(r"(F|N|COMMA|DOT)[0-9]+(\.0)?", variable.format or "") is not None
    )


def _integers(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert doubles to integers, if they convert back to the same doubles."""
    x = np.asarray(numbers.fill_null(0.0).to_numpy())
    with np.errstate(invalid="ignore"):
        same = (x == np.rint(x)) & (np.abs(x) <= _LARGEST) & ~((x == 0) & np.signbit(x))
    return numbers.cast(pa.int64()) if same.all() else numbers
