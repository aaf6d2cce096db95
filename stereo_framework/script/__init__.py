"""Parameter scripts: YAML or mappings that say which method runs with which parameters on which scenes."""

from stereo_framework.script.include import find_script
from stereo_framework.script.load import Script, load
from stereo_framework.script.schema import schema
from stereo_framework.script.setting import Setting

__all__ = ["Script", "Setting", "find_script", "load", "schema"]
