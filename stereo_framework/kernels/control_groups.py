"""The control groups by which Linux limits the cores and the memory of a process."""

from collections.abc import Iterator
from pathlib import Path

PROCESSES = Path("/proc")
"""The folder in which Linux shows processes."""

CONTROL_GROUPS = Path("/sys/fs/cgroup")
"""The folder in which Linux shows control groups."""


def groups_of_process(proc: Path) -> Iterator[tuple[str, str]]:
    """Yield the controllers and the path of each control group of this process.

    The controllers of version 1 are separated by commas. Those of version 2 are empty.
    """
    for line in text_of(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        yield controllers, path


def folders_around(root: Path, path: str) -> Iterator[Path]:
    """Yield the folders of a control group and of all groups that contain it.

    The smallest limit of these groups is in force. In a container, the folder of the
    group itself may be hidden, but `root` is shown.
    """
    group = root / path.lstrip("/")
    yield group
    yield from (folder for folder in group.parents if folder.is_relative_to(root))


def text_of(path: Path) -> str:
    """Return the content of a file of the system; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
