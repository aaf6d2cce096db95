"""Scores, ranks and r², and metrics pixel by pixel: Figures 1 to 7 and 9 to 12, section 4.4, and all scores.

All items show our methods, and OpenCV's as an outside one, on the scenes that are available.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import cv2
import numpy as np
from pandas import DataFrame

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.evaluation.disparity_error import rms_error
from stereo_framework.evaluation.hci import HCI_METRICS, Subsets
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.figures._chart_style import new_chart
from stereo_framework.io import read_disparity
from stereo_framework.page.page import Block, Text
from stereo_framework.papers.comparison import compared, plain_table, published_table, raw_table
from stereo_framework.papers.hci2015.claims import COLUMNS, THREE
from stereo_framework.papers.hci2015.pictures import (
    footnote,
    histogram_figure,
    metrics_figure,
    radar_figure,
    stacked_bars_figure,
    subsets_figure,
)
from stereo_framework.papers.paper import Context, Outcome, drawn, painted, short
from stereo_framework.script import load
from stereo_framework.sweep import Result, ResultSet
from stereo_framework.tables.scores import score_table
from stereo_framework.tables.tables import Cell

FOLDER = "middlebury-v3/trainingQ/"

_DENSE = 0.99
"""Smallest share of estimated pixels at which a map counts as dense: after filling, only rows without any estimate stay empty."""


def results(context: Context) -> ResultSet:
    """Return all results except failed ones.

    A quick reproduction has one scene and leaves out the methods that take minutes.
    """
    if context.quick:
        context.request(load("hci2015/all").scenes)
        context.omit("the methods that take minutes")
    script = "short" if context.quick else "all"
    return ResultSet(r for r in context.run(script, maps=True) if r.error is None)


def dense(found: ResultSet) -> ResultSet:
    """Select the methods whose maps are dense on all scenes, as the paper does."""
    sparse = {r.method for r in found if r.statistics["fraction_matched"] < _DENSE}
    return ResultSet(r for r in found if r.method not in sparse)


def measured(found: ResultSet, scene: str = "") -> DataFrame:
    """Scores by method and the paper's names of metrics, of one scene or of all maps."""
    there = [r for r in found if not scene or r.scene == FOLDER + scene]
    return DataFrame(
        {c: [r.statistics[name] for r in there] for c, name in COLUMNS.items()},
        [r.method for r in there],
        dtype=float,
    )


def fits(found: ResultSet, scene: str = "") -> DataFrame | None:
    """Return r² of the linear fit of each metric to each other metric.

    A fit uses the maps that have both metrics. With fewer than three maps, return None.
    """
    scores = measured(found, scene)
    return scores.corr() ** 2 if len(scores) >= 3 else None


def mean_scores(found: ResultSet) -> DataFrame:
    """Return the means over the images by method and metric."""
    of = score_table(found, list(COLUMNS.values()))
    return DataFrame({column: of.of(name).means for column, name in COLUMNS.items()}, of.methods)


def ranked(found: ResultSet) -> DataFrame | None:
    """Ranks by method and metric; a method without a score where others have one is last, as in the charts."""
    return mean_scores(found).rank(method="min", na_option="bottom").astype(int) if found else None


def figure1(context: Context) -> Outcome:
    """Ranks of the dense methods by the mean over the images, three of them set off."""
    ranks = ranked(dense(results(context)))
    rows = [
        [method, *(Cell.number(rank, "d", mark="best" if method in THREE else "") for rank in own)]
        for method, *own in (
            () if ranks is None else ranks.sort_values("RMS", kind="stable").itertuples()
        )
    ]
    table = plain_table("Ranks by each metric, in the order of RMS", ["method", *COLUMNS], rows)
    return Outcome([table], data={"ranks": ranks})


def text_values(context: Context, *, scene: str, columns: Mapping[str, str]) -> Outcome:
    """What the text prints of a scene by two metrics, and ours."""
    published = DataFrame(
        {column: raw_table("hci2015", "text_values")[key] for column, key in columns.items()}
    )
    ours, first = measured(dense(results(context)), scene)[list(published)], published.columns[0]
    rows = [
        [f"{method}{words}", *values]
        for own, words in ((published, " (published)"), (ours, ""))
        for method, *values in own.sort_values(first, kind="stable").itertuples()
    ]
    table = plain_table(f"{scene}: published and ours", ["method", *published], rows)
    return Outcome(
        [table], data={"scores": published}, ours={"scores": ours if len(ours) else None}
    )


