"""Unite the resolved scripts of several results folders."""

import hashlib
import itertools
import json
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ScriptError, one_line, short
from stereo_framework.io import name_fault, read_bytes
from stereo_framework.io.locations import Faults
from stereo_framework.io.yaml_text import parse
from stereo_framework.script.include import RESOLVED
from stereo_framework.sweep.folder_sources import numbered_file_name

ResolvedScript = dict[str, Any]
"""A resolved script as plain values."""

_MAX_REASON_LENGTH = 200
"""Maximum length of the reason in a message about a damaged script."""


class ScriptReader:
    """Reader of resolved scripts, which parses equal files only once.

    Attributes
    ----------
    problems : list of str
        Messages about files that are not resolved scripts.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._script_of_digest: dict[bytes, ResolvedScript] = {}

    def read(self, folder: Path) -> dict[str, ResolvedScript]:
        """Return the resolved scripts in a folder, by the names of their files.

        A file that is not a valid script is left out, and adds a message to `problems`.
        """
        scripts: dict[str, ResolvedScript] = {}
        # The first of several scripts of the same name has no number in its file name.
        paths = sorted(folder.glob(f"*{RESOLVED}"), key=lambda path: path.name[: -len(RESOLVED)])
        for path in paths:
            try:
                scripts[path.name] = self._read_file(path)
            except DataError as error:
                self.problems.append(one_line(f"{error}; the script is left out"))
        return scripts

    def _read_file(self, path: Path) -> ResolvedScript:
        """Read a resolved script.

        Raises
        ------
        DataError
            The file cannot be read, or does not contain a resolved script.
        """
        fault = name_fault(path.name)
        if fault:
            raise DataError(f"{path}: {fault}")
        content = read_bytes(path, limits.RESOLVED_SCRIPT)
        digest = hashlib.sha256(content).digest()
        script = self._script_of_digest.get(digest)
        if script is None:
            script = self._script_of_digest[digest] = _parsed(content, path)
        return script


def _parsed(content: bytes, path: Path) -> ResolvedScript:
    """Convert the content of a file to a resolved script.

    Raises
    ------
    DataError
        The content is not the text of a resolved script.
    """
    faults = Faults()
    document = parse(content, str(path), faults)
    try:
        faults.raise_if_any()
    except ScriptError as error:
        raise DataError(error.faults[0]) from None
    if document is None or not isinstance(document.data, dict):
        raise DataError(f"{path}: is not a script; expected keys and values")
    script = document.data
    fault = _fault_of_keys(script)
    if fault:
        raise DataError(f"{path}: is not a resolved script: {short(fault, _MAX_REASON_LENGTH)}")
    return script


def _fault_of_keys(script: ResolvedScript) -> str | None:
    """Return the reason why a merge cannot use the keys of a script, or None."""
    name = script.get("name")
    if not isinstance(name, str):
        return "the key 'name' is missing or is not a text"
    methods = script.get("methods", {})
    if not isinstance(methods, dict):
        return "the key 'methods' is not a mapping"
    for part in (script, *methods.values()):
        if not isinstance(part, dict):
            return "a method is not a mapping"
        scenes = part.get("scenes", [])
        if not isinstance(scenes, list) or not all(isinstance(scene, str) for scene in scenes):
            return "the key 'scenes' is not a list of texts"
        if not isinstance(part.get("by_scene", {}), dict):
            return "the key 'by_scene' is not a mapping"
    return name_fault(name)


def scripts_of_methods(scripts: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the names of the scripts that contain a method, by the name of the method.

    Examples
    --------
    >>> script = {"name": "s", "methods": {"a": {}, "b": {}}}
    >>> scripts_of_methods([{"name": "a"}, script])
    {'a': ['a', 's'], 'b': ['s']}
    """
    names: dict[str, list[str]] = {}
    for script in scripts:
        methods = script.get("methods") or [script["name"]]
        for method in methods:
            names.setdefault(str(method), []).append(script["name"])
    return names


