"""The figures and tables: ROC curves, boundaries, efficiencies, improvements, maps, other costs, and the sentences about them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stereo_framework.datasets import load_scene
from stereo_framework.evaluation.roc import Curve, Point, dominant_intervals, efficiency, roc_curve, scene_table
from stereo_framework.evaluation.roc.matching_table import OCCLUDED
from stereo_framework.figures.roc_plot import roc_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.page.page import Block, Cell, PageTable, Picture, Statement, Text
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map
from stereo_framework.papers.boundary2007.claims import CLAIMS, METHODS, shown
from stereo_framework.papers.claim import Claim, verdict
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.paper import Context, Outcome, results_details, short
from stereo_framework.papers.published import published_table
from stereo_framework.sweep import Result
from stereo_framework.tables.boundary import Boundary, boundary

SCENES = {"tsukuba": "Tsukuba", "teddy": "Teddy", "cones": "Cones", "venus": "Venus", "stripes": "Stripes", "slits": "Slits"}
"""The last parts of our scenes' names, with the columns of the paper."""

_QUICK = {
    "csm": ["optimization.alpha=0"],
    "stratified": ["optimization.alpha=0"],
    "gc": ["optimization.weight=30", "sweep.grid.optimization.occlusion_cost=[20, 60, 140]"],
    "bp": ["smoothness.weight=25", "smoothness.gradient_threshold=4", "sweep.grid.smoothness.gradient_penalty=[1, 2]"],
}
"""Settings that take only seconds: one line of most grids."""

_NARROW = 0.005
"""Of sparsity rates."""

COSTS = {
    "gc": "GC: squared differences (as run)",
    "gc_absolute": "GC: absolute differences",
    "gc_third": "GC: absolute differences, a third of their sum",
    "bp": "BP: absolute differences (as run)",
    "bp_squares": "BP: squared differences",
}
"""The costs that are tried in place of those that the paper does not print, by the methods of the scripts."""


def _results(context: Context) -> list[Result]:
    """All runs of all methods."""
    return [r for name in METHODS for r in context.run(f"{name}_grid", overrides=_QUICK.get(name, []) if context.quick else [])]


def _boundary(results: Sequence[Result]) -> Boundary:
    """All settings' rates by scene and method, scenes by the last part of their names, and their means over the scenes."""
    return boundary([replace(r, scene=short(r.scene)) for r in results], drop_incomplete=True)


def curves(context: Context) -> Outcome:
    """Figures 5 to 7: the ROC curves of each scene and of the mean, and all boundaries; axes log(x + 0.001) as in the paper."""
    found = _boundary(_results(context))
    text = (
        "Pale: a setting that another one of the same method is better than (equation 8). Bold, on the curve: the others (equation 9). Grey band: the feasibility boundary "
        "(equation 12), what all methods reach together; in the mean over the scenes (equation 15) it is M (equation 16). Towards the left a method leaves fewer pixels out "
        "(SR, equation 7), towards the bottom fewer are wrong (ER, equation 6)."
    )
    blocks: list[Block] = [Text(text)]
    files: dict[str, str | bytes] = {}
    order = [*(scene for scene in ("stripes", *SCENES) if scene in found.points)]
    boundaries, cases = {scene: found.feasible(scene) for scene in dict.fromkeys(order)}, found.cases()
    plots: dict[str, tuple[Mapping[str, Sequence[Point]], Sequence[Point] | Curve]] = {
        scene: (found.points[scene], own) for scene, own in boundaries.items()
    }
    plots["mean"] = (found.mean, cases["mean"])
    for title, (methods, edge) in plots.items():
        named = {METHODS[name]: points for name, points in methods.items()}
        files[f"roc_{title}.svg"] = drawn = svg_text(roc_figure(named, boundary=edge, title=title))
        e = ", ".join(f"{name} {efficiency(roc_curve(points)):.3f}" for name, points in named.items())
        where = {"stripes": "Figure 5: Stripes", "mean": f"Figure 6, rightmost column: mean of {len(boundaries)} scenes"}
        caption = f"{where.get(title, f'Figure 6: {title}')}. Efficiency (equation 10): {e}."
        blocks.append(Picture(drawn, f"error rate against sparsity rate: {title}", caption))
    extremes = {"W, worst case": cases["worst case"], "B, best case": cases["best case"]}
    files["figure7.svg"] = drawn = svg_text(roc_figure(boundaries, cases=extremes, title="Boundaries of all scenes"))
    caption = (
        "Figure 7: the boundary of every scene, and the worst (W, equation 13) and the best case (B, equation 14) over them."
    )
    blocks.append(Picture(drawn, "feasibility boundaries of all scenes, worst and best case", caption))
    blocks.append(_lowest({title: methods for title, (methods, _) in plots.items()}))
    return Outcome(blocks, files=files)


