"""The HTML report of a run: summary, disparity maps, plots, numbers and parameters."""

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stereo_framework.core.errors import DataError, ParameterError, few, one_line, warn
from stereo_framework.datasets import load_scene
from stereo_framework.evaluation.protocols import of_scene
from stereo_framework.figures.chart import CHARTS, chart_figure
from stereo_framework.figures.plots import plot_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.io import PathLike
from stereo_framework.page.page import Block, Curves, Details, Folded, Page, Picture, Section, Text
from stereo_framework.page.ranking_sections import energy_blocks, rank_blocks, roc_blocks
from stereo_framework.page.report_files import reports_of
from stereo_framework.page.stored_pictures import (
    SceneRow,
    Scenes,
    Stored,
    scene_row,
    stored_map,
    usual_limits,
)
from stereo_framework.script.report import read_report
from stereo_framework.sweep import Result, ResultSet, Store
from stereo_framework.sweep.merging import combined_results, united_scripts
from stereo_framework.sweep.numbers import is_number
from stereo_framework.sweep.result import changed_maps_warning
from stereo_framework.sweep.store import read_scripts
from stereo_framework.sweep.value_text import cell_text, counted
from stereo_framework.tables.averages import average_rows
from stereo_framework.tables.directions import better_direction
from stereo_framework.tables.environment import environment_text
from stereo_framework.tables.means import Means, means
from stereo_framework.tables.results import of_each_protocol
from stereo_framework.tables.scores import Scores, method_means, score_table
from stereo_framework.tables.tables import Table, best_cells, density, listing, shown_statistics
from stereo_framework.tables.words import metric_name, short_names, unit, with_unit

_MOST_METHODS = 40
"""Maximum number of methods in a table of the summary."""

_MOST_SCENES_WITH_MAPS = 40
"""Maximum number of scenes whose disparity maps a page shows."""

_MOST_METHODS_WITH_MAPS = 20
"""Maximum number of methods whose disparity maps a page shows."""

_MOST_SCENES = 20
"""Maximum number of scenes in the tables of further metrics.

If there are more scenes, these tables contain only the means over the scenes.
"""

_MOST_CURVES = 12
"""Maximum number of curves in a chart.

If the scenes had more curves, the chart contains the means over the scenes.
"""

_MOST_FOLDERS_IN_TITLE = 3
"""Maximum number of folders whose names are in the title of a report."""

_LEAST_POINTS = 3
"""Minimum number of points of a curve."""

MOST_RESULTS = 1000
"""Rows of a table of results, unless asked otherwise: more make a page that takes seconds to open."""


def run_page(
    folders: PathLike | Sequence[PathLike],
    *,
    data: PathLike | None = None,
    limit: int = MOST_RESULTS,
) -> Page:
    """Make the report of one or several output folders.

    Parameters
    ----------
    folders : path-like, or sequence of path-like
        The ``--out`` folder of a run, or several of them. Results that several folders
        contain are shown once.
    data : path-like, optional
        Data root, for ground truth and images next to the maps. Default: that of
        `load_scene`.
    limit : int
        Maximum number of results in a table or list. 0 means all results.

    Raises
    ------
    DataError
        A folder contains no results.
    """
    paths = _as_paths(folders)
    contents = _read(paths)
    results = contents.results
    scripts = contents.scripts
    names = results.setting_names()
    most = limit or max(1, len(results))
    listed = results[:most]
    listed_names = names[:most]
    groups = list(results.by("protocol_text").values())

    parts = _PartsOfProtocols()
    for group in groups:
        # A single group contains all results, whose names were computed above.
        group_names = names if len(groups) == 1 else group.setting_names()
        parts.add(group, group_names, average_rows(group, data), listed)
    summary = [*parts.summary, *_failures(results, most)]
    sections: dict[str, Sequence[Block]] = {
        "Summary": summary,
        "Maps": _maps(results, names, parts.best_first, data),
        "Ranks": rank_blocks(results, names),
        "ROC": roc_blocks(results),
        "Sweeps": parts.sweeps,
        "Energies": energy_blocks(listed, listed_names),
        "Charts": [_chart(title, group) for title in CHARTS for group in groups],
        "Plots": [*_plots(results, scripts.values())],
        "All results": parts.listings,
        "Times": [_times(listed, listed_names)],
        "Behind the numbers": _details(scripts, listed),
    }
    lead = _counts(results, names, contents.lacking)
    if most < len(results):
        listed_paths = " ".join(map(str, paths))
        lead += (
            f" The best of all stand in the summary; tables of single results show the first "
            f"{most}: 'report {listed_paths} --limit 0' shows all."
        )
    folder_names = few([path.resolve().name for path in paths], _MOST_FOLDERS_IN_TITLE)
    return Page(
        f"Run: {folder_names}",
        lead,
        [Section(title, blocks) for title, blocks in sections.items() if blocks],
    )


