"""TIFF files of the satellites' and mapping world, written by tifffile and OpenCV; what is written is read by Pillow."""

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
from stereo_framework.io.disparity import read_map

RANDOM = np.random.default_rng(5)
NODATA = 42113
GEO = [
    (33550, 12, 3, (0.5, 0.5, 0.0), True),
    (33922, 12, 6, (0.0, 0.0, 0.0, 350000.0, 5600000.0, 0.0), True),
    (34735, 3, 8, (1, 1, 0, 1, 3072, 0, 1, 32633), True),
    (34736, 12, 1, (6378137.0,), True),
    (34737, 2, 0, "UTM 33N|", True),
]


def made(dtype, *bands):
    return RANDOM.integers(0, 250, (17, 33, *bands)).astype(dtype)


def written(path, array, **options):
    tifffile.imwrite(
        path,
        array,
        metadata=None,
        **{"photometric": "rgb" if array.ndim == 3 else "minisblack", **options},
    )
    return path


def nodata_tag(value):
    return [(NODATA, 2, 0, str(value), True)]


def without_data(path):
    return np.ma.getmaskarray(read_image(path, masked=True))


WAYS = (
    *({}, {"byteorder": ">"}, {"bigtiff": True}, {"rowsperstrip": 5}, {"tile": (16, 16)}),
    *(
        {"compression": "zlib", "tile": (16, 16)},
        {"compression": "lzw"},
        {"planarconfig": "separate"},
    ),
    {"extratags": [(274, 3, 1, 6, True)]},  # an orientation, which is ignored
)


