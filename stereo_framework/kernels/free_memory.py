"""Free memory of the machine, and of the control group of this process.

A control group is usually a container or a batch job.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

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
    kibibytes = _numbers(proc / "meminfo", "MemAvailable:")
    limits = [1024 * number for number in kibibytes]
    for controllers, path in groups_of_process(proc):
        if controllers == "":
            folders = folders_around(groups, path)
            limits += _free_in_groups(folders, _VERSION_2)
        elif controllers == "memory":
            folders = folders_around(groups / controllers, path)
            limits += _free_in_groups(folders, _VERSION_1)
    return min(limits, default=math.inf)


class _GroupFiles(NamedTuple):
    """Names of the files and numbers that describe the memory of a control group.

    Parameters
    ----------
    limit, used : str
        Names of the files with the largest allowed and the used number of bytes.
    inactive : str
        Name of the number of bytes in inactive file pages in ``memory.stat``.
    """

    limit: str
    used: str
    inactive: str


_VERSION_1 = _GroupFiles("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = _GroupFiles("memory.max", "memory.current", "inactive_file")


def _free_in_groups(folders: Iterable[Path], files: _GroupFiles) -> Iterator[int]:
    """Yield the bytes that are free in each control group with a limit.

    Parameters
    ----------
    folders : iterable of Path
        Folders of the control groups.
    files : _GroupFiles
    """
    for folder in folders:
        limit = text_of(folder / files.limit).strip()
        used = text_of(folder / files.used).strip()
        # A group without a limit has the text "max" instead of a number.
        if limit.isdecimal() and used.isdecimal():
            # The system releases inactive file pages if a program allocates memory.
            reclaimable = sum(_numbers(folder / "memory.stat", files.inactive))
            yield max(0, int(limit) - int(used) + reclaimable)


def _numbers(path: Path, name: str) -> list[int]:
    """Return the numbers after a name in a file with lines of names and numbers."""
    numbers = []
    for line in text_of(path).splitlines():
        words = line.split()
        if words and words[0] == name:
            numbers.append(int(words[1]))
    return numbers
