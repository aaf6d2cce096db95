"""Published scores of published disparity maps."""

import csv

import numpy as np
import pytest
from evaluation_inputs import make_scene

from stereo_framework.evaluation import evaluate, resolve
from stereo_framework.evaluation.protocol_average import average
from stereo_framework.io import read_disparity
from stereo_framework.sweep.outside import find_maps, measure_map


def test_middlebury_v2(data):
    """All percentages of two submissions as the site printed them, whatever the threshold."""
    folder = data / "middlebury-v2"
    if not (folder / "published_scores.tsv").is_file():
        pytest.skip(f"no published scores in {folder}")
    with open(folder / "published_scores.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 72
    found = {}
    for submission in ("patchmatch", "adcensus"):
        for name, path in find_maps(folder / "submissions" / submission, protocol="middlebury-v2", data=data).maps.items():
            changes = {"thresholds": [1, 0.5, 0.75, 1.5, 2]}
            found[submission, name.partition("/")[2]] = measure_map(path, name, changes=changes, data=data).statistics
    for row in rows:
        threshold = row["threshold_px"]
        measured = found[row["submission"], row["scene"]][f"bad{threshold}_{row['mask']}"]
        # Half a unit of the last printed digit.
        digits = len(row["published"].partition(".")[2])
        assert measured == pytest.approx(float(row["published"]), abs=0.5 * 10**-digits + 1e-9), row


@pytest.mark.parametrize(("submission", "published"), [("patchmatch", 4.59), ("adcensus", 3.97)])
def test_the_average_percent_of_bad_pixels(data, submission, published):
    folder = data / "middlebury-v2" / "submissions" / submission
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    maps = find_maps(folder, protocol="middlebury-v2", data=data).maps
    scores = [measure_map(path, name, data=data).statistics for name, path in maps.items()]
    # The site's column "average percent of bad pixels", two decimals.
    assert average(scores, resolve("middlebury-v2"))["bad_pixels"] == pytest.approx(published, abs=0.005)


@pytest.mark.parametrize(("year", "published"), [(2012, 7.894), (2015, 13.62)])
def test_the_demos_of_the_kitti_kits(data, year, published):
    """The kits' demos count what the estimate lacks as wrong; only the benchmark's program interpolates."""
    folder = data / "kitti" / f"devkit{year}"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    truth, estimate = read_disparity(folder / "disp_gt.png"), read_disparity(folder / "disp_est.png")
    assert np.isnan(estimate).any()
    scene = make_scene(truth, protocol=f"kitti{year}")
    found = evaluate(estimate, scene, {"base": f"kitti{year}", "missing": "bad"})
    assert found["bad_pixels_all"] == pytest.approx(published, abs=0.5 * 10 ** -len(str(published).partition(".")[2]))
