"""Files that are damaged, lie about themselves or are something else: every reader gives an array or one line, and takes little memory."""

import io
import re
import struct
import tracemalloc
import zipfile

import cv2
import naive_files
import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration
from stereo_framework.io import (
    CalibrationFile,
    read_calibration,
    read_disparity,
    read_grey,
    read_image,
    read_kitti_calibration,
    read_mask,
    read_pfm,
)

VALUES = np.random.default_rng(4).uniform(0, 60, (6, 5)).astype(np.float32)
GREY = VALUES.astype(np.uint8)


def saved(write, *arguments):
    file = io.BytesIO()
    write(file, *arguments)
    return file.getvalue()


CALIB = (
    b"cam0=[994.978 0 311.193; 0 994.978 254.877; 0 0 1]\ndoffs=31.086\nbaseline=193.001\nwidth=741\nheight=497\n"
    b"ndisp=70\nisint=0\nvmin=7\nvmax=61\n"
)
KITTI = b"P0: 707.09 0 601.88 0 0 707.09 183.11 0 0 0 1 0\nP1: 707.09 0 601.88 -379.81 0 707.09 183.11 0 0 0 1 0\n"
SEEDS = {
    "a.pfm": b"Pf\n5 6\n-1.0\n" + VALUES.tobytes(),
    "a.npy": saved(np.save, VALUES),
    "a.npz": saved(np.savez, VALUES),
    "c.npz": saved(np.savez_compressed, VALUES),
    "a.png": naive_files.png_bytes(GREY, colour=0),
    "b.png": naive_files.png_bytes(VALUES.astype(np.uint16) * 256, colour=0, depth=16),
    "a.pgm": b"P5 5 6 255\n" + GREY.tobytes(),
    "p.pgm": b"P2 5 6 255\n" + b" ".join(b"%d" % v for v in GREY.ravel()),
    "calib.txt": CALIB,
    "000000.txt": KITTI,
}
MEGABYTE = 2**20


def readers(name):
    if name == "calib.txt":
        return [read_calibration]
    if name == "000000.txt":
        return [lambda path: read_kitti_calibration(path, 0, 1)]
    if name.endswith(".pfm"):
        return [read_disparity, read_pfm]
    if name.endswith((".npy", ".npz")):
        return [read_disparity]
    return [lambda path: read_disparity(path, scale=4), read_image, read_grey, read_mask]


def outcomes(path, data):
    """What each reader makes of the bytes: its value, or its error's line."""
    path.write_bytes(data)
    found = []
    for read in readers(path.name):
        try:
            found.append(read(path))
        except DataError as error:
            found.append(str(error).removeprefix(str(path)))
    for outcome in found:
        if isinstance(outcome, str):
            assert "\n" not in outcome
            assert len(outcome) < 500
        elif isinstance(outcome, np.ndarray):
            assert outcome.dtype in (np.float32, np.uint8, np.uint16, bool)
            assert outcome.size > 0
        else:
            assert isinstance(outcome, CalibrationFile | Calibration)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


def with_ihdr(columns, rows, depth=8):
    """A PNG of 30 pixels whose header promises others; its checksums are right."""
    header = naive_files.chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, depth, 0, 0, 0, 0))
    return SEEDS["a.png"][:8] + header + SEEDS["a.png"][33:]


def with_frame(columns, rows):
    """A JPEG of 64 pixels whose header promises others."""
    data = bytearray(cv2.imencode(".jpg", np.zeros((8, 8), np.uint8))[1].tobytes())
    start = data.index(b"\xff\xc0") + 5
    data[start : start + 4] = struct.pack(">HH", rows, columns)
    return bytes(data)


def npy(header):
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + VALUES.tobytes()


