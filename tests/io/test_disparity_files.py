"""Disparity maps in every encoding, against arithmetic."""

import naive_files
import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.io import read_disparity, read_pfm, write_disparity, write_image, write_pfm

NAN = np.nan


def check(disparity, expected):
    assert disparity.dtype == np.float32
    np.testing.assert_array_equal(disparity, np.array(expected, np.float32))


def grey(path, samples, dtype=np.uint8):
    write_image(path, np.array(samples, dtype))
    return path


def test_pfm_holes_are_nan(tmp_path):
    write_pfm(tmp_path / "a.pfm", np.array([[1.5, np.inf, -np.inf], [NAN, 0, -2]]))
    check(read_disparity(tmp_path / "a.pfm"), [[1.5, NAN, NAN], [NAN, 0, -2]])


def test_sixteen_bits_as_kitti(tmp_path):
    path = grey(tmp_path / "a.png", [[0, 1, 256, 65535]], np.uint16)
    check(read_disparity(path), [[NAN, 1 / 256, 1, 65535 / 256]])
    check(read_disparity(path, scale=64), [[NAN, 1 / 64, 4, 65535 / 64]])


@pytest.mark.parametrize("name", ["a.png", "a.pgm"])
def test_eight_bits_with_scale(tmp_path, name):
    path = grey(tmp_path / name, [[0, 8, 20, 255]])
    check(read_disparity(path, scale=8), [[NAN, 1, 2.5, 255 / 8]])
    check(read_disparity(path, scale=8, unknown=None), [[0, 1, 2.5, 255 / 8]])
    check(read_disparity(path, scale=8, unknown=255, minimum=-3), [[-3, -2, -0.5, NAN]])


def test_eight_bits_without_scale(tmp_path):
    with pytest.raises(
        DataError, match=r"a\.pgm: an 8-bit disparity map needs its scale, the grey levels per pixel \(Tsukuba: 16"
    ):
        read_disparity(grey(tmp_path / "a.pgm", [[1]]))


def test_palette_of_greys_is_decoded(tmp_path):
    palette = [(b"PLTE", bytes([0, 0, 0, 80, 80, 80, 112, 112, 112]))]
    (tmp_path / "a.png").write_bytes(naive_files.png_bytes(np.array([[0, 1, 2]]), colour=3, extra=palette))
    check(read_disparity(tmp_path / "a.png", scale=16), [[NAN, 5, 7]])


def test_pictures_whose_values_are_lost(tmp_path):
    path = grey(tmp_path / "a.png", [[[10, 20, 30]]])
    with pytest.raises(DataError, match=r"a\.jpg: is a JPEG, whose compression changes values"):
        read_disparity(grey(tmp_path / "a.jpg", [[1, 2]]), scale=4)
    with pytest.raises(DataError, match=r"a\.png: is in colour: it looks like a colour-mapped picture"):
        read_disparity(path, scale=4)
    write_pfm(tmp_path / "a.pfm", np.ones((2, 2, 3)))
    with pytest.raises(DataError, match=r"a.pfm: has shape \(2, 2, 3\); a disparity map is \(rows, columns\)"):
        read_disparity(tmp_path / "a.pfm")


def test_numpy_files(tmp_path):
    values = np.array([[1.25, np.inf], [NAN, 3]])
    np.save(tmp_path / "a.npy", values)
    np.savez(tmp_path / "a.npz", first=values, second=np.zeros((1, 1)))
    np.save(tmp_path / "i.npy", np.array([[0, 7]]))
    check(read_disparity(tmp_path / "a.npy"), [[1.25, NAN], [NAN, 3]])
    check(read_disparity(tmp_path / "a.npz"), [[1.25, NAN], [NAN, 3]])
    check(read_disparity(tmp_path / "i.npy"), [[0, 7]])


def test_scale_is_for_pictures(tmp_path):
    write_pfm(tmp_path / "a.pfm", np.ones((2, 2)))
    for wrong in ({"scale": 16}, {"minimum": 3}):
        with pytest.raises(DataError, match="holds disparities in pixels; scale and minimum are for grey pictures"):
            read_disparity(tmp_path / "a.pfm", **wrong)
    for scale in (0, -2, NAN):
        with pytest.raises(DataError, match=r"scale .* is not above 0"):
            read_disparity(grey(tmp_path / "a.png", [[1]]), scale=scale)


@pytest.mark.parametrize(
    ("name", "scale", "step"), [("a.pfm", None, 0), ("a.npy", None, 0), ("a.png", None, 256), ("a.png", 4, 4), ("a.pgm", 3, 3)]
)
def test_round_trip(tmp_path, name, scale, step):
    disparity = np.random.default_rng(0).uniform(0.5, 60, (9, 7)).astype(np.float32)
    disparity[2:4, 3] = NAN
    disparity[0, 0] = 0
    write_disparity(tmp_path / name, disparity, scale=scale)
    again = read_disparity(tmp_path / name, scale=scale)
    np.testing.assert_array_equal(np.isnan(again), np.isnan(disparity))
    np.testing.assert_allclose(again.ravel()[1:], disparity.ravel()[1:], rtol=1e-6, atol=0.5 / step if step else 0)
    # grey 0 is taken, so a known 0 becomes the next level
    assert again[0, 0] == (pytest.approx(1 / step) if step else 0)
    if name == "a.pfm":  # holes are infinite there
        assert read_pfm(tmp_path / name)[2, 3] == np.inf


@pytest.mark.parametrize(
    ("name", "disparity", "scale", "message"),
    [
        ("a.jpg", [[1.0]], None, "unknown ending '.jpg' for a disparity map; legal: .pfm, .png, .pgm, .npy, .tif"),
        ("a.pgm", [[1.0]], None, "needs its scale"),
        ("a.png", [[1.0]], -1, "scale -1 is not above 0"),
        ("a.pfm", [[1.0]], 4, ".pfm holds pixels; a scale is for .png and .pgm"),
        ("a.png", [[3.0, 64.0]], 4, r"disparities 3..64 do not fit 0..63.75, what 8 bits hold at scale 4; write a .pfm"),
        ("a.png", [[-3.0, np.inf]], None, r"disparities -3..-3 do not fit 0..255.996, what 16 bits hold at scale 256"),
        ("a.png", [1.0], None, r"shape \(1,\) is not a disparity map"),
    ],
)
def test_write_refuses(tmp_path, name, disparity, scale, message):
    with pytest.raises(DataError, match=message):
        write_disparity(tmp_path / name, np.array(disparity, np.float32), scale=scale)
