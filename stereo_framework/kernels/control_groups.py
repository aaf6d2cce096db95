"""Control groups (cgroups), by which Linux limits the cores and memory of a process.

A container or batch job is usually a control group. There are two versions of control
groups, whose folders and files have different names.
"""

from collections.abc import Iterator
from pathlib import Path

PROCESSES = Path("/proc")
"""Folder in which Linux lists the running processes."""

CONTROL_GROUPS = Path("/sys/fs/cgroup")
"""Folder in which Linux lists the control groups and their limits."""


def groups_of_process(proc: Path) -> Iterator[tuple[str, str]]:
    """Yield the controllers and the path of each control group of this process.

    In version 1, the controllers are a text such as "cpu,cpuacct". In version 2, this
    text is empty. The folder in which Linux lists the running processes is `proc`.
    """
    for line in text_of(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        yield controllers, path


def folders_around(root: Path, path: str) -> Iterator[Path]:
    """Yield the folders of a control group and of all groups that contain the group.

    The limits in all of these folders must be read, because Linux enforces the smallest
    limit. The last folder is `root`. In a container, `root` may be the only folder that
    exists.
    """
    group = root / path.lstrip("/")
    yield group
    yield from (folder for folder in group.parents if folder.is_relative_to(root))


def text_of(path: Path) -> str:
    """Return the text in a file, or the empty text if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
