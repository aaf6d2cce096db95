"""The command ``import``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stereo_framework.cli import _shared
from stereo_framework.core.errors import ParameterError, short


def import_(old: Path, out: Path | None = None) -> None:
    """Convert a script of another program to YAML.

    The command reads scripts of the original 2002 program, and JSON configurations
    of Pandora 1.9. It prints a line for each part that it cannot convert, and for
    each part that gives other results.

    Example: stereo-framework import exp6.txt --out converted

    Example: stereo-framework import a_semi_global_matching.json --out converted

    Parameters
    ----------
    old
        A script file of the original 2002 program, or a configuration of Pandora.
    out
        Folder for the YAML scripts, one a scene; default: print the only one.
    """
    import yaml

    from stereo_framework.io import file_stem, output_folder, write_bytes

    notes: list[str] = []
    scripts, description = _converted_scripts(old, notes)
    _print_notes(notes)
    if out is None and len(scripts) > 1:
        raise ParameterError(
            f"{old} becomes {len(scripts)} scripts ({', '.join(scripts)}); give --out DIR for a file each"
        )
    for scene, script in scripts.items():
        text = f"# Converted from {old.name}, {description}.\n{yaml.safe_dump(script, sort_keys=False)}"
        if out is None:
            print(text, end="")
        else:
            path = out / f"{file_stem(scene)}.yaml"
            with output_folder(out):
                write_bytes(path, text.encode())
            print(f"{path}: {_number_of_methods(script)}")


def _converted_scripts(old: Path, notes: list[str]) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the converted scripts by name, and a description of the file."""
    from stereo_framework.script.legacy import convert
    from stereo_framework.script.pandora import convert_pandora, is_json

    if is_json(old):
        script = convert_pandora(old, notes.append)
        return {script["name"]: script}, "a configuration of Pandora"
    return convert(old, notes.append), "a script of the original 2002 program"


def _print_notes(notes: list[str]) -> None:
    """Print the notes, up to the maximum number of messages."""
    from stereo_framework.core import limits

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


def _number_of_methods(script: Mapping[str, Any]) -> str:
    """Return the number of methods in a script, in words."""
    if "methods" not in script or len(script["methods"]) == 1:
        return "1 method"
    return f"{len(script['methods'])} methods"
