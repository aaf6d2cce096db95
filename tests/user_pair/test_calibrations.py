"""Calibrations of a pair: which images they were made with."""

import json
import math
import shutil
import warnings

import cv2
import numpy as np
import pytest

from stereo_framework import SearchRange, load_scene, match
from stereo_framework.core.errors import DataError, DataWarning, ParameterError
from stereo_framework.core.frames import size_ratio
from stereo_framework.core.scene import Calibration
from stereo_framework.datasets.scene_file import _range_beside
from stereo_framework.io import (
    read_any_calibration,
    read_stereo_calibration,
    write_image,
    write_opencv_calibration,
)

ROWS, COLUMNS = 120, 160
SHIFT = 10


@pytest.fixture(scope="module")
def images():
    noise = np.random.default_rng(1).integers(0, 256, (ROWS, COLUMNS + SHIFT)).astype(np.float32)
    wide = np.clip((cv2.GaussianBlur(noise, (0, 0), 1.2) - 128) * 3 + 128, 0, 255).astype(np.uint8)
    return wide[:, :COLUMNS], wide[:, SHIFT:]


@pytest.fixture
def pair(tmp_path, images):
    for name, image in zip("lr", images, strict=True):
        write_image(tmp_path / f"{name}.png", image)
    return tmp_path / "l.png", tmp_path / "r.png"


def middlebury(focal, size, ndisp=64):
    camera = f"[{focal} 0 {size[0] / 2}; 0 {focal} {size[1] / 2}; 0 0 1]"
    return f"cam0={camera}\ncam1={camera}\ndoffs=0\nbaseline=100\nwidth={size[0]}\nheight={size[1]}\nndisp={ndisp}\n"


def kitti_2015(focal, size):
    rows = [
        f"P_rect_0{i}: {focal} 0 {size[0] / 2} {-(i % 2) * focal * 100} 0 {focal} {size[1] / 2} 0 0 0 1 0"
        for i in range(4)
    ]
    return "\n".join([*rows, *(f"S_rect_0{i}: {size[0]:.6e} {size[1]:.6e}" for i in range(4))])


def opencv(focal, size, *, keys):
    c = [size[0] / 2, size[1] / 2]
    left = {"rows": 3, "cols": 4, "data": [focal, 0, c[0], 0, 0, focal, c[1], 0, 0, 0, 1, 0]}
    right = {
        "rows": 3,
        "cols": 4,
        "data": [focal, 0, c[0], -focal * 100, 0, focal, c[1], 0, 0, 0, 1, 0],
    }
    values = {
        "width and height": {"image_width": size[0], "image_height": size[1]},
        "capital letters": {"imageWidth": float(size[0]), "imageHeight": float(size[1])},
        "list": {"image_size": list(size)},
        "matrix": {"imageSize": {"rows": 1, "cols": 2, "data": list(size)}},
        "mapping": {"image_size": {"width": size[0], "height": size[1]}},
    }
    return json.dumps({"P1": left, "P2": right, **values[keys]})


KINDS = ["middlebury", "kitti", "width and height", "capital letters", "list", "matrix", "mapping"]


def written(path, kind, focal, size):
    made = {"middlebury": middlebury, "kitti": kitti_2015}
    path.write_text(made[kind](focal, size) if kind in made else opencv(focal, size, keys=kind))
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.5, 1, 2, 4])
def test_a_calibration_of_resized_images_is_scaled_with_a_warning(tmp_path, pair, kind, factor):
    size = int(factor * COLUMNS), int(factor * ROWS)
    path = written(tmp_path / "c", kind, 400 * factor, size)
    found = match(*pair, (0, 20), method="ssd", calibration=path)
    assert np.nanmedian(found.depth()) == pytest.approx(400 * 100 / SHIFT)
    assert found.scene.calibration.center == pytest.approx((COLUMNS / 2, ROWS / 2))
    remarks = [text for text in found.warnings if "pixels, and" in text]
    assert len(remarks) == (factor != 1)
    for text in remarks:
        assert f"is for images of {size[0]}x{size[1]} pixels" in text
        assert f"l.png has {COLUMNS}x{ROWS}" in text
        assert f"its pixels and its ndisp were multiplied by {1 / factor:g};" in text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(COLUMNS, ROWS + 40), (ROWS, COLUMNS), (2 * COLUMNS, ROWS)])
