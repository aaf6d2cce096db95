"""The verb ``schema``."""

from __future__ import annotations

from stereo_framework.cli import _output


def schema() -> int:
    """Print the JSON Schema of parameter scripts, for completion and checks in editors.

    Example: stereo-framework schema > stereo-script.schema.json
    """
    from stereo_framework.script import schema as script_schema

    _output.print_json(script_schema())
    return 0
