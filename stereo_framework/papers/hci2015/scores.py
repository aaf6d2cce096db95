"""Scores, ranks and r²: Figures 1, 4, 6, 7 and 9 to 12, section 4.4, and all scores.

All items show our methods, and OpenCV's as an outside one, on the scenes that are available.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stereo_framework.core.scene import Scene
from stereo_framework.evaluation.disparity_error import rms_error
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.figures._looks import new_chart
from stereo_framework.figures.saving import svg_text
from stereo_framework.io import read_disparity
from stereo_framework.page.page import Cell, Picture, Text
from stereo_framework.papers.comparison import compared, plain_table
from stereo_framework.papers.hci2015.charts import footnote, histogram_figure, radar_figure, stacked_bars_figure
from stereo_framework.papers.hci2015.claims import COLUMNS, R2, THREE, Scores
from stereo_framework.papers.paper import Context, Outcome, drawn, results_details
from stereo_framework.papers.published import published_table, raw_table
from stereo_framework.sweep import Result
from stereo_framework.tables.ranking import competition_ranks
from stereo_framework.tables.scores import standings

FOLDER = "middlebury-v3/trainingQ/"

_DENSE = 0.99
"""Smallest share of estimated pixels at which a map counts as dense: after filling, only rows without any estimate stay empty."""

_SUBSETS = {metric.symbol: metric.subset for metric in HCI_METRICS.values()}
"""The paper's symbols of the subsets, by those of the metrics."""


def results(context: Context) -> list[Result]:
    """All results except failed ones; a quick reproduction has one scene and leaves out the methods that take minutes."""
    return [r for r in context.run("short" if context.quick else "all", maps=True) if r.error is None]


def dense(found: Sequence[Result]) -> list[Result]:
    """Results of the methods whose maps are dense everywhere, which is what the paper is about."""
    sparse = {r.method for r in found if r.statistics["fraction_matched"] < _DENSE}
    return [r for r in found if r.method not in sparse]


def on(found: Sequence[Result], scene: str) -> dict[str, Result]:
    """Results on a scene by method."""
    return {r.method: r for r in found if r.scene == FOLDER + scene}


def scores_on(found: Sequence[Result], scene: str, *columns: str) -> Scores:
    """Scores of the methods on a scene by the paper's names of measures."""
    of = on(found, scene)
    return {c: {name: r.statistics[COLUMNS[c]] for name, r in of.items()} for c in columns}


def fits(found: Sequence[Result]) -> R2:
    """r² of the linear fit of every measure to every other, over these maps, where both are measured; empty without enough of them."""
    from pandas import DataFrame

    if len(found) < 3:
        return {}
    r2 = DataFrame({c: [r.statistics[name] for r in found] for c, name in COLUMNS.items()}, dtype=float).corr() ** 2
    return {(a, b): float(r2[a][b]) for a in COLUMNS for b in COLUMNS if a != b}


def mean_scores(found: Sequence[Result]) -> Scores:
    """Means over the images by measure and method."""
    if not found:
        return {}
    of = standings(found, list(COLUMNS.values()))
    return {column: dict(zip(of.methods, of.of(name).means.tolist(), strict=True)) for column, name in COLUMNS.items()}


def ranked(found: Sequence[Result]) -> dict[str, dict[str, int]]:
    """Ranks by measure and method; a method without a score where others have one is last, as in the charts."""
    return {
        column: dict(zip(own, competition_ranks([math.inf if math.isnan(v) else v for v in own.values()]).tolist(), strict=True))
        for column, own in mean_scores(found).items()
    }


def figure1(context: Context) -> Outcome:
    """Ranks of the dense methods by the mean over the images, three of them set off."""
    ranks = ranked(dense(results(context)))
    rows = [
        [method, *(Cell.number(ranks[column][method], "d", mark="best" if method in THREE else "") for column in COLUMNS)]
        for method in sorted(ranks.get("RMS", ()), key=lambda m: ranks["RMS"][m])
    ]
    note = "1 is best, of the mean over the images; equal means share the better rank, a missing one is last. Semi-dense methods are left out. Set off: three methods."
    table = plain_table("Ranks by each measure, in the order of RMS", ["method", *COLUMNS], rows, note=note)
    return Outcome([table], data={"ranks": ranks})


