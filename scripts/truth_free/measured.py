"""The maps of a scene with their true errors and their values in measures without ground truth, and how well the two agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import spearmanr

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.datasets import load_scene
from stereo_framework.evaluation.truth_free import distance
from stereo_framework.own_pair.choosing import is_kin
from stereo_framework.papers.paper import Context
from stereo_framework.sweep import Result
from stereo_framework.tables.words import setting_name

MEASURES = {
    "reference": "distance to the reference map",
    "sgbm": "distance to OpenCV's SGBM where both views agree",
    "fine": "distance to the chain `fine` where both views agree",
    "both": "distance to both, where our reference and SGBM's agree",
    "median": "distance to the median of all maps",
    "rematching": "local matching again where two maps disagree",
    "prediction": "prediction error of the match frame",
    "third": "prediction error of a third frame",
}

_PLACES = {"prediction": ("match",), "third": ("near", "middle", "far")}
"""Frames over which the measure averages the prediction error."""


@dataclass(frozen=True, eq=False)
class SceneMaps:
    """The maps of a scene: true errors in percent and each measure's values, lower = better, by map."""

    scene: Scene
    truth: Mapping[str, float]
    values: Mapping[str, Mapping[str, float]]
    kin: frozenset[str]
    maps: Mapping[str, Result]
    references: Mapping[str, Disparity] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The map of the lowest true error."""
        return min(self.truth, key=lambda n: self.truth[n])

    def weak(self, measure: str) -> list[str]:
        """The maps that are not related to a measure's reference: without those of its costs and optimizer, or of OpenCV's matcher."""
        return [n for n in self.truth if (not n.startswith("sgbm") if measure == "sgbm" else n not in self.kin)]


def correlation(measured: SceneMaps, measure: str, names: Sequence[str]) -> float:
    """Spearman's rank correlation between a measure and the true errors over the maps of a scene."""
    values = measured.values[measure]
    return float(spearmanr([values[n] for n in names], [measured.truth[n] for n in names]).statistic)


def regret(measured: SceneMaps, measure: str, names: Sequence[str]) -> float:
    """True error of the map that the measure puts first, minus that of the best map, in percentage points."""
    chosen = min(names, key=lambda n: measured.values[measure][n])
    return measured.truth[chosen] - min(measured.truth[n] for n in names)


def measured_scenes(context: Context) -> list[SceneMaps]:
    """The study's maps of all scenes that are available."""
    by_scene: dict[str, list[Result]] = defaultdict(list)
    # gc and bp on small scenes; not in a quick reproduction, since they are slow.
    for result in [*context.run("study", maps=True), *([] if context.quick else context.run("global", maps=True))]:
        by_scene[result.scene].append(result)
    others: dict[str, dict[str, Disparity]] = defaultdict(dict)
    for result in context.run("references", scenes=list(by_scene), maps=True):
        others[result.scene][result.method] = kept_map(result)
    return [of_scene(load_scene(name, data=context.data), found, others[name]) for name, found in by_scene.items()]


def of_scene(scene: Scene, results: Sequence[Result], references: Mapping[str, Disparity] | None = None) -> SceneMaps:
    """The measurements of one scene's maps, and their distances to other references."""
    truth = {setting_name(r): r.statistics["bad_pixels_nonocc"] for r in results if r.protocol == "truth" and not r.error}
    free = {setting_name(r): r for r in results if r.protocol == "truthfree" and setting_name(r) in truth}
    values: dict[str, dict[str, float]] = {name: {} for name in ("reference", *(references or {}))}
    for n, r in free.items():
        values["reference"][n] = r.statistics["reference_distance"]
        for name, other in (references or {}).items():
            values[name][n] = distance(kept_map(r), other)
        for measure, error in predicted(r.statistics).items():
            values.setdefault(measure, {})[n] = error
    kin = frozenset(n for n, r in free.items() if is_kin(r.parameters))
    return SceneMaps(scene, truth, values, kin, free, references or {})


def predicted(statistics: Mapping[str, float]) -> dict[str, float]:
    """The mean prediction errors of a map by measure, for the frames that the scene has."""
    found = {
        m: [statistics[f"predict_err_{p}"] for p in places if f"predict_err_{p}" in statistics] for m, places in _PLACES.items()
    }
    return {measure: float(np.mean(errors)) for measure, errors in found.items() if errors}


def kept_map(result: Result) -> Disparity:
    """The map of a result of the study."""
    disparity = result.disparity
    assert disparity is not None, "the runs of the study keep their maps"
    return disparity
