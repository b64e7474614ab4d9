"""Command line: one file per command, which parses, calls the API and prints.

Messages go to standard error, results to standard output. Exit codes: 0 done; 2 wrong usage or parameter; 3 the data do
not fit; 4 the requested guarantee is not met, and nothing was written; 5 an engine, broker or disk failed; 141 the
reader of standard output has gone.
"""

from __future__ import annotations

import errno
import functools
import importlib
import io
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import typer
from typer.core import TyperArgument, TyperCommand

from shoal import registry
from shoal.cli._echo import echo
from shoal.errors import ShoalError

#: Commands in the order in which people work; all others follow by name.
ORDER = ("inspect", "protect", "audit", "attack", "compare", "explore", "verify", "stream")

#: Groups of options in the order in which people decide; all others follow.
HEADINGS = ("Arguments", "Columns", "Privacy", "Method", "Search", "Output", "Text format", "Machine")


#: Forms of values in the help, by the names of their types.
VALUES = {"<int>": "N", "<float>": "NUMBER", "<path>": "FILE", "<str>": "TEXT"}


class Grouped(TyperCommand):
    """A command whose help lists options by group, with the form of each value and plain defaults."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: FILE is required, [FILE] is not."""
        return [re.sub(r"[{}]|\.\.\.", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of each group below their own heading."""
        groups: dict[str, list[Any]] = {}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                names, text = record
                argument = isinstance(param, TyperArgument)
                for form in re.findall(r"<.+>", names):
                    names = names.replace(form, "" if argument else VALUES.get(form, "TEXT")).rstrip()
                text = re.sub(r"\[default: \((.*?)\)([];])", r"[default: \1\2", text)
                heading = getattr(param, "rich_help_panel", None) or ("Arguments" if argument else "Options")
                groups.setdefault(heading, []).append((names, text))
        for heading in sorted(groups, key=lambda one: HEADINGS.index(one) if one in HEADINGS else len(HEADINGS)):
            with formatter.section(heading):
                formatter.write_dl(groups[heading])


#: Faults of a disk or terminal that standard output goes to.
_UNWRITABLE = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)


app = typer.Typer(
    name="shoal",
    help="Makes microdata safe to share: every record swims in a shoal of at least k.",
    epilog="shoal COMMAND -h shows the options of a command, and an example.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes would double the time of --help, and hide the groups
)


def _version(asked: bool) -> None:
    if asked:
        from shoal import __version__

        echo(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    pass


def _commands() -> None:
    """Add every file of this folder as a command: a function named like the file, a summary and an example."""
    places = {name: place for place, name in enumerate(ORDER)}
    for name in sorted(registry.built_in("cli"), key=lambda name: (places.get(name, len(ORDER)), name)):
        module = importlib.import_module(f"shoal.cli.{name}")
        add = app.command(name.rstrip("_"), cls=Grouped, short_help=module.SUMMARY, epilog=f"Example: {module.EXAMPLE}")
        add(_stoppable(getattr(module, name)))


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command report an interruption; its staged files are already removed by then."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            _say("Interrupted. No unfinished file was left behind.")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            if not _output_closed():  # another pipe, such as that of a process that reads a file
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes it at exit
            raise typer.Exit(141) from None

    return run


def _output_closed() -> bool:
    """Tell whether the reader of standard output has gone, as in ``shoal list | head -1``."""
    if not hasattr(select, "poll"):
        return True
    polled = select.poll()
    polled.register(sys.stdout.fileno(), select.POLLOUT)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in polled.poll(0))


def _terminate(number: int, _: object) -> None:
    """Raise an exception on a stop signal, so that no partial output remains; a second signal changes nothing."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _receive_signals() -> None:
    """Let stop signals raise exceptions; one that is ignored, as under nohup, stays ignored."""
    signal.signal(signal.SIGTERM, _terminate)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # until here it ended the process, without a stack trace
        signal.signal(signal.SIGINT, signal.default_int_handler)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; a user's mistake ends in one sentence and an exit code, never in a stack trace."""
    if not app.registered_commands:
        _commands()
    if threading.current_thread() is threading.main_thread():
        _receive_signals()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name that the terminal cannot show must not stop the work
    try:
        app(args=arguments, prog_name="shoal", standalone_mode=True)  # also for python -m shoal
    except KeyboardInterrupt:  # between the command and its exit
        sys.exit(130)
    except ShoalError as error:
        _say(str(error))
        sys.exit(error.exit_code)
    except MemoryError:
        _say("Not enough memory for this table. Close other programs, or use fewer columns.")
        sys.exit(5)
    except SystemExit as error:
        sys.exit(141 if error.code == 1 and sys.stdout is not None and _output_closed() else error.code)  # of the help
    except Exception as error:
        if os.environ.get("SHOAL_DEBUG"):
            raise
        _say_failure(error)


def _say_failure(error: Exception) -> NoReturn:
    """Say what failed, and end: standard output, a package, or shoal itself."""
    if sys.stdout is None:
        _say("Standard output is closed, and the results go there. Open it, or send it to a file.")
        sys.exit(5)
    if isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE:
        _say(f"Standard output could not be written ({error.strerror}). Send it elsewhere, or free space.")
        sys.stdout = None  # otherwise the interpreter tries again at exit
        sys.exit(5)
    package = registry.package_in(error)
    _say(
        f"{f'Package {package}' if package else 'shoal itself'} failed ({type(error).__name__}). No unfinished "
        f"file was left behind. Please report it{' to its author' if package else ''} with the command you typed. "
        "SHOAL_DEBUG=1 shows where, but may show values of the table."
    )
    sys.exit(1)


def _say(message: str) -> None:
    with suppress(OSError, AttributeError):  # a closed standard error must not change the exit code
        echo(f"shoal: {message}" if "\n" not in message else f"shoal:\n{message}", err=True)
