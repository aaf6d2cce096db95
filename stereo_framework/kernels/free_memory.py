"""Free memory of the machine, and of the control group of this process.

A control group is usually a container or a batch job.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from stereo_framework.kernels.control_groups import (
    CONTROL_GROUPS,
    PROCESSES,
    folders_around,
    groups_of_process,
    text_of,
)


def free_memory(proc: Path = PROCESSES, groups: Path = CONTROL_GROUPS) -> float:
    """Return how many bytes a process may still allocate; infinite if unknown.

    Parameters
    ----------
    proc, groups : Path
        Folders in which Linux shows processes and control groups.
    """
    limits = [1024 * amount for amount in _amounts(proc / "meminfo", "MemAvailable:")]
    for controllers, path in groups_of_process(proc):
        if controllers == "":
            limits += _free_in_groups(
                folders_around(groups, path), "memory.max", "memory.current", "inactive_file"
            )
        elif controllers == "memory":
            folders = folders_around(groups / controllers, path)
            limits += _free_in_groups(
                folders, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            )
    return min(limits, default=math.inf)


def _free_in_groups(folders: Iterable[Path], limit: str, used: str, pages: str) -> Iterator[int]:
    """Yield the bytes that are free in each control group with a limit.

    Parameters
    ----------
    folders : iterable of Path
        Folders of the control groups.
    limit, used : str
        Names of the files with the limit and with the used bytes.
    pages : str
        Name of the number of inactive file pages in ``memory.stat``.
    """
    for folder in folders:
        texts = [text_of(folder / name).strip() for name in (limit, used)]
        if all(text.isdecimal() for text in texts):
            # The system gives up file pages when a program asks for memory.
            reclaimable = sum(_amounts(folder / "memory.stat", pages))
            yield max(0, int(texts[0]) - int(texts[1]) + reclaimable)


def _amounts(path: Path, name: str) -> list[int]:
    """Return the numbers after a name in a file with lines of names and numbers."""
    return [
        int(line.split()[1]) for line in text_of(path).splitlines() if line.split()[:1] == [name]
    ]
