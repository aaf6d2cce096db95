"""Data on each side of every rule of boundary2007, by the name of the sentence: with which it must hold, and with which it must not."""

from made_results import result

from stereo_framework.papers.boundary2007.items import found_boundary
from stereo_framework.sweep import ResultSet


def results_of(rates):
    """Return results from (sparsity, error) lists by scene and method."""
    return ResultSet(
        result(scene, {"a.b": i}, {"sparsity_rate": s, "error_rate": e}, method=method)
        for scene, methods in rates.items()
        for method, points in methods.items()
        for i, (s, e) in enumerate(points)
    )


def found(rates):
    """Return the boundary of these rates."""
    return found_boundary(results_of(rates))


EMPTY = (1.0, 0.0)
_USUAL = {
    "csm": [(0.055, 0.05), (0.2, 0.01), EMPTY],
    "stratified": [(0.06, 0.03), (0.3, 0.005), EMPTY],
    "gc": [(0.1, 0.6), (0.9, 0.02), EMPTY],
    "dp": [(0.05, 0.08), (0.052, 0.075), EMPTY],
    "bp": [(0.0, 0.55)] * 2,
}
AS_IN_THE_PAPER = {
    "tsukuba": {
        "csm": [(0.85, 0.045), (0.86, 0.044), EMPTY],
        "stratified": [(0.9, 0.04), (0.91, 0.039), EMPTY],
        "gc": [(0.05, 0.05), (0.9, 0.05), EMPTY],
        "dp": [(0.05, 0.08), (0.052, 0.075), EMPTY],
        "bp": [(0.0, 0.6)] * 2,
    },
    "teddy": _USUAL,
    "cones": _USUAL,
    "venus": _USUAL,
    "stripes": {
        "csm": [(0.25, 0.1), (0.4, 0.1), EMPTY],
        "stratified": [(0.2, 0.05), (0.35, 0.05), EMPTY],
        "gc": [(0.2, 0.5), (0.9, 0.06), EMPTY],
        "dp": [(0.05, 0.3), (0.052, 0.28), EMPTY],
        "bp": [(0.0, 0.95)] * 2,
    },
    "slits": {
        "csm": [(0.056, 0.001), (0.057, 0.0009), EMPTY],
        "stratified": [(0.055, 0.0004), (0.3, 0.0003), EMPTY],
        "gc": [(0.2, 0.45), (0.9, 0.05), EMPTY],
        "dp": [(0.0, 0.3), (0.002, 0.31), EMPTY],
        "bp": [(0.0, 0.45)] * 2,
    },
}
"""Every sentence holds here."""


def changed(*changes):
    """As in the paper but for some methods on some scenes: (scenes, method, points)."""
    rates = {name: dict(methods) for name, methods in AS_IN_THE_PAPER.items()}
    for scenes, method, points in changes:
        for scene in scenes.split():
            rates[scene][method] = points
    return found(rates)


def _moved(method, factor, *scenes):
    """All error rates of a method are multiplied on these scenes, default: on all."""
    names = scenes or AS_IN_THE_PAPER
    return [
        (s, method, [(sr, min(1 - sr, er * factor)) for sr, er in AS_IN_THE_PAPER[s][method]])
        for s in names
    ]


ALL = " ".join(AS_IN_THE_PAPER)
_THREE = "venus teddy cones"
_BEST = [(0.0, 0.0), EMPTY]
_AS_SAID = [found(AS_IN_THE_PAPER)]
_FIXED = [(0.4, 0.4), (0.45, 0.35)]


