"""The sections of a page that say who is how good: Middlebury's ranks with the A* groups, and ROC curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.figures.roc_plot import roc_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.page.page import Block, Cell, PageTable, Picture, Text
from stereo_framework.sweep import Result
from stereo_framework.tables.boundary import boundary
from stereo_framework.tables.ranking import astar_verdict, rank_methods
from stereo_framework.tables.score_tables import read_scores
from stereo_framework.tables.words import setting_name

_MOST_METHODS = 60
"""Rows of a table of ranks; of sweeps the best ones are listed elsewhere."""


def rank_blocks(folder: Path, results: Sequence[Result], names: Sequence[str]) -> list[Block]:
    """A table of ranks for each protocol under which two methods or more have scores; empty where there is none. `names` are those of the settings.

    Notes
    -----
    As `rank` gives them: by the average of the ranks in all columns, the A* groups of Cabezas et al. 2012 beside them.
    """
    blocks: list[Block] = []
    for protocol in dict.fromkeys(r.protocol for r in results):
        same = {name: r for r, name in zip(results, names, strict=True) if r.protocol == protocol}
        if len(same) > _MOST_METHODS:
            continue
        known = {setting_name(r): name for name, r in same.items()}
        try:
            scores, _ = read_scores([folder], protocol=protocol)
            whole = scores.dropna()
            if len(whole) < 2:
                continue
            found = rank_methods(whole)
        except StereoFrameworkError:
            # Measures that have no direction, for example: nothing to be ranked by.
            continue
        rows = []
        for i in found.ranks.argsort(kind="stable").tolist():
            rank, group = (Cell.number(float(places[i]), ".0f") for places in (found.ranks, found.groups))
            average = Cell.number(float(found.average_ranks[i]), mark="best" if found.ranks[i] == 1 else "")
            rows.append([rank, Cell(known.get(whole.index[i], whole.index[i])), average, group])
        measures = ", ".join(dict.fromkeys(whole.columns.get_level_values("measure")))
        notes = [f"Average of the ranks in {len(whole.columns)} columns: {measures}.", f"{astar_verdict(found.groups)}."]
        if incomplete := [known.get(name, name) for name in scores.index if name not in whole.index]:
            notes.append(f"Without a score in some column and therefore left out: {', '.join(incomplete)}.")
        header = ["rank", "method", "average rank", "A* group"]
        blocks.append(PageTable(f"Ranks, protocol {protocol}", header, rows, " ".join(notes)))
    return blocks


def roc_blocks(results: Sequence[Result]) -> list[Block]:
    """Error rate against sparsity of the results that were measured so: the mean of the scenes, or the only one; empty where there are none."""
    measured = [r for r in results if {"error_rate", "sparsity_rate"} <= r.statistics.keys()]
    if not measured:
        return []
    try:
        found = boundary(measured, drop_incomplete=True)
        title = f"mean of {len(found.points)} scenes" if len(found.points) > 1 else next(iter(found.points))
        picture = svg_text(roc_figure(found.mean, boundary=found.cases()["mean"], title=title))
    except DataError as error:
        return [Text(f"No ROC curves: {error}")]
    rows = [
        [Cell(method), *(Cell.number(row.get(name, np.nan), ".3f") for name in [*found.points, "Expected"])]
        for method, row in found.efficiencies().items()
    ]
    header = ["method", *(name.rpartition("/")[2] for name in found.points), "expected"]
    note = "Efficiency: 1 is ideal. Expected: of the mean curve."
    return [
        Picture(picture, f"ROC curves, {title}", f"Error rate against sparsity, {title}"),
        PageTable("Efficiencies", header, rows, note),
    ]
