"""What is fuzzed: readers of files, with honest files to begin with, and what may come of a file."""

import io
import json
import random
import struct
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import tifffile

from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.scene import Scene
from stereo_framework.datasets import load_scene
from stereo_framework.engine import pipeline  # noqa: F401  registers the stages
from stereo_framework.io import (
    geo_tags,
    read_any_calibration,
    read_disparity,
    read_grey,
    read_image,
    read_mask,
    read_stereo_calibration,
)
from stereo_framework.own_pair.rectify import rectified
from stereo_framework.script import load
from stereo_framework.script.legacy import convert
from stereo_framework.tables.csv_files import read_csv
from stereo_framework.tables.scores import ranked

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).with_name("corpus")

_LONGEST = 1100
"""Characters of a line of an error, the path in front included."""


@dataclass(frozen=True)
class Reader:
    """A reader and the files it is tried on.

    Parameters
    ----------
    read : callable
        Takes a path.
    seeds : sequence of (str, bytes)
        Names, whose endings count, and contents.
    words : sequence of bytes
        What is put into files besides random bytes.
    """

    read: Callable[[Path], object]
    seeds: Sequence[tuple[str, bytes]]
    words: Sequence[bytes] = ()


def outcome(reader: Reader, path: Path) -> str | None:
    """What is wrong with how a reader takes a file; None where it gives a value or one line for each fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(path)
    except StereoFrameworkError as error:
        lines = str(error).splitlines()
        if not all(lines) or any(len(line) > _LONGEST for line in lines):
            return f"a line of {max(map(len, lines), default=0)} characters"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def damaged(data: bytes, seeds: Sequence[tuple[str, bytes]], reader: Reader, chance: random.Random) -> bytes:
    """A file after one to eight changes."""
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 5, 8))):
        at = chance.randrange(len(content) + 1)
        match chance.randrange(8):
            case 0 if content:
                content[at % len(content)] ^= 1 << chance.randrange(8)
            case 1 if content:
                content[at % len(content)] = chance.choice((0, 1, 10, 127, 128, 255, chance.randrange(256)))
            case 2:
                content[at:at] = chance.randbytes(chance.randrange(1, 9))
            case 3:
                del content[at : at + chance.choice((1, 2, 4, 16, 256))]
            case 4 if reader.words:
                content[at:at] = chance.choice(reader.words)
            case 5 if reader.words:
                word = chance.choice(reader.words)
                content[at : at + len(word)] = word
            case 6:
                start = chance.randrange(len(content) + 1)
                content[at:at] = content[start : start + chance.choice((1, 8, 64, 512))] * chance.choice((1, 1, 2, 20))
            case 7:
                other = chance.choice(seeds)[1]
                start = chance.randrange(len(other) + 1)
                content[at:at] = other[start : start + chance.choice((4, 32, 512))]
    return bytes(content[: 2**18])


# --- seeds ------------------------------------------------------------------------------------------------------------

_GREY = np.random.default_rng(0).integers(1, 255, (6, 8), dtype=np.uint8)
_MAP = np.random.default_rng(1).uniform(0, 30, (6, 8)).astype(np.float32)


def _saved(write: Callable[..., None], *arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    write(file, *arrays)
    return file.getvalue()


def _encoded(ending: str, array: np.ndarray) -> bytes:
    return cv2.imencode(ending, array)[1].tobytes()


def _tiff(array: np.ndarray, **options: Any) -> bytes:
    return _saved(lambda file, pixels: tifffile.imwrite(file, pixels, **options), array)


_ALPHA = np.dstack([_GREY] * 4)
_COLOUR = np.dstack([_GREY] * 3)
_NODATA = (42113, 2, 0, "7", True)
_TIFFS: list[tuple[str, np.ndarray, dict]] = [
    ("d", _GREY.astype(np.uint16), {"extratags": [_NODATA]}),
    ("e", _MAP, {"byteorder": ">", "extratags": [_NODATA]}),
    ("f", _COLOUR, {"photometric": "rgb", "bigtiff": True}),
    ("g", _GREY, {"tile": (16, 16)}),
    ("h", _MAP, {"tile": (16, 16), "compression": "zlib"}),
    ("i", np.stack([_GREY, _GREY]), {"metadata": None}),
    ("j", _COLOUR.transpose(2, 0, 1), {"photometric": "rgb", "planarconfig": "separate", "rowsperstrip": 2}),
    ("l", _GREY, {"compression": "zlib", "photometric": "miniswhite", "extratags": [_NODATA, (274, 3, 1, 6, True)]}),
    ("m", _ALPHA, {"compression": "zlib", "photometric": "rgb", "extrasamples": ["unassalpha"]}),
    (
        "k",
        _MAP,
        {"extratags": [(33550, 12, 3, (0.5, 0.5, 0.0), True), (34735, 3, 4, (1, 1, 0, 0), True), (34737, 2, 0, "UTM|", True)]},
    ),
]
_PICTURES = [
    ("a.png", _encoded(".png", _GREY)),
    ("b.png", _encoded(".png", _COLOUR)),
    ("c.png", _encoded(".png", _ALPHA)),
    ("d.png", _encoded(".png", _GREY.astype(np.uint16) * 256)),
    ("a.pgm", b"P5 8 6 255\n" + _GREY.tobytes()),
    ("a.ppm", b"P6\n# c\n8 6\n255\n" + _COLOUR.tobytes()),
    ("a.jpg", _encoded(".jpg", _GREY)),
    ("b.jpg", _encoded(".jpg", cv2.resize(_COLOUR, (64, 48)))),
    ("a.bmp", _encoded(".bmp", _COLOUR)),
    ("a.tif", _encoded(".tif", _GREY)),
    ("b.tif", _encoded(".tif", _ALPHA)),
    ("c.tif", _encoded(".tif", _MAP)),
    *((f"{name}.tif", _tiff(array, **options)) for name, array, options in _TIFFS),
]
_NUMBERS = [
    ("a.pfm", b"Pf\n8 6\n-1.0\n" + _MAP.tobytes()),
    ("b.pfm", b"PF 8 2 1\n" + _MAP.tobytes()),
    ("a.npy", _saved(np.save, _MAP)),
    ("b.npy", _saved(np.save, _MAP.astype(">f8").T)),
    ("a.npz", _saved(np.savez, _MAP)),
    ("b.npz", _saved(np.savez_compressed, _MAP)),
]
_OPENCV = "%YAML:1.0\n---\nQ: !!opencv-matrix\n   rows: 4\n   cols: 4\n   dt: d\n   data: [ 1., 0., 0., -3., 0., 1., 0., -2., 0., 0., 0., 700., 0., 0., 0.1, 0. ]\n"
_CALIBRATIONS = [
    (
        "calib.txt",
        b"cam0=[994.978 0 311.193; 0 994.978 254.877; 0 0 1]\ndoffs=31.086\nbaseline=193.001\nwidth=741\nheight=497\nndisp=70\nisint=0\nvmin=7\nvmax=61\n",
    ),
    ("k.txt", b"P0: 707.09 0 601.88 0 0 707.09 183.11 0 0 0 1 0\nP1: 707.09 0 601.88 -379.81 0 707.09 183.11 0 0 0 1 0\n"),
    ("a.yml", _OPENCV.encode()),
    (
        "a.json",
        b'{"Q": {"type_id": "opencv-matrix", "rows": 4, "cols": 4, "dt": "d", "data": [1.0,0.0,0.0,-3.0,0.0,1.0,0.0,-2.0,0.0,0.0,0.0,700.0,0.0,0.0,0.1,0.0]}}',
    ),
    ("q.npy", _saved(np.save, np.array([[1.0, 0, 0, -3], [0, 1, 0, -2], [0, 0, 0, 700], [0, 0, 0.1, 0]]))),
]
_CAMERAS = (
    ("M1", 3, 3, [100.0, 0, 4, 0, 100, 3, 0, 0, 1]),
    ("D1", 1, 5, [0.1, 0, 0, 0, 0]),
    ("K2", 3, 3, [100.0, 0, 4, 0, 100, 3, 0, 0, 1]),
    ("distCoeffs2", 1, 4, [0.1, 0, 0, 0]),
    ("R", 3, 3, [1.0, 0, 0, 0, 1, 0, 0, 0, 1]),
    ("T", 3, 1, [-1, 0.01, 0]),
)
_STEREO = [
    (
        "c.yml",
        b"%YAML:1.0\n---\n"
        + b"".join(
            b"%s: !!opencv-matrix\n   rows: %d\n   cols: %d\n   dt: d\n   data: %s\n" % (n.encode(), r, c, str(d).encode())
            for n, r, c, d in _CAMERAS
        ),
    ),
    (
        "c.json",
        json.dumps(
            {n: {"type_id": "opencv-matrix", "rows": r, "cols": c, "dt": "d", "data": d} for n, r, c, d in _CAMERAS}
        ).encode(),
    ),
]
_SCENES = [
    (
        "scene.yaml",
        b"frames: [left.png, {file: right.png, position: 1.5, mask: white.png}]\nreference: 0\nmatch: 1\nsearch: {minimum: 0, maximum: 3, step: 1, low: a.pfm}\n"
        b"truth: {file: a.png, scale: 4, unknown: 0}\nmasks: {nonocc: left.png}\ncalibration: {focal_length: 994.978, baseline: 193.001, doffs: 31.086}\nborder: 0\n",
    ),
    ("scene.yaml", b"frames:\n- left.png\n- right.png\nsearch:\n  minimum: 0\n  maximum: 3\n"),
]
_SCRIPTS = [
    (
        "s.yaml",
        b"name: mine\nscenes: [synthetic/planes]\nsearch: {minimum: 0, maximum: 20}\nseed: 3\nevaluation: {protocol: {base: taxonomy2002, threshold: 2}}\n"
        b"matching_cost: [{use: absolute_difference, weight: 2}, census]\naggregation: [{use: box, size: 9}, min_filter]\noptimization: winner_take_all\n"
        b"refinement: [{use: median, size: 3}]\nsweep:\n  grid:\n    aggregation.box.size: [3, 9]\n    matching_cost.census.weight: {range: [1, 3, 1]}\n  zip:\n    search.maximum: [15, 20]\n    search.minimum: [0, 1]\n"
        b"report: {plots: {p: {x: aggregation.box.size, y: bad_pixels_nonocc}}, tables: {t: {rows: scene, columns: method, value: rms_error_all}}}\n",
    ),
    (
        "s.yaml",
        b"include: window\nalternatives: {a: {include: ssd}, b: {matching_cost: census, optimization: semi_global}}\n"
        b"methods:\n  one: {sweep: {grid: {matching_cost: [{use: rank}, census]}}}\n  two: {matcher: opencv_sgbm, refinement: []}\n",
    ),
    *((path.name, path.read_bytes()) for path in sorted((ROOT / "configs" / "methods").glob("*.yaml"))),
]
_SCORES = [
    ("s.csv", b"method,tsukuba:bad_pixels_all,venus:bad_pixels_all\na,1,2\nb,2.5,nan\nc,,1\n"),
    ("t.csv", b'method,scene,bad_pixels_all,rms_error_all,protocol\n"a, b",s,1,2,taxonomy2002\nc,s,3,4,taxonomy2002\n'),
]
_LEGACY = [
    (
        "old.txt",
        b"# comment\ninput_data tsukuba/data_in.txt\nmatch_fn 1\ndisp_min 0 disp_max 15\naggr_window_size 9\nopt_fn 5\ndepth_map a.pgm\nreset\nexit\n",
    ),
]
_YAML = (
    b"&a ", b"*a", b"<<: *a", b"!!int ", b"!!binary ", b"!!set ", b"? ", b"- ", b"[", b"]", b"{", b"}", b": ", b"|\n", b"\t", b"null", b"~", b".inf",
    b".nan", b"-.inf", b"1e400", b"9" * 30, b"-1", b"0", b"true", b"'", b'"', b"%YAML 1.1\n", b"---\n", b"\xef\xbb\xbf", b"\0", b"2001-01-01", b"include: ",
    b"use: ", b"methods: ", b"sweep: ", b"grid: ", b"range: [0, 1, 1e-9]", b"alternatives: ", b"scheme: [pyramid]", b"matcher: opencv_sgbm", b"'../x'",
)  # fmt: skip
_BINARY = (
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\0\0\x7f\xff",
    b"\xff\x7f\0\0",
    struct.pack("<f", np.nan),
)
_TEXT = (b"9" * 400, b"-1", b"0", b"1e400", b"nan", b"inf", b"\0", b"\n", b'"', b",", b"=", b";", b"[", b"]", b":", b"\xff")


def _every(*reads: Callable[[Path], object]) -> Callable[[Path], object]:
    """All readers of a file; the first error that is not of the program's is the outcome, else the last."""

    def read(path: Path) -> object:
        last: StereoFrameworkError | None = None
        for one in reads:
            try:
                one(path)
            except StereoFrameworkError as error:
                last = error
        if last is not None:
            raise last
        return None

    return read


