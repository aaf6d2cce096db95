"""Parameter scripts: YAML or mappings that say which method runs with which parameters on which scenes."""

from stereo_framework.core.shipped import script_names
from stereo_framework.script.library import find_script
from stereo_framework.script.load import Script, load
from stereo_framework.script.runs import Run
from stereo_framework.script.schema import schema

__all__ = ["Run", "Script", "find_script", "load", "schema", "script_names"]
