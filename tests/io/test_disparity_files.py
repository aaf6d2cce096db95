"""Disparity maps are read and written in every supported file format."""

import naive_files
import numpy as np
import pytest
import tifffile

from stereo_framework.core.errors import DataError
from stereo_framework.io import (
    read_disparity,
    read_image,
    read_pfm,
    write_disparity,
    write_image,
    write_pfm,
)

NAN = np.nan


def check(disparity, expected):
    assert disparity.dtype == np.float32
    np.testing.assert_array_equal(disparity, np.array(expected, np.float32))


def grey(path, samples, dtype=np.uint8):
    write_image(path, np.array(samples, dtype))
    return path


def test_unknown_disparities_of_a_pfm_file_are_nan(tmp_path):
    write_pfm(tmp_path / "a.pfm", np.array([[1.5, np.inf, -np.inf], [NAN, 0, -2]]))
    check(read_disparity(tmp_path / "a.pfm"), [[1.5, NAN, NAN], [NAN, 0, -2]])


def test_a_picture_of_16_bits_has_the_scale_of_kitti(tmp_path):
    path = grey(tmp_path / "a.png", [[0, 1, 256, 65535]], np.uint16)
    check(read_disparity(path), [[NAN, 1 / 256, 1, 65535 / 256]])
    check(read_disparity(path, disparity_scale=64), [[NAN, 1 / 64, 4, 65535 / 64]])


@pytest.mark.parametrize("name", ["a.png", "a.pgm"])
def test_a_picture_of_8_bits_is_divided_by_its_scale(tmp_path, name):
    path = grey(tmp_path / name, [[0, 8, 20, 255]])
    check(read_disparity(path, disparity_scale=8), [[NAN, 1, 2.5, 255 / 8]])
    check(read_disparity(path, disparity_scale=8, unknown=None), [[0, 1, 2.5, 255 / 8]])
    check(
        read_disparity(path, disparity_scale=8, unknown=255, disparity_offset=-3),
        [[-3, -2, -0.5, NAN]],
    )


@pytest.mark.parametrize(
    ("dtype", "sample", "options", "expected"),
    [
        (np.uint16, 512, {"disparity_offset": -3}, -1),
        (np.uint16, 512, {"disparity_offset": 0.5}, 2.5),
        (np.uint16, 512, {"disparity_offset": -3, "disparity_scale": 64}, 5),
        (np.uint16, 512, {"disparity_offset": -3, "unknown": None}, -1),
        (np.uint8, 12, {"disparity_offset": -3, "disparity_scale": 4}, 0),
        (np.uint8, 12, {"disparity_offset": 1, "disparity_scale": 0.5}, 25),
        (np.uint8, 12, {"disparity_offset": 1, "disparity_scale": -4}, -2),
    ],
)
def test_the_offset_is_added_with_and_without_a_scale(tmp_path, dtype, sample, options, expected):
    path = grey(tmp_path / "a.png", [[0, sample]], dtype)
    unknown = options["disparity_offset"] if "unknown" in options else NAN
    check(read_disparity(path, **options), [[unknown, expected]])


def test_a_picture_of_8_bits_without_a_scale_is_refused(tmp_path):
    with pytest.raises(
        DataError,
        match=r"a\.pgm: an 8-bit disparity map needs its disparity scale, "
        r"the grey levels per pixel \(Tsukuba: 16",
    ):
        read_disparity(grey(tmp_path / "a.pgm", [[1]]))


def test_palette_of_greys_is_decoded(tmp_path):
    palette = [(b"PLTE", bytes([0, 0, 0, 80, 80, 80, 112, 112, 112]))]
    (tmp_path / "a.png").write_bytes(
        naive_files.png_bytes(np.array([[0, 1, 2]]), colour=3, extra=palette)
    )
    check(read_disparity(tmp_path / "a.png", disparity_scale=16), [[NAN, 5, 7]])


def test_pictures_from_which_values_cannot_be_recovered_are_refused(tmp_path):
    path = grey(tmp_path / "a.png", [[[10, 20, 30]]])
    with pytest.raises(
        DataError, match=r"a\.jpg: the file is a JPEG, whose compression changes values"
    ):
        read_disparity(grey(tmp_path / "a.jpg", [[1, 2]]), disparity_scale=4)
    with pytest.raises(
        DataError,
        match=r"a\.png: the file is in colour, and its 3 channels differ; expected one grey "
        r"channel; the file may be a colour-mapped picture",
    ):
        read_disparity(path, disparity_scale=4)
    write_pfm(tmp_path / "a.pfm", np.ones((2, 2, 3)))
    with pytest.raises(
        DataError,
        match=r"a.pfm: the array has shape \(2, 2, 3\); a disparity map has \(rows, columns\)",
    ):
        read_disparity(tmp_path / "a.pfm")


