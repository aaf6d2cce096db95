"""Measured data with which each claim of boundary2007 must fail, by its name; the rest of them is as the paper says."""

from dataclasses import replace

from made_results import result

from stereo_framework.papers.boundary2007.conclusions import CLAIMS
from stereo_framework.papers.published import published_table
from stereo_framework.tables.boundary import boundary


def results_of(rates):
    """Results from (sparsity, error) lists by scene and method."""
    return [
        result(scene, {"a.b": i}, {"sparsity_rate": s, "error_rate": e}, method=method)
        for scene, methods in rates.items()
        for method, points in methods.items()
        for i, (s, e) in enumerate(points)
    ]


def found(rates):
    """Their boundary."""
    return boundary(results_of(rates))


EMPTY, DENSE = (1.0, 0.0), (0.0, 0.55)
_USUAL = {
    "csm": [(0.3, 0.01), EMPTY],
    "stratified": [(0.3, 0.005), EMPTY],
    "gc": [(0.01, 0.5), EMPTY],
    "dp": [(0.12, 0.3), EMPTY],
    "bp": [DENSE, DENSE],
}
AS_IN_THE_PAPER = {
    "tsukuba": _USUAL | {"csm": [(0.1, 0.3), EMPTY], "gc": [(0.05, 0.05), EMPTY], "bp": [(0.0, 0.6)] * 2},
    "teddy": _USUAL | {"gc": [(0.02, 0.55), EMPTY], "bp": [(0.0, 0.52)] * 2},
    "cones": _USUAL | {"csm": [(0.3, 0.002), EMPTY], "gc": [(0.01, 0.6), EMPTY]},
    "venus": _USUAL | {"gc": [(0.01, 0.6), EMPTY]},
    "stripes": {
        "csm": [(0.5, 0.1), EMPTY],
        "stratified": [(0.4, 0.05), EMPTY],
        "gc": [(0.31, 0.5), EMPTY],
        "dp": [(0.3, 0.5), EMPTY],
        "bp": [(0.0, 0.95)] * 2,
    },
    "slits": _USUAL
    | {"csm": [(0.01, 0.001), EMPTY], "stratified": [(0.02, 0.0005), EMPTY], "gc": [(0.2, 0.45), EMPTY], "bp": [(0.0, 0.45)] * 2},
}
"""Every statement is true here."""


def changed(*changes):
    """As in the paper but for some methods on some scenes: (scenes, method, points)."""
    rates = {name: dict(methods) for name, methods in AS_IN_THE_PAPER.items()}
    for scenes, method, points in changes:
        for scene in scenes.split():
            rates[scene][method] = points
    return found(rates)


ALL = " ".join(AS_IN_THE_PAPER)
_PRINTED = published_table("boundary2007", "table1")
_WRONG = {name: dict(row) for name, row in _PRINTED.rows.items()}
_WRONG["DP"]["Expected"] += 0.003
_BEST, _WORST = [(0.0, 0.0), EMPTY], [(0.0, 0.99), (0.0, 0.995)]

FAILING = {
    "identity": (replace(_PRINTED, rows=_WRONG), published_table("boundary2007", "table2")),
    "density_varies": (changed((ALL, "gc", [(0.0, 0.5), (0.0, 0.4)])),),
    "only_bp_is_dense": (changed(("venus", "dp", [(0.0, 0.3)] * 2)),),
    "dense_curve_is_a_point": (changed(("venus", "bp", [(0.0, 0.6), (0.0005, 0.5)])),),
    "stable_at_low_density": (changed((ALL, "dp", [(0.02, 0.0), EMPTY])),),
    "gc_reaches_tsukuba_only": (changed(("venus", "gc", [(0.01, 0.01), EMPTY])),),
    "gc_in_mean": (changed((ALL, "gc", [(0.5, 0.9), EMPTY])),),
    "csm_empty_on_a_boundary": (changed((ALL, "csm", [(0.0, 0.0001), EMPTY])),),
    "dp_before_bp": (changed(("venus", "bp", [(0.0, 0.05)] * 2)),),
    "no_winner": (changed((ALL, "csm", _BEST)),),
    "stripes_is_worst": (changed(*(("venus", name, [(0.6, 0.39)] * 2) for name in _USUAL)),),
    "slits_is_best": (changed(("tsukuba", "gc", _BEST)),),
    **{c.name: (changed((ALL, "bp", _BEST)),) for c in CLAIMS if c.name.startswith("most_efficient_")},
    **{c.name: (changed((ALL, "dp", _WORST)),) for c in CLAIMS if c.name.startswith("least_efficient_")},
}
