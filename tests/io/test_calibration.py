"""calib.txt files, by hand and real."""

import re

import pytest

from stereo_framework.errors import DataError
from stereo_framework.io import CalibrationFile, read_calibration
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
        ("ndisp=70", "ndisp=70.5", "ndisp: 70.5 is not a whole number"),
        ("baseline=193.001", "baseline=nan", "baseline: 'nan' is not a number"),
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
