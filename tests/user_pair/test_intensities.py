"""Intensities that do not fill 0..255, and their stretch."""

from dataclasses import replace

import numpy as np
import pytest
import tifffile
from cli_parts import invoke

from stereo_framework import load_scene
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.user_pair.intensities import find_intensity_problems, stretched


def pair(low, high, shape=(40, 50), **masks):
    ramp = np.linspace(low, high, 2000).astype(np.float32).reshape(shape)
    return Scene.from_images(ramp, ramp[::-1].copy(), (0, 9), **masks)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0, 255, None),
        (3, 60, None),
        (
            0,
            2047 / 257,
            "the images are dark: of intensities up to 255 they reach 7.96, as where files of 16 bits hold fewer",
        ),
        (0, 1, "intensities up to 1, where 0 to 255 are expected"),
        (0, 2047, "the intensities go from 0 to 2047, where 0 to 255 are expected; --stretch"),
        (-30, 90, "the intensities go from -30 to 90"),
        (7, 7, None),
    ],
)
def test_doubts(low, high, said):
    doubt = find_intensity_problems(pair(low, high))
    assert doubt == [] if said is None else said in doubt[0]
    assert doubt == [] or find_intensity_problems(stretched(pair(low, high))[0]) == []


@pytest.mark.parametrize(
    ("low", "high", "beginning"),
    [
        (-1, 256, None),
        (-1.0625, 256, "the intensities go from -1.0625 to 256"),
        (-1, 256.5, "the intensities go from -1 to 256.5"),
        (0, 32, None),
        (0, 31.9, "the images are dark"),
    ],
)
def test_intensities_are_doubted_beyond_their_limits(low, high, beginning):
    lines = find_intensity_problems(pair(low, high))
    assert [line[: len(beginning or "")] for line in lines] == ([beginning] if beginning else [])


@pytest.mark.parametrize("side", ["left_mask", "right_mask"])
def test_masked_pixels_do_not_count_in_the_stretch(side):
    image = np.tile(np.arange(100, dtype=np.float32), (20, 1))
    mask = np.ones(image.shape, bool)
    mask[:, 50:] = False
    other = "right_mask" if side == "left_mask" else "left_mask"
    dark = np.minimum(image, 49)
    images = (image, dark) if side == "left_mask" else (dark, image)
    masks = {side: mask, other: np.ones(image.shape, bool)}
    scene = Scene.from_images(*images, (0, 9), **masks)
    _, message = stretched(scene)
    assert message == "stretched: the intensities 0 to 49 became 0 to 255"


def test_both_images_are_stretched_alike():
    # Half a percent of 4000 pixels at either end, the first and last 20, is clipped; the rest keeps its differences.
    scene = Scene.from_images(
        np.arange(2000, dtype=np.float32).reshape(40, 50),
        np.arange(2000, 4000, dtype=np.float32).reshape(40, 50),
    )
    found, told = stretched(scene)
    assert told == "stretched: the intensities 20 to 3979 became 0 to 255"
    both = np.concatenate([found.reference.ravel(), found.match.ravel()])
    np.testing.assert_allclose(
        both, np.clip((np.arange(4000) - 19.995) / (3979.005 - 19.995) * 255, 0, 255), atol=1e-3
    )
    assert np.array_equal(stretched(pair(7, 7))[0].reference, pair(7, 7).reference)


def test_further_frames_are_stretched_by_the_ends_of_the_pair():
    scene = pair(0, 2047)
    third = Frame("third", lambda: scene.reference / 2, 2)
    found, _ = stretched(replace(scene, frames=(*scene.frames, third)))
    low, high = np.percentile([scene.reference, scene.match], [0.5, 99.5])
    np.testing.assert_array_equal(found.reference, stretched(scene)[0].reference)
    np.testing.assert_allclose(
        found.image(2), np.clip((scene.reference / 2 - low) / (high - low) * 255, 0, 255), atol=1e-3
    )


def test_pixels_without_data_do_not_count():
    mask = np.ones((40, 50), bool)
    mask[30:] = False
    scene = pair(0, 100, left_mask=mask, right_mask=mask[::-1].copy())
    found, told = stretched(scene)
    assert [float(word) for word in told.split() if word[0].isdigit()] == pytest.approx(
        [0.375, 74.6, 0, 255], abs=0.2
    )
    np.testing.assert_array_equal(found.valid(0), mask)


def test_satellite_images_of_eleven_bits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene = load_scene("synthetic/planes")
    geo = [(33550, 12, 3, (0.5, 0.5, 0.0), True)]
    for name, image in (("l", scene.reference), ("r", scene.match)):
        samples = image[..., 1].astype(np.uint16) * 8
        samples[:9, :9] = 0
        tifffile.imwrite(
            f"{name}.tif",
            samples,
            photometric="minisblack",
            extratags=[*geo, (42113, 2, 0, "0", True)],
        )
    call = ["match", "l.tif", "r.tif", "--method", "fast", "--disparities", "0:31"]
    dark = invoke(*call)
    assert "warning: the images are dark: of intensities up to 255 they reach 7.94, " in dark.stderr
    found = invoke(*call, "--stretch", "-o", "out")
    assert found.exit_code == 0, found.output
    assert "dark" not in found.stderr
    with tifffile.TiffFile("out/disparity.tiff") as file:
        page = file.pages[0]
        assert page.tags[33550].value == (0.5, 0.5, 0.0)
        disparity = page.asarray()
    assert np.isnan(disparity[:9, :9]).all()
    known = np.isfinite(disparity)
    assert known.mean() > 0.7
    assert np.mean(np.abs(disparity - scene.truth)[known] > 1) < 0.1
