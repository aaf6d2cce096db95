"""The number of processor cores that this process may use.

A container or batch job often has a CPU quota, such as 2 cores of 64. The function
`os.process_cpu_count` ignores this quota. With too many threads, a computation becomes
slower, because Linux pauses threads that exceed the quota.
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
"""Default period of a CPU quota, in microseconds."""


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    The CPU affinity, the CPU quota and the environment variables `LIMITING_VARIABLES`
    can limit the number. The smallest limit applies.
    """
    limits = [_cores_of_affinity(), _whole_cores(cpu_quota())]
    for name in LIMITING_VARIABLES:
        limits.append(count_in_variable(os.environ.get(name, "")))
    return min(limit for limit in limits if limit is not None)


def count_in_variable(text: str) -> int | None:
    """Return the number of threads in the text of an environment variable.

    The result is None if the text does not begin with a positive integer. In OpenMP,
    "4,2" means 4 threads with 2 nested threads each.

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
    """Return the CPU quota of this process, as a number of cores.

    Control groups may be nested, and Linux enforces the smallest quota. Without a
    quota, the result is infinite.

    Parameters
    ----------
    proc : Path
        Folder of the running processes.
    groups : Path
        Folder of the control groups.
    """
    quotas = [math.inf]
    for controllers, path in groups_of_process(proc):
        if controllers == "":
            # On a system with both versions, systemd mounts version 2 in the
            # subfolder "unified".
            for root in (groups, groups / "unified"):
                quotas += [_quota_of_version_2(folder) for folder in folders_around(root, path)]
        elif "cpu" in controllers.split(","):
            for root in (groups / controllers, groups / "cpu"):
                quotas += [_quota_of_version_1(folder) for folder in folders_around(root, path)]
    return min(quotas)


def _cores_of_affinity() -> int:
    """Return the number of cores in the CPU affinity of this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _whole_cores(quota: float) -> int | None:
    """Round a CPU quota up to whole cores; return None for an infinite quota."""
    return None if math.isinf(quota) else max(1, math.ceil(quota))


def _quota_of_version_2(folder: Path) -> float:
    """Return the CPU quota of a control group of version 2, as a number of cores.

    The file ``cpu.max`` contains a quota and a period. For example, "200000 100000"
    means 2 cores.
    """
    quota, _, period = text_of(folder / "cpu.max").strip().partition(" ")
    return _cores(quota, period or _USUAL_PERIOD)


def _quota_of_version_1(folder: Path) -> float:
    """Return the CPU quota of a control group of version 1, as a number of cores."""
    quota = text_of(folder / "cpu.cfs_quota_us").strip()
    period = text_of(folder / "cpu.cfs_period_us").strip()
    return _cores(quota, period or _USUAL_PERIOD)


def _cores(quota: str, period: str) -> float:
    """Divide a CPU quota by its period, to get a number of cores.

    Both texts contain microseconds. Without a quota, the result is infinite. The quota
    is then "max" (version 2), "-1" (version 1) or "" (missing file).
    """
    if not quota.isdecimal() or not period.isdecimal():
        return math.inf
    if int(quota) == 0 or int(period) == 0:
        return math.inf
    return int(quota) / int(period)
