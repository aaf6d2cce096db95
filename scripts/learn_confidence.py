"""Learn the weights of the confidence measure `learned`, and measure them on each scene with weights learned from all others.

    STEREO_DATA=... python scripts/learn_confidence.py

writes ``stereo_framework/confidence/learned.yaml``. A pixel is wrong if its error exceeds 1 pixel, occluded pixels included; the maps are those of the
optimizer, before any refinement.
"""

import math
from pathlib import Path

import numpy as np
import yaml
from scipy.optimize import minimize
from scipy.stats import rankdata

from stereo_framework import Pipeline, load_scene, step
from stereo_framework import confidence as family
from stereo_framework.evaluation.sparsification import Sparsification, optimal_area
from stereo_framework.matching_cost import census
from stereo_framework.optimization import semi_global

SCENES = [
    "middlebury2001/tsukuba",
    "middlebury2001/venus",
    "middlebury2003/cones",
    "middlebury2003/teddy",
    "middlebury2005/Art",
    "middlebury2005/Moebius",
    "middlebury2006/Aloe",
    "middlebury2006/Baby1",
    "middlebury-v3/trainingQ/Adirondack",
    "middlebury-v3/trainingQ/Jadeplant",
    "middlebury-v3/trainingQ/Piano",
    "middlebury-v3/trainingQ/Pipes",
    "middlebury-v3/trainingQ/Playroom",
    "middlebury-v3/trainingQ/Recycle",
]
MEASURES = [
    "ambiguity",
    "attainable_likelihood",
    "curvature",
    "left_right_consistency",
    "left_right_difference",
    "matching_score",
    "maximum_likelihood",
    "peak_ratio",
    "peak_ratio_naive",
    "winner_margin",
]
METHOD = "census (width 9, height 7), semi_global (p1 20, p2 100)"
SAMPLE, PENALTY = 6000, 0.002
"""Number of pixels of a scene used for learning; the weight of the mean square of the weights beside the mean loss."""


def measured(name):
    """The ranks of a scene's pixels that have truth, (n, measures), which of these pixels are wrong, and the areas of the single measures."""
    scene = load_scene(name)
    method = Pipeline(
        [
            step(census, width=9, height=7),
            step(semi_global, p1=20.0, p2=100.0),
            [getattr(family, measure) for measure in MEASURES],
        ]
    )
    match = method(scene)
    known = ~np.isnan(match.disparity)
    ranks = np.zeros((*known.shape, len(MEASURES)), np.float32)
    for i, measure in enumerate(MEASURES):
        ranks[known, i] = (rankdata(match.confidence[measure][known]) - 0.5) / np.count_nonzero(
            known
        )
    counted = known & np.isfinite(scene.truth)
    bad = np.abs(match.disparity - scene.truth)[counted] > 1
    return ranks[counted].astype(np.float64), bad


def learn(scenes):
    """The weights and intercept that make wrong pixels unlikely and right ones likely; every scene counts the same."""
    rng = np.random.default_rng(0)
    chosen = [rng.choice(len(bad), min(SAMPLE, len(bad)), replace=False) for _, bad in scenes]
    ranks = np.concatenate([ranks[own] for (ranks, _), own in zip(scenes, chosen, strict=True)])
    right = np.concatenate(
        [~bad[own] for (_, bad), own in zip(scenes, chosen, strict=True)]
    ).astype(float)

    def loss(values):
        score = ranks @ values[1:] + values[0]
        error = 1 / (1 + np.exp(-score)) - right
        value = np.mean(np.logaddexp(0, score) - right * score) + PENALTY * np.mean(values[1:] ** 2)
        slope = np.append(
            error.mean(), ranks.T @ error / len(right) + 2 * PENALTY * values[1:] / len(MEASURES)
        )
        return value, slope

    return minimize(loss, np.zeros(len(MEASURES) + 1), jac=True, method="L-BFGS-B").x


def area(order, bad):
    """The area under the curve of an order of pixels, in percent."""
    return round(float(100 * Sparsification(order, bad).area), 2)


def main():
    """Measure, learn and write."""
    scenes = [measured(name) for name in SCENES]
    left_out, ratios = {}, {name: [] for name in ("learned", *MEASURES)}
    for i, (name, (ranks, bad)) in enumerate(zip(SCENES, scenes, strict=True)):
        values = learn(scenes[:i] + scenes[i + 1 :])
        single = {measure: area(ranks[:, k], bad) for k, measure in enumerate(MEASURES)}
        best = min(single, key=single.get)
        optimal = round(100 * optimal_area(float(bad.mean())), 2)
        found = {
            "bad": round(100 * float(bad.mean()), 2),
            "auc_optimal": optimal,
            "auc_learned": area(ranks @ values[1:], bad),
        }
        left_out[name] = {**found, "auc_best_single": single[best], "best_single": best}
        for measure, value in {"learned": found["auc_learned"], **single}.items():
            ratios[measure].append(value / optimal)
        print(name, left_out[name], flush=True)
    values = learn(scenes)
    record = {
        "method": METHOD,
        "wrong": "error above 1 pixel, occluded pixels included, before any refinement",
        "intercept": round(float(values[0]), 4),
        "weights": {
            name: round(float(value), 4) for name, value in zip(MEASURES, values[1:], strict=True)
        },
        "mean_auc_over_optimal": {
            name: round(math.fsum(values) / len(values), 3) for name, values in ratios.items()
        },
        "left_out": left_out,
    }
    head = "# Made by scripts/learn_confidence.py. left_out: areas, in percent, on each scene with weights learned from all the others.\n"
    path = Path(__file__).parents[1] / "stereo_framework" / "confidence" / "learned.yaml"
    path.write_text(head + yaml.safe_dump(record, sort_keys=False, width=130), encoding="utf-8")


if __name__ == "__main__":
    main()
