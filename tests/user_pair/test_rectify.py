"""Pairs that are not rectified: taken of a rectified one by turned cameras with distorting lenses, and brought back."""

import json

import cv2
import numpy as np
import pytest
from cli_parts import invoke

import stereo_framework
from stereo_framework import load_scene
from stereo_framework.core.errors import DataError, DataWarning
from stereo_framework.core.scene import Scene
from stereo_framework.datasets import pair_scene
from stereo_framework.io import (
    StereoCalibration,
    read_any_calibration,
    read_image,
    read_pfm,
    read_stereo_calibration,
    write_image,
)
from stereo_framework.user_pair.intensities import find_intensity_problems
from stereo_framework.user_pair.rectify import rectified
from stereo_framework.user_pair.search_range import sparse_matches

FOCAL, BASELINE = 350.0, 0.2
CAMERA = np.array([[FOCAL, 0, 160], [0, FOCAL, 120], [0, 0, 1]])
LENS = np.array([0.05, -0.02, 0.001, -0.001, 0])


def turn(*degrees):
    return cv2.Rodrigues(np.radians(degrees))[0]


LEFT, RIGHT = turn(1.5, -1.0, 2.0), turn(-1.0, 1.0, -0.5)


def taken(image, rotation):
    """What a camera sees that is turned by a rotation and has the lens, of what one sees that has neither: each pixel's ray, by OpenCV, turned back."""
    rows, columns = image.shape[:2]
    pixels = (
        np.dstack(np.meshgrid(np.arange(columns), np.arange(rows)))
        .reshape(-1, 1, 2)
        .astype(np.float64)
    )
    seen = cv2.undistortPoints(pixels, CAMERA, LENS).reshape(-1, 2)
    rays = np.column_stack([seen, np.ones(len(seen))]) @ rotation  # the transpose turns back
    place = (
        (rays[:, :2] / rays[:, 2:] * FOCAL + CAMERA[:2, 2])
        .astype(np.float32)
        .reshape(rows, columns, 2)
    )
    return cv2.remap(np.ascontiguousarray(image), place, None, cv2.INTER_CUBIC)


INTRINSICS = {"M1": CAMERA, "D1": LENS, "M2": CAMERA, "D2": LENS}
# Of a point X of the rectified left camera the left one sees LEFT X, the right one RIGHT (X - baseline).
EXTRINSICS = {"R": RIGHT @ LEFT.T, "T": (-RIGHT @ [BASELINE, 0, 0])[:, None]}


def written(path, **matrices):
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    for name, values in matrices.items():
        storage.write(name, np.atleast_2d(np.array(values, float)))
    storage.release()
    return path


@pytest.fixture(scope="module")
def scene():
    return load_scene("synthetic/planes")


@pytest.fixture(scope="module")
def raw(scene):
    return Scene.from_images(taken(scene.reference, LEFT), taken(scene.match, RIGHT))


@pytest.fixture
def cameras(tmp_path):
    return read_stereo_calibration(
        [written(tmp_path / "i.yml", **INTRINSICS), written(tmp_path / "e.yml", **EXTRINSICS)]
    )


def offset(scene):
    return sparse_matches(scene).vertical_offset


def test_rows_come_together_and_depths_are_right(scene, raw, cameras):
    assert offset(raw) > 5
    found = rectified(raw, cameras)
    # The images were interpolated twice; SIFT places points to a third of a pixel.
    assert offset(found) < 0.2
    assert found.calibration.baseline == pytest.approx(BASELINE)
    assert found.calibration.doffs == 0
    made = stereo_framework.match(raw.reference, raw.match, (0, 40), method="sgbm", rectify=cameras)
    # Distances from the camera do not depend on where it looks.
    distances = np.linalg.norm(made.points().position, axis=1)
    column, row = np.meshgrid(np.arange(320) - 160, np.arange(240) - 120)
    truth = FOCAL * BASELINE / scene.truth * np.sqrt((column / FOCAL) ** 2 + (row / FOCAL) ** 2 + 1)
    # Nearest, near and farthest surface; some pixels of the border are not seen.
    shares = [1, 5, 25, 95]
    np.testing.assert_allclose(
        np.percentile(distances, shares), np.percentile(truth, shares), rtol=0.02
    )


