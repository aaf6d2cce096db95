"""Scores, ranks and r²: Figures 1, 4, 6, 7 and 9 to 12, section 4.4, and all scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from stereo_framework.core.scene import Scene
from stereo_framework.evaluation.disparity_error import rms_error
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.figures.saving import svg_text
from stereo_framework.figures.scatter import scatter_figure
from stereo_framework.io import read_disparity
from stereo_framework.page.page import Block, Cell, PageTable, Picture, Text, mark_best
from stereo_framework.papers.comparison import unjudged
from stereo_framework.papers.hci2015.charts import histogram_figure, radar_figure, stacked_bars_figure
from stereo_framework.papers.hci2015.claims import CLAIMS, COLUMNS, THREE, Scores
from stereo_framework.papers.hci2015.runs import FOLDER, dense, fits, results, scores_on
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.published import published_table, raw_table
from stereo_framework.script.result_names import STATISTIC
from stereo_framework.sweep import Result
from stereo_framework.tables.means import means
from stereo_framework.tables.ranking import competition_ranks
from stereo_framework.tables.standings import standings

_OTHERS = {
    "hci_missed_structures": (1, ".1f"),
    "fraction_matched": (100, ".0f"),
    **{f"hci_coverage_{part}": (100, ".0f") for part in ("fuzziness", "offset", "porosity")},
    "seconds": (1, ".1f"),
}
"""Further columns beside the scores: the factor to the unit that is shown, and the number of digits."""

_SUBSETS = {metric.symbol: metric.subset for metric in HCI_METRICS.values()}
"""The paper's symbols of the subsets, by those of the metrics."""


def figure1(context: Context) -> Outcome:
    """Ranks of the dense methods by the mean over the images, three of them set off."""
    ranks = ranked(dense(results(context)))
    names = ("rms_is_limited", "rankings_reveal", "rank_differently", "best_is_worst")
    rows = [
        [Cell(method), *(Cell.number(ranks[column][method], "d", mark="best" if method in THREE else "") for column in COLUMNS)]
        for method in sorted(ranks.get("RMS", ()), key=lambda m: ranks["RMS"][m])
    ]
    note = "1 is best, of the mean over the images; equal means share the better rank, a missing one is last. Semi-dense methods are left out. Set off: three methods."
    table = PageTable("Ranks by each measure, in the order of RMS", ["method", *COLUMNS], rows, note)
    return Outcome([table], statements=[CLAIMS[name].asked(ranks) for name in names])


def ranked(found: Sequence[Result]) -> dict[str, dict[str, int]]:
    """Ranks by measure and method."""
    # A method without a score where others have one is last, as in the charts.
    return {
        column: dict(zip(own, competition_ranks([math.inf if math.isnan(v) else v for v in own.values()]).tolist(), strict=True))
        for column, own in _means(found).items()
    }


def _means(found: Sequence[Result]) -> Scores:
    """Means over the images by measure and method."""
    if not found:
        return {}
    of = standings(found, list(COLUMNS.values()))
    return {column: dict(zip(of.methods, of.means[:, i].tolist(), strict=True)) for i, column in enumerate(COLUMNS)}


def figure4_text(context: Context) -> Outcome:
    """What the text prints of planes, and ours."""
    return _text_values(
        context, "planes_apart", "PlaytableP", {"Playtable_P_orient_deg": "P_orient", "Playtable_P_bump": "P_bump"}
    )


def figure6(context: Context) -> Outcome:
    """Three printed algorithms on Adirondack by thinning and by fuzziness, and ours."""
    return _text_values(context, "order_changes", "Adirondack", {"Adirondack_D_thin": "D_thin", "Adirondack_D_fuz": "D_fuz"})


