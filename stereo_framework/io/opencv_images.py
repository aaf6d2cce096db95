"""OpenCV's decoders of image files, whose complaints become warnings of this program."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataWarning
from stereo_framework.io._files import PathLike

_decoding = threading.Lock()


def decode(data: bytes | bytearray, path: PathLike) -> NDArray | None:
    """The image that OpenCV decodes from the bytes, in its BGR order, or None if it cannot decode them.

    If it fills up damaged parts, as in a JPEG, a `DataWarning` says so.
    """
    import cv2

    logging: Any = cv2 if hasattr(cv2, "setLogLevel") else cv2.utils.logging  # OpenCV 4, 5
    array: NDArray | None = None
    with _decoding, _complaints() as said:
        level = logging.setLogLevel(0)
        try:
            array = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
        except cv2.error:
            pass
        finally:
            logging.setLogLevel(level)
    damage = [line for line in said if _DAMAGE.search(line)]
    if array is not None and damage:
        warnings.warn(f"{path}: is damaged, parts of it are not as they were: {damage[0]}", DataWarning, stacklevel=2)
    return array


_COMPLAINT = re.compile(r"libpng|libjpeg|JPEG|JFIF|TIFF|WebP|Huffman|progression|SOS|OpenCV|imread|imdecode|cv::", re.IGNORECASE)
"""Matches the lines that libraries which decode images print."""

_DAMAGE = re.compile(r"Corrupt|Premature end|Invalid|Inconsistent|extraneous", re.IGNORECASE)
"""Matches those of the lines that report damage."""


@contextlib.contextmanager
def _complaints() -> Iterator[list[str]]:
    """Catch the lines that libraries of image formats write to the error stream, since they have no other way to report problems.

    Lines that other code writes there at the same time, in other threads, are passed on.
    """
    said: list[str] = []
    try:
        stream, caught = os.dup(2), tempfile.TemporaryFile()  # noqa: SIM115  closed below
    except OSError:  # no error stream, or no place for a temporary file
        yield said
        return
    with caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(stream, 2)
            caught.seek(0)
            for line in caught.read().decode(errors="replace").splitlines(keepends=True):
                if _COMPLAINT.search(line):
                    said.append(line.strip())
                else:
                    os.write(2, line.encode())
            os.close(stream)
