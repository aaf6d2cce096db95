"""Checks of file names, and conversion of texts to file names."""

import os
import re
import sys

FILE_NAME = r"^[\w(][^/\\\\:*?\"<>|\x00-\x1f\x7f]{0,99}$"
"""Pattern of valid file names on Linux, macOS and Windows.

A few invalid names match the pattern, such as ``con``, so `name_fault` has more checks.
"""

_MAX_NAME_BYTES = 100
"""Maximum length of a valid name, in bytes of UTF-8."""

_MAX_STEM_BYTES = 80
"""Maximum length of the result of `file_stem`, in bytes of UTF-8."""

_SHOWN_NAME_LENGTH = 40
"""Maximum length, in characters, of an invalid name in an error message."""

_WINDOWS_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Pattern of reserved names on Windows, such as ``con`` and ``con.txt``."""


def name_fault(name: str) -> str | None:
    r"""Return the reason why a name is not allowed, or None for valid names.

    Names of scripts, methods and plots become file names. Therefore, a name must be
    valid on every operating system.

    Examples
    --------
    >>> name_fault("window (9x9)") is None
    True
    >>> name_fault("../evil").partition(";")[0]
    "'../evil' cannot be the name of a file"
    """
    is_short = len(name.encode(errors="replace")) <= _MAX_NAME_BYTES
    has_allowed_end = not name.endswith((".", " ", "\n"))
    if (
        re.match(FILE_NAME, name)
        and is_short
        and has_allowed_end
        and not _WINDOWS_DEVICES.fullmatch(name)
    ):
        return None
    shown_name = repr(name[:_SHOWN_NAME_LENGTH])
    if len(name) > _SHOWN_NAME_LENGTH:
        shown_name += "..."
    return (
        f"{shown_name} cannot be the name of a file; allowed: a letter or digit, then up to "
        '99 characters other than / \\ : * ? " < > |, 100 bytes in UTF-8'
    )


def encoding_fault(name: str) -> str | None:
    r"""Return the reason why a name cannot be encoded, or None for valid names.

    A file name on disk can be invalid in the encoding of the locale. Python represents
    such names with surrogates, such as ``"\udcfc"``.

    Examples
    --------
    >>> encoding_fault("\udcfc").partition(" of this")[0]
    "the name '\\udcfc' cannot be written as text in the encoding"
    """
    try:
        name.encode()
        os.fsencode(name)
    except UnicodeEncodeError:
        encoding = sys.getfilesystemencoding()
        return (
            f"the name {name[:_SHOWN_NAME_LENGTH]!a} cannot be written as text in the "
            f"encoding of this locale ({encoding})"
        )
    return None


def file_stem(text: str) -> str:
    """Convert a text, such as a scene name, to a valid file name.

    The result contains only letters, digits, ``_``, ``.`` and ``-``. All other
    characters are replaced by hyphens. A long text is cut to its last 80 bytes.

    Examples
    --------
    >>> file_stem("middlebury2001/tsukuba"), file_stem("../a b?")
    ('middlebury2001-tsukuba', 'a-b')
    """
    allowed_text = re.sub(r"[^\w.-]+", "-", text)
    last_bytes = allowed_text.encode()[-_MAX_STEM_BYTES:]
    return last_bytes.decode(errors="ignore").strip("-.") or "scene"
