"""Numbers in files and options have plain ASCII digits in every reader."""

import math
import os

import numpy as np
import pytest
import tifffile
from cli_parts import invoke

from stereo_framework.core.errors import DataError, ParameterError, ScriptError
from stereo_framework.core.limits import max_pixels
from stereo_framework.datasets import load_scene
from stereo_framework.io import (
    read_any_calibration,
    read_calibration,
    read_image,
    read_kitti_calibration,
    read_pfm,
)
from stereo_framework.io.calibration import read_opencv_calibration
from stereo_framework.io.numbers import parse_number, parse_whole_number
from stereo_framework.script import load
from stereo_framework.script.legacy import convert
from stereo_framework.tables.formats import read_csv

NOT_NUMBERS = [
    "6_0",
    "1__0",
    "６０",
    "٦٠",
    "6\N{NO-BREAK SPACE}",
    "0x3c",
    "1e",
    "e1",
    "",
    ".",
    "+",
    "--1",
    "1.2.3",
    "6 0",
    "true",
    "6\n",
]
"""Texts that are not numbers. Python's `float` or `int` converts some of them."""

CALIB = {
    "cam0": "[994.978 0 311.193; 0 994.978 254.877; 0 0 1]",
    "cam1": "[994.978 0 342.279; 0 994.978 254.877; 0 0 1]",
    "doffs": "31.086",
    "baseline": "193.001",
    "width": "640",
    "ndisp": "60",
    "isint": "0",
}


def calibration_file(path, **changes):
    """Write the calibration `CALIB` with some entries changed or added."""
    lines = [f"{key}={value}" for key, value in (CALIB | changes).items()]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_texts_without_plain_digits_are_not_numbers(text):
    with pytest.raises(ValueError, match="is not a"):
        parse_number(text)
    with pytest.raises(ValueError, match="is not a"):
        parse_whole_number(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [("60", 60), ("-1.5", -1.5), (".5", 0.5), ("5.", 5), ("+1e-3", 0.001), ("1E2", 100)],
)
def test_numbers_in_plain_digits(text, number):
    assert parse_number(text) == number


def test_numbers_that_are_not_finite_are_read_only_where_a_file_may_hold_them():
    assert math.isnan(parse_number("NaN", finite=False))
    assert parse_number("-inf", finite=False) == -math.inf
    for text in ("nan", "inf", "infinity", "-inf", "1e400"):
        with pytest.raises(ValueError, match="is not a number|is too large"):
            parse_number(text)
    with pytest.raises(ValueError, match="is not a number"):
        parse_number("infinity", finite=False)


# --- calibration files ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("ndisp", "6_0", "ndisp: '6_0' is not a number"),
        ("ndisp", "60 70", "ndisp has the value 60 and then the text '70'; expected one value"),
        ("ndisp", "60, 70", "ndisp has the value 60, and then the text '70'"),
        ("ndisp", "60.5", "ndisp: 60.5 is not a whole number"),
        ("ndisp", "1e400", "ndisp: '1e400' is not a number"),
        ("baseline", "1_93.001", "baseline: '1_93.001' is not a number"),
        ("baseline", "193.001 mm", "baseline has the value 193.001 and then the text 'mm'"),
        ("baseline", "infinity", "baseline: 'infinity' is not a number"),
        ("doffs", "nan", "doffs: 'nan' is not a number"),
        ("doffs", "0x1f", "doffs: '0x1f' is not a number"),
        ("isint", "1_0", "isint: '1_0' is not a number"),
        (
            "cam0",
            "[99_4.978 0 311.193; 0 994.978 254.877; 0 0 1]",
            "cam0: '99_4.978' is not a number",
        ),
        ("cam0", f"{CALIB['cam0']} 5", "and then the text '5'"),
        ("width", "640\nndisp=70", "ndisp occurs twice, with the values 70 and 60"),
    ],
)
def test_middlebury_calibrations_hold_one_plain_number_a_key(tmp_path, key, value, fault):
    path = calibration_file(tmp_path / "calib.txt", **{key: value})
    with pytest.raises(DataError) as caught:
        read_calibration(path)
    assert fault in str(caught.value)