def npz(member, **claims):
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
        ("a.pfm", b"Pf 999999999 999999999 -1\n" + bytes(8), "is truncated: 999999999x999999999 needs 3999999992000000004 bytes"),
        ("a.pfm", b"Pf -5 6 -1\n" + bytes(120), "is not a PFM file"),
        ("a.pfm", b"Pf " + b"9" * 5000 + b" 1 -1\n" + bytes(8), "is not a PFM file"),
        ("a.pgm", b"P5 1000000000 1000000000 255\n" + bytes(8), "has no legal PGM or PPM header"),
        ("a.pgm", b"P5 999999999 999999999 255\n" + bytes(8), "is truncated"),
        ("a.pgm", b"P2 999999999 999999999 255\n1 2 3", "is truncated"),
        ("a.pgm", b"P5 -5 6 255\n" + bytes(30), "has no legal PGM or PPM header"),
        ("a.pgm", b"P2 2 1 255\n-5 7", "something other than numbers from 0"),
        ("a.pgm", b"P2 2 1 255\n" + b"9" * 30 + b" 7", "something other than numbers from 0"),
        ("a.png", with_ihdr(10**9, 10**9), "is truncated: 1000000000x1000000000 pixels cannot come from"),
        ("a.png", with_ihdr(30000, 30000, 16), "is truncated: 30000x30000 pixels cannot come from"),
        ("a.png", with_ihdr(2**32 - 1, 2), "is truncated"),
        ("a.png", with_ihdr(0, 6), "is damaged, truncated or not an image"),
        ("a.jpg", with_frame(30000, 30000), "is truncated: 30000x30000 pixels cannot come from|is a JPEG"),
        ("a.npy", npy(SHAPE % HUGE), "is damaged or not a numpy file: shape .* needs 4000000000000000000 bytes"),
        ("a.npy", npy(SHAPE % "(100000, 100000)"), "is damaged or not a numpy file: shape"),
        ("a.npy", npy(SHAPE % "(-6, -5)"), r"is damaged or not a numpy file: shape \(-6, -5\)"),
        ("a.npy", npy(SHAPE % "(6, 4)"), "shape .* needs 96 bytes after the header, the file has 120"),
        ("a.npy", npy(SHAPE % "(30,)"), "has shape"),
        ("a.npy", npy(SHAPE % "(0, 5)"), "is damaged or not a numpy file"),
        ("a.npy", npy(SHAPE % "(6, 5.0)"), "is damaged or not a numpy file"),
        ("a.npy", npy(SHAPE % ("(" * 3000)), "is damaged or not a numpy file"),
        ("a.npy", npy(SHAPE.replace("<f4", "<c8") % "(3, 5)"), "holds complex64; expected numbers"),
        ("a.npy", npy(SHAPE.replace("<f4", "|O") % "(6, 5)"), "holds object; expected numbers"),
        ("a.npy", npy(SHAPE.replace("<f4", "|b1") % "(6, 20)"), "holds bool; expected numbers"),
        ("a.npy", npy(SHAPE.replace("<f4", "?!") % "(6, 5)"), "is damaged or not a numpy file"),
        ("a.npz", npz(npy(SHAPE % HUGE)), "is damaged or not a numpy file: shape"),
        # the archive's directory promises 4 GB, which the header of the array confirms or not
        ("a.npz", npz(npy(SHAPE % "(6, 5)"), size=(24, 2**32 - 2)), "is damaged or not a numpy file: shape"),
        ("a.npz", npz(npy(SHAPE % "(6, 5)") + bytes(200 * MEGABYTE)), "is damaged or not a numpy file: shape"),
        ("a.npz", npz(b"no array at all"), "is damaged or not a numpy file"),
        ("a.npz", npz(npy(SHAPE % "(6, 5)"), method=(10, 99)), "is damaged or not a numpy file"),
        ("calib.txt", CALIB.replace(b"ndisp=70", b"ndisp=" + b"9" * 400), "ndisp: '9{40}' is not a number"),
        ("calib.txt", CALIB.replace(b"ndisp=70", b"ndisp=1" + b"0" * 300), "ndisp: 10{39} is not a whole number from 2"),
        ("calib.txt", b"a" * MEGABYTE, "no entry cam0"),
        ("calib.txt", b"a=[" * (MEGABYTE // 3), "no entry cam0"),
        ("calib.txt", CALIB.replace(b"0 0 1]", b"0 0 1"), "no entry cam0"),
        ("000000.txt", KITTI.replace(b"707.09", b"1e400"), "P0: '1e400' is not a number"),
    ],
)
def test_absurd_claims(folder, name, data, message):
    tracemalloc.start()
    try:
        found = outcomes(folder / name, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(isinstance(outcome, str) and re.search(message, outcome) for outcome in found), found
    # the file itself is read whole, and text is taken apart
    assert peak < 2 * MEGABYTE + 20 * len(data)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i8", ">f4", ">i4"])
def test_other_number_types(folder, dtype):
    values = VALUES.astype(dtype)
    [found] = outcomes(folder / "a.npy", saved(np.save, values))
    np.testing.assert_array_equal(found, values.astype(np.float32))
    [found] = outcomes(folder / "a.npy", saved(np.save, np.asfortranarray(values)))
    np.testing.assert_array_equal(found, values.astype(np.float32))


def test_numbers_too_large_for_single_precision_are_unknown(folder):
    [found] = outcomes(folder / "a.npy", saved(np.save, np.array([[1e300, -1e300, 2.0]])))
    np.testing.assert_array_equal(found, [[np.nan, np.nan, 2.0]])
