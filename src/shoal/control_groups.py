"""Control groups of this process, in which Linux limits cores and memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def cgroup_folders(controller: str, root: Path = Path("/")) -> Iterator[Path]:
    """Yield the folders of this process's control groups and of all groups above, as they are usually mounted.

    A limit holds for all groups below it, so the lowest on the way to the top counts. In a container the path may be
    that of the host. Then only the topmost folder exists, which is the container's. A folder may come twice.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        inside = PurePosixPath(path.lstrip("/"))
        for mounted in (controllers, controller, "unified") if controllers else ("", "unified"):
            for group in (inside, *inside.parents):
                yield root / "sys/fs/cgroup" / mounted / group
