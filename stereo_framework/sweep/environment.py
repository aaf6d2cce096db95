"""Description of the computer and of the package versions for each result."""

import contextlib
import functools
import platform
import sys
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
"""Distributions whose versions are recorded with a result."""


@functools.cache
def environment() -> dict[str, str]:
    """Return the versions and the machine that this process computes with."""
    machine = f"{platform.system()} {platform.machine()}, {available_cores()} cores"
    return {
        "python": sys.version.split()[0],
        "machine": machine,
        "host": platform.node(),
        **versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the recorded packages that are installed."""
    installed = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed
