"""Slow, obvious readers and writers of image files, independent of any library but zlib."""

import struct
import zlib

import numpy as np

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Samples a pixel by PNG colour type."""


def pnm(path):
    """A raw PGM or PPM file with at most 8 bits: tokens up to the third number, then bytes."""
    data = path.read_bytes()
    tokens, at = [], 0
    while len(tokens) < 4:
        if data[at : at + 1] == b"#":
            at = data.index(b"\n", at) + 1
        elif data[at : at + 1].isspace():
            at += 1
        else:
            end = at
            while not data[end : end + 1].isspace():
                end += 1
            tokens.append(data[at:end])
            at = end
    columns, rows = int(tokens[1]), int(tokens[2])
    shape = (rows, columns, 3) if tokens[0] == b"P6" else (rows, columns)
    return np.frombuffer(data[at + 1 :], np.uint8).reshape(shape)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_bytes(samples, *, colour, depth=8, extra=(), drop=0):
    """A PNG file: samples (rows, columns[, channels]), 8 or 16 bits; `extra` chunks before the data; `drop` bytes of it left out."""
    rows, columns = samples.shape[:2]
    lines = samples.reshape(rows, -1).astype(">u2" if depth == 16 else np.uint8)
    raw = b"".join(b"\0" + line.tobytes() for line in lines)
    header = struct.pack(">IIBBBBB", columns, rows, depth, colour, 0, 0, 0)
    data = zlib.compress(raw[: len(raw) - drop])
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*c) for c in [(b"IHDR", header), *extra, (b"IDAT", data), (b"IEND", b"")])


def png(path):
    """A PNG file without interlace, at most 8 bits: samples (rows, columns[, channels]), palettes looked up."""
    data, at, packed, palette = path.read_bytes(), 8, b"", None
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            columns, rows, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", content)
            assert depth <= 8
            assert interlace == 0
        elif kind == b"PLTE":
            palette = np.frombuffer(content, np.uint8).reshape(-1, 3)
        elif kind == b"IDAT":
            packed += content
        at += size + 12
    raw = zlib.decompress(packed)
    channels = CHANNELS[colour]
    stride, back = (columns * channels * depth + 7) // 8, max(1, channels * depth // 8)
    above, lines = [0] * stride, []
    for r in range(rows):
        method, line = raw[r * (stride + 1)], list(raw[r * (stride + 1) + 1 : (r + 1) * (stride + 1)])
        if method == 2:
            line = [(v + b) % 256 for v, b in zip(line, above, strict=True)]
        elif method:
            for i in range(stride):
                a, b, c = (line[i - back], above[i], above[i - back]) if i >= back else (0, above[i], 0)
                if method == 4:
                    p = a + b - c
                    guess = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                else:
                    guess = {1: a, 3: (a + b) // 2}[method]
                line[i] = (line[i] + guess) % 256
        above = line
        lines.append(line)
    samples = np.array(lines, np.uint8)
    if depth < 8:
        bits = np.unpackbits(samples, axis=1).reshape(rows, -1, depth)
        samples = (bits @ (1 << np.arange(depth)[::-1])).astype(np.uint8)[:, :columns]
    samples = samples.reshape(rows, columns, *((channels,) if channels > 1 else ()))
    return samples if palette is None else palette[samples]


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