def _text_values(context: Context, name: str, scene: str, keys: Mapping[str, str]) -> Outcome:
    texts = raw_table("hci2015", "text_values")
    published = {column: texts[key] for key, column in keys.items()}
    ours = scores_on(dense(results(context)), scene, *keys.values())
    rows = [
        [Cell(f"{method}{words}"), *(Cell.number(own[column][method]) for column in own)]
        for own, words in ((published, " (published)"), (ours, ""))
        for method in sorted(next(iter(own.values())), key=next(iter(own.values())).__getitem__)
    ]
    note = (
        f"In the order of {next(iter(published))}. Other methods, images of a quarter of the size: nothing is judged. Fuzziness is in pixels times grey level slopes by equations 5 and 6 as "
        "printed, about ten times the published numbers; what unit these have is not printed."
    )
    statement = CLAIMS[name].asked(published, ours=(ours,) if all(ours.values()) else ())
    return Outcome([PageTable(f"{scene}: published and ours", ["method", *published], rows, note)], statements=[statement])


def charts(context: Context) -> Outcome:
    """Stacked bars, radar charts and histograms of the dense methods' scores."""
    found = dense(results(context))
    blocks: list[Block] = []
    files: dict[str, str | bytes] = {}
    if found:
        of = standings(
            found, [name for name in HCI_METRICS if any(not math.isnan(r.statistics.get(name, math.nan)) for r in found)]
        )
        fine = {name: 3.0 for name, metric in HCI_METRICS.items() if metric.symbol.startswith("F_")}
        for name, figure, words in (
            ("stacked_bars", stacked_bars_figure(of, {}), "Weighted scores, all weights alike"),
            ("stacked_bars_structures", stacked_bars_figure(of, fine), "Weighted scores, fine structures counting three times"),
            ("radar", radar_figure(of), "Profiles: the further in, the better"),
            ("histograms", histogram_figure(of, of.methods[0]), f"All scores, and those of {of.methods[0]} among them"),
        ):
            files[f"{name}.svg"] = text = svg_text(figure)
            blocks.append(Picture(text, words, words))
        blocks.append(
            Text(
                "Each score is a share of the worst method's among these: 0 is perfect. A score that is missing counts as the worst."
            )
        )
    statements = [CLAIMS["weights_change_ranks"].asked(_means(found)), CLAIMS["fine_structures_differ"].asked()]
    return Outcome(blocks, files=files, statements=statements)


def figure10(context: Context) -> Outcome:
    """RMS against bad pixels and some of the metrics on Jadeplant, as points."""
    found = [r for r in dense(results(context)) if r.scene == FOLDER + "Jadeplant"]
    names, r2 = ("more_with_badpix", "little_with_rms"), fits(found)
    if not r2:
        return Outcome(
            [Text("Jadeplant was not run.")], statements=[CLAIMS[name].unasked("Jadeplant was not run") for name in names]
        )
    blocks = []
    for column in ("Bad1.0", "Bad4.0", "D_fuz", "F_por", "P_orient"):
        points = {"methods": [(r.statistics[COLUMNS["RMS"]], r.statistics[COLUMNS[column]]) for r in found]}
        title = f"RMS and {column}: r² {r2['RMS', column]:.2f}"
        blocks.append(Picture(svg_text(scatter_figure(points, "RMS (pixels)", column, title), title), title))
    return Outcome(blocks, statements=[CLAIMS[name].asked(r2) for name in names])


def figure11(context: Context) -> Outcome:
    """r² between RMS, bad pixels and the nine metrics, beside the published part of the table."""
    published, found = published_table("hci2015", "figure11"), dense(results(context))
    r2 = fits(found)
    pairs = [*dict.fromkeys(tuple(sorted((row, c))) for row, values in published.rows.items() for c in values)]
    rows = []
    for row, values in published.rows.items():
        rows.append([Cell(row), Cell("published"), *(Cell.number(values.get(column)) for column in published.columns)])
        rows.append([Cell(row), Cell("ours"), *(Cell.number(r2.get((row, column))) for column in published.columns)])
    text = f"Ours over {len(found)} maps of dense methods. Published: over 12 images and 13 other methods, so no number is judged, only what they are used to say."
    comparisons = unjudged(
        published,
        "other methods, on images of a quarter of the size",
        found={r: {c: r2[r, c] for c in published.columns if (r, c) in r2} for r in published.rows},
    )
    if not r2 or context.quick:
        statements = [CLAIMS[n].unasked("one scene only") for n in ("very_low", "correlated_pairs", "uncorrelated")]
    else:
        statements = [
            CLAIMS["very_low"].asked(r2, pairs),
            *(CLAIMS[name].asked(r2) for name in ("correlated_pairs", "uncorrelated")),
        ]
    table = PageTable("r² of linear fits between scores", ["measure", "", *published.columns], rows, keys=2)
    return Outcome([Text(text), table], comparisons, [*statements, CLAIMS["intuition"].asked()])