def test_arrays_of_numpy_files_are_disparities_in_pixels(tmp_path):
    values = np.array([[1.25, np.inf], [NAN, 3]])
    np.save(tmp_path / "a.npy", values)
    np.savez(tmp_path / "a.npz", first=values, second=np.zeros((1, 1, 1)))
    np.save(tmp_path / "i.npy", np.array([[0, 7]]))
    check(read_disparity(tmp_path / "a.npy"), [[1.25, NAN], [NAN, 3]])
    check(read_disparity(tmp_path / "a.npz"), [[1.25, NAN], [NAN, 3]])
    check(read_disparity(tmp_path / "i.npy"), [[0, 7]])


def test_any_file_may_have_a_scale_and_the_opposite_sign(tmp_path):
    write_pfm(tmp_path / "a.pfm", np.array([[-8, -4, np.inf]]))
    check(read_disparity(tmp_path / "a.pfm", disparity_scale=-1), [[8, 4, NAN]])
    check(read_disparity(tmp_path / "a.pfm", disparity_scale=0.5), [[-16, -8, NAN]])
    check(read_disparity(grey(tmp_path / "a.png", [[0, 8]]), disparity_scale=-2), [[NAN, -4]])


def test_scales_and_offsets_without_meaning_are_refused(tmp_path):
    write_pfm(tmp_path / "a.pfm", np.ones((2, 2)))
    with pytest.raises(
        DataError,
        match=r"a\.pfm: the file is not a grey picture, and disparity_offset 3 is the disparity "
        r"of grey 0",
    ):
        read_disparity(tmp_path / "a.pfm", disparity_offset=3)
    for scale in (0, NAN, np.inf):
        for path in (tmp_path / "a.pfm", grey(tmp_path / "a.png", [[1]])):
            with pytest.raises(
                DataError,
                match=r"the disparity scale is (0|nan|inf); expected a finite number other than 0",
            ):
                read_disparity(path, disparity_scale=scale)


MARKERS = [0, -1, -9999, -32768, 0.1, 1e9, 3.4028234663852886e38]


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("ending", ["pfm", "npy", "npz", "tif"])
def test_a_marker_in_floats_means_unknown_if_the_caller_names_it(tmp_path, ending, marker):
    path = tmp_path / f"a.{ending}"
    values = np.array([[1.5, marker, 3]], np.float32)
    if ending == "npz":
        np.savez(path, values)
    elif ending == "tif":
        tifffile.imwrite(path, values)
    else:
        write_disparity(path, values)
    check(read_disparity(path), values)
    check(read_disparity(path, unknown=None), values)
    check(read_disparity(path, unknown=marker), [[1.5, NAN, 3]])
    check(read_disparity(path, unknown=marker, disparity_scale=2), [[0.75, NAN, 1.5]])


@pytest.mark.filterwarnings("error")
def test_a_number_beyond_float32_is_unknown(tmp_path):
    values = np.array([[1.5, -np.finfo(np.float64).max, 3]])
    tifffile.imwrite(tmp_path / "a.tif", values)
    np.save(tmp_path / "a.npy", values)
    for name in ("a.tif", "a.npy"):
        check(read_disparity(tmp_path / name), [[1.5, NAN, 3]])


def test_a_marker_that_a_picture_cannot_hold_is_refused(tmp_path):
    path = grey(tmp_path / "a.png", [[0, 8]])
    for marker in (-1, 256, 0.5, np.inf):
        with pytest.raises(
            DataError,
            match=r"a\.png: the file stores numbers of type uint8, so its value .*"
            r"expected a whole number from 0 to 255",
        ):
            read_disparity(path, disparity_scale=4, unknown=marker)


@pytest.mark.parametrize("dtype", ["i2", "i4", "u4"])
def test_integers_of_opencv_in_arrays_and_tiff_files(tmp_path, dtype):
    marker = 0 if dtype == "u4" else -16
    values = np.array([[marker, 24, 33]]).astype(dtype)
    np.save(tmp_path / "cv.npy", values)
    tifffile.imwrite(tmp_path / "cv.tif", values)
    for name in ("cv.npy", "cv.tif"):
        check(read_disparity(tmp_path / name, disparity_scale=16), [[marker / 16, 1.5, 2.0625]])
        check(
            read_disparity(tmp_path / name, disparity_scale=16, unknown=marker),
            [[NAN, 1.5, 2.0625]],
        )
    # Without a scale, the integers of a .npy file are whole pixels.
    check(read_disparity(tmp_path / "cv.npy"), values)
    with pytest.raises(
        DataError,
        match=r"cv\.tif: the file has u?int(16|32) samples, and no disparity scale is given; "
        r".*OpenCV's StereoSGBM and StereoBM: 16",
    ):
        read_disparity(tmp_path / "cv.tif")


