"""What is fuzzed: readers of files, with honest files to begin with, and what may come of a file."""

import random
import shutil
import struct
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.datasets import load_scene, pair_scene
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
from stereo_framework.script import load
from stereo_framework.script.legacy import convert
from stereo_framework.tables.formats import read_csv
from stereo_framework.tables.scores import ranked
from stereo_framework.user_pair.rectify import rectified

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).with_name("corpus")
_SEEDS = Path(__file__).with_name("seeds")

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


def damaged(
    data: bytes, seeds: Sequence[tuple[str, bytes]], reader: Reader, chance: random.Random
) -> bytes:
    """A file after one to eight changes."""
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 5, 8))):
        at = chance.randrange(len(content) + 1)
        match chance.randrange(8):
            case 0 if content:
                content[at % len(content)] ^= 1 << chance.randrange(8)
            case 1 if content:
                content[at % len(content)] = chance.choice(
                    (0, 1, 10, 127, 128, 255, chance.randrange(256))
                )
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
                content[at:at] = content[
                    start : start + chance.choice((1, 8, 64, 512))
                ] * chance.choice((1, 1, 2, 20))
            case 7:
                other = chance.choice(seeds)[1]
                start = chance.randrange(len(other) + 1)
                content[at:at] = other[start : start + chance.choice((4, 32, 512))]
    return bytes(content[: 2**18])


def _seeds(*kinds: str) -> list[tuple[str, bytes]]:
    """Honest files, small and of every form: those of some folders of ``seeds``, without what comes before the first hyphen of their names."""
    files = [path for kind in kinds for path in sorted((_SEEDS / kind).iterdir())]
    return [(path.name.partition("-")[2], path.read_bytes()) for path in files]


_YAML = (
    b"&a ", b"*a", b"<<: *a", b"!!int ", b"!!binary ", b"!!set ", b"? ", b"- ", b"[", b"]", b"{", b"}", b": ", b"|\n", b"\t", b"null", b"~", b".inf",
    b".nan", b"-.inf", b"1e400", b"9" * 30, b"-1", b"0", b"true", b"'", b'"', b"%YAML 1.1\n", b"---\n", b"\xef\xbb\xbf", b"\0", b"2001-01-01", b"include: ",
    b"use: ", b"methods: ", b"sweep: ", b"grid: ", b"range: [0, 1, 1e-9]", b"auxiliary: ", b"scheme: [pyramid]", b"matcher: opencv_sgbm", b"'../x'",
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
_TEXT = (
    b"9" * 400,
    b"-1",
    b"0",
    b"1e400",
    b"nan",
    b"inf",
    b"\0",
    b"\n",
    b'"',
    b",",
    b"=",
    b";",
    b"[",
    b"]",
    b":",
    b"\xff",
)


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
    for file in (_SEEDS / "beside").iterdir():
        if not (path.parent / file.name).exists():
            shutil.copy(file, path.parent)
    scene = load_scene(path)
    return (
        scene.reference,
        scene.match,
        scene.truth,
        scene.valid(0),
        scene.pair(scene.reference_index, scene.match_index),
    )


def _rectify(path: Path) -> object:
    found = rectified(
        pair_scene(_SEEDS / "beside/left.png", _SEEDS / "beside/right.png"),
        read_stereo_calibration([path]),
    )
    return found.reference, found.match


_METHODS = [
    (path.name, path.read_bytes()) for path in sorted((ROOT / "configs" / "methods").glob("*.yaml"))
]

READERS = {
    "image": Reader(
        _every(lambda path: read_image(path, masked=True), read_grey, read_mask, geo_tags),
        _seeds("pictures", "numbers"),
        _BINARY,
    ),
    "map": Reader(
        lambda path: read_disparity(
            path, disparity_scale=None if path.suffix[1:3] in ("pf", "np") else 4
        ),
        _seeds("numbers", "pictures"),
        _BINARY,
    ),
    "calibration": Reader(
        lambda path: read_any_calibration(path, colour=False), _seeds("calibration"), _TEXT
    ),
    "stereo": Reader(_rectify, _seeds("stereo"), _TEXT),
    "scene": Reader(_scene, _seeds("scene"), _YAML),
    "script": Reader(load, [*_seeds("script"), *_METHODS], _YAML),
    "scores": Reader(
        lambda path: ranked(read_csv(path), given={"*": "lower"}), _seeds("scores"), _TEXT
    ),
    "legacy": Reader(
        lambda path: convert(path, lambda line: None),
        _seeds("legacy"),
        (*_TEXT, b"script old.txt\n", b"cd here\n", b"exit\n", b"opt_fn ", b"0x"),
    ),
}
