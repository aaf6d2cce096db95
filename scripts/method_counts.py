"""Compute the figures of the methods' pages: ``STEREO_DATA=DIR python scripts/method_counts.py [FILE ...]``.

The program writes ``methods.json``, ``tiles.json`` and ``ranges.json`` in ``docs/counts``. A
FILE is one of these names without the ending; without FILE, all are written.
``tests/test_method_claims.py`` compares sentences of the pages with these files. Each file
takes some minutes on an idle machine with two cores.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any, NamedTuple

import chain_pictures
import method_choice_study
import numpy as np
from counts import write_counts

from stereo_framework import evaluate, load_scene, run
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.datasets.registry import load_scenes
from stereo_framework.sweep.result import Result
from stereo_framework.user_pair.search_range import estimate_range, sparse_matches

V2 = [f"middlebury-v2/{name}" for name in ("tsukuba", "venus", "teddy", "cones")]
PHOTOGRAPHS = "middlebury-v3/trainingQ"
SETS_OF_ROWS = {
    "photographs": PHOTOGRAPHS,
    "kitti2015": "kitti2015",
    "kitti2012": "kitti/training2012",
    "v2": "middlebury-v2",
}
"""The sets of scenes on which row differences are measured, by their key in the file."""
REGIONS = ("nonocc", "all", "disc")
MARGINS = ((0, 0), (10, 0.05), (20, 0.1), (50, 0.1), (100, 0.3))
"""Margins for stable matching and stratified matching: pairs of alpha and beta."""


class Counts(NamedTuple):
    """Shares of a semi-dense disparity map, in percent.

    Parameters
    ----------
    matched : float
        Share of the non-occluded pixels with truth that have an estimate.
    wrong_of_nonocc : float
        Share of these estimates that are off by more than 1 pixel.
    wrong_of_all : float
        Share of the estimates that are off by more than 1 pixel, among the estimates at all
        pixels with truth, occluded pixels included.
    """

    matched: float
    wrong_of_nonocc: float
    wrong_of_all: float


def count_matches(disparity: Disparity, scene: Scene) -> Counts:
    """Count the estimates of a disparity map, and those off by more than 1 pixel."""
    assert scene.truth is not None, "all scenes of the list have truth"
    has_truth = np.isfinite(scene.truth)
    nonocc = has_truth & scene.mask("nonocc")
    estimated = np.isfinite(disparity)
    wrong = np.abs(disparity - scene.truth) > 1
    nonocc_matches = estimated & nonocc
    matches = estimated & has_truth
    return Counts(
        matched=percent(np.count_nonzero(nonocc_matches), np.count_nonzero(nonocc)),
        wrong_of_nonocc=percent(
            np.count_nonzero(nonocc_matches & wrong), np.count_nonzero(nonocc_matches)
        ),
        wrong_of_all=percent(np.count_nonzero(matches & wrong), np.count_nonzero(matches)),
    )


def percent(part: int, whole: int) -> float:
    """Return a part in percent of the whole, to four decimals."""
    return round(100 * float(part) / float(whole), 4)


def results_by_scene(
    script: Any, scenes: Sequence[str], overrides: Sequence[str] = ()
) -> dict[str, Result]:
    """Run a script with one setting on scenes; return the results by short scene name."""
    results: dict[str, Result] = {}
    for result in run(script, scenes=list(scenes), overrides=list(overrides), workers=1, maps=True):
        if result.error:
            message = f"{result.method} on {result.scene}: the run failed: {result.error}"
            raise RuntimeError(message)
        results[result.scene.rpartition("/")[2]] = result
    return results


def counts_on_v2(script: Any, overrides: Sequence[str] = ()) -> dict[str, dict[str, float]]:
    """Return the counts of a script's disparity maps on the scenes of Middlebury v2."""
    counts = {}
    for name, result in results_by_scene(script, V2, overrides).items():
        counts[name] = count_matches(result.disparity, load_scene(result.scene))._asdict()
    return counts


def count_matches_by_margin() -> dict[str, Any]:
    """Count the matches of `csm` and `stratified` at several margins."""
    counts: dict[str, Any] = {}
    for method in ("csm", "stratified"):
        for alpha, beta in MARGINS:
            overrides = [f"optimization.alpha={alpha}", f"optimization.beta={beta}"]
            counts.setdefault(method, {})[f"alpha {alpha}, beta {beta}"] = counts_on_v2(
                method, overrides
            )
    return counts


def count_matches_by_occlusion_cost() -> dict[str, Any]:
    """Count the matches of `cox` at two costs of an occlusion."""
    return {
        f"occlusion_cost {cost}": counts_on_v2("cox", [f"optimization.occlusion_cost={cost}"])
        for cost in (20, 300)
    }


def error_rate(script: Any, scene: str) -> float:
    """Measure the error rate of Kostliva et al. (2007) of a script on a scene."""
    methods = {"method": script}
    content = {"methods": methods, "evaluation": {"protocol": "kostliva2007"}}
    [result] = results_by_scene(content, [scene]).values()
    return round(result.statistics["error_rate"], 5)


