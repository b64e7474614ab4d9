"""A process that has everything loaded and forks commands of shoal: they begin at once, and can be killed.

It reads requests from standard input, a JSON object on each line, and answers each with a line.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import shoal.stream.channels.nats  # noqa: F401
from shoal.cli import main


def command(arguments: list[str], out: str, err: str) -> NoReturn:
    for path, number in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    code = 1
    try:
        main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def fork(arguments: list[str], out: str, err: str) -> int:
    pid = os.fork()
    if pid == 0:
        command(arguments, out, err)
    return pid


def warm() -> None:
    """Load and compile what streams need, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(f'{{"a": {i % 10}, "b": 0.5}}\n' for i in range(40))
        Path(folder, "in.jsonl").write_text(lines)
        ends = [f"{folder}/in.jsonl", "-o", f"{folder}/out.jsonl"]
        with suppress(SystemExit):
            main(["stream", *ends, "--quasi", "a,b", "--bounds", "a=0:100,b=0:1", "--k", "4", "--delay", "10"])
    __import__("nats")


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warm()
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            gone, status = os.waitpid(request["wait"], 0 if request["block"] else os.WNOHANG)
            answers.write(f"{os.waitstatus_to_exitcode(status) if gone else 'lives'}\n")
        else:
            answers.write(f"{fork(**request)}\n")
        answers.flush()
