"""TIFF files, written by tifffile and OpenCV; Pillow reads the files that we write."""

import struct
import warnings

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from stereo_framework.core.errors import DataError, DataWarning, ParameterError
from stereo_framework.datasets import pair_scene
from stereo_framework.io import (
    geo_tags,
    read_disparity,
    read_grey,
    read_image,
    read_mask,
    write_disparity,
)
from stereo_framework.io.scene_maps import read_map

RANDOM = np.random.default_rng(5)
NODATA = 42113
GEO = [
    (33550, 12, 3, (0.5, 0.5, 0.0), True),
    (33922, 12, 6, (0.0, 0.0, 0.0, 350000.0, 5600000.0, 0.0), True),
    (34735, 3, 8, (1, 1, 0, 1, 3072, 0, 1, 32633), True),
    (34736, 12, 1, (6378137.0,), True),
    (34737, 2, 0, "UTM 33N|", True),
]


def random_samples(dtype, *bands):
    return RANDOM.integers(0, 250, (17, 33, *bands)).astype(dtype)


def written(path, array, **options):
    photometric = "rgb" if array.ndim == 3 else "minisblack"
    options = {"photometric": photometric, **options}
    tifffile.imwrite(path, array, metadata=None, **options)
    return path


def nodata_tag(value):
    return [(NODATA, 2, 0, str(value), True)]


def without_data(path):
    """Return the pixels of an image that are masked because they have no data."""
    return np.ma.getmaskarray(read_image(path, masked=True))


LAYOUTS = (
    {},
    {"byteorder": ">"},
    {"bigtiff": True},
    {"rowsperstrip": 5},
    {"tile": (16, 16)},
    {"compression": "zlib", "tile": (16, 16)},
    {"compression": "lzw"},
    {"planarconfig": "separate"},
    # An orientation is ignored.
    {"extratags": [(274, 3, 1, 6, True)]},
)

MARKED = 251
"""The nodata value, which no random sample has."""


def layout_options(bands, layout):
    """Return the options with which tifffile writes a number of bands in a layout."""
    if bands == 0:
        options = {"photometric": "minisblack"}
        layout = {name: value for name, value in layout.items() if name != "planarconfig"}
    else:
        photometric = "rgb" if bands > 2 else "minisblack"
        options = {"photometric": photometric, "planarconfig": "contig"}
    if bands in (2, 4):
        options["extrasamples"] = ["unassalpha"]
    tags = [*nodata_tag(MARKED), *layout.get("extratags", ())]
    return {**options, **layout, "extratags": tags}


def stored_samples(samples, bands, layout):
    """Return samples, (rows, columns, bands), in the order of a layout."""
    if bands == 0:
        return samples[..., 0]
    if "planarconfig" in layout:
        return samples.transpose(2, 0, 1)
    return samples


