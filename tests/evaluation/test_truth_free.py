"""Distances to the pseudo ground truth, under the protocol without truth."""

import numpy as np
import pytest

from stereo_framework import evaluate, load_scene


def test_statistics_under_the_protocol():
    scene = load_scene("synthetic/planes")
    reference = np.where(np.arange(scene.truth.shape[1]) < 80, np.float32(np.nan), scene.truth)
    disparity = scene.truth + np.float32(0.75)
    statistics = evaluate(disparity, scene, "truthfree-1", pseudo_truth=reference)
    known = np.isfinite(reference)
    assert statistics["pseudo_truth_distance"] == 0
    assert statistics["pseudo_truth_distance_0.5"] == 100
    assert statistics["pseudo_truth_distance_mean"] == pytest.approx(0.75, rel=1e-5)
    assert statistics["pseudo_truth_density"] == pytest.approx(100 * known.mean())
    assert not any(name.startswith("bad_pixels") for name in statistics)
    assert not any(
        name.startswith("pseudo_truth") for name in evaluate(scene.truth, scene, "truthfree-1")
    )
    # A missing estimate counts where the pseudo ground truth knows one; a whole pixel is not more than one.
    disparity[:, 40:120] = np.nan
    lacking = known[:, 80:120].sum() / known.sum()
    assert evaluate(disparity, scene, "truthfree-1", pseudo_truth=reference)[
        "pseudo_truth_distance"
    ] == pytest.approx(100 * lacking)
    whole = np.rint(reference)
    assert (
        evaluate(whole + 1, scene, "truthfree-1", pseudo_truth=whole)["pseudo_truth_distance"] == 0
    )
