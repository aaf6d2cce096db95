"""Image files are read and written correctly, and damaged image files are refused."""

import math
import os
import re
import struct
import subprocess
import sys
import warnings

import cv2
import naive_files
import numpy as np
import pytest

from stereo_framework.core.errors import DataError, ResultWarning
from stereo_framework.io import (
    image_containers,
    read_grey,
    read_image,
    read_mask,
    write_image,
    write_pfm,
)


@pytest.fixture
def grey():
    return np.random.default_rng(1).integers(0, 256, (11, 13), dtype=np.uint8)


@pytest.fixture
def colour():
    return np.random.default_rng(2).integers(0, 256, (11, 13, 3), dtype=np.uint8)


def written(path, data):
    path.write_bytes(data)
    return path


def without_data(path):
    """Return a mask that is True at the pixels of an image file without data."""
    return np.ma.getmaskarray(read_image(path, masked=True))


def same(image, expected, dtype=np.uint8):
    assert image.dtype == dtype
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"P5\n3 2\n255\n\0\1\2\3\4\5", [[0, 1, 2], [3, 4, 5]]),
        (b"P5 3 2 255 \0\1\2\3\4\5", [[0, 1, 2], [3, 4, 5]]),
        (b"P5\n# by hand\n3 # columns\n2\n#\n255\n\0\1\2\3\4\5", [[0, 1, 2], [3, 4, 5]]),
        # After the header, bytes of white space and "#" are pixel values.
        (b"P5 3 2 255\n\n# \t\r#", [[10, 35, 32], [9, 13, 35]]),
        (b"P6 2 1 255\n\1\2\3\4\5\6", [[[1, 2, 3], [4, 5, 6]]]),
    ],
)
def test_pgm_and_ppm_files_of_bytes_are_read(tmp_path, data, expected):
    same(read_image(written(tmp_path / "a.pgm", data)), expected)


@pytest.mark.parametrize(
    ("largest", "dtype", "samples"),
    [(255, np.uint8, [255, 1]), (256, np.uint16, [256, 1]), (257, np.uint16, [257, 255])],
)
@pytest.mark.parametrize("kind", [2, 5])
def test_the_largest_grey_determines_the_bytes_of_a_sample(tmp_path, largest, dtype, samples, kind):
    if kind == 2:
        body = " ".join(map(str, samples)).encode()
    else:
        stored_type = ">u2" if dtype == np.uint16 else np.uint8
        body = np.array(samples, stored_type).tobytes()
    path = written(tmp_path / "a.pgm", f"P{kind} 2 1 {largest}\n".encode() + body)
    grey_levels = read_grey(path)
    assert grey_levels.dtype == dtype
    assert grey_levels.tolist() == [samples]


def test_the_largest_grey_of_a_header_becomes_255(tmp_path):
    samples = np.array([[0, 257, 1000], [65535, 128, 30000]])
    image = read_image(
        written(tmp_path / "a.pgm", b"P5 3 2 65535\n" + samples.astype(">u2").tobytes())
    )
    same(image, (samples / 257).astype(np.float32), np.float32)
    image = read_image(written(tmp_path / "a.pgm", b"P5 3 1 15\n\x00\x03\x0f"))
    same(image, np.array([[0, 51, 255]], np.float32), np.float32)


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize(("kind", "channels"), [(0, 1), (2, 3), (4, 2), (6, 4)])
def test_every_kind_of_png(tmp_path, kind, channels, depth, capfd):
    """Read grey and colour PNG files, with and without an alpha channel.

    The gamma value and the colour profile of the file are ignored.
    """
    samples = np.random.default_rng(5).integers(1, 2**depth, (11, 13, channels))
    missing = np.zeros((11, 13), bool)
    if kind >= 4:
        missing = samples[..., -1] % 3 == 0
        samples[missing, -1] = 0
        # A pixel with alpha 1 is nearly transparent, but only alpha 0 means no data.
        samples[0, 0, -1] = 1
        missing[0, 0] = False
    extra = [(b"gAMA", struct.pack(">I", 100000)), (b"iCCP", b"broken\0\0nothing")]
    path = written(
        tmp_path / "a.png", naive_files.png_bytes(samples, colour=kind, depth=depth, extra=extra)
    )
    shown = samples[..., :3] if channels > 2 else samples[..., 0]
    if depth == 8:
        same(read_image(path), shown)
    else:
        same(read_image(path), (shown / 257).astype(np.float32), np.float32)
    np.testing.assert_array_equal(np.atleast_3d(without_data(path))[..., 0], missing)
    if channels < 3:
        same(read_grey(path), shown, f"u{depth // 8}")
    assert capfd.readouterr() == ("", "")