def test_full_width_digits_in_a_calibration_are_not_numbers(tmp_path):
    with pytest.raises(DataError, match="ndisp: .* is not a number"):
        read_calibration(calibration_file(tmp_path / "calib.txt", ndisp="６０"))


def test_entries_of_one_line_and_comments_are_read(tmp_path):
    path = tmp_path / "calib.txt"
    lines = [f"{key} = {value}" for key, value in CALIB.items()]
    path.write_bytes("\r\n".join([*lines, "# a comment", ""]).encode())
    assert read_calibration(path)[1] == 60
    path.write_text(" ".join(f"{key}={value}" for key, value in CALIB.items()))
    assert read_calibration(path)[1] == 60


def test_kitti_calibrations_hold_plain_numbers(tmp_path):
    path = tmp_path / "000000.txt"
    matrix = ["7.2e2", "0", "6.1e2", "0", "0", "7.2e2", "1.7e2", "0", "0", "0", "1", "0"]
    path.write_text(f"P2: {' '.join(matrix)}\nP3: {' '.join(matrix).replace('7.2e2', '7_2e1')}\n")
    with pytest.raises(DataError, match="P3: '7_2e1' is not a number"):
        read_kitti_calibration(path, 2, 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("data", '"1_0"'),
        ("data", "1_0"),
        ("data", "true"),
        ("data", "１"),
        ("rows", '"4"'),
        ("rows", "4.5"),
        ("cols", "true"),
    ],
)
def test_opencv_matrices_hold_plain_numbers(tmp_path, field, value):
    path = tmp_path / "q.yml"
    numbers = ["1", "0", "0", "-8", "0", "1", "0", "-8", "0", "0", "0", "100", "0", "0", "0.1", "0"]
    fields = {"rows": "4", "cols": "4", "dt": "d", "data": f"[{', '.join(numbers)}]"}
    text = "%YAML:1.0\n---\nQ: !!opencv-matrix\n"
    path.write_text(
        text + "".join(f"   {key}: {fields[key]}\n" for key in fields), encoding="utf-8"
    )
    assert read_opencv_calibration(path).focal_length == 100
    fields[field] = f"[{', '.join([value, *numbers[1:]])}]" if field == "data" else value
    path.write_text(
        text + "".join(f"   {key}: {fields[key]}\n" for key in fields), encoding="utf-8"
    )
    with pytest.raises(
        DataError, match="contains neither Q|may be damaged or not a file of OpenCV's FileStorage"
    ):
        read_any_calibration(path)


# --- other files ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [b"Pf\n1_0 1\n-1.0\n", b"Pf\n1 1\n-1_0\n", b"Pf\n1 1\n0x1\n", "Pf\n１ 1\n-1.0\n".encode()],
)
def test_headers_of_pfm_files_are_plain_digits(tmp_path, header):
    (tmp_path / "a.pfm").write_bytes(header + bytes(40))
    with pytest.raises(DataError, match=r"a\.pfm: the file is not a PFM file"):
        read_pfm(tmp_path / "a.pfm")


@pytest.mark.parametrize("header", [b"P5 1_0 1 255\n", b"P5 1 1 2_55\n", "P5 １ 1 255\n".encode()])
def test_headers_of_pgm_files_are_plain_digits(tmp_path, header):
    (tmp_path / "a.pgm").write_bytes(header + bytes(40))
    with pytest.raises(
        DataError, match=r"a\.pgm: the file starts with 'P5' but has no valid header"
    ):
        read_image(tmp_path / "a.pgm")