def _as_paths(folders: PathLike | Sequence[PathLike]) -> list[Path]:
    """Return one or several folders as a list of paths."""
    if isinstance(folders, str | os.PathLike):
        return [Path(folders)]
    return list(map(Path, folders))


class _Contents(NamedTuple):
    """The contents of the results folders of a report.

    Parameters
    ----------
    results : ResultSet
        All results.
    lacking : str
        Remark about missing results.
    scripts : mapping of str to mapping
        Resolved scripts by the names of their files.
    """

    results: ResultSet
    lacking: str
    scripts: Mapping[str, Mapping[str, Any]]


def _read(folders: Sequence[Path]) -> _Contents:
    """Read the results and the scripts of folders.

    Warns
    -----
    ResultWarning
        Two results of the same run contradict each other.
    """
    if len(folders) == 1:
        [folder] = folders
        with Store(folder) as store:
            return _Contents(store.results(), store.lacking(), read_scripts(folder))
    combined = combined_results(folders)
    warn(combined.warnings)
    return _Contents(combined.results, combined.missing_text, united_scripts(folders))


class _PartsOfProtocols:
    """The blocks of a report that exist once for each protocol.

    Attributes
    ----------
    summary, sweeps, listings : list of Block
        Blocks of the sections of these names.
    best_first : list of str
        Names of the settings under the first protocol with a summary. The setting with
        the best score is the first.
    """

    def __init__(self) -> None:
        self.summary: list[Block] = []
        self.sweeps: list[Block] = []
        self.listings: list[Block] = []
        self.best_first: list[str] = []

    def add(
        self, results: ResultSet, names: Sequence[str], averages: ResultSet, listed: ResultSet
    ) -> None:
        """Add the blocks of one protocol.

        Parameters
        ----------
        results : ResultSet
            Results of the protocol.
        names : sequence of str
            Name of the setting of each result.
        averages : ResultSet
            Averages over scenes, as the protocol prescribes.
        listed : ResultSet
            Results of any protocols that the report lists.
        """
        metrics = _metrics(results)
        blocks, best_first = _summary(results, names, metrics, averages)
        self.summary += blocks
        self.best_first = self.best_first or best_first
        if metrics:
            self.sweeps += _sweeps(results, metrics[0])
        self.listings.append(_listing(results, averages, listed))


def _failures(results: ResultSet, most: int) -> list[Block]:
    """Return a block with the errors of failed runs, if there are any."""
    lines = [
        f"{result.scene} {result.method} {dict(result.axes) or ''}: {result.error}"
        for result in results
        if result.error
    ]
    if not lines:
        return []
    return [Details(f"{len(lines)} runs failed", "\n".join(lines[:most]))]


def _counts(results: ResultSet, names: Sequence[str], lacking: str) -> str:
    """Return the first sentence of a report, with the number of results.

    Parameters
    ----------
    results : ResultSet
        All results.
    names : sequence of str
        Name of the setting of each result.
    lacking : str
        Remark about missing results.
    """
    scenes = {result.scene for result in results}
    counts = [
        counted(len(results), "result"),
        counted(len(set(names)), "method"),
        counted(len(scenes), "scene"),
    ]
    remark = f"; {lacking}" if lacking else ""
    return f"{', '.join(counts)}{remark}."


def _metrics(results: ResultSet) -> list[str]:
    """Return the statistics by which methods are compared."""
    metrics: list[str] = []
    for name in shown_statistics(results):
        if better_direction(name) and any(map(_is_finite_number, results.column(name))):
            metrics.append(name)
    return metrics


