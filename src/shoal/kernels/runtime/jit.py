"""Compilation of kernels, the cache of compiled kernels on disk, and threads that run them.

Arithmetic is exact: no fastmath, so that operations are neither reordered nor contracted.

`_nrt=False`: a kernel borrows its arrays from the caller, allocates none, and therefore counts no references. Counting
takes an atomic instruction whenever an array is taken out of a tuple, a third of the time of a search.

A `part` is called by kernels only. It needs no entry point from Python, which would take longer to compile than the
part itself, is optimised inside the kernels that call it (:mod:`shoal.kernels.runtime.parts`), and cached with them.

numba recompiles a kernel when the kernel's own file changes, but not when a file whose parts it inlines changes. All
kernels therefore share one folder, ``shoal-<fingerprint>``, and any change to the sources leads to another folder.
It lies in ``SHOAL_CACHE`` if that is set; otherwise where numba chooses: in ``NUMBA_CACHE_DIR``, in ``__pycache__``
next to the kernels, or, if that is read-only, in the user's cache directory. The folder can be copied to another
machine, or deleted at any time; :mod:`shoal.kernels.runtime.cache_folder` says who may write to it.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core import caching, config

from shoal import deadline
from shoal.errors import ParameterError
from shoal.kernels.runtime.cache_folder import (
    VARIABLE,
    choose_cpu,
    is_named,
    keep_from_others,
    make_private,
    refuse_shared_cache,
)
from shoal.kernels.runtime.parts import PartCompiler, with_int64
from shoal.progress import Enough, report, say
from shoal.threads import thread_count

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

choose_cpu()  # before anything is compiled

_KEPT = 4  # folders of other versions, so that switching between a few of them compiles nothing
_FOLDER = re.compile(r"shoal-[0-9a-f]{32}")
_SETTINGS = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")


def sources(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the relative path and the content of every source below a folder, also inside a zip file."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith((".py", ".pyc")):
            yield prefix + entry.name, entry.read_bytes()
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from sources(entry, f"{prefix}{entry.name}/")


def fingerprint() -> str:
    """Return 32 hexadecimal digits (of SHA-256) that change with anything the machine code depends on.

    This covers all sources of the kernels, the versions and settings of the compiler, and whether vector code is used.
    numba itself distinguishes Python versions and processors.
    """
    found = hashlib.sha256()
    for name, content in sources(resources.files("shoal.kernels")):
        found.update(f"{name}\0{len(content)}\0".encode())
        found.update(content)
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    settings = [str(getattr(config, name, None)) for name in _SETTINGS]
    found.update(repr((versions, settings, vector_code())).encode())
    return found.hexdigest()[:32]


@cache
def vector_code() -> bool:
    """Tell whether kernels use explicit vector instructions, from now on and for the whole process.

    They do where llvmlite and the processor support them, unless ``SHOAL_VECTOR`` is ``off``.
    """
    wanted = os.environ.get("SHOAL_VECTOR", "on")
    if wanted not in ("on", "off"):
        raise ParameterError(f"SHOAL_VECTOR: must be on or off, got {wanted!r}. Correct or unset it.")
    if wanted == "off":
        return False
    try:
        from shoal.kernels.runtime.vector_lanes import check_support

        check_support()
    except Exception:  # whatever another version of llvmlite or LLVM says
        return False
    return True


@cache
def folder_name() -> str:
    """Return the folder name of this process's kernels, from the sources as they were at the first call."""
    return f"shoal-{fingerprint()}"


@cache
def folder_in(place: str) -> str:
    """Return the folder of the kernels in a place, and mark it as used; a new version removes old folders."""
    folder = Path(place, folder_name())
    with suppress(OSError):
        if folder.is_dir():
            os.utime(folder)
        else:
            make_private(folder)
            _remove_old(folder)
    if is_named(Path(place)):
        with suppress(OSError):
            keep_from_others(Path(place))  # numba made it by the mask of the process
        refuse_shared_cache(folder)
    return str(folder)


def _remove_old(folder: Path) -> None:
    """Remove all versions but the most recently used; a process that still uses one recompiles what it needs."""
    others = [path for path in folder.parent.iterdir() if _FOLDER.fullmatch(path.name) and path != folder]
    for path in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


class _Locator(caching._CacheLocator):
    """Folder of this version, in the place that numba has chosen."""

    def __init__(self, chosen: Any) -> None:
        self._chosen = chosen
        self._py_file = chosen._py_file

    def get_cache_path(self) -> str:
        return folder_in(self._chosen.get_cache_path())

    def get_source_stamp(self) -> str:
        return folder_name()  # all sources, whenever and wherever they were installed

    def get_disambiguator(self) -> Any:
        return self._chosen.get_disambiguator()


