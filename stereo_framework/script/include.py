"""A script as one mapping: found by path or name, read with all that it includes, and merged: later wins."""

import contextlib
import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

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
from stereo_framework.io.locations import Faults, Location, Node, from_python
from stereo_framework.io.yaml_text import parse as parse_yaml
from stereo_framework.script.merging import merge, without_null_keys
from stereo_framework.script.reading import AUXILIARY_KEYS, KEYS, METHOD_KEYS, text, texts
from stereo_framework.script.specs import NAME

RESOLVED = ".resolved.yaml"
"""End of the name of a script that a run wrote out."""


ScriptName = Annotated[
    Annotated[str, Words("a name")] | Path, Words("the name of a built-in script, or a path")
]
"""Annotation of a script that a user names."""


@checked()
def find_script(name: ScriptName, base: Path | None = None) -> Path:
    """The file that a user means.

    Parameters
    ----------
    name : str or Path
        A path, or the name of a built-in script: ``methods/ssd``, or its last part ``ssd`` where only one has it. A file of that
        path comes first.
    base : Path, optional
        Folder that relative paths start from; default: the working directory.

    Returns
    -------
    Path
        Of an existing file.

    Raises
    ------
    ScriptError
        Nothing of that name; tells where it was looked for and the nearest names.

    Examples
    --------
    >>> find_script("ssd").name
    'ssd.yaml'
    """
    path = (base or Path()) / name
    try:
        folder = path.is_dir()
        if path.exists() and not folder:
            return path
    except (OSError, ValueError):  # a name that no file can have
        folder = False
    wanted, names = Path(name).as_posix().removesuffix(".yaml"), package_files.script_names()
    if wanted in names:
        return package_files.package_folder() / f"{wanted}.yaml"
    same = [full for full in names if full.rpartition("/")[2] == wanted]
    if len(same) == 1:
        return package_files.package_folder() / f"{same[0]}.yaml"
    if same:
        raise ScriptError(
            [f"script {str(name)!r}: several built-in scripts have this name: {', '.join(same)}"]
        )
    what = "only a folder of this name" if folder else "no such file"
    where = f"{what} in {(base or Path()).resolve()}, and no built-in script of this name in {package_files.package_folder()}"
    raise ScriptError([f"script {short(str(name), 80)!r}: {where}; {_nearest(path, wanted)}"])


def _nearest(path: Path, wanted: str) -> str:
    """The names next to `wanted`, by last part, of built-in scripts and of files in its folder; all built-in ones where none is close."""
    if hint := new_name_hint("script_names", "configs", wanted):
        return hint
    script_names = package_files.short_script_names()
    names = {name.rpartition("/")[2]: name for name in reversed(script_names)}
    with contextlib.suppress(OSError, ValueError):
        names = {file.stem: file.as_posix() for file in path.parent.glob("*.yaml")} | names
    if close := [repr(names[last]) for last in close_names(wanted.rpartition("/")[2], names, 3)]:
        return f"did you mean {' or '.join(close)}?"
    return f"built-in scripts: {', '.join(script_names) or 'none'}"


_REFUSED = {KEYS: (), METHOD_KEYS: ("methods",), AUXILIARY_KEYS: ("methods", "search", "sweep")}
"""What an included script must not say, by the keys of the mapping that includes it."""


