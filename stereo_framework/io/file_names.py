"""Check texts that become names of files, and turn texts into such names."""

import os
import re
import sys

FILE_NAME = r"^[\w(][^/\\\\:*?\"<>|\x00-\x1f\x7f]{0,99}$"
"""Pattern of the names that a file can have on every system.

`name_fault` also refuses the few names that match this pattern and are not possible.
"""

_MAX_NAME_BYTES = 100
_MAX_STEM_BYTES = 80
_SHOWN_NAME_LENGTH = 40
"""Number of characters of a refused name that a message shows."""

_WINDOWS_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows reserves for devices, with any ending."""


def name_fault(name: str) -> str | None:
    r"""Describe why a script, method or plot cannot have a name; None if it can.

    The name becomes a part of the names of files.

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
    r"""Describe why a name cannot be written to files of results; None if it can be.

    The name of a file contains surrogates if its bytes are not text in the encoding of
    the locale.

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
    """Return a text as a part of the name of a file.

    The result contains only letters, digits, ``_``, ``.`` and ``-``. Hyphens replace
    all other characters. Of a long text the last 80 bytes in UTF-8 remain.

    Examples
    --------
    >>> file_stem("middlebury2001/tsukuba"), file_stem("../a b?")
    ('middlebury2001-tsukuba', 'a-b')
    """
    allowed_text = re.sub(r"[^\w.-]+", "-", text)
    last_bytes = allowed_text.encode()[-_MAX_STEM_BYTES:]
    return last_bytes.decode(errors="ignore").strip("-.") or "scene"
