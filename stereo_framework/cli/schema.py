"""The verb ``schema``."""

from __future__ import annotations


def schema() -> int:
    """Print the JSON Schema of parameter scripts, for completion and checks in editors.

    Example: stereo-framework schema > stereo-script.schema.json
    """
    from stereo_framework.cli._output import print_json
    from stereo_framework.script import schema as script_schema

    print_json(script_schema())
    return 0
