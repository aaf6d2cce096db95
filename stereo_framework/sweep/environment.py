"""Record the computer and the versions of packages that compute a result."""

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
"""Names of the installed packages whose versions are stored with each result."""


@functools.cache
def environment() -> dict[str, str]:
    """Return a description of this machine, and the versions of Python and packages."""
    machine = f"{platform.system()} {platform.machine()}, {available_cores()} cores"
    return {
        "python": sys.version.split()[0],
        "machine": machine,
        "host": platform.node(),
        **versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the installed packages, by the name of the package."""
    installed = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed
