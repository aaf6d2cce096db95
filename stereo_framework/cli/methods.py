"""The command ``methods``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _shared

if TYPE_CHECKING:
    from stereo_framework.script.catalogue import BuiltInMethod


def methods(
    name: Annotated[str | None, typer.Argument()] = None, json: _shared.Json = False
) -> None:
    """List the built-in methods, or print the script of one.

    Example: stereo-framework methods

    Example: stereo-framework methods sgm

    Parameters
    ----------
    name
        A built-in method, whose script is printed. Without a name, the methods are
        listed with the purposes for which they are suited.
    """
    from stereo_framework.script.catalogue import built_in_method, built_in_methods

    if name is not None:
        _shared.refuse_without_effect("with the name of a method", {"--json": json})
        print(built_in_method(name).read_script(), end="")
        return

    listed_methods = built_in_methods()
    if json:
        _shared.print_json([_record(method) for method in listed_methods])
        return

    rows = [[method.name, method.suited_to] for method in listed_methods]
    _shared.print_table(["method", "suited to"], rows, keys=1)
    _shared.say(
        "times are those of a photograph of about 700x480 pixels on one thread; small scenes are "
        "those of Middlebury version 2"
    )
    _shared.say("'stereo-framework methods NAME' prints the script of a method")


def _record(method: BuiltInMethod) -> dict[str, str]:
    """Return the entry of a method in the output of ``--json``."""
    return {
        "name": method.name,
        "suited_to": method.suited_to,
        "description": method.description,
    }