def charts(context: Context) -> Outcome:
    """Stacked bars, radar charts and histograms of the dense methods' scores."""
    found = dense(results(context))
    if not found:
        return Outcome([])
    of = score_table(
        found,
        [
            name
            for name in HCI_METRICS
            if any(np.isfinite(r.statistics.get(name, np.nan)) for r in found)
        ],
    )
    fine = {name: 3.0 for name, metric in HCI_METRICS.items() if metric.symbol.startswith("F_")}
    first = of.methods[0]
    pictures = [
        drawn(
            "stacked_bars",
            stacked_bars_figure(of, {}),
            "Figure 7: weighted scores, all weights alike",
        ),
        drawn(
            "stacked_bars_structures",
            stacked_bars_figure(of, fine),
            "Figure 7: weighted scores, fine structures three times",
        ),
        drawn("radar", radar_figure(of), "Figure 9: profiles, the further in, the better"),
        drawn(
            "histograms",
            histogram_figure(of, first),
            f"Figure 12: all scores, and those of {first} among them",
        ),
    ]
    return Outcome(pictures, data={"scores": mean_scores(found)})


def figure10(context: Context) -> Outcome:
    """RMS against bad pixels and some of the metrics on Jadeplant, as points."""
    found = dense(results(context))
    scores, r2 = measured(found, "Jadeplant"), fits(found, "Jadeplant")
    if r2 is None:
        return Outcome([], absent="Jadeplant was not run")
    blocks = []
    for column in ("Bad1.0", "Bad4.0", "D_fuz", "F_por", "P_orient"):
        title = f"RMS and {column}: r² {r2['RMS'][column]:.2f}"
        figure = new_chart(4.0, 0.4, 3.2, title)
        figure.add_subplot(xlabel="RMS (pixels)", ylabel=column).plot(
            scores["RMS"], scores[column], "o", markersize=4
        )
        blocks.append(drawn(f"figure10_{column}", figure, title))
    return Outcome(blocks, data={"r2": r2})


def figure11(context: Context) -> Outcome:
    """r² between RMS, bad pixels and the nine metrics, beside the published part of the table."""
    published, found = published_table("hci2015", "figure11"), dense(results(context))
    r2 = fits(found)
    # The published fits are over twelve scenes, so those of one scene are no match.
    ours = (
        {}
        if r2 is None or context.quick
        else {row: r2[row].drop(row).to_dict() for row in published.rows}
    )
    text = f"r² of linear fits between scores. Ours over {len(found)} maps of dense methods. Published: over 12 images and 13 other methods, so no number is judged, only what they are used to say."
    reason = (
        "fits over all scenes, of which one was run"
        if context.quick
        else "other methods, on images of a quarter of the size"
    )
    comparisons = compared(published, ours, reason)
    pairs = [
        *dict.fromkeys(
            tuple(sorted((row, c))) for row, values in published.rows.items() for c in values
        )
    ]
    data = {"r2": None if context.quick else r2, "table": pairs}
    return Outcome([Text(text)], comparisons, data, absent="one scene only")


def subset_errors(context: Context) -> Outcome:
    """Section 4.4: the rank correlation of each metric with the RMS of the whole image and with that of its own subset, over all maps."""
    found = dense(results(context))
    scenes = {s.name: s for s in context.scenes(list(dict.fromkeys(r.scene for r in found)))}
    there = ResultSet(r for r in found if r.scene in scenes and r.map is not None)
    if len(there) < 3 or context.quick:
        return Outcome([], absent="one scene only" if there else "no maps to measure")
    scores, errors = measured(there), DataFrame([_by_subset(r, scenes[r.scene]) for r in there])
    errors.index = scores.index
    header = ["metric", "its subset", "with the RMS of the image", "with the RMS of the subset"]
    rows = [
        (
            m.symbol,
            m.subset,
            *(scores[m.symbol].corr(own, "spearman") for own in (scores["RMS"], errors[m.subset])),
        )
        for m in HCI_METRICS.values()
    ]
    note = f"Spearman's, over {len(there)} maps of dense methods. RMS in pixels, of all pixels that are not occluded and of the evaluated pixels of the subset alone; a pixel without an estimate is left out."
    table = plain_table("Rank correlation of each metric with the RMS", header, rows, note=note)
    return Outcome(
        [table],
        data={"correlations": DataFrame(rows, columns=header).set_index("metric")[header[2:]]},
    )


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
    return {
        name: rms_error(disparity, scene.truth, mask & subsets.evaluated)
        for name, mask in masks.items()
    }