def error_rates_of_correlation() -> dict[str, Any]:
    """Measure the error rates of correlation and of absolute differences.

    The windows are 9 pixels wide. On teddy, the rates are also measured with a darker match
    image.
    """
    winners = {"optimization": "winner_take_all"}
    costs = {
        "moravec": {
            "matching_cost": {"use": "normalized_cross_correlation", "form": "moravec", "size": 9},
            **winners,
        },
        "standard": {
            "matching_cost": {"use": "normalized_cross_correlation", "form": "standard", "size": 9},
            **winners,
        },
        "window": {"include": "window"},
    }
    darker = {"preprocessing": [{"use": "radiometric_change", "exposure": 0.3}]}
    rates: dict[str, Any] = {}
    for name, script in costs.items():
        rates[name] = {
            "teddy": error_rate(script, "teddy"),
            "teddy, exposure 0.3": error_rate({**script, **darker}, "teddy"),
            "tsukuba": error_rate(script, "tsukuba"),
        }
    return rates


def largest_row_differences() -> dict[str, Any]:
    """Return the largest row difference of each pair, in pixels."""
    stage = {"use": "row_alignment", "initial": "first", "row_tolerance": 0}
    script = {
        "include": "window",
        "auxiliary": {"first": {"include": "initial_map"}},
        "preprocessing": [stage],
    }
    differences: dict[str, Any] = {}
    for name, scenes in SETS_OF_ROWS.items():
        differences[name] = {}
        for scene, result in results_by_scene(script, [scenes]).items():
            [difference] = re.findall(
                r"rows are off by up to ([\d.]+) px", " ".join(result.warnings)
            )
            differences[name][scene] = float(difference)
    return differences


