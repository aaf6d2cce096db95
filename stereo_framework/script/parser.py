"""One script file, checked for itself: known keys, stages, parameters, axes; then merged with all that it includes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from stereo_framework.core import stage as _stage
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.parameters import spelled
from stereo_framework.core.stage import SLOTS, VOLUME_SLOTS
from stereo_framework.evaluation import protocols
from stereo_framework.io import name_fault
from stereo_framework.io.places import Faults, Node, Place
from stereo_framework.script.addresses import NAME, is_slot, names, split
from stereo_framework.script.axes import Axis, values
from stereo_framework.script.document import Document, merge
from stereo_framework.script.keys import ALTERNATIVE_KEYS, KEYS, METHOD_KEYS, SEARCH, SearchKeys, SeedKey
from stereo_framework.script.reading import expect_mapping, is_right, read, text, texts
from stereo_framework.script.report import parse_report
from stereo_framework.script.specs import Spec, Specs, no_parameter, parameter, same_run

_WHAT = {KEYS: "", METHOD_KEYS: " of a method", ALTERNATIVE_KEYS: " of an alternative"}


def parse(node: Node, faults: Faults, *, method: bool = False) -> Document:
    """Check a script, or one entry of ``methods``, and all that it includes, each for itself, and merge them: later wins.

    The script's own name counts, never an included one's: a script that includes ``ssd`` is not called so.

    Parameters
    ----------
    node : Node
        A mapping.
    faults : Faults
        Gets all that is wrong; the faulty parts are left out of the result.
    """
    return _Parser(faults, {}).merged(node, METHOD_KEYS if method else KEYS)


class _Parser:
    """Makes a `Document` of a mapping; what is included several times is `built` once."""

    def __init__(self, faults: Faults, built: dict[Node, Document]):
        self.faults, self.fault, self.built = faults, faults.add, built

    def merged(self, node: Node, legal: tuple[str, ...], place: Place | None = None) -> Document:
        """A mapping over all that it, and then its alternatives, include."""
        own = self.own(node, legal, place or node.place)
        self.one_or_the_other(own)
        below = Document(own.place)
        for one in own.included:
            below = merge(below, one)
        # Alternatives stand in the order in which they are written, whichever of them include something.
        below = merge(below, _order(own))
        for home, part in own.tree():
            for one in part.included if home else ():
                for name in reversed(names(home)):
                    one = Document(part.place, alternatives={name: one})
                below = merge(below, one)
        below.name = None
        return merge(below, own)

    def own(self, node: Node, legal: tuple[str, ...], place: Place) -> Document:
        """What a mapping itself says."""
        self.found = found = Document(place)
        entries = expect_mapping(node, legal, self.faults, what=_WHAT[legal])
        for key, value in entries.items():
            if key in SLOTS:
                found.slots[key] = self.slot(key, value)
            elif key == "alternatives" or (value.value is not None and key not in ("include", "plugins")):
                getattr(self, key)(value)
        others = [key for key in (*SLOTS, "alternatives") if key in entries and entries[key].value is not None]
        if "maps" in entries and entries["maps"].value is not None and others:
            said = ", ".join(f"{key}{node.key(key).told()}" for key in others)
            self.fault(node.key("maps"), f"maps stand instead of {said}; keep one or the other")
        found.included = tuple(self.included(one, legal, place) for one in node.included)
        return found

    def included(self, node: Node, legal: tuple[str, ...], place: Place) -> Document:
        """An included script as the mapping that includes it can take it.

        Of a method these are its stages, sweep, seed and search, of an alternative its stages; its seed, where it has one, becomes theirs. How it is run
        alone (scenes, evaluation, report) is left out.
        """
        if node not in self.built:
            self.built[node] = _Parser(self.faults, self.built).merged(node, KEYS)
        found = self.built[node]
        if legal == KEYS:
            return found
        alternative = legal == ALTERNATIVE_KEYS
        refused = {"methods": found.methods} | ({"search": found.search, "sweep": found.axes} if alternative else {})
        for key, present in refused.items():
            if present:
                file, what = node.place.file or "the included script", "an alternative" if alternative else "a method"
                where = "; write its axes as alternatives.NAME.ADDRESS" if key == "sweep" else "; include it at the top"
                self.fault(place, f"{file} sets {key!r} and cannot be included in {what}{where}")
        if alternative:
            return _stages(found, found.seed)
        return replace(found, name=None, scenes=None, protocols=None, report={}, methods={})

    def one_or_the_other(self, own: Document) -> None:
        """Report a matcher beside what it stands instead of; nothing further is then checked against either."""
        for home, part in own.tree():
            filled = own.filled(home)
            others = [slot for slot in VOLUME_SLOTS if slot in filled]
            if "matcher" in filled and others:
                said = ", ".join(f"{slot}{filled[slot].told()}" for slot in others)
                self.fault(filled["matcher"], f"a matcher stands instead of {said}; keep one or the other")
                part.slots.update(dict.fromkeys(["matcher", *others]))

    # One method for each key -----------------------------------------------------------------------------------------

    def alternatives(self, node: Node) -> None:
        if node.value is None:
            self.found.without |= {"alternatives"}
        elif not isinstance(node.value, dict) or not node.value:
            self.fault(node.place, "no alternatives; write NAME: {slots or include} for each, or null for none")
        for name, entry in node.entries.items():
            if not re.fullmatch(NAME, name):
                said = f"{name!r} cannot be the name of an alternative; legal: letters, digits, _ and -"
                self.fault(node.keys[name], said)
                expect_mapping(entry, ALTERNATIVE_KEYS, self.faults, what=_WHAT[ALTERNATIVE_KEYS])
            else:
                found = _Parser(self.faults, self.built).own(entry, ALTERNATIVE_KEYS, node.key(name))
                if isinstance(entry.value, dict | None):
                    self.found.alternatives[name] = found

    def name(self, node: Node) -> None:
        self.found.name = text(node)
        if self.found.name is None:
            self.fault(node.place, f"{spelled(node.data())} is not a text")
        elif wrong := name_fault(self.found.name):
            self.fault(node.place, wrong)

    def scenes(self, node: Node) -> None:
        found = [str(text(item)) for item in texts(node, self.faults, "the name of a scene")]
        self.found.scenes = tuple(dict.fromkeys(found))
        if node.value == []:
            self.fault(node.place, "an empty list; name at least one scene, or leave the key out")

    def search(self, node: Node) -> None:
        self.found.search = {key: node.entries[key] for key in read(SearchKeys, node, self.faults)}

    def seed(self, node: Node) -> None:
        self.found.seed = node.value if is_right(SeedKey, "seed", node, self.faults) else None  # type: ignore[assignment]

    def report(self, node: Node) -> None:
        # Its keys may be parameters of stages that nobody knows.
        if not self.faults.without_plugins:
            parse_report(node, self.faults)
        if isinstance(node.value, dict):
            self.found.report = node.data()

    def evaluation(self, node: Node) -> None:
        given = expect_mapping(node, ("protocol",), self.faults).get("protocol")
        if given is None:
            return
        self.found.protocols = given
        first: dict[str, Node] = {}
        if given.value == []:
            self.fault(given.place, "an empty list; name at least one protocol, or leave the key out")
        for item in given.items:
            wrong = protocols.faults(item.data())
            for path, message in wrong.items():
                self.fault(item.entries.get(path, item).place, message)
            name = "" if wrong else protocols.resolve(item.data()).name
            if name and first.setdefault(name, item) is not item:
                self.fault(item.place, f"a second protocol named {name!r}; results are told apart by this name")

    def methods(self, node: Node) -> None:
        if not isinstance(node.value, dict) or not node.value:
            self.fault(node.place, "no methods; write NAME: {slots, include, sweep, seed} for each, or leave the key out")
        for name, entry in node.entries.items():
            if wrong := name_fault(name) if name.strip() else "a method without a name":
                self.fault(node.keys[name], wrong)
            self.found.methods[name] = _Parser(self.faults, self.built).merged(entry, METHOD_KEYS, node.key(name))

    def maps(self, node: Node) -> None:
        """Maps of others: a matcher that leaves nothing of all other slots."""
        own = Node({"place": node}, node.place, {"place": node.place}) if isinstance(node.value, str) else node
        self.found.slots["matcher"] = None
        if not isinstance(own.value, dict) or "use" in own.value:
            said = f"{spelled(node.data())} is no place; write a folder, PATH/{{scene}}.pfm, or {{place: PATH, scale: 4}}"
            self.fault(node.place, said)
            return
        use = {"use": Node("maps", node.place)}
        entry = Node({**use, **own.value}, node.place, {**own.keys, "use": node.place})
        self.found.slots["matcher"] = self.slot("matcher", entry)
        self.found.without |= {*SLOTS, "alternatives"} - {"matcher"}

    def sweep(self, node: Node) -> None:
        for kind, axes in expect_mapping(node, ("grid", "zip"), self.faults).items():
            if not isinstance(axes.value, dict | None):
                said = f"{spelled(axes.data())} is not a mapping of axes: {{matching_cost.truncation: [5, 10, 20]}}"
                self.fault(axes.place, said)
            alone = kind == "grid" or len(axes.entries) == 1
            for name, value in axes.entries.items():
                axis = self.axis(name, value, axes.key(name), alone=alone)
                if name in self.found.axes:
                    self.fault(axis.place, "this axis stands in sweep.grid and in sweep.zip; keep one")
                self.found.axes[name] = replace(axis, zipped=kind == "zip")
            # Axes of different length are reported elsewhere.
            for i in [] if alone else _repeated(zip(*(self.found.axes[name].values for name in axes.entries), strict=False)):
                self.fault(axes.place, f"these axes give the same setting twice, the second time at [{i}]")

    # Stages and axes --------------------------------------------------------------------------------------------------

    def slot(self, slot: str, node: Node) -> Specs:
        """The stages of a slot: one or a list, a name or a mapping each."""
        if node.value is None and SLOTS[slot].optional:
            return ()
        listed = isinstance(node.value, list)
        added = SLOTS[slot].added and listed
        if listed and not SLOTS[slot].many and not added:
            self.fault(node.place, f"a list; {slot} is one stage: a name or {{use: NAME, parameter: value}}")
            return None
        if added and not node.value:
            self.fault(node.place, f"an empty list; name at least one stage of {slot}")
            return None
        found = [self.stage(slot, item, added=added) for item in node.items]
        return None if None in found else tuple(filter(None, found))

    def stage(self, slot: str, node: Node, *, added: bool = False) -> Spec | None:
        use = node.entries.get("use") if isinstance(node.value, dict) else node
        if use is None or not isinstance(use.value, str):
            legal = nearest("", [s.name for s in _stage.stages(slot)], kind="stages")
            said = "a stage without 'use'; write use: NAME"
            if use is not None:
                said = f"{spelled(use.data())} is not the name of a stage; write NAME or {{use: NAME, parameter: value}}"
            self.fault((use or node).place, f"{said}; {legal}")
            return None
        try:
            stage = _stage.find(slot, use.value)
        except ParameterError as error:
            at = replace(use.place, path=node.place.path.removesuffix(f".{use.value}"))
            if self.faults.without_plugins:
                self.faults.unknown.append(f"{slot} {use.value}")
            else:
                self.fault(at, str(error).removeprefix(f"{slot}: "))
            return None
        found = Spec(stage, {}, node.place, added)
        for name, value in node.entries.items():
            if name == "use":
                continue
            if name not in found.legal:
                self.fault(node.keys[name], no_parameter(found, name))
                continue
            given, message = parameter(found, name, value)
            if message:
                self.fault(value.place, message)
            else:
                found = found.having(name, given)
        return found

    def axis(self, name: str, node: Node, place: Place, *, alone: bool = True) -> Axis:
        """An axis of a sweep; without values where it has a fault. One that moves `alone` has no value twice."""
        _, head, rest = split(name)
        if hint := _what_axes_address(name):
            self.fault(place, f"this axis addresses nothing; {hint}")
            return Axis(name, place, ())
        nodes = values(node, self.faults)
        found: list[Any] = list(nodes)
        if is_slot(name):
            found = [self.slot(head, item) for item in nodes]
        elif head not in SLOTS:
            keys, key = (SeedKey, head) if head == "seed" else (SearchKeys, rest)
            found = [item if is_right(keys, key, item, self.faults) else None for item in nodes]
        for i in _repeated((value,) for value in found) if alone else ():
            self.fault(nodes[i].place, f"{spelled(nodes[i].data())} stands twice in this axis")
        return Axis(name, place, tuple(found))


def _stages(found: Document, seed: int | None) -> Document:
    """The stages of a document and of its alternatives alone, with a seed."""
    slots = {slot: specs and tuple(spec.seeded(seed) for spec in specs) for slot, specs in found.slots.items()}
    others = {name: _stages(other, seed) for name, other in found.alternatives.items()}
    return Document(found.place, slots=slots, alternatives=others, without=found.without)


def _order(found: Document) -> Document:
    """The alternatives of a document, with nothing in them."""
    return Document(found.place, alternatives={name: _order(other) for name, other in found.alternatives.items()})


def _repeated(rows: Iterable[tuple[Any, ...]]) -> list[int]:
    """Which rows of values of some axes stand there for a second time; of those with a fault nobody knows."""
    identities = [None if None in row else tuple(map(same_run, row)) for row in rows]
    first = {identity: i for i, identity in reversed(list(enumerate(identities)))}
    return [i for i, identity in enumerate(identities) if identity and first[identity] != i]


def _what_axes_address(name: str) -> str:
    """What an axis could address instead of `name`, which is nothing that one can vary; empty where it is."""
    home, head, rest = split(name)
    heads = SLOTS if home else (*SLOTS, "alternatives", "search", "seed")
    if head == "alternatives" and not home:
        return "write alternatives.NAME.SLOT or alternatives.NAME.SLOT.PARAMETER"
    if head not in heads or (rest and head == "seed"):
        return nearest(head, heads, kind=f"words after {home}" if home else "first words of an axis")
    return nearest(rest, SEARCH, kind="keys of search") if head == "search" and rest not in SEARCH else ""
