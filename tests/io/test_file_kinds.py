"""File formats that are read or refused, and placeholders that replace missing files.

An example of a placeholder is a pointer of Git LFS.
"""

import bz2
import gzip
import io
import lzma
import pickle
import zipfile

import cv2
import numpy as np
import PIL.Image
import pytest
import tifffile

from stereo_framework.core.errors import DataError
from stereo_framework.io import read_disparity, read_image
from stereo_framework.io.calibration import read_any_calibration

ROWS, COLUMNS = np.mgrid[:60, :100]
MAP = (20 + 0.1 * COLUMNS).astype(np.float32)
GREY = (MAP * 8).astype(np.uint8)
COLOUR = np.stack([GREY, GREY + 3, 255 - GREY], -1)
PFM = b"Pf\n100 60\n-1\n" + MAP[::-1].tobytes()


def picture(form, samples=GREY, **options):
    """Encode a picture with Pillow, and return the bytes of the file."""
    buffer = io.BytesIO()
    PIL.Image.fromarray(samples).save(buffer, form, **options)
    return buffer.getvalue()


def archive(**members):
    """Return the bytes of a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def array(values):
    """Return the bytes of a ``.npy`` file."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue()


def flow(u, v):
    """Return the bytes of a ``.flo`` file."""
    size = np.array([100, 60], "<i4").tobytes()
    components = np.stack([u, v], -1).astype("<f4").tobytes()
    return b"PIEH" + size + components


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 24128\n"
PAGE = b"\n<!DOCTYPE html>\n<html><body>Please sign in</body></html>"


@pytest.mark.parametrize(
    ("name", "content", "kind", "remedy"),
    [
        ("a.gif", picture("GIF"), "is a GIF picture", "convert it to PNG or TIFF"),
        ("a.png", picture("GIF"), "is a GIF picture", "convert it to PNG or TIFF"),
        ("a.jp2", picture("JPEG2000"), "is a JPEG 2000 picture", "convert it to PNG or TIFF"),
        ("a.exr", b"v/1\x01\x02\0\0\0" + bytes(90), "is an OpenEXR picture", "convert it"),
        ("a.pbm", b"P4 8 2\n\1\2", "is a bitmap with 1 bit", "convert it"),
        ("a.heic", b"\0\0\0\x18ftypheic" + bytes(90), "is a HEIC or AVIF picture", "convert it"),
        ("a.mp4", b"\0\0\0\x18ftypisom" + bytes(90), "is a video", "convert it"),
        ("a.pfm.gz", gzip.compress(PFM), "is compressed with gzip", "gunzip"),
        ("a.pfm", gzip.compress(PFM), "is compressed with gzip", "gunzip"),
        ("a.npy", gzip.compress(array(MAP)), "is compressed with gzip", "gunzip"),
        ("a.npy", bz2.compress(array(MAP)), "is compressed with bzip2", "bunzip2"),
        ("a.png", lzma.compress(PFM), "is compressed with xz", "unxz"),
        ("a.npy", PFM, "is a PFM file", "ends with .pfm"),
        ("a.npy", picture("PNG"), "is a PNG picture", "ends with .png"),
        ("a.pfm", array(MAP), "is a NumPy array", "ends with .npy"),
        ("a.pfm", picture("PNG"), "is a PNG picture", "ends with .png"),
        ("a.flo", PFM, "is a PFM file", "ends with .pfm"),
        ("a.png", flow(-MAP, 0 * MAP), "is an optical flow file (.flo)", "ends with .flo"),
        ("a.npy", pickle.dumps(MAP), "is a Python pickle", "numpy.save"),
        ("a.mat", b"MATLAB 5.0 MAT-file, Platform" + bytes(90), "is a MATLAB file", "numpy.save"),
        ("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(90), "is an HDF5 file", "numpy.save"),
        (
            "a.npz",
            archive(**{"readme.txt": "no array"}),
            "is an archive without an array",
            "numpy.savez",
        ),
        ("a.npz", archive(), "is an archive without an array", "numpy.savez"),
        ("a.npy", array(np.array([[None]])), "has Python objects", "save it again"),
        (
            "a.npz",
            archive(**{"a.npy": array(np.array([[{}]]))}),
            "has Python objects",
            "save it again",
        ),
        (
            "a.webp",
            picture("WEBP", quality=80),
            "is a WebP whose compression changes values",
            "expected PNG or PGM",
        ),
        ("a.png", LFS, "is a pointer of Git LFS", "git lfs pull"),
        ("a.npy", LFS, "is a pointer of Git LFS", "git lfs pull"),
        (
            "a.pfm",
            b"/annex/objects/SHA256E-s1--0.pfm\n",
            "is a pointer of git-annex",
            "git annex get",
        ),
        (
            "a.png",
            PAGE,
            "is a web page (HTML), which a server may have sent in place of the file",
            "download the file again",
        ),
    ],
)
def test_a_map_of_another_format_is_refused_with_the_format_and_a_remedy(
    tmp_path, name, content, kind, remedy
):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_disparity(path, disparity_scale=8)
    message = str(error.value)
    assert message.startswith(f"{path}: the file {kind}")
    assert remedy in message
    assert "damaged" not in message
    assert "allow_pickle" not in message


@pytest.mark.parametrize("content", [LFS, PAGE])
def test_a_text_in_place_of_a_calibration_is_refused(tmp_path, content):
    path = tmp_path / "calib.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"is a pointer of Git LFS|is a web page"):
        read_any_calibration(path)


def test_a_plain_pgm_or_ppm_has_the_same_values_as_one_of_bytes(tmp_path):
    grey = tmp_path / "a.pgm"
    grey.write_text(
        "P2\n# a comment\n100 60\n255\n"
        + "\n".join(" ".join(map(str, row)) for row in GREY)
        + "\n# the end\n"
    )
    np.testing.assert_array_equal(read_image(grey), GREY)
    np.testing.assert_array_equal(
        read_disparity(grey, disparity_scale=8), (GREY / 8).astype(np.float32)
    )
    colour = tmp_path / "a.ppm"
    colour.write_text("P3 100 60 255 " + " ".join(map(str, COLOUR.ravel())))
    np.testing.assert_array_equal(read_image(colour), COLOUR)
    deep = tmp_path / "deep.pgm"
    deep.write_text("P2 2 1 65535\n256 512")
    np.testing.assert_array_equal(read_disparity(deep), np.float32([[1, 2]]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "P2 2 2 255\n1 2 3",
            "an image of 2x2 pixels needs 4 samples after the header, but the file has 3",
        ),
        ("P2 2 1 255\n1 -2", "has b'-2' among its samples"),
        ("P2 2 1 255\n1 2.5", "has b'2.5' among its samples"),
        ("P2 2 1 100\n1 101", "has the grey value 101, but the header states 100 as the largest"),
        ("P2 900000 900000 255\n1", "pixels; at most"),
    ],
)
def test_samples_of_a_plain_pgm_are_checked(tmp_path, text, message):
    path = tmp_path / "a.pgm"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_image(path)
    assert message in str(error.value)


