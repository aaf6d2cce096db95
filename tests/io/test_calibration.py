"""calib.txt files, by hand and real."""

import cv2
import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration
from stereo_framework.io import read_any_calibration, read_calibration, read_kitti_calibration

TEXT = (
    "cam0=[994.978 0 311.193; 0 994.978 254.877; 0 0 1]\ncam1=[994.978 0 342.279; 0 994.978 254.877; 0 0 1]\n"
    "doffs=31.086\nbaseline=193.001\nwidth=741\nheight=497\nndisp=70\nisint=0\nvmin=7\nvmax=61\ndyavg=0\ndymax=0\n"
)
EXPECTED = (Calibration(994.978, 193.001, 31.086, (311.193, 254.877)), 70, False)


@pytest.mark.parametrize(
    "change",
    [str, lambda t: t.replace("=", " =\t").replace("\n", " \r\n "), lambda t: t.replace("\n", " ")],
)
def test_spacing_is_free(tmp_path, change):
    (tmp_path / "calib.txt").write_text(change(TEXT))
    assert read_calibration(tmp_path / "calib.txt") == EXPECTED


def test_real_files(data):
    folders = sorted((data / "middlebury-v3" / "trainingQ").iterdir())
    read = [read_calibration(folder / "calib.txt") for folder in folders]
    assert len(read) == 10
    assert not any(isint for _, _, isint in read)
    assert read[0][0] == Calibration(1038.018, 176.252, 53.271, (322.037, 243.393))


KITTI = """P0: 7.070912e+02 0 6.018873e+02 0 0 7.070912e+02 1.831104e+02 0 0 0 1 0
P1: 7.070912e+02 0 6.018873e+02 -3.798145e+02 0 7.070912e+02 1.831104e+02 0 0 0 1 0
P_rect_02: 7.215377e+02 0 6.095593e+02 4.485728e+01 0 7.215377e+02 1.728540e+02 2.163791e-01 0 0 1 2.745884e-03
P_rect_03: 7.215377e+02 0 6.100593e+02 -3.395242e+02 0 7.215377e+02 1.728540e+02 2.199936e+00 0 0 1 2.729905e-03
calib_time: 09-Jan-2012 13:57:47
"""


def test_kitti(tmp_path):
    (tmp_path / "000000.txt").write_text(KITTI)
    grey = read_kitti_calibration(tmp_path / "000000.txt", 0, 1)
    assert (grey.focal_length, grey.doffs) == (707.0912, 0)
    assert grey.baseline == pytest.approx(379.8145 / 707.0912)
    colour = read_kitti_calibration(tmp_path / "000000.txt", 2, 3)
    assert colour.baseline == pytest.approx((44.85728 + 339.5242) / 721.5377)
    assert colour.doffs == pytest.approx(0.5)


@pytest.fixture
def rectified():
    """What cv2.stereoRectify makes of two turned cameras 120 mm apart; principal points may differ."""
    camera = np.array([[700, 0, 330], [0, 710, 250], [0, 0, 1.0]])
    other = np.array([[720, 0, 300], [0, 715, 240], [0, 0, 1.0]])
    turned, _ = cv2.Rodrigues(np.array([0.01, 0.06, -0.02]))
    return cv2.stereoRectify(
        camera,
        np.zeros(5),
        other,
        np.zeros(5),
        (640, 480),
        turned,
        np.array([[-120.0], [2], [1]]),
        flags=0,
        alpha=0,
    )[2:5]


def project(matrix, point):
    x, y, w = matrix @ [*point, 1]
    return x / w, y / w


@pytest.mark.parametrize("kind", ["P1 and P2", "Q", "Q as npy", "Q in json"])
def test_opencv_depth_is_the_points_own(tmp_path, rectified, kind):
    left, right, q = rectified
    path = tmp_path / f"stereo.{kind.split()[-1] if kind[-1] != 'Q' and kind[0] == 'Q' else 'yml'}"
    if kind == "Q as npy":
        np.save(path, q)
    else:
        storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
        for name, matrix in (
            {"P1": left, "P2": right}.items() if kind == "P1 and P2" else [("Q", q)]
        ):
            storage.write(name, matrix)
        storage.release()
    calibration, ndisp = read_any_calibration(path)
    assert ndisp is None
    point = np.array([150.0, -80, 1900])
    (x, y), (x_match, y_match) = project(left, point), project(right, point)
    assert y_match == pytest.approx(y, abs=1e-9)
    # As scene.Calibration says: depth = baseline * focal_length / (disparity + doffs). FileStorage keeps 16 digits, arrays are read as float32.
    exact = 1e-6 if kind == "Q as npy" else 1e-9
    depth = calibration.baseline * calibration.focal_length / (x - x_match + calibration.doffs)
    assert depth == pytest.approx(1900, rel=exact)
    assert (x - calibration.center[0]) * depth / calibration.focal_length == pytest.approx(
        150, rel=exact
    )
    assert (y - calibration.center[1]) * depth / calibration.focal_length == pytest.approx(
        -80, rel=exact
    )


def test_the_kind_is_told_by_the_content(tmp_path):
    path = tmp_path / "any"
    path.write_text(TEXT)
    assert read_any_calibration(path) == EXPECTED[:2]
    path.write_text(
        "\n".join(f"P{n}: 700 0 300 {-700 * n / 2} 0 700 200 0 0 0 1 0" for n in range(4))
    )
    grey, colour = read_any_calibration(path, colour=False), read_any_calibration(path)
    assert grey == colour == (Calibration(700, 0.5, 0, (300, 200)), None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing known", "is not a calibration file of a known kind; allowed: Middlebury's"),
        (
            "%YAML:1.0\n---\nK: [1, 2",
            "may be damaged or not a file of OpenCV's FileStorage|holds neither Q",
        ),
        ("%YAML:1.0\n---\nK: 3\n", "holds neither Q .* nor P1 and P2"),
    ],
)
def test_unknown_calibrations(tmp_path, text, message):
    (tmp_path / "c.yml").write_text(text)
    with pytest.raises(DataError, match=message):
        read_any_calibration(tmp_path / "c.yml")