def _lowest(plots: Mapping[str, Mapping[str, Sequence[Point]]]) -> PageTable:
    """Which method has the lowest error rate in which range of sparsity rates, from dense to sparse."""
    rows = []
    for scene, methods in plots.items():
        best = dominant_intervals({METHODS[name]: roc_curve(points) for name, points in methods.items()})
        wide = [(low, high, name) for name, some in best.items() for low, high in some if high - low >= _NARROW]
        rows.append([Cell(scene), Cell(", ".join(f"{name} {low:.3f}-{high:.3f}" for low, high, name in sorted(wide)))])
    caption = "Methods of the lowest error rate, by sparsity rate"
    return PageTable(caption, ["scene", "method and sparsity rates"], rows, f"Intervals narrower than {_NARROW} are left out.")


def table1(context: Context) -> Outcome:
    """Efficiency E of every method on every scene, and that of its mean curve; the most and the least efficient are named."""
    published, results = published_table("boundary2007", "table1"), _results(context)
    ours = {METHODS[name]: row for name, row in _boundary(results).efficiencies().items()}
    ours = {name: {SCENES.get(column, column): value for column, value in row.items()} for name, row in ours.items()}
    comparisons = _shown(published.rows, ours)
    marks = []
    for column in published.columns:
        cells = [Cell(column)]
        for rows in (published.rows, ours):
            own = {name: row[column] for name, row in rows.items() if column in row}
            cells += [Cell(which(own, key=own.__getitem__) if own else "-") for which in (max, min)]
        marks.append(cells)
    text = (
        "E is what a method gains over the zero-algorithm, 0..1, higher is better: 1 for a perfect result, (1 - SR - ER)^2 for a curve of a single "
        "point (equation 10). Expected: of the mean curve over the scenes that are there, not the mean of the row."
    )
    header = ["scene", "printed: most efficient", "least", "ours: most efficient", "least"]
    blocks: list[Block] = [
        Text(text),
        comparison_table("Efficiency, published and ours", comparisons, 3),
        PageTable("Marks of Table 1", header, marks),
    ]
    return Outcome([*blocks, results_details(results)], comparisons)


def table2(context: Context) -> Outcome:
    """Expected improvement I(A|B) of every method over every other, and whether the printed tables agree with each other."""
    published, expected = published_table("boundary2007", "table2"), published_table("boundary2007", "table1")
    found = _boundary(_results(context)).improvements()
    comparisons = _shown(
        published.rows, {METHODS[a]: {METHODS[b]: value for b, value in row.items()} for a, row in found.items()}
    )
    text = "I(row | column) is what the row's mean curve gains over the column's where it is better, 0..1 (equation 11)."
    table = comparison_table("Expected improvement, published and ours", comparisons, 3)
    return Outcome([Text(text), table], comparisons, [CLAIMS["identity"].asked(expected, published)])


def _shown(printed: Mapping[str, Mapping[str, float]], ours: Mapping[str, Mapping[str, float]]) -> list[Comparison]:
    """Published numbers and ours, none of which is judged."""
    found = []
    for a, row in printed.items():
        for b, value in row.items():
            reason = "another method in its manner" if "SDM" in (a, b) else "another implementation"
            reason += ", a scene of our own" if b in ("Stripes", "Slits", "Expected") else ""
            reason += ", its cost is not printed" if {a, b} & {"GC", "BP"} else ""
            found.append(Comparison(a, b, value, ours.get(a, {}).get(b), None, None, reason))
    return found


def figure8(context: Context) -> Outcome:
    """The map of each method's best ROC point with respect to the boundary of its scene; of several on the boundary the middle one."""
    results = _results(context)
    found, rows = _boundary(results), []
    for scene in context.scenes(list(dict.fromkeys(r.scene for r in results))):
        pictures = {}
        for method in METHODS:
            best = nearest_to_boundary(found, short(scene.name), method)
            [chosen] = [
                r for r in results if (r.scene, r.method, dict(r.parameters)) == (scene.name, method, dict(best.parameters))
            ]
            overrides = [f"{key}={value}" for key, value in chosen.axes.items()]
            disparity = context.run(f"{method}_grid", overrides=overrides, scenes=[scene], maps=True)[0].disparity
            setting = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in chosen.axes.items())
            caption = f"SR {best.sparsity_rate:.3f}, ER {best.error_rate:.4f}: {setting}"
            if disparity is not None:
                pictures[METHODS[method]] = stored_map(disparity, caption=caption)
        rows.append(scene_row(scene, pictures))
    text = "A method without a point on the boundary is shown by the point of its own curve whose error rate is the smallest multiple of the boundary's at the same sparsity rate."
    return Outcome([Text(text), Scenes(rows)])


