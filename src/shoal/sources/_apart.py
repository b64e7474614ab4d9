"""Read a file in another process: the C library that reads it may not survive a damaged one.

One process serves all reads of a program, since starting it takes longer than most files. It ends with the program.
Tables come through a pipe: nothing is written to a disk.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import EngineError

if TYPE_CHECKING:
    import pyarrow as pa

_READY, _TABLE, _DAMAGED, _TOO_LARGE = b"r", b"t", b"d", b"m"
_PATIENCE = 10.0  # seconds
_SERVE = "from shoal.sources._apart import serve; serve()"


class Damaged(Exception):  # noqa: N818 - said in a sentence by whoever knows the format
    """Raised if a file could not be read, be it that its reader refused or that it died."""


class _Apart:
    """The process, started when it is first asked and again when it has died."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._one = threading.Lock()

    def read(self, request: dict[str, Any]) -> pa.Table:
        """Return the table that a file holds; raise Damaged or MemoryError if none is to be had."""
        import pyarrow as pa

        with self._one:
            child = self._running()
            try:
                _pipe(child.stdin).write(json.dumps(request).encode() + b"\n")
                _pipe(child.stdin).flush()
                answer = _pipe(child.stdout).read(1)
                if answer == _TABLE:
                    return pa.ipc.open_stream(_pipe(child.stdout)).read_all()
            except (OSError, pa.ArrowException):  # it died before it could answer, or while it did
                answer = b""
            except BaseException:  # Ctrl-C: what is under way is of no use any more
                self.end()
                raise
            died = answer not in (_DAMAGED, _TOO_LARGE)
            if died:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(_PATIENCE)  # how it ended is known only then
                self.end()
        if answer == _TOO_LARGE or (died and child.returncode == -signal.SIGKILL):  # as happens for want of memory
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
                start_new_session=True,  # Ctrl-C is for this program, which ends the other
            )
        except OSError:
            raise EngineError("The process that reads the file could not be started. Close other programs.") from None
        self._child, self._owner = child, os.getpid()
        if _pipe(child.stdout).read(1) != _READY:
            self.end()
            raise EngineError("The process that reads the file ended early. Check that pyreadstat can be imported.")
        return child

    def end(self) -> None:
        """End the process, if it is this program's own."""
        child, self._child = self._child, None
        if child is not None and self._owner == os.getpid():
            child.kill()
            child.wait()
            with suppress(OSError):  # of what is still to be sent
                _pipe(child.stdin).close()
            _pipe(child.stdout).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


_apart = _Apart()
atexit.register(_apart.end)


def read_apart(path: Path, package: str, reader: str, most: int) -> pa.Table:
    """Return what :func:`shoal.sources._readstat.read` does, of a process that may die of it.

    Raises
    ------
    Damaged
        If the file is not read.
    MemoryError
        If there is too little memory for it.
    """
    return _apart.read({"path": str(path.absolute()), "package": package, "reader": reader, "most": most})


def serve() -> None:
    """Read files as long as somebody asks; this is what the process does."""
    import pyarrow as pa

    from shoal.sources._readstat import read

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
            except Exception:  # a damaged file raises anything
                answers.write(_DAMAGED)
            else:
                answers.write(_TABLE)
                with pa.ipc.new_stream(answers, table.schema) as stream:
                    stream.write_table(table)
                del table
            answers.flush()
