"""Photographs whose EXIF orientation turns them."""

import json

import numpy as np
import PIL.Image
import PIL.ImageOps
import pytest
from cli_parts import invoke

from stereo_framework import load_scene, match
from stereo_framework.core.errors import DataError, ResultWarning
from stereo_framework.datasets import pair_scene
from stereo_framework.io import read_disparity, read_image, write_image
from stereo_framework.io.orientation import orientation_of, turned_upright

ORIENTATIONS = range(1, 9)
FORMATS = ("tif", "png", "jpg")
TAG = 0x0112


def stored(upright, orientation):
    """Return the pixels that a camera stores, so that the orientation turns them upright."""
    back = {6: 8, 8: 6}.get(orientation, orientation)  # All other turns undo themselves.
    return turned_upright(upright, back)


def write_turned(path, upright, orientation):
    image = PIL.Image.fromarray(stored(upright, orientation))
    header = image.getexif()
    header[TAG] = orientation
    options = {"quality": 100, "subsampling": 0} if path.suffix == ".jpg" else {}
    image.save(path, exif=header, **options)
    return path


@pytest.fixture(scope="module")
def images():
    scene = load_scene("synthetic/planes")
    return scene.reference[:144, :160], scene.match[:144, :160]


@pytest.fixture(scope="module")
def expected(images):
    return match(*images, (0, 30), method="ssd").disparity


@pytest.mark.parametrize("suffix", [*FORMATS, "webp"])
@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_all_orientations_are_those_of_pillow(tmp_path, suffix, orientation):
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    image = PIL.Image.fromarray(pixels)
    header = image.getexif()
    header[TAG] = orientation
    path = tmp_path / f"image.{suffix}"
    image.save(path, exif=header)
    assert orientation_of(path) == orientation
    lossless = PIL.Image.fromarray(pixels)
    lossless.save(tmp_path / "exact.png", exif=header)
    with PIL.Image.open(tmp_path / "exact.png") as shown:
        np.testing.assert_array_equal(
            turned_upright(pixels, orientation), np.asarray(PIL.ImageOps.exif_transpose(shown))
        )


@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.ResultWarning")
@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_turned_photographs_are_matched_upright(tmp_path, images, expected, orientation):
    suffix = FORMATS[orientation % 2]
    left, right = (
        write_turned(tmp_path / f"{name}.{suffix}", image, orientation)
        for name, image in zip("lr", images, strict=True)
    )
    np.testing.assert_array_equal(match(left, right, (0, 30), method="ssd").disparity, expected)


@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.ResultWarning")
def test_each_photograph_is_turned_by_its_own_orientation(tmp_path, images, expected):
    left = write_turned(tmp_path / "l.png", images[0], 6)
    right = write_turned(tmp_path / "r.tif", images[1], 3)
    mask = np.ones(expected.shape, bool)
    mask[20:60, 30:90] = False
    write_image(tmp_path / "mask.png", mask)
    write_turned(tmp_path / "turned_mask.png", mask * np.uint8(255), 8)
    assert np.isnan(
        match(left, right, (0, 30), method="ssd", left_mask=tmp_path / "mask.png").disparity[
            30:50, 40:80
        ]
    ).all()
    assert np.isnan(
        match(left, right, (0, 30), method="ssd", left_mask=tmp_path / "turned_mask.png").disparity[
            30:50, 40:80
        ]
    ).all()
    np.testing.assert_array_equal(match(left, right, (0, 30), method="ssd").disparity, expected)


def test_transparent_pixels_and_nan_are_turned_with_the_image(tmp_path):
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 6)
    alpha = np.full((4, 6), 255, np.uint8)
    alpha[0, 1:3] = 0
    image = PIL.Image.fromarray(stored(np.dstack([pixels, pixels, pixels, alpha]), 6))
    header = image.getexif()
    header[TAG] = 6
    image.save(tmp_path / "image.png", exif=header)
    with pytest.warns(ResultWarning, match="turned upright .* now has 6x4 pixels"):
        turned = read_image(tmp_path / "image.png", masked=True, upright=True)
    np.testing.assert_array_equal(np.ma.getmaskarray(turned)[..., 0], alpha == 0)
    np.testing.assert_array_equal(turned[..., 0].data, pixels)


def test_images_are_read_as_stored_unless_they_are_matched(tmp_path, images):
    path = write_turned(tmp_path / "l.png", images[0], 6)
    right = write_turned(tmp_path / "r.png", images[1], 6)
    with pytest.warns(
        ResultWarning,
        match=r"l\.png: image viewers turn this image .* read as it is stored",
    ):
        np.testing.assert_array_equal(read_image(path), stored(images[0], 6))
    with pytest.warns(ResultWarning, match="read as it is stored"):
        assert pair_scene(path, right).match.shape == (160, 144, 3)