def scores(context: Context) -> Outcome:
    """Means over the scenes of all nine scores of every method, and the share of pixels they are measured on."""
    found = results(context)
    if not found:
        return Outcome([])
    of, kept = score_table(found, list(COLUMNS.values())), {r.method for r in dense(found)}
    header = ["method", *COLUMNS, "% estimated"]
    forms = [
        "",
        *(".1f" if name in ("RMS", "Bad1.0", "Bad4.0", "P_orient") else ".3f" for name in COLUMNS),
        ".0f",
    ]
    least = {
        m: min(r.statistics["fraction_matched"] for r in found if r.method == m) for m in of.methods
    }
    rows = [[method, *own, 100 * least[method]] for method, *own in mean_scores(found).itertuples()]
    # Semi-dense methods are only measured where they are certain, so they do not compete for the best score.
    table = plain_table(
        "Scores of all methods",
        header,
        (r for r in rows if r[0] in kept),
        forms,
        footnote(of, "Means over"),
        lower=COLUMNS,
    )
    semi = plain_table("", header, (r for r in rows if r[0] not in kept), forms)
    return Outcome([replace(table, rows=[*table.rows, *semi.rows])])


def figure3(context: Context, *, notes: Mapping[str, str]) -> Outcome:
    """Show the subsets of three scenes, each below its note."""
    blocks: list[Block] = []
    for scene in context.scenes(
        [f"{FOLDER}{name}" for name in ("Pipes", "Playroom", "Adirondack")]
    ):
        name = short(scene.name)
        figure = subsets_figure(scene.reference, hci_subsets(scene), name)
        description = f"subsets of {name}: discontinuities, planes, fine structures"
        blocks.append(painted(f"figure3_{name}", figure, description, f"{name}. {notes[name]}"))
    return Outcome(blocks)


def metrics(
    context: Context, *, figure: str, scene: str, columns: Sequence[str], methods: Sequence[str]
) -> Outcome:
    """A row of pictures for each of these methods that has a map of a scene."""
    blocks: list[Block] = []
    maps = {r.method: r.disparity for r in results(context) if r.scene == FOLDER + scene}
    for shown, truth in context.truths([FOLDER + scene]):
        for method in methods:
            if (disparity := maps.get(method)) is not None:
                found = {
                    COLUMNS[c]: HCI_METRICS[COLUMNS[c]].compute(
                        disparity, truth, hci_subsets(shown)
                    )
                    for c in columns
                }
                picture = metrics_figure(shown.reference, found, f"{scene}, {method}")
                description = f"{', '.join(columns)} of {method} on {scene}, pixel by pixel"
                blocks.append(
                    painted(
                        f"{figure}_{scene}_{method}", picture, description, f"{scene}, {method}"
                    )
                )
    return Outcome(blocks or [Text(f"{scene} is not among the scenes that were run.")])


def figure5(context: Context) -> Outcome:
    """Porosity, fragmentation and detail fattening on Pipes: published and ours, and ours by the equations as printed."""
    published, names, found = (
        published_table("hci2015", "figure5"),
        ["RMS", "F_por", "F_frag", "F_fat"],
        results(context),
    )
    rows = [
        [f"{m} (published)", *(published.rows[name][m] for name in names), None, None]
        for m in published.columns
    ]
    maps = [r.disparity for r in found if r.scene == f"{FOLDER}Pipes"]
    for scene, truth in context.truths([f"{FOLDER}Pipes"]):
        for disparity, own in zip(maps, measured(found, "Pipes")[names].itertuples(), strict=True):
            assert disparity is not None, "maps were asked for"
            rows.append([*own, *as_printed(disparity, truth, hci_subsets(scene))])
    header = ["method", *names, "equation 10 as printed", "equation 11 as printed"]
    table = plain_table("Pipes: published methods and ours", header, rows)
    ours = measured(dense(found), "Pipes")
    unmeasured = compared(published, {}, "the algorithm's map is not to be had")
    return Outcome(
        [table],
        unmeasured,
        {"scores": DataFrame(published.rows)},
        {"scores": ours if len(ours) else None},
    )


def as_printed(disparity: Disparity, truth: Disparity, subsets: Subsets) -> tuple[float, float]:
    """Porosity and fragmentation by equations 10 and 11 as they are printed; a structure of which nothing is found adds nothing to the latter."""
    from scipy.ndimage import distance_transform_edt

    structures = np.where(subsets.evaluated, subsets.structures, 0)
    with np.errstate(invalid="ignore"):
        found = (structures > 0) & (
            np.abs(disparity - truth) <= subsets.parameters.structure_tolerance.of(truth.shape[1])
        )
    labels = np.unique(structures[structures > 0])
    if not len(labels):
        return float("nan"), float("nan")
    distance = (
        distance_transform_edt(~found)
        if found.any()
        else np.full(truth.shape, np.hypot(*truth.shape))
    )
    pieces = [
        cv2.connectedComponents((found & (structures == label)).view(np.uint8), connectivity=8)[0]
        - 1
        for label in labels
    ]
    return float(np.mean(np.log1p(distance[structures > 0]))), float(
        np.mean([1 - 1 / max(count, 1) for count in pieces])
    )
