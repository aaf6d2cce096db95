"""calib.txt files, by hand and real."""

import re

import pytest

from stereo_framework.errors import DataError
from stereo_framework.io import CalibrationFile, read_calibration, read_kitti_calibration
from stereo_framework.scene import Calibration

TEXT = """cam0=[994.978 0 311.193; 0 994.978 254.877; 0 0 1]
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
EXPECTED = CalibrationFile(Calibration(994.978, 193.001, 31.086), 741, 497, 70, False, 7, 61)


def read(tmp_path, text):
    (tmp_path / "calib.txt").write_text(text)
    return read_calibration(tmp_path / "calib.txt")


@pytest.mark.parametrize(
    "change", [str, lambda t: t.replace("=", " =\t").replace("\n", " \r\n "), lambda t: t.replace("\n", " ")]
)
def test_spacing_is_free(tmp_path, change):
    assert read(tmp_path, change(TEXT)) == EXPECTED


def test_optional_entries(tmp_path):
    short = re.sub(r"(isint|vmin|vmax|dyavg|dymax)=.*\n", "", TEXT)
    assert read(tmp_path, short) == CalibrationFile(EXPECTED.calibration, 741, 497, 70)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("doffs=31.086\n", "", r"calib\.txt: no entry doffs; expected Middlebury's calib\.txt"),
        ("741", "wide", r"calib\.txt: width: 'wide' is not a number"),
        ("ndisp=70", "ndisp=70.5", "ndisp: 70.5 is not a whole number below 2147483648"),
        ("baseline=193.001", "baseline=nan", "baseline: 'nan' is not a number"),
        ("baseline=193.001", "baseline=-193", "the baseline -193 is not a number above 0"),
        ("ndisp=70", "ndisp=1", "ndisp: 1 is not from 2 to 32767"),
        ("ndisp=70", "ndisp=1e9", "ndisp: 1000000000 is not from 2 to 32767"),
        ("width=741", "width=-741", "says -741x497 pixels; legal: sizes from 1"),
        ("cam0=[994.978 0 311.193; ", "cam0=[", "cam0 has 6 numbers; expected the 9 of"),
        ("cam0=[994.978 0", "cam0=[f 0", "cam0: 'f' is not a number"),
    ],
)
def test_bad_files(tmp_path, old, new, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, TEXT.replace(old, new))


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_calibration(tmp_path / "calib.txt")


def test_real_files(data):
    folders = sorted((data / "middlebury-v3" / "trainingQ").iterdir())
    assert len(folders) == 10
    for folder in folders:
        calibration = read_calibration(folder / "calib.txt")
        size = (folder / "im0.png").read_bytes()[16:24]
        assert (calibration.width, calibration.height) == (int.from_bytes(size[:4], "big"), int.from_bytes(size[4:], "big"))
        assert calibration.vmax < calibration.ndisp
    assert read_calibration(folders[0] / "calib.txt").calibration == Calibration(1038.018, 176.252, 53.271)


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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("P1", "P7", r"000000\.txt: no entry P1 or P_rect_01; expected KITTI's calibration of camera 1"),
        (" 0 0 0 1 0\nP1", "\nP1", "P0 has 7 numbers; expected the 12 of a 3x4 projection matrix"),
        ("6.018873e+02", "wide", "P0: 'wide' is not a number"),
        ("7.070912e+02", "0", "the focal length 0 is not a number above 0"),
        ("-3.798145e+02", "3.798145e+02", "the baseline -0.537151 is not a number above 0"),
    ],
)
def test_bad_kitti_files(tmp_path, old, new, message):
    (tmp_path / "000000.txt").write_text(KITTI.replace(old, new))
    with pytest.raises(DataError, match=message):
        read_kitti_calibration(tmp_path / "000000.txt", 0, 1)
