"""The number of processor cores that this process may use.

`os.process_cpu_count` returns the number of cores on which the operating system may run
the process. This number ignores the CPU quota of a container or batch job, for example
a quota of 2 cores on a machine with 64 cores. If the threads of a process exceed the
quota, Linux pauses them during a part of each period (usually 0.1 s). Therefore more
threads than the quota allows make a computation slower.
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
"""Environment variables with which users limit the threads of numerical programs."""

_USUAL_PERIOD = "100000"
"""Period of a CPU quota, in microseconds, if the control group states no period."""


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    The number is the minimum of the CPU affinity of the process, the CPU quota of its
    control group, and the numbers in the environment variables `LIMITING_VARIABLES`.
    """
    limits = [_cores_of_affinity(), _whole_cores(cpu_quota())]
    for name in LIMITING_VARIABLES:
        limits.append(count_in_variable(os.environ.get(name, "")))
    return min(limit for limit in limits if limit is not None)


def count_in_variable(text: str) -> int | None:
    """Return the number of threads in the text of an environment variable.

    The number is None if the text does not begin with a positive integer. OpenMP also
    allows texts such as "4,2": 4 threads, each of which may start 2 nested threads. The
    number is then 4.

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

    A process may belong to several nested control groups, each with a CPU quota. Linux
    enforces the smallest quota. The result is infinite if no control group has a quota.

    Parameters
    ----------
    proc, groups : Path
        Folders in which Linux lists running processes and control groups.
    """
    quotas = [math.inf]
    for controllers, path in groups_of_process(proc):
        if controllers == "":
            # If control groups of both versions are in use, systemd mounts version 2 in
            # the subfolder "unified".
            for root in (groups, groups / "unified"):
                quotas += [_quota_of_version_2(folder) for folder in folders_around(root, path)]
        elif "cpu" in controllers.split(","):
            for root in (groups / controllers, groups / "cpu"):
                quotas += [_quota_of_version_1(folder) for folder in folders_around(root, path)]
    return min(quotas)


def _cores_of_affinity() -> int:
    """Return the number of cores on which the operating system may run this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _whole_cores(quota: float) -> int | None:
    """Round a CPU quota up to whole cores; return None for an infinite quota."""
    return None if math.isinf(quota) else max(1, math.ceil(quota))


def _quota_of_version_2(folder: Path) -> float:
    """Return the CPU quota of a control group of version 2, as a number of cores.

    The file ``cpu.max`` in the folder of the control group contains the quota and the
    period, such as "200000 100000" for 2 cores.
    """
    quota, _, period = text_of(folder / "cpu.max").strip().partition(" ")
    return _cores(quota, period or _USUAL_PERIOD)


def _quota_of_version_1(folder: Path) -> float:
    """Return the CPU quota of a control group of version 1, as a number of cores.

    The folder of the control group has one file for the quota and another file for the
    period.
    """
    quota = text_of(folder / "cpu.cfs_quota_us").strip()
    period = text_of(folder / "cpu.cfs_period_us").strip()
    return _cores(quota, period or _USUAL_PERIOD)


def _cores(quota: str, period: str) -> float:
    """Divide a CPU quota by its period, to get a number of cores.

    Both texts contain microseconds. The result is infinite if a text is empty because
    its file is missing, or if the quota is "max" (version 2) or "-1" (version 1), which
    mean that the control group has no quota.
    """
    if not quota.isdecimal() or not period.isdecimal():
        return math.inf
    if int(quota) == 0 or int(period) == 0:
        return math.inf
    return int(quota) / int(period)
