"""Damaged files, files with false headers, and files of unsupported formats.

For each of these files, a reader returns an array or raises a one-line error.
"""

import io
import re
import struct
import zipfile

import cv2
import naive_files
import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.io import (
    read_calibration,
    read_disparity,
    read_grey,
    read_image,
    read_kitti_calibration,
    read_mask,
    read_pfm,
)

VALUES = np.random.default_rng(4).uniform(0, 60, (6, 5)).astype(np.float32)
MEGABYTE = 2**20


def saved(write, *arguments):
    file = io.BytesIO()
    write(file, *arguments)
    return file.getvalue()


CALIB = (
    b"cam0=[994.978 0 311.193; 0 994.978 254.877; 0 0 1]\ndoffs=31.086\nbaseline=193.001\n"
    b"width=741\nheight=497\nndisp=70\nisint=0\nvmin=7\nvmax=61\n"
)
KITTI = (
    b"P0: 707.09 0 601.88 0 0 707.09 183.11 0 0 0 1 0\n"
    b"P1: 707.09 0 601.88 -379.81 0 707.09 183.11 0 0 0 1 0\n"
)
PNG = naive_files.png_bytes(VALUES.astype(np.uint8), colour=0)


def readers(name):
    """Return the functions that read files with the extension of a file name."""
    if name == "calib.txt":
        return [read_calibration]
    if name == "000000.txt":
        return [lambda path: read_kitti_calibration(path, 0, 1)]
    if name.endswith(".pfm"):
        return [read_disparity, read_pfm]
    if name.endswith((".npy", ".npz")):
        return [read_disparity]
    return [lambda path: read_disparity(path, disparity_scale=4), read_image, read_grey, read_mask]


def with_ihdr(columns, rows, depth=8):
    """Return a PNG file of 30 pixels whose header states a false image size."""
    header = naive_files.chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, depth, 0, 0, 0, 0))
    return PNG[:8] + header + PNG[33:]


def with_frame(columns, rows):
    """Return a JPEG file of 8x8 pixels whose header states a false image size."""
    data = bytearray(cv2.imencode(".jpg", np.zeros((8, 8), np.uint8))[1].tobytes())
    start = data.index(b"\xff\xc0") + 5
    data[start : start + 4] = struct.pack(">HH", rows, columns)
    return bytes(data)


def npy(header):
    """Return a ``.npy`` file with the given header and the pixel values `VALUES`."""
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + VALUES.tobytes()


