"""Describe the time, the computer and the package versions of a computation."""

import contextlib
import functools
import platform
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from stereo_framework.kernels.cores import available_cores

_PACKAGES = (
    "stereo-framework",
    "numpy",
    "numba",
    "scipy",
    "opencv-python-headless",
    "opencv-python",
    "PyMaxflow",
)
"""Names of the installed packages whose versions are stored with each result."""


def environment() -> dict[str, str]:
    """Return a description of this machine, and the versions of Python and packages.

    The value of ``cores`` is the number of cores that this process may use, as text.
    """
    # The number of cores may change while the process runs.
    return {**_machine(), "cores": str(available_cores()), **versions()}


@functools.cache
def _machine() -> dict[str, str]:
    """Return the version of Python, and the system, host and processor."""
    return {
        "python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "host": platform.node(),
        "processor": processor_name(),
    }


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of the installed packages, by the name of the package."""
    installed = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def versions_text(environment: Mapping[str, str]) -> str:
    """Return all versions in an environment as one text.

    Examples
    --------
    >>> versions_text({"python": "3.11.7", "host": "node7", "numpy": "2.4.6"})
    'python 3.11.7, numpy 2.4.6'
    """
    versions_of_packages = versions_in(environment)
    return ", ".join(f"{name} {version}" for name, version in versions_of_packages.items())


def versions_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of Python and of the packages in an environment, by name."""
    names = ("python", *_PACKAGES)
    return {name: environment[name] for name in names if name in environment}


def processor_name() -> str:
    """Return the model name of the processor, or an empty text if it is unknown."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def current_time() -> str:
    """Return the present time in UTC as ISO 8601 text, such as 2026-11-30T17:24:00Z."""
    return utc_text(time.time())


def utc_text(timestamp: float) -> str:
    """Return a time in UTC as ISO 8601 text.

    Parameters
    ----------
    timestamp : float
        Seconds since 1970, as `time.time` returns them.

    Examples
    --------
    >>> utc_text(0.0)
    '1970-01-01T00:00:00Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(timestamp))
