"""The commands and messages of docs/troubleshooting.md, and its pictures."""

import re

import cv2
import numpy as np
import pytest
import troubleshooting_pictures as pictures
from page_outputs import (
    NOT_RUN,
    check_outputs,
    expects_error,
    read_blocks,
    split_commands,
    terminal_output,
)
from PIL import Image

from stereo_framework import load_scene
from stereo_framework.io import read_disparity, write_disparity, write_image

pytestmark = pytest.mark.docs

NAME = "docs/troubleshooting.md"
TEXT = pictures.PAGE.read_text("utf-8")
LARGEST_PICTURE = 60_000
"""Maximum size of a picture, in bytes."""

MESSAGES = [block for block in read_blocks(NAME, TEXT) if block.hidden]
"""Outputs whose commands the page does not show."""

PREPARATIONS = ["results/ssd", "sgbm.npy"]
"""Files that commands of the page write for later messages."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a folder with the files that the commands of the messages read."""
    folder = tmp_path_factory.mktemp("parent") / "desk"
    folder.mkdir()
    scene = load_scene("synthetic/planes")
    for side, image in (("left", scene.reference), ("right", scene.match)):
        write_image(folder / f"{side}.png", image)
        Image.fromarray(image).save(folder / f"{side}.tif")
    write_image(folder / "truth.png", np.rint(4 * scene.truth).astype(np.uint8))
    write_image(folder / "mask.png", np.full(scene.truth.shape, 255, np.uint8))
    write_disparity(folder / "mine.pfm", scene.truth)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("STEREO_DATA", raising=False)
        _run_preparations()
    return folder


def _run_preparations():
    """Run the visible blocks of the page that write the files of later messages."""
    for block in read_blocks(NAME, TEXT):
        if block.hidden or block.has_marker(NOT_RUN):
            continue
        if block.language == "python":
            exec(block.text, {})
        elif any(f"{file} " in block.text for file in PREPARATIONS):
            _check_block(block)


def _check_block(block):
    """Run the commands of a block and compare their output with the page."""
    printed = ""
    for words in split_commands(block.text):
        output, status = terminal_output(*words[1:])
        assert (status != 0) == expects_error(block), output
        printed += output
    if block.outputs:
        check_outputs(NAME, block, printed)


def _section_blocks(name):
    """Return the blocks of the section of a picture, with their outputs."""
    return read_blocks(NAME, pictures.section_of(name))


@pytest.mark.parametrize("block", MESSAGES, ids=lambda block: block.text.split(" ", 1)[1][:60])
def test_a_shown_message_is_the_message_of_the_program(block, desk, monkeypatch):
    monkeypatch.chdir(desk)
    monkeypatch.delenv("STEREO_DATA", raising=False)
    _check_block(block)


def test_the_page_shows_twenty_messages_of_six_commands():
    commands = [split_commands(block.text)[0][1] for block in MESSAGES]
    assert len(commands) >= 20
    assert set(commands) >= {"match", "run", "check", "evaluate", "results", "reproduce"}


# The program prints the warning, and the tests turn other warnings into errors.
@pytest.mark.filterwarnings("always::stereo_framework.core.errors.DataWarning")
@pytest.mark.slow
@pytest.mark.parametrize("name", pictures.PAIRS)
def test_a_section_shows_the_output_and_the_agreement_of_its_commands(
    name, tmp_path, monkeypatch, data
):
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.chdir(folder)
    pictures.PAIRS[name]()
    for block in _section_blocks(name):
        if block.language == "python":
            exec(block.text, {})
        else:
            _check_block(block)

    section = " ".join(pictures.section_of(name).split())
    number = r"(\d+\.\d) %"
    pattern = f"agree at {number} of the pixels before the remedy, and at {number} after the remedy"
    [shown] = re.findall(pattern, section)
    computed = [f"{pictures.agreement(path):.1f}" for path in (pictures.WRONG, pictures.REMEDY)]
    assert list(shown) == computed


def test_the_agreement_is_the_percentage_of_pixels_that_both_maps_confirm(tmp_path):
    write_disparity(tmp_path / "disparity.pfm", np.float32([[3, 4, np.nan, 5]]))
    write_disparity(tmp_path / "confidence.pfm", np.float32([[0, -1, 0, -2]]))
    assert pictures.agreement(tmp_path) == 50


def test_a_picture_shows_an_image_and_two_disparity_maps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_image("left.png", np.full((6, 8), 100, np.uint8))
    for folder, disparity in ((pictures.WRONG, 3), (pictures.REMEDY, 7)):
        folder.mkdir(parents=True)
        write_disparity(folder / "disparity.pfm", np.full((6, 8), disparity, np.float32))
    figure = pictures.picture("exchanged")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:3] == ["left image", "wrong disparity map", "after the remedy"]
    maps = [axes.images[0].get_array() for axes in figure.axes[1:3]]
    assert [float(values.mean()) for values in maps] == [3, 7]