def figure4_text(context: Context) -> Outcome:
    """What the text prints of planes, and ours."""
    return _text_values(context, "PlaytableP", {"Playtable_P_orient_deg": "P_orient", "Playtable_P_bump": "P_bump"})


def figure6(context: Context) -> Outcome:
    """Three printed algorithms on Adirondack by thinning and by fuzziness, and ours."""
    return _text_values(context, "Adirondack", {"Adirondack_D_thin": "D_thin", "Adirondack_D_fuz": "D_fuz"})


def _text_values(context: Context, scene: str, keys: Mapping[str, str]) -> Outcome:
    texts = raw_table("hci2015", "text_values")
    published = {column: texts[key] for key, column in keys.items()}
    ours = scores_on(dense(results(context)), scene, *keys.values())
    rows = [
        [f"{method}{words}", *(own[column][method] for column in own)]
        for own, words in ((published, " (published)"), (ours, ""))
        for method in sorted(next(iter(own.values())), key=next(iter(own.values())).__getitem__)
    ]
    note = (
        f"In the order of {next(iter(published))}. Other methods, images of a quarter of the size: nothing is judged. Fuzziness is in pixels times grey level slopes by equations 5 and 6 as "
        "printed, about ten times the published numbers; what unit these have is not printed."
    )
    table = plain_table(f"{scene}: published and ours", ["method", *published], rows, note=note)
    return Outcome([table], data={"scores": published}, ours={"scores": ours if all(ours.values()) else None})


def charts(context: Context) -> Outcome:
    """Stacked bars, radar charts and histograms of the dense methods' scores."""
    found = dense(results(context))
    if not found:
        return Outcome([])
    there = [name for name in HCI_METRICS if any(not math.isnan(r.statistics.get(name, math.nan)) for r in found)]
    of = standings(found, there)
    fine = {name: 3.0 for name, metric in HCI_METRICS.items() if metric.symbol.startswith("F_")}
    pictures = (
        drawn("stacked_bars", stacked_bars_figure(of, {}), "Weighted scores, all weights alike"),
        drawn("stacked_bars_structures", stacked_bars_figure(of, fine), "Weighted scores, fine structures counting three times"),
        drawn("radar", radar_figure(of), "Profiles: the further in, the better"),
        drawn("histograms", histogram_figure(of, of.methods[0]), f"All scores, and those of {of.methods[0]} among them"),
    )
    text = "Each score is a share of the worst method's among these: 0 is perfect. A score that is missing counts as the worst."
    return Outcome([*pictures, Text(text)], data={"scores": mean_scores(found)})


def figure10(context: Context) -> Outcome:
    """RMS against bad pixels and some of the metrics on Jadeplant, as points."""
    found = [r for r in dense(results(context)) if r.scene == FOLDER + "Jadeplant"]
    r2 = fits(found)
    if not r2:
        return Outcome([Text("Jadeplant was not run.")], absent="Jadeplant was not run")
    blocks = []
    for column in ("Bad1.0", "Bad4.0", "D_fuz", "F_por", "P_orient"):
        title = f"RMS and {column}: r² {r2['RMS', column]:.2f}"
        figure = new_chart(4.0, 0.4, 3.2, title)
        axes = figure.add_subplot(xlabel="RMS (pixels)", ylabel=column)
        axes.plot(
            [r.statistics[COLUMNS["RMS"]] for r in found], [r.statistics[COLUMNS[column]] for r in found], "o", markersize=4
        )
        blocks.append(Picture(svg_text(figure, title), title))
    return Outcome(blocks, data={"r2": r2})


def figure11(context: Context) -> Outcome:
    """r² between RMS, bad pixels and the nine metrics, beside the published part of the table."""
    published, found = published_table("hci2015", "figure11"), dense(results(context))
    r2 = fits(found)
    ours = {row: {c: r2[row, c] for c in published.columns if (row, c) in r2} for row in published.rows}
    rows = [
        [row, words, *map(own.get(row, {}).get, published.columns)]
        for row in published.rows
        for words, own in (("published", published.rows), ("ours", ours))
    ]
    text = f"Ours over {len(found)} maps of dense methods. Published: over 12 images and 13 other methods, so no number is judged, only what they are used to say."
    comparisons = compared(published, ours, "other methods, on images of a quarter of the size")
    pairs = [*dict.fromkeys(tuple(sorted((row, c))) for row, values in published.rows.items() for c in values)]
    table = plain_table("r² of linear fits between scores", ["measure", "", *published.columns], rows, keys=2)
    data = {"r2": None if context.quick else r2 or None, "table": pairs}
    return Outcome([Text(text), table], comparisons, data, absent="one scene only")


