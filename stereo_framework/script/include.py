"""Reading a script with all that it includes, and merging: later wins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stereo_framework.core import limits, stage
from stereo_framework.core.errors import DataError, ScriptError, StereoFrameworkError, short
from stereo_framework.core.stage import SLOTS
from stereo_framework.io import is_pipe, read_bytes, read_pipe
from stereo_framework.script.addresses import split, under
from stereo_framework.script.axes import Axis
from stereo_framework.script.document import Document, parse
from stereo_framework.script.library import RESOLVED, find_script
from stereo_framework.script.places import Faults, Node, Place, from_python
from stereo_framework.script.reading import text, texts
from stereo_framework.script.specs import Spec, Specs, same_run, takes_seed
from stereo_framework.script.yaml_loader import parse as parse_yaml


@dataclass
class Source:
    """A script, or one of its methods, as read, with the scripts that it includes, those that its alternatives include, by address, and its methods."""

    node: Node
    includes: list[Source]
    alternatives: dict[str, list[Source]]
    methods: dict[str, Source] = field(default_factory=dict)


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
    _read: dict[Path, Source | None] = field(default_factory=dict)

    def file(self, path: Path) -> Source | None:
        """Read a script file; None after a fault that leaves nothing to look at."""
        shown, real = os.path.normpath(path), path.resolve()
        if real in self._read:
            return self._read[real]
        self._read[real] = None
        try:
            # A pipe is read where somebody asks for it; an include has no business with one.
            data = read_pipe(path) if not self._open and is_pipe(path) else read_bytes(path, _most(path), empty=True)
            content = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.faults.add(Place(shown, 1, 1), f"not a text in UTF-8: {error.reason} in byte {error.start}")
            return None
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

    def mapping(self, mapping: Mapping[str, Any]) -> Source | None:
        """Take a script from Python; its paths start from the working directory."""
        try:
            node = from_python(mapping, self.faults)
        except RecursionError:
            self.faults.add(Place(), "not a script: nested too deeply, or a mapping inside itself")
            return None
        return self.node(node, None)

    def node(self, node: Node, folder: Path | None) -> Source | None:
        """Follow the includes of a script that was read."""
        if node.value is not None and not isinstance(node.value, dict):
            self.faults.add(node.place, "not a script: expected keys and values, as in 'matching_cost: absolute_difference'")
            return None
        plugins = node.entries.get("plugins")
        if plugins is not None and plugins.value is not None:
            names = texts(plugins, self.faults, "a module, a path ending in .py,")
            self.plugins += [(name, folder) for name in names]
        source = self._source(node, folder)
        for name, method in node.entries.get("methods", Node(None, node.place)).entries.items():
            source.methods[name] = self._source(method, folder)
        return source

    def _source(self, node: Node, folder: Path | None) -> Source:
        source = Source(node, self._includes(node, folder), {})
        self._of_alternatives(node, folder, "", source.alternatives)
        return source

    def _of_alternatives(self, node: Node, folder: Path | None, home: str, found: dict[str, list[Source]]) -> None:
        """What the alternatives of a mapping include, an alternative before those in it."""
        for name, entry in node.entries.get("alternatives", Node(None, node.place)).entries.items():
            inner = f"{home}alternatives.{name}."
            found[inner] = self._includes(entry, folder)
            self._of_alternatives(entry, folder, inner, found)

    def _includes(self, node: Node, folder: Path | None) -> list[Source]:
        include = node.entries.get("include")
        if include is None or include.value is None:
            return []
        found = []
        for item in texts(include, self.faults, "a path, the name of a shipped script"):
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
            source = self.file(path)
            self.complete &= source is not None
            found += [source] if source else []
        return found

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


def build(source: Source, faults: Faults, built: dict[int, Document] | None = None) -> Document:
    """Check a script and all that it includes, each for itself, and merge them.

    The script's own name counts, never an included one's: a script that includes ``ssd`` is not called so. What is included several times is `built`
    once, by the identity of its source.
    """
    built = {} if built is None else built
    if id(source) not in built:
        built[id(source)] = _build(source, faults, built)
    return built[id(source)]


def _build(source: Source, faults: Faults, built: dict[int, Document]) -> Document:
    own = parse(source.node, faults)
    for name, method in source.methods.items():
        place = own.methods[name].place
        below = Document(place)
        for one in method.includes:
            below = merge(below, _as_method(build(one, faults, built), one, place, faults))
        own.methods[name] = merge(_with_alternatives(below, method, own.methods[name], faults, built), own.methods[name])
    merged = Document(own.place)
    for one in source.includes:
        merged = merge(merged, build(one, faults, built))
    merged.name = None
    return merge(_with_alternatives(merged, source, own, faults, built), own)


def _with_alternatives(below: Document, source: Source, own: Document, faults: Faults, built: dict[int, Document]) -> Document:
    """What a document builds on, and what its alternatives include."""
    for home, included in source.alternatives.items():
        for one in included:
            # A name that no alternative can have was reported.
            if home in own.alternatives:
                document = build(one, faults, built)
                below = merge(below, _as_alternative(document, one, home, own.alternatives[home], faults))
    return below


def _as_method(document: Document, source: Source, place: Place, faults: Faults) -> Document:
    """An included script as one method: its stages, sweep, seed and search. How it is run alone (scenes, evaluation, report) is left out."""
    _refuse(source, {"methods": document.methods}, "a method", place, faults)
    return replace(document, name=None, scenes=None, protocols=None, report={}, methods={})


def _as_alternative(document: Document, source: Source, home: str, place: Place, faults: Faults) -> Document:
    """An included script as the alternative at `home`: its stages. Its seed, where it has one, becomes theirs."""
    sweep = {**document.grid, **document.zip}
    _refuse(source, {"methods": document.methods, "search": document.search, "sweep": sweep}, "an alternative", place, faults)
    return Document(
        document.place,
        slots={
            home + name: specs and tuple(_seeded(spec, document.seed) for spec in specs) for name, specs in document.slots.items()
        },
        alternatives={home + name: at for name, at in document.alternatives.items()},
        without=frozenset(home + name for name in document.without),
    )


def _seeded(spec: Spec, seed: int | None) -> Spec:
    return spec if seed is None or not takes_seed(spec) else spec.having("seed", seed)


def _refuse(source: Source, said: Mapping[str, Any], what: str, place: Place, faults: Faults) -> None:
    """Report what an included script says and its place has no room for."""
    for key, present in said.items():
        if present:
            file = source.node.place.file or "the included script"
            where = "; write its axes as alternatives.NAME.ADDRESS" if key == "sweep" else "; include it at the top"
            faults.add(place, f"{file} sets {key!r} and cannot be included in {what}{where}")


def merge(base: Document, over: Document) -> Document:
    """Two documents as one: what `over` says counts, what it leaves out stays as in `base`, unless it cannot stand beside what `over` says."""
    gone = over.removes()

    def kept(mapping: Mapping[str, Any]) -> dict[str, Any]:
        return {address: what for address, what in mapping.items() if not under(address, gone)}

    zipped = kept(base.zip)
    if len(zipped) < len(base.zip):
        zipped = distinct(zipped)
    methods = {
        name: merge(base.methods[name], method) if name in base.methods else method for name, method in over.methods.items()
    }
    return Document(
        place=over.place,
        name=over.name if over.name is not None else base.name,
        scenes=over.scenes if over.scenes is not None else base.scenes,
        search={**base.search, **over.search},
        seed=over.seed if over.seed is not None else base.seed,
        protocols=over.protocols or base.protocols,
        report={**base.report, **over.report},
        slots=_merge_slots(kept(base.slots), over.slots),
        alternatives=kept(base.alternatives) | over.alternatives,
        without=base.without | over.without,
        # An axis that moves from grid to zip or back is still one axis.
        grid={**{k: v for k, v in kept(base.grid).items() if k not in over.zip}, **over.grid},
        zip={**{k: v for k, v in zipped.items() if k not in over.grid}, **over.zip},
        methods=base.methods | methods,
    )


def distinct(axes: Mapping[str, Axis]) -> dict[str, Axis]:
    """Axes that move together, each setting once, after those that told them apart are gone."""
    if len({len(axis.values) for axis in axes.values()}) > 1:
        return dict(axes)
    rows: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for row in zip(*(axis.values for axis in axes.values()), strict=True):
        rows.setdefault(tuple(map(same_run, row)), row)
    columns = zip(*rows.values(), strict=True)
    return {name: replace(axis, values=values) for (name, axis), values in zip(axes.items(), columns, strict=True)}


def _merge_slots(base: dict[str, Specs], over: dict[str, Specs]) -> dict[str, Specs]:
    """Slots of two documents: the same stage merges parameters, another one replaces, a list is replaced whole."""
    merged = dict(base)
    for slot, specs in over.items():
        merged[slot] = specs
        below = base.get(slot)
        if SLOTS[split(slot)[1]].many or not specs or not below or specs[0].added or below[0].added:
            continue
        if specs[0].stage is below[0].stage:
            merged[slot] = (replace(specs[0], parameters={**below[0].parameters, **specs[0].parameters}),)
    return merged
