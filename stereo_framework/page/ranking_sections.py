"""Sections of an HTML report: ranks with A* groups, ROC curves and energies."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from stereo_framework.core.errors import DataError, StereoFrameworkError, warn
from stereo_framework.figures.energies import energies_figure
from stereo_framework.figures.roc_plot import roc_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.page.page import Block, Picture, Text
from stereo_framework.sweep.result import TRACE, Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.boundary import boundary
from stereo_framework.tables.ranking import astar_verdict
from stereo_framework.tables.scores import Scores, ranked
from stereo_framework.tables.tables import Cell, Table
from stereo_framework.tables.words import short_names

_FEWEST_METHODS, _MOST_METHODS = 2, 60
"""Rows of a table of ranks; of sweeps the best ones are listed elsewhere."""

_ENERGY = ("preprocessing", "matching_cost", "aggregation", "smoothness", "search")
"""Whose parameters an energy depends on."""

_MOST_ENERGIES = 20
"""Charts of a page."""


def rank_blocks(results: ResultSet, names: Sequence[str]) -> list[Block]:
    """Return a table of ranks for each protocol with scores of several methods.

    The ranks are those of `rank`: the average of the ranks in all columns, and the A*
    groups of Cabezas et al. 2012.

    Parameters
    ----------
    results : ResultSet
        Results of any protocols.
    names : sequence of str
        Name of the setting of each result.
    """
    blocks: list[Block] = []
    for protocol in dict.fromkeys(result.protocol for result in results):
        result_of_name = {
            name: result
            for name, result in zip(names, results, strict=True)
            if result.protocol == protocol
        }
        if len(result_of_name) > _MOST_METHODS:
            continue
        name_of_setting = {result.setting_name: name for name, result in result_of_name.items()}
        try:
            scores = ranked(ResultSet(result for result in results if result.protocol == protocol))
        except StereoFrameworkError:
            # For example, metrics without a direction cannot rank methods.
            continue
        complete_scores, lacking = scores.complete()
        if len(complete_scores.methods) >= _FEWEST_METHODS:
            blocks.append(_rank_table(complete_scores, lacking, name_of_setting, protocol))
    return blocks


def _rank_table(
    scores: Scores,
    lacking: Iterable[str],
    name_of_setting: Mapping[str, str],
    protocol: str,
) -> Table:
    """Return the table of ranks for one protocol.

    Parameters
    ----------
    scores : Scores
        Scores of the methods that have a score in every column.
    lacking : iterable of str
        Methods that lack a score in some column.
    name_of_setting : mapping of str to str
        Short names of all these methods.
    protocol : str
        Name of the protocol.
    """
    columns = (
        scores.places.tolist(),
        [name_of_setting[method] for method in scores.methods],
        scores.average_ranks.tolist(),
        scores.groups.tolist(),
    )
    rows = sorted(zip(*columns, strict=True), key=lambda row: row[0])
    best = frozenset((n, 2) for n, row in enumerate(rows) if row[0] == 1)
    notes = [
        f"Average of the ranks in {len(scores.columns)} columns: {', '.join(scores.metrics)}.",
        f"{astar_verdict(scores.groups)}.",
    ]
    left_out = ", ".join(name_of_setting[method] for method in lacking)
    if left_out:
        notes.append(f"Without a score in some column and therefore left out: {left_out}.")
    header = ("rank", "method", "average rank", "A* group")
    return Table(header, rows, 1, f"Ranks, protocol {protocol}", [" ".join(notes)], best)


def roc_blocks(results: ResultSet) -> list[Block]:
    """Return a chart of error rate against sparsity rate and a table of efficiencies.

    The chart shows the mean of the scenes, or the only scene. There are no blocks if no
    result has the two rates.
    """
    rates = {"error_rate", "sparsity_rate"}
    measured = ResultSet(result for result in results if rates <= result.statistics.keys())
    if not measured:
        return []
    try:
        curves = boundary(measured, drop_incomplete=True)
        scenes = list(curves.points)
        title = f"mean of {len(scenes)} scenes" if len(scenes) > 1 else scenes[0]
        figure = roc_figure(curves.mean, boundary=curves.cases()["mean"], title=title)
        picture = svg_text(figure)
    except DataError as error:
        return [Text(f"No ROC curves: {error}")]
    rows = [
        [
            Cell(method),
            *(Cell.number(row.get(name, np.nan), ".3f") for name in [*scenes, "Expected"]),
        ]
        for method, row in curves.efficiencies().items()
    ]
    header = ["method", *(scene.rpartition("/")[2] for scene in scenes), "expected"]
    note = "Efficiency: 1 is ideal. Expected: of the mean curve."
    return [
        Picture(picture, f"ROC curves, {title}", f"Error rate against sparsity, {title}"),
        Table(header, rows, 1, "Efficiencies", [note]),
    ]


def energy_blocks(results: ResultSet, names: Sequence[str]) -> list[Block]:
    """Draw a chart for each scene and energy for which an optimizer reported a trace.

    Settings that differ only in their optimizer share an energy. Damaged traces are
    left out, and one paragraph counts them.
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