@pytest.mark.parametrize(
    "value", ["!!int 6_0", "!!int '６０'", "!!float 6_0", "!!float 0x10", "!!float infinity"]
)
def test_yaml_tags_read_plain_digits(tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(
        f"include: window\nsearch: {{maximum: {value}}}\n", encoding="utf-8"
    )
    with pytest.raises(ScriptError, match="cannot be read as a"):
        load("s.yaml")
    (tmp_path / "scene.yaml").write_text(
        f"frames: [a.png, b.png]\nsearch: {{minimum: 0, maximum: {value}}}\n", encoding="utf-8"
    )
    with pytest.raises((DataError, ScriptError), match="cannot be read as a"):
        load_scene("./scene.yaml")


@pytest.mark.parametrize("value", ["6_0", "６０", "0x3c", "infinity"])
def test_scripts_and_scenes_refuse_such_texts_as_numbers(tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScriptError, match="is not a"):
        load({"include": "window"}, overrides=[f"search.maximum={value}"])
    (tmp_path / "scene.yaml").write_text(
        f"frames: [a.png, b.png]\nsearch: {{minimum: 0, maximum: {value}}}\n", encoding="utf-8"
    )
    with pytest.raises((DataError, ScriptError), match="input should be a valid number"):
        load_scene("./scene.yaml")


@pytest.mark.parametrize("value", ["6_0", "６", "infinity", "1e400", "0x1_0"])
def test_scripts_of_2002_hold_plain_numbers(tmp_path, value):
    path = tmp_path / "old.txt"
    path.write_text(f"disp_max {value}\ndepth_map a.pgm\n", encoding="utf-8")
    reports = []
    convert(path, reports.append)
    assert any("not a number; skipped" in line for line in reports)


@pytest.mark.parametrize("value", ["6_0", "６", "0x10", "infinity"])
def test_scores_in_a_csv_file_are_plain_numbers(tmp_path, value):
    path = tmp_path / "scores.csv"
    path.write_text(f"method,s:m\na,{value}\nb,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="is not a number"):
        read_csv(path)


def test_the_value_for_no_data_of_a_tiff_is_a_plain_number(tmp_path):
    image = np.full((4, 5), 60, np.uint8)
    for text, masked in (("60", True), ("6_0", False)):
        path = tmp_path / f"{masked}.tif"
        tifffile.imwrite(
            path, image, photometric="minisblack", extratags=[(42113, "s", 0, text, True)]
        )
        assert np.ma.is_masked(read_image(path, masked=True)) is masked


# --- options, variables and names -----------------------------------------------------


@pytest.mark.parametrize("value", ["1_0", "１"])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("run", "ssd"), "--workers"),
        (("compare", "a", "b"), "--threshold"),
        (("match", "a", "b"), "--truth-scale"),
        (("scenes",), "--max-pixels"),
    ],
)
def test_options_are_plain_numbers(command, option, value):
    for words in ([option, value], [f"{option}={value}"]):
        result = invoke(*command, *words)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert f"{option}: {value!r} is not a number in plain digits" in result.stderr


@pytest.mark.parametrize("value", ["1_0", "１０"])
def test_the_limit_of_pixels_is_a_plain_number(monkeypatch, value):
    monkeypatch.setitem(os.environ, "STEREO_MAX_PIXELS", value)
    with pytest.raises(ParameterError, match="is not a whole number above 0"):
        max_pixels()


@pytest.mark.parametrize("index", ["１", "9" * 5000])
def test_indices_in_addresses_are_plain_numbers(index):
    script = {"include": "window", "aggregation": [{"use": "box"}, {"use": "box"}]}
    with pytest.raises(ScriptError, match="has no stage|allowed stages there: box, box"):
        load(script, overrides=[f"aggregation.{index}.size=3"])


def test_sizes_in_names_of_scenes_are_plain_digits():
    with pytest.raises(DataError, match="unknown scene"):
        load_scene("synthetic/large-６0x60x16")
