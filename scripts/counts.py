"""Write files of counts: the figures that a script computed, with the command and the commit.

Pages quote figures of long runs. Such a run's script stores its figures in ``docs/counts``
with this module, and ``tests/test_counts.py`` compares the pages with these files.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "counts"

QUIET_LOAD = 0.3
"""Largest load average of the last minute with which a machine counts as idle."""


def write_counts(name: str, command: str, counts: dict[str, Any]) -> Path:
    """Write ``docs/counts/NAME.json`` and return its path.

    Parameters
    ----------
    name : str
        Name of the file without its ending.
    command : str
        The command that repeats the run, as a reader would type it.
    counts : dict
        The figures as the run computed them, not rounded for a page.
    """
    content = {"command": command, "commit": current_commit(), **counts}
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def add_counts(name: str, command: str, entry_name: str, entry: dict[str, Any]) -> Path:
    """Write an entry into ``docs/counts/NAME.json``, whose other entries stay as they are.

    Each entry has the command and the commit of its own run, because the entries of a file,
    such as methods, may be measured at different times.
    """
    path = FOLDER / f"{name}.json"
    entries = read_counts(name)["entries"] if path.is_file() else {}
    entries[entry_name] = {"command": command, "commit": current_commit(), **entry}
    return write_counts(name, command, {"entries": entries})


def read_counts(name: str) -> dict[str, Any]:
    """Return the content of ``docs/counts/NAME.json``."""
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content


def start_of_run() -> dict[str, Any]:
    """Return the commit and the state of the machine, to be stored with a run's counts.

    Call it before a long run: the checkout and the load may be others when the run ends.
    """
    machine = {"processors": os.cpu_count(), "load_average_at_start": list(os.getloadavg())}
    return {"commit": current_commit(), "machine": machine}


def refuse_busy_machine(machine: dict[str, Any]) -> None:
    """Raise if the machine had other work when the run began, because times would be longer.

    Raises
    ------
    SystemExit
        The load average of the last minute was above `QUIET_LOAD`.
    """
    load = machine["load_average_at_start"][0]
    if load > QUIET_LOAD:
        message = (
            f"--times: the load average of the last minute is {load:.2f}; times are stored only from an idle machine, "
            f"with at most {QUIET_LOAD}; stop other programs, wait a few minutes and start again"
        )
        raise SystemExit(message)


def current_commit() -> str:
    """Return the commit of the checkout, followed by "+" if files were changed since."""
    commit = run_git("rev-parse", "HEAD")
    changed_files = run_git(
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        "stereo_framework",
        "configs",
        "benchmarks",
        "scripts",
    )
    return f"{commit}+" if changed_files else commit


def run_git(*arguments: str) -> str:
    """Run git in the checkout and return its output without the last line break."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
