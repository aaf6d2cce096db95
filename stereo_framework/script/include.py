"""Reading a script with all that it includes, and importing its plug-ins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stereo_framework.core import limits, stage
from stereo_framework.core.errors import DataError, ScriptError, StereoFrameworkError, short
from stereo_framework.io import is_pipe, read_bytes, read_pipe
from stereo_framework.io.places import Faults, Node, Place, from_python
from stereo_framework.io.yaml_text import parse as parse_yaml
from stereo_framework.script.library import RESOLVED, find_script
from stereo_framework.script.reading import text, texts


@dataclass
class Reader:
    """Reads a script and all that it includes.

    Attributes
    ----------
    plugins : list of (Node, Path or None)
        Plug-ins that were named, each with the folder that its path starts from.
    complete : bool
        Whether everything that is included could be read.
    allowed : frozenset of Path
        Plug-ins that the user names; of others a script file may name those in its own folder.
    """

    faults: Faults
    plugins: list[tuple[Node, Path | None]] = field(default_factory=list)
    complete: bool = True
    allowed: frozenset[Path] = frozenset()
    _open: list[Path] = field(default_factory=list)
    _read: dict[Path, Node | None] = field(default_factory=dict)

    def file(self, path: Path) -> Node | None:
        """Read a script file; None after a fault that leaves nothing to look at."""
        shown, real = os.path.normpath(path), path.resolve()
        if real in self._read:
            return self._read[real]
        self._read[real] = None
        self.faults.files.append(shown)
        try:
            # A pipe is read where somebody asks for it; an include has no business with one.
            content = read_pipe(path) if not self._open and is_pipe(path) else read_bytes(path, _most(path), empty=True)
        except DataError as error:
            self.faults.add(Place(shown, 1, 1), str(error).removeprefix(f"{path}: "))
            return None
        node = parse_yaml(content, shown, self.faults)
        if node is None:
            return None
        self._open.append(real)
        try:
            self._read[real] = self.node(node, path.parent)
        finally:
            self._open.pop()
        return self._read[real]

    def mapping(self, mapping: Mapping[str, Any]) -> Node | None:
        """Take a script from Python; its paths start from the working directory."""
        try:
            node = from_python(mapping, self.faults)
        except RecursionError:
            self.faults.add(Place(), "not a script: nested too deeply, or a mapping inside itself")
            return None
        return self.node(node, None)

    def node(self, node: Node, folder: Path | None) -> Node | None:
        """Follow the includes of a script that was read."""
        if node.value is not None and not isinstance(node.value, dict):
            self.faults.add(node.place, "not a script: expected keys and values, as in 'matching_cost: absolute_difference'")
            return None
        plugins = node.entries.get("plugins")
        if plugins is not None and plugins.value is not None:
            names = texts(plugins, self.faults, "a module, a path ending in .py,")
            self.plugins += [(name, folder) for name in names]
        for one in (node, *node.under("methods").values()):
            self._include(one, folder)
        return node

    def _include(self, node: Node, folder: Path | None) -> None:
        """Read what a mapping includes, then what its alternatives do."""
        include = node.entries.get("include")
        if include is not None and include.value is not None:
            node.included.extend(self._included(texts(include, self.faults, "a path, the name of a shipped script"), folder))
        for entry in node.under("alternatives").values():
            self._include(entry, folder)

    def _included(self, names: Sequence[Node], folder: Path | None) -> Iterator[Node]:
        for item in names:
            try:
                path = find_script(str(text(item)), folder)
            except ScriptError as error:
                self.faults.add(item.place, error.faults[0])
                self.complete = False
                continue
            if path.resolve() in self._open:
                chain = [*self._open[self._open.index(path.resolve()) :], path.resolve()]
                self.faults.add(item.place, "an include loop: " + " > ".join(os.path.relpath(link) for link in chain))
                self.complete = False
                continue
            if len(self._open) > limits.INCLUDE_DEPTH or len(self._read) > limits.INCLUDES:
                deep = f"includes that are nested more than {limits.INCLUDE_DEPTH} deep"
                many = f"the script includes more than {limits.INCLUDES} files"
                self.faults.add(item.place, deep if len(self._open) > limits.INCLUDE_DEPTH else many)
                self.complete = False
                break
            node = self.file(path)
            self.complete &= node is not None
            if node is not None:
                yield node

    def load_plugins(self, top: Path | None) -> tuple[str, ...]:
        """Import the plug-ins of a script in the folder `top` (None: from Python); returns the paths of their sources."""
        found = []
        for node, folder in self.plugins:
            path = (folder or Path.cwd()) / str(text(node))
            if path.suffix == ".py" and top is not None and not self._may(path, top):
                said = f"{short(str(text(node)), 80)!r} lies outside the script's folder, and importing it runs it"
                self.faults.add(node.place, f"{said}; --plugin {short(str(path), 200)} allows that")
                continue
            try:
                found.append(stage.load_plugin(str(text(node)), folder))
            except StereoFrameworkError as error:
                self.faults.add(node.place, str(error).removeprefix("plugins: "))
        return tuple(dict.fromkeys(found))

    def _may(self, path: Path, top: Path) -> bool:
        """Whether a plug-in may be loaded."""
        try:
            real = path.resolve()
            return real in self.allowed or real.is_relative_to(top.resolve())
        except (OSError, ValueError):  # a name that no file can have, of which loading says so
            return True


def _most(path: Path) -> int:
    """Bytes that a script file may have; one that was written out lists all values of its axes."""
    return limits.WRITTEN if path.name.endswith(RESOLVED) else limits.TEXT