def test_a_calibration_of_images_of_another_shape_is_refused(tmp_path, pair, kind, size):
    path = written(tmp_path / "c", kind, 400, size)
    message = rf"c: is for images of {size[0]}x{size[1]} pixels, and .*l\.png has {COLUMNS}x{ROWS}; .*; give a calibration of these"
    with pytest.raises(DataError, match=message):
        match(*pair, (0, 20), method="ssd", calibration=path)


@pytest.mark.parametrize(
    ("size", "factor", "remark"),
    [
        (None, 1, ""),
        ((COLUMNS, ROWS), 1, ""),
        ((2 * COLUMNS, 2 * ROWS), 0.5, "so its pixels were multiplied by 0.5"),
        ((2 * COLUMNS, ROWS), 1, "right only if the images were cropped"),
    ],
)
def test_the_size_of_a_calibration_of_python_is_compared_too(images, size, factor, remark):
    calibration = Calibration(400, 100, 0, (60, 50), size)
    found = match(*images, (0, 20), method="ssd", calibration=calibration)
    assert found.scene.calibration.focal_length == 400 * factor
    remarks = [text for text in found.warnings if "the calibration: is for images" in text]
    assert len(remarks) == bool(remark)
    assert all(remark in text for text in remarks)


def test_the_range_of_a_calibration_is_scaled(tmp_path, pair):
    (tmp_path / "c.txt").write_text(middlebury(800, (2 * COLUMNS, 2 * ROWS), ndisp=48))
    assert match(*pair, method="ssd", calibration=tmp_path / "c.txt").search.maximum == 24
    (tmp_path / "c.txt").rename(tmp_path / "calib.txt")
    with pytest.warns(
        DataWarning,
        match=r"320x240 pixels, and l.png has 160x120, so its range of disparities, 0 to 47, was .* 0 to 24",
    ):
        assert match(*pair, method="ssd").search.maximum == 24
    (tmp_path / "calib.txt").write_text(middlebury(800, (2 * COLUMNS, ROWS), ndisp=48))
    with pytest.warns(DataWarning, match="no resizing explains that, so its ndisp is not used"):
        assert match(*pair, method="ssd").origin.startswith("estimated")


def test_a_principal_point_far_from_the_middle_gives_a_warning(tmp_path, pair):
    calibration = Calibration(800, 100, 0, (COLUMNS, ROWS))
    write_opencv_calibration(tmp_path / "q.yml", calibration, (ROWS, COLUMNS))
    text = (tmp_path / "q.yml").read_text()
    (tmp_path / "q.yml").write_text(
        "\n".join(line for line in text.split("\n") if "image_" not in line)
    )
    found = match(*pair, (0, 20), method="ssd", calibration=tmp_path / "q.yml")
    assert (
        "the principal point, column 160 and row 120, lies far from the middle" in found.warnings[0]
    )


def test_the_size_of_a_written_calibration_is_read_again(tmp_path):
    write_opencv_calibration(tmp_path / "q.yml", Calibration(400, 100), (ROWS, COLUMNS))
    assert read_any_calibration(tmp_path / "q.yml")[0].size == (COLUMNS, ROWS)


IMPOSSIBLE_SIZES = [(0, 5), (-3, 4), (3.5, 4), (math.inf, 4), ("a", "b"), (True, True)]


@pytest.mark.parametrize("size", IMPOSSIBLE_SIZES)
def test_an_impossible_size_is_refused(tmp_path, size):
    text = opencv(400, (COLUMNS, ROWS), keys="list").replace(
        f"[{COLUMNS}, {ROWS}]", json.dumps(list(size))
    )
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(
        DataError, match="as the size of its images; expected whole numbers of pixels"
    ):
        read_any_calibration(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("stated", "actual", "ratio"),
    [
        ((741, 497), (370, 248), 0.499),
        ((741, 497), (371, 249), 0.501),
        ((640, 480), (640, 480), 1),
        ((640, 480), (480, 640), None),
    ],
)
def test_ratios_allow_for_rounding_to_whole_pixels(stated, actual, ratio):
    assert size_ratio(stated, actual) == (
        ratio if ratio in (None, 1) else pytest.approx(ratio, abs=1e-3)
    )


def rig(tmp_path, **entries):
    camera = {"rows": 3, "cols": 3, "data": [400, 0, COLUMNS / 2, 0, 400, ROWS / 2, 0, 0, 1]}
    distortion = {"rows": 1, "cols": 4, "data": [0, 0, 0, 0]}
    straight = {"rows": 3, "cols": 3, "data": [1, 0, 0, 0, 1, 0, 0, 0, 1]}
    values = {
        "K1": camera,
        "D1": distortion,
        "K2": camera,
        "D2": distortion,
        "R": straight,
        "T": {"rows": 3, "cols": 1, "data": [-100, 0, 0]},
    }
    (tmp_path / "rig.json").write_text(json.dumps(entries | values))
    return tmp_path / "rig.json"