@pytest.mark.parametrize("bands", [0, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i2", "f4", "f8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_a_tiff_gives_the_same_image(tmp_path, layout, dtype, bands):
    """Read images in grey or colour, with alpha in the second or fourth band.

    A pixel has no data if all its colours have the nodata value, or if its alpha is 0.
    """
    samples = random_samples(dtype, bands or 1)
    has_alpha = bands in (2, 4)
    colours = samples[..., :-1] if has_alpha else samples
    colours[2:5, 7:9] = MARKED
    colours[3, 4, :1] = MARKED
    missing = (colours == MARKED).all(axis=2)
    if has_alpha:
        samples[..., -1] = random_samples("u1") % 2
        missing |= samples[..., -1] == 0

    stored = stored_samples(samples, bands, layout)
    path = written(tmp_path / "a.tif", stored, **layout_options(bands, layout))
    image = read_image(path)
    assert image.dtype == (np.uint8 if dtype == "u1" else np.float32)
    expected = colours.astype(np.float32)
    if dtype == "u2":
        expected = (colours / 257).astype(np.float32)
    elif dtype != "u1":
        expected[missing] = np.nan
    np.testing.assert_array_equal(np.atleast_3d(image), expected)
    np.testing.assert_array_equal(np.atleast_3d(without_data(path))[..., 0], missing)


def test_a_fourth_band_that_is_not_alpha_is_ignored(tmp_path):
    # The fourth band may be near infrared, for example.
    samples = random_samples("u1", 4)
    path = written(tmp_path / "b.tif", samples, extrasamples=["unspecified"])
    assert read_image(path).shape == (17, 33, 3)
    assert not without_data(path).any()


def test_pixels_without_data_are_filled_from_their_rows(tmp_path):
    samples = random_samples("f4")
    samples[2:5, 7:9] = 251
    path = written(tmp_path / "a.tif", samples, extratags=nodata_tag(251))
    scene = pair_scene(path, written(tmp_path / "b.tif", random_samples("f4")), None)
    np.testing.assert_array_equal(scene.valid(0), samples != 251)
    assert scene.valid(1) is None
    assert np.isfinite(scene.reference).all()
    assert scene.reference.max() < 251


@pytest.mark.parametrize(
    ("dtype", "value"), [("u1", -9999), ("u1", "nan"), ("u1", "none"), ("u2", 0.5), ("f4", "nan")]
)
def test_a_nodata_value_that_no_sample_can_have_is_ignored(tmp_path, dtype, value):
    assert not without_data(
        written(tmp_path / "a.tif", random_samples(dtype), extratags=nodata_tag(value))
    ).any()


def test_gdals_spelling_of_the_lowest_float_is_a_nodata_value(tmp_path):
    samples = random_samples("f4")
    samples[0, 0] = np.finfo(np.float32).min
    image = read_image(
        written(tmp_path / "a.tif", samples, extratags=nodata_tag("-3.40282346638529e+38"))
    )
    assert np.argwhere(np.isnan(image)).tolist() == [[0, 0]]


def test_the_first_of_several_images_is_read_with_a_warning(tmp_path):
    path = tmp_path / "a.tif"
    image = random_samples("u1")
    smaller_image = image[::2, ::2]
    mask = image > 99

    def read_two_pages(second_page, photometric="minisblack", **options):
        with tifffile.TiffWriter(path) as file:
            file.write(image, photometric="minisblack", metadata=None)
            file.write(second_page, photometric=photometric, metadata=None, **options)
        return read_image(path)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A page that is marked as a smaller version is not another image.
        np.testing.assert_array_equal(read_two_pages(smaller_image, subfiletype=1), image)
    message = r"a\.tif: the file has several images or a mask; only the first image is read"
    with pytest.warns(DataWarning, match=message):
        np.testing.assert_array_equal(read_two_pages(smaller_image), image)
    with pytest.warns(DataWarning, match=message):
        np.testing.assert_array_equal(
            read_two_pages(mask, photometric="miniswhite", subfiletype=4), image
        )


def test_an_image_with_missing_strips_is_refused(tmp_path):
    path = written(tmp_path / "a.tif", random_samples("u1"), rowsperstrip=5)
    data = path.read_bytes()
    with tifffile.TiffFile(path) as file:
        position = file.pages[0].tags["ImageLength"].valueoffset
    path.write_bytes(data[:position] + struct.pack("<H", 21) + data[position + 2 :])
    with pytest.raises(
        DataError,
        match=r"a\.tif: the file is damaged or truncated: parts of its image are not in the file",
    ):
        read_image(path)


def test_a_wrong_limit_of_pixels_is_not_reported_as_damage(tmp_path, monkeypatch):
    path = written(tmp_path / "a.tif", random_samples("u1"))
    monkeypatch.setenv("STEREO_MAX_PIXELS", "abc")
    with pytest.raises(ParameterError, match="STEREO_MAX_PIXELS: 'abc' is not a whole number"):
        read_image(path)


PALETTE = {"photometric": "palette", "colormap": np.zeros((3, 256), np.uint16)}


@pytest.mark.parametrize(
    ("array", "options", "message"),
    [
        (
            np.zeros((6, 8, 5), np.uint8),
            {"photometric": "minisblack", "planarconfig": "contig"},
            "has 5 bands; expected grey",
        ),
        (
            np.zeros((6, 8, 4), np.uint8),
            {"photometric": "minisblack", "planarconfig": "contig"},
            "has 4 bands; expected grey",
        ),
        (
            np.zeros((6, 8), np.complex64),
            {},
            r"64 bits \(complex64\), which are not read; write grey or RGB",
        ),
        (np.zeros((6, 8), bool), {}, "samples of 1 bits"),
        (np.zeros((6, 8), np.uint8), PALETTE, "PALETTE samples of 8 bits"),
        (np.zeros((6, 8), np.uint8), {"photometric": "miniswhite"}, "MINISWHITE samples of 8 bits"),
        (np.zeros((60, 80), np.uint8), {}, "the file has 80x60 pixels; at most 1000 are read"),
        (
            np.zeros((6, 8), np.uint8),
            {"tile": (64, 64)},
            "the file has 64x64 pixels; at most 1000 are read",
        ),
    ],
)
def test_unsupported_images_are_refused(tmp_path, monkeypatch, array, options, message):
    monkeypatch.setenv("STEREO_MAX_PIXELS", "1000")
    path = written(tmp_path / "a.tif", array, **options)
    with pytest.raises(DataError, match=message):
        read_image(path)


def test_a_tiff_with_jpeg_compression_is_read(tmp_path):
    uniform = random_samples("u1", 3) // 250 + 100
    path = written(tmp_path / "b.tif", uniform, compression="jpeg")
    np.testing.assert_allclose(read_image(path), uniform, atol=2)


LOSSY = {
    "jpeg": ("u1", {"compression": "jpeg"}, "JPEG"),
    "lerc": ("u1", {"compression": "lerc", "compressionargs": {"level": 8}}, "LERC"),
    "lerc with deflate": (
        "u2",
        {"compression": "lerc", "compressionargs": {"level": 8, "compression": "deflate"}},
        "LERC",
    ),
    "webp": (
        "u1",
        {"compression": "webp", "compressionargs": {"level": 50, "lossless": False}},
        "WEBP",
    ),
}
EXACT = {
    "lerc": ("u1", {"compression": "lerc"}),
    "lerc of floats": ("f4", {"compression": "lerc", "compressionargs": {"compression": "zstd"}}),
    "webp": ("u1", {"compression": "webp"}),
    "deflate": ("u1", {"compression": "zlib"}),
}


@pytest.mark.parametrize("name", LOSSY)
def test_maps_and_masks_whose_compression_changes_values_are_refused(tmp_path, name):
    dtype, options, compression = LOSSY[name]
    grey = (
        np.repeat(random_samples(dtype)[..., None], 3, axis=2)
        if "webp" in name
        else random_samples(dtype)
    )
    path = written(tmp_path / "a.tif", grey, **options)
    message = (
        rf"a\.tif: its compression \({compression}\) has changed pixel values, and the original"
    )
    with pytest.raises(DataError, match=message):
        read_disparity(path, disparity_scale=4)
    for read in (read_grey, read_mask):
        with pytest.raises(DataError, match=message):
            read(path)
    # An image may be lossy.
    read_image(path)


@pytest.mark.parametrize("name", EXACT)
def test_maps_whose_compression_keeps_values_are_read_without_a_warning(tmp_path, name):
    dtype, options = EXACT[name]
    grey = (
        np.repeat(random_samples(dtype)[..., None], 3, axis=2)
        if "webp" in name
        else random_samples(dtype)
    )
    path = written(tmp_path / "a.tif", grey + 1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        disparity = read_disparity(path, disparity_scale=4)
    expected = np.atleast_3d(grey + 1)[..., 0] / np.float32(4)
    np.testing.assert_array_equal(disparity, expected)


def test_a_bound_or_doubt_about_a_compression_is_a_warning(tmp_path):
    path = written(
        tmp_path / "a.tif",
        random_samples("f4") + 0.3,
        compression="lerc",
        compressionargs={"level": 0.1},
    )
    with pytest.warns(
        DataWarning,
        match=r"a\.tif: its compression \(LERC\) has changed pixel values by up to 0\.1; expected",
    ):
        read_disparity(path)
    path = written(tmp_path / "b.tif", random_samples("u1"), compression="jpeg2000")
    with pytest.warns(
        DataWarning, match=r"b\.tif: its compression \(JPEG2000\) may have changed pixel values"
    ):
        read_disparity(path, disparity_scale=4)


def test_maps_keep_the_georeference_of_the_image(tmp_path):
    image = written(tmp_path / "image.tif", random_samples("u2"), extratags=GEO)
    disparity = random_samples("f4") - 100
    disparity[3, 4] = np.nan
    write_disparity(tmp_path / "d.tif", disparity, tags=geo_tags(image))
    with Image.open(tmp_path / "d.tif") as image_of_pillow:
        np.testing.assert_array_equal(np.asarray(image_of_pillow), disparity)
        tags = dict(image_of_pillow.tag_v2)
    for code, _, _, value, _ in GEO:
        # Pillow returns a single number for a tag with one number.
        expected = value[0] if code == 34736 else value
        assert tags[code] == expected
    assert tags[NODATA] == "nan"
    np.testing.assert_array_equal(read_disparity(tmp_path / "d.tif"), disparity)
    assert geo_tags(written(tmp_path / "b.tif", random_samples("u1"))) == []
    cv2.imwrite(str(tmp_path / "c.png"), random_samples("u1"))
    assert geo_tags(tmp_path / "c.png") == ()


def test_characters_outside_ascii_in_a_tag_are_replaced(tmp_path):
    path = written(
        tmp_path / "a.tif", random_samples("u1"), extratags=[(34737, 7, 5, b"n\xe9e |", True)]
    )
    data = path.read_bytes()
    # The type of the tag becomes that of a text.
    position = data.index(struct.pack("<HH", 34737, 7))
    path.write_bytes(data[: position + 2] + struct.pack("<H", 2) + data[position + 4 :])
    write_disparity(tmp_path / "d.tif", random_samples("f4"), tags=geo_tags(path))
    assert [tag[3] for tag in geo_tags(tmp_path / "d.tif")] == ["n?e |"]


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_a_nodata_value_of_a_map_of_integers_means_unknown(tmp_path, dtype):
    nodata = np.iinfo(dtype).max
    grey = random_samples(dtype) + 1
    grey[2] = nodata
    path = written(tmp_path / "d.tif", grey.astype(dtype), extratags=nodata_tag(nodata))
    expected = (grey / 4).astype(np.float32)
    expected[2] = np.nan
    np.testing.assert_array_equal(read_disparity(path, disparity_scale=4), expected)
    scene = pair_scene(path, path, None)
    np.testing.assert_array_equal(read_map(path, scene, disparity_scale=4), expected)
