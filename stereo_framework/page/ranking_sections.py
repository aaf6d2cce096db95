"""The sections of a page that say who is how good: Middlebury's ranks with the A* groups, ROC curves, and energies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stereo_framework.core.errors import DataError, StereoFrameworkError, warn
from stereo_framework.figures.energies import energies_figure
from stereo_framework.figures.roc_plot import roc_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.page.page import Block, Picture, Text
from stereo_framework.sweep import Result
from stereo_framework.sweep.result import TRACE
from stereo_framework.tables.boundary import boundary
from stereo_framework.tables.ranking import astar_verdict
from stereo_framework.tables.scores import ranked
from stereo_framework.tables.tables import Cell, Table
from stereo_framework.tables.words import setting_name, short_names

_FEWEST_METHODS, _MOST_METHODS = 2, 60
"""Rows of a table of ranks; of sweeps the best ones are listed elsewhere."""

_ENERGY = ("preprocessing", "matching_cost", "aggregation", "smoothness", "search")
"""Whose parameters an energy depends on."""

_MOST_ENERGIES = 20
"""Charts of a page."""


def rank_blocks(results: Sequence[Result], names: Sequence[str]) -> list[Block]:
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
            scores = ranked([r for r in results if r.protocol == protocol])
        except StereoFrameworkError:
            # Metrics that have no direction, for example: nothing to be ranked by.
            continue
        found, lacking = scores.complete()
        if len(found.methods) < _FEWEST_METHODS:
            continue
        methods = [known[name] for name in found.methods]
        table_rows = [
            *zip(
                found.places.tolist(),
                methods,
                found.average_ranks.tolist(),
                found.groups.tolist(),
                strict=True,
            )
        ]
        rows = sorted(table_rows, key=lambda row: row[0])
        best = frozenset((n, 2) for n, row in enumerate(rows) if row[0] == 1)
        notes = [
            f"Average of the ranks in {len(found.columns)} columns: {', '.join(found.metrics)}.",
            f"{astar_verdict(found.groups)}.",
        ]
        if lacking:
            notes.append(
                f"Without a score in some column and therefore left out: {', '.join(map(known.__getitem__, lacking))}."
            )
        header = ("rank", "method", "average rank", "A* group")
        blocks.append(
            Table(header, rows, 1, f"Ranks, protocol {protocol}", [" ".join(notes)], best)
        )
    return blocks


def roc_blocks(results: Sequence[Result]) -> list[Block]:
    """Error rate against sparsity of the results that were measured so: the mean of the scenes, or the only one; empty where there are none."""
    measured = [r for r in results if {"error_rate", "sparsity_rate"} <= r.statistics.keys()]
    if not measured:
        return []
    try:
        found = boundary(measured, drop_incomplete=True)
        title = (
            f"mean of {len(found.points)} scenes"
            if len(found.points) > 1
            else next(iter(found.points))
        )
        picture = svg_text(roc_figure(found.mean, boundary=found.cases()["mean"], title=title))
    except DataError as error:
        return [Text(f"No ROC curves: {error}")]
    rows = [
        [
            Cell(method),
            *(Cell.number(row.get(name, np.nan), ".3f") for name in [*found.points, "Expected"]),
        ]
        for method, row in found.efficiencies().items()
    ]
    header = ["method", *(name.rpartition("/")[2] for name in found.points), "expected"]
    note = "Efficiency: 1 is ideal. Expected: of the mean curve."
    return [
        Picture(picture, f"ROC curves, {title}", f"Error rate against sparsity, {title}"),
        Table(header, rows, 1, "Efficiencies", [note]),
    ]


def energy_blocks(results: Sequence[Result], names: Sequence[str]) -> list[Block]:
    """Draw a chart for each scene and energy for which an optimizer reported a trace.

    Settings that differ only in their optimizer share an energy. Damaged traces are left
    out, and one paragraph counts them.
    """
    sound: dict[str, list[tuple[str, Result]]] = {}
    traced: set[str] = set()
    faults: list[str] = []
    for name, result in zip(names, results, strict=True):
        readable = result
        try:
            if result.read_trace():
                traced.add(result.scene)
        except DataError as error:
            faults.append(str(error))
            readable = replace(result, environment={})
        if (
            readable.energy is not None
            and math.isfinite(readable.energy)
            and readable.error is None
        ):
            sound.setdefault(result.scene, []).append((name, readable))

    short = short_names(sorted(traced))
    charts = [
        _energy_chart(short[scene], same)
        for scene, named in sound.items()
        if scene in traced
        for same in _by_energy(named)
        if any(result.environment.get(TRACE) for result in same.values())
    ]
    blocks: list[Block] = [*charts[:_MOST_ENERGIES]]
    if faults:
        problem = f"{len(faults)} of {len(results)} traces cannot be drawn. The first: {faults[0]}"
        warn([problem])
        blocks.append(Text(problem))
    return blocks


def _by_energy(named: Sequence[tuple[str, Result]]) -> list[dict[str, Result]]:
    """Divide the results of a scene by the parameters that decide their energy."""
    groups: dict[str, dict[str, Result]] = {}
    for name, result in named:
        energy = str(
            [item for item in sorted(result.parameters.items()) if item[0].startswith(_ENERGY)]
        )
        groups.setdefault(energy, {})[name] = result
    return list(groups.values())


def _energy_chart(scene: str, results: Mapping[str, Result]) -> Picture:
    """Draw the energies of a scene."""
    drawing = svg_text(energies_figure(results, scene))
    return Picture(drawing, f"energy over time and errors over energy, {scene}", scene)