def _scene(path: Path) -> object:
    for name in ("left.png", "right.png", "a.png"):
        if not (path.parent / name).exists():
            (path.parent / name).write_bytes(_PICTURES[0][1])
    if not (path.parent / "white.png").exists():
        (path.parent / "white.png").write_bytes(_encoded(".png", np.full_like(_GREY, 255)))
    if not (path.parent / "a.pfm").exists():
        (path.parent / "a.pfm").write_bytes(_NUMBERS[0][1])
    scene = load_scene(path)
    return scene.reference, scene.match, scene.truth, scene.valid(0), scene.pair(scene.reference_index, scene.match_index)


def _rectify(path: Path) -> object:
    pair = Scene.from_images(_GREY, _COLOUR[..., 0])
    found = rectified(pair, read_stereo_calibration([path]))
    return found.reference, found.match


READERS = {
    "image": Reader(
        _every(lambda path: read_image(path, masked=True), read_grey, read_mask, geo_tags), [*_PICTURES, *_NUMBERS], _BINARY
    ),
    "map": Reader(
        lambda path: read_disparity(path, scale=None if path.suffix[1:3] in ("pf", "np") else 4), [*_NUMBERS, *_PICTURES], _BINARY
    ),
    "calibration": Reader(lambda path: read_any_calibration(path, colour=False), _CALIBRATIONS, _TEXT),
    "stereo": Reader(_rectify, _STEREO, _TEXT),
    "scene": Reader(_scene, _SCENES, _YAML),
    "script": Reader(load, _SCRIPTS, _YAML),
    "scores": Reader(lambda path: ranked(read_csv(path), given={"*": "lower"}), _SCORES, _TEXT),
    "legacy": Reader(
        lambda path: convert(path, lambda line: None),
        _LEGACY,
        (*_TEXT, b"script old.txt\n", b"cd here\n", b"exit\n", b"opt_fn ", b"0x"),
    ),
}