def _is_finite_number(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def _summary(
    results: ResultSet,
    names: Sequence[str],
    metrics: Sequence[str],
    averages: ResultSet,
) -> tuple[list[Block], list[str]]:
    """Return tables of methods by scenes for each metric, and the names of the methods.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    names : sequence of str
        Name of the setting of each result.
    metrics : sequence of str
        Statistics by which methods are compared.
    averages : ResultSet
        Averages over scenes, as the protocol prescribes.

    Returns
    -------
    blocks : list of Block
        The tables and their remarks.
    best_first : list of str
        The names of the methods, the best method first.
    """
    protocol = results[0].protocol
    if not metrics:
        return [Text(f"{protocol}: nothing was measured by which methods could be compared.")], []
    try:
        scores = score_table(results, metrics, names)
        seconds = method_means(names, [result.matching_seconds for result in results])
        densities = method_means(names, [density(result.statistics) for result in results])
        extra_columns = {"density %": densities} if densities else {}
        extra_columns["seconds"] = seconds
        # The list `names` contains the short names of the settings, which the report
        # shows. The property `setting_name` is the full name, which the averages have.
        short_name_of = {
            result.setting_name: name for result, name in zip(results, names, strict=True)
        }
        average_of_name = {short_name_of[average.setting_name]: average for average in averages}
        tables = [_by_scene(scores, metric, extra_columns, average_of_name) for metric in metrics]
    except ParameterError as error:
        return [Text(f"{protocol}: no summary: {error}")], []
    (table, best_first), *others = tables
    blocks: list[Block] = [table]
    if scores.notes:
        blocks.append(Text(f"{'; '.join(scores.notes)}."))
    if others:
        title = f"The other metrics: {', '.join(metrics[1:])}"
        blocks.append(Folded(title, [other for other, _ in others]))
    name, _, text = results[0].protocol_text.partition(":")
    blocks.append(Details(f"How it was measured: protocol {name}", text.strip()))
    return blocks, best_first


def _by_scene(
    scores: Scores,
    metric: str,
    extra_columns: Mapping[str, Mapping[str, float]],
    averages: Mapping[str, Result],
) -> tuple[Table, list[str]]:
    """Return a table of methods by scenes in one metric, and the names of the methods.

    Parameters
    ----------
    scores : Scores
        Scores in all metrics.
    metric : str
        The metric of the table.
    extra_columns : mapping of str to mapping of str to float
        Further columns by their headings. A column maps the names of methods to
        numbers.
    averages : mapping of str to Result
        Averages that the protocol prescribes, by the name of the method. They replace
        plain means.

    Returns
    -------
    table : Table
        The scores with their means and mean ranks.
    best_first : list of str
        Names of all methods, the best method first.
    """
    scores_of_metric = scores.of(metric)
    means_of_methods = _means_of_methods(scores_of_metric, metric, averages)
    ranks = scores_of_metric.average_ranks.tolist()
    direction = better_direction(metric)
    sign = -1 if direction == "higher" else 1

    def order_key(i: int) -> tuple[float, float]:
        """Return the key by which methods are sorted: mean rank, then mean."""
        mean = means_of_methods[i]
        signed_mean = sign * mean if math.isfinite(mean) else math.inf
        return ranks[i], signed_mean

    order = sorted(range(len(ranks)), key=order_key)
    shows_scenes = metric == scores.metrics[0] or len(scores.scenes) <= _MOST_SCENES
    columns: list[_Column] = []
    if shows_scenes:
        short_scenes = short_names(scores.scenes)
        for scene, values in zip(scores.scenes, scores_of_metric.values.T.tolist(), strict=True):
            columns.append(_Column(short_scenes[scene], values, direction))
    if len(scores.scenes) > 1:
        columns.append(_Column("mean", means_of_methods, direction))
        columns.append(_Column("mean rank", ranks, "lower"))
    for heading, number_by_method in extra_columns.items():
        numbers = [number_by_method.get(name, math.nan) for name in scores.methods]
        columns.append(_Column(heading, numbers, ""))

    table = _table_of_columns(scores.methods, columns, order[:_MOST_METHODS])
    hidden = len(order) > _MOST_METHODS
    note = f"the best {_MOST_METHODS} of {len(order)} methods and settings"
    table = replace(table, title=_title_of_summary(scores, metric), notes=[note] if hidden else [])
    return table, [scores.methods[i] for i in order]


class _Column(NamedTuple):
    """A column of numbers, one for each method.

    Parameters
    ----------
    heading : str
        Name of the column.
    numbers : sequence of float
        The numbers, NaN = no number.
    direction : str
        ``lower`` or ``higher``, or an empty text if there is no best number.
    """

    heading: str
    numbers: Sequence[float]
    direction: str


def _means_of_methods(scores: Scores, metric: str, averages: Mapping[str, Result]) -> list[float]:
    """Return the mean score of each method in a metric, NaN = no mean.

    Reports and tables contain the same mean, which is the average that the protocol
    prescribes, with its weights. If the protocol prescribes no average, the mean is the
    plain mean.

    Parameters
    ----------
    scores : Scores
        Scores in the metric.
    metric : str
        Name of the metric.
    averages : mapping of str to Result
        Averages that replace plain means, by the name of the method.
    """
    means_of_methods: list[float] = scores.means.tolist()
    for i, method in enumerate(scores.methods):
        # A method that lacks a score has no mean, because the means of other methods
        # cover more scenes.
        if method in averages and math.isfinite(means_of_methods[i]):
            statistics = averages[method].statistics
            means_of_methods[i] = statistics.get(metric, means_of_methods[i])
    return means_of_methods


def _table_of_columns(
    methods: Sequence[str], columns: Sequence[_Column], rows: Sequence[int]
) -> Table:
    """Return a table of some methods, and mark the best number of each column.

    Parameters
    ----------
    methods : sequence of str
        Names of all methods.
    columns : sequence of _Column
        The columns after the names.
    rows : sequence of int
        Indices of the shown methods, in their order.
    """
    shown: list[list[float | None]] = []
    for column in columns:
        numbers = [column.numbers[i] for i in rows]
        shown.append([number if math.isfinite(number) else None for number in numbers])
    directions = [column.direction for column in columns]
    best = best_cells(shown, directions, [range(len(rows))], 1)
    header = ["method", *(column.heading for column in columns)]
    cells = zip([methods[i] for i in rows], *shown, strict=True)
    return Table(header, list(cells), 1, best=best)


def _title_of_summary(scores: Scores, metric: str) -> str:
    """Return the title of a table of methods by scenes."""
    remarks = [f"{better_direction(metric)} is better"]
    if len(scores.scenes) > 1:
        remarks.append("rank 1 = best, averaged over the scenes")
    remarks.append("seconds: mean time of matching")
    name = metric_name(metric)
    unit_text = unit(metric)
    if unit_text:
        name += f" ({unit_text})"
    return f"{name}, protocol {scores.protocol}: {'; '.join(remarks)}"


def _listing(results: ResultSet, averages: ResultSet, listed: ResultSet) -> Block:
    """Return the table of the listed results of a protocol, and of their averages.

    The best of all results are marked, also if other results are not listed.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    averages : ResultSet
        Averages over scenes, as the protocol prescribes.
    listed : ResultSet
        Results of any protocols that the report lists.
    """
    listed_ids = set(map(id, listed))
    shown = [result for result in results if id(result) in listed_ids]
    scenes = {result.scene for result in shown}
    settings = {result.setting_name for result in shown}
    # A result is compared with the results of its scene only. Other scenes are left
    # out, because tables of thousands of results take long.
    compared = ResultSet(result for result in results if result.scene in scenes) + averages
    rows: list[int] = []
    for i, result in enumerate(compared):
        is_average = result.scene not in scenes
        if id(result) in listed_ids or (is_average and result.setting_name in settings):
            rows.append(i)
    columns = shown_statistics(results + averages)
    table = replace(listing(compared, columns).rows_of(rows), notes=())
    count = counted(len(results), "result")
    if len(shown) < len(results):
        count = f"{len(shown)} of {count}"
    return Folded(f"{count} of protocol {results[0].protocol}, with all metrics", [table])


def _chart(title: str, results: ResultSet) -> Block:
    """Return the chart of a plug-in, or the error of the plug-in."""
    try:
        return Picture(
            svg_text(chart_figure(title, results)),
            title,
            f"{title}, protocol {results[0].protocol}",
        )
    except ParameterError as error:
        return Text(str(error))


def _plots(results: ResultSet, scripts: Iterable[Mapping[str, Any]]) -> Iterator[Block]:
    """Draw the plots of scripts from the current results, or report the error."""
    for results_of_script, report in reports_of(results, scripts):
        for plot in read_report(report).plots:
            try:
                for ending, same in of_each_protocol(results_of_script, plot.where, plot.y):
                    name = f"{plot.name}{ending}"
                    yield Picture(svg_text(plot_figure(plot, same)), f"plot {name}", name)
            except ParameterError as error:
                yield Text(f"plot {plot.name}: {error}")


def _sweeps(results: ResultSet, metric: str) -> list[Block]:
    """Draw a statistic over each axis of numbers, averaged over all other axes.

    Each scene has a curve. If there were too many curves, their mean is drawn.
    """
    blocks: list[Block] = []
    varying = results.varying()
    for axis in results.axis_names():
        swept = ResultSet(result for result in results if axis in result.axes)
        numbers = {result.axes[axis] for result in swept if is_number(result.axes[axis])}
        if len(numbers) < _LEAST_POINTS:
            continue
        scenes = {result.scene for result in swept}
        methods = {result.method for result in swept}
        keys = ["method"] if len(methods) > 1 else []
        if len(methods) * len(scenes) <= _MOST_CURVES:
            keys.append("scene")
        varying_keys = varying if len(swept) == len(results) else None
        try:
            axis_means = means(swept, [axis, *keys], [metric], varying_keys)
        except ParameterError as error:
            blocks.append(Text(f"{axis}: no curve: {error}"))
            continue
        lines = _lines_of_means(axis_means, keys, short_names(scenes))
        if lines:
            remarks = [axis_means.averaged, *axis_means.notes, f"protocol {results[0].protocol}"]
            title = f"{metric} over {axis}; the best of each curve has a ring"
            text = "; ".join([title, *filter(None, remarks)])
            blocks.append(Curves(text, axis, with_unit(metric), lines, better_direction(metric)))
    return blocks


def _lines_of_means(
    axis_means: Means, keys: Sequence[str], short_scenes: Mapping[str, str]
) -> dict[str, list[tuple[Any, float]]]:
    """Return the points of each curve by the name of the curve.

    Parameters
    ----------
    axis_means : Means
        Means by the value of the axis and the values of the keys.
    keys : sequence of str
        Keys whose values name the curves.
    short_scenes : mapping of str to str
        Short names of the scenes.
    """
    lines: dict[str, list[tuple[Any, float]]] = {}
    for (x, *values), mean in axis_means.cells.items():
        if mean.value is None or not math.isfinite(mean.value):
            continue
        texts = [
            short_scenes[value] if key == "scene" else str(value)
            for key, value in zip(keys, values, strict=True)
        ]
        lines.setdefault(", ".join(texts), []).append((x, mean.value))
    return lines


def _maps(
    results: ResultSet, names: Sequence[str], order: Sequence[str], data: PathLike | None
) -> list[Block]:
    """Show the maps of every scene side by side, the methods in the given order."""
    by_scene: dict[str, dict[str, Result]] = {}
    for result, name in zip(results, names, strict=True):
        if result.map is not None and os.path.lexists(result.map):
            by_scene.setdefault(result.scene, {}).setdefault(name, result)
    if not by_scene:
        return []
    methods = dict.fromkeys(itertools.chain.from_iterable(by_scene.values()))
    columns = list(dict.fromkeys([*(name for name in order if name in methods), *methods]))
    short = short_names(by_scene)

    rows: list[SceneRow] = []
    problems: list[str] = []
    changed: list[Path] = []
    for scene, results_of_scene in list(by_scene.items())[:_MOST_SCENES_WITH_MAPS]:
        shown = [
            (name, results_of_scene[name])
            for name in columns[:_MOST_METHODS_WITH_MAPS]
            if name in results_of_scene
        ]
        pictures, problems_of_scene = _pictures(shown)
        problems += problems_of_scene
        if pictures:
            changed += [path for _, result in shown for path in result.changed_files()]
            rows.append(_row(scene, short[scene], pictures, data))

    blocks: list[Block] = (
        [Scenes(rows, "A picture opens the viewer: zoom, values, errors, blinking")] if rows else []
    )
    limits = [
        (len(columns), _MOST_METHODS_WITH_MAPS, "methods"),
        (len(by_scene), _MOST_SCENES_WITH_MAPS, "scenes"),
    ]
    shown_parts = [
        f"the first {most} of {count} {noun}" for count, most, noun in limits if count > most
    ]
    if shown_parts:
        text = f"Shown are {' and '.join(shown_parts)}; the other maps lie in the folder maps."
        blocks.append(Text(text))
    # A damaged file was changed too, but one line about it is enough.
    changed = [path for path in changed if not any(str(path) in problem for problem in problems)]
    remarks = [changed_maps_warning(changed)] if changed else []
    if problems:
        remarks.append(
            f"{counted(len(problems), 'stored map')} cannot be shown. The first: {problems[0]}"
        )
    warn(remarks)
    return [*blocks, *map(Text, remarks)]


def _pictures(results: Sequence[tuple[str, Result]]) -> tuple[dict[str, Stored], list[str]]:
    """Return the pictures of stored maps by name, and a line for each file that cannot be read."""
    pictures: dict[str, Stored] = {}
    problems: list[str] = []
    for name, result in results:
        confidence = None
        try:
            confidence = next(iter(result.confidence.values()), None)
        except DataError as error:
            problems.append(str(error))
        try:
            disparity = result.read_map()
            if confidence is not None and confidence.shape != disparity.shape:
                problems.append(
                    f"{result.map}: the confidence is {confidence.shape}, the map {disparity.shape}"
                )
                confidence = None
            pictures[name] = stored_map(disparity, confidence, _caption(result))
        except DataError as error:
            problems.append(str(error))

    size = next((picture.size for picture in pictures.values()), None)
    for name in [name for name, picture in pictures.items() if picture.size != size]:
        del pictures[name]
        problems.append(
            f"{one_line(name, 80)}: the stored map has another size than the first map of the scene, {size}"
        )
    return pictures, problems


def _row(
    scene_name: str, title: str, pictures: Mapping[str, Stored], data: PathLike | None
) -> SceneRow:
    """Show the maps of a scene that have its size, with its image and ground truth if they are there."""
    try:
        scene = load_scene(scene_name, data=data)
        if all(scene.reference.shape[1::-1] == picture.size for picture in pictures.values()):
            return scene_row(scene, pictures, of_scene(scene), name=title)
        reason = "the scene of this name has another size"
    except DataError as error:
        reason = str(error)
    return SceneRow(
        title,
        pictures,
        usual_limits(list(pictures.values())),
        note=f"without image and truth: {reason}",
    )


def _caption(result: Result) -> str:
    """Return the first statistic that the tables show, with its percent sign if any."""
    if not result.statistics:
        return ""
    name = shown_statistics(ResultSet([result]))[0]
    text = cell_text(result.statistics[name])
    if unit(name) == "%":
        return f"{text} %"
    return text


def _times(results: ResultSet, names: Sequence[str]) -> Block:
    """Return the table of the run times of all stages."""
    stages = list(dict.fromkeys(stage for result in results for stage in result.seconds))
    short_scenes = short_names(result.scene for result in results)
    rows = [
        (short_scenes[result.scene], name, *map(result.seconds.get, stages))
        for result, name in zip(results, names, strict=True)
    ]
    return Folded("Seconds of each stage", [Table(("scene", "method", *stages), rows, 2)])


def _details(scripts: Mapping[str, Mapping[str, Any]], results: ResultSet) -> list[Block]:
    """Show scripts, parameters, warnings and the environment on demand."""
    blocks_of_scripts: list[Block] = [
        Details(f"Script {name}, with all defaults", yaml.safe_dump(script, sort_keys=False))
        for name, script in scripts.items()
    ]
    settings = "\n".join(f"{r.id} {r.scene} {r.method} {dict(r.parameters)}" for r in results)
    warnings = "\n".join(
        dict.fromkeys(f"{r.scene} {r.method}: {w}" for r in results for w in r.warnings)
    )
    blocks = {
        "Parameters of every result": settings,
        "Warnings": warnings,
        "Environment of this page": environment_text(),
    }
    return [
        *blocks_of_scripts,
        *(Details(summary, text) for summary, text in blocks.items() if text),
    ]
