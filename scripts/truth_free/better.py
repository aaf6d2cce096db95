"""Maps that are better than the reference: does any measure without ground truth notice it?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from scipy.stats import spearmanr

from stereo_framework.core.scene import Disparity
from stereo_framework.evaluation import evaluate
from stereo_framework.evaluation.protocols import WITHOUT_TRUTH
from stereo_framework.evaluation.truth_free import distance
from stereo_framework.page.page import Cell, PageTable, Text
from stereo_framework.papers.own_methods import SUBMISSIONS, submission_maps
from stereo_framework.papers.paper import Context, Outcome, short
from stereo_framework.sweep.reference import reference
from stereo_framework.sweep.submission import measure_map
from truth_free.measured import MEASURES, SceneMaps, kept_map, measured_scenes, predicted
from truth_free.rematching import lost_pixels

_TRUTH = {"base": "taxonomy2002", "measures": ["bad_pixels"], "regions": ["nonocc"], "prediction": "none", "border": 0}


def better(context: Context) -> Outcome:
    """The best map, the same with more and more of the truth, the truth, and published maps where there are any."""
    submitted = {name: submission_maps(context, folder) for folder, name in SUBMISSIONS.items()}
    blended, public, rows = defaultdict(list), defaultdict(list), []
    for m in measured_scenes(context):
        blends = {f"{share:g}": _blend(kept_map(m.maps[m.best]), m.scene.truth, share) for share in (0, 0.25, 0.5, 0.75, 1)}
        for measure, rho in _correlations(m, blends).items():
            blended[measure].append(rho)
        theirs = {
            name: measure_map(path, m.scene).disparity
            for name, maps in submitted.items()
            for scene, path in maps.items()
            if short(scene) == short(m.scene.name)
        }
        if theirs:
            for measure, rho in _correlations(m, {**blends, **theirs}).items():
                public[measure].append(rho)
            errors = [_error(m, d) for d in (*theirs.values(), blends["0"], kept_map(m.maps["ad_census_sgm"]))]
            rows.append([Cell(m.scene.name), *(Cell.number(error) for error in errors)])
    text = (
        "The best map of each scene and four better ones: blocks of 32x32 pixels of it are replaced by the truth, a quarter more each time. A measure that saw this would "
        "have a rank correlation of 1 with the true errors; one of 0 sees nothing, one below 0 prefers the worse map. No goal is set."
    )
    tables = [_table("Rank correlation with the true errors: blends with the truth", blended)]
    if rows:
        tables.append(_table("The same, published maps among them", public))
        header = ["scene", *SUBMISSIONS.values(), "best of ours", "as the reference, filled"]
        tables.append(PageTable("Bad visible pixels of the published maps (%)", header, rows))
    return Outcome([Text(text), *tables])


def _correlations(m: SceneMaps, maps: Mapping[str, Disparity]) -> dict[str, float]:
    """Rank correlation of each measure with the true errors of some maps."""
    ours = reference(m.scene).disparity
    references = {"reference": ours, **m.references}
    references["both"] = np.where(np.abs(ours - references["sgbm"]) <= 1, ours, np.float32(np.nan))
    values = {name: [distance(d, other) for d in maps.values()] for name, other in references.items()}
    values["rematching"] = lost_pixels(list(maps.values()), m.scene)
    for d in maps.values():
        for measure, error in predicted(evaluate(d, m.scene, WITHOUT_TRUTH)).items():
            values.setdefault(measure, []).append(error)
    errors = [_error(m, d) for d in maps.values()]
    return {name: float(spearmanr(v, errors).statistic) if len(set(v)) > 1 else 0.0 for name, v in values.items()}


def _error(m: SceneMaps, disparity: Disparity) -> float:
    return evaluate(disparity, m.scene, _TRUTH)["bad_pixels_nonocc"]


def _blend(disparity: Disparity, truth: Disparity | None, share: float) -> Disparity:
    assert truth is not None, "scenes of the study have truth"
    blocks = np.random.default_rng(0).random((truth.shape[0] // 32 + 1, truth.shape[1] // 32 + 1)) < share
    chosen = np.kron(blocks, np.ones((32, 32), bool))[: truth.shape[0], : truth.shape[1]] & np.isfinite(truth)
    return np.where(chosen, truth, disparity)


def _table(caption: str, found: Mapping[str, list[float]]) -> PageTable:
    rows = [
        [Cell(MEASURES[name]), Cell.number(float(np.mean(rho))), Cell.number(min(rho)), Cell.number(len(rho), "d")]
        for name, rho in found.items()
    ]
    return PageTable(caption, ["measure", "mean", "worst", "scenes"], rows)