def test_an_archive_of_several_arrays_gives_the_one_that_is_called_disparity(tmp_path):
    truth = np.full((2, 3), 7.0)
    confidence = np.full((2, 3), 0.5)
    bands = np.zeros((2, 3, 3), np.uint8)
    np.savez_compressed(tmp_path / "a.npz", confidence=confidence, Disparity=truth)
    check(read_disparity(tmp_path / "a.npz"), truth)
    np.savez(
        tmp_path / "b.npz",
        mask=truth > 3,
        names=np.array(["left"]),
        scale=np.array(2.0),
        picture=bands,
        map=truth,
    )
    check(read_disparity(tmp_path / "b.npz"), truth)
    np.savez(tmp_path / "c.npz", confidence=confidence, left=truth)
    with pytest.raises(DataError) as error:
        read_disparity(tmp_path / "c.npz")
    assert "2 of its arrays may be the disparity" in str(error.value)
    assert (
        "confidence (float64 (2, 3)), left (float64 (2, 3)); give the correct array the name "
        "'disparity'" in str(error.value)
    )
    np.savez(tmp_path / "d.npz", rgb=bands, mask=truth > 3)
    with pytest.raises(
        DataError,
        match=r"none of its arrays may be the disparity, .*rgb \(uint8 \(2, 3, 3\)\), mask \(bool",
    ):
        read_disparity(tmp_path / "d.npz")


def test_an_archive_of_several_images_is_refused_unless_one_is_called_image(tmp_path):
    left = np.full((2, 3, 3), 9.0)
    right = np.full((2, 3, 3), 8.0)
    np.savez(tmp_path / "a.npz", left=left, right=right)
    with pytest.raises(
        DataError, match=r"2 of its arrays may be the image, .*left \(float64 \(2, 3, 3\)\), right"
    ):
        read_image(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", other=right, image=left)
    np.testing.assert_array_equal(read_image(tmp_path / "b.npz"), left)


def test_the_array_of_an_archive_is_not_unpacked_beyond_the_limit(tmp_path, monkeypatch):
    np.savez_compressed(
        tmp_path / "a.npz", disparity=np.zeros((400, 400)), confidence=np.zeros((400, 400))
    )
    monkeypatch.setenv("STEREO_MAX_PIXELS", "1000")
    with pytest.raises(
        DataError, match=r"a\.npz: the array unpacks to 1280128 bytes; at most \d+ are read"
    ):
        read_disparity(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("name", "scale", "step"),
    [
        ("a.pfm", None, 0),
        ("a.npy", None, 0),
        ("a.png", None, 256),
        ("a.png", 4, 4),
        ("a.pgm", 3, 3),
    ],
)
def test_a_written_map_is_read_again(tmp_path, name, scale, step):
    disparity = np.random.default_rng(0).uniform(0.5, 60, (9, 7)).astype(np.float32)
    disparity[2:4, 3] = NAN
    disparity[0, 0] = 0
    write_disparity(tmp_path / name, disparity, disparity_scale=scale)
    read_map = read_disparity(tmp_path / name, disparity_scale=scale)
    np.testing.assert_array_equal(np.isnan(read_map), np.isnan(disparity))
    rounding_error = 0.5 / step if step else 0
    np.testing.assert_allclose(
        read_map.ravel()[1:], disparity.ravel()[1:], rtol=1e-6, atol=rounding_error
    )
    # Grey 0 means unknown, so a known 0 becomes grey 1.
    disparity_of_grey_1 = 1 / step if step else 0
    assert read_map[0, 0] == pytest.approx(disparity_of_grey_1)
    # Unknown disparities are infinite in PFM files.
    if name == "a.pfm":
        assert read_pfm(tmp_path / name)[2, 3] == np.inf


@pytest.mark.parametrize(
    ("name", "disparity", "scale", "message"),
    [
        (
            "a.jpg",
            [[1.0]],
            None,
            "a disparity map cannot be written with the file extension '.jpg'; allowed: "
            ".pfm, .png, .pgm, .npy, .tif",
        ),
        ("a.pgm", [[1.0]], None, "needs its disparity scale"),
        ("a.png", [[1.0]], -1, "the disparity scale is -1; expected a number above 0"),
        (
            "a.pfm",
            [[1.0]],
            4,
            "'disparity_scale' cannot be used with .pfm, which stores disparities in pixels",
        ),
        (
            "a.png",
            [[3.0, 64.0]],
            4,
            r"disparities 3..64 do not fit 0..63.75, the range of 8 bits with disparity scale 4; "
            r"write a .pfm",
        ),
        (
            "a.png",
            [[-3.0, np.inf]],
            None,
            r"disparities -3..-3 do not fit 0..255.996, the range of 16 bits with disparity "
            r"scale 256",
        ),
        ("a.png", [1.0], None, r"shape \(1,\) is not a disparity map"),
    ],
)
def test_maps_that_a_format_cannot_store_are_refused(tmp_path, name, disparity, scale, message):
    with pytest.raises(DataError, match=message):
        write_disparity(tmp_path / name, np.array(disparity, np.float32), disparity_scale=scale)


@pytest.mark.parametrize(
    ("flow", "expected"), [(999_999_936.0, -999_999_936.0), (1e9, NAN), (-1e9, NAN), (-3, 3)]
)
@pytest.mark.parametrize("vertical", [0.0, 1e9])
def test_a_flow_of_a_thousand_million_pixels_is_unknown(tmp_path, flow, expected, vertical):
    size = np.array([1, 1], "<i4").tobytes()
    (tmp_path / "a.flo").write_bytes(b"PIEH" + size + np.float32([flow, vertical]).tobytes())
    check(read_disparity(tmp_path / "a.flo"), [[NAN if vertical else expected]])
