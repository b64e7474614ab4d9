"""Tables given to verbs: those in object stores are copied while a verb runs, Arrow streams are read into memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from shoal.api._given import is_place
from shoal.locations import Url, place

P = ParamSpec("P")
R = TypeVar("R")


def reads(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a verb take stored tables and Arrow streams: its arguments of these names, each a table or a list of them."""

    def decorate(verb: Callable[P, R]) -> Callable[P, R]:
        form = signature(verb)

        @wraps(verb)
        def with_copies(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                given = form.bind(*args, **kwargs)
            except TypeError:
                return verb(*args, **kwargs)  # which says what is wrong
            if given.arguments.get("engine") == "spark":
                return verb(*args, **kwargs)  # Spark reads the store itself
            with ExitStack() as stack:
                for name in names:
                    if name in given.arguments:
                        given.arguments[name] = _copied(given.arguments[name], stack)
                return verb(*given.args, **given.kwargs)

        return with_copies

    return decorate


def _copied(given: Any, stack: ExitStack) -> Any:
    """Return a local copy of what is in an object store, a frame for a stream, and anything else as it is."""
    if isinstance(given, (list, tuple)):
        return [_copied(one, stack) for one in given]
    if given is None or (is_place(given) and not _is_stored(given)):
        return given
    if not is_place(given):
        from shoal.io.sources._arrow_stream import in_memory

        return in_memory(given)
    from shoal.io.stores.download import local_copy
    from shoal.scratch import about, scratch_folder

    wanted = place(given)
    scratch = stack.enter_context(scratch_folder())
    found = local_copy(wanted, scratch)
    stack.enter_context(about(scratch / found.name, wanted))
    return found


def _is_stored(given: Any) -> bool:
    """Tell whether a table is in an object store and not yet copied."""
    at = place(given).at if is_place(given) else None
    return isinstance(at, Url) and at.in_store
