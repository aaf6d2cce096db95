"""What people bring that is no pair, or not yet: a line that names the files and the cure."""

import cv2
import numpy as np
import PIL.Image
import pytest

from stereo_framework import load_scene, match
from stereo_framework.core.errors import DataError, ResultWarning
from stereo_framework.user_pair.search_range import looked_at


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene = load_scene("synthetic/planes")
    left, right = (
        np.ascontiguousarray(image[..., ::-1]) for image in (scene.reference, scene.match)
    )
    grey = right.mean(axis=2).astype(np.uint8)
    for name, image in {
        "l.png": left,
        "r.png": right,
        "deep.png": right.astype(np.uint16) * 257,
        "grey.png": grey,
    }.items():
        cv2.imwrite(name, image)
    for name, orientation in (("turned.jpg", 6), ("straight.jpg", 1)):
        image = PIL.Image.fromarray(left[..., ::-1])
        header = image.getexif()
        header[0x0112] = orientation
        image.save(name, exif=header)
    (tmp_path / "phone.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(200))


@pytest.mark.parametrize(
    ("right", "said"),
    [
        (
            "deep.png",
            "l.png is of 8 bits and deep.png is of 16 bits or floats; "
            "save both with the same number of bits",
        ),
        (
            "grey.png",
            "l.png is 320x240 in colour and grey.png is 320x240; "
            "both images must be grey, or both must be in colour",
        ),
        (
            "phone.heic",
            "phone.heic: the file is a HEIC or AVIF picture, which is not read; "
            "convert it to PNG or TIFF without loss",
        ),
    ],
)
def test_no_pair(right, said, files):
    with pytest.raises(DataError, match=said):
        match("l.png", right, method="ssd")


def test_one_image_twice(files):
    with pytest.warns(
        ResultWarning, match="both images are the same, .*; a pair shows a scene from two places"
    ):
        match("l.png", "l.png", (0, 9), method="ssd")


def test_a_photograph_that_is_shown_turned(files, recwarn):
    with pytest.raises(
        DataError, match="turned.jpg is 240x320 in colour and .*r.png is 320x240 in colour"
    ):
        match("turned.jpg", "r.png", (0, 30), method="ssd")
    [message] = [str(w.message) for w in recwarn if "EXIF" in str(w.message)]
    expected = (
        "turned.jpg: the image was turned upright because of its EXIF orientation 6, "
        "and now has 240x320 pixels; masks, disparity maps and calibrations"
    )
    assert expected in message
    match("straight.jpg", "r.png", (0, 30), method="ssd")
    assert len([w for w in recwarn if "EXIF" in str(w.message)]) == 1


@pytest.mark.parametrize(("shift", "negative"), [(3, False), (25, True)])
def test_a_range_begins_below_0_only_where_points_do(shift, negative):
    scene = load_scene("synthetic/planes")
    # The match image moved to the right: all disparities are smaller by the shift.
    moved = np.roll(scene.match, shift, axis=1)
    search, sparse, estimated = looked_at(type(scene).from_images(scene.reference, moved))
    assert estimated
    assert (search.minimum < 0) is negative
    assert (sparse.along_rows[0] < 0) == negative