@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.ResultWarning")
def test_a_new_scene_and_choose_turn_photographs(tmp_path, images, expected):
    for name, image in zip(("left", "right"), images, strict=True):
        write_turned(tmp_path / f"{name}.jpg", image, 8)
    result = invoke("scenes", "--new", tmp_path)
    assert result.exit_code == 0, result.output
    assert "\nupright: true\n" in (tmp_path / "scene.yaml").read_text()
    assert load_scene(tmp_path).reference.shape == images[0].shape
    chosen = (
        "choose",
        tmp_path / "left.jpg",
        tmp_path / "right.jpg",
        "--disparities",
        "0:30",
        "--methods",
        "sgm",
    )
    assert invoke(*chosen, "--out", tmp_path / "choice").exit_code == 0
    assert read_disparity(tmp_path / "choice" / "best.pfm").shape == expected.shape


@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.ResultWarning")
@pytest.mark.parametrize("rectify", ["auto", "rig.json"])
def test_turned_photographs_are_rectified_upright(tmp_path, monkeypatch, rectify):
    monkeypatch.chdir(tmp_path)
    scene = load_scene("synthetic/planes")
    for name, image, orientation in (("l", scene.reference, 6), ("r", scene.match, 8)):
        write_turned(tmp_path / f"{name}.png", image, orientation)
    camera = {"rows": 3, "cols": 3, "data": [400, 0, 160, 0, 400, 120, 0, 0, 1]}
    straight = {"rows": 3, "cols": 3, "data": [1, 0, 0, 0, 1, 0, 0, 0, 1]}
    none, baseline = (
        {"rows": 1, "cols": 4, "data": [0] * 4},
        {"rows": 3, "cols": 1, "data": [-1, 0, 0]},
    )
    rig = {
        "K1": camera,
        "D1": none,
        "K2": camera,
        "D2": none,
        "R": straight,
        "T": baseline,
        "image_size": [320, 240],
    }
    (tmp_path / "rig.json").write_text(json.dumps(rig))
    options = ("--rectify", rectify, "--disparities=-40:40", "--method", "ssd", "--out", "out")
    result = invoke("match", "l.png", "r.png", *options)
    assert result.exit_code == 0, result.output
    assert read_disparity(tmp_path / "out" / "disparity.pfm").shape == scene.reference.shape[:2]
    (tmp_path / "rig.json").write_text(json.dumps(rig | {"image_size": [240, 320]}))
    if rectify == "rig.json":
        assert (
            "turned upright by its EXIF orientation"
            in invoke("match", "l.png", "r.png", *options).stderr
        )


@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.ResultWarning")
def test_a_new_scene_of_upright_images_has_no_such_line(tmp_path, images):
    for name, image in zip(("left", "right"), images, strict=True):
        write_image(tmp_path / f"{name}.png", image)
    assert invoke("scenes", "--new", tmp_path).exit_code == 0
    assert "upright: true" not in (tmp_path / "scene.yaml").read_text()


@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.ResultWarning")
def test_a_calibration_of_the_stored_image_is_refused(tmp_path, images):
    left, right = (
        write_turned(tmp_path / f"{name}.png", image, 6)
        for name, image in zip("lr", images, strict=True)
    )
    camera = "[400 0 70; 0 400 80; 0 0 1]"
    text = f"cam0={camera}\ncam1={camera}\ndoffs=0\nbaseline=100\nndisp=31\n"
    (tmp_path / "stored.txt").write_text(f"{text}width=144\nheight=160\n")
    with pytest.raises(
        DataError,
        match=r"144x160 pixels, and .* has 160x144; .* turned upright by its EXIF orientation",
    ):
        match(left, right, (0, 30), method="ssd", calibration=tmp_path / "stored.txt")
    (tmp_path / "upright.txt").write_text(f"{text}width=160\nheight=144\n")
    found = match(left, right, (0, 30), method="ssd", calibration=tmp_path / "upright.txt")
    assert "the calibration must be that of the upright images" in found.warnings[0]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\xff\xd8",
        b"\x89PNG\r\n\x1a\n",
        b"II*\0",
        b"\x89PNG\r\n\x1a\n\xff\xff\xff\xffeXIf",
        b"RIFF0000WEBP",
    ],
)
def test_damaged_files_count_as_upright(tmp_path, damage):
    (tmp_path / "image").write_bytes(damage)
    assert orientation_of(tmp_path / "image") == 1
    assert orientation_of(tmp_path / "missing") == 1
