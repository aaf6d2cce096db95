"""Detection of unsupported and misnamed files by their first bytes.

For example, the error message for a GIF file advises a conversion to PNG.
"""

import re
from collections.abc import Mapping

from stereo_framework.core.errors import DataError

PathLike = object
"""Type of a path, which only error messages use."""

_IMAGE_REMEDY = "convert it to PNG or TIFF without loss"

_PICTURE_FORMATS: Mapping[str, str] = {
    r"GIF8[79]a": "a GIF picture",
    r"\0\0\0\x0cjP  \r\n|\xff\x4f\xff\x51": "a JPEG 2000 picture",
    r"\xff\x0a|\0\0\0\x0cJXL ": "a JPEG XL picture",
    r"....ftyp(?:avif|avis|heic|heix|hevc|mif1|msf1)": "a HEIC or AVIF picture",
    r"v/1\x01": "an OpenEXR picture",
    r"#\?(?:RADIANCE|RGBE)": "a Radiance picture",
    r"8BPS": "a Photoshop picture",
    r"P[14]\s": "a bitmap with 1 bit for each pixel (PBM)",
    r"P7\n": "a PAM picture",
    r"DDS ": "a DDS picture",
    r"SIMPLE  =": "a FITS file",
    r"\xab\xcdMS|....ftyp|RIFF....AVI |\x1a\x45\xdf\xa3": "a video",
}
"""Descriptions of unsupported image formats.

The keys are patterns of the first bytes of a file.
"""

_OTHER_FORMATS: Mapping[str, tuple[str, str]] = {
    r"\x1f\x8b": ("compressed with gzip", "decompress it first, for example with 'gunzip'"),
    r"BZh[1-9]": ("compressed with bzip2", "decompress it first, for example with 'bunzip2'"),
    r"\xfd7zXZ\0": ("compressed with xz", "decompress it first, for example with 'unxz'"),
    r"\x28\xb5\x2f\xfd": (
        "compressed with zstd",
        "decompress it first, for example with 'unzstd'",
    ),
    r"7z\xbc\xaf\x27\x1c|Rar!\x1a": ("an archive", "unpack it, and name one of its files"),
    r"\x89HDF\r\n\x1a\n": ("an HDF5 file", "save its array with numpy.save"),
    r"MATLAB 5\.0 MAT-file": (
        "a MATLAB file",
        "save its array with numpy.save, after scipy.io.loadmat has read it",
    ),
    r"\x80[\x02-\x05].": (
        "a Python pickle",
        "save its array with numpy.save; reading a pickle could execute code",
    ),
    r"%PDF-": ("a PDF document", "export its picture as PNG"),
    r"PIEH": (
        "an optical flow file (.flo)",
        "rename it so that its name ends with .flo, or save the disparities as PFM",
    ),
    r"Pf\s|PF\s": ("a PFM file", "rename it so that its name ends with .pfm"),
    r"\x93NUMPY": ("a NumPy array", "rename it so that its name ends with .npy"),
    r"\x89PNG": ("a PNG picture", "rename it so that its name ends with .png"),
    r"II\*\0|MM\0\*": ("a TIFF picture", "rename it so that its name ends with .tif"),
    r"\xff\xd8\xff": ("a JPEG picture", "rename it so that its name ends with .jpg"),
    r"RIFF....WEBP": ("a WebP picture", "rename it so that its name ends with .webp"),
}
"""Descriptions of more file formats, with remedies.

The keys are patterns of the first bytes of a file. Supported formats are included,
because a file may have a wrong extension, such as a PNG file named ``disp.pfm``.
"""

_EXAMINED_BYTES = 512
"""Number of bytes that are searched to detect the format of a file."""

_WEB_PAGE = re.compile(
    rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
"""Pattern of the beginning of an HTML page, with an optional comment."""


def known_kind(data: bytes) -> str | None:
    """Return an error message that names the file format and a remedy.

    If the format is unknown, the result is None.

    Parameters
    ----------
    data : bytes
        Content of the file.

    Examples
    --------
    >>> known_kind(b"GIF89a...").partition(";")[0]
    'the file is a GIF picture, which is not read'
    """
    beginning = data[:_EXAMINED_BYTES]
    for pattern, name in _PICTURE_FORMATS.items():
        if re.match(pattern.encode("latin-1"), beginning, re.DOTALL):
            return f"the file is {name}, which is not read; {_IMAGE_REMEDY}"
    for pattern, (name, remedy) in _OTHER_FORMATS.items():
        if re.match(pattern.encode("latin-1"), beginning, re.DOTALL):
            return f"the file is {name}, which is not read here; {remedy}"
    return None


def check_present(data: bytes, path: PathLike) -> None:
    """Raise an error if a file is only a placeholder, such as a Git LFS pointer.

    Parameters
    ----------
    data : bytes
        Content of the file.
    path : path-like
        Path of the file, for error messages.

    Raises
    ------
    DataError
        The file is a Git LFS pointer, a git-annex pointer or a web page.
    """
    message = ""
    if data.startswith(b"version https://git-lfs.github.com/spec/"):
        message = (
            "the file is a pointer of Git LFS and not the file itself; fetch the file with "
            "'git lfs pull'"
        )
    elif data.startswith((b"/annex/objects/", b"../.git/annex/objects/")):
        message = (
            "the file is a pointer of git-annex and not the file itself; fetch the file with "
            "'git annex get'"
        )
    elif _WEB_PAGE.match(data[:_EXAMINED_BYTES]):
        message = (
            "the file is a web page (HTML), which a server may have sent in place of the file, "
            "because a login or a confirmation is needed; download the file again with a "
            "browser, or copy it from another computer"
        )
    if message:
        raise DataError(f"{path}: {message}")