@pytest.mark.parametrize(("samples", "lossless"), [(GREY, True), (COLOUR, True), (COLOUR, False)])
def test_webp_is_an_image(tmp_path, samples, lossless):
    path = tmp_path / "a.webp"
    path.write_bytes(picture("WEBP", samples, lossless=lossless, quality=95))
    image = read_image(path)
    expected = samples if samples.ndim == 3 else np.dstack([samples] * 3)
    assert np.abs(image.astype(int) - expected).max() <= (0 if lossless else 60)
    assert image.dtype == np.uint8


def test_a_lossless_webp_with_grey_values_is_a_map(tmp_path):
    path = tmp_path / "a.webp"
    path.write_bytes(picture("WEBP", lossless=True))
    np.testing.assert_array_equal(
        read_disparity(path, disparity_scale=8), (GREY / 8).astype(np.float32)
    )


def test_transparent_pixels_of_a_webp_have_no_data(tmp_path):
    alpha = np.where(ROWS < 5, 0, 255).astype(np.uint8)
    path = tmp_path / "a.webp"
    path.write_bytes(picture("WEBP", np.dstack([COLOUR, alpha]), lossless=True, exact=True))
    image = read_image(path, masked=True)
    np.testing.assert_array_equal(image.mask[..., 0], ROWS < 5)


@pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 80}])
def test_the_size_of_a_webp_is_checked_before_it_is_decoded(tmp_path, monkeypatch, options):
    path = tmp_path / "a.webp"
    path.write_bytes(picture("WEBP", COLOUR, **options))
    monkeypatch.setenv("STEREO_MAX_PIXELS", "5999")
    with pytest.raises(DataError, match="100x60 pixels; at most 5999"):
        read_image(path)


@pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 80}])
def test_every_truncation_of_a_webp_is_found(tmp_path, options):
    path = tmp_path / "a.webp"
    whole = picture("WEBP", COLOUR, **options)
    for length in (13, 20, 29, len(whole) // 2, len(whole) - 2):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"is truncated|may be damaged"):
            read_image(path)


def test_an_animation_is_refused(tmp_path):
    first, second = (PIL.Image.fromarray(samples) for samples in (COLOUR, 255 - COLOUR))
    path = tmp_path / "a.webp"
    first.save(path, save_all=True, append_images=[second])
    with pytest.raises(
        DataError, match="is a WebP animation, which has several pictures; save one of them"
    ):
        read_image(path)


def test_an_optical_flow_is_a_map_of_negated_horizontal_components(tmp_path):
    path = tmp_path / "a.flo"
    u = np.where(ROWS < 15, np.float32(1e10), -MAP)
    path.write_bytes(flow(u, 0 * MAP))
    np.testing.assert_array_equal(
        read_disparity(path), np.where(ROWS < 15, np.nan, MAP).astype(np.float32)
    )
    path.write_bytes(flow(MAP, 0 * MAP))
    np.testing.assert_array_equal(read_disparity(path, disparity_scale=-1), MAP)
    path.write_bytes(flow(-MAP, 0 * MAP)[:-1])
    with pytest.raises(
        DataError,
        match="the header states 100x60 pixels, which need 48000 bytes after the header, but "
        "the file has 47999",
    ):
        read_disparity(path)


def test_files_of_several_values_for_a_pixel_name_their_kind_and_two_remedies(tmp_path):
    coded = tmp_path / "sintel.png"
    cv2.imwrite(str(coded), np.stack([0 * GREY, GREY, 255 - GREY], -1))
    with pytest.raises(DataError) as error:
        read_disparity(coded, disparity_scale=4)
    message = str(error.value)
    assert "the file may be a colour-mapped picture" in message
    assert (
        "write the values themselves as PFM or grey PNG, or decode them with your own reader"
        in message
    )

    bands = tmp_path / "bands.tif"
    tifffile.imwrite(bands, np.stack([MAP, 0 * MAP, 1 + 0 * MAP], -1), photometric="rgb")
    with pytest.raises(DataError) as error:
        read_disparity(bands)
    assert (
        "has 3 bands of float32 samples, which differ; expected one band; write the band that is "
        "needed" in str(error.value)
    )
    assert "colour" not in str(error.value)