SIDES = {
    # 3.16 times: see the figures.
    "weak_models_are_accurate": (
        [*_AS_SAID, changed(*_moved("csm", 1.6, "stripes"), *_moved("stratified", 1.6, "stripes"))],
        [
            changed(*_moved("csm", 1.75, "stripes"), *_moved("stratified", 1.75, "stripes")),
            changed(("stripes", "bp", [(0.3, 0.7)] * 2), ("stripes", "dp", [(0.31, 0.5)])),
        ],
    ),
    "density_varies": (
        [
            *_AS_SAID,
            changed(("venus", "gc", _FIXED), ("stripes", "bp", [(0.0, 0.95), (0.001, 0.95)])),
        ],
        [
            changed(("stripes", "gc", _FIXED)),
            changed(("stripes", "dp", [(0.51, 0.3), EMPTY])),
            changed(("stripes", "bp", [(0.0, 0.95), (0.002, 0.95)])),
        ],
    ),
    "dp_before_gc_on_stripes": (
        [*_AS_SAID, changed(("stripes", "dp", [(0.19, 0.3), EMPTY]))],
        [
            changed(("stripes", "gc", [(0.0, 0.25), EMPTY])),
            changed(("stripes", "dp", [(0.21, 0.3), EMPTY])),
        ],
    ),
    "sdm_halves": (
        [
            *_AS_SAID,
            changed(*_moved("csm", 1.38, "stripes")),
            changed(*_moved("csm", 0.72, "stripes")),
        ],
        [changed(*_moved("csm", 1.45, "stripes")), changed(*_moved("csm", 0.7, "stripes"))],
    ),
    "bp_is_a_point": (
        [*_AS_SAID, changed(("stripes", "bp", [(0.0, 0.95), (0.001, 0.9)]))],
        [changed(("stripes", "bp", [(0.0, 0.95), (0.0011, 0.9)]))],
    ),
    "csm_on_stripes": (
        [*_AS_SAID, changed((_THREE, "csm", _BEST))],
        [
            changed(("stripes", "csm", [(0.19, 0.1), EMPTY])),
            changed(("stripes", "csm", [(0.25, 0.1)])),
            changed(
                ("stripes", "stratified", [(0.46, 0.05), EMPTY]),
                ("stripes", "dp", [(0.0, 0.09), EMPTY]),
            ),
        ],
    ),
    "occlusion_not_found": (
        [({"GC": [(0.1, 50.0), (0.9, 0.0)], "DP": [(0.2, 40.0), (0.3, 60.0), (0.4, 70.0)]}, 100)],
        [
            ({"GC": [(0.1, 49.0), (0.5, 99.0)], "DP": [(0.2, 60.0)]}, 100),
            ({"GC": [(0.1, 50.0)], "DP": [(0.6, 60.0)]}, 100),
        ],
    ),
    "gc_reaches_tsukuba_only": (
        _AS_SAID,
        [
            changed(("venus", "gc", [(0.01, 0.01), EMPTY])),
            changed(("tsukuba", "gc", [(0.5, 0.09), EMPTY])),
        ],
    ),
    "tsukuba_hardest_for_stable": (
        _AS_SAID,
        [
            changed(("slits", "csm", [(0.95, 0.04), EMPTY])),
            changed(("venus", "stratified", [(0.95, 0.04), EMPTY])),
        ],
    ),
    "gc_behind_dp": (
        [*_AS_SAID, changed((_THREE, "dp", [(0.05, 0.055), EMPTY]))],
        [
            changed((_THREE, "gc", [(0.1, 0.15), EMPTY])),
            changed((_THREE, "dp", [(0.05, 0.005), EMPTY])),
        ],
    ),
    "gc_on_no_boundary": (
        [*_AS_SAID, changed(("slits", "gc", [(0.0, 0.0001), EMPTY]))],
        [changed(("venus", "gc", [(0.01, 0.01), EMPTY]))],
    ),
    "same_character": (
        _AS_SAID,
        [
            changed(("teddy", "gc", [(0.01, 0.1), EMPTY])),
            changed(("cones", "csm", [(0.4, 0.05), EMPTY])),
        ],
    ),
    "dp_is_monotonous": (
        _AS_SAID,
        [
            changed(("slits", "dp", [(0.0, 0.3), (0.5, 0.9), EMPTY])),
            changed(("slits", "dp", [(0.0, 0.3), (0.002, 0.29), EMPTY])),
        ],
    ),
    "gc_not_in_mean": (_AS_SAID, [changed((ALL, "gc", [(0.01, 0.3), EMPTY]))]),
    "sdm_and_csm_alternate": (
        _AS_SAID,
        [
            changed((ALL, "csm", [(0.055, 0.05), (0.056, 0.049), EMPTY])),
            changed((ALL, "csm", [EMPTY])),
        ],
    ),
    "stripes_is_worst": (
        [*_AS_SAID, changed(("slits", "stratified", [(0.95, 0.04), EMPTY]))],
        [changed(("venus", "bp", [(0.0, 0.97)] * 2), ("venus", "dp", [(0.06, 0.31)]))],
    ),
    "tsukuba_is_second": (
        _AS_SAID,
        [
            changed(
                ("tsukuba", "csm", [(0.1, 0.2), EMPTY]),
                ("tsukuba", "stratified", [(0.1, 0.2), EMPTY]),
            )
        ],
    ),
    "tsukuba_is_best_for_gc": (
        _AS_SAID,
        [changed(("tsukuba", "gc", [(0.06, 0.2), EMPTY])), changed(("venus", "gc", [(0.0, 0.02)]))],
    ),
    "slits_is_best": (
        [*_AS_SAID, changed(("cones", "bp", [(0.0, 0.5)] * 2))],
        [
            changed(("cones", "stratified", [(0.01, 0.0001), EMPTY])),
            changed(("slits", "stratified", [(0.7, 0.1)])),
        ],
    ),
    "stable_most_efficient": (_AS_SAID, [changed(("venus", "dp", _BEST))]),
    "gc_most_efficient_on_tsukuba": (_AS_SAID, [changed(("tsukuba", "dp", _BEST))]),
    "dp_before_bp": (
        _AS_SAID,
        [
            changed(("venus", "bp", [(0.0, 0.05)] * 2)),
            changed(("tsukuba", "bp", [(0.0, 0.05)] * 2)),
        ],
    ),
    "dp_before_gc": (
        [*_AS_SAID, changed(("tsukuba", "gc", _BEST))],
        [changed(("slits", "gc", [(0.0, 0.29), EMPTY]))],
    ),
    "no_single_winner": (
        _AS_SAID,
        [changed((ALL, "csm", _BEST)), changed((ALL, "gc", [(0.5, 0.9), EMPTY]))],
    ),
    "which_method_when": (
        _AS_SAID,
        [changed((ALL, "csm", [(0.0, 0.01), EMPTY])), changed((ALL, "dp", [(0.02, 0.0), EMPTY]))],
    ),
    "only_bp_is_dense": (
        [*_AS_SAID, changed(("venus", "bp", [(0.0, 0.55), (0.001, 0.55)]))],
        [
            changed(("venus", "bp", [(0.0, 0.55), (0.0015, 0.55)])),
            changed(("venus", "dp", [(0.0, 0.3)] * 2)),
        ],
    ),
}
