"""Files that are hostile, damaged or unusual, made for the inputs of this folder."""

import io
import os
import struct
import zipfile

import numpy as np
import tifffile


def bomb(levels: int = 12, width: int = 9) -> str:
    """An alias bomb: `width` to the power of `levels` nodes once its aliases are followed."""
    lines = ["a0: &a0 [" + ", ".join(["x"] * width) + "]"]
    lines += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * width) + "]" for i in range(1, levels)]
    return "\n".join(lines) + "\n"


METHOD = "matching_cost: absolute_difference\noptimization: winner_take_all\n"


def diamonds(levels: int = 20) -> dict[str, str]:
    """Scripts that include each other on two ways at each level."""
    files = {f"d{i}.yaml": f"include: [e{i}.yaml, f{i}.yaml]\n" for i in range(levels)}
    files |= {
        f"{side}{i}.yaml": f"include: d{i + 1}.yaml\n" for i in range(levels) for side in "ef"
    }
    return files | {f"d{levels}.yaml": METHOD}


def chain(length: int = 300) -> dict[str, str]:
    """Scripts that include one another."""
    return {f"d{i}.yaml": f"include: d{i + 1}.yaml\n" for i in range(length)} | {
        f"d{length}.yaml": METHOD
    }


def many_includes(count: int = 600) -> dict[str, str]:
    """A script that includes many others."""
    names = [f"d{i}.yaml" for i in range(count)]
    return dict.fromkeys(names, METHOD) | {"s.yaml": f"include: [{', '.join(names)}]\n"}


def many_methods(count: int = 20) -> str:
    """A script of many methods with a long axis each."""
    axis = "{sweep: {grid: {search.maximum: {range: [1, 900000, 1]}}}}"
    return f"{METHOD}methods:\n" + "".join(f"  m{i}: {axis}\n" for i in range(count))


def no_script() -> str:
    """An old script of which one line is one."""
    return "no\x1b[2J line\n" * 9000 + "depth_map a.pgm\n"


def any_bytes() -> bytes:
    return bytes(range(256))


def bmp(columns: int, rows: int, size: int = 1100) -> bytes:
    """A BMP file of `size` bytes that says it holds so many pixels of 24 bits."""
    head = b"BM" + struct.pack("<IHHI", size, 0, 0, 54)
    return (head + struct.pack("<IiiHHIIiiII", 40, columns, rows, 1, 24, 0, 0, 0, 0, 0, 0)).ljust(
        size, b"\0"
    )


def tiff(columns: int, rows: int, *more: tuple[int, int]) -> bytes:
    """A TIFF file of grey that says it holds so many pixels, with further or other tags."""
    tags = {
        256: columns,
        257: rows,
        258: 8,
        259: 1,
        262: 1,
        273: 8,
        277: 1,
        278: rows,
        279: 64,
    } | dict(more)
    entries = b"".join(
        struct.pack("<HHII", tag, 4, 1, value) for tag, value in sorted(tags.items())
    )
    return (
        b"II*\0"
        + struct.pack("<I", 72)
        + bytes(64)
        + struct.pack("<H", len(tags))
        + entries
        + bytes(4)
    )


def cut_tiff() -> bytes:
    """A TIFF file of which there is nothing but a beginning."""
    return b"II*\0" + b"\xff" * 40


def two_images(path: str) -> None:
    """A TIFF file of two images of 32x24 pixels of grey."""
    with tifffile.TiffWriter(path) as file:
        for _ in range(2):
            file.write(
                np.random.default_rng(0).integers(0, 255, (24, 32), np.uint8),
                photometric="minisblack",
                metadata=None,
            )


def stereo(center: float) -> str:
    """A stereo calibration of OpenCV's whose images have their middle at a column and row."""
    camera = [100, 0, center, 0, 100, center, 0, 0, 1]
    matrices = {
        "M1": camera,
        "D1": [0] * 5,
        "M2": camera,
        "D2": [0] * 5,
        "R": [1, 0, 0, 0, 1, 0, 0, 0, 1],
        "T": [-1, 0, 0],
    }
    sizes = {9: (3, 3), 5: (1, 5), 3: (3, 1)}
    return "%YAML:1.0\n---\n" + "".join(
        "{}: !!opencv-matrix\n   rows: {}\n   cols: {}\n   dt: d\n   data: {}\n".format(
            name, *sizes[len(m)], m
        )
        for name, m in matrices.items()
    )


def inflating(path: str) -> None:
    """An archive of 0.4 MB with an array of 400 MB of zeros, more than maps have pixels."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (20000, 20000)}
    )
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("a.npy", "w") as member,
    ):
        member.write(header.getvalue())
        for _ in range(4):
            member.write(bytes(2**20))


def folder(path: str) -> None:
    os.mkdir(path)


def sparse(path: str) -> None:
    """A file of 1 TB that takes no room on the disk."""
    with open(path, "wb") as file:
        file.truncate(2**40)


def fifo(path: str) -> None:
    os.mkfifo(path)
