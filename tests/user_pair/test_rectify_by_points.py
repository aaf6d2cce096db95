"""Pairs without calibration: warps that are known come back, and what cannot be rectified is told in a sentence."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from stereo_framework import Scene, load_scene, match
from stereo_framework.core.errors import DataError
from stereo_framework.user_pair.rectify import _right_matches, _turns, rectified_by_points
from stereo_framework.user_pair.search_range import SparseMatches, sparse_matches


def _turned(*angles):
    """The rotation by angles about the three axes, one after the other."""
    x, y, z = (
        cv2.Rodrigues(angle * axis)[0] for angle, axis in zip(angles, np.eye(3), strict=True)
    )
    return z @ y @ x


PHOTOGRAPHS = (
    "Adirondack",
    "ArtL",
    "Jadeplant",
    "Motorcycle",
    "Piano",
    "Pipes",
    "Playroom",
    "PlaytableP",
    "Recycle",
    "Vintage",
)


def turned(scene, seed, degrees=3.0):
    """The pair as two cameras see it that are turned by up to so many degrees about each axis, and both homographies."""
    rows, columns = scene.reference.shape[:2]
    focal = 1.2 * columns
    lens = np.array([[focal, 0, (columns - 1) / 2], [0, focal, (rows - 1) / 2], [0, 0, 1]])
    rng = np.random.default_rng(seed)
    turns = [
        lens @ _turned(*np.deg2rad(rng.uniform(-degrees, degrees, 3))) @ np.linalg.inv(lens)
        for _ in range(2)
    ]
    images, masks = [], []
    for image, turn in zip((scene.reference, scene.match), turns, strict=True):
        images.append(cv2.warpPerspective(image, turn, (columns, rows), flags=cv2.INTER_CUBIC))
        masks.append(
            cv2.warpPerspective(np.ones((rows, columns), np.uint8), turn, (columns, rows)) > 0
        )
    return Scene.from_images(*images, left_mask=masks[0], right_mask=masks[1]), turns


def left_over(scene, turns, found):
    """Root mean square, in pixels, of how far the rows of true matches lie apart after both warps."""
    rows, columns = scene.truth.shape
    y, x = np.mgrid[:rows:5, :columns:5]
    d = scene.truth[::5, ::5]
    known = np.isfinite(d)
    ends = [np.stack([x[known] - away, y[known], np.ones(known.sum())]) for away in (0, d[known])]
    (_, left_row, left), (_, right_row, right) = (
        f @ t @ end for f, t, end in zip(found, turns, ends, strict=True)
    )
    return float(np.sqrt(np.mean((left_row / left - right_row / right) ** 2)))


@pytest.mark.slow
@pytest.mark.docs
def test_the_page_prints_the_row_differences_that_remain_on_turned_photographs(data):
    differences = []
    for name in PHOTOGRAPHS:
        scene = load_scene(f"middlebury-v3/trainingQ/{name}", data=data)
        pair, turns = turned(scene, 3)
        matches = _right_matches(sparse_matches(pair), scene.truth.shape)
        differences.append(left_over(scene, turns, _turns(*matches, scene.truth.shape)))
    page = (Path(__file__).parents[2] / "docs" / "howto" / "images.md").read_text()
    expected = f"differ by {min(differences):.2f} to {max(differences):.2f} px afterwards (root mean square)"
    assert expected in page


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (i > 2)) for i, name in enumerate(PHOTOGRAPHS)],
)
def test_known_turns_of_photographs_come_back(name, data):
    scene = load_scene(f"middlebury-v3/trainingQ/{name}", data=data)
    pair, turns = turned(scene, 3)
    shape = scene.truth.shape
    points = sparse_matches(pair)
    found = _turns(*_right_matches(points, shape), shape)
    assert left_over(scene, turns, (np.eye(3), np.eye(3))) > 3
    # Motorcycle's own rows are off by more than those of the others, which nothing here can know.
    assert left_over(scene, turns, found) < (0.4 if name == "Motorcycle" else 0.3)
    for turn in found:
        middle = (turn @ [(shape[1] - 1) / 2, (shape[0] - 1) / 2, 1])[2]
        # The area around the middle stays what it is, within what three degrees of perspective change.
        assert abs(np.linalg.det(turn) / middle**3) == pytest.approx(1, abs=0.02)


def test_a_turned_pair_is_matched(tmp_path):
    scene = load_scene("synthetic/slanted")
    pair, _ = turned(scene, 1)
    before = sparse_matches(pair).vertical_offset
    found = match(pair.reference, pair.match, rectify="auto", method="sgm")
    assert before > 2
    assert found.vertical_offset < 0.3
    assert found.sure.mean() > 0.5
    assert {"left_rectified.png", "right_rectified.png"} < set(found.save(tmp_path / "out"))
    assert not (tmp_path / "out" / "rectified.yml").exists()


def points_of(there, turn=None, count=300, seed=0):
    """Where two cameras with a focal length of 500 pixels see points of a cloud, the second one standing at `there` and turned."""
    rng = np.random.default_rng(seed)
    cloud = rng.uniform([-3, -2, 6], [3, 2, 12], (count, 3))
    seen = []
    for place, own in (
        (np.zeros(3), np.eye(3)),
        (np.array(there, float), np.eye(3) if turn is None else turn),
    ):
        x, y, z = own @ (cloud - place).T
        seen.append(np.stack([500 * x / z + 319.5, 500 * y / z + 239.5], axis=1).astype(np.float32))
    return SparseMatches(seen[0], seen[1], 1.0)


def test_what_cannot_be_rectified_is_told():
    shape = (480, 640)
    here, there = _right_matches(points_of((0.5, 0, 0)), shape)
    turns = _turns(here, there, shape)
    ends = [
        turn @ np.column_stack([points, np.ones(len(points))]).T
        for turn, points in zip(turns, (here, there), strict=True)
    ]
    assert np.abs(ends[0][1] / ends[0][2] - ends[1][1] / ends[1][2]).max() < 0.1
    with pytest.raises(DataError, match="one camera stood behind the other"):
        _right_matches(points_of((0.05, 0, 1.5)), shape)
    with pytest.raises(
        DataError, match="stood one above the other; turn both photographs by 90 degrees"
    ):
        _right_matches(points_of((0.05, 0.6, 0)), shape)
    with pytest.raises(DataError, match="of the matched points move as one plane does"):
        _right_matches(points_of((0, 0, 0), _turned(0, 0.05, 0.02)), shape)
    chance = np.random.default_rng(4).uniform(0, 400, (2, 200, 2)).astype(np.float32)
    with pytest.raises(DataError, match="of 200 matched points agree on one geometry"):
        _right_matches(SparseMatches(chance[0], chance[1], 1.0), shape)
    black = np.zeros((60, 80), np.uint8)
    with pytest.raises(DataError, match="0 points were found in both images; 20 are needed"):
        rectified_by_points(Scene.from_images(black, black))
