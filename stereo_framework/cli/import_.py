"""The command ``import``."""

from pathlib import Path

from stereo_framework.cli import _shared
from stereo_framework.core.errors import ParameterError, short


def import_(old: Path, out: Path | None = None) -> None:
    """Convert a script of the original 2002 program to YAML.

    The command prints a line for each setting that it cannot convert.

    Example: stereo-framework import exp6.txt --out converted

    Parameters
    ----------
    old
        A script file of the original 2002 program.
    out
        Folder for the YAML scripts, one a scene; default: print the only one.
    """
    import yaml

    from stereo_framework.core import limits
    from stereo_framework.io import file_stem, output_folder, write_bytes
    from stereo_framework.script.legacy import convert

    notes: list[str] = []
    scripts = convert(old, notes.append)
    _shared.tell(
        "note",
        *(
            short(line if line.isprintable() else repr(line), 300)
            for line in notes[: limits.FAULTS]
        ),
    )
    # A file that is no script at all has something wrong in each of its lines.
    if len(notes) > limits.FAULTS:
        _shared.tell("note", "further lines cannot be carried over either")
    if out is None and len(scripts) > 1:
        raise ParameterError(
            f"{old} becomes {len(scripts)} scripts ({', '.join(scripts)}); give --out DIR for a file each"
        )
    for scene, script in scripts.items():
        text = f"# Converted from {old.name}, a script of the original 2002 program.\n{yaml.safe_dump(script, sort_keys=False)}"
        if out is None:
            print(text, end="")
        else:
            path = out / f"{file_stem(scene)}.yaml"
            with output_folder(out):
                write_bytes(path, text.encode())
            print(f"{path}: {len(script['methods'])} methods")
