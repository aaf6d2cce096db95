"""Finds a script, reads it with all scripts that it includes, and merges them."""

import contextlib
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from stereo_framework.core import limits, package_files, plugins
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import (
    DataError,
    ScriptError,
    StereoFrameworkError,
    close_names,
    short,
)
from stereo_framework.core.former_names import new_name_hint
from stereo_framework.core.parameters import Words
from stereo_framework.io import read_bytes
from stereo_framework.io.document import Document, dict_of, document_of
from stereo_framework.io.locations import Faults, Location
from stereo_framework.io.yaml_text import parse as parse_yaml
from stereo_framework.script.addresses import NAME
from stereo_framework.script.keys import AUXILIARY_KEYS, KEYS, METHOD_KEYS, text_of, texts_of
from stereo_framework.script.layers import merged, without_null_keys

RESOLVED = ".resolved.yaml"
"""End of the name of a script that a run wrote out."""


ScriptName = Annotated[
    Annotated[str, Words("a name")] | Path, Words("the name of a built-in script, or a path")
]
"""Annotation of a script that a user names."""


@checked()
def find_script(name: ScriptName, base: Path | None = None) -> Path:
    """Return the file of a script.

    Parameters
    ----------
    name : str or Path
        A path, or the name of a built-in script, such as ``methods/ssd``. The last part
        of the name is enough if only one built-in script has it. A file at the path
        takes precedence over a built-in script.
    base : Path, optional
        Folder at which relative paths start. The default is the working directory.

    Returns
    -------
    Path
        Path of an existing file.

    Raises
    ------
    ScriptError
        The script does not exist. The message gives the folders that were searched and
        the nearest names.

    Examples
    --------
    >>> find_script("ssd").name
    'ssd.yaml'
    """
    path = (base or Path()) / name
    is_folder = False
    # The operating system refuses some names, for example very long ones.
    with contextlib.suppress(OSError, ValueError):
        is_folder = path.is_dir()
        if path.exists() and not is_folder:
            return path

    wanted = Path(name).as_posix().removesuffix(".yaml")
    script_names = package_files.script_names()
    candidates = [wanted]
    if wanted not in script_names:
        candidates = [full for full in script_names if full.rpartition("/")[2] == wanted]
    if len(candidates) == 1:
        return package_files.package_folder() / f"{candidates[0]}.yaml"
    if candidates:
        listed = ", ".join(candidates)
        message = f"script {str(name)!r}: several built-in scripts have this name: {listed}"
        raise ScriptError([message])

    event = "only a folder of this name" if is_folder else "no such file"
    message = (
        f"script {short(str(name), 80)!r}: {event} in {(base or Path()).resolve()}, and no "
        f"built-in script of this name in {package_files.package_folder()}; "
        f"{_nearest(path, wanted)}"
    )
    raise ScriptError([message])


def _nearest(path: Path, wanted: str) -> str:
    """Return a clause with the names that are nearest to a wanted script.

    The names are those of built-in scripts and of the files in the folder of the path.
    If no name is near, the clause lists all built-in scripts.
    """
    hint = new_name_hint("script_names", "configs", wanted)
    if hint:
        return hint
    script_names = package_files.short_script_names()
    names = {name.rpartition("/")[2]: name for name in reversed(script_names)}
    with contextlib.suppress(OSError, ValueError):
        names = {file.stem: file.as_posix() for file in path.parent.glob("*.yaml")} | names
    near_names = close_names(wanted.rpartition("/")[2], names, 3)
    if near_names:
        listed = " or ".join(repr(names[name]) for name in near_names)
        return f"did you mean {listed}?"
    return f"built-in scripts: {', '.join(script_names) or 'none'}"


class PluginReference(NamedTuple):
    """A plug-in that a script or the user names.

    Parameters
    ----------
    name : Document
        Name of a module, or path of a file that ends in ``.py``.
    folder : Path or None
        Folder at which relative paths start. None means the working directory.
    """

    name: Document
    folder: Path | None

    @property
    def is_in_resolved_script(self) -> bool:
        """Whether a script of a results folder names the plug-in."""
        return self.name.location.file.endswith(RESOLVED)

    @property
    def text(self) -> str:
        """Name of the plug-in as it is written."""
        return str(text_of(self.name))

    @property
    def full_name(self) -> str:
        """Name of the plug-in for any working directory.

        The name is that of a module, or an absolute path.
        """
        if not self.text.endswith(".py"):
            return self.text
        try:
            return str(((self.folder or Path.cwd()) / self.text).resolve())
        except (OSError, ValueError):
            # No file can have this name, and loading the plug-in reports that.
            return self.text


_REFUSED = {KEYS: (), METHOD_KEYS: ("methods",), AUXILIARY_KEYS: ("methods", "search", "sweep")}
"""Keys that an included script must not have, by the keys of its includer."""