def subset_errors(context: Context) -> Outcome:
    """Section 4.4: the rank correlation of each metric with the RMS of the whole image and with that of its own subset, over all maps."""
    from scipy.stats import spearmanr

    found = dense(results(context))
    scenes = {s.name: s for s in context.scenes(list(dict.fromkeys(r.scene for r in found)))}
    measured = [(r, _by_subset(r, scenes[r.scene])) for r in found if r.scene in scenes and r.map is not None]
    if len(measured) < 3 or context.quick:
        reason = "one scene only" if measured else "no maps to measure"
        return Outcome([Text(f"Not measured: {reason}.")], absent=reason)
    correlations = {}
    for symbol, subset in _SUBSETS.items():
        of = [r.statistics[COLUMNS[symbol]] for r, _ in measured]
        both = [r.statistics[COLUMNS["RMS"]] for r, _ in measured], [errors[subset] for _, errors in measured]
        whole, own = (float(spearmanr(of, errors, nan_policy="omit").statistic) for errors in both)
        correlations[symbol] = whole, own
    rows = [[symbol, _SUBSETS[symbol], *pair] for symbol, pair in correlations.items()]
    note = f"Spearman's, over {len(measured)} maps of dense methods. RMS in pixels, of all pixels that are not occluded and of the evaluated pixels of the subset alone; a pixel without an estimate is left out."
    header = ["metric", "its subset", "with the RMS of the image", "with the RMS of the subset"]
    table = plain_table("Rank correlation of each metric with the RMS", header, rows, note=note)
    return Outcome([table], data={"correlations": correlations})


def _by_subset(result: Result, scene: Scene) -> dict[str, float]:
    """RMS errors of a map by the paper's symbol of the subset."""
    assert result.map is not None
    assert scene.truth is not None
    disparity, subsets = read_disparity(result.map), hci_subsets(scene)
    masks = {
        "M_b": subsets.background,
        "M_f": subsets.foreground,
        "M_e": subsets.edges | subsets.foreground | subsets.background,
        "M_p": subsets.planes > 0,
        "M_s": subsets.structures > 0,
        "M_n": subsets.neighbourhood,
    }
    return {name: rms_error(disparity, scene.truth, mask & subsets.evaluated) for name, mask in masks.items()}


def scores(context: Context) -> Outcome:
    """Means over the scenes of all nine scores of every method, and the share of pixels they are measured on."""
    found = results(context)
    if not found:
        return Outcome([])
    of, means = standings(found, list(COLUMNS.values())), mean_scores(found)
    kept = {r.method for r in dense(found)}
    least = {m: min(r.statistics["fraction_matched"] for r in found if r.method == m) for m in of.methods}
    header = ["method", *COLUMNS, "% estimated"]
    forms = ["", *(".1f" if name in ("RMS", "Bad1.0", "Bad4.0", "P_orient") else ".3f" for name in COLUMNS), ".0f"]
    rows = [[method, *(means[column][method] for column in COLUMNS), 100 * least[method]] for method in of.methods]
    note = (
        f"{footnote(of, 'Means over')}. Lower is better. RMS in pixels of the full size, Bad in percent, the nine metrics in pixels of a quarter of the size. Estimated: "
        "of all pixels, on the image where it is least; pixels without an estimate are not measured. Methods below the dense ones are semi-dense and not compared. The paper leaves out a border of max(20, 1 % of the width) pixels of the full size, about 29, "
        "which is about 7 here: so do the nine metrics; RMS and Bad leave out 20."
    )
    # Semi-dense methods are only measured where they are certain, so they do not compete for the best score.
    table = plain_table("Scores of all methods", header, (r for r in rows if r[0] in kept), forms, note, lower=COLUMNS)
    semi = plain_table("", header, (r for r in rows if r[0] not in kept), forms)
    return Outcome([replace(table, rows=[*table.rows, *semi.rows]), results_details(found)])
