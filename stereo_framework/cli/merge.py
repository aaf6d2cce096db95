"""The command ``merge``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _shared

if TYPE_CHECKING:
    from stereo_framework.sweep.merging import MergeSummary


def merge(folders: list[Path], out: Annotated[Path, typer.Option("--out")]) -> None:
    """Merge results folders into one folder.

    Results that several folders contain are kept once. If two results of the same run
    have different numbers, the command prints a warning and keeps both. If the command
    is interrupted, the same command continues it.

    Example: stereo-framework merge results/part1 results/part2 --out results/all

    Parameters
    ----------
    folders
        Results folders, which the command only reads. Their order is the order of the
        results on each scene.
    out
        Folder of the merge. If it contains results, further results are added to them.
    """
    from stereo_framework.sweep.merging import merge_folders

    summary = merge_folders(folders, out)
    contradictions = [contradiction.message for contradiction in summary.contradictions]
    _print_warnings(contradictions, summary.problems)
    _print_summary(summary, out)


def _print_warnings(contradictions: Sequence[str], problems: Sequence[str]) -> None:
    """Print the first warnings, and the number of the others.

    Parameters
    ----------
    contradictions : sequence of str
        Messages about results that contradict each other.
    problems : sequence of str
        Messages about files that were not merged.
    """
    from stereo_framework.core import limits
    from stereo_framework.sweep.value_text import counted

    lines = [*contradictions, *problems]
    _shared.tell("warning", *lines[: limits.PRINTED_LINES])
    if len(lines) <= limits.PRINTED_LINES:
        return
    count = len(lines) - limits.PRINTED_LINES
    verb = "is" if count == 1 else "are"
    message = f"{counted(count, 'further warning')} {verb} not printed"
    if len(contradictions) > limits.PRINTED_LINES:
        message += (
            "; 'stereo-framework changes FOLDER FOLDER' lists the numbers that differ between two "
            "folders"
        )
    _shared.tell("warning", message)


def _print_summary(summary: MergeSummary, out: Path) -> None:
    """Print the numbers of kept and of missing results, and the next step."""
    from stereo_framework.sweep.value_text import counted

    _shared.say(f"{out} contains {counted(summary.result_count, 'result')}")
    if summary.equal_count:
        _shared.say(
            f"left out: {counted(summary.equal_count, 'result')}, because {out} or an earlier "
            "folder contains the same runs"
        )
    if summary.contradictions:
        count_text = counted(len(summary.contradictions), "contradiction")
        _shared.say(f"{count_text}; all contradicting results are kept")
    if summary.missing_count:
        _shared.say(
            f"missing: {counted(summary.missing_count, 'planned result')}; continue the runs "
            "that have not ended, and merge again"
        )
    _shared.say(f"next step: 'stereo-framework results {out}' lists the results")
