"""The number of processor cores that this process may use.

`os.process_cpu_count` counts the cores on which the system may run the process. It does
not consider the CPU quota of a container or batch job. If a process exceeds its quota,
the system stops its threads for a part of each period. Therefore more threads than the
quota allows make the computation slower.
"""

import functools
import math
import os
from pathlib import Path

from stereo_framework.kernels.control_groups import (
    CONTROL_GROUPS,
    PROCESSES,
    folders_around,
    groups_of_process,
    text_of,
)

LIMITING_VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Environment variables that limit the threads of numerical programs."""

_USUAL_PERIOD = "100000"
"""Period in microseconds that Linux uses if a control group states only a quota."""


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    The number is limited by the affinity of the process, by the CPU quota of its
    control group, and by the environment variables `LIMITING_VARIABLES`.
    """
    limits = [_cores_of_affinity(), _whole_cores(cpu_quota())]
    for name in LIMITING_VARIABLES:
        limits.append(count_in_variable(os.environ.get(name, "")))
    return min(limit for limit in limits if limit is not None)


def count_in_variable(text: str) -> int | None:
    """Return the number of threads that a variable states; None if it states none.

    OpenMP separates the numbers of nested parallel regions by commas. The first number
    belongs to the outermost region.

    Examples
    --------
    >>> count_in_variable("4"), count_in_variable("4,2"), count_in_variable("all")
    (4, 4, None)
    """
    first = text.split(",")[0].strip()
    is_number = first.isascii() and first.isdecimal()
    if not is_number or int(first) == 0:
        return None
    return int(first)


@functools.cache
def cpu_quota(proc: Path = PROCESSES, groups: Path = CONTROL_GROUPS) -> float:
    """Return the CPU quota of the control group of this process, in cores.

    The smallest quota of the group and of all groups that contain it is in force. The
    quota is infinite if no file states a quota.

    Parameters
    ----------
    proc, groups : Path
        Folders in which Linux shows processes and control groups.
    """
    quotas = [math.inf]
    for controllers, path in groups_of_process(proc):
        if controllers == "":
            # systemd mounts version 2 in a subfolder if version 1 is in use as well.
            for root in (groups, groups / "unified"):
                quotas += [_quota_of_version_2(folder) for folder in folders_around(root, path)]
        elif "cpu" in controllers.split(","):
            for root in (groups / controllers, groups / "cpu"):
                quotas += [_quota_of_version_1(folder) for folder in folders_around(root, path)]
    return min(quotas)


def _cores_of_affinity() -> int:
    """Return the number of cores on which the system may run this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _whole_cores(quota: float) -> int | None:
    """Round a quota up to whole cores, at least 1; return None if it is infinite."""
    return None if math.isinf(quota) else max(1, math.ceil(quota))


def _quota_of_version_2(folder: Path) -> float:
    """Return the quota in cores of a folder of control groups, version 2."""
    quota, _, period = text_of(folder / "cpu.max").strip().partition(" ")
    return _cores(quota, period or _USUAL_PERIOD)


def _quota_of_version_1(folder: Path) -> float:
    """Return the quota in cores of a folder of control groups, version 1."""
    quota = text_of(folder / "cpu.cfs_quota_us").strip()
    period = text_of(folder / "cpu.cfs_period_us").strip()
    return _cores(quota, period or _USUAL_PERIOD)


def _cores(quota: str, period: str) -> float:
    """Divide a quota by its period, to get the number of cores.

    The result is infinite for missing texts, and for "max" and "-1", which mean that
    there is no quota.
    """
    if not quota.isdecimal() or not period.isdecimal():
        return math.inf
    if int(quota) == 0 or int(period) == 0:
        return math.inf
    return int(quota) / int(period)
