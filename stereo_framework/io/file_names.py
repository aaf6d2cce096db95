"""Rules for texts that become file names, and the conversion of texts to file names."""

import os
import re
import sys

FILE_NAME = r"^[\w(][^/\\\\:*?\"<>|\x00-\x1f\x7f]{0,99}$"
"""Pattern of file names that are allowed on Linux, macOS and Windows.

A few names match the pattern but are not allowed, such as ``con`` on Windows. The
function `name_fault` refuses them too.
"""

_MAX_NAME_BYTES = 100
"""Maximum number of bytes, in UTF-8, of the name of a script, method or plot."""

_MAX_STEM_BYTES = 80
"""Maximum number of bytes, in UTF-8, of a text that `file_stem` returns."""

_SHOWN_NAME_LENGTH = 40
"""Number of characters of a refused name that an error message shows."""

_WINDOWS_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows reserves for devices, such as ``con`` and ``con.txt``."""


def name_fault(name: str) -> str | None:
    r"""Return the reason why a script, method or plot cannot have a name, or None.

    The name becomes a part of file names, so it must be possible in a file name on
    every operating system. The result is None if the name is allowed.

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
    r"""Return the reason why a name cannot be written to result files, or None.

    The bytes of a file name on disk may be invalid in the encoding of the locale. In
    Python, such a name contains surrogates (for example ``"\udcfc"``), which cannot be
    written as UTF-8. The result is None if the name can be written.

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
    """Convert a text, such as the name of a scene, to a part of a file name.

    The result contains only letters, digits, ``_``, ``.`` and ``-``. All other
    characters are replaced by hyphens. If the text is longer than 80 bytes in UTF-8,
    only its last 80 bytes are kept.

    Examples
    --------
    >>> file_stem("middlebury2001/tsukuba"), file_stem("../a b?")
    ('middlebury2001-tsukuba', 'a-b')
    """
    allowed_text = re.sub(r"[^\w.-]+", "-", text)
    last_bytes = allowed_text.encode()[-_MAX_STEM_BYTES:]
    return last_bytes.decode(errors="ignore").strip("-.") or "scene"