@pytest.mark.parametrize("bands", [0, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i2", "f4", "f8"])
@pytest.mark.parametrize("options", WAYS)
def test_every_way_to_store_an_image_gives_the_same(tmp_path, options, dtype, bands):
    """Grey or colours, with alpha in a second or fourth band, and a nodata value, which marks a pixel where all its colours have it."""
    samples = made(dtype, bands or 1)
    colours, alpha = (
        (samples[..., : bands - 1], samples[..., -1])
        if bands in (2, 4)
        else (samples, np.ones((17, 33)))
    )
    alpha[:] = made("u1") % 2
    colours[2:5, 7:9], colours[3, 4, :1] = 251, 251
    missing = (colours == 251).all(axis=2) | (alpha == 0 if bands in (2, 4) else False)
    stored = (
        samples[..., 0]
        if not bands
        else samples.transpose(2, 0, 1)
        if "planarconfig" in options
        else samples
    )
    how = (
        {"photometric": "rgb" if bands > 2 else "minisblack", "planarconfig": "contig"}
        if bands
        else {"photometric": "minisblack"}
    )
    how |= {"extrasamples": ["unassalpha"]} if bands in (2, 4) else {}
    options = {name: value for name, value in options.items() if bands or name != "planarconfig"}
    path = written(
        tmp_path / "a.tif",
        stored,
        **how | options | {"extratags": [*nodata_tag(251), *options.get("extratags", ())]},
    )
    expected = (
        colours.astype(np.float32)
        if dtype in ("u1", "u2")
        else np.where(missing[..., None], np.nan, colours).astype(np.float32)
    )
    image = read_image(path)
    assert image.dtype == (np.uint8 if dtype == "u1" else np.float32)
    np.testing.assert_array_equal(
        np.atleast_3d(image), (colours / 257).astype(np.float32) if dtype == "u2" else expected
    )
    np.testing.assert_array_equal(np.atleast_3d(without_data(path))[..., 0], missing)


def test_a_fourth_band_that_is_something_else_is_left_out(tmp_path):
    path = written(
        tmp_path / "b.tif", made("u1", 4), extrasamples=["unspecified"]
    )  # as near infrared
    assert read_image(path).shape == (17, 33, 3)
    assert not without_data(path).any()


def test_pixels_without_data_are_filled_from_their_rows(tmp_path):
    samples = made("f4")
    samples[2:5, 7:9] = 251
    path = written(tmp_path / "a.tif", samples, extratags=nodata_tag(251))
    scene = pair_scene(path, written(tmp_path / "b.tif", made("f4")), None)
    np.testing.assert_array_equal(scene.valid(0), samples != 251)
    assert scene.valid(1) is None
    assert np.isfinite(scene.reference).all()
    assert scene.reference.max() < 251


@pytest.mark.parametrize(
    ("dtype", "value"), [("u1", -9999), ("u1", "nan"), ("u1", "none"), ("u2", 0.5), ("f4", "nan")]
)
def test_nodata_that_no_sample_can_have(tmp_path, dtype, value):
    assert not without_data(
        written(tmp_path / "a.tif", made(dtype), extratags=nodata_tag(value))
    ).any()


def test_the_lowest_float_as_gdal_writes_it(tmp_path):
    samples = made("f4")
    samples[0, 0] = np.finfo(np.float32).min
    image = read_image(
        written(tmp_path / "a.tif", samples, extratags=nodata_tag("-3.40282346638529e+38"))
    )
    assert np.argwhere(np.isnan(image)).tolist() == [[0, 0]]


def test_other_pages(tmp_path):
    path, image = tmp_path / "a.tif", made("u1")

    def of_pages(second=image[::2, ::2], **kind):
        with tifffile.TiffWriter(path) as file:
            file.write(image, photometric="minisblack", metadata=None)
            file.write(second, metadata=None, **{"photometric": "minisblack"} | kind)
        return read_image(path)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            of_pages(subfiletype=1), image
        )  # a smaller version of it is no other image
    for second in ({}, {"second": image > 99, "photometric": "miniswhite", "subfiletype": 4}):
        with pytest.warns(
            DataWarning,
            match=r"a\.tif: holds several images or a mask, of which the first image is read",
        ):
            np.testing.assert_array_equal(of_pages(**second), image)


def test_strips_that_are_nowhere(tmp_path):
    path = written(tmp_path / "a.tif", made("u1"), rowsperstrip=5)
    data = path.read_bytes()
    with tifffile.TiffFile(path) as file:
        at = file.pages[0].tags["ImageLength"].valueoffset
    path.write_bytes(data[:at] + struct.pack("<H", 21) + data[at + 2 :])
    with pytest.raises(
        DataError, match=r"a\.tif: is damaged or truncated: parts of its image are not in the file"
    ):
        read_image(path)


def test_a_wrong_limit_is_no_damaged_file(tmp_path, monkeypatch):
    path = written(tmp_path / "a.tif", made("u1"))
    monkeypatch.setenv("STEREO_MAX_PIXELS", "abc")
    with pytest.raises(ParameterError, match="STEREO_MAX_PIXELS: 'abc' is not a whole number"):
        read_image(path)


PALETTE = {"photometric": "palette", "colormap": np.zeros((3, 256), np.uint16)}


@pytest.mark.parametrize(
    ("array", "options", "said"),
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
def test_images_that_are_not_read(tmp_path, monkeypatch, array, options, said):
    monkeypatch.setenv("STEREO_MAX_PIXELS", "1000")
    path = written(tmp_path / "a.tif", array, **options)
    with pytest.raises(DataError, match=said):
        read_image(path)


def test_jpeg_inside(tmp_path):
    dim = made("u1", 3) // 250 + 100
    np.testing.assert_allclose(
        read_image(written(tmp_path / "b.tif", dim, compression="jpeg")), dim, atol=2
    )


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
    grey = np.repeat(made(dtype)[..., None], 3, axis=2) if "webp" in name else made(dtype)
    path = written(tmp_path / "a.tif", grey, **options)
    for read in (
        lambda: read_disparity(path, disparity_scale=4),
        lambda: read_grey(path),
        lambda: read_mask(path),
    ):
        with pytest.raises(
            DataError,
            match=rf"a\.tif: its compression \({compression}\) has changed values, and they cannot",
        ):
            read()
    read_image(path)  # an image may be lossy


@pytest.mark.parametrize("name", EXACT)
def test_maps_whose_compression_keeps_values_are_read_without_a_warning(tmp_path, name):
    dtype, options = EXACT[name]
    grey = np.repeat(made(dtype)[..., None], 3, axis=2) if "webp" in name else made(dtype)
    path = written(tmp_path / "a.tif", grey + 1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_disparity(path, disparity_scale=4)
    np.testing.assert_array_equal(read, np.atleast_3d(grey + 1)[..., 0] / np.float32(4))


def test_a_bound_or_doubt_about_a_compression_is_a_warning(tmp_path):
    path = written(
        tmp_path / "a.tif", made("f4") + 0.3, compression="lerc", compressionargs={"level": 0.1}
    )
    with pytest.warns(
        DataWarning,
        match=r"a\.tif: its compression \(LERC\) has changed values by up to 0\.1; expected",
    ):
        read_disparity(path)
    path = written(tmp_path / "b.tif", made("u1"), compression="jpeg2000")
    with pytest.warns(
        DataWarning, match=r"b\.tif: its compression \(JPEG2000\) may have changed values"
    ):
        read_disparity(path, disparity_scale=4)


def test_maps_keep_the_place_on_the_ground(tmp_path):
    image = written(tmp_path / "image.tif", made("u2"), extratags=GEO)
    disparity = made("f4") - 100
    disparity[3, 4] = np.nan
    write_disparity(tmp_path / "d.tif", disparity, tags=geo_tags(image))
    with Image.open(tmp_path / "d.tif") as read:
        np.testing.assert_array_equal(np.asarray(read), disparity)
        found = dict(read.tag_v2)
    for code, _, _, value, _ in GEO:
        assert found[code] == (value[0] if code == 34736 else value)
    assert found[NODATA] == "nan"
    np.testing.assert_array_equal(read_disparity(tmp_path / "d.tif"), disparity)
    assert geo_tags(written(tmp_path / "b.tif", made("u1"))) == []
    cv2.imwrite(str(tmp_path / "c.png"), made("u1"))
    assert geo_tags(tmp_path / "c.png") == ()


def test_text_that_is_against_the_format(tmp_path):
    path = written(tmp_path / "a.tif", made("u1"), extratags=[(34737, 7, 5, b"n\xe9e |", True)])
    data = path.read_bytes()
    at = data.index(struct.pack("<HH", 34737, 7))
    path.write_bytes(data[: at + 2] + struct.pack("<H", 2) + data[at + 4 :])
    write_disparity(tmp_path / "d.tif", made("f4"), tags=geo_tags(path))
    assert [tag[3] for tag in geo_tags(tmp_path / "d.tif")] == ["n?e |"]


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_maps_of_whole_numbers_with_nodata(tmp_path, dtype):
    grey = made(dtype) + 1
    grey[2] = np.iinfo(dtype).max
    path = written(
        tmp_path / "d.tif", grey.astype(dtype), extratags=nodata_tag(np.iinfo(dtype).max)
    )
    wanted = np.where(np.arange(17)[:, None] == 2, np.nan, grey / 4).astype(np.float32)
    np.testing.assert_array_equal(read_disparity(path, disparity_scale=4), wanted)
    np.testing.assert_array_equal(
        read_map(path, pair_scene(path, path, None), disparity_scale=4), wanted
    )
