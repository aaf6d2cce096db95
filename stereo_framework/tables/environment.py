"""What results were computed with: machine and versions, for people."""

from __future__ import annotations

import os
import platform
import sys

from stereo_framework.sweep.identity import versions


def environment_text() -> str:
    """Machine, number of cores, Python and the packages that compute, one a line."""
    lines = [
        f"machine: {platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        f"Python {sys.version.split()[0]}",
        *(f"{name} {version}" for name, version in versions().items()),
    ]
    return "\n".join(lines)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown processor")
    except OSError:
        return platform.processor() or "unknown processor"
