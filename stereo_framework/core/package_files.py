"""Files that are installed with the package: its scripts and their names, and its tables in YAML. Imports nothing that takes time, since shells ask for these names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]


def library(name: str = "configs") -> Path:
    """Folder of the built-in scripts, or of the ``examples``: inside an installed package, beside it in a checkout."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def script_names() -> tuple[str, ...]:
    """Names of the built-in scripts, ``methods/ssd``; sorted."""
    root = library()
    return tuple(
        sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.yaml"))
    )


def short_script_names() -> tuple[str, ...]:
    """The names of all built-in scripts without their folders, except where two scripts would then have the same name."""
    names = script_names()
    last = [name.rpartition("/")[2] for name in names]
    return tuple(
        short if last.count(short) == 1 else name for name, short in zip(names, last, strict=True)
    )


def package_yaml(file: str) -> Any:
    """What a YAML file of the package holds, by its path within the package, such as ``datasets/catalogue.yaml``."""
    import yaml

    # With libyaml, where it is installed, reading is ten times as fast.
    return yaml.load(
        (_PACKAGE / file).read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
