"""One script file, checked for itself: known keys, stages, parameters, axes; then merged with all that it includes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from stereo_framework.core import stage as _stage
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.parameters import spelled
from stereo_framework.core.stage import SLOTS, VOLUME_SLOTS
from stereo_framework.evaluation import protocols
from stereo_framework.io import name_fault
from stereo_framework.script.addresses import NAME, is_slot, split
from stereo_framework.script.axes import Axis, ends, values
from stereo_framework.script.document import Document, merge
from stereo_framework.script.keys import ALTERNATIVE_KEYS, KEYS, METHOD_KEYS, SEARCH, SearchKeys, SeedKey
from stereo_framework.script.places import Faults, Node, Place
from stereo_framework.script.reading import expect_mapping, is_right, read, text, texts
from stereo_framework.script.report import parse_report
from stereo_framework.script.specs import Spec, Specs, no_parameter, parameter, same_run


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
    return _Parser(faults, node.place, {}).document(node, METHOD_KEYS if method else KEYS)


class _Parser:
    """Makes a `Document` of a mapping; what is included several times is `built` once."""

    def __init__(self, faults: Faults, place: Place, built: dict[Node, Document]):
        self.faults, self.fault, self.built = faults, faults.add, built
        self.found = Document(place)

    def document(self, node: Node, legal: tuple[str, ...]) -> Document:
        method = legal is METHOD_KEYS
        found, within = self.found, list[tuple[str, Node]]()
        for key, value in expect_mapping(node, legal, self.faults, what=" of a method" * method).items():
            if key in ALTERNATIVE_KEYS:
                within += self.own(key, value, "")
            elif value.value is not None and key != "plugins":
                getattr(self, key)(value)
        self.one_or_the_other()
        maps = node.entries.get("maps")
        others = [key for key in (*SLOTS, "alternatives") if key in node.entries and node.entries[key].value is not None]
        if maps is not None and maps.value is not None and others:
            said = ", ".join(f"{key}{node.key(key).told()}" for key in others)
            self.fault(node.key("maps"), f"maps stand instead of {said}; keep one or the other")
        below = Document(found.place)
        for one in node.included:
            below = merge(below, self.as_method(one) if method else self.included(one))
        below.name = None
        for home, entry in within:
            for one in entry.included:
                below = merge(below, self.as_alternative(one, home))
        return merge(below, found)

    def included(self, node: Node) -> Document:
        if node not in self.built:
            self.built[node] = _Parser(self.faults, node.place, self.built).document(node, KEYS)
        return self.built[node]

    def as_method(self, node: Node) -> Document:
        """An included script as one method: its stages, sweep, seed and search. How it is run alone (scenes, evaluation, report) is left out."""
        found = self.included(node)
        self.refuse(node, {"methods": found.methods}, "a method", self.found.place)
        return replace(found, name=None, scenes=None, protocols=None, report={}, methods={})

    def as_alternative(self, node: Node, home: str) -> Document:
        """An included script as the alternative at `home`: its stages. Its seed, where it has one, becomes theirs."""
        found, place = self.included(node), self.found.alternatives[home]
        said = {"methods": found.methods, "search": found.search, "sweep": found.axes}
        self.refuse(node, said, "an alternative", place)
        return Document(
            found.place,
            slots={
                home + name: specs and tuple(spec.seeded(found.seed) for spec in specs) for name, specs in found.slots.items()
            },
            alternatives={home + name: at for name, at in found.alternatives.items()},
            without=frozenset(home + name for name in found.without),
        )

    def refuse(self, node: Node, said: Mapping[str, Any], what: str, place: Place) -> None:
        """Report what an included script says and its place has no room for."""
        for key, present in said.items():
            if present:
                file = node.place.file or "the included script"
                where = "; write its axes as alternatives.NAME.ADDRESS" if key == "sweep" else "; include it at the top"
                self.fault(place, f"{file} sets {key!r} and cannot be included in {what}{where}")

    def own(self, key: str, node: Node, home: str) -> Iterator[tuple[str, Node]]:
        """A key that a method and an alternative of it, at `home`, have in common; yields the alternatives."""
        if key == "alternatives":
            yield from self.alternatives(node, home)
        elif key in SLOTS:
            self.found.slots[home + key] = self.slot(key, node)

    def alternatives(self, node: Node, home: str) -> Iterator[tuple[str, Node]]:
        """Alternatives, each before those in it: their homes and what is written there."""
        if node.value is None:
            self.found.without |= {f"{home}alternatives"}
        elif not isinstance(node.value, dict) or not node.value:
            self.fault(node.place, "no alternatives; write NAME: {slots or include} for each, or null for none")
        for name, entry in node.entries.items():
            if not re.fullmatch(NAME, name):
                said = f"{name!r} cannot be the name of an alternative; legal: letters, digits, _ and -"
                self.fault(node.keys[name], said)
            entries = expect_mapping(entry, ALTERNATIVE_KEYS, self.faults, what=" of an alternative")
            if not re.fullmatch(NAME, name) or not isinstance(entry.value, dict | None):
                continue
            inner = f"{home}alternatives.{name}."
            self.found.alternatives[inner] = node.key(name)
            yield inner, entry
            for key, value in entries.items():
                yield from self.own(key, value, inner)

    def one_or_the_other(self) -> None:
        """Report a matcher beside what it stands instead of; nothing further is then checked against either."""
        filled = self.found.filled()
        for name, place in filled.items():
            home, slot, _ = split(name)
            if slot != "matcher":
                continue
            others = [home + other for other in VOLUME_SLOTS if home + other in filled]
            if others:
                said = ", ".join(f"{split(other)[1]}{filled[other].told()}" for other in others)
                self.fault(place, f"a matcher stands instead of {said}; keep one or the other")
                self.found.slots.update(dict.fromkeys([name, *others]))

    # One method for each key -----------------------------------------------------------------------------------------

    def name(self, node: Node) -> None:
        self.found.name = text(node)
        if self.found.name is None:
            self.fault(node.place, f"{spelled(node.data())} is not a text")
        elif wrong := name_fault(self.found.name):
            self.fault(node.place, wrong)

    def scenes(self, node: Node) -> None:
        names = [str(text(item)) for item in texts(node, self.faults, "the name of a scene")]
        self.found.scenes = tuple(dict.fromkeys(names))
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
        names: dict[str, Node] = {}
        if given.value == []:
            self.fault(given.place, "an empty list; name at least one protocol, or leave the key out")
        for item in given.items:
            wrong = protocols.faults(item.data())
            for path, message in wrong.items():
                self.fault(item.entries.get(path, item).place, message)
            name = "" if wrong else protocols.resolve(item.data()).name
            if name and names.setdefault(name, item) is not item:
                self.fault(item.place, f"a second protocol named {name!r}; results are told apart by this name")

    def methods(self, node: Node) -> None:
        if not isinstance(node.value, dict) or not node.value:
            self.fault(node.place, "no methods; write NAME: {slots, include, sweep, seed} for each, or leave the key out")
        for name, entry in node.entries.items():
            if wrong := name_fault(name) if name.strip() else "a method without a name":
                self.fault(node.keys[name], wrong)
            self.found.methods[name] = _Parser(self.faults, node.key(name), self.built).document(entry, METHOD_KEYS)

    def maps(self, node: Node) -> None:
        """Maps of others: a matcher that leaves nothing of all other slots."""
        own = Node({"place": node}, node.place, {"place": node.place}) if isinstance(node.value, str) else node
        if not isinstance(own.value, dict) or "use" in own.value:
            said = f"{spelled(node.data())} is no place; write a folder, PATH/{{scene}}.pfm, or {{place: PATH, scale: 4}}"
            self.fault(node.place, said)
            self.found.slots["matcher"] = None
            return
        use = {"use": Node("maps", node.place)}
        self.found.slots["matcher"] = self.slot(
            "matcher", Node({**use, **own.value}, node.place, {**own.keys, "use": node.place})
        )
        self.found.without |= {*(slot for slot in SLOTS if slot != "matcher"), "alternatives"}

    def sweep(self, node: Node) -> None:
        for kind, axes in expect_mapping(node, ("grid", "zip"), self.faults).items():
            if not isinstance(axes.value, dict | None):
                self.fault(
                    axes.place, f"{spelled(axes.data())} is not a mapping of axes: {{matching_cost.truncation: [5, 10, 20]}}"
                )
            alone = kind == "grid" or len(axes.entries) == 1
            for name, value in axes.entries.items():
                axis = self.axis(name, value, axes.key(name), alone=alone)
                if kind == "zip" and axis.scale:
                    self.fault(axis.place, "a continuous axis moves together with no other; it belongs in sweep.grid")
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
        added = SLOTS[slot].added and isinstance(node.value, list)
        if isinstance(node.value, list) and not SLOTS[slot].many and not added:
            self.fault(node.place, f"a list; {slot} is one stage: a name or {{use: NAME, parameter: value}}")
            return None
        if added and not node.value:
            self.fault(node.place, f"an empty list; name at least one stage of {slot}")
            return None
        found = [self.stage(slot, item, added=added) for item in node.items]
        return None if None in found else tuple(spec for spec in found if spec is not None)

    def stage(self, slot: str, node: Node, *, added: bool = False) -> Spec | None:
        use = node.entries.get("use") if isinstance(node.value, dict) else node
        names = [s.name for s in _stage.stages(slot)]
        if use is None:
            self.fault(node.place, f"a stage without 'use'; write use: NAME; {nearest('', names, kind='stages')}")
            return None
        if not isinstance(use.value, str):
            said = f"{spelled(use.data())} is not the name of a stage; write NAME or {{use: NAME, parameter: value}}"
            self.fault(use.place, f"{said}; {nearest('', names, kind='stages')}")
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
        if "between" in node.entries:
            if head not in SLOTS or not rest:
                self.fault(place, "only a parameter of a stage can be searched continuously; list the values of this axis")
                return Axis(name, place, ())
            limits, scale = ends(node, self.faults)
            return Axis(name, place, tuple(limits), scale)
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
