"""Figures 5 to 8, Tables 1 and 2: ROC curves, boundaries, efficiencies, improvements, maps, other costs, and the sentences about them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stereo_framework.datasets import load_scene
from stereo_framework.evaluation.roc import Curve, Point, efficiency, roc_curve, scene_table
from stereo_framework.evaluation.roc.matching_table import OCCLUDED
from stereo_framework.figures.roc_plot import roc_figure
from stereo_framework.page.page import Text
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map
from stereo_framework.papers.boundary2007.claims import shown
from stereo_framework.papers.claim import Alternatives, listed_numbers
from stereo_framework.papers.comparison import compared, plain_table, published_table
from stereo_framework.papers.extent import missing_mean
from stereo_framework.papers.paper import Context, Outcome, drawn, short
from stereo_framework.sweep import ResultSet
from stereo_framework.tables.boundary import Boundary, boundary

METHODS = {"csm": "CSM", "gc": "GC", "dp": "DP", "stratified": "SDM", "bp": "BP"}
"""Our methods, each with the script ``configs/boundary2007/NAME_grid.yaml``, and the paper's names."""

SCENES = ("tsukuba", "teddy", "cones", "venus", "stripes", "slits")
"""The last parts of our scenes' names."""

Efficiencies = Mapping[str, Mapping[str, float]]
"""Efficiencies by method and column of Table 1."""

MEAN = "Expected"
"""The column of Table 1 that is a mean over all scenes."""

_QUICK = {
    "csm": ["optimization.alpha=0"],
    "stratified": ["optimization.alpha=0"],
    "gc": ["optimization.weight=30", "sweep.grid.optimization.occlusion_cost=[20, 60, 140]"],
    "bp": [
        "smoothness.weight=25",
        "smoothness.gradient_threshold=4",
        "sweep.grid.smoothness.gradient_penalty=[1, 2]",
    ],
}
"""Settings that take only seconds: one line of most grids."""


def _results(context: Context) -> ResultSet:
    """Run all methods. A quick reproduction leaves out most settings of the grids."""
    if context.quick:
        context.omit("most settings of the grids")
    results = ResultSet()
    for name in METHODS:
        overrides = _QUICK.get(name, []) if context.quick else []
        results += context.run(f"{name}_grid", overrides=overrides)
    return results


def found_boundary(results: ResultSet, names: Mapping[str, str] = METHODS) -> Boundary:
    """Collect the rates of all settings of some methods, and their means over the scenes.

    Parameters
    ----------
    results : ResultSet
        Results of these and perhaps of other methods.
    names : mapping of str to str
        New names of the methods, by their names in the results.
    """
    renamed_results = [
        replace(result, scene=short(result.scene), method=name)
        for method, name in names.items()
        for result in results
        if result.method == method
    ]
    return boundary(ResultSet(renamed_results), drop_incomplete=True)


def curves(context: Context) -> Outcome:
    """Figures 5 to 7: the ROC curves of each scene and of the mean, and all boundaries; axes log(x + 0.001) as in the paper."""
    found = found_boundary(_results(context))
    boundaries = {
        scene: found.feasible(scene)
        for scene in dict.fromkeys(("stripes", *SCENES))
        if scene in found.points
    }
    edges: dict[str, Sequence[Point] | Curve] = {**boundaries}
    reason = missing_mean(context.coverage)
    if not reason:
        edges["mean"] = found.cases()["mean"]
    places = {
        "stripes": "Figure 5: Stripes",
        "mean": f"Figure 6, rightmost column: mean of {len(boundaries)} scenes",
    }
    pictures = []
    for title, edge in edges.items():
        methods = found.points.get(title, found.mean)
        e = listed_numbers(
            {name: efficiency(roc_curve(points)) for name, points in methods.items()}, form=".3f"
        )
        caption = f"{places.get(title, f'Figure 6: {title}')}. Efficiency (equation 10): {e}."
        figure = roc_figure(methods, boundary=edge, title=title)
        pictures.append(
            drawn(f"roc_{title}", figure, f"error rate against sparsity rate: {title}", caption)
        )
    if reason:
        text = f"The mean curves (Figure 6) and the worst and the best case (Figure 7) are left out: {reason}."
        return Outcome([Text(text), *pictures])
    extremes = {
        f"{letter}, {case}": found.cases()[case]
        for letter, case in (("W", "worst case"), ("B", "best case"))
    }
    figure = roc_figure(boundaries, cases=extremes, title="Boundaries of all scenes")
    caption = "Figure 7: the boundary of every scene, and the worst (W, equation 13) and the best case (B, equation 14) over them."
    pictures.append(
        drawn(
            "figure7", figure, "feasibility boundaries of all scenes, worst and best case", caption
        )
    )
    return Outcome(pictures)


