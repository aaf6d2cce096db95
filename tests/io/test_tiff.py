"""TIFF files of the satellites' and mapping world, written by tifffile and OpenCV; what is written is read by Pillow."""

import mmap
import warnings

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from stereo_framework.datasets import pair_scene
from stereo_framework.errors import DataError, DataWarning
from stereo_framework.io import geo_tags, read_alpha, read_disparity, read_grey, read_image, write_disparity
from stereo_framework.limits import pixels

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
    tifffile.imwrite(path, array, metadata=None, **{"photometric": "rgb" if array.ndim == 3 else "minisblack", **options})
    return path


def told(value):
    return [(NODATA, 2, 0, str(value), True)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"byteorder": ">"},
        {"bigtiff": True},
        {"rowsperstrip": 5},
        {"tile": (16, 16)},
        {"compression": "zlib"},
        {"compression": "zlib", "tile": (16, 16)},
    ],
)
@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "f4", "f8"])
def test_every_way_to_store_an_image_gives_the_same(tmp_path, options, dtype):
    samples = made(dtype)
    image = read_image(written(tmp_path / "a.tif", samples, **options))
    assert image.dtype == (np.uint8 if dtype == "u1" else np.float32)
    np.testing.assert_array_equal(image, (samples / 257).astype(np.float32) if dtype == "u2" else samples)


@pytest.mark.parametrize("options", [{}, {"planarconfig": "separate"}, {"compression": "zlib"}])
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_colours(tmp_path, options, dtype):
    samples = made(dtype, 3)
    stored = samples.transpose(2, 0, 1) if "planarconfig" in options else samples
    np.testing.assert_array_equal(read_image(written(tmp_path / "a.tif", stored, photometric="rgb", **options)), samples)


def test_alpha_channels(tmp_path):
    samples = made("u1", 4)
    samples[..., 3] = np.where(samples[..., 3] % 2, 255, 0)
    path = written(tmp_path / "a.tif", samples, extrasamples=["unassalpha"])
    np.testing.assert_array_equal(read_image(path), samples[..., :3])
    np.testing.assert_array_equal(read_alpha(path), samples[..., 3] > 0)
    # A fourth band that is something else, as near infrared, is left out.
    path = written(tmp_path / "b.tif", samples, extrasamples=["unspecified"])
    assert read_alpha(path) is None
    np.testing.assert_array_equal(read_image(path), samples[..., :3])


@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "f4"])
def test_the_nodata_value_marks_pixels_without_data(tmp_path, dtype):
    samples = made(dtype)
    samples[2:5, 7:9] = 251
    path = written(tmp_path / "a.tif", samples, extratags=told(251))
    scene = pair_scene(path, written(tmp_path / "b.tif", made(dtype)), None)
    np.testing.assert_array_equal(scene.valid(0), samples != 251)
    assert scene.valid(1) is None
    # What holds nothing is filled from its row.
    assert np.isfinite(scene.reference).all()
    assert scene.reference.max() < 251


def test_nodata_of_all_channels(tmp_path):
    samples = made("u1", 3)
    samples[1, 2], samples[3, 4, :2] = 0, 0
    samples[3, 4, 2] = 9
    valid = read_alpha(written(tmp_path / "a.tif", samples, extratags=told(0)))
    assert not valid[1, 2]
    assert valid[3, 4]


@pytest.mark.parametrize(("dtype", "value"), [("u1", -9999), ("u1", "nan"), ("u1", "none"), ("u2", 0.5), ("f4", "nan")])
def test_nodata_that_no_sample_can_have(tmp_path, dtype, value):
    assert read_alpha(written(tmp_path / "a.tif", made(dtype), extratags=told(value))) is None


def test_the_lowest_float_as_gdal_writes_it(tmp_path):
    samples = made("f4")
    samples[0, 0] = np.finfo(np.float32).min
    image = read_image(written(tmp_path / "a.tif", samples, extratags=told("-3.40282346638529e+38")))
    assert np.argwhere(np.isnan(image)).tolist() == [[0, 0]]


def test_what_is_not_compressed_is_mapped_from_the_file(tmp_path):
    for dtype in ("u1", "f4"):
        samples = made(dtype)
        path = written(tmp_path / f"{dtype}.tif", samples)
        image, base = read_image(path), read_image(path)
        while isinstance(base, np.ndarray):
            base = base.base
        assert isinstance(base, mmap.mmap)
        image[:] = 7
        np.testing.assert_array_equal(read_image(path), samples)


def test_several_images(tmp_path):
    path, first = tmp_path / "a.tif", made("u1")
    with tifffile.TiffWriter(path) as file:
        file.write(first, photometric="minisblack", metadata=None)
        file.write(first[::2, ::2], photometric="minisblack", metadata=None, subfiletype=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(read_image(path), first)  # a smaller version of it is no other image
    with tifffile.TiffWriter(path, append=True) as file:
        file.write(first + 1, photometric="minisblack", metadata=None)
    with pytest.warns(DataWarning, match=r"a\.tif: holds several images, of which the first is read"):
        np.testing.assert_array_equal(read_image(path), first)


@pytest.mark.parametrize(
    ("array", "options", "said"),
    [
        (
            np.zeros((6, 8, 5), np.uint8),
            {"photometric": "minisblack", "planarconfig": "contig"},
            "has 5 bands; expected grey or RGB",
        ),
        (
            np.zeros((6, 8, 4), np.uint8),
            {"photometric": "minisblack", "planarconfig": "contig"},
            "has 4 bands; expected grey or RGB",
        ),
        (np.zeros((6, 8), np.complex64), {}, "holds complex64 samples; expected real numbers"),
        (np.zeros((60, 80), np.uint8), {}, "says 80x60 pixels; at most 1000 are read"),
        (np.zeros((6, 8), np.uint8), {"tile": (64, 64)}, "says 64x64 pixels; at most 1000 are read"),
    ],
)
def test_images_that_are_not_read(tmp_path, array, options, said):
    path = written(tmp_path / "a.tif", array, **options)
    with pixels(1000), pytest.raises(DataError, match=said):
        read_image(path)


def test_a_compression_that_nobody_here_knows(tmp_path):
    path = written(tmp_path / "a.tif", made("u1"), compression="zlib")
    data = path.read_bytes()
    with tifffile.TiffFile(path) as file:
        at = file.pages[0].tags["Compression"].valueoffset
    path.write_bytes(data[:at] + (50001).to_bytes(2, "little") + data[at + 2 :])
    with pytest.raises(
        DataError, match=r"not read \(WEBP, MINISBLACK, 8 bits\); write it without compression, as 'gdal_translate"
    ):
        read_image(path)


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


def test_maps_and_masks(tmp_path):
    disparity = made("f4")
    disparity[2] = -9999
    read = read_disparity(written(tmp_path / "d.tif", disparity, extratags=told(-9999)))
    np.testing.assert_array_equal(read, np.where(disparity == -9999, np.nan, disparity))
    with pytest.raises(DataError, match="holds int16 samples; expected 8 or 16 bits"):
        read_grey(written(tmp_path / "g.tif", made("i2")))
