"""A text that tells people on which machine, and with which versions, results were computed."""

import os
import platform
import sys

from stereo_framework.sweep.environment import processor_name, versions


def environment_text() -> str:
    """The machine with its number of cores, and the versions of Python and of the packages that compute, one on each line."""
    processor = processor_name() or "unknown processor"
    lines = [
        f"machine: {platform.system()} {platform.machine()}, {processor}, {os.cpu_count()} cores",
        f"Python {sys.version.split()[0]}",
        *(f"{name} {version}" for name, version in versions().items()),
    ]
    return "\n".join(lines)