def test_rectifying_scales_a_calibration_of_resized_images(tmp_path, pair, images):
    path = rig(tmp_path, image_width=COLUMNS, image_height=ROWS)
    for name, image in zip("lr", images, strict=True):
        write_image(
            tmp_path / f"large_{name}.png",
            cv2.resize(image, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC),
        )
    with pytest.warns(
        DataWarning,
        match=r"is for images of 160x120 pixels, and .*large_l.png has 320x240, so it was multiplied by 2",
    ):
        found = match(
            tmp_path / "large_l.png", tmp_path / "large_r.png", (0, 40), method="ssd", rectify=path
        )
    assert found.scene.calibration.focal_length == pytest.approx(800)
    assert np.nanmedian(found.depth()) == pytest.approx(400 * 100 / SHIFT, rel=0.02)
    assert match(
        *pair, (0, 20), method="ssd", rectify=path
    ).scene.calibration.focal_length == pytest.approx(400)
    with pytest.raises(DataError, match="is for images of 160x100 pixels"):
        match(*pair, (0, 20), method="ssd", rectify=rig(tmp_path, image_size=[160, 100]))


def test_two_files_of_different_sizes_are_refused(tmp_path):
    first = rig(tmp_path, image_size=[160, 120]).rename(tmp_path / "first.json")
    second = rig(tmp_path, image_size=[320, 240])
    with pytest.raises(
        DataError, match=r"first.json is for 160x120 pixels and .*rig.json is for 320x240 pixels"
    ):
        read_stereo_calibration([first, second])


def test_two_files_with_different_matrices_of_one_name_are_refused(tmp_path):
    first = rig(tmp_path).rename(tmp_path / "first.json")
    second = rig(tmp_path)
    assert read_stereo_calibration([first, second]).left[0, 0] == 400
    second.write_text(second.read_text().replace("-100", "-90"))
    with pytest.raises(
        DataError,
        match="both files have T, with different numbers; give the files of one calibration",
    ):
        read_stereo_calibration([first, second])


@pytest.mark.parametrize(
    "entries",
    [
        {"camera_model": "fisheye"},
        {"distortion_model": "equidistant"},
        {"distortion_model": "kannala_brandt4"},
        {"camera_model1": "pinhole", "camera_model2": "omni"},
        {"distortion_model_left": "inverse_brown_conrady"},
        {"lens_model": "LENSMODEL_CAHVOR"},
        {"model": "opencv_fisheye"},
        {"fisheye_model": 1},
        {"fisheye": True},
        {"xi1": 1.2, "xi2": 1.3},
        {"distortion_models": ["radtan", "fov"]},
        {"cam0": {"camera_model": "pinhole", "distortion_model": "equi"}},
    ],
)
def test_a_calibration_of_another_lens_is_refused(tmp_path, entries):
    with pytest.raises(
        DataError,
        match=r"only calibrations of pinhole cameras are read here, .*; rectify the images with",
    ):
        read_stereo_calibration([rig(tmp_path, **entries)])


@pytest.mark.parametrize(
    "entries",
    [
        {"camera_model": "pinhole", "distortion_model": "plumb_bob"},
        {"distortion_model": "rational_polynomial"},
        {"distortion_model": "Brown-Conrady"},
        {"fisheye_model": 0},
        {"fisheye": False},
        {"model": "ZED 2"},
        {"calibration_time": "Mon"},
    ],
)
def test_calibrations_of_pinhole_cameras_are_read(tmp_path, entries):
    assert read_stereo_calibration([rig(tmp_path, **entries)]).left[0, 0] == 400


BASELINES = {0: 0, 1: -387.5744, 2: 45.3, 3: -339.1}
GREY, COLOUR = 387.5744, 45.3 + 339.1


def kitti(tmp_path, cameras=(0, 1, 2, 3), baselines=BASELINES):
    rows = [f"P{i}: 720 0 80 {baselines[i]} 0 720 60 0 0 0 1 0\n" for i in cameras]
    (tmp_path / "calib.txt").write_text("".join(rows))
    return tmp_path / "calib.txt"