def nearest_to_boundary(found: Boundary, scene: str, method: str) -> Point:
    """A method's best point with respect to a scene's boundary: the middle one of those on it, otherwise the one nearest to it, in the ratio of error rates."""
    edge = found.feasible(scene)
    on = shown([p for p in edge if p.method == method])
    if on:
        return on[len(on) // 2]
    own = shown(found.points[scene][method]) or found.points[scene][method]
    height = roc_curve(edge)
    return min(own, key=lambda p: p.error_rate / max(float(height(np.array([p.sparsity_rate]))[0]), 1e-6))


def costs(context: Context) -> Outcome:
    """How much E and the sentences turn on the costs of GC and BP, which are not printed; and all sentences."""
    results, others = _results(context), context.run("costs")
    everything = _boundary([*results, *others])
    published = published_table("boundary2007", "table1")
    rows = [
        [Cell(f"{name} as printed"), *(Cell.number(published.rows[name][c], ".3f") for c in published.columns)]
        for name in ("GC", "BP")
    ]
    e = everything.efficiencies()
    for method, words in COSTS.items():
        if method in e:
            own = {SCENES.get(column, column): value for column, value in e[method].items()}
            rows.append([Cell(words), *(Cell.number(own.get(c), ".3f") for c in published.columns)])
    note = "As run: all settings of the paper's grid; the others: 9 settings for GC and 4 for BP, as configs/boundary2007/costs.yaml has them."
    table = PageTable("Efficiency by matching cost", ["method and cost", *published.columns], rows, note)
    found = _boundary(results)
    absent = [name for name in SCENES if name not in found.points]
    said = [c for c in CLAIMS.values() if c.kind != "own"]
    if context.quick or absent:
        # On fewer scenes than the paper's, these would be different sentences.
        reason = "one scene and few settings only" if context.quick else f"not measured: {', '.join(absent)}"
        return Outcome([table], statements=[c.unasked(c.reason or reason) for c in said])
    text = (
        "A sentence whose verdict differs between the costs of GC and BP in this table is not judged, since the paper prints neither. A match that would lie outside the match "
        "image has no cell in the table of equations 3 to 5; it counts as an error here, since a dense map could otherwise go without its errors at the image's side."
    )
    alternatives = [
        everything_with(everything, gc, bp)
        for gc, bp in itertools.product(*([m for m in COSTS if m.startswith(k) and m in e] for k in ("gc", "bp")))
    ]
    slits = _false_positives(results)
    statements = [c.asked(*slits) if c.name == "occlusion_not_found" else on_all_costs(c, alternatives) for c in said]
    return Outcome([table, Text(text)], statements=statements)


def _false_positives(results: Sequence[Result]) -> tuple[dict[str, list[tuple[float, float]]], int]:
    """Sparsity rates and false positives on Slits of graph cuts and of dynamic programming, and the number of occluded pixels."""
    own: dict[str, list[tuple[float, float]]] = {}
    for r in results:
        if short(r.scene) == "slits" and r.method in ("gc", "dp") and r.error is None:
            own.setdefault(METHODS[r.method], []).append((r.statistics["sparsity_rate"], r.statistics["false_positives"]))
    return own, int(np.sum(scene_table(load_scene("synthetic/slits")).reference_status == OCCLUDED))


def everything_with(found: Boundary, gc: str, bp: str) -> tuple[str, Boundary]:
    """The boundary with these methods in the places of GC and BP, and their costs in words."""

    def exchanged(methods: Mapping[str, list[Point]]) -> dict[str, list[Point]]:
        from_place = {"gc": gc, "bp": bp}
        return {name: [replace(p, method=name) for p in methods[from_place.get(name, name)]] for name in METHODS}

    return f"{COSTS[gc]}, {COSTS[bp]}", Boundary(
        {scene: exchanged(own) for scene, own in found.points.items()}, exchanged(found.mean)
    )


def on_all_costs(claim: Claim, alternatives: Sequence[tuple[str, Boundary]]) -> Statement:
    """A sentence judged with every cost, the first being ours; not judged where they do not all say the same."""
    if claim.judge is None:
        return claim.asked()
    verdicts = {words: verdict(claim.judge(found))[0] for words, found in alternatives}
    if len(set(verdicts.values())) == 1:
        return claim.asked(alternatives[0][1])
    split = {holds: "; ".join(words for words, own in verdicts.items() if own is holds) for holds in (True, False)}
    reason = f"cost not specified: it holds with {split[True]}, and does not with {split[False]}"
    return replace(claim, kind="not judged", reason="").unasked(reason)