class _Named(caching._CacheLocator):
    """Place of a kernel in the folder of ``SHOAL_CACHE``, which may be read-only and need not be where it was made."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file, self._line = file, function.__code__.co_firstlineno
        self._package = function.__module__.split(".")[-2]

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Named | None:
        """Return the place; None if the variable is not set."""
        return cls(py_func, py_file) if os.environ.get(VARIABLE) else None

    def get_cache_path(self) -> str:
        return str(Path(os.environ[VARIABLE]).absolute() / self._package)

    def get_source_stamp(self) -> str:
        return folder_name()

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Files(caching.CompileResultCacheImpl):
    """numba's cache files, in our folder."""

    _locator_classes = [_Named, *caching.CompileResultCacheImpl._locator_classes]  # noqa: RUF012 - as in numba

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._locator = _Locator(self._locator)


class KernelCache(caching.FunctionCache):
    """Machine code of one kernel on disk. Files that cannot be read or written never stop a run."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or None if no readable file holds it."""
        try:
            return super().load_overload(sig, target_context)
        except (OSError, EOFError, pickle.UnpicklingError):  # removed or truncated
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the machine code for a signature, unless the sources have changed since they were imported."""
        with suppress(OSError):
            if folder_name() == f"shoal-{fingerprint()}":
                folder = Path(self.cache_path)
                make_private(folder)
                with _locked(folder):
                    super().save_overload(sig, data)
                    for path in folder.glob(f"{self._impl.filename_base}.*"):
                        keep_from_others(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process write at a time: numba reads an index, adds a signature to it, and writes it back."""
    if fcntl is None:
        yield
        return
    with open(folder / "lock", "w", opener=lambda path, flags: os.open(path, flags, 0o644)) as lock:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_njit: Any = numba.njit
KERNELS: list[Any] = []  #: all that were imported


def part(function: Callable[..., Any]) -> Any:
    """Compile a function for callers in kernels."""
    return with_int64(_njit(no_cpython_wrapper=True, pipeline_class=PartCompiler, **OPTIONS)(function))


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a part that is copied into its callers: a call copies all fields of the tuples that it passes."""
    options = {"no_cpython_wrapper": True, "forceinline": True, **OPTIONS}
    return with_int64(_njit(pipeline_class=PartCompiler, **options)(function))


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function for callers in Python, and cache it on disk if any folder is writable."""
    compiled = _njit(**OPTIONS)(function)
    KERNELS.append(compiled)
    with suppress(RuntimeError):  # neither the package's folder nor the user's can be written to
        compiled._cache = KernelCache(function)
    return compiled


def announce(function: Any) -> None:
    """Announce that a kernel will be compiled, if it is neither loaded nor found in the cache on disk."""
    name = f"{function.py_func.__module__.split('.')[-1]}.{function.py_func.__name__}"
    folder = function.stats.cache_path
    if not function.signatures and not (folder and any(Path(folder).glob(f"{name}-*.nbi"))):
        say("compiling the kernels, once; this takes a few seconds")


Item = TypeVar("Item")
Result = TypeVar("Result")
GoOn = Callable[[float], bool]  #: receives the share of the work that is done; returns whether to continue

_TICK = 0.1  # seconds
_PARTS = 1000


class Share(NamedTuple):
    """The part of the progress bar that a piece of work fills."""

    begin: float = 0.0  #: share done before
    end: float = 1.0  #: share done after


@contextmanager
def thread_pool() -> Iterator[ThreadPoolExecutor]:
    """Provide threads, started when needed; tasks not started when the block ends are dropped, so Ctrl-C ends soon."""
    pool = ThreadPoolExecutor(thread_count())
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def each(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``work(item)`` for every item, in order, computed by as many threads as there are.

    >>> each(abs, [-1, 2])
    [1, 2]
    """
    with thread_pool() as pool:
        return list(pool.map(work, items))


def together(
    work: Callable[[Item, GoOn], Result],
    items: Sequence[Item],
    share: Share = Share(),  # noqa: B008 - it is constant
) -> tuple[list[Result | None], bool]:
    """Call ``work(item, go_on)`` for every item, as many at a time as there are threads.

    Returns
    -------
    results
        In the order of the items; None for items not started when the deadline passed or the listener cancelled.
    stopped
        Whether that happened. Running tasks learn it from ``go_on`` and still return a result.
    """
    shares, stop = np.zeros(len(items)), Event()

    def one(at: int) -> Result | None:
        def go_on(share: float) -> bool:
            shares[at] = share
            return not stop.is_set()

        return None if stop.is_set() else work(items[at], go_on)

    with thread_pool() as pool:
        futures = [pool.submit(one, at) for at in range(len(items))]
        try:
            pending = set(futures)
            while pending:
                _, pending = wait(pending, timeout=_TICK)
                if deadline.passed():
                    raise Enough
                done = share.begin + (share.end - share.begin) * float(shares.mean())
                report(int(_PARTS * done), _PARTS)
        except Enough:
            stop.set()
            wait(futures)  # tasks not started end at once
        except BaseException:
            stop.set()  # otherwise the threads would run to the end
            raise
    return [future.result() for future in futures], stop.is_set()
