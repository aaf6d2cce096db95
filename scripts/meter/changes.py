"""The lines that changed since a file was committed last."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HUNK = re.compile(r"@@ -\S+ \+(?P<first>\d+)(?:,(?P<number>\d+))? @@")
NEW_NAME = re.compile(r"\+\+\+ b/(?P<path>.*)")


@dataclass(frozen=True)
class Changes:
    """Changed lines of files in a checkout, and files that are not yet committed."""

    lines: Mapping[str, set[int]] = field(default_factory=dict)
    new_files: frozenset[str] = frozenset()

    def contain(self, path: str, first: int, last: int) -> bool:
        """Return whether one of the lines of a file has changed."""
        if path in self.new_files:
            return True
        return not self.lines.get(path, set()).isdisjoint(range(first, last + 1))


def changes_since(root: Path, path: Path) -> Changes:
    """Compare a checkout with the last commit that changed a file.

    Without git, or if the file was never committed, no line counts as changed.
    """
    try:
        commit = _git(root, "log", "-1", "--format=%H", "--", str(path)).strip()
        if not commit:
            return Changes()
        difference = _git(root, "diff", "--unified=0", "--no-ext-diff", "--relative", commit)
        new_files = _git(root, "ls-files", "--others", "--exclude-standard")
    except (OSError, subprocess.CalledProcessError):
        return Changes()
    return Changes(changed_lines(difference), frozenset(new_files.splitlines()))


def changed_lines(difference: str) -> dict[str, set[int]]:
    """Return the new numbers of the lines in the output of `git diff --unified=0`."""
    lines: dict[str, set[int]] = defaultdict(set)
    path = ""
    for line in difference.splitlines():
        if name := NEW_NAME.match(line):
            path = name["path"]
        elif hunk := HUNK.match(line):
            first = int(hunk["first"])
            number = int(hunk["number"] or 1)
            lines[path].update(range(first, first + number))
    return dict(lines)


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-c", "core.quotePath=false", *arguments]
    run = subprocess.run(command, cwd=root, check=True, capture_output=True, encoding="utf-8")
    return run.stdout
