"""The page of a run: a summary, its maps side by side, plots, all numbers, times and everything behind them."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from stereo_framework.core.errors import DataError, ParameterError, one_line, warn
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
from stereo_framework.sweep import Result, Store
from stereo_framework.sweep.result import changed_maps_warning
from stereo_framework.sweep.store import read_scripts
from stereo_framework.tables.environment import environment_text
from stereo_framework.tables.means import average_rows, means, telling_keys
from stereo_framework.tables.results import of_each_protocol
from stereo_framework.tables.scores import Scores, method_means, score_table
from stereo_framework.tables.tables import (
    Table,
    best_cells,
    density,
    listing,
    show,
    shown_statistics,
)
from stereo_framework.tables.values import better, by_protocol, is_number, value
from stereo_framework.tables.words import (
    measure_name,
    setting_name,
    setting_names,
    short_names,
    unit,
    with_unit,
)

_MOST_METHODS = 40
"""Rows of a summary."""

_MOST_ROWS, _MOST_COLUMNS = 40, 20
"""Scenes and methods whose maps a page shows."""


_MOST_SCENES = 20
"""Columns of the tables of further measures; where there are more scenes they show the means alone."""

_MOST_CURVES = 12
"""Curves of a chart; where scenes make more, it shows their means."""

_CURVE = 3
"""So many numbers of an axis make a curve."""

MOST_RESULTS = 1000
"""Rows of a table of results, unless asked otherwise: more make a page that takes seconds to open."""


def run_page(folder: PathLike, *, data: PathLike | None = None, limit: int = MOST_RESULTS) -> Page:
    """The page of an output folder.

    Parameters
    ----------
    folder : path-like
        The ``--out`` folder of a run.
    data : path-like, optional
        Data root, for truth and images of the maps; default: as of `load_scene`.
    limit : int
        Most results in a table or list; 0: all.

    Raises
    ------
    DataError
        No results there.
    """
    folder = Path(folder)
    with Store(folder) as store:
        results, lacking = store.results(), store.lacking()
    scripts = read_scripts(folder)
    names, most = setting_names(results), limit or max(1, len(results))
    protocols = list(by_protocol(results).values())
    order: list[str] = []
    summary: list[Block] = []
    sweeps: list[Block] = []
    listings: list[Block] = []
    for same in protocols:
        own, averages = _measures(same), average_rows(same, data)
        found, best_first = _summary(
            same, names if len(protocols) == 1 else setting_names(same), own, averages
        )
        summary += found
        order = order or best_first
        sweeps += _sweeps(same, own[0]) if own else []
        listings.append(_listing(same, averages, results[:most]))
    if failed := [
        f"{r.scene} {r.method} {dict(r.axes) or ''}: {r.error}" for r in results if r.error
    ]:
        summary.append(Details(f"{len(failed)} runs failed", "\n".join(failed[:most])))
    sections: dict[str, Sequence[Block]] = {
        "Summary": summary,
        "Maps": _maps(results, names, order, data),
        "Ranks": rank_blocks(results, names),
        "ROC": roc_blocks(results),
        "Sweeps": sweeps,
        "Energies": energy_blocks(results[:most], names[:most]),
        "Charts": [_chart(title, same) for title in CHARTS for same in protocols],
        "Plots": [*_plots(results, scripts.values())],
        "All results": listings,
        "Times": [_times(results[:most], names[:most])],
        "Behind the numbers": _details(scripts, results[:most]),
    }
    scenes, methods = (len(set(of)) for of in ([r.scene for r in results], names))
    counts = [
        _count(n, what)
        for n, what in ((len(results), "result"), (methods, "method"), (scenes, "scene"))
    ]
    lead = f"{', '.join(counts)}{f'; {lacking}' if lacking else ''}."
    if most < len(results):
        lead += f" The best of all stand in the summary; tables of single results show the first {most}: 'report {folder} --limit 0' shows all."
    return Page(
        f"Run: {folder.resolve().name}",
        lead,
        [Section(title, blocks) for title, blocks in sections.items() if blocks],
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _measures(results: Sequence[Result]) -> list[str]:
    """The statistics by which methods are compared."""
    return [
        name
        for name in shown_statistics(results)
        if better(name)
        and any(is_number(v := value(r, name)) and math.isfinite(v) for r in results)
    ]


def _summary(
    results: Sequence[Result],
    names: Sequence[str],
    measures: Sequence[str],
    means: Sequence[Result],
) -> tuple[list[Block], list[str]]:
    """Tables of methods by scenes for each measure, and the methods' names, the best first; `means` are the protocol's averages."""
    protocol = results[0].protocol
    if not measures:
        return [Text(f"{protocol}: nothing was measured by which methods could be compared.")], []
    try:
        found = score_table(results, measures, names)
        seconds = method_means(names, [r.matching_seconds for r in results])
        dense = method_means(names, [density(r.statistics) for r in results])
        beside = {"density %": dense, "seconds": seconds} if dense else {"seconds": seconds}
        # One mean for pages and tables: that of the protocol, with its weights; where it knows none, the plain one.
        named = {
            setting_name(r): name for name, r in dict(zip(names, results, strict=True)).items()
        }
        averages = {named[setting_name(r)]: r for r in means}
        tables = [_by_scene(found, measure, beside, averages) for measure in measures]
    except ParameterError as error:
        return [Text(f"{protocol}: no summary: {error}")], []
    (table, order), *others = tables
    blocks: list[Block] = [table]
    if found.notes:
        blocks.append(Text(f"{'; '.join(found.notes)}."))
    if others:
        blocks.append(
            Folded(f"The other measures: {', '.join(measures[1:])}", [other for other, _ in others])
        )
    name, _, text = results[0].protocol_text.partition(":")
    return [*blocks, Details(f"How it was measured: protocol {name}", text.strip())], order


def _by_scene(
    found: Scores,
    measure: str,
    beside: Mapping[str, Mapping[str, float]],
    averages: Mapping[str, Result],
) -> tuple[Table, list[str]]:
    """A table of methods by scenes with means and ranks in one of the measures, and the methods' names, the best first.

    `beside` holds further columns by method, `averages` the protocol's averages of methods, which stand in place of plain means.
    """
    own, direction = found.of(measure), better(measure)
    sign = -1 if direction == "higher" else 1
    mean, rank = own.means.tolist(), own.average_ranks.tolist()
    for i, method in enumerate(found.methods):
        # A method that lacks a score has no mean beside those of others, which cover more.
        if method in averages and math.isfinite(mean[i]):
            mean[i] = averages[method].statistics.get(measure, mean[i])
    several = len(found.scenes) > 1
    order = sorted(
        range(len(mean)),
        key=lambda i: (rank[i], sign * mean[i] if math.isfinite(mean[i]) else math.inf),
    )
    kept = order[:_MOST_METHODS]
    short = short_names(found.scenes)
    scenes = (
        found.scenes if measure == found.measures[0] or len(found.scenes) <= _MOST_SCENES else []
    )
    header = ["method", *map(short.__getitem__, scenes), *["mean", "mean rank"] * several, *beside]
    directions = [direction] * len(scenes) + [direction, "lower"] * several + [""] * len(beside)
    columns = own.values.T.tolist()[: len(scenes)] + [mean, rank] * several
    columns += [
        [by_method.get(name, math.nan) for name in found.methods] for by_method in beside.values()
    ]
    shown = [[values[i] if math.isfinite(values[i]) else None for i in kept] for values in columns]
    best = best_cells(shown, directions, [range(len(kept))], 1)
    rows = zip([found.methods[i] for i in kept], *shown, strict=True)
    said = [
        f"{direction} is better",
        *["rank 1 = best, averaged over the scenes"] * several,
        "seconds: mean time of matching",
    ]
    name = f"{measure_name(measure)} ({unit(measure)})".removesuffix(" ()")
    notes = [f"the best {len(kept)} of {len(order)} methods and settings"] * (
        len(kept) < len(order)
    )
    caption = f"{name}, protocol {found.protocol}: {'; '.join(said)}"
    return Table(header, list(rows), 1, caption, notes, best), [found.methods[i] for i in order]


def _listing(results: Sequence[Result], means: Sequence[Result], shown: Sequence[Result]) -> Block:
    """The table of those results of a protocol that are `shown`, the best of all marked, and of the means of their settings."""
    there = set(map(id, shown))
    own = [r for r in results if id(r) in there]
    scenes, settings = {r.scene for r in own}, {setting_name(r) for r in own}
    # Results are compared with those of their scene, so that of thousands few are looked at.
    compared = [*(r for r in results if r.scene in scenes), *means]
    kept = [
        i
        for i, r in enumerate(compared)
        if id(r) in there or (r.scene not in scenes and setting_name(r) in settings)
    ]
    found = replace(listing(compared, shown_statistics([*results, *means])).rows_of(kept), notes=())
    first = f"{len(own)} of " * (len(own) < len(results))
    return Folded(
        f"{first}{_count(len(results), 'result')} of protocol {results[0].protocol}, with all measures",
        [found],
    )


def _chart(title: str, results: Sequence[Result]) -> Block:
    """A chart that a plug-in brought; one that fails is told."""
    try:
        return Picture(
            svg_text(chart_figure(title, results)),
            title,
            f"{title}, protocol {results[0].protocol}",
        )
    except ParameterError as error:
        return Text(str(error))


def _plots(results: Sequence[Result], scripts: Iterable[Mapping[str, Any]]) -> Iterator[Block]:
    """Draw the plots that scripts ask for from the current results, or name the reason why not."""
    for own, report in reports_of(results, scripts):
        for plot in read_report(report).plots:
            try:
                for ending, same in of_each_protocol(own, plot.where, plot.y):
                    name = f"{plot.name}{ending}"
                    yield Picture(svg_text(plot_figure(plot, same)), f"plot {name}", name)
            except ParameterError as error:
                yield Text(f"plot {plot.name}: {error}")


def _sweeps(results: Sequence[Result], measure: str) -> list[Block]:
    """A statistic over every axis of numbers that was swept, a curve for each scene, or of many scenes their mean; means over all other axes."""
    blocks: list[Block] = []
    telling = telling_keys(results)
    for axis in dict.fromkeys(name for r in results for name in r.axes):
        own = [r for r in results if axis in r.axes]
        if len({r.axes[axis] for r in own if is_number(r.axes[axis])}) < _CURVE:
            continue
        short, methods = short_names({r.scene for r in own}), {r.method for r in own}
        keys = ["method"] * (len(methods) > 1) + ["scene"] * (
            len(methods) * len(short) <= _MOST_CURVES
        )
        try:
            found = means(
                own, [axis, *keys], [measure], telling if len(own) == len(results) else None
            )
        except ParameterError as error:
            blocks.append(Text(f"{axis}: no curve: {error}"))
            continue
        lines: dict[str, list[tuple[Any, float]]] = {}
        for (x, *key), mean in found.cells.items():
            if mean.value is not None and math.isfinite(mean.value):
                name = ", ".join(
                    short[v] if k == "scene" else str(v) for k, v in zip(keys, key, strict=True)
                )
                lines.setdefault(name, []).append((x, mean.value))
        remarks = "; ".join(
            filter(None, (found.averaged, *found.notes, f"protocol {results[0].protocol}"))
        )
        caption = f"{measure} over {axis}; the best of each curve has a ring; {remarks}"
        if lines:
            blocks.append(Curves(caption, axis, with_unit(measure), lines, better(measure)))
    return blocks


def _maps(
    results: Sequence[Result], names: Sequence[str], order: Sequence[str], data: PathLike | None
) -> list[Block]:
    """Show the maps of every scene side by side, the methods in the given order."""
    by_scene: dict[str, dict[str, Result]] = {}
    for r, name in zip(results, names, strict=True):
        if r.map is not None and os.path.lexists(r.map):
            by_scene.setdefault(r.scene, {}).setdefault(name, r)
    if not by_scene:
        return []
    methods = dict.fromkeys(name for own in by_scene.values() for name in own)
    columns = [
        *(name for name in order if name in methods),
        *(name for name in methods if name not in order),
    ]
    short = short_names(by_scene)

    rows: list[SceneRow] = []
    problems: list[str] = []
    changed: list[Path] = []
    for scene, results_of_scene in list(by_scene.items())[:_MOST_ROWS]:
        shown = [
            (name, results_of_scene[name])
            for name in columns[:_MOST_COLUMNS]
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
    left_out = [(len(columns), _MOST_COLUMNS, "methods"), (len(by_scene), _MOST_ROWS, "scenes")]
    if told := [
        f"the first {most} of {count} {what}" for count, most, what in left_out if count > most
    ]:
        blocks.append(
            Text(f"Shown are {' and '.join(told)}; the other maps lie in the folder maps.")
        )
    # A damaged file was changed too, but one line about it is enough.
    changed = [path for path in changed if not any(str(path) in problem for problem in problems)]
    remarks = [changed_maps_warning(changed)] if changed else []
    if problems:
        remarks.append(
            f"{_count(len(problems), 'stored map')} cannot be shown. The first: {problems[0]}"
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
    """The first number that the tables show."""
    if not result.statistics:
        return ""
    measure = shown_statistics([result])[0]
    return show(result.statistics[measure]) + " %" * (unit(measure) == "%")


def _times(results: Sequence[Result], names: Sequence[str]) -> Block:
    stages = list(dict.fromkeys(name for r in results for name in r.seconds))
    short = short_names(r.scene for r in results)
    rows = [
        (short[r.scene], name, *map(r.seconds.get, stages))
        for r, name in zip(results, names, strict=True)
    ]
    return Folded("Seconds of each stage", [Table(("scene", "method", *stages), rows, 2)])


def _details(scripts: Mapping[str, Mapping[str, Any]], results: Sequence[Result]) -> list[Block]:
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
