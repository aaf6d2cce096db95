"""How a script is found by path or name, among those that ship with the package."""

from __future__ import annotations

import contextlib
from pathlib import Path

from stereo_framework.core import shipped
from stereo_framework.core.errors import ScriptError, close_names, short

RESOLVED = ".resolved.yaml"
"""End of the name of a script that a run wrote out."""


def find_script(name: str | Path, base: Path | None = None) -> Path:
    """The file that a user means.

    Parameters
    ----------
    name : str or Path
        A path, or the name of a shipped script: ``methods/ssd``, or its last part ``ssd`` where only one has it. A file of that
        path comes first.
    base : Path, optional
        Folder that relative paths start from; default: the working directory.

    Returns
    -------
    Path
        Of an existing file.

    Raises
    ------
    ScriptError
        Nothing of that name; tells where it was looked for and the nearest names.

    Examples
    --------
    >>> find_script("ssd").name
    'ssd.yaml'
    """
    path = (base or Path()) / name
    try:
        folder = path.is_dir()
        if path.exists() and not folder:
            return path
    except (OSError, ValueError):  # a name that no file can have
        folder = False
    wanted, names = Path(name).as_posix().removesuffix(".yaml"), shipped.script_names()
    if wanted in names:
        return shipped.library() / f"{wanted}.yaml"
    same = [full for full in names if full.rpartition("/")[2] == wanted]
    if len(same) == 1:
        return shipped.library() / f"{same[0]}.yaml"
    if same:
        raise ScriptError([f"script {str(name)!r}: several shipped scripts have this name: {', '.join(same)}"])
    what = "only a folder of this name" if folder else "no such file"
    where = f"{what} in {(base or Path()).resolve()}, and no shipped script of this name in {shipped.library()}"
    raise ScriptError([f"script {short(str(name), 80)!r}: {where}; {_nearest(path, wanted)}"])


def _nearest(path: Path, wanted: str) -> str:
    """The names next to `wanted`, by last part, of shipped scripts and then of files in its folder; all shipped ones where none is close."""
    names = shipped.short_script_names()
    files: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError):
        files = {file.stem: file.as_posix() for file in path.parent.glob("*.yaml")}
    close = []
    for last in ({name.rpartition("/")[2]: name for name in reversed(names)}, files):
        close += [last[name] for name in close_names(wanted.rpartition("/")[2], last, 3)]
    if close:
        return "did you mean " + " or ".join(map(repr, dict.fromkeys(close[:3]))) + "?"
    return f"legal names: {', '.join(names) or 'none'}"
