"""Compare every run of the original 2002 program with ours: ``python scripts/compare_with_original.py RUNS.json [--data DIR]``.

RUNS.json holds, for many settings, the statistics of the original program; its column ``exact`` has exact window and statistic sums. Runs are
translated by `stereo_framework.script.legacy.translate`. A run that cannot be compared is listed with the reason.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stereo_framework import load_scene, run
from stereo_framework.core.scene import Scene
from stereo_framework.script.legacy import translate
from stereo_framework.sweep import Result

BAD_TOLERANCE = 2e-4
"""Share of a region's pixels. The remaining differences come from the order of float32 operations, which decides between costs that are nearly equal."""

RMS_TOLERANCE = 1e-3
"""In pixels; for the same reason."""

PREDICTION_TOLERANCE = 2e-4
"""Grey levels; interpolated intensities exactly between two grey levels are rounded after float32 operations in another order."""

_EXCEPTIONS = {
    "match_interpolated": "interpolates both images, which the paper does not",
    "aggr_subpixel": "refines during aggregation, which the paper does not",
    "aggr_collapse": "collapses fractional levels, which the paper does not",
    "preproc_blur_iter": "blurs with another kernel along columns than along rows, and truncates",
    "frame_match": "a frame pair without truth: the original measures it against another pair's",
}


def exception(setting: Mapping[str, Any]) -> str | None:
    """Why a run cannot be compared, or None if it can."""
    parameters = setting["params"]
    if parameters.get("opt_fn") in (4, 5):
        return "random: graph cuts and annealing depend on the generator"
    if "exact" not in setting:
        return "no exact sums in the reference"
    if parameters.get("eval_ignore_border") == 0:
        return "counts unknown truth as zero"
    if parameters.get("opt_fn") == 2 and parameters.get("disp_step", 1) != 1:
        return "the original's geometry of dynamic programming is wrong at fractional steps"
    return next((why for name, why in _EXCEPTIONS.items() if parameters.get(name)), None)


def differences(setting: Mapping[str, Any], scene: Scene) -> dict[str, float]:
    """Our statistics minus the original's, by name: fractions of bad pixels, RMS in pixels, prediction errors in grey levels."""
    # One map, measured with both kinds of prediction.
    forward, inverse = (
        translate({**setting["params"], **further}) for further in ({}, {"eval_predict_type": 2})
    )
    protocols = [
        script.get("evaluation", {}).get("protocol", "taxonomy2002")
        for script in (forward, inverse)
    ]
    results = run({**forward, "evaluation": {"protocol": protocols}}, scenes=scene)
    found = _differences(setting, results[0], setting["exact"])
    return found | {
        f"inverse_{k}": v
        for k, v in _differences(setting, results[1], setting["exact_inverse_prediction"]).items()
    }


def _differences(
    setting: Mapping[str, Any], result: Result, expected: Mapping[str, float]
) -> dict[str, float]:
    if result.error:
        raise RuntimeError(f"{setting['name']} on {result.scene}: {result.error}")
    # The original has -1 for an empty region or a missing frame, we have NaN or nothing.
    return {
        name: (value / 100 if name.startswith("bad_pixels_") else value) - expected[name]
        for name, value in result.statistics.items()
        if name != "fraction_matched" and expected.get(name, -1) >= 0
    }


def worst(found: Mapping[str, float]) -> tuple[float, float, float]:
    """Largest absolute difference of bad-pixel fractions, of RMS errors and of prediction errors."""

    def largest(part: str) -> float:
        return max(abs(v) for k, v in found.items() if part in k)

    return largest("bad_pixels_"), largest("rms_error_"), largest("predict_err_")


def agrees(bad: float, rms: float, prediction: float) -> bool:
    """Whether a run's largest differences are within the tolerances."""
    return bad <= BAD_TOLERANCE and rms <= RMS_TOLERANCE and prediction <= PREDICTION_TOLERANCE


def rows(
    settings: list[Mapping[str, Any]], scenes: Mapping[str, Scene]
) -> Iterator[tuple[str, ...]]:
    """Name, scene, the largest differences and a verdict for each run."""
    for setting in settings:
        why = exception(setting)
        if why is not None:
            yield setting["name"], setting["dataset"], "", "", "", f"excepted: {why}"
            continue
        largest = worst(differences(setting, scenes[setting["dataset"]]))
        verdict = "agrees" if agrees(*largest) else "DIFFERS"
        yield setting["name"], setting["dataset"], *(f"{value:.1e}" for value in largest), verdict


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    settings = json.loads(arguments.runs.read_text())["runs"]
    scenes = {
        name: load_scene(name, data=arguments.data) for name in {s["dataset"] for s in settings}
    }
    count: dict[str, int] = {}
    print(f"{'run':36} {'scene':9} {'bad':>8} {'rms':>8} {'predict':>8}  verdict")
    for name, scene, bad, rms, prediction, verdict in rows(settings, scenes):
        print(f"{name:36} {scene:9} {bad:>8} {rms:>8} {prediction:>8}  {verdict}")
        kind = verdict.partition(":")[0]
        count[kind] = count.get(kind, 0) + 1
    tolerances = f"bad {BAD_TOLERANCE:g}, rms {RMS_TOLERANCE:g} px, predict {PREDICTION_TOLERANCE:g} grey levels"
    print(", ".join(f"{n} {kind}" for kind, n in count.items()), f"(tolerances: {tolerances})")


if __name__ == "__main__":
    main()