def test_what_no_camera_saw_holds_no_data(raw, cameras):
    found = rectified(raw, cameras)
    for index in (0, 1):
        valid = found.valid(index)
        assert 0.8 < valid.mean() < 1
        assert not valid[0].all()
    # A mask of the image as it was taken goes along.
    mask = np.ones((240, 320), bool)
    mask[100:140, 100:200] = False
    holed = rectified(Scene.from_images(raw.reference, raw.match, left_mask=mask), cameras)
    lost = found.valid(0).sum() - holed.valid(0).sum()
    # 4000 pixels, and those beside them that they would be mixed into.
    assert 4000 <= lost < 4000 * 1.15


def test_a_straight_pair_stays_as_it_is(scene, tmp_path):
    straight = {
        "M1": CAMERA,
        "D1": np.zeros(5),
        "M2": CAMERA,
        "D2": np.zeros(5),
        "R": np.eye(3),
        "T": [[-BASELINE], [0], [0]],
    }
    found = rectified(scene, read_stereo_calibration([written(tmp_path / "c.yml", **straight)]))
    assert found.calibration.focal_length == pytest.approx(FOCAL)
    assert found.calibration.center == pytest.approx((160, 120))
    # Places are rounded to float32, colours to whole numbers.
    np.testing.assert_allclose(found.reference.astype(int), scene.reference, atol=1)
    assert found.valid(0) is None


def grey(image):
    return image[..., 1].copy()


@pytest.mark.parametrize("kind", ["grey", "grey, of one camera only", "11 bits"])
def test_what_was_matched_can_be_matched_again(scene, raw, cameras, tmp_path, kind):
    """The same images come back, with the same channels, and the same masks."""
    if (
        kind == "grey, of one camera only"
    ):  # the right one has a longer lens, so that the left image is whole
        longer = CAMERA + np.diag([15, 15, 0])
        cameras = StereoCalibration(
            CAMERA, np.zeros(5), longer, np.zeros(5), np.eye(3), np.array([-BASELINE, 0, 0])
        )
        left, right = grey(scene.reference), grey(scene.match)
    else:
        left, right = grey(raw.reference), grey(raw.match)
    if kind == "11 bits":
        left, right = left * np.float32(8), right * np.float32(8)
    made = stereo_framework.match(left, right, (0, 40), method="sgbm", rectify=cameras)
    assert (made.scene.valid(0) is None) == (kind == "grey, of one camera only")
    files = [name for name in made.save(tmp_path / "out") if "_rectified." in name]
    assert len(files) == 2
    again = pair_scene(*(tmp_path / "out" / name for name in files), None)
    for index in (0, 1):
        assert again.image(index).dtype == left.dtype
        np.testing.assert_equal(again.valid(index), made.scene.valid(index))
        known = slice(None) if made.scene.valid(index) is None else made.scene.valid(index)
        np.testing.assert_array_equal(again.image(index)[known], made.scene.image(index)[known])


def test_cubics_stay_within_what_is_there(scene, cameras):
    hard = [
        np.where(image[..., 1] > 99, 255, 0).astype(np.float32)
        for image in (scene.reference, scene.match)
    ]
    found = rectified(Scene.from_images(*hard), cameras)
    assert (found.reference.min(), found.reference.max()) == (0, 255)
    assert find_intensity_problems(found) == []


def test_colours_of_points_end_at_255(scene):
    bright = [image.astype(np.float32) * 8 for image in (scene.reference, scene.match)]
    made = stereo_framework.match(*bright, (0, 40), method="sgbm", calibration=(FOCAL, BASELINE))
    rows, columns = np.nonzero(made.sure & np.isfinite(made.depth()))
    np.testing.assert_array_equal(
        made.points().colour, np.minimum(np.rint(made.scene.reference[rows, columns]), 255)
    )


def test_a_range_beside_the_images_is_that_of_others(raw, cameras, tmp_path):
    write_image(tmp_path / "l.png", raw.reference)
    write_image(tmp_path / "r.png", raw.match)
    (tmp_path / "calib.txt").write_text(
        "cam0=[350 0 160; 0 350 120; 0 0 1]\ncam1=[350 0 160; 0 350 120; 0 0 1]\ndoffs=0\nbaseline=10\nwidth=320\nheight=240\nndisp=64\n"
    )
    made = stereo_framework.match(
        tmp_path / "l.png", tmp_path / "r.png", method="sgbm", rectify=cameras
    )
    assert made.origin.startswith("estimated from")


