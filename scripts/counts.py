"""Write files of counts: the figures that a script computed, with the command and the commit.

Pages quote figures of long runs. Such a run's script stores its figures in ``docs/counts``
with this module, and ``tests/test_counts.py`` compares the pages with these files.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "counts"


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


def current_commit() -> str:
    """Return the commit of the checkout, followed by "+" if files were changed since."""
    commit = _git("rev-parse", "HEAD")
    changed_files = _git(
        "status", "--porcelain", "--untracked-files=no", "--", "stereo_framework", "configs", "benchmarks", "scripts"
    )
    return f"{commit}+" if changed_files else commit


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