@dataclass
class Reader:
    """Reads a script and all that it includes.

    Attributes
    ----------
    scripts : list of Node
        All that was read, as it is written.
    plugins : list of (Node, Path or None)
        Plug-ins that were named, each with the folder that its path starts from.
    complete : bool
        Whether everything that is included could be read.
    """

    faults: Faults
    scripts: list[Node] = field(default_factory=list)
    plugins: list[tuple[Node, Path | None]] = field(default_factory=list)
    complete: bool = True
    _open: list[Path] = field(default_factory=list)
    _read: dict[Path, Node | None] = field(default_factory=dict)

    def file(self, path: Path) -> Node | None:
        """A script file, merged; None after a fault that leaves nothing to look at."""
        shown, real = os.path.normpath(path), path.resolve()
        if real in self._read:
            return self._read[real]
        self._read[real] = None
        self.faults.files.append(shown)
        try:
            # One that was written out lists all values of its axes.
            content = read_bytes(
                path,
                limits.RESOLVED_SCRIPT if path.name.endswith(RESOLVED) else limits.TEXT,
                allow_empty=True,
            )
        except DataError as error:
            self.faults.add(Location(shown, 1, 1), str(error).removeprefix(f"{path}: "))
            return None
        if (node := parse_yaml(content, shown, self.faults)) is not None:
            self._open.append(real)
            self._read[real] = self._script(node, path.parent)
            self._open.pop()
        return self._read[real]

    def mapping(self, mapping: Mapping[str, Any]) -> Node | None:
        """A script from Python, merged; its paths start from the working directory."""
        try:
            node = from_python(mapping, self.faults)
        except RecursionError:
            self.faults.add(
                Location(), "not a script: nested too deeply, or a mapping inside itself"
            )
            return None
        return self._script(node, None)

    def _script(self, node: Node, folder: Path | None) -> Node | None:
        if not isinstance(node.value, dict | None):
            self.faults.add(
                node.location,
                "not a script: expected keys and values, as in 'matching_cost: absolute_difference'",
            )
            return None
        self.scripts.append(node)
        plugins = node.at("plugins")
        if plugins.value is not None:
            self.plugins += [
                (name, folder)
                for name in texts(plugins, self.faults, "a module, a path ending in .py,")
            ]
        return self._merged(node, folder, KEYS, node.location)

    def _merged(
        self, node: Node, folder: Path | None, allowed: tuple[str, ...], location: Location
    ) -> Node:
        """A mapping over all that it includes; its methods and auxiliary methods likewise."""
        include = node.at("include")
        names = (
            texts(include, self.faults, "a path, the name of a built-in script")
            if include.value is not None
            else []
        )
        below = [self._below(script, allowed, location) for script in self._included(names, folder)]
        own = without_null_keys(node)
        for key, inner in (("methods", METHOD_KEYS), ("auxiliary", AUXILIARY_KEYS)):
            if entries := own.at(key).entries:
                parts = {
                    name: self._merged(one, folder, inner, own.at(key).key(name))
                    for name, one in entries.items()
                    if isinstance(one.value, dict | None)
                    and (key == "methods" or re.fullmatch(NAME, name))
                }
                own.entries[key] = replace(own.at(key), value=parts)
        return functools.reduce(merge, [*below, replace(own, location=location)])

    def _below(self, script: Node, allowed: tuple[str, ...], location: Location) -> Node:
        """An included script as the mapping that includes it can take it.

        Of a method these are its stages, sweep, seed and search, of an auxiliary method its stages. How
        it is run alone (scenes, evaluation, report) is left out; its name everywhere: a script that includes ``ssd`` is not called so.
        """
        is_auxiliary = allowed == AUXILIARY_KEYS
        for key in _REFUSED[allowed]:
            if script.at(key).value is not None:
                file, what = (
                    script.location.file or "the included script",
                    "an auxiliary method" if is_auxiliary else "a method",
                )
                where = (
                    "; write its axes as auxiliary.NAME.ADDRESS"
                    if key == "sweep"
                    else "; include it at the top"
                )
                self.faults.add(
                    location, f"{file} sets {key!r} and cannot be included in {what}{where}"
                )
        return replace(
            script,
            value={
                key: value
                for key, value in script.entries.items()
                if key in allowed and key != "name"
            },
        )

    def _included(self, names: Sequence[Node], folder: Path | None) -> Iterator[Node]:
        for item in names:
            node = None
            try:
                path = find_script(str(text(item)), folder)
                if (real := path.resolve()) in self._open:
                    chain = [*self._open[self._open.index(real) :], real]
                    raise ScriptError(
                        ["an include loop: " + " > ".join(os.path.relpath(link) for link in chain)]
                    )
                if len(self._open) > limits.INCLUDE_DEPTH:
                    raise ScriptError(
                        [f"includes that are nested more than {limits.INCLUDE_DEPTH} deep"]
                    )
                if len(self._read) > limits.INCLUDES:
                    raise ScriptError([f"the script includes more than {limits.INCLUDES} files"])
                node = self.file(path)
            except ScriptError as error:
                self.faults.add(item.location, error.faults[0])
            if node is not None:
                yield node
            else:
                self.complete = False
            if len(self._read) > limits.INCLUDES and not self.complete:
                break

    def load_plugins(self, top: Path | None) -> tuple[str, ...]:
        """Import the plug-ins of a script; return the paths of their sources.

        A script file may name plug-in files in its folder. An included file may name those
        in the folder of the script that includes it or, if this script is a mapping, in
        its own folder. The user may name plug-in files anywhere.

        Parameters
        ----------
        top : Path or None
            The script's folder. None: the script is a mapping from Python.
        """
        # A plug-in may change the current folder, so all paths are looked at before the first import.
        start = Path.cwd()
        references = [
            (node, folder, (folder or start) / str(text(node))) for node, folder in self.plugins
        ]
        refused = {
            path
            for _, folder, path in references
            if not self._is_in_allowed_folder(path, top or folder)
        }
        sources = []
        for node, folder, path in references:
            reference = str(text(node))
            if path in refused:
                outside = f"{short(reference, 80)!r} lies outside the script's folder, and importing it runs it"
                self.faults.add(
                    node.location, f"{outside}; --plugin {short(str(path), 200)} allows that"
                )
                continue
            try:
                sources.append(plugins.load_plugin(reference, start / (folder or "")))
            except StereoFrameworkError as error:
                self.faults.add(node.location, str(error).removeprefix("plugins: "))
        self.faults.without_plugins = len(sources) < len(self.plugins)
        return tuple(dict.fromkeys(sources))

    def _is_in_allowed_folder(self, path: Path, allowed_folder: Path | None) -> bool:
        """Return whether a plug-in may be loaded; those that are modules, and those of mappings, always may."""
        return path.suffix != ".py" or allowed_folder is None or self._may(path, allowed_folder)

    def _may(self, path: Path, top: Path) -> bool:
        """Whether a plug-in may be loaded."""
        try:
            real = path.resolve()
            named = [
                Path(str(text(node))).resolve() for node, folder in self.plugins if folder is None
            ]
            return real in named or real.is_relative_to(top.resolve())
        except (OSError, ValueError):  # a name that no file can have, of which loading says so
            return True