class MergedScripts:
    """Resolved scripts of several folders, without repetitions.

    Two scripts of the same name that differ only in their scenes become one script with
    all of the scenes. Other different scripts of the same name are kept, and the name
    of the second file has a number.

    Parameters
    ----------
    scripts : mapping of str to dict
        Scripts that keep the names of their files, by these names.

    Attributes
    ----------
    scripts : dict of str to dict
        All scripts, by the names of their files.
    """

    def __init__(self, scripts: Mapping[str, ResolvedScript] = types.MappingProxyType({})):
        self.scripts = dict(scripts)

    def add(self, script: ResolvedScript) -> None:
        """Add a script of a folder."""
        for file, other in self.scripts.items():
            if other is script:
                return
            united_script = _united(other, script)
            if united_script is not None:
                self.scripts[file] = united_script
                return
        self.scripts[self._free_file_name(script["name"])] = script

    def _free_file_name(self, name: str) -> str:
        """Return a file name that no other script has."""
        used_names = {file.casefold() for file in self.scripts}
        for number in itertools.count(1):
            file = numbered_file_name(name, number)
            if file.casefold() not in used_names:
                return file
        raise AssertionError("the loop over the numbers has no end")

    def texts(self) -> dict[str, bytes]:
        """Return the contents of the files, by their names."""
        return {
            file: yaml.safe_dump(script, sort_keys=False).encode()
            for file, script in self.scripts.items()
        }


# --- scripts that differ only in their scenes -----------------------------------------


def _united(first: ResolvedScript, second: ResolvedScript) -> ResolvedScript | None:
    """Return a script with the scenes of two scripts, or None if they differ otherwise.

    The resolved script of a run contains only the scenes of the run, the methods that
    ran on them, and the values for these scenes.
    """
    if _text_without_scenes(first) != _text_without_scenes(second):
        return None
    if _has_contradicting_values(first, second):
        return None
    united_script = _with_scenes_of(first, second)
    if "methods" not in first:
        return united_script

    methods = dict(first["methods"])
    for name, method in second["methods"].items():
        first_method = methods.get(name, method)
        is_equal = _json_text(_without_scenes(first_method)) == _json_text(_without_scenes(method))
        if not is_equal or _has_contradicting_values(first_method, method):
            return None
        methods[name] = _with_scenes_of(first_method, method)
    return united_script | {"methods": methods}


def _text_without_scenes(script: ResolvedScript) -> str:
    """Return a text that is equal for scripts that differ only in their scenes.

    The text lacks the methods that a script restricts to some scenes, because a run on
    other scenes omits these methods from its resolved script.
    """
    plain_script = _without_scenes(script)
    if "methods" in script:
        plain_script["methods"] = {
            name: _without_scenes(method)
            for name, method in script["methods"].items()
            if "scenes" not in method
        }
    return _json_text(plain_script)


def _without_scenes(part: ResolvedScript) -> ResolvedScript:
    """Return a script or a method without its scenes and the values for them."""
    return {key: value for key, value in part.items() if key not in ("scenes", "by_scene")}


def _has_contradicting_values(first: ResolvedScript, second: ResolvedScript) -> bool:
    """Return whether two scripts or methods have different values for a scene."""
    values_of_scenes = first.get("by_scene", {})
    for scene, values in second.get("by_scene", {}).items():
        first_values = values_of_scenes.get(scene, values)
        if _json_text(first_values) != _json_text(values):
            return True
    return False


def _with_scenes_of(first: ResolvedScript, second: ResolvedScript) -> ResolvedScript:
    """Return a script or a method with the scenes of two scripts or methods."""
    scenes = [*first.get("scenes", []), *second.get("scenes", [])]
    values_of_scenes = first.get("by_scene", {}) | second.get("by_scene", {})
    united_part = dict(first)
    if scenes:
        united_part["scenes"] = list(dict.fromkeys(scenes))
    if values_of_scenes:
        united_part["by_scene"] = values_of_scenes
    return united_part


def _json_text(value: Any) -> str:
    """Return a text that distinguishes 1, 1.0 and true, which are equal in Python."""
    return json.dumps(value, default=str)