def npz(member, **claims):
    """Return a ``.npz`` archive with one array, and false numbers in its directory.

    Each keyword argument is a pair: an offset in the archive's directory entry, and the
    false number to write there.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arr_0.npy", member)
    data = bytearray(file.getvalue())
    central = data.rindex(b"PK\x01\x02")
    for offset, value in claims.values():
        data[central + offset : central + offset + 4] = struct.pack("<I", value)
    return bytes(data)


SHAPE = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"
HUGE = "(1000000000, 1000000000)"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.pfm", b"Pf 1000000000 1000000000 -1\n" + bytes(8), "is not a PFM file"),
        (
            "a.pfm",
            b"Pf 999999999 999999999 -1\n" + bytes(8),
            "is truncated: an image of 999999999x999999999 pixels needs 3999999992000000004 bytes",
        ),
        ("a.pfm", b"", "is empty"),
        (
            "a.pfm",
            b"P5 2 2 255\n1234",
            r"is not a PFM file: it must begin with .* but it begins with 'P5 2 2 255",
        ),
        ("a.pfm", b"Pf 2 1 here\n" + bytes(8), "is not a PFM file"),
        ("a.pfm", b"Pf 2 1 -1", "is not a PFM file"),
        (
            "a.pfm",
            b"Pf 2 1 -1\n" + bytes(7),
            "is truncated: an image of 2x1 pixels needs 8 bytes .* has 7$",
        ),
        (
            "a.pfm",
            b"Pf 2 1 -1\n" + bytes(9),
            "has data after its end: an image of 2x1 pixels needs 8 bytes .* has 9$",
        ),
        ("a.pfm", b"PF 2 1 -1\n" + bytes(8), "is truncated: an image of 2x1 pixels needs 24 bytes"),
        (
            "a.pfm",
            b"Pf 90000 90000 -1\n" + bytes(8),
            "is truncated: an image of 90000x90000 pixels needs 32400000000 bytes",
        ),
        ("a.pfm", b"Pf 0 1 -1\n", "the PFM header states 0x1 pixels and the scale -1; allowed"),
        (
            "a.pfm",
            b"Pf 2 1 0\n" + bytes(8),
            "the PFM header states 2x1 pixels and the scale 0; allowed",
        ),
        ("a.pfm", b"Pf 2 1 1e999\n" + bytes(8), "scale 1e999; allowed"),
        ("a.pfm", b"Pf 2 1 -.-\n" + bytes(8), "is not a PFM file"),
        ("a.png", b"", "is empty"),
        (
            "a.png",
            b"hello, world\n" * 9,
            "may be damaged, truncated or not an image; expected PNG, PGM, PPM, JPEG, WebP, BMP, "
            "TIFF, PFM or npy; replace it by an undamaged copy",
        ),
        ("a.png", b"P5 what?", "starts with 'P5' but has no valid header of a PGM or PPM"),
        ("a.png", b"P5 0 4 255\n", "the header states 0x4 pixels and the largest grey value 255"),
        (
            "a.png",
            b"P5 1 1 70000\n\0",
            "the header states 1x1 pixels and the largest grey value 70000",
        ),
        (
            "a.png",
            b"P5 1 1 100\n\x65",
            "has the grey value 101, but the header states 100 as the largest",
        ),
        (
            "a.png",
            b"P2 2 1 255\n1",
            "is truncated: an image of 2x1 pixels needs 2 samples .* has 1",
        ),
        (
            "calib.txt",
            CALIB.replace(b"doffs=31.086\n", b""),
            r"no entry doffs; expected Middlebury's calib\.txt",
        ),
        (
            "calib.txt",
            CALIB.replace(b"ndisp=70", b"ndisp=70.5"),
            "ndisp: 70.5 is not a whole number from 2 to 32767",
        ),
        (
            "calib.txt",
            CALIB.replace(b"baseline=193.001", b"baseline=nan"),
            "baseline: 'nan' is not a number",
        ),
        (
            "calib.txt",
            CALIB.replace(b"baseline=193.001", b"baseline=-193"),
            "the baseline -193 is not a number above 0",
        ),
        (
            "calib.txt",
            CALIB.replace(b"ndisp=70", b"ndisp=1"),
            "ndisp: 1 is not a whole number from 2 to 32767",
        ),
        (
            "calib.txt",
            CALIB.replace(b"cam0=[994.978 0 311.193; ", b"cam0=["),
            "cam0 has 6 numbers; expected the 9 of",
        ),
        ("calib.txt", CALIB.replace(b"cam0=[994.978 0", b"cam0=[f 0"), "cam0: 'f' is not a number"),
        (
            "000000.txt",
            KITTI.replace(b"P1", b"P7"),
            "no entry P1 or P_rect_01; expected KITTI's calibration of camera 1",
        ),
        (
            "000000.txt",
            KITTI.replace(b" 0 0 0 1 0\nP1", b"\nP1"),
            "P0 has 7 numbers; expected the 12 of a 3x4 projection matrix",
        ),
        ("000000.txt", KITTI.replace(b"601.88", b"wide"), "P0: 'wide' is not a number"),
        (
            "000000.txt",
            KITTI.replace(b"707.09", b"0"),
            "the focal length 0 is not a number above 0",
        ),
        (
            "000000.txt",
            KITTI.replace(b"-379.81", b"379.81"),
            "the baseline -0.537145 is not a number above 0",
        ),
        (
            "a.pgm",
            b"P5 1000000000 1000000000 255\n" + bytes(8),
            "has no valid header of a PGM or PPM",
        ),
        ("a.pgm", b"P5 999999999 999999999 255\n" + bytes(8), "is truncated"),
        ("a.png", with_ihdr(10**9, 10**9), "the file has 1000000000x1000000000 pixels; at most"),
        ("a.png", with_ihdr(2**32 - 1, 2), "the file has 4294967295x2 pixels"),
        ("a.png", with_ihdr(0, 6), "may be damaged, truncated or not an image"),
        ("a.jpg", with_frame(30000, 30000), "the file has 30000x30000 pixels|is a JPEG"),
        ("a.npy", npy(SHAPE % HUGE), "may be damaged or not a numpy file: Unable to allocate"),
        ("a.npy", npy(SHAPE % "(40000, 40000)"), "may be damaged or not a numpy file: "),
        ("a.npy", npy(SHAPE % "(-6, -5)"), "may be damaged or not a numpy file"),
        ("a.npy", npy(SHAPE % "(30,)"), "has shape"),
        ("a.npy", npy(SHAPE % "(0, 5)"), r"has type float32 and shape \(0, 5\); expected at least"),
        ("a.npy", npy(SHAPE % ("(" * 3000)), "may be damaged or not a numpy file"),
        ("a.npy", npy(SHAPE.replace("<f4", "<c8") % "(3, 5)"), "has type complex64 and shape"),
        (
            "a.npy",
            npy(SHAPE.replace("<f4", "|O") % "(6, 5)"),
            "has Python objects, which are not read, because reading them could execute code",
        ),
        ("a.npy", npy(SHAPE.replace("<f4", "?!") % "(6, 5)"), "may be damaged or not a numpy file"),
        ("a.npz", npz(npy(SHAPE % HUGE)), "may be damaged or not a numpy file"),
        # The directory of the archive states that the array has 4 GB.
        (
            "a.npz",
            npz(npy(SHAPE % "(6, 5)"), size=(24, 2**32 - 2)),
            r"unpacks to 4294967294 bytes; at most \d+ are read \(--max-",
        ),
        ("a.npz", npz(b"no array at all"), "is an archive without an array of NumPy"),
        ("a.npz", b"PK no archive", "may be damaged or not a numpy file"),
        ("a.npz", saved(np.savez), "is an archive without an array of NumPy"),
        ("a.npy", saved(np.save, VALUES)[:-9], "may be damaged or not a numpy file"),
        ("a.npy", saved(np.save, [["a"]]), r"has type <U1 and shape \(1, 1\); expected at least"),
        (
            "a.npz",
            npz(npy(SHAPE % "(6, 5)"), method=(10, 99)),
            "may be damaged or not a numpy file",
        ),
        (
            "calib.txt",
            CALIB.replace(b"ndisp=70", b"ndisp=" + b"9" * 400),
            "ndisp: '9{40}' is not a number",
        ),
        (
            "calib.txt",
            CALIB.replace(b"ndisp=70", b"ndisp=1" + b"0" * 300),
            "ndisp: 10{39} is not a whole number from 2",
        ),
        ("calib.txt", b"a=[" * (MEGABYTE // 3), "no entry cam0"),
        ("calib.txt", CALIB.replace(b"0 0 1]", b"0 0 1"), "no entry cam0"),
        ("000000.txt", KITTI.replace(b"707.09", b"1e400"), "P0: '1e400' is not a number"),
    ],
)
def test_damaged_files_and_false_headers_are_refused_in_one_line(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    for read in readers(name):
        with pytest.raises(DataError) as error:
            read(path)
        line = str(error.value).removeprefix(str(path))
        assert re.search(message, line)
        assert "\n" not in line
        assert len(line) < 500


@pytest.mark.parametrize("dtype", ["f2", "f8", "i1", "u2", "i8", ">f4", ">i4"])
def test_arrays_of_every_number_type_are_read(tmp_path, dtype):
    values = VALUES.astype(dtype)
    for stored in (values, np.asfortranarray(values)):
        np.save(tmp_path / "a.npy", stored)
        np.testing.assert_array_equal(read_disparity(tmp_path / "a.npy"), values.astype(np.float32))


def test_numbers_too_large_for_single_precision_are_unknown(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1e300, -1e300, 2.0]]))
    np.testing.assert_array_equal(read_disparity(tmp_path / "a.npy"), [[np.nan, np.nan, 2.0]])
