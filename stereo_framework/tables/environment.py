"""A text that tells people on which machine, and with which versions, results were computed."""

import os
import platform
import sys

from stereo_framework.sweep.environment import versions


def environment_text() -> str:
    """The machine with its number of cores, and the versions of Python and of the packages that compute, one on each line."""
    lines = [
        f"machine: {platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        f"Python {sys.version.split()[0]}",
        *(f"{name} {version}" for name, version in versions().items()),
    ]
    return "\n".join(lines)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(
                (line.partition(":")[2].strip() for line in file if line.startswith("model name")),
                "unknown processor",
            )
    except OSError:
        return platform.processor() or "unknown processor"
