"""The example programs run and say what they promise."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stereo_framework import Pipeline, load_scene
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


def test_no_example_is_left_out():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"simple", "advanced", "expert"}
