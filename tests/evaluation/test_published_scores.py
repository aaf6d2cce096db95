"""Published scores of published disparity maps."""

import csv

import numpy as np
import pytest
from evaluation_inputs import make_scene

from stereo_framework.evaluation import evaluate, resolve
from stereo_framework.evaluation.protocols import average
from stereo_framework.io import read_disparity
from stereo_framework.sweep.external_maps import measure_map
from stereo_framework.sweep.map_folders import find_maps


@pytest.mark.parametrize(
    ("submission", "count", "published"), [("patchmatch", 60, 4.59), ("adcensus", 12, 3.97)]
)
def test_middlebury_v2(data, submission, count, published):
    """All percentages of a submission as the site printed them, whatever the threshold, and its "average percent of bad pixels"."""
    folder = data / "middlebury-v2"
    if not (folder / "published_scores.tsv").is_file():
        pytest.skip(f"no published scores in {folder}")
    with open(folder / "published_scores.tsv") as file:
        rows = [
            row for row in csv.DictReader(file, delimiter="\t") if row["submission"] == submission
        ]
    assert len(rows) == count
    changes, found = {"thresholds": [1, 0.5, 0.75, 1.5, 2]}, {}
    for name, path in find_maps(
        folder / "submissions" / submission, protocol="middlebury-v2", data=data
    ).maps.items():
        found[name.partition("/")[2]] = measure_map(
            path, name, changes=changes, data=data
        ).statistics
    for row in rows:
        measured = found[row["scene"]][f"bad{row['threshold_px']}_{row['mask']}"]
        # Half a unit of the last printed digit.
        digits = len(row["published"].partition(".")[2])
        assert measured == pytest.approx(float(row["published"]), abs=0.5 * 10**-digits + 1e-9), row
    assert average([*found.values()], resolve("middlebury-v2"))["bad_pixels"] == pytest.approx(
        published, abs=0.005
    )


@pytest.mark.parametrize(("year", "published"), [(2012, 7.894), (2015, 13.62)])
def test_the_demos_of_the_kitti_kits(data, year, published):
    """The kits' demos count what the estimate lacks as wrong; only the benchmark's program interpolates."""
    folder = data / "kitti" / f"devkit{year}"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    truth, estimate = (
        read_disparity(folder / "disp_gt.png"),
        read_disparity(folder / "disp_est.png"),
    )
    assert np.isnan(estimate).any()
    scene = make_scene(truth, protocol=f"kitti{year}")
    found = evaluate(estimate, scene, {"base": f"kitti{year}", "missing": "bad"})
    assert found["bad_pixels_all"] == pytest.approx(
        published, abs=0.5 * 10 ** -len(str(published).partition(".")[2])
    )