def test_images_of_twice_the_size(scene, cameras):
    large = [cv2.resize(image, (640, 480)) for image in (scene.reference, scene.match)]
    with pytest.warns(
        DataWarning,
        match="column 160 and row 120, lies far from the middle of the image of 640x480 pixels",
    ):
        rectified(Scene.from_images(*large), cameras)


def test_the_command(raw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_image("l.png", raw.reference)
    write_image("r.png", raw.match)
    written(tmp_path / "i.yml", **INTRINSICS)
    written(tmp_path / "e.yml", **EXTRINSICS)
    both = ["--rectify", "i.yml", "--rectify", "e.yml"]
    run = invoke(
        "match", "l.png", "r.png", "--method", "ssd", *both, "--disparities", "0:40", "-o", "out"
    )
    assert run.exit_code == 0, run.output
    assert "vertical offset of matched points is 0.0" in run.stdout
    assert "not rectified" not in run.stderr
    assert {
        "left_rectified.png",
        "right_rectified.png",
        "rectified.yml",
        "depth.tiff",
        "points.ply",
    } <= {path.name for path in (tmp_path / "out").iterdir()}
    # No estimate where there is no image, and what was written gives the same again.
    disparity, image = (
        read_pfm("out/disparity.pfm"),
        read_image("out/left_rectified.png", masked=True),
    )
    assert not np.isfinite(disparity[image.mask.reshape(*disparity.shape, -1)[..., 0]]).any()
    files = [
        "out/left_rectified.png",
        "out/right_rectified.png",
        "--calibration",
        "out/rectified.yml",
    ]
    run = invoke(
        "match", *files, "--method", "ssd", "--disparities", "0:40", "-o", "again", "--json"
    )
    assert json.loads(run.stdout)[0]["error"] is None
    np.testing.assert_array_equal(read_pfm("again/disparity.pfm"), disparity)
    assert read_image("again/depth.tiff").shape == disparity.shape
    assert read_any_calibration("out/rectified.yml")[0].baseline == pytest.approx(BASELINE)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"M1": None, "K1": CAMERA, "D1": None, "distCoeffs1": LENS}, None),
        (
            {"T": None},
            "c.yml: there is no T; expected a stereo calibration; if the matrices are in two files, like those of OpenCV's stereo_calib, name both",
        ),
        (
            {"M2": None, "D2": None},
            "c.yml: there is no M2, K2 or cameraMatrix2, no D2 or distCoeffs2; expected",
        ),
        ({"M1": np.eye(4)}, "c.yml: M1 has 16 numbers; expected 9"),
        ({"D2": np.zeros(6)}, "c.yml: D2 has 6 numbers; expected 4, 5, 8, 12 or 14"),
        ({"R": 2 * np.eye(3)}, "c.yml: R is not a rotation"),
        ({"R": np.diag([1, 1, -1])}, "c.yml: R is not a rotation"),
        ({"T": [[-1e-300], [0], [0]]}, "left: OpenCV cannot rectify a pair with this calibration"),
        ({"T": [[BASELINE], [0], [0]]}, "the right camera stands left of the left one; exchange"),
        ({"T": [[0], [-BASELINE], [0]]}, "the cameras stand one above the other; turn both images"),
        (
            {"M2": CAMERA * [[3], [3], [1]]},
            "right: the calibration's principal point, column 480 and row 360, lies outside the image of 320x240",
        ),
    ],
)
def test_calibrations_that_are_none(raw, tmp_path, changed, said):
    values = {
        name: value
        for name, value in (INTRINSICS | EXTRINSICS | changed).items()
        if value is not None
    }
    path = written(tmp_path / "c.yml", **values)
    if said is None:
        assert rectified(
            raw, read_stereo_calibration([path])
        ).calibration.baseline == pytest.approx(BASELINE)
        return
    with pytest.raises(DataError, match=said):
        rectified(raw, read_stereo_calibration([path]))
