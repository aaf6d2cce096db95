"""The example programs run and say what they promise."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from stereo_framework import Pair, Pipeline, load_scene
from stereo_framework.aggregation import guided_filter
from stereo_framework.matching_cost import census
from stereo_framework.optimization import semi_global
from stereo_framework.script import load

pytestmark = pytest.mark.docs

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("simple", "% of the non-occluded pixels are off by more than a pixel"),
        ("advanced", "{'refinement.left_right_check.tolerance': 2.0}"),
        ("expert", "1.6% of the pixels without an estimate"),
    ],
)
def test_examples(name, said, tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    if name == "simple":
        assert (tmp_path / "planes.pfm").is_file()


def test_stage_with_an_inner_stage():
    settings = load(EXAMPLES / "inner" / "stability.yaml").settings
    assert [setting.axes for setting in settings] == [
        {"confidence.stability.inner": "box"},
        {"confidence.stability.inner": "guided_filter(size=9)"},
    ]
    scene = load_scene("synthetic/planes")
    steps = [step for step in settings[1].pipeline.steps if step.stage.slot != "refinement"]
    estimate = Pipeline(steps)(scene)

    volume = census(scene.reference, scene.match, scene.search)
    labeling = semi_global(volume, reference=scene.reference)
    disparity = labeling.levels + scene.search.minimum
    # The optimizer decides on the sums of its paths.
    aggregated = guided_filter(labeling.volume, scene.reference, size=9).costs
    change = np.abs(aggregated.argmin(axis=2) + scene.search.minimum - disparity)
    np.testing.assert_array_equal(estimate.disparity, disparity)
    np.testing.assert_array_equal(estimate.confidence["stability"], -change)


@pytest.mark.parametrize(
    ("scene_name", "window", "count"), [("tsukuba", 1, 16), ("venus", 3, 32), ("sawtooth", 3, 32)]
)
def test_the_study_of_opencv_has_another_window_on_each_scene(data, scene_name, window, count):
    study = load(EXAMPLES / "opencv_study.yaml")
    scene = load_scene(f"middlebury2001/{scene_name}", data=data)
    methods = study.settings_on(scene.name)
    [setting] = [one for one in methods if one.axes.get("matcher.mode") == "hh"]
    search = replace(scene.search, minimum=0, maximum=setting.search["maximum"])
    pair = replace(Pair.of(scene), search=search)
    estimate = setting.pipeline(pair)

    matcher = cv2.StereoSGBM_create(
        0,
        count,
        window,
        P1=10 * window**2,
        P2=40 * window**2,
        disp12MaxDiff=1,
        preFilterCap=63,
        uniquenessRatio=10,
        speckleWindowSize=100,
        speckleRange=32,
        mode=cv2.STEREO_SGBM_MODE_HH,
    )
    expected = matcher.compute(scene.reference, scene.match).astype(np.float32) / 16
    # Without a frame around the images, OpenCV has no estimate in the first columns.
    has_estimate = np.isfinite(estimate.disparity[:, count:])
    is_expected = expected[:, count:] >= 0
    assert (has_estimate == is_expected).mean() > 0.99
    are_both = has_estimate & is_expected
    difference = estimate.disparity[:, count:] - expected[:, count:]
    assert (np.abs(difference[are_both]) <= 1 / 16).mean() > 0.99


def test_no_example_is_left_out():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"simple", "advanced", "expert"}
