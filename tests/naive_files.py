"""Other readers of image files than the package has, and a writer of PNG files of any kind."""

import struct
import zlib

import numpy as np
from PIL import Image


def samples(path):
    """The samples of a PNG, PGM or PPM file as Pillow reads them, palettes looked up."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB") if image.mode == "P" else image)


def chunk(kind, content):
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def png_bytes(samples, *, colour, depth=8, extra=(), drop=0):
    """A PNG file: samples (rows, columns[, channels]), 8 or 16 bits; `extra` chunks before the data; `drop` bytes of it left out."""
    rows, columns = samples.shape[:2]
    lines = samples.reshape(rows, -1).astype(">u2" if depth == 16 else np.uint8)
    raw = b"".join(b"\0" + line.tobytes() for line in lines)
    header = struct.pack(">IIBBBBB", columns, rows, depth, colour, 0, 0, 0)
    data = zlib.compress(raw[: len(raw) - drop])
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(*c) for c in [(b"IHDR", header), *extra, (b"IDAT", data), (b"IEND", b"")]
    )


def read_ply(path):
    """The properties of the vertices by name; the file must hold nothing else."""
    header, _, body = path.read_bytes().partition(b"end_header\n")
    magic, form, element, *properties = header.decode("ascii").splitlines()
    assert (magic, form) == ("ply", "format binary_little_endian 1.0")
    kinds = {"float": "<f4", "uchar": "u1"}
    dtype = np.dtype([(name, kinds[kind]) for _, kind, name in map(str.split, properties)])
    word, what, count = element.split()
    assert (word, what, len(body)) == ("element", "vertex", int(count) * dtype.itemsize)
    return np.frombuffer(body, dtype)