def test_palettes_are_decoded_without_their_transparency(tmp_path, grey):
    palette = np.random.default_rng(3).integers(0, 256, (256, 3), dtype=np.uint8)
    extra = [(b"PLTE", palette.tobytes()), (b"tRNS", bytes(range(256)))]
    grey[0, 0] = 0
    path = written(tmp_path / "a.png", naive_files.png_bytes(grey, colour=3, extra=extra))
    same(read_image(path), palette[grey])
    assert not without_data(path).any()


@pytest.mark.parametrize("ending", ["bmp", "tif", "jpg"])
def test_bmp_tiff_and_jpeg_images_are_read(tmp_path, ending):
    image = np.full((16, 16, 3), (200, 100, 50), np.uint8)
    data = cv2.imencode(f".{ending}", image[..., ::-1])[1].tobytes()
    tolerance = 3 if ending == "jpg" else 0
    read = read_image(written(tmp_path / f"a.{ending}", data))
    np.testing.assert_allclose(read, image, atol=tolerance)


def test_the_fourth_channel_of_a_bmp_is_not_alpha(tmp_path):
    image = np.dstack([np.full((5, 4, 3), 9, np.uint8), np.zeros((5, 4), np.uint8)])
    # The file has the wrong extension, because the content determines the format.
    path = written(tmp_path / "a.jpg", cv2.imencode(".bmp", image)[1].tobytes())
    assert not without_data(path).any()


def test_pixels_without_data_are_written_and_read(tmp_path, grey, colour):
    for image in (grey, colour):
        write_image(tmp_path / "a.png", image, grey % 3 > 0)
        same(read_image(tmp_path / "a.png"), image)
        np.testing.assert_array_equal(
            np.atleast_3d(without_data(tmp_path / "a.png"))[..., 0], grey % 3 == 0
        )
    assert not isinstance(
        read_image(written(tmp_path / "d.pgm", b"P5 2 1 255\n\0\1"), masked=True), np.ma.MaskedArray
    )


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 3)])
def test_nan_in_files_of_numbers_is_kept(tmp_path, shape):
    image = np.linspace(0, 255, math.prod(shape), dtype=np.float32).reshape(shape)
    image[1, 2] = np.nan
    np.save(tmp_path / "a.npy", image)
    same(read_image(tmp_path / "a.npy"), image, np.float32)
    if len(shape) == 2:
        write_pfm(tmp_path / "a.pfm", image)
        same(read_image(tmp_path / "a.pfm"), image, np.float32)
    np.save(tmp_path / "b.npy", image[None, None])
    with pytest.raises(
        DataError, match=r"b.npy: the array has shape .*; an image has \(rows, columns\[, 3\]\)"
    ):
        read_image(tmp_path / "b.npy")


def encoded(ending, grey, colour):
    if ending == "pgm":
        return b"P5 13 11 255\n" + grey.tobytes()
    if ending == "ppm":
        return b"P6 13 11 255\n" + colour.tobytes()
    if ending == "png":
        return naive_files.png_bytes(colour, colour=2)
    return cv2.imencode(f".{ending}", colour)[1].tobytes()


