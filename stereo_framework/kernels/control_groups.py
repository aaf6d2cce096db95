"""Linux control groups (cgroups), which limit the cores and memory of a process.

A container or batch job is usually a control group. The folders and files of control
groups differ between versions 1 and 2.
"""

from collections.abc import Iterator
from pathlib import Path

PROCESSES = Path("/proc")
"""Folder in which Linux lists the running processes."""

CONTROL_GROUPS = Path("/sys/fs/cgroup")
"""Folder in which Linux lists the control groups and their limits."""


def groups_of_process(proc: Path) -> Iterator[tuple[str, str]]:
    """Yield the controllers and the path of each control group of this process.

    An example is ``("cpu,cpuacct", "/jobs/7")``. In version 2, the controllers are "".
    """
    for line in text_of(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        yield controllers, path


def folders_around(root: Path, path: str) -> Iterator[Path]:
    """Yield the folder of a control group and all its parent folders up to `root`.

    Linux enforces the smallest limit in these folders. In a container, only `root` may
    exist.
    """
    group = root / path.lstrip("/")
    yield group
    yield from (folder for folder in group.parents if folder.is_relative_to(root))


def text_of(path: Path) -> str:
    """Return the text of a file, or "" if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
