"""The verb ``import``."""

from __future__ import annotations

import sys
from pathlib import Path

from stereo_framework.errors import ParameterError


def import_(
    old: Path,
    out: Path | None = None,
) -> int:
    """Convert a script of the original 2002 program to YAML; what cannot be carried over is told line by line.

    Example: stereo-framework import exp6.txt --out converted

    Parameters
    ----------
    old
        A script file of the original 2002 program.
    out
        Folder for the YAML scripts, one a scene; default: print the only one.
    """
    import yaml

    from stereo_framework.io import file_stem, write_own
    from stereo_framework.script.legacy_file import convert

    scripts = convert(old, lambda line: print(f"note: {line}", file=sys.stderr))
    if out is None and len(scripts) > 1:
        raise ParameterError(f"{old} becomes {len(scripts)} scripts ({', '.join(scripts)}); give --out DIR for a file each")
    for scene, script in scripts.items():
        text = f"# Converted from {old.name}, a script of the original 2002 program.\n{yaml.safe_dump(script, sort_keys=False)}"
        if out is None:
            print(text, end="")
        else:
            out.mkdir(parents=True, exist_ok=True)
            path = out / f"{file_stem(scene)}.yaml"
            write_own(path, text)
            print(f"{path}: {len(script['methods'])} methods")
    return 0