@pytest.mark.parametrize("ending", ["pgm", "ppm", "png", "jpg", "bmp", "tif"])
def test_every_truncation_is_found_and_nothing_else_is_printed(
    tmp_path, grey, colour, ending, capfd
):
    data = encoded(ending, grey, colour)
    assert read_image(written(tmp_path / f"whole.{ending}", data)).shape[:2] == (11, 13)
    lengths = [*range(1, len(data) - 4, max(1, len(data) // 40))]
    # The last bytes of some files are not needed: OpenCV writes the directory of a TIFF
    # after its pixels, and the last row of a BMP may be padded.
    if ending not in ("tif", "bmp"):
        lengths.append(len(data) - 1)
    for length in lengths:
        with pytest.raises(DataError, match=r"is truncated|not an image|no valid header"):
            read_image(written(tmp_path / "cut", data[:length]))
    assert capfd.readouterr() == ("", "")


def test_messages_about_truncated_files_name_the_missing_part(tmp_path, grey):
    with pytest.raises(
        DataError,
        match=r"a\.pgm: the file is truncated: an image of 13x11 pixels needs 143 samples "
        r"after the header, but the file has 142$",
    ):
        read_image(written(tmp_path / "a.pgm", b"P5 13 11 255\n" + grey.tobytes()[:-1]))
    jpeg = cv2.imencode(".jpg", grey)[1].tobytes()
    with pytest.raises(
        DataError, match=r"a\.jpg: the file is truncated: the JPEG has no end marker$"
    ):
        read_image(written(tmp_path / "a.jpg", jpeg[:-2]))
    data = naive_files.png_bytes(grey, colour=0)
    with pytest.raises(
        DataError,
        match=f"a.png: the file is truncated: the PNG ends early after {len(data) - 3} bytes$",
    ):
        read_image(written(tmp_path / "a.png", data[:-3]))


def test_a_damaged_png_is_found_by_its_checksum(tmp_path, grey):
    data = bytearray(naive_files.png_bytes(grey, colour=0))
    data[60] ^= 4
    with pytest.raises(DataError, match="is damaged: a checksum in the PNG does not match"):
        read_image(written(tmp_path / "a.png", bytes(data)))


def test_a_png_with_too_few_pixels_is_refused(tmp_path, grey):
    with pytest.raises(DataError, match="may be damaged, truncated or not an image"):
        read_image(written(tmp_path / "a.png", naive_files.png_bytes(grey, colour=0, drop=20)))


def test_a_missing_file_is_reported_with_the_most_similar_name(tmp_path):
    (tmp_path / "im2.png").write_bytes(b"x")
    with pytest.raises(
        DataError,
        match=rf"im6\.png: no such file in the folder {tmp_path}; did you mean '.*im2\.png'\?$",
    ):
        read_image(tmp_path / "im6.png")
    with pytest.raises(DataError, match=rf"no such file in the folder {tmp_path}$"):
        read_image(tmp_path / "quite_another.tif")
    (tmp_path / "images").mkdir()
    with pytest.raises(DataError, match=r"there is no folder .*image; did you mean '.*images'\?$"):
        read_image(tmp_path / "image" / "a.png")
    with pytest.raises(DataError, match="is a folder; expected a file"):
        read_image(tmp_path)


def test_a_mask_is_true_at_white_pixels(tmp_path):
    samples = np.array([[0, 128, 254, 255]], np.uint8)
    same(
        read_mask(written(tmp_path / "a.png", naive_files.png_bytes(samples, colour=0))),
        [[False, False, False, True]],
        bool,
    )
    palette = [(b"PLTE", bytes([0, 0, 0, 255, 255, 255, 128, 128, 128]))]
    path = written(
        tmp_path / "p.png", naive_files.png_bytes(np.array([[0, 1, 2]]), colour=3, extra=palette)
    )
    same(read_grey(path), [[0, 255, 128]])
    same(read_mask(path), [[False, True, False]], bool)
    with pytest.raises(
        DataError,
        match="its 3 channels differ; expected one grey channel; "
        "the file may be a colour-mapped picture",
    ):
        read_grey(written(tmp_path / "c.ppm", b"P6 1 1 255\n\x01\x01\x02"))


def test_a_jpeg_is_refused_as_a_map_or_a_mask(tmp_path, grey):
    path = written(tmp_path / "a.png", cv2.imencode(".jpg", grey)[1].tobytes())
    for read in (read_grey, read_mask):
        with pytest.raises(
            DataError,
            match=r"a\.png: the file is a JPEG, whose compression changes values, and "
            r"the original values cannot be recovered",
        ):
            read(path)


@pytest.mark.parametrize("ending", ["png", "pgm", "ppm", "bmp", "tif"])
def test_written_images_are_read_by_us_and_by_a_naive_reader(tmp_path, grey, colour, ending):
    path = tmp_path / f"a.{ending}"
    image = grey if ending == "pgm" else colour
    write_image(path, image)
    same(read_image(path), image)
    same(naive_files.samples(path), image)
    if ending in ("png", "pgm", "tif"):
        samples = grey.astype(np.uint16) * 251
        write_image(path, samples)
        same(read_grey(path), samples, np.uint16)


def test_floats_are_rounded_and_truth_values_become_black_and_white(tmp_path):
    write_image(tmp_path / "f.png", np.array([[-3.0, 1.4, 1.6, 254.6, 300.0]]))
    same(read_image(tmp_path / "f.png"), [[0, 1, 2, 255, 255]])
    write_image(tmp_path / "b.png", np.array([[True, False]]))
    same(read_image(tmp_path / "b.png"), [[255, 0]])


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("a.gif", np.zeros((2, 2), np.uint8), "the file extension '.gif'; allowed: .png, .pgm"),
        ("a.png", np.zeros((2, 2, 2), np.uint8), r"shape \(2, 2, 2\) is not an image"),
        ("a.png", np.zeros((2, 0), np.uint8), r"shape \(2, 0\) is not an image"),
        ("a.png", np.full((2, 2), np.nan), "contains NaN"),
        ("a.png", np.zeros((2, 2), np.int64), "samples are int64; expected uint8"),
        ("a.pgm", np.zeros((2, 2, 3), np.uint8), ".pgm stores only grey"),
        ("a.ppm", np.zeros((2, 2), np.uint8), ".ppm stores only images in colour"),
        ("a.jpg", np.zeros((2, 2), np.uint16), ".jpg stores 8 bits"),
        ("a" * 300 + ".png", np.zeros((2, 2), np.uint8), "cannot be written: File name too long$"),
    ],
)
def test_images_that_a_format_cannot_store_are_refused(tmp_path, name, array, message):
    with pytest.raises(DataError, match=message):
        write_image(tmp_path / name, array)


def test_real_files_equal_naive_readers(data):
    files = [
        *sorted(data.glob("middlebury2001/*/*.p?m")),
        *sorted(data.glob("middlebury-v2/masks/*/*.png")),
    ]
    assert len(files) > 40
    for file in files:
        same(read_image(file), naive_files.samples(file))


# --- damaged JPEG files ---------------------------------------------------------------

JPEG_KINDS = {
    "baseline": [],
    "progressive": [cv2.IMWRITE_JPEG_PROGRESSIVE, 1],
    "with restart markers": [cv2.IMWRITE_JPEG_RST_INTERVAL, 4],
}
JPEG_DAMAGE = (
    r"a\d+\.jpg: the file is damaged, and pixels may be wrong \(.+\); "
    r"replace the file by an undamaged copy"
)


def jpeg_bytes(kind, image):
    smooth = cv2.GaussianBlur(image, (5, 5), 2)
    return cv2.imencode(".jpg", smooth, JPEG_KINDS[kind])[1].tobytes()


@pytest.mark.parametrize("kind", JPEG_KINDS)
@pytest.mark.parametrize("shape", [(60, 80), (60, 80, 3)])
def test_a_jpeg_that_was_cut_and_closed_is_read_with_a_warning_that_names_it(
    tmp_path, kind, shape, capfd
):
    data = jpeg_bytes(kind, np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8))
    whole = read_image(written(tmp_path / "a0.jpg", data))
    start = data.index(b"\xff\xda") + 14
    damaged = 0
    for cut in range(start, len(data) - 2, 61):
        path = written(tmp_path / f"a{cut}.jpg", data[:cut] + b"\xff\xd9")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                image = read_image(path)
            except DataError:
                # The cut removed part of a table that is needed to decode the scan.
                continue
        if (image != whole).any():
            damaged += 1
            [warning] = caught
            assert issubclass(warning.category, ResultWarning)
            assert re.search(JPEG_DAMAGE, str(warning.message))
    assert damaged > 10
    # The user sees the warning only once: libjpeg's own message is not printed.
    assert capfd.readouterr() == ("", "")