def table1(context: Context) -> Outcome:
    """Return the efficiency E of every method on every scene, and that of its mean curve."""
    published = published_table("boundary2007", "table1")
    efficiencies = _by_column(found_boundary(_results(context)))
    reason = missing_mean(context.coverage)
    if reason:
        for row in efficiencies.values():
            row.pop(MEAN, None)

    def why_not(row: str, column: str) -> str:
        return reason if reason and column == MEAN else _why_not(row, column)

    text = differences_of_known_costs(published.rows, efficiencies)
    return Outcome([Text(text)] if text else [], compared(published, efficiencies, why_not))


def differences_of_known_costs(published: Efficiencies, ours: Efficiencies) -> str:
    """Return by how much DP and CSM, whose costs are known, differ from the print.

    Parameters
    ----------
    published, ours : mapping of str to mapping of str to float
        Efficiencies by method and column of Table 1.

    Returns
    -------
    str
        A few sentences; empty if a scene that they name was not measured.
    """
    methods, scenes = ("DP", "CSM"), ("Teddy", "Cones", "Venus", "Tsukuba", "Stripes")
    if any(scene not in ours.get(method, {}) for method in methods for scene in scenes):
        return ""
    difference = {
        scene: [ours[m][scene] - published[m][scene] for m in methods] for scene in scenes
    }
    largest = max(
        abs(value) for scene in ("Teddy", "Cones", "Venus") for value in difference[scene]
    )
    tsukuba, stripes = difference["Tsukuba"], difference["Stripes"]
    return (
        f"DP and CSM have the costs of their own publications. On Teddy, Cones and Venus both lie within {largest:.3f} of the printed efficiencies. "
        f"On Tsukuba DP differs by {tsukuba[0]:+.3f} and CSM by {tsukuba[1]:+.3f}, and on Stripes, which is a scene of ours, by "
        f"{stripes[0]:+.3f} and {stripes[1]:+.3f}: DP has {ours['DP']['Stripes']:.3f} there, printed {published['DP']['Stripes']:.3f}. "
        "The unknown costs of GC and BP cannot explain these differences. Their cause is not explained."
    )


def _by_column(found: Boundary) -> dict[str, dict[str, float]]:
    """Efficiencies by method and the columns of Table 1."""
    return {
        name: {c.capitalize(): value for c, value in row.items()}
        for name, row in found.efficiencies().items()
    }


def table2(context: Context) -> Outcome:
    """Expected improvement I(A|B) of every method over every other."""
    published = published_table("boundary2007", "table2")
    found = found_boundary(_results(context))
    reason = missing_mean(context.coverage)
    if reason:
        return Outcome([], compared(published, {}, reason))
    return Outcome([], compared(published, found.improvements(), _why_not))


def _why_not(row: str, column: str) -> str:
    reason = "another method in its manner" if "SDM" in (row, column) else "another implementation"
    reason += ", a scene of our own" if column in ("Stripes", "Slits", "Expected") else ""
    return reason + (", its cost is not printed" if {row, column} & {"GC", "BP"} else "")