@dataclass
class Reader:
    """Reads a script and all scripts that it includes.

    Attributes
    ----------
    scripts : list of Document
        All scripts that were read, as they are written.
    plugins : list of PluginReference
        Plug-ins that the scripts and the user name.
    complete : bool
        Whether all included scripts could be read.
    """

    faults: Faults
    scripts: list[Document] = field(default_factory=list)
    plugins: list[PluginReference] = field(default_factory=list)
    complete: bool = True
    _open: list[Path] = field(default_factory=list)
    _read: dict[Path, Document | None] = field(default_factory=dict)

    def file(self, path: Path) -> Document | None:
        """Read a script file, and merge it over all scripts that it includes.

        The result is None if the file cannot be read as a script.
        """
        shown_path = os.path.normpath(path)
        real_path = path.resolve()
        if real_path in self._read:
            return self._read[real_path]
        self._read[real_path] = None
        self.faults.files.append(shown_path)
        # A resolved script lists all values of its axes, so it may be large.
        is_resolved = path.name.endswith(RESOLVED)
        size_limit = limits.RESOLVED_SCRIPT if is_resolved else limits.TEXT
        try:
            content = read_bytes(path, size_limit, allow_empty=True)
        except DataError as error:
            self.faults.add(Location(shown_path, 1, 1), str(error).removeprefix(f"{path}: "))
            return None
        document = parse_yaml(content, shown_path, self.faults)
        if document is not None:
            self._open.append(real_path)
            self._read[real_path] = self._script(document, path.parent)
            self._open.pop()
        return self._read[real_path]

    def mapping(self, mapping: Mapping[str, Any]) -> Document | None:
        """Read a script from a Python dict, and merge it over all that it includes.

        Relative paths in the script start at the working directory. The result is None
        if the dict is no script.
        """
        try:
            document = document_of(mapping, self.faults)
        except RecursionError:
            message = (
                "this is not a script, because it is nested too deeply, or because a mapping "
                "contains itself"
            )
            self.faults.add(Location(), message)
            return None
        return self._script(document, None)

    def _script(self, document: Document, folder: Path | None) -> Document | None:
        """Merge a script over all that it includes, and note its plug-ins."""
        if document.data is not None and not isinstance(document.data, dict):
            message = (
                "this is not a script; expected keys and values, such as "
                "'matching_cost: absolute_difference'"
            )
            self.faults.add(document.location, message)
            return None
        self.scripts.append(document)
        if document.mapping.get("plugins") is not None:
            what = "a module, a path ending in .py,"
            for name in texts_of(document.part("plugins"), self.faults, what):
                self.plugins.append(PluginReference(name, folder))
        return self._with_includes(document, folder, KEYS, document.location)

    def _with_includes(
        self,
        document: Document,
        folder: Path | None,
        allowed: tuple[str, ...],
        location: Location,
    ) -> Document:
        """Merge a mapping over all scripts that it includes.

        The methods and the auxiliary methods of the mapping are merged over their own
        includes.

        Parameters
        ----------
        document : Document
            A script, a method or an auxiliary method.
        folder : Path or None
            Folder at which relative paths start.
        allowed : tuple of str
            Keys that the mapping may have.
        location : Location
            Location of faults of the included scripts.
        """
        included = []
        if document.mapping.get("include") is not None:
            what = "a path, the name of a built-in script"
            for name in texts_of(document.part("include"), self.faults, what):
                script = self._included(name, folder)
                if script is not None:
                    included.append(self._restricted(script, allowed, location))
                if len(self._read) > limits.INCLUDES and not self.complete:
                    break

        mapping = without_null_keys(document)
        for key, inner_keys in (("methods", METHOD_KEYS), ("auxiliary", AUXILIARY_KEYS)):
            methods = mapping.part(key)
            if not methods.mapping:
                continue
            complete_methods = {}
            for method_name, method in methods.entries().items():
                has_valid_name = key == "methods" or re.fullmatch(NAME, method_name)
                # All other methods have faults, which the check of the script reports.
                if has_valid_name and (method.data is None or method.mapping or method.data == {}):
                    key_location = methods.key(method_name)
                    complete_methods[method_name] = self._with_includes(
                        method, folder, inner_keys, replace(key_location, key=method.location.key)
                    )
            mapping = mapping.with_value((key,), dict_of(complete_methods, methods.location))
        return functools.reduce(merged, [*included, mapping.at_location(location)])

    def _restricted(
        self, script: Document, allowed: tuple[str, ...], location: Location
    ) -> Document:
        """Return the part of an included script that its includer can use.

        A method uses stages, the sweep, the seed and the search range. An auxiliary
        method uses stages. The name is never used: a script that includes ``ssd`` has
        its own name. A method does not use the scenes of an included script, because
        the method runs on the scenes of its own script.
        """
        included_file = script.location.file or "the included script"
        includer = "an auxiliary method" if allowed == AUXILIARY_KEYS else "a method"
        for key in _REFUSED[allowed]:
            if script.mapping.get(key) is not None:
                remedy = "include it at the top"
                if key == "sweep":
                    remedy = "write its axes as auxiliary.NAME.ADDRESS"
                message = f"{included_file} sets {key!r} and cannot be included in {includer}"
                self.faults.add(location, f"{message}; {remedy}")
        unused_keys = set(script.mapping) - set(allowed)
        unused_keys.add("name")
        if allowed == METHOD_KEYS:
            unused_keys.add("scenes")
        return script.without_keys(*unused_keys)

    def _included(self, name: Document, folder: Path | None) -> Document | None:
        """Read an included script. The result is None after a fault."""
        script = None
        try:
            path = find_script(str(text_of(name)), folder)
            real_path = path.resolve()
            if real_path in self._open:
                chain = [*self._open[self._open.index(real_path) :], real_path]
                shown_chain = " > ".join(os.path.relpath(link) for link in chain)
                raise ScriptError([f"the scripts include each other in a loop: {shown_chain}"])
            if len(self._open) > limits.INCLUDE_DEPTH:
                raise ScriptError(
                    [f"the includes are nested more than {limits.INCLUDE_DEPTH} deep"]
                )
            if len(self._read) > limits.INCLUDES:
                raise ScriptError([f"the script includes more than {limits.INCLUDES} files"])
            script = self.file(path)
        except ScriptError as error:
            self.faults.add(name.location, error.faults[0])
        if script is None:
            self.complete = False
        return script

    # --- plug-ins ---------------------------------------------------------------------

    def executions(self) -> Iterator[str]:
        """Yield descriptions of the plug-ins, which are third-party code."""
        for plugin in self.plugins:
            yield f"the plug-in {plugin.full_name}"

    def add_plugins(self, names: Iterable[str | Path]) -> None:
        """Add plug-ins that the user names."""
        for plugin in names:
            name = Document(str(plugin), {(): Location("--plugin")})
            self.plugins.append(PluginReference(name, None))

    def load_plugins(self, top: Path | None) -> tuple[str, ...]:
        """Import the plug-ins of a script, and return the paths of their sources.

        A script file may name plug-in files in its folder. An included file may name
        those in the folder of the script that includes it. If this script is a mapping,
        the included file may name those in its own folder. The user may name plug-in
        files anywhere. The plug-ins of a resolved script belong to a results folder,
        which may come from another author, so the user must name them.

        Parameters
        ----------
        top : Path or None
            Folder of the script. None means that the script is a mapping from Python.
        """
        # A plug-in may change the working directory, so all paths are computed first.
        start = Path.cwd()
        paths = [(plugin.folder or start) / plugin.text for plugin in self.plugins]
        are_allowed = [
            self._may_load(plugin, path, top or plugin.folder)
            for path, plugin in zip(paths, self.plugins, strict=True)
        ]
        sources = []
        for plugin, path, is_allowed in zip(self.plugins, paths, are_allowed, strict=True):
            if not is_allowed:
                reason = "is outside the script's folder"
                if plugin.is_in_resolved_script:
                    reason = "is a plug-in of a results folder"
                message = (
                    f"{short(plugin.text, 80)!r} {reason} and was not "
                    "imported, because an import executes the file; "
                    f"to allow it, add --plugin {short(str(path), 200)}"
                )
                self.faults.add(plugin.name.location, message)
                continue
            try:
                sources.append(plugins.load_plugin(plugin.text, start / (plugin.folder or "")))
            except StereoFrameworkError as error:
                self.faults.add(plugin.name.location, str(error).removeprefix("plugins: "))
        self.faults.without_plugins = len(sources) < len(self.plugins)
        return tuple(dict.fromkeys(sources))

    def _may_load(self, plugin: PluginReference, path: Path, allowed_folder: Path | None) -> bool:
        """Return whether a plug-in may be loaded.

        Modules may always be loaded. If the script is a mapping from Python, all of its
        plug-ins may be loaded.
        """
        # The path of a file with the name ".py" has no suffix.
        if not plugin.text.endswith(".py") or allowed_folder is None:
            return True
        try:
            real_path = path.resolve()
            named_by_user = [
                Path(other.text).resolve() for other in self.plugins if other.folder is None
            ]
            if real_path in named_by_user or plugin.is_in_resolved_script:
                return real_path in named_by_user
            return real_path.is_relative_to(allowed_folder.resolve())
        except (OSError, ValueError):
            # No file can have this name, and loading the plug-in reports that.
            return True