def test_a_progressive_jpeg_without_its_last_scans_is_read_with_a_warning(tmp_path, grey):
    data = jpeg_bytes("progressive", grey)
    scans = [match.start() for match in re.finditer(b"\xff\xda", data)]
    assert len(scans) > 3
    for scan in scans[1:]:
        # Each scan comes after the tables that are needed to decode it.
        path = written(tmp_path / f"a{scan}.jpg", data[:scan] + b"\xff\xd9")
        with pytest.warns(ResultWarning, match="the last scans of a progressive JPEG are missing"):
            read_image(path)


@pytest.mark.parametrize("kind", JPEG_KINDS)
def test_a_jpeg_without_bytes_of_its_middle_is_read_with_a_warning(tmp_path, kind):
    data = bytearray(
        jpeg_bytes(kind, np.random.default_rng(1).integers(0, 256, (60, 80), dtype=np.uint8))
    )
    middle = data.index(b"\xff\xda") + (len(data) - data.index(b"\xff\xda")) // 2
    del data[middle : middle + 200]
    with pytest.warns(ResultWarning, match=JPEG_DAMAGE):
        read_image(written(tmp_path / "a1.jpg", bytes(data)))


def test_undamaged_jpegs_are_read_without_a_warning(tmp_path, grey, colour):
    for number, kind in enumerate(JPEG_KINDS):
        for image in (grey, colour):
            read_image(written(tmp_path / f"a{number}.jpg", jpeg_bytes(kind, image)))


