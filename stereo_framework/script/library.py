"""The scripts that ship with the package, and how a script is found by path or name."""

from __future__ import annotations

import contextlib
from pathlib import Path

from stereo_framework.errors import ScriptError, close_names, short
from stereo_framework.io import is_pipe

RESOLVED = ".resolved.yaml"
"""End of the name of a script that a run wrote out."""

_PACKAGE = Path(__file__).resolve().parents[1]


def library() -> Path:
    """Folder of the shipped scripts: inside an installed package, beside it in a checkout."""
    inside = _PACKAGE / "configs"
    return inside if inside.is_dir() else _PACKAGE.parent / "configs"


def script_names() -> tuple[str, ...]:
    """Names of the shipped scripts, ``methods/ssd``; sorted."""
    root = library()
    return tuple(sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.yaml")))


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
        if path.is_file() or is_pipe(path):
            return path
        folder = path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        folder = False
    wanted, shipped = Path(name).as_posix().removesuffix(".yaml"), script_names()
    if wanted in shipped:
        return library() / f"{wanted}.yaml"
    same = [full for full in shipped if full.rpartition("/")[2] == wanted]
    if len(same) == 1:
        return library() / f"{same[0]}.yaml"
    if same:
        raise ScriptError([f"script {str(name)!r}: several shipped scripts have this name: {', '.join(same)}"])
    what = "only a folder of this name" if folder else "no such file"
    raise ScriptError(
        [
            f"script {short(str(name), 80)!r}: {what} in {(base or Path()).resolve()}, and no shipped script of this name in "
            f"{library()}; {_nearest(path, wanted, shipped)}"
        ]
    )


def _nearest(path: Path, wanted: str, shipped: tuple[str, ...]) -> str:
    """The names next to `wanted`, by last part, of shipped scripts and of files in its folder; all shipped ones where none is close."""
    last = {full.rpartition("/")[2]: full for full in reversed(shipped)}
    with contextlib.suppress(OSError, ValueError):
        last |= {file.stem: file.as_posix() for file in path.parent.glob("*.yaml")}
    close = close_names(wanted.rpartition("/")[2], last, 3)
    if close:
        return "did you mean " + " or ".join(repr(last[name]) for name in close) + "?"
    return f"legal names: {', '.join(shipped) or 'none'}"