def figure8(context: Context) -> Outcome:
    """The map of each method's best ROC point with respect to the boundary of its scene; of several on the boundary the middle one."""
    results = _results(context)
    found, rows = found_boundary(results), []
    for scene in context.scenes(list(dict.fromkeys(r.scene for r in results))):
        pictures = {}
        for method, name in METHODS.items():
            best = nearest_to_boundary(found, short(scene.name), name)
            [chosen] = [
                r
                for r in results
                if (r.scene, r.method, r.parameters) == (scene.name, method, best.parameters)
            ]
            overrides = [f"{key}={value}" for key, value in chosen.axes.items()]
            disparity = context.run(
                f"{method}_grid", overrides=overrides, scenes=[scene], maps=True
            )[0].disparity
            setting = ", ".join(
                f"{key.rpartition('.')[2]} {value}" for key, value in chosen.axes.items()
            )
            if disparity is not None:
                caption = f"SR {best.sparsity_rate:.3f}, ER {best.error_rate:.4f}: {setting}"
                pictures[name] = stored_map(disparity, caption=caption)
        rows.append(scene_row(scene, pictures))
    return Outcome([Scenes(rows)])


def nearest_to_boundary(found: Boundary, scene: str, method: str) -> Point:
    """A method's best point with respect to a scene's boundary: the middle one of those on it, otherwise the one nearest to it, in the ratio of error rates."""
    edge = found.feasible(scene)
    if on := shown([p for p in edge if p.method == method]):
        return on[len(on) // 2]
    own, height = shown(found.points[scene][method]) or found.points[scene][method], roc_curve(edge)
    return min(
        own, key=lambda p: p.error_rate / max(float(height(np.array([p.sparsity_rate]))[0]), 1e-6)
    )


def costs(context: Context, *, tried: Mapping[str, str]) -> Outcome:
    """How much E and the sentences turn on the costs of GC and BP, which are not printed, with those `tried` by the methods of the scripts; and all sentences."""
    results, published = _results(context), published_table("boundary2007", "table1")
    everything = results + context.run("costs")
    there = found_boundary(everything, {method: method for method in tried})
    e = _by_column(there)
    named = {f"{name} as printed": published.rows[name] for name in ("GC", "BP")}
    named |= {words: e[m] for m, words in tried.items() if m in e}
    rows = [[words, *map(own.get, published.columns)] for words, own in named.items()]
    table = plain_table(
        "Efficiency by matching cost", ["method and cost", *published.columns], rows, ".3f"
    )
    missing = ", ".join(name for name in SCENES if name not in there.points)
    if context.quick or missing:
        # On fewer scenes than the paper's, these would be different sentences.
        return Outcome(
            [table],
            absent="one scene and few settings only"
            if context.quick
            else f"not measured: {missing}",
        )
    pairs = itertools.product(
        *([m for m in tried if m.startswith(name) and m in e] for name in ("gc", "bp"))
    )
    found = Alternatives(
        "cost", {f"{tried[gc]}, {tried[bp]}": with_costs(everything, gc, bp) for gc, bp in pairs}
    )
    rates: dict[str, list[tuple[float, float]]] = {"GC": [], "DP": []}
    for r in results:
        if short(r.scene) == "slits" and METHODS[r.method] in rates and r.error is None:
            rates[METHODS[r.method]].append(
                (r.statistics["sparsity_rate"], r.statistics["false_positives"])
            )
    occluded = int(np.sum(scene_table(load_scene("synthetic/slits")).reference_status == OCCLUDED))
    return Outcome([table], data={"found": found, "rates": rates, "occluded": occluded})


def with_costs(results: ResultSet, gc: str, bp: str) -> Boundary:
    """Collect the rates with two methods in the places of GC and BP."""
    places = {"GC": gc, "BP": bp}
    return found_boundary(
        results, {places.get(name, method): name for method, name in METHODS.items()}
    )
