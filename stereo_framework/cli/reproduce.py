"""The verb ``reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stereo_framework.cli import _output
from stereo_framework.cli._options import Data, Json


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER[/ITEM]")],
    out: Path | None = None,
    quick: bool = False,
    full: bool = False,
    workers: int = 2,
    data: Data = None,
    json: Json = False,
) -> int:
    """Run a paper's experiments again and print its numbers beside ours; the exit status is 1 if one is outside its tolerance or a statement is false.

    Example: stereo-framework reproduce taxonomy2002/table5 --quick

    Parameters
    ----------
    paper
        A paper, or one of its tables, figures or experiments.
    out
        Folder for the page, figures, tables and runs; default: reproduction/PAPER.
    quick
        Only what takes seconds: one scene, the fast items.
    full
        Nothing at reduced size, however long it takes.
    workers
        Runs at a time.
    """
    import dataclasses

    from stereo_framework.kernels.compiling import told
    from stereo_framework.papers import find_paper
    from stereo_framework.papers.comparison import HEADER
    from stereo_framework.papers.reproduce import reproduce as run_paper

    name, _, item = paper.partition("/")
    folder = out or Path("reproduction") / name
    with told(_output.say_compiling):
        done = run_paper(find_paper(name), folder, item=item or None, data=data, workers=workers, quick=quick, full=full)
    if json:
        _output.print_json([dataclasses.asdict(c) | {"difference": c.difference, "outside": c.outside} for c in done.comparisons])
        return 0 if done.holds else 1
    for title, outcome in done.outcomes.items():
        rows = [
            [
                c.row,
                c.column,
                *("-" if v is None else f"{v:.2f}" for v in (c.published, c.ours, c.difference)),
                c.tolerance,
                "OUTSIDE" * c.outside,
            ]
            for c in outcome.comparisons
        ]
        if rows:
            _output.print_table([*HEADER[:-1], ""], rows, title=title)
    for s in done.statements:
        print(f"{'not checked' if s.holds is None else 'holds' if s.holds else 'DOES NOT HOLD'}: {s.text} ({s.figures})")
    for scene, reason in done.missing.items():
        print(f"missing: {scene}: {reason}")
    print(f"page: {done.page}")
    return 0 if done.holds else 1
