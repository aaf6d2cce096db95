"""Files that are installed with the package: its scripts, examples and YAML tables.

Shells import this module to complete the names of scripts, so that it must import only
modules that load fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]


def package_folder(name: str = "configs") -> Path:
    """Return the folder of the built-in scripts or of the examples.

    Parameters
    ----------
    name : {"configs", "examples"}
        Name of the folder. An installed package contains the folder. In a checkout of
        the sources, the folder lies next to the package.
    """
    installed_folder = _PACKAGE / name
    if installed_folder.is_dir():
        return installed_folder
    return _PACKAGE.parent / name


def script_names() -> tuple[str, ...]:
    """Return the sorted names of the built-in scripts, such as ``methods/ssd``."""
    root = package_folder()
    paths = [path.relative_to(root).with_suffix("") for path in root.rglob("*.yaml")]
    return tuple(sorted(path.as_posix() for path in paths))


def short_script_names() -> tuple[str, ...]:
    """Return the names of the built-in scripts without their folders.

    If two scripts would then have the same name, both keep their folders.
    """
    names = script_names()
    last_parts = [name.rpartition("/")[2] for name in names]
    short_names = []
    for name, last_part in zip(names, last_parts, strict=True):
        is_unique = last_parts.count(last_part) == 1
        short_names.append(last_part if is_unique else name)
    return tuple(short_names)


def package_yaml(file: str) -> Any:
    """Return the content of a YAML file of the package.

    Parameters
    ----------
    file : str
        Path within the package, such as ``datasets/catalogue.yaml``.
    """
    import yaml

    # The loader that uses libyaml is ten times as fast. It may be missing.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((_PACKAGE / file).read_text("utf-8"), loader)
