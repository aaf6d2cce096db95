"""Calibration files of Middlebury, ETH3D, KITTI and OpenCV are read and written."""

import cv2
import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration
from stereo_framework.io import read_any_calibration, read_calibration, read_kitti_calibration

MIDDLEBURY = """cam0=[994.978 0 311.193; 0 994.978 254.877; 0 0 1]
cam1=[994.978 0 342.279; 0 994.978 254.877; 0 0 1]
doffs=31.086
baseline=193.001
width=741
height=497
ndisp=70
isint=0
vmin=7
vmax=61
dyavg=0
dymax=0
"""
EXPECTED = (Calibration(994.978, 193.001, 31.086, (311.193, 254.877)), 70, False)


def unchanged(text):
    return text


def with_spaces(text):
    return text.replace("=", " =\t").replace("\n", " \r\n ")


def on_one_line(text):
    return text.replace("\n", " ")


@pytest.mark.parametrize("change", [unchanged, with_spaces, on_one_line])
def test_spaces_and_line_breaks_of_a_calib_txt_may_differ(tmp_path, change):
    (tmp_path / "calib.txt").write_text(change(MIDDLEBURY))
    assert read_calibration(tmp_path / "calib.txt") == EXPECTED


def test_calibrations_of_middlebury_are_read(data):
    folders = sorted((data / "middlebury-v3" / "trainingQ").iterdir())
    calibrations = [read_calibration(folder / "calib.txt") for folder in folders]
    assert len(calibrations) == 10
    assert not any(is_integer for _, _, is_integer in calibrations)
    assert calibrations[0][0] == Calibration(1038.018, 176.252, 53.271, (322.037, 243.393))


KITTI = "\n".join(
    [
        "P0: 7.070912e+02 0 6.018873e+02 0 0 7.070912e+02 1.831104e+02 0 0 0 1 0",
        "P1: 7.070912e+02 0 6.018873e+02 -3.798145e+02 0 7.070912e+02 1.831104e+02 0 0 0 1 0",
        "P_rect_02: 7.215377e+02 0 6.095593e+02 4.485728e+01 "
        "0 7.215377e+02 1.728540e+02 2.163791e-01 0 0 1 2.745884e-03",
        "P_rect_03: 7.215377e+02 0 6.100593e+02 -3.395242e+02 "
        "0 7.215377e+02 1.728540e+02 2.199936e+00 0 0 1 2.729905e-03",
        "calib_time: 09-Jan-2012 13:57:47",
        "",
    ]
)


def test_the_baseline_of_kitti_is_the_difference_of_two_cameras(tmp_path):
    (tmp_path / "000000.txt").write_text(KITTI)
    grey = read_kitti_calibration(tmp_path / "000000.txt", 0, 1)
    assert (grey.focal_length, grey.doffs) == (707.0912, 0)
    assert grey.baseline == pytest.approx(379.8145 / 707.0912)
    colour = read_kitti_calibration(tmp_path / "000000.txt", 2, 3)
    assert colour.baseline == pytest.approx((44.85728 + 339.5242) / 721.5377)
    assert colour.doffs == pytest.approx(0.5)


@pytest.fixture
def rectified():
    """Return the matrices P1, P2 and Q of a camera pair with a baseline of 120 mm.

    One camera is rotated relative to the other camera. After rectification, the two
    images have different principal points.
    """
    left_camera = np.array([[700, 0, 330], [0, 710, 250], [0, 0, 1.0]])
    right_camera = np.array([[720, 0, 300], [0, 715, 240], [0, 0, 1.0]])
    rotation, _ = cv2.Rodrigues(np.array([0.01, 0.06, -0.02]))
    results = cv2.stereoRectify(
        left_camera,
        np.zeros(5),
        right_camera,
        np.zeros(5),
        (640, 480),
        rotation,
        np.array([-120.0, 2, 1])[:, None],
        flags=0,
        alpha=0,
    )
    return results[2:5]


def project(matrix, point):
    x, y, w = matrix @ [*point, 1]
    return x / w, y / w


def write_storage(path, **matrices):
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    for name, matrix in matrices.items():
        storage.write(name, matrix)
    storage.release()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("stereo.yml", "projections"),
        ("stereo.yml", "Q"),
        ("stereo.npy", "Q"),
        ("stereo.json", "Q"),
    ],
)
def test_depth_from_an_opencv_calibration_is_the_depth_of_the_point(
    tmp_path, rectified, name, content
):
    left, right, q = rectified
    path = tmp_path / name
    if name == "stereo.npy":
        np.save(path, q)
    elif content == "Q":
        write_storage(path, Q=q)
    else:
        write_storage(path, P1=left, P2=right)
    calibration, ndisp = read_any_calibration(path)
    assert ndisp is None
    point = np.array([150.0, -80, 1900])
    x, y = project(left, point)
    x_match, y_match = project(right, point)
    assert y_match == pytest.approx(y, abs=1e-9)
    # FileStorage writes 16 digits, but the matrix of a .npy file is read as float32.
    tolerance = 1e-6 if name == "stereo.npy" else 1e-9
    focal_length = calibration.focal_length
    # This is the equation in the docstring of Calibration.
    depth = calibration.baseline * focal_length / (x - x_match + calibration.doffs)
    assert depth == pytest.approx(1900, rel=tolerance)
    center_x, center_y = calibration.center
    assert (x - center_x) * depth / focal_length == pytest.approx(150, rel=tolerance)
    assert (y - center_y) * depth / focal_length == pytest.approx(-80, rel=tolerance)


def test_the_content_of_a_file_determines_its_format(tmp_path):
    path = tmp_path / "any"
    path.write_text(MIDDLEBURY)
    assert read_any_calibration(path) == EXPECTED[:2]
    lines = [f"P{n}: 700 0 300 {-700 * n / 2} 0 700 200 0 0 0 1 0" for n in range(4)]
    path.write_text("\n".join(lines))
    grey = read_any_calibration(path, colour=False)
    assert grey == (Calibration(700, 0.5, 0, (300, 200)), None)
    assert read_any_calibration(path) == grey


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nothing known",
            "the calibration format is unknown; the supported formats are Middlebury calib.txt",
        ),
        (
            "%YAML:1.0\n---\nK: [1, 2",
            "may be damaged or not a file of OpenCV's FileStorage|contains neither Q",
        ),
        ("%YAML:1.0\n---\nK: 3\n", "contains neither Q .* nor P1 and P2"),
    ],
)
def test_calibrations_of_unknown_formats_are_refused(tmp_path, text, message):
    (tmp_path / "c.yml").write_text(text)
    with pytest.raises(DataError, match=message):
        read_any_calibration(tmp_path / "c.yml")