def subset_errors(context: Context) -> Outcome:
    """Section 4.4: the rank correlation of each metric with the RMS of the whole image and with that of its own subset, over all maps."""
    from scipy.stats import spearmanr

    found = dense(results(context))
    scenes = {s.name: s for s in context.scenes(list(dict.fromkeys(r.scene for r in found)))}
    measured = [(r, _by_subset(r, scenes[r.scene])) for r in found if r.scene in scenes and r.map is not None]
    if len(measured) < 3 or context.quick:
        reason = "one scene only" if measured else "no maps to measure"
        return Outcome([Text(f"Not measured: {reason}.")], statements=[CLAIMS["subset_rankings"].unasked(reason)])
    correlations = {}
    for metric in HCI_METRICS.values():
        scores = [r.statistics[COLUMNS[metric.symbol]] for r, _ in measured]
        both = [[r.statistics[COLUMNS["RMS"]] for r, _ in measured], [errors[metric.subset] for _, errors in measured]]
        whole, own = (float(spearmanr(scores, errors, nan_policy="omit").statistic) for errors in both)
        correlations[metric.symbol] = whole, own
    rows = [[Cell(symbol), Cell(_SUBSETS[symbol]), *(Cell.number(rho) for rho in pair)] for symbol, pair in correlations.items()]
    note = f"Spearman's, over {len(measured)} maps of dense methods. RMS in pixels, of all pixels that are not occluded and of the evaluated pixels of the subset alone; a pixel without an estimate is left out."
    header = ["metric", "its subset", "with the RMS of the image", "with the RMS of the subset"]
    table = PageTable("Rank correlation of each metric with the RMS", header, rows, note)
    return Outcome([table], statements=[CLAIMS["subset_rankings"].asked(correlations)])


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
    """Means over the scenes of all nine scores of every method, the pixels they are measured on, and the time they took."""
    found = results(context)
    if not found:
        return Outcome([])
    of = standings(found, list(COLUMNS.values()))
    by_key = means(found, ["method", STATISTIC], list(_OTHERS)).cells
    others = {key: math.nan if mean.value is None else mean.value for key, mean in by_key.items()}
    forms = [".1f" if name in ("RMS", "Bad1.0", "Bad4.0", "P_orient") else ".3f" for name in COLUMNS]
    kept = {r.method for r in dense(found)}
    rows: list[list[Cell]] = []
    semi: list[list[Cell]] = []
    for i, method in enumerate(of.methods):
        row = [Cell(method), *map(Cell.number, of.means[i], forms)]
        row += [Cell.number(factor * others.get((method, name), math.nan), form) for name, (factor, form) in _OTHERS.items()]
        (rows if method in kept else semi).append(row)
    # Semi-dense methods are only measured where they are certain, so they do not compete for the best score.
    marked = mark_best(rows, ["", *["lower"] * (len(COLUMNS) + 1), *[""] * 4, "lower"]) + semi
    header = ["method", *COLUMNS, "missed", "% estimated", "% of M_e", "% of M_p", "% of M_s", "seconds"]
    note = (
        f"{of.footnote('Means over')}. Lower is better. RMS in pixels of the full size, Bad in percent, the nine metrics in pixels of a quarter of the size. Missed: "
        "structures of which nothing is found. Estimated: of all pixels, and of the subsets at edges, on planes and of fine structures; pixels without an estimate are not "
        "measured. Methods below the dense ones are semi-dense and not compared. The paper leaves out a border of max(20, 1 % of the width) pixels of the full size, about 29, "
        "which is about 7 here: so do the nine metrics; RMS and Bad leave out 20. Seconds without evaluation, one thread each, several runs at a time."
    )
    return Outcome([PageTable("Scores of all methods", header, marked, note), results_details(found)])