def v2_percentages(script: Any, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Measure the twelve percentages of bad pixels of Middlebury v2, and their means."""
    content = {
        "methods": {"method": script},
        "evaluation": {"protocol": {"base": "middlebury-v2", "metrics": ["bad_pixels"]}},
    }
    results = results_by_scene(content, V2, overrides)
    percentages: dict[str, Any] = {}
    for name, result in results.items():
        percentages[name] = {
            region: round(result.statistics[f"bad_pixels_{region}"], 4) for region in REGIONS
        }
    means = {
        region: round(mean(scene[region] for scene in percentages.values()), 4)
        for region in REGIONS
    }
    return {"average": round(mean(means.values()), 4), "means": means, **percentages}


def percentages_of_ad_census() -> dict[str, Any]:
    """Measure `ad_census` on Middlebury v2, and two versions with fewer errors."""
    both_views = {
        "use": "cross_based",
        "max_arm": 34,
        "tau": 20,
        "far_arm": 17,
        "tau_far": 6,
        "views": "both",
    }
    aggregation = [{**both_views, "iterations": 1}]
    refinement = [
        {"use": "left_right_check", "tolerance": 0},
        {"use": "region_voting", "min_count": 20, "min_share": 0.4, "iterations": 5},
        "segment_planes",
        {"use": "interpolate", "rule": "mei"},
        "discontinuity_adjustment",
        "weighted_median",
        "parabola",
        {"use": "median", "size": 3},
    ]
    return {
        "script": v2_percentages({"include": "ad_census"}),
        "both views": v2_percentages({"include": "ad_census", "aggregation": aggregation}),
        "both views, finish": v2_percentages(
            {"include": "ad_census", "aggregation": aggregation, "refinement": refinement},
        ),
    }


def equal_winners() -> dict[str, float]:
    """Return the percentage of pixels with equal winners of integer and float32 costs.

    The costs are those of `ad_census`. The integer costs have 4000 steps.
    """
    shares = {}
    for name, results in _winners_of_ad_census().items():
        exact, stepped = results
        shares[name] = percent(np.count_nonzero(exact == stepped), exact.size)
    return shares


def _winners_of_ad_census() -> dict[str, list[Disparity]]:
    """Return two disparity maps for each scene: of float32 and of integer costs."""
    winners: dict[str, list[Disparity]] = {}
    for cost in ({"use": "ad_census"}, {"use": "ad_census", "quantization_steps": 4000}):
        script = {"matching_cost": cost, "optimization": "winner_take_all"}
        for name, result in results_by_scene({"methods": {"method": script}}, V2).items():
            winners.setdefault(name, []).append(result.disparity)
    return winners


def percentages_of_patch_match() -> dict[str, Any]:
    """Measure `patch_match` on Middlebury v2, also with rounded disparities on tsukuba."""
    protocol = {"base": "middlebury-v2", "metrics": ["bad_pixels"]}
    percentages = []
    percentages_rounded = []
    for name, result in results_by_scene("patch_match", V2).items():
        scene = load_scene(result.scene)
        scores = evaluate(result.disparity, scene, protocol)
        disparity = np.rint(result.disparity) if name == "tsukuba" else result.disparity
        scores_of_rounded = evaluate(disparity, scene, protocol)
        percentages += [scores[f"bad_pixels_{region}"] for region in REGIONS]
        percentages_rounded += [scores_of_rounded[f"bad_pixels_{region}"] for region in REGIONS]
    return {
        "average": round(mean(percentages), 4),
        "average, tsukuba rounded": round(mean(percentages_rounded), 4),
    }


def methods_on_v2() -> dict[str, Any]:
    """Measure a local method and the global optimizers by region on Middlebury v2."""
    return {name: v2_percentages({"include": name}) for name in ("cost_filter", "bp", "gc", "gco")}


def chain_captions() -> dict[str, str]:
    """Return the captions that ``scripts/chain_pictures.py`` prints, by step."""
    captions = {}
    for name, (draw, part) in chain_pictures.STEPS.items():
        _, captions[name] = draw(part, load_scene(part.scene))
    return captions


def errors_above_fine_on_teddy() -> dict[str, float]:
    """Return by how many percentage points methods exceed the errors of `fine` on teddy.

    The errors are the percentages of wrong non-occluded pixels.
    """
    scene_name = "middlebury2003/teddy"
    scene = load_scene(scene_name)
    assert scene.truth is not None, "teddy has truth"
    nonocc = np.isfinite(scene.truth) & scene.mask("nonocc")
    wrong = {}
    for method in ("fine", "fast", "sgm", "census", "window"):
        [result] = results_by_scene(method, [scene_name]).values()
        is_correct = np.abs(result.disparity - scene.truth)[nonocc] <= 1
        wrong[method] = percent(np.count_nonzero(~is_correct), is_correct.size)
    return {method: round(share - wrong["fine"], 4) for method, share in wrong.items()}


def errors_in_tiles() -> dict[str, Any]:
    """Measure the errors of methods on the ten photographs, as a whole and in tiles."""
    percentages: dict[str, Any] = {}
    for method in ("sgm", "fine"):
        percentages[method] = {"whole": _mean_on_photographs(method, [])}
        for tile_size in (512, 256):
            scheme = f"scheme={{use: tiles, tile_size: {tile_size}}}"
            percentages[method][f"tiles of {tile_size}"] = _mean_on_photographs(method, [scheme])
    return percentages


def _mean_on_photographs(method: str, overrides: Sequence[str]) -> float:
    """Return the mean percentage of non-occluded pixels that are off by more than 1 pixel.

    The images have a quarter of the full size, so 4 pixels of full size are 1 pixel.
    """
    results = results_by_scene(method, [PHOTOGRAPHS], overrides).values()
    return round(mean(result.statistics["bad4_nonocc"] for result in results), 4)


def estimated_ranges() -> dict[str, dict[str, float]]:
    """Compare the ranges of ``--disparities auto`` with the truth of each scene.

    In the result, ``covered`` is the percentage of the pixels with truth whose disparity
    lies in the range. ``width`` is the width of the range, divided by the width of the range
    of the true disparities.
    """
    ranges = {}
    for scene in load_scenes([*method_choice_study.SCENES, "synthetic/slits"]):
        assert scene.truth is not None, "all scenes of the study have truth"
        truth = scene.truth[np.isfinite(scene.truth)]
        low, high = estimate_range(scene, sparse_matches(scene))
        covered = percent(np.count_nonzero((truth >= low) & (truth <= high)), truth.size)
        width = float((high - low) / (truth.max() - truth.min()))
        ranges[scene.name] = {"covered": covered, "width": round(width, 4)}
    return ranges


SECTIONS_OF_METHODS: dict[str, Callable[[], Any]] = {
    "margins": count_matches_by_margin,
    "prices": count_matches_by_occlusion_cost,
    "correlation": error_rates_of_correlation,
    "rows": largest_row_differences,
    "ad_census": percentages_of_ad_census,
    "equal_winners": equal_winners,
    "methods_on_v2": methods_on_v2,
    "chain_captions": chain_captions,
    "choose_on_teddy": errors_above_fine_on_teddy,
    "patch_match": percentages_of_patch_match,
}
FILES: dict[str, dict[str, Callable[[], Any]]] = {
    "methods": SECTIONS_OF_METHODS,
    "tiles": {"photographs": errors_in_tiles},
    "ranges": {"estimated": estimated_ranges},
}
"""The functions that compute the sections of each file of counts."""


def main() -> None:
    """Compute the sections of the files and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help=f"{', '.join(FILES)}; default: all"
    )
    arguments = parser.parse_args()
    for name in arguments.files or FILES:
        counts = {}
        for section, compute in FILES[name].items():
            counts[section] = compute()
            print(f"{section}: {counts[section]}", flush=True)
        write_counts(name, f"python scripts/method_counts.py {name}", counts)


if __name__ == "__main__":
    main()
