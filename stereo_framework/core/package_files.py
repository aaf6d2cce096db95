"""Paths of files in the package, such as scripts and examples.

Shells import this module for tab completion, so its own imports are fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

PACKAGE = "stereo_framework"
"""Name under which this package is imported."""

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
"""Folder that contains the modules of this package."""


def package_folder(name: str = "configs") -> Path:
    """Return the folder of the built-in scripts, or the folder of the examples.

    Parameters
    ----------
    name : {"configs", "examples"}
        Name of the folder. In a source checkout, the folder lies next to the package.
    """
    installed_folder = PACKAGE_FOLDER / name
    if installed_folder.is_dir():
        return installed_folder
    return PACKAGE_FOLDER.parent / name


def script_names() -> tuple[str, ...]:
    """Return the sorted names of the built-in scripts, such as ``methods/ssd``."""
    root = package_folder()
    paths = [path.relative_to(root).with_suffix("") for path in root.rglob("*.yaml")]
    return tuple(sorted(path.as_posix() for path in paths))


def short_script_names() -> tuple[str, ...]:
    """Return the names of the built-in scripts without their folders, such as ``ssd``.

    If two scripts have the same file name, both names keep the folder.
    """
    names = script_names()
    last_parts = [name.rpartition("/")[2] for name in names]
    short_names = []
    for name, last_part in zip(names, last_parts, strict=True):
        is_unique = last_parts.count(last_part) == 1
        short_names.append(last_part if is_unique else name)
    return tuple(short_names)


def package_yaml(file: str) -> Any:
    """Read a YAML file of the package.

    Parameters
    ----------
    file : str
        Path of the file relative to the package folder, such as
        ``datasets/catalogue.yaml``.
    """
    import yaml

    # CSafeLoader is ten times as fast as SafeLoader. Some builds of PyYAML lack it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((PACKAGE_FOLDER / file).read_text("utf-8"), loader)
