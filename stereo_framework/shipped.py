"""The scripts that ship with the package: where they are, and their names. Imports nothing that takes time: shells ask for these names."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def library() -> Path:
    """Folder of the shipped scripts: inside an installed package, beside it in a checkout."""
    inside = _PACKAGE / "configs"
    return inside if inside.is_dir() else _PACKAGE.parent / "configs"


def script_names() -> tuple[str, ...]:
    """Names of the shipped scripts, ``methods/ssd``; sorted."""
    root = library()
    return tuple(sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.yaml")))


def short_script_names() -> tuple[str, ...]:
    """The names of all shipped scripts without their folders, except where two scripts would then have the same name."""
    names = script_names()
    last = [name.rpartition("/")[2] for name in names]
    return tuple(short if last.count(short) == 1 else name for name, short in zip(names, last, strict=True))
