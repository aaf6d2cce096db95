"""The command ``reproduce``."""

from pathlib import Path
from typing import Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER[/ITEM]")],
    out: Path | None = None,
    quick: bool = False,
    workers: int | None = None,
    json: _shared.Json = False,
) -> int:
    """Repeat the experiments of a published paper.

    The command writes an HTML report with the published and the reproduced numbers, and a
    verdict for each statement of the paper. Checks that this project added count in no
    total.

    The exit status is 1 if a published number lies outside its tolerance or a sentence of the paper does not hold, 3 if only checks of our own or sentences asked of scenes of ours fail.

    Example: stereo-framework reproduce taxonomy2002/table4

    Parameters
    ----------
    paper
        A paper, or one of its tables, figures or experiments.
    out
        Folder for the page, its counts (counts.json), figures, tables and runs; default: reproduction/PAPER.
    quick
        Only the fast items, with one scene and few settings: ten seconds to two minutes
        on two cores. The title and the files' names show that it is a part.
    workers
        Runs at a time, each in one thread; default: 2, or 1 if only one thread is available.
    """
    from stereo_framework.papers import find_paper
    from stereo_framework.papers.claim import failures_first
    from stereo_framework.papers.comparison import HEADER
    from stereo_framework.papers.reproduce import reproduce as run_paper

    name, _, item = paper.partition("/")
    folder = _shared.absolute_path(out or Path("reproduction") / name)
    with Progress(1) as progress:
        progress.watch(paper)
        done = run_paper(find_paper(name), folder, item=item or None, workers=workers, quick=quick)
    if json:
        judged = (
            {name: getattr(c, name) for name in ("difference", "judged", "is_outside_tolerance")}
            for c in done.comparisons
        )
        numbers = [
            {"kind": "published number"} | vars(c) | more
            for c, more in zip(done.comparisons, judged, strict=True)
        ]
        sentences = [{"kind": "sentence"} | vars(s) for s in done.statements]
        part = {"part": done.extent.label or "whole"}
        _shared.print_json([record | part for record in numbers + sentences])
        return done.status
    print(done.title)
    for title, outcome in done.outcomes.items():
        rows = []
        for c in outcome.comparisons:
            values = (
                "-" if v is None else f"{v:.{max(2, c.digits)}f}"
                for v in (c.published, c.ours, c.difference)
            )
            rows.append([c.row, c.column, *values, c.tolerance, "OUTSIDE" * c.is_outside_tolerance])
        if rows:
            _shared.print_table([*HEADER[:-1], ""], rows, title=title)
    for s in failures_first(done.statements):
        verdict = "DOES NOT HOLD" if s.holds is False else s.verdict
        _shared.say(
            f"{s.asked}, {verdict}: {s.text} ({'; '.join(filter(None, (s.source, s.figures, *s.notes)))})"
        )
    for scene, reason in done.missing.items():
        print(f"missing: {scene}: {reason}")
    if done.extent.label:
        print(done.extent.label)
    for line in done.totals:
        print(line)
    print(_shared.as_typed(f"report: {done.page}"))
    return done.status