def test_pairs_are_written_without_the_page(tmp_path, data):
    pictures.write_pairs(tmp_path, ["exchanged", "repetitive_texture"])
    teddy = load_scene("teddy")
    left = np.asarray(Image.open(tmp_path / "exchanged" / "left.png"))
    np.testing.assert_array_equal(left, teddy.match)
    assert (tmp_path / "repetitive_texture" / "right.png").is_file()


def test_the_synthetic_pattern_repeats_and_has_the_stated_disparities(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    pictures.PAIRS["repetitive_texture"]()
    left, right = (np.asarray(Image.open(f"{s}.png"), np.float32) for s in ("left", "right"))
    noise = 3 * pictures.NOISE
    wall = np.s_[:100, 100:300]
    for disparity in (10, 42):
        shifted = np.roll(right, disparity, axis=1)
        assert np.abs(left - shifted)[wall].mean() < noise
    assert np.abs(left - np.roll(right, 26, axis=1))[wall].mean() > noise
    shifted = np.roll(right, 22, axis=1)
    assert np.abs(left - shifted)[120:200, 180:290].mean() < noise


@pytest.mark.parametrize("name", pictures.PAIRS)
def test_a_picture_is_small_and_its_section_has_a_wrong_map_and_a_remedy(name):
    file = pictures.PICTURES / f"{name}.jpg"
    assert file.stat().st_size <= LARGEST_PICTURE
    folders = [words[-1] for block in _commands(name) for words in split_commands(block.text)]
    assert {str(pictures.WRONG), str(pictures.REMEDY)} <= set(folders)


def _commands(name):
    """Return the blocks of commands of a section."""
    return [block for block in _section_blocks(name) if block.language == "sh"]


def test_every_picture_of_the_folder_is_drawn_by_the_script():
    names = {file.stem for file in pictures.PICTURES.iterdir()}
    assert names == set(pictures.PAIRS)


# --- Answers about OpenCV -------------------------------------------------------------


@pytest.fixture(scope="module")
def grey_pair():
    """Return a random texture of 100x188 pixels and its copy with the disparity 12."""
    random = np.random.default_rng(0)
    texture = random.integers(0, 256, (100, 200)).astype(np.uint8)
    smooth = cv2.GaussianBlur(texture, (0, 0), 1.2)
    return smooth[:, :-12].copy(), smooth[:, 12:].copy()


def _sgbm(pair, **parameters):
    """Return the integers of OpenCV's StereoSGBM."""
    defaults = {"minDisparity": 0, "numDisparities": 32, "blockSize": 5, "P1": 200, "P2": 800}
    return cv2.StereoSGBM.create(**defaults | parameters).compute(*pair)


def test_opencv_returns_sixteenths_of_pixels(grey_pair):
    integers = _sgbm(grey_pair)
    assert integers.dtype == np.int16
    assert np.median(integers[:, 40:]) == 192


@pytest.mark.parametrize(
    ("minimum", "number", "left", "right"), [(0, 32, 32, 0), (8, 48, 56, 0), (-16, 64, 48, 16)]
)
def test_opencv_leaves_out_columns_and_marks_them(grey_pair, minimum, number, left, right):
    integers = _sgbm(grey_pair, minDisparity=minimum, numDisparities=number)
    marker = 16 * (minimum - 1)
    assert integers.min() == marker
    empty_columns = np.flatnonzero((integers == marker).all(axis=0))
    columns = integers.shape[1]
    expected = [*range(left), *range(columns - right, columns)]
    assert empty_columns.tolist() == expected


def test_only_stereo_bm_refuses_even_windows_and_other_numbers_of_disparities(grey_pair):
    for parameters in ({"numDisparities": 32, "blockSize": 16}, {"numDisparities": 30}):
        with pytest.raises(cv2.error, match=r"must be (odd|positive and divisible by 16)"):
            cv2.StereoBM.create(**parameters).compute(*grey_pair)
    assert (_sgbm(grey_pair, blockSize=4) >= 0).any()
    assert (_sgbm(grey_pair, numDisparities=30) >= 0).any()


def test_opencv_reverses_the_rows_of_pfm_and_divides_by_the_scale(tmp_path):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    file = tmp_path / "a.pfm"
    write_disparity(file, values)
    stored = np.frombuffer(file.read_bytes()[-24:], "<f4").reshape(2, 3)
    np.testing.assert_array_equal(stored, values[::-1])
    header, scale = b"Pf\n3 2\n", b"-2.0\n"
    file.write_bytes(header + scale + values[::-1].tobytes())
    np.testing.assert_array_equal(cv2.imread(str(file), cv2.IMREAD_UNCHANGED), values / 2)
    np.testing.assert_array_equal(read_disparity(file), values)


def test_opencv_removes_no_speckles_by_default():
    assert cv2.StereoSGBM.create().getSpeckleWindowSize() == 0


def test_only_stereo_bm_refuses_colour_images(grey_pair):
    colour_pair = [np.repeat(image[..., None], 3, axis=2) for image in grey_pair]
    with pytest.raises(cv2.error, match="Both input images must have CV_8UC1"):
        cv2.StereoBM.create(numDisparities=32, blockSize=15).compute(*colour_pair)
    assert (_sgbm(colour_pair) >= 0).any()