def in_colour(image):
    return np.dstack([image, image, image // 2])


@pytest.mark.parametrize(
    ("folders", "colour", "cameras", "expected", "remarks"),
    [
        ((".", "."), False, None, GREY, 1),
        ((".", "."), "equal channels", None, GREY, 1),
        ((".", "."), True, None, COLOUR, 0),
        ((".", "."), False, (2, 3), COLOUR, 0),
        ((".", "."), True, (0, 1), GREY, 0),
        (("image_2", "image_3"), False, None, COLOUR, 0),
        (("image_02/data", "image_03/data"), False, None, COLOUR, 0),
        (("image_0", "image_1"), "equal channels", None, GREY, 0),
        (("colored_0", "colored_1"), False, None, COLOUR, 0),
    ],
)
def test_cameras_of_kitti(tmp_path, pair, images, folders, colour, cameras, expected, remarks):
    files = []
    for folder, path, image in zip(folders, pair, images, strict=True):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        files.append(tmp_path / folder / path.name)
        channels = {True: in_colour(image), False: image, "equal channels": np.dstack([image] * 3)}
        write_image(files[-1], channels[colour])
    found = match(*files, (0, 20), method="ssd", calibration=kitti(tmp_path), cameras=cameras)
    assert np.nanmedian(found.depth()) == pytest.approx(expected / SHIFT)
    guesses = [text for text in found.warnings if "cameras 0 and 1 are assumed" in text]
    assert len(guesses) == remarks
    assert all(
        "depths are 0.82 % smaller: choose them with --cameras 2,3" in text for text in guesses
    )


@pytest.mark.parametrize(
    ("cameras", "baselines", "expected"),
    [
        ((2, 3), BASELINES, COLOUR),
        ((0, 1), BASELINES, GREY),
        ((0, 1, 2, 3), {0: 0, 1: -360, 2: 30, 3: -330}, 360),
    ],
)
def test_cameras_that_need_no_guess_give_no_warning(tmp_path, pair, cameras, baselines, expected):
    found = match(*pair, (0, 20), method="ssd", calibration=kitti(tmp_path, cameras, baselines))
    assert np.nanmedian(found.depth()) == pytest.approx(expected / SHIFT)
    assert not any("cameras" in text for text in found.warnings)


def test_cameras_without_a_calibration_of_kitti_are_refused(tmp_path, pair):
    for calibration in (None, (400, 1), written(tmp_path / "c", "list", 400, (COLUMNS, ROWS))):
        with pytest.raises(
            ParameterError, match="only calibration files of KITTI hold several pairs of cameras"
        ):
            match(*pair, (0, 20), method="ssd", calibration=calibration, cameras=(2, 3))


def test_a_resized_scene_of_a_data_set_is_refused(tmp_path, data):
    folder = tmp_path / "middlebury-v3" / "trainingQ" / "Pipes"
    shutil.copytree(data / "middlebury-v3" / "trainingQ" / "Pipes", folder)
    (folder / "disp0GT.pfm").unlink()
    for name in ("im0.png", "im1.png"):
        image = cv2.imread(str(folder / name))
        cv2.imwrite(str(folder / name), cv2.resize(image, None, fx=0.5, fy=0.5))
    scene = load_scene("middlebury-v3/trainingQ/Pipes", data=tmp_path)
    with pytest.raises(
        DataError,
        match=r"im0.png: has \d+x\d+ pixels, and the calibration of its scene is for \d+x\d+; a data set needs",
    ):
        _ = scene.reference


@pytest.mark.parametrize(
    ("size", "ndisp", "expected"),
    [
        # A tenth of 70 is 7, and a tenth of 71 is rounded to 8.
        ((100, 50), 71, 7),
        ((100, 50), 72, 8),
        ((500, 250), 72, 36),
        ((500, 250), 71, 35),
        ((100, 50), 2, 1),
        ((1000, 500), 71, 70),
    ],
)
def test_the_range_of_resized_images_is_rounded_up(tmp_path, size, ndisp, expected):
    columns, rows = size
    write_image(tmp_path / "l.png", np.zeros((rows, columns), np.uint8))
    (tmp_path / "calib.txt").write_text(
        "cam0=[900 0 500; 0 900 250; 0 0 1]\ncam1=[900 0 500; 0 900 250; 0 0 1]\n"
        f"doffs=0\nbaseline=100\nwidth=1000\nheight=500\nndisp={ndisp}\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert _range_beside(tmp_path / "l.png") == SearchRange(0, expected)