def test_messages_of_other_threads_reach_the_error_stream(capfd):
    with image_containers._captured_stderr() as lines:
        os.write(2, b"a message of another thread\nCorrupt JPEG data: bad Huffman code\n")
    assert lines == ["Corrupt JPEG data: bad Huffman code"]
    assert capfd.readouterr().err == "a message of another thread\n"


def test_a_damaged_jpeg_is_read_if_the_error_stream_is_closed(tmp_path, grey):
    data = jpeg_bytes("baseline", grey)
    path = written(tmp_path / "a2.jpg", data[:-20] + b"\xff\xd9")
    program = (
        "import os; os.close(2); from stereo_framework.io import read_image; "
        f"print(read_image({str(path)!r}).shape)"
    )
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert process.stdout == "(11, 13)\n"


FILES_WITHOUT_TRANSPARENCY = [("a.jpg", np.uint8), ("a.tif", np.uint8), ("a.png", np.uint16)]


@pytest.mark.parametrize(("name", "dtype"), FILES_WITHOUT_TRANSPARENCY)
def test_transparent_pixels_need_a_png_file_with_8_bits(tmp_path, name, dtype):
    image = np.zeros((3, 4), dtype)
    message = r"the pixels without data need an 8-bit image in a \.png file"
    with pytest.raises(DataError, match=message):
        write_image(tmp_path / name, image, valid=np.ones((3, 4), bool))
    assert not (tmp_path / name).exists()
